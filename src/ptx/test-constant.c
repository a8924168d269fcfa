/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/test-ptx.h"

#include "base/util.h"

static void test_integers_are_computed_with_64_bits(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} rows[] = {
		{ "1+2*3", 7 },
		{ "(1+2)*3", 9 },
		{ "-(1+2)", (uint64_t)-3 },
		{ "- -3", 3 },
		{ "+4", 4 },
		{ "10-3-2", 5 },
		{ "~5", ~UINT64_C(5) },
		{ "!5", 0 },
		{ "!0 + !1", 1 },
		{ "WARP_SZ*2", 64 },
		{ "-WARP_SZ", (uint64_t)-32 },
		{ "1<<40", UINT64_C(1) << 40 },
		{ "1<<64", 0 },
		{ "-8>>1", (uint64_t)-4 },
		{ "-8>>100", UINT64_MAX },
		{ "(.u64)-8>>1", (uint64_t)-8 >> 1 },
		{ "0x8000000000000000>>63", 1 },
		{ "-7/2", (uint64_t)-3 },
		{ "7/-2", (uint64_t)-3 },
		{ "-7/2U", (uint64_t)-7 / 2 },
		{ "(.s64)0x8000000000000000/-1", UINT64_C(1) << 63 },
		{ "17 % 5", 2 },
		{ "-1 % 10", UINT64_MAX % 10 },
		{ "-1 < 1", 1 },
		{ "-1 < 1U", 0 },
		{ "(.u64)-1 > 1", 1 },
		{ "(.s64)18446744073709551615 < 1", 1 },
		{ "3<=3", 1 },
		{ "3>=4", 0 },
		{ "3==3", 1 },
		{ "3!=3", 0 },
		{ "6&3|8^1", 11 },
		{ "1|2 == 2", 1 },
		{ "2 && 0 || 1", 1 },
		{ "0 || 0", 0 },
		{ "1 ? 2 : 3", 2 },
		{ "0 ? 2 : 0 ? 4 : 5", 5 },
		{ "(2 > 1 ? -1 : 1U) > 0", 1 },
		{ "1.5 < 2.0", 1 },
		{ "1.5 == 2.0 ? 7 : 8", 8 },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct slu_ptx_module *m;
		uint64_t value;
		char text[256];

		snprintf(text, sizeof(text), HEAD ".global .u64 a = %s;", rows[i].text);
		m = good(text);
		memcpy(&value, slu_ptx_module_variable(m, "a")->init, 8);
		if (value != rows[i].value)
			fail_msg("%s is %#llx, not %#llx", rows[i].text, (unsigned long long)value,
				 (unsigned long long)rows[i].value);
		slu_ptx_module_free(m);
	}
}

static void test_floats_are_computed_with_double_precision(void **state)
{
	static const struct {
		const char *text;
		double value;
	} rows[] = {
		{ "1.0/3.0", 1.0 / 3.0 }, { "-(1.5+2.5)*2.0", -8.0 },	   { "1 ? 2.5 : 3.5", 2.5 },
		{ "1.0e3 - 1.0", 999.0 }, { "0d3FF0000000000000+1.0", 2 }, { "-0f3F800000", -1.0 },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct slu_ptx_module *m;
		double value;
		char text[256];

		snprintf(text, sizeof(text), HEAD ".global .f64 a = %s;", rows[i].text);
		m = good(text);
		memcpy(&value, slu_ptx_module_variable(m, "a")->init, 8);
		if (value != rows[i].value)
			fail_msg("%s is %g, not %g", rows[i].text, value, rows[i].value);
		slu_ptx_module_free(m);
	}
}

static void test_an_expression_stands_wherever_a_number_may(void **state)
{
	struct slu_ptx_module *m = good(
		HEAD
		".global .align 2*8 .b32 a[2+2][WARP_SZ/8] = { {1+1, 2*3}, {~0} };\n"
		".const .u64 b = a + 4*3 - 2;\n"
		".visible .entry k() .maxntid 16*16, 1+1\n"
		"{ .reg .b32 %r<2*2>; .reg .b64 %d<(1<<1)>;\n"
		"  mov.u32 %r3, (1 << 4) | 1; ld.global.u32 %r1, [a+4*3-2];\n"
		"  ld.global.u32 %r1, [%d1 + (1+1) * 4]; ld.global.v2.u32 {%r1, %r2}, [64*2];\n"
		"  st.global.v2.f32 [%d1], {1.0+1.0, -0.5}; mov.u64 %d1, a[1+2]; bar.sync 3-2;\n"
		"  ret; }\n");
	const struct slu_ptx_function *k = slu_ptx_module_kernel(m, "k");
	const struct slu_ptx_variable *a = slu_ptx_module_variable(m, "a");
	const struct slu_ptx_instr *i = k->instrs;
	uint32_t words[3];

	(void)state;
	assert_int_equal(a->size, 64);
	assert_int_equal(a->align, 16);
	memcpy(words, a->init, sizeof(words));
	assert_int_equal(words[0], 2);
	assert_int_equal(words[1], 6);
	assert_int_equal(words[2], UINT32_MAX);
	assert_int_equal(slu_ptx_module_variable(m, "b")->relocs->addend, 10);
	assert_int_equal(k->max_threads[0], 256);
	assert_int_equal(k->max_threads[1], 2);
	assert_int_equal(k->n_regs, 6);
	assert_int_equal(i[0].operands[1].imm, 17);
	assert_int_equal(i[1].operands[1].offset, 10);
	assert_int_equal(i[2].operands[1].offset, 8);
	assert_int_equal(i[3].operands[1].offset, 128);
	assert_int_equal(i[4].operands[1].elements[0].imm, 0x40000000);
	assert_int_equal(i[4].operands[1].elements[1].imm, 0xbf000000);
	assert_int_equal(i[5].operands[1].offset, 12);
	assert_int_equal(i[6].operands[0].imm, 1);
	slu_ptx_module_free(m);
}

static void test_what_cannot_be_computed_is_refused_at_its_place(void **state)
{
	static const struct {
		unsigned column;
		const char *text, *says;
	} rows[] = {
		{ 18, ".global .u64 a = ;", "';' where an initial value" },
		{ 20, ".global .u64 a = 1+;", "';' where an initial value" },
		{ 21, ".global .u64 a = (1+;", "';' where an initial value" },
		{ 20, ".global .u64 a = (1;", "where ')'" },
		{ 19, ".global .u64 a = 1/0;", "'/' by zero" },
		{ 20, ".global .u64 a = 1 % 0;", "'%' by zero" },
		{ 19, ".global .u64 a = 1+2.0;", "'+' between an integer and a float" },
		{ 22, ".global .f64 a = 1.0 & 2.0;", "'&' between floats" },
		{ 24, ".global .f64 a = 1.0 + 0f3F800000;", "is no part of an expression" },
		{ 19, ".global .f64 a = ~1.0;", "is no integer" },
		{ 24, ".global .f64 a = (.u64)1.0;", "is no integer" },
		{ 18, ".global .f64 a = 1.0 ? 1.0 : 2.0;", "is no integer" },
		{ 20, ".global .f64 a = 1 ? 1.0 : 2;", "'?' between" },
		{ 23, ".global .u64 a = 1 ? 2;", "where ':'" },
		{ 20, ".global .u64 a = 1+b;", "'b' where an initial value" },
		{ 18, ".global .u32 a = 1.0+1.0;", "does not fit .u32" },
		{ 15, ".global .b8 a[1-2];", "where a number of elements" },
		{ 15, ".global .b8 a[1<<41];", "too large" },
		{ 16, ".global .align 2+1 .b8 a;", "a power of two" },
		{ 82,
		  ".global .u64 a = "
		  "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((("
		  "(",
		  "nested too deep" },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct slu_ptx_module *m = NULL;
		struct slu_ptx_error e = { 0 };
		char text[256];

		snprintf(text, sizeof(text), HEAD "%s", rows[i].text);
		if (slu_ptx_parse(text, strlen(text), &m, &e) != SLU_PTX_E_REFUSED)
			fail_msg("taken: %s", rows[i].text);
		if (e.line != 4 || e.column != rows[i].column || !strstr(e.text, rows[i].says))
			fail_msg("%s: %u:%u: %s", rows[i].text, e.line, e.column, e.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integers_are_computed_with_64_bits),
		cmocka_unit_test(test_floats_are_computed_with_double_precision),
		cmocka_unit_test(test_an_expression_stands_wherever_a_number_may),
		cmocka_unit_test(test_what_cannot_be_computed_is_refused_at_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
