/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms that no compiler writes and people do: what each computes. Whether every wrong one is
 * refused at its place is tested where texts are parsed.
 */
#include "lib/test.h"

#include "softgpu/interp/testbed.h"

#define HEAD ".version 7.0\n.target sm_80\n.address_size 64\n"
#define REGS                                                                                     \
	".reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<20>; .reg .b64 %d<8>; .reg .f32 %f<8>;" \
	"ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 32;"                 \
	"add.s64 %d1, %d1, %d2;\n"
/* %r1 is the thread, %d1 the address of its eight words */
#define KERNEL(text) ".visible .entry k(.param .u64 p)\n{\n" REGS text "\n}\n"

#define N_THREADS 64

/* Runs the kernel k of a text and gives back eight words a thread. */
static const uint32_t (*run(struct dev_testbed *t, const char *text))[8]
{
	uint32_t *words;

	dev_testbed_init(t);
	words = dev_testbed_alloc(t, N_THREADS * 32);
	if (dev_testbed_load(t, text))
		fail_msg("%u:%u: %s\n%s", t->error.line, t->error.column, t->error.text, text);
	dev_testbed_param_ptr(t, words);
	if (dev_testbed_run(t, "k", 1, N_THREADS))
		fail_msg("%u:%u: %s\n%s", t->error.line, t->error.column, t->error.text, text);
	return (const uint32_t(*)[8])words;
}

static void test_expressions_of_constants(void **state)
{
	struct dev_testbed t;
	const uint32_t(*words)[8];

	(void)state;
	words = run(
		&t, HEAD
		".const .align 4*2 .u32 table[WARP_SZ/4] = { 1<<4, 10-3, ~0, 3>2 ? 5 : 6 "
		"};\n" KERNEL("add.s32 %r2, %r1, (1+2)*3; st.global.u32 [%d1], %r2;\n"
			      "ld.const.u32 %r3, [table+2*2-4]; st.global.u32 [%d1+4*1], %r3;\n"
			      "ld.const.v2.u32 {%r3, %r4}, [table+4*2]; "
			      "st.global.v2.u32 [%d1+(1<<3)], {%r4, 2*-3};\n"
			      "mov.f32 %f1, 1.0/4.0; st.global.v2.f32 [%d1+16], {-0.5-1.0, %f1};"));
	for (unsigned i = 0; i < N_THREADS; i++) {
		assert_int_equal(words[i][0], i + 9);
		assert_int_equal(words[i][1], 16);
		assert_int_equal(words[i][2], 5);
		assert_int_equal(words[i][3], (uint32_t)-6);
		assert_int_equal(words[i][4], 0xbfc00000);
		assert_int_equal(words[i][5], 0x3e800000);
	}
	dev_testbed_deinit(&t);
}

static void test_vectors_of_registers(void **state)
{
	struct dev_testbed t;
	const uint32_t(*words)[8];

	(void)state;
	words = run(&t, HEAD KERNEL(".reg .v4 .b32 a, b<2>; .reg .v2 .b32 c;\n"
				    "mov.b32 a.x, %r1; add.s32 a.y, a.x, 1; add.s32 a.b, a.g, 1; "
				    "add.s32 a.w, a.z, 1;\n"
				    "mov.v4.b32 b1, a; mov.v4.b32 {b1.y, b1.x, b1.w, b1.z}, b1;\n"
				    "st.global.v4.b32 [%d1], b1; ld.global.v2.b32 c, [%d1+8];\n"
				    "setp.gt.u32 %p1, %r1, 31; @%p1 mov.v2.b32 c, {c.y, c.x};\n"
				    "mov.b64 %d3, c; st.global.b64 [%d1+16], %d3;\n"
				    "mov.b64 {c.y, c.x}, %d3; st.global.v2.b32 [%d1+24], c;"));
	for (unsigned i = 0; i < N_THREADS; i++) {
		assert_int_equal(words[i][0], i + 1);
		assert_int_equal(words[i][1], i);
		assert_int_equal(words[i][2], i + 3);
		assert_int_equal(words[i][3], i + 2);
		assert_int_equal(words[i][4], i > 31 ? i + 2 : i + 3);
		assert_int_equal(words[i][5], i > 31 ? i + 3 : i + 2);
		assert_int_equal(words[i][6], words[i][5]);
		assert_int_equal(words[i][7], words[i][4]);
	}
	dev_testbed_deinit(&t);
}

static void test_calls_that_pass_registers_and_constants(void **state)
{
	struct dev_testbed t;
	const uint32_t(*words)[8];

	(void)state;
	words = run(
		&t, HEAD
		".func (.reg .u32 sum, .reg .f64 product) both(.reg .u32 a, .reg .f64 b, "
		".param .u16 c)\n"
		"{ .reg .pred p; .reg .b16 h; .reg .b32 w; .reg .f64 x;\n"
		"  ld.param.u16 h, [c]; cvt.u32.u16 w, h; add.u32 sum, a, w;\n"
		"  cvt.rn.f64.u32 x, a; mul.f64 product, x, b; setp.gt.u32 p, a, 40;\n"
		"  @p ret; add.u32 sum, sum, 1; }\n"
		".func (.reg .u32 r) factorial(.reg .u32 n)\n"
		"{ .reg .pred p; .reg .u32 m; mov.u32 r, 1; setp.lt.u32 p, n, 2; @p ret;\n"
		"  sub.u32 m, n, 1; call (m), factorial, (m); mul.lo.u32 r, n, m; ret; }\n" KERNEL(
			".reg .f64 x; .reg .b64 f; .reg .u32 s;\n"
			"mov.b16 %h1, 7; mov.u32 s, 99; mov.f64 x, 0.0;\n"
			"call (s, x), both, (%r1, 0.5, %h1);\n"
			"st.global.u32 [%d1], s; st.global.f64 [%d1+8], x;\n"
			"and.b32 %r2, %r1, 7; mov.u64 f, factorial; mov.u32 s, 5;\n"
			"P: .callprototype (.reg .u32 _) _ (.reg .u32 _);\n"
			"setp.ne.u32 %p1, %r2, 3; @%p1 call (s), f, (%r2), P;\n"
			"st.global.u32 [%d1+4], s; call (_, x), both, (%tid.x, 2.0, 1);\n"
			"st.global.f64 [%d1+16], x;"));
	for (unsigned i = 0; i < N_THREADS; i++) {
		static const uint32_t factorials[8] = { 1, 1, 2, 5, 24, 120, 720, 5040 };
		double products[2];

		memcpy(products, &words[i][2], sizeof(products));
		assert_int_equal(words[i][0], i + (i > 40 ? 7 : 8));
		assert_int_equal(words[i][1], factorials[i & 7]);
		assert_true(products[0] == i * 0.5);
		assert_true(products[1] == i * 2.0);
	}
	dev_testbed_deinit(&t);
}

static void test_what_older_texts_have(void **state)
{
	struct dev_testbed t;
	const uint32_t(*words)[8];

	(void)state;
	words = run(
		&t,
		HEAD ".const .u32 table[4] = { 5, 6, 7, 8 }; .global .u32 sum[2];\n" KERNEL(
			".reg .v4 .u32 v; mov.v4.u32 v, %tid; ld.const.u32 v.z, table[2];\n"
			"mov.u16 %h1, %ntid.x; cvt.u32.u16 v.w, %h1; st.global.v4.u32 [%d1], v;\n"
			"mov.f32 %f1, .5; mov.u32 %r2, %gridid;\n"
			"st.global.f32 [%d1+16], %f1; st.global.u32 [%d1+20], %r2;\n"
			"atom.global.add.u32 %r3, sum[1], 1; bar.sync 0; ld.global.u32 %r3, "
			"sum[1];\n"
			"st.global.u32 [%d1+24], %r3;"));
	for (unsigned i = 0; i < N_THREADS; i++) {
		static const uint32_t same[6] = { 0, 7, N_THREADS, 0x3f000000, 0, N_THREADS };

		assert_int_equal(words[i][0], i);
		assert_memory_equal(&words[i][1], same, sizeof(same));
	}
	dev_testbed_deinit(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expressions_of_constants),
		cmocka_unit_test(test_vectors_of_registers),
		cmocka_unit_test(test_calls_that_pass_registers_and_constants),
		cmocka_unit_test(test_what_older_texts_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
