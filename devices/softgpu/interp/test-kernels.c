/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that clang made of test/kernels/kernels.cl, against the same thing in plain C. */
#include "lib/test.h"

#include <math.h>

#include "softgpu/interp/testbed.h"

static char *text;

static struct dev_testbed *bed(void)
{
	static struct dev_testbed t;

	dev_testbed_init(&t);
	assert_int_equal(dev_testbed_load(&t, text), 0);
	t.n_workers = 2;
	return &t;
}

static void run(struct dev_testbed *t, const char *kernel, unsigned grid, unsigned block)
{
	int r = dev_testbed_run(t, kernel, grid, block);

	if (r == DEV_INTERP_E_REFUSED)
		printf("# %s: %u:%u: %s\n", kernel, t->error.line, t->error.column, t->error.text);
	if (r == DEV_INTERP_E_FAULT)
		printf("# %s: %s at %llx, line %u (%s)\n", kernel,
		       dev_interp_fault_name(t->fault.kind), (unsigned long long)t->fault.address,
		       t->fault.line, t->fault.form);
	assert_int_equal(r, 0);
}

static void test_sgemm_with_tiles_in_shared_memory(void **state)
{
	struct dev_testbed *t = bed();
	unsigned n = 64;
	float *a = dev_testbed_alloc(t, n * n * 4), *b = dev_testbed_alloc(t, n * n * 4);
	float *c = dev_testbed_alloc(t, n * n * 4);
	uint64_t seed = slu_test_seed(1);

	(void)state;
	for (unsigned i = 0; i < n * n; i++) {
		a[i] = (float)(slu_test_random(&seed) % 1000) / 100;
		b[i] = (float)(slu_test_random(&seed) % 1000) / 100;
	}
	dev_testbed_param_ptr(t, a);
	dev_testbed_param_ptr(t, b);
	dev_testbed_param_ptr(t, c);
	dev_testbed_param_u32(t, n);
	run(t, "sgemm", n / 16 * (n / 16), 256);
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < n; k++) {
			float sum = 0;

			for (unsigned m = 0; m < n; m++)
				sum = fmaf(a[i * n + m], b[m * n + k], sum);
			assert_true(c[i * n + k] == sum);
		}
	dev_testbed_deinit(t);
}

static void test_reduction_with_barriers(void **state)
{
	struct dev_testbed *t = bed();
	unsigned n = 100003, blocks = 7;
	int *in = dev_testbed_alloc(t, n * 4), *out = dev_testbed_alloc(t, blocks * 4);
	int64_t expected = 0, sum = 0;

	(void)state;
	for (unsigned i = 0; i < n; i++) {
		in[i] = (int)(i * 2654435761u >> 12) - 500000;
		expected += in[i];
	}
	dev_testbed_param_ptr(t, in);
	dev_testbed_param_ptr(t, out);
	dev_testbed_param_u32(t, n);
	run(t, "reduce", blocks, 256);
	for (unsigned i = 0; i < blocks; i++)
		sum += out[i];
	assert_int_equal((int)sum, (int)expected);
	dev_testbed_deinit(t);
}

static void test_histogram_with_atomics(void **state)
{
	struct dev_testbed *t = bed();
	unsigned n = 50000;
	uint8_t *in = dev_testbed_alloc(t, n);
	int *bins = dev_testbed_alloc(t, 1024), expected[256] = { 0 };
	uint64_t seed = slu_test_seed(2);

	(void)state;
	for (unsigned i = 0; i < n; i++) {
		in[i] = (uint8_t)(slu_test_random(&seed) & slu_test_random(&seed));
		expected[in[i]]++;
	}
	dev_testbed_param_ptr(t, in);
	dev_testbed_param_ptr(t, bins);
	dev_testbed_param_u32(t, n);
	run(t, "histogram", 5, 192);
	assert_memory_equal(bins, expected, sizeof(expected));
	dev_testbed_deinit(t);
}

struct link {
	struct link *next;
	int value;
};

static void test_pointers_in_device_memory_are_followed(void **state)
{
	struct dev_testbed *t = bed();
	unsigned n = 333, n_links = 5000;
	struct link *links = dev_testbed_alloc(t, n_links * sizeof(*links));
	struct link **heads = dev_testbed_alloc(t, n * sizeof(*heads));
	int *out = dev_testbed_alloc(t, n * 4), expected[333] = { 0 };
	uint64_t seed = slu_test_seed(3);

	(void)state;
	for (unsigned i = 0; i < n_links; i++) {
		unsigned h = (unsigned)(slu_test_random(&seed) % n);

		links[i].value = (int)(i * 7);
		links[i].next = heads[h];
		heads[h] = &links[i];
		expected[h] += links[i].value;
	}
	dev_testbed_param_ptr(t, heads);
	dev_testbed_param_ptr(t, out);
	dev_testbed_param_u32(t, n);
	run(t, "chase", 3, 128);
	assert_memory_equal(out, expected, n * 4);
	dev_testbed_deinit(t);
}

static void test_every_lane_has_its_own_number_of_rounds(void **state)
{
	struct dev_testbed *t = bed();
	unsigned n = 1000;
	uint32_t *in = dev_testbed_alloc(t, n * 4);
	int *out = dev_testbed_alloc(t, n * 4);

	(void)state;
	for (unsigned i = 0; i < n; i++)
		in[i] = i * 77 + 1;
	dev_testbed_param_ptr(t, in);
	dev_testbed_param_ptr(t, out);
	dev_testbed_param_u32(t, n);
	run(t, "collatz", 8, 128);
	for (unsigned i = 0; i < n; i++) {
		int steps = 0;

		for (uint64_t x = in[i]; x > 1; steps++)
			x = x & 1 ? 3 * x + 1 : x / 2;
		assert_int_equal(out[i], steps);
	}
	dev_testbed_deinit(t);
}

static void test_a_spin_lock_between_lanes_warps_and_blocks_ends(void **state)
{
	struct dev_testbed *t = bed();
	int *lock = dev_testbed_alloc(t, 4), *counter = dev_testbed_alloc(t, 4);

	(void)state;
	dev_testbed_param_ptr(t, lock);
	dev_testbed_param_ptr(t, counter);
	dev_testbed_param_u32(t, 3);
	run(t, "spin_lock", 3, 96);
	assert_int_equal(*lock, 0);
	assert_int_equal(*counter, 3 * 96 * 3);
	dev_testbed_deinit(t);
}

static int ackermann(int m, int n)
{
	return !m ? n + 1 : !n ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

static void test_recursion_of_different_depth_in_each_lane(void **state)
{
	struct dev_testbed *t = bed();
	unsigned n = 100;
	int *out = dev_testbed_alloc(t, n * 4);

	(void)state;
	dev_testbed_param_ptr(t, out);
	dev_testbed_param_u32(t, n);
	run(t, "recurse", 2, 64);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(out[i], ackermann((int)i % 3, (int)i % 5));
	dev_testbed_deinit(t);
}

static void test_a_struct_by_value_and_an_array_in_local_memory(void **state)
{
	struct box {
		int which;
		float value[5];
		int64_t large;
	} box = { 3, { 1.5f, 2.5f, -3.5f, 4.5f, 5.5f }, 1000000007 };
	struct dev_testbed *t = bed();
	unsigned n = 90;
	double *out = dev_testbed_alloc(t, n * 8);

	(void)state;
	dev_testbed_param(t, &box, sizeof(box));
	dev_testbed_param_ptr(t, out);
	dev_testbed_param_u32(t, n);
	run(t, "by_value", 3, 32);
	for (unsigned i = 0; i < n; i++) {
		unsigned k = (i + 3) % 8;

		assert_true(out[i] == (double)(box.value[(k + i) % 5] * (float)k) + 1000000007.0);
	}
	dev_testbed_deinit(t);
}

static int64_t mix(int64_t x)
{
	switch (x & 7) {
	case 0:
		return x / 7 + x % 13;
	case 1:
		return (int64_t)(int32_t)x * 3 - (int16_t)x;
	case 2:
		return (uint8_t)x + ((uint32_t)x >> 3);
	case 3:
		return __builtin_popcountll((uint64_t)x) + __builtin_clzll((uint64_t)x | 1);
	case 4:
		return (int64_t)((double)x * 0.5) + (int64_t)(float)(int32_t)x;
	case 5:
		return (int64_t)((uint64_t)x << (x & 31)) ^ (x >> 5);
	case 6:
		return (int32_t)x / ((int32_t)(x >> 40) | 1);
	default:
		return x > 0 ? -x : x + (x < -1000);
	}
}

static void test_a_mixture_of_types(void **state)
{
	struct dev_testbed *t = bed();
	unsigned n = 4000;
	int64_t *in = dev_testbed_alloc(t, n * 8), *out = dev_testbed_alloc(t, n * 8);
	uint64_t seed = slu_test_seed(4);

	(void)state;
	for (unsigned i = 0; i < n; i++)
		in[i] = (int64_t)(slu_test_random(&seed) >> slu_test_random(&seed) % 60);
	dev_testbed_param_ptr(t, in);
	dev_testbed_param_ptr(t, out);
	dev_testbed_param_u32(t, n);
	run(t, "mixture", 16, 256);
	for (unsigned i = 0; i < n; i++)
		if (out[i] != mix(in[i]))
			fail_msg("case %d of %lld: %lld, not %lld", (int)(in[i] & 7),
				 (long long)in[i], (long long)out[i], (long long)mix(in[i]));
	dev_testbed_deinit(t);
}

static void test_constants_and_dynamic_shared_memory(void **state)
{
	static const int table[16] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 };
	struct dev_testbed *t = bed();
	unsigned n = 128;
	int *out = dev_testbed_alloc(t, n * 4);

	(void)state;
	t->dynamic_shared_bytes = 64 * 4;
	dev_testbed_param_ptr(t, out);
	/* an OpenCL local pointer is an offset in the block's window */
	dev_testbed_param(t, &(uint64_t){ 0 }, 8);
	dev_testbed_param_u32(t, n);
	run(t, "lookup", 2, 64);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(out[i], table[(i / 64 * 64 + 63 - i % 64) % 16] * 10);
	dev_testbed_deinit(t);
}

static bool load_text(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t n = 0;

	text = calloc(1, 1 << 20);
	if (f && text)
		n = fread(text, 1, (1 << 20) - 1, f);
	if (f)
		fclose(f);
	return n > 0;
}

int main(void)
{
	const char *path = getenv("SLUICE_KERNELS");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sgemm_with_tiles_in_shared_memory),
		cmocka_unit_test(test_reduction_with_barriers),
		cmocka_unit_test(test_histogram_with_atomics),
		cmocka_unit_test(test_pointers_in_device_memory_are_followed),
		cmocka_unit_test(test_every_lane_has_its_own_number_of_rounds),
		cmocka_unit_test(test_a_spin_lock_between_lanes_warps_and_blocks_ends),
		cmocka_unit_test(test_recursion_of_different_depth_in_each_lane),
		cmocka_unit_test(test_a_struct_by_value_and_an_array_in_local_memory),
		cmocka_unit_test(test_a_mixture_of_types),
		cmocka_unit_test(test_constants_and_dynamic_shared_memory),
	};
	int r;

	if (!path || !*path) {
		printf("1..0 # SKIP no clang that makes PTX was found when this was built\n");
		return 0;
	}
	if (!load_text(path)) {
		printf("Bail out! %s cannot be read\n", path);
		return 1;
	}
	r = cmocka_run_group_tests(tests, NULL, NULL);
	free(text);
	return r;
}
