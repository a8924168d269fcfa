/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "cuda/refs.h"

static int one, two, three;

static void test_a_handle_given_out_twice_is_two_references(void **state)
{
	struct slu_refs refs = { 0 };
	struct slu_ref ref;

	(void)state;
	assert_int_equal(slu_refs_add(&refs, (struct slu_ref){ 7, 1, &one }), 0);
	assert_int_equal(slu_refs_add(&refs, (struct slu_ref){ 8, 1, &two }), 0);
	assert_int_equal(slu_refs_add(&refs, (struct slu_ref){ 7, 1, &one }), 0);
	assert_ptr_equal(slu_refs_find(&refs, 7)->target, &one);
	assert_ptr_equal(slu_refs_find(&refs, 8)->target, &two);
	assert_null(slu_refs_find(&refs, 9));
	assert_true(slu_refs_take(&refs, 7, 1, &ref));
	assert_true(slu_refs_take(&refs, 7, 1, &ref));
	assert_ptr_equal(ref.target, &one);
	assert_false(slu_refs_take(&refs, 7, 1, &ref));
	slu_refs_deinit(&refs);
}

static void test_a_range_takes_what_lies_in_it_as_a_whole(void **state)
{
	struct slu_refs refs = { 0 };
	struct slu_ref ref;

	(void)state;
	assert_int_equal(slu_refs_add(&refs, (struct slu_ref){ 300, 100, &three }), 0);
	assert_int_equal(slu_refs_add(&refs, (struct slu_ref){ 100, 100, &one }), 0);
	assert_int_equal(slu_refs_add(&refs, (struct slu_ref){ 200, 50, &two }), 0);
	assert_ptr_equal(slu_refs_find(&refs, 199)->target, &one);
	assert_ptr_equal(slu_refs_find(&refs, 200)->target, &two);
	assert_null(slu_refs_find(&refs, 250));
	assert_false(slu_refs_take(&refs, 100, 99, &ref));
	assert_false(slu_refs_take(&refs, 101, 99, &ref));
	assert_true(slu_refs_take(&refs, 100, 200, &ref));
	assert_ptr_equal(ref.target, &one);
	assert_true(slu_refs_take(&refs, 100, 200, &ref));
	assert_ptr_equal(ref.target, &two);
	assert_false(slu_refs_take(&refs, 100, 200, &ref));
	assert_true(slu_refs_take(&refs, 0, UINT64_MAX, &ref));
	assert_ptr_equal(ref.target, &three);
	slu_refs_deinit(&refs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_handle_given_out_twice_is_two_references),
		cmocka_unit_test(test_a_range_takes_what_lies_in_it_as_a_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
