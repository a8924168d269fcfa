/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that every device has, and the barrier over a grid. */
#include "lib/test.h"

#include "softgpu/interp/heap.h"
#include "softgpu/interp/testbed.h"

#define HEAD                                                                                   \
	".version 7.0\n.target sm_75\n.address_size 64\n"                                      \
	".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"               \
	".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 " \
	"n, .param .b64 c);\n"                                                                 \
	".extern .func (.param .b64 r) malloc(.param .b64 n);\n"                               \
	".extern .func free(.param .b64 p);\n"

static char said[65536];
static size_t n_said;

static void say(void *userdata, const char *text, size_t size)
{
	(void)userdata;
	assert_true(n_said + size < sizeof(said));
	memcpy(said + n_said, text, size);
	n_said += size;
	said[n_said] = 0;
}

static struct dev_testbed bed;

static int set_up(void **state)
{
	(void)state;
	dev_testbed_init(&bed);
	bed.print = say;
	bed.complain = say;
	n_said = 0;
	said[0] = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dev_testbed_deinit(&bed);
	return 0;
}

static void load(const char *text)
{
	if (dev_testbed_load(&bed, text))
		fail_msg("%u:%u: %s", bed.error.line, bed.error.column, bed.error.text);
}

/* A kernel that prints the format with the bytes at @arguments and leaves what vprintf gave. */
static int print(const char *format, const void *arguments, size_t size, int32_t *ret)
{
	static const char text[] =
		HEAD ".visible .entry k(.param .u64 f, .param .u64 a, .param .u64 out)\n{\n"
		     ".reg .b64 %d<4>; .reg .b32 %r<2>; ld.param.u64 %d1, [f]; ld.param.u64 %d2, "
		     "[a]; ld.param.u64 %d3, [out];\n"
		     "{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %d1; "
		     "st.param.b64 [y], %d2;\n"
		     "call.uni (z), vprintf, (x, y); ld.param.b32 %r1, [z]; }\n"
		     "st.global.u32 [%d3], %r1; ret;\n}\n";
	char *memory = dev_testbed_alloc(&bed, 4096), *buffer = dev_testbed_alloc(&bed, 4096);
	int r;

	load(text);
	snprintf(memory, 4096, "%s", format);
	memcpy(buffer, arguments, size);
	n_said = 0;
	said[0] = 0;
	dev_testbed_param_ptr(&bed, memory);
	dev_testbed_param_ptr(&bed, buffer);
	dev_testbed_param_ptr(&bed, buffer + 1024);
	r = dev_testbed_run(&bed, "k", 1, 1);
	memcpy(ret, buffer + 1024, 4);
	dev_testbed_unload(&bed);
	return r;
}

static void test_printf_writes_what_the_host_would(void **state)
{
	struct {
		int32_t i;
		uint32_t pad;
		double d;
		int64_t l;
		uint32_t u;
		int32_t width;
		int32_t c;
	} a = { -42, 0, 3.5, INT64_MIN, 0xdeadbeef, 7, 'x' };
	char expected[512];
	int32_t n;

	(void)state;
	assert_int_equal(print("[%5d|%-8.3f|%lld|%#x|%*c|100%%|%q]\n", &a, sizeof(a), &n), 0);
	snprintf(expected, sizeof(expected), "[%5d|%-8.3f|%lld|%#x|%*c|100%%|%s]\n", a.i, a.d,
		 (long long)a.l, a.u, a.width, a.c, "%q");
	assert_string_equal(said, expected);
	assert_int_equal(n, 6);
	assert_int_equal(print("nothing\n", &a, sizeof(a), &n), 0);
	assert_string_equal(said, "nothing\n");
	assert_int_equal(n, 0);
	assert_int_equal(print("%hhd %zu %g %o", (uint64_t[]){ 5, 6, 0, 8 }, 32, &n), 0);
	assert_string_equal(said, "5 6 0 10");
	assert_int_equal(n, 4);
}

static void test_printf_reads_strings_of_the_device_only(void **state)
{
	char *text = dev_testbed_alloc(&bed, 4096);
	uint64_t good = (uint64_t)(uintptr_t)text, null = 0, bad = 4711;
	int32_t n;

	(void)state;
	strcpy(text, "hello");
	assert_int_equal(print("<%s>", &good, 8, &n), 0);
	assert_string_equal(said, "<hello>");
	assert_int_equal(print("<%8.3s>", &good, 8, &n), 0);
	assert_string_equal(said, "<     hel>");
	assert_int_equal(print("<%s>", &null, 8, &n), 0);
	assert_string_equal(said, "<(null)>");
	assert_int_equal(print("<%s>", &bad, 8, &n), DEV_INTERP_E_FAULT);
	assert_int_equal(bed.fault.kind, DEV_INTERP_FAULT_ADDRESS);
	assert_true(bed.fault.address == 4711);
}

static void test_a_long_text_is_cut_off_and_a_wild_format_does_no_harm(void **state)
{
	uint64_t zeroes[64] = { 0 };
	int32_t n;

	(void)state;
	assert_int_equal(print("%5000d%5000d%5000d%5000d%5000d", zeroes, sizeof(zeroes), &n), 0);
	assert_true(n_said <= 4096);
	assert_int_equal(print("%", zeroes, 8, &n), 0);
	assert_string_equal(said, "%");
	assert_int_equal(print("%-+ #00000000000000000000000000000000d", zeroes, 8, &n), 0);
	assert_int_equal(print("%n%.*.*d", zeroes, 64, &n), 0);
}

static void test_a_failed_assertion_is_told_by_every_thread(void **state)
{
	static const char text[] =
		HEAD ".global .align 1 .b8 message[6] = {110, 32, 62, 32, 51, 0};\n"
		     ".global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};\n"
		     ".global .align 1 .b8 name[2] = {107, 0};\n"
		     ".visible .entry k()\n{\n.reg .pred %p; .reg .b32 %r1; .reg .b64 %d<4>;\n"
		     "mov.u32 %r1, %tid.x; setp.lt.u32 %p, %r1, 62; @%p ret;\n"
		     "mov.u64 %d1, message; mov.u64 %d2, file; mov.u64 %d3, name;\n"
		     "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 "
		     "e;\n"
		     "st.param.b64 [a], %d1; st.param.b64 [b], %d2; st.param.b32 [c], 7; "
		     "st.param.b64 [d], %d3;\n"
		     "st.param.b64 [e], 1; call.uni __assertfail, (a, b, c, d, e); } ret;\n}\n";

	(void)state;
	load(text);
	assert_int_equal(dev_testbed_run(&bed, "k", 1, 64), DEV_INTERP_E_FAULT);
	assert_int_equal(bed.fault.kind, DEV_INTERP_FAULT_ASSERT);
	assert_int_equal(bed.fault.thread[0], 62);
	assert_string_equal(
		said, "a.cu:7: k: block: [0,0,0], thread: [62,0,0] Assertion `n > 3` failed.\n"
		      "a.cu:7: k: block: [0,0,0], thread: [63,0,0] Assertion `n > 3` failed.\n");
}

static const char heap_text[] = HEAD
	".visible .entry take(.param .u64 out)\n{\n.reg .b32 %r<3>; .reg .b64 %d<5>; .reg .pred "
	"%p;\n"
	"ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mad.wide.u32 %d1, %r1, 8, %d1;\n"
	"mul.wide.u32 %d2, %r1, 8; { .param .b64 n; .param .b64 p; st.param.b64 [n], %d2;\n"
	"call.uni (p), malloc, (n); ld.param.b64 %d3, [p]; }\n"
	"st.global.u64 [%d1], %d3; setp.eq.u64 %p, %d3, 0; @%p ret; st.u64 [%d3], %d1; ret;\n}\n"
	".visible .entry give(.param .u64 out)\n{\n.reg .b32 %r<3>; .reg .b64 %d<5>;\n"
	"ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mad.wide.u32 %d1, %r1, 8, %d1;\n"
	"ld.global.u64 %d2, [%d1]; { .param .b64 p; st.param.b64 [p], %d2; call.uni free, "
	"(p); } ret;\n}\n";

static void test_what_malloc_gives_lasts_until_it_is_freed(void **state)
{
	uint64_t *out = dev_testbed_alloc(&bed, 4096);
	uint8_t *memory = dev_testbed_alloc(&bed, 16384);
	uint64_t base = (uint64_t)(uintptr_t)memory;

	(void)state;
	assert_int_equal(dev_interp_heap_new(base, 16384, &bed.heap), 0);
	load(heap_text);
	assert_true(dev_interp_builtin_uses_heap(bed.module));
	for (unsigned round = 0; round < 4; round++) {
		dev_testbed_param_ptr(&bed, out);
		assert_int_equal(dev_testbed_run(&bed, "take", 1, 32), 0);
		assert_true(out[0] == 0); /* nothing was asked for */
		for (unsigned i = 1; i < 32; i++) {
			assert_true(out[i] >= base && out[i] + i * 8 <= base + 16384);
			assert_true(out[i] % 16 == 0);
			assert_true(*(uint64_t *)(uintptr_t)out[i] == (uint64_t)(uintptr_t)&out[i]);
		}
		dev_testbed_param_ptr(&bed, out);
		assert_int_equal(dev_testbed_run(&bed, "give", 1, 32), 0);
	}
	/* twice is once too often */
	dev_testbed_param_ptr(&bed, out);
	assert_int_equal(dev_testbed_run(&bed, "give", 1, 32), DEV_INTERP_E_FAULT);
	assert_int_equal(bed.fault.kind, DEV_INTERP_FAULT_ADDRESS);
	/* nothing is lost: the whole range can be had in one piece */
	assert_true(dev_interp_heap_take(bed.heap, 16384) == base);
	assert_true(dev_interp_heap_take(bed.heap, 1) == 0);
	dev_testbed_param_ptr(&bed, out);
	assert_int_equal(dev_testbed_run(&bed, "take", 1, 32), 0);
	for (unsigned i = 0; i < 32; i++)
		assert_true(out[i] == 0);
	dev_interp_heap_free(bed.heap);
	bed.heap = NULL;
}

/* Each of them is taken by the vendor's assembler. */
static const struct {
	const char *what;
	const char *declaration;
	const char *call; /* %d1 is a format, or memory of malloc; what comes back goes to %d2 */
	const char *says;
	int fault;
} declarations[] = {
	{ "vprintf without a result", "vprintf(.param .b64 f, .param .b64 a)",
	  ".param .b64 x, y; st.param.b64 [x], %d1; st.param.b64 [y], %d1;\n"
	  "call.uni vprintf, (x, y);",
	  "text", 0 },
	{ "vprintf with a result of 64 bits",
	  "(.param .b64 r) vprintf(.param .b64 f, .param .b64 a)",
	  ".param .b64 x, y, z; st.param.b64 [x], %d1; st.param.b64 [y], %d1;\n"
	  "call.uni (z), vprintf, (x, y); ld.param.b64 %d2, [z];",
	  "text", 0 },
	{ "vprintf without arguments", "(.param .s32 r) vprintf(.param .u64 f)",
	  ".param .u64 x; .param .s32 z; st.param.u64 [x], %d1; call.uni (z), vprintf, (x);\n"
	  "ld.param.s32 %d2, [z];",
	  "text", 0 },
	{ "vprintf with one more", "vprintf(.param .b64 f, .param .b64 a, .param .b32 n)",
	  ".param .b64 x, y; .param .b32 n; st.param.b64 [x], %d1; st.param.b64 [y], %d1;\n"
	  "st.param.b32 [n], 3; call.uni vprintf, (x, y, n);",
	  "text", 0 },
	{ "vprintf with arrays", "vprintf(.param .align 8 .b8 f[16], .param .align 8 .b8 a[8])",
	  ".param .align 8 .b8 x[16]; .param .align 8 .b8 y[8]; st.param.b64 [x], %d1;\n"
	  "st.param.b64 [y], %d1; call.uni vprintf, (x, y);",
	  "text", 0 },
	{ "vprintf of registers", "(.reg .b32 r) vprintf(.reg .b64 f, .reg .b64 a)",
	  ".reg .b32 %q; call.uni (%q), vprintf, (%d1, %d1); cvt.u64.u32 %d2, %q;", "text", 0 },
	{ "__assertfail without the last one",
	  "__assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n)",
	  ".param .b64 a, b, d; .param .b32 c; st.param.b64 [a], %d1; st.param.b64 [b], %d1;\n"
	  "st.param.b32 [c], 9; st.param.b64 [d], %d1; call.uni __assertfail, (a, b, c, d);",
	  "text:9: text: block: [0,0,0], thread: [0,0,0] Assertion `text` failed.\n",
	  DEV_INTERP_FAULT_ASSERT },
	{ "__assertfail with a result and a last one of 32 bits",
	  "(.param .b32 r) __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 "
	  "n, "
	  ".param .b32 c)",
	  ".param .b64 a, b, d; .param .b32 c, e, r; st.param.b64 [a], %d1;\n"
	  "st.param.b64 [b], %d1; st.param.b32 [c], 9; st.param.b64 [d], %d1;\n"
	  "st.param.b32 [e], 1; call.uni (r), __assertfail, (a, b, c, d, e);",
	  "text:9: text: block: [0,0,0], thread: [0,0,0] Assertion `text` failed.\n",
	  DEV_INTERP_FAULT_ASSERT },
	{ "malloc of 32 bits", "(.param .b64 r) malloc(.param .b32 n)",
	  ".param .b32 n; .param .b64 r; st.param.b32 [n], 48; call.uni (r), malloc, (n);\n"
	  "ld.param.b64 %d2, [r]; st.u64 [%d2+40], %d1;",
	  "", 0 },
	{ "malloc without a result", "malloc(.param .b64 n)",
	  ".param .b64 n; st.param.b64 [n], 48; call.uni malloc, (n);", "", 0 },
	{ "free with a result", "(.param .b32 r) free(.param .b64 p)",
	  ".param .b64 p; .param .b32 r; st.param.b64 [p], 0; call.uni (r), free, (p);\n"
	  "ld.param.b32 %d2, [r];",
	  "", 0 },
};

static void test_declarations_may_differ_where_it_does_no_harm(void **state)
{
	char *memory = dev_testbed_alloc(&bed, 4096);
	uint64_t *out = dev_testbed_alloc(&bed, 4096);
	uint8_t *heap = dev_testbed_alloc(&bed, 16384);

	(void)state;
	strcpy(memory, "text");
	assert_int_equal(dev_interp_heap_new((uint64_t)(uintptr_t)heap, 16384, &bed.heap), 0);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(declarations); i++) {
		char text[2048];

		printf("# %s\n", declarations[i].what);
		snprintf(text, sizeof(text),
			 ".version 7.0\n.target sm_75\n.address_size 64\n.extern .func %s;\n"
			 ".visible .entry k(.param .u64 f, .param .u64 out)\n{\n"
			 ".reg .b64 %%d<4>; ld.param.u64 %%d1, [f]; ld.param.u64 %%d3, [out];\n"
			 "mov.u64 %%d2, 77;\n{ %s }\nst.global.u64 [%%d3], %%d2; ret;\n}\n",
			 declarations[i].declaration, declarations[i].call);
		load(text);
		n_said = 0;
		said[0] = 0;
		dev_testbed_param_ptr(&bed, memory);
		dev_testbed_param_ptr(&bed, out);
		if (dev_testbed_run(&bed, "k", 1, 1) !=
		    (declarations[i].fault ? DEV_INTERP_E_FAULT : 0))
			fail_msg("%s: %s", bed.error.text, text);
		assert_string_equal(said, declarations[i].says);
		if (strstr(declarations[i].call, "%d2") && !strstr(declarations[i].call, "malloc"))
			assert_int_equal(*out, 0);
		dev_testbed_unload(&bed);
	}
	dev_interp_heap_free(bed.heap);
	bed.heap = NULL;
}

static void test_a_declaration_without_what_is_read_is_refused(void **state)
{
	(void)state;
	load(".version 7.0\n.target sm_75\n.address_size 64\n"
	     ".extern .func free(.param .b32 p);\n"
	     ".visible .entry k()\n{\n.param .b32 p;\ncall.uni free, (p); ret;\n}\n");
	assert_int_equal(dev_testbed_run(&bed, "k", 1, 1), DEV_INTERP_E_REFUSED);
	assert_string_equal(bed.error.text,
			    "function 'free' is declared with too few or too small parameters");
	assert_int_equal(bed.error.line, 8);
}

/* as cooperative groups do it: the first of a block adds, the others look */
static const char grid_text[] =
	HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 "
	     "%d<6>;\n"
	     "ld.param.u64 %d1, [out]; mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2;\n"
	     "mov.b64 %d2, {%r2, %r1}; setp.eq.u64 %p1, %d2, 0; @%p1 trap;\n"
	     "mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %nctaid.x;\n"
	     "mad.wide.u32 %d3, %r4, 4, %d1; st.global.u32 [%d3], 1; bar.sync 0;\n"
	     "setp.ne.u32 %p1, %r3, 0; @%p1 bra WAIT; membar.gl; atom.add.u32 %r6, [%d2+4], 1;\n"
	     "LOOP: ld.volatile.u32 %r7, [%d2+4]; setp.lt.u32 %p2, %r7, %r5; @%p2 bra LOOP;\n"
	     "WAIT: bar.sync 0; setp.ne.u32 %p1, %r3, 0; @%p1 ret; mov.u32 %r8, 0; mov.u32 %r9, "
	     "0;\n"
	     "SUM: mad.wide.u32 %d4, %r8, 4, %d1; ld.global.u32 %r10, [%d4]; add.u32 %r9, %r9, "
	     "%r10;\n"
	     "add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, %r5; @%p2 bra SUM;\n"
	     "mad.wide.u32 %d4, %r4, 4, %d1; st.global.u32 [%d4+1024], %r9; ret;\n}\n";

static void test_blocks_of_a_grid_wait_for_each_other_where_the_device_says(void **state)
{
	uint32_t *out = dev_testbed_alloc(&bed, 4096);

	(void)state;
	load(grid_text);
	bed.is_cooperative = true;
	dev_testbed_param_ptr(&bed, out);
	assert_int_equal(dev_testbed_run(&bed, "k", 12, 64), 0);
	for (unsigned i = 0; i < 12; i++)
		assert_int_equal(out[256 + i], 12);
	/* a launch of another kind has no such place */
	bed.is_cooperative = false;
	dev_testbed_param_ptr(&bed, out);
	assert_int_equal(dev_testbed_run(&bed, "k", 12, 64), DEV_INTERP_E_FAULT);
	assert_int_equal(bed.fault.kind, DEV_INTERP_FAULT_TRAP);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_printf_writes_what_the_host_would),
		TEST(test_printf_reads_strings_of_the_device_only),
		TEST(test_a_long_text_is_cut_off_and_a_wild_format_does_no_harm),
		TEST(test_a_failed_assertion_is_told_by_every_thread),
		TEST(test_what_malloc_gives_lasts_until_it_is_freed),
		TEST(test_declarations_may_differ_where_it_does_no_harm),
		TEST(test_a_declaration_without_what_is_read_is_refused),
		TEST(test_blocks_of_a_grid_wait_for_each_other_where_the_device_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
