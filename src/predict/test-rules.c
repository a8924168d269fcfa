/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels in which one rule of the analysis decides and that hardly come up at random: run, and
 * compared byte by byte. Each gets a pointer p and a number n.
 */
#include "lib/test.h"

#include "predict/test-truth.h"

#define VERSION ".version 7.0\n.target sm_75\n.address_size 64\n"
#define ENTRY                                                              \
	".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"             \
	".reg .b64 %a, %b; .reg .b32 %i, %j, %n, %t; .reg .pred %q, %s;\n" \
	"ld.param.u64 %a, [p];\nld.param.u32 %n, [n];\n"                   \
	"mov.u32 %i, 0;\nmov.u32 %j, 0;\n"
#define HEAD VERSION ENTRY
/* p[x] = x */
#define STORE(x) "mul.wide.u32 %b, " x ", 4;\nadd.u64 %b, %a, %b;\nst.global.u32 [%b], " x ";\n"
#define TAIL	 "E: ret;\n}\n"

static const struct {
	const char *rule;
	const char *text;
	unsigned n;
	unsigned n_touched; /* bytes */
	bool is_known;
} rules[] = {
	{ "a loop that may wrap around has no bound",
	  HEAD "mov.u32 %j, 0xffffff00;\n"
	       "L:\n" STORE("%i") "add.u32 %i, %i, 1;\n"
				  "setp.ge.u32 %q, %i, %n;\n@%q bra E;\n"
				  "add.u32 %j, %j, 16;\n"
				  "setp.lt.u32 %s, %j, 0xfffffff8;\n@%s bra L;\n" TAIL,
	  40, 160, true },
	{ "a counter goes on alike over all edges, the last one faster",
	  HEAD "L:\nsetp.ge.u32 %q, %i, %n;\n@%q bra E;\n" STORE(
		  "%j") "add.u32 %i, %i, 1;\n"
			"and.b32 %t, %i, 1;\nsetp.eq.u32 %s, %t, 0;\n@%s bra F;\n"
			"add.u32 %j, %j, 1;\nbra L;\n"
			"F: add.u32 %j, %j, 3;\nbra L;\n" TAIL,
	  20, 80, false },
	{ "a counter goes on alike over all edges, the first one faster",
	  HEAD "L:\nsetp.ge.u32 %q, %i, %n;\n@%q bra E;\n" STORE(
		  "%j") "add.u32 %i, %i, 1;\n"
			"and.b32 %t, %i, 1;\nsetp.eq.u32 %s, %t, 0;\n@%s bra F;\n"
			"add.u32 %j, %j, 3;\nbra L;\n"
			"F: add.u32 %j, %j, 1;\nbra L;\n" TAIL,
	  20, 80, false },
	{ "a test counts only if every turn makes it",
	  HEAD "L:\n" STORE("%i") "add.u32 %i, %i, 1;\n"
				  "and.b32 %t, %i, 1;\nsetp.ne.u32 %s, %t, 0;\n@%s bra F;\n"
				  "setp.ge.u32 %q, %i, %n;\n@%q bra E;\n"
				  "F: setp.lt.u32 %q, %i, 100;\n@%q bra L;\n" TAIL,
	  5, 24, true },
	{ "a bound that changes in the loop need not be met",
	  HEAD "L:\n" STORE("%i") "add.u32 %i, %i, 1;\n"
				  "and.b32 %t, %i, 1;\nadd.u32 %t, %t, 9;\n"
				  "setp.eq.u32 %q, %i, %t;\n@%q bra E;\n"
				  "setp.lt.u32 %s, %i, %n;\n@%s bra L;\n" TAIL,
	  40, 160, true },
	{ "two loops are in turns of their own",
	  HEAD "L: mov.u32 %j, 0;\n"
	       "M: mad.lo.u32 %t, %i, 10, %j;\n" STORE(
		       "%t") "add.u32 %j, %j, 1;\nsetp.lt.u32 %q, %j, 10;\n@%q bra M;\n"
			     "add.u32 %i, %i, 1;\nsetp.lt.u32 %q, %i, 10;\n@%q bra L;\n" TAIL,
	  0, 400, true },
	{ "two choices are two values",
	  HEAD "L: and.b32 %t, %i, 1;\nsetp.eq.u32 %q, %t, 0;\n"
	       "and.b32 %t, %i, 2;\nsetp.eq.u32 %s, %t, 0;\n"
	       "selp.u32 %j, 0, 1, %q;\nselp.u32 %t, 0, 1, %s;\n"
	       "mad.lo.u32 %t, %t, 10, %j;\n" STORE(
		       "%t") "add.u32 %i, %i, 1;\nsetp.lt.u32 %q, %i, %n;\n@%q bra L;\n" TAIL,
	  4, 16, true },
	{ "a function that touches memory is not followed",
	  VERSION ".func f(.param .u64 x)\n{\n.reg .b64 %c;\n"
		  "ld.param.u64 %c, [x];\nst.global.u32 [%c], 1;\nret;\n}\n" ENTRY
		  "{\n.param .u64 y;\nst.param.u64 [y], %a;\ncall f, (y);\n}\n" TAIL,
	  0, 4, false },
};

static struct truth truth;

static void test_each_rule_holds_where_it_decides(void **state)
{
	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rules); i++) {
		truth_unload(&truth);
		assert_int_equal(truth_load(&truth, rules[i].text), 0);
		truth_param_u64(&truth, truth_alloc(&truth, 4096));
		truth_param_u32(&truth, rules[i].n);
		assert_int_equal(
			truth_run(&truth, "k", (unsigned[]){ 1, 1, 1 }, (unsigned[]){ 1, 1, 1 }),
			0);
		if (truth.n_missed)
			fprintf(stderr, "%s: missed %llu bytes\n", rules[i].rule,
				(unsigned long long)truth.n_missed);
		assert_int_equal(truth.n_missed, 0);
		assert_int_equal(truth.n_touched, rules[i].n_touched);
		assert_int_equal(!truth.set.why_writes.reason, rules[i].is_known);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_rule_holds_where_it_decides),
	};
	int r;

	truth_init(&truth, UINT64_C(1) << 16);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	truth_deinit(&truth);
	return r;
}
