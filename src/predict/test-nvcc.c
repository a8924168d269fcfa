/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of model code that nvcc made: predicted, run, and compared byte by byte. */
#include "lib/test.h"

#include "predict/test-truth.h"

static struct truth truth;
static char *kernels;

static void load(void)
{
	truth_unload(&truth);
	assert_int_equal(truth_load(&truth, kernels), 0);
}

/* A parameter that points to @n floats. */
static void floats(unsigned n)
{
	uint64_t at = truth_alloc(&truth, (uint64_t)n * 4);

	memset((void *)(uintptr_t)at, 0, (size_t)n * 4);
	truth_param_u64(&truth, at);
}

static void number(unsigned x)
{
	truth_param_u32(&truth, x);
}

#define run(name, gx, gy, bx, by)                                           \
	do {                                                                \
		int _r = truth_run(&truth, name, (unsigned[]){ gx, gy, 1 }, \
				   (unsigned[]){ bx, by, 1 });              \
		assert_int_equal(_r, 0);                                    \
		assert_int_equal(truth.n_missed, 0);                        \
	} while (0)

static void assert_known(void)
{
	assert_int_equal(truth.set.why_reads.reason, 0);
	assert_int_equal(truth.set.why_writes.reason, 0);
	assert_true(truth.n_touched > 0);
}

/* Proven, and exactly what was touched. */
static void assert_exact(void)
{
	assert_known();
	assert_int_equal(truth.n_extra, 0);
}

static void test_a_grid_stride_loop_is_exact(void **state)
{
	static const unsigned sizes[] = { 1, 63, 64, 1000, 4096, 5001 };

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(sizes); i++) {
		load();
		floats(sizes[i]);
		floats(sizes[i]);
		number(0);
		number(sizes[i]);
		run("axpy", 4, 1, 64, 1);
		assert_exact();
	}
}

static void test_vectors_of_64_bit_indices_are_exact(void **state)
{
	(void)state;
	load();
	floats(4000);
	floats(4000);
	number(0);
	truth_param_u64(&truth, 999);
	run("axpy_wide", 4, 1, 256, 1);
	assert_exact();
}

static void test_tiles_of_matrices_are_known(void **state)
{
	static const struct {
		unsigned m, n, k;
	} shapes[] = { { 64, 64, 64 }, { 48, 32, 80 }, { 50, 33, 70 }, { 1, 17, 5 } };

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(shapes); i++) {
		unsigned m = shapes[i].m, n = shapes[i].n, k = shapes[i].k;

		load();
		floats(m * k);
		floats(k * n);
		floats(m * n);
		number(m);
		number(n);
		number(k);
		run("sgemm", (n + 15) / 16, (m + 15) / 16, 16, 16);
		assert_known();
		/* a last row or column of tiles that is cut may have a few bytes too many */
		if (m % 16 == 0 && n % 16 == 0 && k % 16 == 0)
			assert_int_equal(truth.n_extra, 0);
	}
}

static void test_a_reduction_is_exact(void **state)
{
	(void)state;
	load();
	floats(3000);
	floats(64);
	number(3000);
	run("reduce", 5, 1, 128, 1);
	assert_exact();
	load();
	floats(3000);
	floats(64);
	number(3000);
	run("reduce_atomic", 5, 1, 128, 1);
	assert_exact();
}

static void test_rows_of_a_softmax_are_exact(void **state)
{
	static const unsigned columns[] = { 64, 100, 777, 1024 };

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(columns); i++) {
		load();
		floats(8 * columns[i]);
		floats(8 * columns[i]);
		number(columns[i]);
		run("softmax", 8, 1, 128, 1);
		assert_exact();
	}
}

static void test_rows_of_a_layernorm_are_exact(void **state)
{
	(void)state;
	load();
	floats(8 * 300);
	floats(300);
	floats(300);
	floats(8 * 300);
	number(300);
	run("layernorm", 8, 1, 128, 1);
	assert_exact();
}

static void test_a_transpose_is_exact(void **state)
{
	static const struct {
		unsigned rows, columns;
	} shapes[] = { { 64, 32 }, { 50, 37 } };

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(shapes); i++) {
		unsigned rows = shapes[i].rows, columns = shapes[i].columns;

		load();
		floats(rows * columns);
		floats(rows * columns);
		number(rows);
		number(columns);
		run("transpose", (columns + 15) / 16, (rows + 15) / 16, 16, 16);
		assert_exact();
	}
}

static void test_a_gather_writes_what_is_known_and_reads_what_is_not(void **state)
{
	(void)state;
	load();
	floats(64 * 12);
	floats(40);
	floats(40 * 12);
	number(40);
	number(12);
	run("gather", 4, 1, 128, 1);
	assert_int_equal(truth.set.why_reads.reason, SLU_PREDICT_REASON_WRAP);
	assert_int_equal(truth.set.why_writes.reason, 0);
}

static void test_fields_of_a_struct_bound_a_view(void **state)
{
	(void)state;
	load();
	floats(20 * 100);
	number(20);
	number(70);
	number(100);
	number(0); /* the struct's end */
	number(0);
	run("fill", 2, 3, 64, 1);
	assert_exact();
}

static void test_a_call_of_a_function_without_memory_is_exact(void **state)
{
	(void)state;
	load();
	floats(100);
	floats(100);
	number(100);
	run("squares", 1, 1, 128, 1);
	assert_exact();
}

static void test_a_call_of_a_function_with_memory_makes_a_kernel_unknown(void **state)
{
	(void)state;
	load();
	floats(100);
	floats(100);
	number(100);
	run("copies", 1, 1, 128, 1);
	assert_int_equal(truth.set.why_reads.reason, SLU_PREDICT_REASON_CALL);
	assert_int_equal(truth.set.why_writes.reason, SLU_PREDICT_REASON_CALL);
}

/* What a call gives back may be anything, though its arguments are known. */
static void test_a_call_s_result_is_no_address(void **state)
{
	(void)state;
	load();
	floats(400);
	number(100);
	run("permute", 1, 1, 128, 1);
	assert_int_equal(truth.set.why_reads.reason, 0);
	assert_int_not_equal(truth.set.why_writes.reason, 0);
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
		cmocka_unit_test(test_a_grid_stride_loop_is_exact),
		cmocka_unit_test(test_vectors_of_64_bit_indices_are_exact),
		cmocka_unit_test(test_tiles_of_matrices_are_known),
		cmocka_unit_test(test_a_reduction_is_exact),
		cmocka_unit_test(test_rows_of_a_softmax_are_exact),
		cmocka_unit_test(test_rows_of_a_layernorm_are_exact),
		cmocka_unit_test(test_a_transpose_is_exact),
		cmocka_unit_test(test_a_gather_writes_what_is_known_and_reads_what_is_not),
		cmocka_unit_test(test_fields_of_a_struct_bound_a_view),
		cmocka_unit_test(test_a_call_of_a_function_without_memory_is_exact),
		cmocka_unit_test(test_a_call_of_a_function_with_memory_makes_a_kernel_unknown),
		cmocka_unit_test(test_a_call_s_result_is_no_address),
	};
	const struct CMUnitTest skipped[] = {
		slu_test_skipped(kernels, "no nvcc that makes PTX"),
	};
	const char *path = getenv("SLUICE_MODEL_KERNELS");

	kernels = path ? truth_read_text(path) : NULL;
	if (!kernels)
		return cmocka_run_group_tests(skipped, NULL, NULL);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
