/* SPDX-License-Identifier: Apache-2.0 */

/* The digest on the processor; cl-clean tests that the device computes the same. */

#include "lib/test.h"

#include "client/digest.h"

enum { BYTES = 4096, CHANGES = 20000 };

static void random_fill(uint64_t *random, unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = (unsigned char)(slu_test_random(random) >> 32);
}

static void assert_changed(struct slu_digest before, const void *data, size_t bytes)
{
	assert_false(slu_digest_is_equal(before, slu_digest_of(data, bytes)));
}

/* As computed by the formula of digest.h in another language. */
static void the_formula_is_that_of_the_header(void **state)
{
	unsigned char bytes[100];
	struct slu_digest d;

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7 + 1);
	d = slu_digest_of(bytes, sizeof(bytes));
	assert_int_equal(d.words[0], UINT64_C(0x21bd6afc7fbef576));
	assert_int_equal(d.words[1], UINT64_C(0x195ecde4b438277e));
	d = slu_digest_of(bytes, 0);
	assert_int_equal(d.words[0], 0);
	assert_int_equal(d.words[1], 0);
}

static void every_bit_counts(void **state)
{
	uint64_t random = slu_test_seed(1);
	unsigned char bytes[200];

	for (size_t n = 1; n < sizeof(bytes); n += 13) {
		struct slu_digest before;

		random_fill(&random, bytes, n);
		before = slu_digest_of(bytes, n);
		for (size_t bit = 0; bit < n * 8; bit++) {
			bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
			assert_changed(before, bytes, n);
			bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		}
		assert_true(slu_digest_is_equal(before, slu_digest_of(bytes, n)));
	}
}

static void a_changed_bit_changes_half_of_the_digest(void **state)
{
	unsigned char bytes[64] = { 0 };
	struct slu_digest before = slu_digest_of(bytes, sizeof(bytes));
	unsigned least = 128, most = 0;

	for (size_t bit = 0; bit < sizeof(bytes) * 8; bit++) {
		struct slu_digest after;
		unsigned n;

		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		after = slu_digest_of(bytes, sizeof(bytes));
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		n = (unsigned)(__builtin_popcountll(before.words[0] ^ after.words[0]) +
			       __builtin_popcountll(before.words[1] ^ after.words[1]));
		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	assert_in_range(least, 32, 64);
	assert_in_range(most, 64, 96);
}

static void the_position_of_bytes_counts(void **state)
{
	unsigned char bytes[BYTES], other[BYTES];
	uint64_t random = slu_test_seed(2);
	struct slu_digest before;

	random_fill(&random, bytes, BYTES);
	before = slu_digest_of(bytes, BYTES);
	for (size_t step = 1; step < BYTES; step *= 2) {
		memcpy(other, bytes + step, BYTES - step); /* everything rotated */
		memcpy(other + BYTES - step, bytes, step);
		assert_changed(before, other, BYTES);
		memcpy(other, bytes, BYTES); /* two parts exchanged */
		if (step < BYTES / 2) {
			memcpy(other, bytes + step, step);
			memcpy(other + step, bytes, step);
			assert_changed(before, other, BYTES);
		}
		memcpy(other, bytes, BYTES); /* one part doubled */
		memcpy(other + BYTES - step, bytes, step);
		if (step < BYTES / 2)
			assert_changed(before, other, BYTES);
	}
	memset(bytes, 0, BYTES); /* a single block moves through zeros */
	bytes[0] = 1;
	before = slu_digest_of(bytes, BYTES);
	for (size_t at = 1; at < BYTES; at++) {
		bytes[at - 1] = 0;
		bytes[at] = 1;
		assert_changed(before, bytes, BYTES);
	}
}

static void the_length_counts(void **state)
{
	unsigned char zeros[BYTES] = { 0 };
	struct slu_digest seen[200];

	for (size_t n = 0; n < 200; n++) {
		seen[n] = slu_digest_of(zeros, n);
		for (size_t k = 0; k < n; k++)
			assert_false(slu_digest_is_equal(seen[k], seen[n]));
	}
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct slu_digest));
}

/* Typical contents of programs: small numbers, counters, a value here and there. */
static void many_small_changes_have_different_digests(void **state)
{
	static struct slu_digest all[CHANGES];
	uint64_t random = slu_test_seed(3);
	uint32_t words[256] = { 0 };

	for (unsigned i = 0; i < CHANGES; i++) {
		words[slu_test_random(&random) % 256]++;
		words[slu_test_random(&random) % 256] += 0x10000;
		all[i] = slu_digest_of(words, sizeof(words));
	}
	qsort(all, CHANGES, sizeof(all[0]), compare);
	for (unsigned i = 1; i < CHANGES; i++)
		assert_int_not_equal(compare(&all[i - 1], &all[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_formula_is_that_of_the_header),
		cmocka_unit_test(every_bit_counts),
		cmocka_unit_test(a_changed_bit_changes_half_of_the_digest),
		cmocka_unit_test(the_position_of_bytes_counts),
		cmocka_unit_test(the_length_counts),
		cmocka_unit_test(many_small_changes_have_different_digests),
	};

	return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
