/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that a compiler made: predicted, run, and compared byte by byte. */
#include "lib/test.h"

#include "predict/test-truth.h"

static struct truth truth;
static char *kernels;

static void load(void)
{
	truth_unload(&truth);
	assert_int_equal(truth_load(&truth, kernels), 0);
}

static void run(const char *name, unsigned grid, unsigned block)
{
	int r = truth_run(&truth, name, (unsigned[]){ grid, 1, 1 }, (unsigned[]){ block, 1, 1 });

	assert_int_equal(r, 0);
	assert_int_equal(truth.n_missed, 0);
}

/* Proven, and exactly what was touched. */
static void assert_exact(void)
{
	assert_int_equal(truth.set.why_reads.reason, 0);
	assert_int_equal(truth.set.why_writes.reason, 0);
	assert_int_equal(truth.n_extra, 0);
	assert_true(truth.n_touched > 0);
}

static void run_linear(const char *name, unsigned grid, unsigned block, unsigned n)
{
	load();
	for (unsigned i = 0; i < 3; i++)
		truth_param_u64(&truth, truth_alloc(&truth, (uint64_t)n * 4));
	truth_param_u32(&truth, n);
	run(name, grid, block);
	assert_exact();
}

static void test_a_guard_bounds_a_sum_of_vectors(void **state)
{
	static const unsigned sizes[] = { 1, 31, 256, 257, 1000, 1024 };

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(sizes); i++)
		run_linear("vadd", 4, 256, sizes[i]);
}

static void test_a_grid_stride_loop_is_exact(void **state)
{
	(void)state;
	run_linear("stream_fma", 2, 64, 1000);
	run_linear("stream_fma", 1, 32, 33);
	run_linear("stream_fma", 8, 64, 100);
}

static void test_tiles_of_a_matrix_are_exact(void **state)
{
	unsigned n = 64;

	(void)state;
	load();
	for (unsigned i = 0; i < 3; i++)
		truth_param_u64(&truth, truth_alloc(&truth, (uint64_t)n * n * 4));
	truth_param_u32(&truth, n);
	run("sgemm", 16, 256);
	assert_exact();
}

static void test_a_reduction_reads_all_and_writes_one_a_block(void **state)
{
	(void)state;
	load();
	truth_param_u64(&truth, truth_alloc(&truth, 4000));
	truth_param_u64(&truth, truth_alloc(&truth, 4096));
	truth_param_u32(&truth, 1000);
	run("reduce", 3, 256);
	assert_exact();
}

static void test_a_histogram_is_known_though_its_bins_depend_on_data(void **state)
{
	(void)state;
	load();
	truth_param_u64(&truth, truth_alloc(&truth, 5000));
	truth_param_u64(&truth, truth_alloc(&truth, 1024));
	truth_param_u32(&truth, 5000);
	run("histogram", 2, 128);
	assert_int_equal(truth.set.why_reads.reason, 0);
	assert_int_equal(truth.set.why_writes.reason, 0);
	/* which bins are empty nobody knows */
	assert_true(truth.n_extra <= 1024);
}

static void test_followed_pointers_are_unknown_and_writes_are_not(void **state)
{
	uint64_t heads, out, link;

	(void)state;
	load();
	heads = truth_alloc(&truth, 64 * 8);
	out = truth_alloc(&truth, 64 * 4);
	link = truth_alloc(&truth, 16);
	*(uint64_t *)(uintptr_t)link = 0;
	*(int32_t *)(uintptr_t)(link + 8) = 7;
	for (unsigned i = 0; i < 64; i++)
		((uint64_t *)(uintptr_t)heads)[i] = i % 2 ? link : 0;
	truth_param_u64(&truth, heads);
	truth_param_u64(&truth, out);
	truth_param_u32(&truth, 60);
	run("chase", 1, 64);
	assert_int_equal(truth.set.why_reads.reason, SLU_PREDICT_REASON_LOOP);
	assert_true(truth.set.why_reads.line > 0);
	assert_int_equal(truth.set.why_writes.reason, 0);
}

static void test_a_call_makes_a_kernel_unknown(void **state)
{
	(void)state;
	load();
	truth_param_u64(&truth, truth_alloc(&truth, 64 * 4));
	truth_param_u32(&truth, 64);
	run("recurse", 1, 64);
	assert_int_equal(truth.set.why_reads.reason, SLU_PREDICT_REASON_CALL);
	assert_int_equal(truth.set.why_writes.reason, SLU_PREDICT_REASON_CALL);
}

static void test_a_switch_over_data_is_exact(void **state)
{
	(void)state;
	load();
	truth_param_u64(&truth, truth_alloc(&truth, 100 * 8));
	truth_param_u64(&truth, truth_alloc(&truth, 100 * 8));
	truth_param_u32(&truth, 100);
	run("mixture", 2, 64);
	assert_exact();
}

static int set_up(void **state)
{
	(void)state;
	truth_init(&truth, SLU_MIB);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	truth_deinit(&truth);
	free(kernels);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_guard_bounds_a_sum_of_vectors),
		cmocka_unit_test(test_a_grid_stride_loop_is_exact),
		cmocka_unit_test(test_tiles_of_a_matrix_are_exact),
		cmocka_unit_test(test_a_reduction_reads_all_and_writes_one_a_block),
		cmocka_unit_test(test_a_histogram_is_known_though_its_bins_depend_on_data),
		cmocka_unit_test(test_followed_pointers_are_unknown_and_writes_are_not),
		cmocka_unit_test(test_a_call_makes_a_kernel_unknown),
		cmocka_unit_test(test_a_switch_over_data_is_exact),
	};
	const struct CMUnitTest skipped[] = {
		slu_test_skipped(kernels, "no clang that makes PTX"),
	};
	const char *path = getenv("SLUICE_KERNELS");

	kernels = path ? truth_read_text(path) : NULL;
	if (!kernels)
		return cmocka_run_group_tests(skipped, NULL, NULL);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
