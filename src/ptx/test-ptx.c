/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/test-ptx.h"

#include "base/util.h"

/* lines 4 and 5; the body begins in line 6 */
#define BODY(text) HEAD ".visible .entry k(.param .u64 p)\n{\n" text "\n}\n"
#define REGS \
	".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<4>;\n"

/* Long: a table. */
static void test_what_is_right_is_taken(void **state)
{
	static const struct {
		const char *what;
		const char *text;
	} rows[] = {
		{ "an empty module", HEAD },
		{ "no newline at the end", HEAD "// end" },
		{ "comments of both kinds", HEAD "/* a\n b */ // c\n.visible .entry k() { ret; }" },
		{ "labels in front of nothing", BODY("L: M: ret; N:") },
		{ "a branch to a label further down", BODY("bra L; L: ret;") },
		{ "scopes with the same names in them",
		  BODY("{ .reg .b32 t; mov.u32 t, 1; L: bra L; } { .reg .b32 t; mov.u32 t, 2; L: "
		       "bra L; }") },
		{ "a branch out of an inner scope", BODY("{ bra L; } L: ret;") },
		{ "offsets with two signs", BODY(REGS "ld.global.u32 %r1, [%d1+-4];") },
		{ "vectors and sinks", BODY(REGS "ld.global.v4.u32 {%r1, _, %r2, %r3}, [%d1];") },
		{ "packing and unpacking",
		  BODY(REGS "mov.b64 %d1, {%r1, %r2}; mov.b64 {%r3, %r4}, %d1;") },
		{ "a pair of predicates", BODY(REGS "setp.lt.s32 %p1|%p2, %r1, %r2;") },
		{ "a third predicate, negated", BODY(REGS "setp.lt.and.s32 %p1, %r1, %r2, !%p3;") },
		{ "guards", BODY(REGS "@%p1 add.s32 %r1, %r2, 3; @!%p1 bra L; L: ret;") },
		{ "special registers as operands",
		  BODY(REGS "mad.lo.s32 %r1, %ctaid.x, %ntid.x, %tid.x;") },
		{ "constants in every notation",
		  BODY(REGS
		       "mov.b32 %r1, 0x1F; mov.b32 %r1, 0b101; mov.b32 %r1, 017; mov.b32 %r1, -3;"
		       "mov.u32 %r1, 4294967295U; mov.f32 %f1, 0f3F800000; mov.f32 %f1, 1.5;") },
		{ "debug information",
		  HEAD ".file 1 \"a.cu\", 1700000000, 42\n.visible .entry k() {\n.loc 1 2 3\nret;\n"
		       ".loc 1 2 3, function_name $L+4, inlined_at 1 7 8\nret;\n}\n"
		       ".section .debug_str { .b8 1,2\n}\n" },
		{ "performance directives",
		  HEAD ".entry k() .maxntid 256, 1, 1 .minnctapersm 2 { ret; }" },
		{ "a function declared, then defined",
		  HEAD ".func (.param .b32 r) f(.param .b32 a);\n.func (.param .b32 r) f(.param "
		       ".b32 a) { ret; }" },
		{ "unnamed parameters of a declaration",
		  HEAD ".extern .func g(.param .b64 _, .param .b32 _);" },
		{ "cache hints",
		  BODY(REGS "ld.global.nc.L1::no_allocate.L2::128B.v2.u32 {%r1,%r2}, [%d1];") },
		{ "a table of labels further down",
		  BODY(REGS "T: .branchtargets A, B; brx.idx.uni %r1, T; A: ret; B: ret;") },
		{ "modifiers of an atomic in another order",
		  BODY(REGS "atom.add.release.gpu.u32 %r1, [%d1], 1; atom.global.cta.and.b32 %r1, "
			    "[%d1], 1;") },
		{ "a fragment of one register, with braces and without",
		  BODY(REGS "ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r1, [%r2]; "
			    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];") },
		{ "targets of an indirect call",
		  HEAD ".func f() { ret; }\n.entry k() { .reg .b64 %d1; mov.u64 %d1, f; T: "
		       ".calltargets f; call %d1, (), T; }" },
		{ "an indirect call that passes nothing", HEAD
		  ".entry k() { .reg .b64 %d1; P: .callprototype _ (); call %d1, P; call %d1, (), "
		  "P; }" },
		{ "vectors of registers, whole and in parts",
		  BODY(REGS ".reg .v2 .f32 a, b<2>; .reg .v4 .b32 c; mov.v2.f32 a, b1; mov.v4.b32 "
			    "c, {1, %r1, %r2, c.w}; mov.v4.b32 {_, %r1, %r2, _}, c; add.f32 a.x, "
			    "b0.y, a.g; ld.global.v4.b32 c, [%d1]; st.global.v2.f32 [%d1], a; "
			    "mov.b64 %d1, a; mov.b64 b1, %d2; mov.b32 c.a, c.b; ld.shared.b32 "
			    "%r1, [c.x+4]; vadd.u32.u32.u32 %r1, c.y.b0, %r2;") },
		{ "registers and constants that are passed themselves", HEAD
		  ".func (.param .b32 r) f(.param .b32 a, .param .f64 b) { ret; }\n"
		  ".func (.reg .b32 r, .reg .b64 s) g(.reg .f32 _, .reg .u16 h) { ret; }\n"
		  ".entry k() { " REGS ".param .b32 v; .reg .v2 .b32 w; call (%r1), f, (%r2, "
		  "1.5); call (_), f, (2+3, %d1); call (v), f, (v, 0d3FF0000000000000); call "
		  "(w.x, %d1), g, (%f1, %h1); P: .callprototype (.param .b32 _) _ (.param .b32 _, "
		  ".param .b64 _); @%p1 call (%r1), %d1, (%r2, %d2), P; call (%r1), %d1, (7, "
		  "8), P; call (%r1), f, (%tid.x, %d1); }" },
		{ "banks of constants",
		  ".version 1.4\n.target sm_10\n.const[3] .b32 a[4] = { 1, 2, 3, 4 };\n.extern "
		  ".const[10] .b8 b[];\n.entry k() { " REGS "ld.const[3].u32 %r1, [a+4]; "
		  "ld.const[3].v2.u32 {%r1, %r2}, [a]; ld.const.u32 %r1, [a]; }" },
		{ "prototypes in all forms", HEAD
		  ".func f(.param .b32 a) { ret; }\n.func g(.reg .f32 a) .abi_preserve 8 { ret; "
		  "}\n.global .u64 table[2] = { f, g };\n.entry k() { " REGS
		  "A: .callprototype _; B: .callprototype () _ () .noreturn .abi_preserve 4 "
		  ".abi_preserve_control 1; C: .callprototype (.reg .f32 x) _ (.param .align 8 "
		  ".b8 y[16], .reg .b16 _); D: .calltargets f, g;\n.param .align 8 .b8 "
		  "big[16]; call %d1, A; call %d1, (), B; call (%f1), %d1, (big, %h1), C; call "
		  "%d1, (%r1), D; call %d1, (5), table; { A: .callprototype _ (.param .b32 _); "
		  "call %d1, (%r1), A; } call %d1, A; }" },
		{ "an element's address without brackets around it",
		  HEAD ".global .b32 a[8]; .entry k() { " REGS "ld.global.b32 %r1, a[2]; "
		       "st.global.v2.b32 a[1+1], {%r1, %r2}; ld.global.b32 %r1, [a[3]]; "
		       "atom.global.add.u32 %r1, a[0], 1; }" },
		{ "a float that begins with its point",
		  BODY(REGS "mov.f32 %f1, .5; add.f32 %f1, %f2, -.25e1;") },
		{ "special registers as they once were",
		  BODY(REGS "mov.u32 %r1, %gridid; mov.u64 %d1, %gridid; mov.u16 %h1, %ctaid.y; "
			    ".reg .v4 .u32 v; mov.v4.u32 v, %ntid; st.global.v4.u32 [%d1], "
			    "%tid;") },
		{ "another name for a function",
		  HEAD ".func f() { ret; }\n.func g();\n.alias g, f;\n.entry k() { call g; }" },
		{ "registers wider than what is loaded",
		  BODY(REGS "ld.global.u8 %d1, [%d2]; st.global.u8 [%d2], %r1;") },
		{ "special registers that always read as zero",
		  BODY(REGS "mov.u32 %r1, %pm0; mov.u64 %d1, %pm7_64; mov.u32 %r1, %tid.w; mov.u32 "
			    "%r1, %envreg31; mov.u64 %d1, %current_graph_exec;") },
		{ "a promise behind an address", BODY(REGS "ld.global.u32 %r1, [%d1].unified;") },
		{ "parts of registers, with signs",
		  BODY(REGS "vadd.u32.s32.u32.sat %r1.b3, %r2.h1, 7, %r3; vadd.u32.u32.u32 %r1, "
			    "%r2.b0, %r3;\n"
			    "vmad.s32.s32.s32 %r1, -%r2.h0, -%r3.b3, -%r4; vadd2.u32.u32.u32 "
			    "%r1.h1, %r2.h30, %r3, %r4;\n"
			    "vset4.u32.s32.lt.add %r1.b310, %r2.b7007, %r3.b0123, %r4;") },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		printf("# %s\n", rows[i].what);
		slu_ptx_module_free(good(rows[i].text));
	}
}

static void test_instructions_know_the_line_that_they_were_made_from(void **state)
{
	struct slu_ptx_module *m = good(
		HEAD
		".visible .entry k() {\n.reg .b32 %r1; mov.b32 %r1, 1;\n.loc 2 17 3\n"
		"mov.b32 %r1, 2; mov.b32 %r1, 3;\n.loc\t1 4 5, function_name $L, inlined_at 2 9 9\n"
		"ret;\n}\n.visible .entry l() { ret; }\n.file 1 \"a.h\"\n.file 2 \"b.cu\"\n");
	const struct slu_ptx_function *k = slu_ptx_module_kernel(m, "k");

	(void)state;
	assert_int_equal(k->n_instrs, 4);
	assert_int_equal(k->instrs[0].source_line, 0);
	for (unsigned i = 1; i < 3; i++) {
		assert_int_equal(k->instrs[i].source_line, 17);
		assert_string_equal(slu_ptx_module_file(m, k->instrs[i].source_file), "b.cu");
	}
	assert_int_equal(k->instrs[3].source_line, 4);
	assert_string_equal(slu_ptx_module_file(m, k->instrs[3].source_file), "a.h");
	assert_int_equal(slu_ptx_module_kernel(m, "l")->instrs[0].source_line, 0);
	assert_null(slu_ptx_module_file(m, 3));
	slu_ptx_module_free(m);
}

/* Long: a table. */
static void test_what_is_wrong_is_refused_at_its_place(void **state)
{
	static const struct {
		unsigned line, column;
		const char *text, *says;
	} rows[] = {
		{ 1, 1, "", "ends where .version" },
		{ 1, 1, "garbage", "'garbage' where .version" },
		{ 1, 10, ".version x", "where a version is wanted" },
		{ 1, 10, ".version 9.5", "version 9.5 is not known; the newest is 9.0" },
		{ 1, 10, ".version 0.1", "version 0.1 is not known" },
		{ 1, 10, ".version 6.9", "version 6.9 is not known" },
		{ 7, 15, BODY(REGS "call %d1, (), P;"), "'P' is no prototype" },
		{ 7, 9, BODY(REGS "call %d1;"), "where a prototype is wanted" },
		{ 7, 19, BODY(REGS "P: .callprototype frob frob frob;"), "'frob' where '_'" },
		{ 7, 22, BODY(REGS "P: .callprototype _ (frob);"), "'frob' where .param" },
		{ 7, 40, BODY(REGS "P: .callprototype (.param .b32 _) _ () .noreturn;"),
		  ".noreturn" },
		{ 7, 24, BODY(REGS "P: .callprototype _ () .maxnreg 8;"), ".maxnreg" },
		{ 7, 38, BODY(REGS "P: .callprototype _ (.param .b32 _); call %d1, (), P;"),
		  "takes 1 values here, not 0" },
		{ 7, 49, BODY(REGS "P: .callprototype _ (.param .b32 _); call %d1, (%d2), P;"),
		  "'%d2' is .b64" },
		{ 7, 17, BODY(REGS "T: .calltargets k;"), "'k' is no function that can be called" },
		{ 5, 46,
		  HEAD ".func f(); .func g(.param .b32 a);\n.entry k() { .reg .b64 d; T: "
		       ".calltargets f, g; }",
		  "'g' has another signature than 'f'" },
		{ 4, 12, HEAD ".entry k() .noreturn { ret; }", ".noreturn" },
		{ 4, 8, HEAD ".const[11] .b32 a;", "'11' where a bank from 0 to 10" },
		{ 7, 1, BODY(REGS "ld.const[3.u32 %r1, [%d1];"), "form 'ld.const' is not" },
		{ 7, 1, BODY(REGS "ld.global[3].u32 %r1, [%d1];"), "form 'ld.global' is not" },
		{ 7, 1, BODY(REGS "ld.global.v4.u64 {%d1, %d2, %d3, %d4}, [%d5];"),
		  "form 'ld.global.v4.u64' is not supported" },
		{ 7, 1, BODY(REGS "st.volatile.shared.v4.f64 [%d5], {%d1, %d2, %d3, %d4};"),
		  "form 'st.volatile.shared.v4.f64' is not supported" },
		{ 6, 6, BODY(".loc x 1 2"), "'x' where the number of a file" },
		{ 6, 7, BODY(".loc 1;"), "';' where a line" },
		{ 4, 9, HEAD ".file 1 2", "'2' where the name of a file" },
		{ 3, 15, ".version 7.0\n.target sm_75\n.address_size 32\n", "'32' where 64" },
		{ 4, 1, HEAD ".frob 1", ".frob" },
		{ 6, 1, BODY("frobnicate.u32 %r1;"), "unknown instruction 'frobnicate.u32'" },
		{ 6, 2, BODY("\tadd.f128 a, b, c;"), "form 'add.f128' is not supported" },
		{ 6, 1, BODY("cvt.u32.f32 a, b;"), "form 'cvt.u32.f32' is not supported" },
		{ 7, 9, BODY(REGS "add.s32 %r9, %r1, %r2;"), "'%r9' is not declared" },
		{ 7, 14, BODY(REGS "add.s32 %r1, %d1, %r2;"), "'%d1' is .b64" },
		{ 7, 1, BODY(REGS "add.s32 %r1, %r2;"), "takes 3 operands, not 2" },
		{ 7, 9, BODY(REGS "add.s32 5, %r1, %r2;"), "'5' where a register" },
		{ 7, 19, BODY(REGS "add.f32 %f1, %f2, 3;"), "where a floating-point constant" },
		{ 7, 1, BODY(REGS "setp.eq.s32 %p1, %r1; "), "takes 3 operands" },
		{ 7, 13, BODY(REGS "setp.eq.s32 %r1, %r1, %r2;"), "'%r1' is no predicate" },
		{ 7, 2, BODY(REGS "@%r1 ret;"), "where a predicate" },
		{ 7, 1, BODY(REGS "redux.sync.add.u32 %r1, %r2, -1;"),
		  "'redux.sync.add.u32' needs .target sm_80 or higher" },
		{ 7, 1, BODY(REGS "min.NaN.f32 %f1, %f2, %f3;"),
		  "'min.NaN.f32' needs .target sm_80 or higher" },
		{ 6, 22, BODY("T: .branchtargets A, B; A: ret;"), "label 'B' is not declared" },
		{ 7, 14, BODY(REGS "brx.idx %r1, %r2;"), "'%r2' where a list of labels" },
		{ 7, 35, BODY(REGS "ldmatrix.sync.aligned.m8n8.x4.b16 {%r1, %r2}, [%d1];"),
		  "a vector of 4" },
		{ 6, 5, BODY("bra nowhere;"), "label 'nowhere' is not declared" },
		{ 7, 5, BODY("{ L: ret; }\nbra L;"), "label 'L' is not declared" },
		{ 6, 7, BODY("L: M: L: ret;"), "'L' is declared twice" },
		{ 6, 14, BODY(".reg .u32 a, a;"), "'a' is declared twice" },
		{ 6, 11, BODY(".reg .b32 %r<99999999>;"), "more than" },
		{ 7, 20, BODY(REGS "ld.global.u32 %r1, %d1;"), "where an address" },
		{ 7, 18, BODY(REGS "ld.global.v2.u32 {%r1}, [%d1];"), "a vector of 2" },
		{ 7, 21, BODY(REGS "ld.global.u32 %r1, [%h1];"), "an address has 32 or 64 bits" },
		{ 7, 25, BODY(REGS "ld.global.u32 %r1, [%d1 %r1];"), "where ']'" },
		{ 7, 14, BODY(REGS "mov.b32 %r1, {%r2, %r3};"), "wants 16 bits" },
		{ 7, 14, BODY(REGS "mov.b32 %r1, 0xZ;"), "'0xZ'" },
		{ 6, 18, BODY(".shared .b32 s = 3;"), "only .global and .const" },
		{ 4, 22, HEAD ".global .b32 a = {1, 2};", "more initial values" },
		{ 4, 20, HEAD ".global .u64 a = { b };", "'b' is no variable" },
		{ 4, 16, HEAD ".global .align 3 .b8 a;", "a power of two" },
		{ 4, 15, HEAD ".global .b8 a[99999999999999999999];", "a number of elements" },
		{ 5, 8, HEAD ".entry k() { ret; }\n.entry k() { ret; }", "'k' is declared twice" },
		{ 6, 1, HEAD ".func f(.param .b32 a) { ret; }\n.entry k() {\ncall f;\n}",
		  "takes 1 values" },
		{ 6, 10,
		  HEAD ".func f(.param .b32 a) { ret; }\n.entry k() {.reg .b64 d;\ncall f, (d);\n}",
		  "'d' is .b64" },
		{ 6, 10, HEAD ".func f(.reg .f32 a) { ret; }\n.entry k() {\ncall f, (5);\n}",
		  "a floating-point constant" },
		{ 6, 10, HEAD ".func f(.param .b8 a[8]) { ret; }\n.entry k() {\ncall f, (5);\n}",
		  "an array" },
		{ 6, 10,
		  HEAD ".func f(.reg .b32 a) { ret; }\n.entry k() {.reg .pred p;\ncall f, (p);\n}",
		  "'p' is .pred" },
		{ 6, 7, HEAD ".func (.reg .b32 a) f() { ret; }\n.entry k() {\ncall (5), f;\n}",
		  "'5' where a register" },
		{ 6, 10,
		  HEAD
		  ".entry k() {.reg .b64 d;\nP: .callprototype _ (.param .b8 _[3]);\ncall d, (5), "
		  "P;\n}",
		  "'5' where a .param variable of an array" },
		{ 6, 10,
		  HEAD
		  ".func f(.reg .b32 a) { ret; }\n.entry k() {.shared .b32 s;\ncall f, (s);\n}",
		  "'s' where a .param variable" },
		{ 4, 14, HEAD ".func f(.reg .pred a) { ret; }",
		  "'.pred' where a parameter's type" },
		{ 4, 32, HEAD ".func f(.reg .b32 a, .reg .b32 a) { ret; }",
		  "'a' is declared twice" },
		{ 4, 10, HEAD ".entry k(.reg .b32 a) { ret; }", "'.reg' where .param" },
		{ 5, 8, HEAD ".entry k()\n{ ret; ", "ends" },
		{ 7, 13, BODY(REGS "mov.u32 %r1,%pm8;"), "'%pm8' is not declared" },
		{ 4, 11, HEAD ".entry k( { ret; }", "where .param" },
		{ 7, 21, BODY(REGS "vadd.u32.u32.u32 %r1.x0, %r2, %r3;"),
		  "'.x0' where a selector" },
		{ 7, 23, BODY(REGS "vadd.u32.u32.u32 %r1, %r2.h2, %r3;"),
		  "a selector that 'vadd.u32.u32.u32' does not take" },
		{ 7, 18, BODY(REGS "vadd.u32.u32.u32 %r1.b0, %r2, %r3;"),
		  "takes 4 operands, not 3" },
		{ 7, 22, BODY(REGS "vadd.u32.u32.u32.add %r1.b0, %r2, %r3, %r4;"),
		  "where no selector" },
		{ 7, 19, BODY(REGS "vadd4.s32.s32.s32 %r1.b01, %r2, %r3, %r4;"),
		  "a selector that" },
		{ 7, 24, BODY(REGS "vadd2.s32.s32.s32 %r1, %r2.h4, %r3, %r4;"), "a selector that" },
		{ 7, 14, BODY(REGS "add.s32 %r1, %r2.b0, %r3;"), "where no selector" },
		{ 7, 14, BODY(REGS "add.s32 %r1, -%r2, %r3;"), "where no sign" },
		{ 6, 5, BODY("bra -L; L: ret;"), "where no sign" },
		{ 6, 10, BODY(".reg .v2 .pred v;"), "a type that a vector can have" },
		{ 6, 10, BODY(".reg .v4 .f64 v;"), "a type that a vector can have" },
		{ 6, 6, BODY(".reg .v3 .f32 v;"), "the type of a register" },
		{ 6, 32, BODY(".reg .v2 .b32 v; mov.b32 v.x, v.z;"), "'.z' where .x or .y" },
		{ 6, 26, BODY(".reg .v2 .b32 v; mov.b32 v, 5;"), "wants 16 bits" },
		{ 6, 29, BODY(".reg .v2 .b32 v; mov.v4.b32 v, v;"), "a vector of 4" },
		{ 6, 29, BODY(".reg .v2 .b64 v; mov.v2.b32 v, v;"), "wants 32 bits" },
		{ 6, 18, BODY(".reg .v2 .b64 v; mov.v4.b64 v, v;"),
		  "form 'mov.v4.b64' is not supported" },
		{ 7, 26, BODY(REGS ".reg .v2 .b32 v; add.s32 v, v, v;"), "where a register" },
		{ 6, 50, BODY(".shared .b32 s[4]; .reg .b32 r; ld.shared.b32 r, s;"),
		  "'s' where an address" },
		{ 6, 52, BODY(".shared .b32 s[4]; .reg .b32 r; ld.shared.b32 r, s[r];"),
		  "'r' where an index" },
		{ 7, 14, BODY(REGS "mov.u16 %h1, %laneid;"), "another width" },
		{ 7, 14, BODY(REGS "mov.u32 %r1, %clock64;"), "another width" },
		{ 7, 14, BODY(REGS "mov.u32 %r1, %tid;"), "where" },
		{ 7, 34, BODY(REGS "vmad.s32.s32.s32 %r1, -%r2, %r3, -%r4;"), "not both" },
		{ 7, 26, BODY(REGS "vmad.s32.s32.s32.po %r1, -%r2, %r3, %r4;"), "negates nothing" },
	};
	unsigned n_wrong = 0;

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct slu_ptx_module *m = NULL;
		struct slu_ptx_error e = { 0 };
		int r = slu_ptx_parse(rows[i].text, strlen(rows[i].text), &m, &e);

		if (r != SLU_PTX_E_REFUSED)
			fail_msg("taken:\n%s", rows[i].text);
		if (e.line != rows[i].line || e.column != rows[i].column ||
		    !strstr(e.text, rows[i].says))
			print_error("row %zu: %u:%u: %s, not %u:%u %s\n", i, e.line, e.column,
				    e.text, rows[i].line, rows[i].column, rows[i].says);
		n_wrong += e.line != rows[i].line || e.column != rows[i].column ||
			   !strstr(e.text, rows[i].says);
	}
	assert_int_equal(n_wrong, 0);
}

static void test_a_module_says_what_a_driver_asks(void **state)
{
	struct slu_ptx_module *m = good(
		HEAD ".global .align 4 .f32 one = 0f3F800000;\n"
		     ".const .align 2 .b8 two[5] = { 1, 2, -3 };\n"
		     ".func f() { ret; }\n"
		     ".global .align 8 .u64 table[4] = { one, two+8, generic(one), f };\n"
		     ".shared .align 16 .b8 tile[100];\n"
		     ".extern .shared .align 32 .b8 rest[];\n"
		     ".visible .entry k(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[20],"
		     " .param .u16 d) .reqntid 8, 4\n"
		     "{ .reg .b64 %d<3>; .local .align 8 .b8 depot[24]; .shared .b32 own;\n"
		     "  mov.u64 %d1, tile; mov.u64 %d1, own; mov.u64 %d2, rest; ret; }\n"
		     ".visible .entry l() { ret; }\n");
	const struct slu_ptx_function *k = slu_ptx_module_kernel(m, "k");
	const struct slu_ptx_variable *v;
	const struct slu_ptx_reloc *reloc;
	unsigned n = 0;

	(void)state;
	assert_int_equal(m->version_major, 7);
	assert_int_equal(m->target, 75);
	assert_non_null(k);
	assert_null(slu_ptx_module_kernel(m, "f"));
	assert_int_equal(k->n_params, 4);
	assert_int_equal(k->params[0]->offset, 0);
	assert_int_equal(k->params[1]->offset, 8);
	assert_int_equal(k->params[2]->offset, 16);
	assert_int_equal(k->params[2]->size, 20);
	assert_int_equal(k->params[3]->offset, 36);
	assert_int_equal(k->param_bytes, 38);
	assert_int_equal(k->required_threads[0] * k->required_threads[1] * k->required_threads[2],
			 32);
	assert_int_equal(k->shared_bytes, 104);
	assert_int_equal(k->dynamic_shared_align, 32);
	assert_int_equal(k->local_bytes, 24);
	assert_int_equal(slu_ptx_module_kernel(m, "l")->shared_bytes, 0);

	v = slu_ptx_module_variable(m, "two");
	assert_int_equal(v->size, 5);
	assert_int_equal(v->init_size, 3);
	assert_int_equal(v->init[2], 253);
	v = slu_ptx_module_variable(m, "table");
	assert_int_equal(v->size, 32);
	for (reloc = v->relocs; reloc; reloc = reloc->next) {
		n++;
		if (reloc->offset == 24)
			assert_string_equal(reloc->function->name, "f");
		else
			assert_string_equal(reloc->variable->name,
					    reloc->offset == 8 ? "two" : "one");
		assert_int_equal(reloc->addend, reloc->offset == 8 ? 8 : 0);
	}
	assert_int_equal(n, 4);
	assert_null(slu_ptx_module_variable(m, "tile"));
	slu_ptx_module_free(m);
}

/* every prefix of a text is refused or taken, and never more */
static void test_a_text_that_breaks_off_anywhere_is_no_disaster(void **state)
{
	static const char text[] =
		BODY(REGS "{ .reg .f32 t; @%p1 fma.rn.f32 t, %f1, 0f3F800000, %f2; }\n"
			  "L: ld.global.v2.u32 {%r1, %r2}, [%d1+8]; @!%p2 bra L;");

	(void)state;
	for (size_t n = 0; n <= strlen(text); n++) {
		char *cut = malloc(n + 1);
		struct slu_ptx_module *m = NULL;
		struct slu_ptx_error e;

		memcpy(cut, text, n);
		if (!slu_ptx_parse(cut, n, &m, &e))
			slu_ptx_module_free(m);
		free(cut);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_right_is_taken),
		cmocka_unit_test(test_instructions_know_the_line_that_they_were_made_from),
		cmocka_unit_test(test_what_is_wrong_is_refused_at_its_place),
		cmocka_unit_test(test_a_module_says_what_a_driver_asks),
		cmocka_unit_test(test_a_text_that_breaks_off_anywhere_is_no_disaster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
