/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "base/util.h"
#include "cuda/ledger.h"

#define GRANULE (2 * SLU_MIB)

static int device_a, device_b, context;

static void test_a_large_range_is_cut_into_extents_without_gaps(void **state)
{
	struct slu_ledger *ledger;
	struct slu_range *range, *empty;
	uint64_t next = 64 * SLU_GIB, bytes = 35 * GRANULE - 5;

	(void)state;
	assert_int_equal(slu_ledger_new(&ledger), 0);
	assert_int_equal(slu_ledger_add(ledger, next, bytes, GRANULE, SLU_RANGE_LARGE, &device_a,
					&context, &range),
			 0);
	assert_int_equal(range->n_extents, 3);
	for (size_t i = 0; i < range->n_extents; i++) {
		assert_int_equal(range->extents[i].address, next);
		assert_true(range->extents[i].bytes <= 16 * GRANULE);
		next += range->extents[i].bytes;
	}
	assert_int_equal(next, range->address + 35 * GRANULE);

	/* the program sees what it asked for, not what we rounded it to */
	assert_int_equal(slu_ledger_find(ledger, range->address + 7)->bytes, bytes);
	assert_null(slu_ledger_find(ledger, range->address + bytes));
	assert_null(slu_ledger_find(ledger, range->address - 1));
	assert_int_equal(slu_ledger_end(ledger, range->address + 7, &empty), SLU_LEDGER_E_UNKNOWN);
	assert_int_equal(slu_ledger_end(ledger, range->address, &empty), 0);
	assert_ptr_equal(empty, range);
	slu_ledger_remove(ledger, range);
	slu_ledger_free(ledger);
}

static void test_a_slab_serves_only_its_own_device(void **state)
{
	struct slu_ledger *ledger;
	struct slu_range *slab, *empty;
	uint64_t address;

	(void)state;
	assert_int_equal(slu_ledger_new(&ledger), 0);
	assert_int_equal(slu_ledger_cut(ledger, 100, &device_a, &context, &address),
			 SLU_LEDGER_E_NO_SLAB);
	assert_int_equal(slu_ledger_add(ledger, 64 * SLU_GIB, GRANULE, GRANULE, SLU_RANGE_SLAB,
					&device_a, &context, &slab),
			 0);
	/* a slab whose memory is not there yet is nobody's */
	assert_int_equal(slu_ledger_cut(ledger, 100, &device_a, &context, &address),
			 SLU_LEDGER_E_NO_SLAB);
	slab->is_open = true;
	assert_int_equal(slu_ledger_cut(ledger, 100, &device_b, &context, &address),
			 SLU_LEDGER_E_NO_SLAB);
	assert_int_equal(slu_ledger_cut(ledger, 100, &device_a, &context, &address), 0);
	assert_int_equal(address, slab->address);
	assert_int_equal(slu_ledger_end(ledger, address, &empty), 0);
	assert_ptr_equal(empty, slab);
	slu_ledger_remove(ledger, slab);
	slu_ledger_free(ledger);
}

/* Random cuts and ends beside a naive model: a byte map of one slab. */
static void test_cuts_never_overlap_and_gaps_are_found_again(void **state)
{
	enum { MOST = 64, STEPS = 20000 };
	static uint16_t map[GRANULE / SLU_LEDGER_ALIGN];
	struct {
		uint64_t address, bytes;
	} live[MOST] = { 0 };
	uint64_t seed = slu_test_seed(1), base = 64 * SLU_GIB;
	struct slu_ledger *ledger;
	struct slu_range *slab, *empty;

	(void)state;
	assert_int_equal(slu_ledger_new(&ledger), 0);
	assert_int_equal(slu_ledger_add(ledger, base, GRANULE, GRANULE, SLU_RANGE_SLAB, &device_a,
					&context, &slab),
			 0);
	slab->is_open = true;
	for (int step = 0; step < STEPS; step++) {
		unsigned i = (unsigned)(slu_test_random(&seed) % MOST);
		uint64_t first = (live[i].address - base) / SLU_LEDGER_ALIGN;
		uint64_t n = (live[i].bytes + SLU_LEDGER_ALIGN - 1) / SLU_LEDGER_ALIGN;

		if (live[i].bytes) {
			assert_int_equal(
				slu_ledger_find(ledger, live[i].address + live[i].bytes - 1)
					->address,
				live[i].address);
			assert_int_equal(slu_ledger_end(ledger, live[i].address, &empty), 0);
			for (uint64_t k = first; k < first + n; k++) {
				assert_int_equal(map[k], i + 1);
				map[k] = 0;
			}
			live[i].bytes = 0;
			continue;
		}
		live[i].bytes = 1 + slu_test_random(&seed) % (GRANULE / 8);
		if (slu_ledger_cut(ledger, live[i].bytes, &device_a, &context, &live[i].address)) {
			uint64_t run = 0,
				 wanted = (live[i].bytes + SLU_LEDGER_ALIGN - 1) / SLU_LEDGER_ALIGN;

			/* refused: then no gap in the model is large enough either */
			for (size_t k = 0; k < SLU_ARRAY_SIZE(map); k++) {
				run = map[k] ? 0 : run + 1;
				assert_true(run < wanted);
			}
			live[i].bytes = 0;
			continue;
		}
		first = (live[i].address - base) / SLU_LEDGER_ALIGN;
		n = (live[i].bytes + SLU_LEDGER_ALIGN - 1) / SLU_LEDGER_ALIGN;
		assert_int_equal(live[i].address % SLU_LEDGER_ALIGN, 0);
		for (uint64_t k = first; k < first + n; k++) {
			assert_true(k < SLU_ARRAY_SIZE(map));
			assert_int_equal(map[k], 0);
			map[k] = (uint16_t)(i + 1);
		}
	}
	slu_ledger_remove(ledger, slab);
	slu_ledger_free(ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_large_range_is_cut_into_extents_without_gaps),
		cmocka_unit_test(test_a_slab_serves_only_its_own_device),
		cmocka_unit_test(test_cuts_never_overlap_and_gaps_are_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
