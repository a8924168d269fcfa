/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "softgpu/interp/testbed.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

static const char vadd_text[] =
	HEAD ".visible .entry vadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n"
	     "{\n"
	     "	.reg .pred %p<2>;\n"
	     "	.reg .f32 %f<4>;\n"
	     "	.reg .b32 %r<6>;\n"
	     "	.reg .b64 %rd<11>;\n"
	     "	ld.param.u64 %rd1, [a];\n"
	     "	ld.param.u64 %rd2, [b];\n"
	     "	ld.param.u64 %rd3, [c];\n"
	     "	ld.param.u32 %r2, [n];\n"
	     "	mov.u32 %r3, %ctaid.x;\n"
	     "	mov.u32 %r4, %ntid.x;\n"
	     "	mov.u32 %r5, %tid.x;\n"
	     "	mad.lo.s32 %r1, %r3, %r4, %r5;\n"
	     "	setp.ge.s32 %p1, %r1, %r2;\n"
	     "	@%p1 bra $L1;\n"
	     "	cvta.to.global.u64 %rd4, %rd1;\n"
	     "	mul.wide.s32 %rd5, %r1, 4;\n"
	     "	add.s64 %rd6, %rd4, %rd5;\n"
	     "	cvta.to.global.u64 %rd7, %rd2;\n"
	     "	add.s64 %rd8, %rd7, %rd5;\n"
	     "	ld.global.f32 %f1, [%rd8];\n"
	     "	ld.global.f32 %f2, [%rd6];\n"
	     "	add.f32 %f3, %f2, %f1;\n"
	     "	cvta.to.global.u64 %rd9, %rd3;\n"
	     "	add.s64 %rd10, %rd9, %rd5;\n"
	     "	st.global.f32 [%rd10], %f3;\n"
	     "$L1:\n"
	     "	ret;\n"
	     "}\n";

static void run_vadd(struct slu_testbed *t, unsigned n, unsigned block, int expected)
{
	float *a = slu_testbed_alloc(t, n * 4), *b = slu_testbed_alloc(t, n * 4);
	float *c = slu_testbed_alloc(t, n * 4);

	for (unsigned i = 0; i < n; i++) {
		a[i] = (float)i;
		b[i] = 0.5f * (float)i;
	}
	slu_testbed_param_ptr(t, a);
	slu_testbed_param_ptr(t, b);
	slu_testbed_param_ptr(t, c);
	slu_testbed_param_u32(t, n);
	assert_int_equal(slu_testbed_run(t, "vadd", (n + block - 1) / block, block), expected);
	for (unsigned i = 0; !expected && i < n; i++)
		assert_true(c[i] == 1.5f * (float)i);
}

static void test_vadd_of_any_size_and_shape(void **state)
{
	static const unsigned sizes[] = { 1, 31, 32, 33, 1000, 4096, 10001 };
	static const unsigned blocks[] = { 1, 7, 32, 100, 256, 1024 };
	struct slu_testbed t;

	(void)state;
	slu_testbed_init(&t);
	assert_int_equal(slu_testbed_load(&t, vadd_text), 0);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(sizes); i++)
		for (size_t k = 0; k < SLU_ARRAY_SIZE(blocks); k++) {
			t.n_workers = 1 + k % 3;
			run_vadd(&t, sizes[i], blocks[k], 0);
		}
	slu_testbed_deinit(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vadd_of_any_size_and_shape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
