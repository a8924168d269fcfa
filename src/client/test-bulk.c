/* SPDX-License-Identifier: Apache-2.0 */

/* Copies past the caches: every byte, none outside the range, from and to any alignment. */

#include "lib/test.h"

#include "base/util.h"
#include "client/bulk.h"

#define MOST 9000
#define EDGE 200

static void every_alignment_and_length_is_copied_exactly(void **state)
{
	static unsigned char from[MOST + 2 * EDGE], to[MOST + 2 * EDGE];
	static const size_t lengths[] = { 0, 1, 127, 4095, 4096, 4097, 4223, 4224, 8191, MOST };

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)(i * 131 + (i >> 8));
	for (unsigned n = 0; n < SLU_ARRAY_SIZE(lengths); n++)
		for (size_t shift = 0; shift < 130; shift += 1 + shift / 40) {
			size_t at = shift % 33, bytes = lengths[n];

			memset(to, 0xaa, sizeof(to));
			slu_bulk_copy(to + shift, from + at, bytes);
			assert_memory_equal(to + shift, from + at, bytes);
			for (size_t i = 0; i < shift; i++)
				assert_int_equal(to[i], 0xaa);
			for (size_t i = shift + bytes; i < sizeof(to); i++)
				assert_int_equal(to[i], 0xaa);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_alignment_and_length_is_copied_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
