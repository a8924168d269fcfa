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

static void run_vadd(struct dev_testbed *t, unsigned n, unsigned block, int expected)
{
	float *a = dev_testbed_alloc(t, n * 4), *b = dev_testbed_alloc(t, n * 4);
	float *c = dev_testbed_alloc(t, n * 4);

	for (unsigned i = 0; i < n; i++) {
		a[i] = (float)i;
		b[i] = 0.5f * (float)i;
	}
	dev_testbed_param_ptr(t, a);
	dev_testbed_param_ptr(t, b);
	dev_testbed_param_ptr(t, c);
	dev_testbed_param_u32(t, n);
	assert_int_equal(dev_testbed_run(t, "vadd", (n + block - 1) / block, block), expected);
	for (unsigned i = 0; !expected && i < n; i++)
		assert_true(c[i] == 1.5f * (float)i);
}

static void test_vadd_of_any_size_and_shape(void **state)
{
	static const unsigned sizes[] = { 1, 31, 32, 33, 1000, 4096, 10001 };
	static const unsigned blocks[] = { 1, 7, 32, 100, 256, 1024 };
	struct dev_testbed t;

	(void)state;
	dev_testbed_init(&t);
	assert_int_equal(dev_testbed_load(&t, vadd_text), 0);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(sizes); i++)
		for (size_t k = 0; k < SLU_ARRAY_SIZE(blocks); k++) {
			t.n_workers = 1 + k % 3;
			run_vadd(&t, sizes[i], blocks[k], 0);
		}
	dev_testbed_deinit(&t);
}

/* Loads a kernel k(.param .u64 p) with that body and runs it on a page of memory. */
static int run_body(struct dev_testbed *t, const char *body, uint32_t *page, unsigned grid,
		    unsigned block)
{
	char *text = malloc(strlen(body) + 1024);
	int r;

	sprintf(text,
		HEAD
		".visible .entry k(.param .u64 p)\n{\n"
		".reg .pred %%p<9>; .reg .b16 %%h<9>; .reg .b32 %%r<20>; .reg .b64 %%d<20>;"
		".reg .f32 %%f<9>; .shared .align 8 .b8 tile[64]; .local .align 8 .b8 own[32];\n"
		"ld.param.u64 %%d1, [p];\n%s\n}\n",
		body);
	r = dev_testbed_load(t, text);
	if (r)
		print_error("%u:%u: %s\n", t->error.line, t->error.column, t->error.text);
	assert_int_equal(r, 0);
	dev_testbed_param_ptr(t, page);
	r = dev_testbed_run(t, "k", grid, block);
	if (r == DEV_INTERP_E_REFUSED)
		print_error("%u:%u: %s\n", t->error.line, t->error.column, t->error.text);
	dev_testbed_unload(t);
	free(text);
	return r;
}

static void test_a_wrong_access_is_a_fault_with_its_place(void **state)
{
	static const struct {
		const char *what, *body;
		enum dev_interp_fault_kind kind;
		int64_t address; /* from the page's beginning, or as it is */
		bool is_relative, is_write;
		unsigned thread;
	} rows[] = {
		{ "behind the page", "ld.global.u32 %r1, [%d1+4096];", DEV_INTERP_FAULT_ADDRESS,
		  4096, true, false, 0 },
		{ "in front of it", "st.global.u32 [%d1+-4], %r1;", DEV_INTERP_FAULT_ADDRESS, -4,
		  true, true, 0 },
		{ "at null", "mov.u64 %d2, 0; ld.u32 %r1, [%d2];", DEV_INTERP_FAULT_ADDRESS, 0,
		  false, false, 0 },
		{ "at the end of all addresses", "mov.u64 %d2, -8; ld.u64 %d3, [%d2];",
		  DEV_INTERP_FAULT_ADDRESS, -8, false, false, 0 },
		{ "only the last lane",
		  "mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 132; add.s64 %d2, %d2, %d1;"
		  "ld.global.u32 %r2, [%d2+4];",
		  DEV_INTERP_FAULT_ADDRESS, 31 * 132 + 4, true, false, 31 },
		{ "misaligned", "ld.global.u32 %r1, [%d1+2];", DEV_INTERP_FAULT_MISALIGNED, 2, true,
		  false, 0 },
		{ "a misaligned vector", "st.global.v4.u32 [%d1+8], {%r1,%r1,%r1,%r1};",
		  DEV_INTERP_FAULT_MISALIGNED, 8, true, true, 0 },
		{ "a misaligned atomic", "atom.global.add.u64 %d2, [%d1+4], 1;",
		  DEV_INTERP_FAULT_MISALIGNED, 4, true, false, 0 },
		{ "an atomic outside", "red.global.add.u32 [%d1+4096], 1;",
		  DEV_INTERP_FAULT_ADDRESS, 4096, true, false, 0 },
		{ "behind shared memory", "ld.shared.u32 %r1, [tile+64];", DEV_INTERP_FAULT_SPACE,
		  64, false, false, 0 },
		{ "behind local memory", "st.local.u32 [own+32], %r1;", DEV_INTERP_FAULT_SPACE, 32,
		  false, true, 0 },
		{ "a trap in one lane", "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 9; @%p1 trap;",
		  DEV_INTERP_FAULT_TRAP, 0, false, false, 9 },
		{ "a call to nowhere", "mov.u64 %d2, 4711; P: .callprototype _; call %d2, (), P;",
		  DEV_INTERP_FAULT_PC, 4711, false, false, 0 },
		{ "a guarded access of nobody is none",
		  "setp.ne.u32 %p1, %r1, %r1; @%p1 ld.global.u32 %r1, [%d1+4096];",
		  DEV_INTERP_FAULT_NONE, 0, false, false, 0 },
	};
	struct dev_testbed t;
	uint32_t *page;

	(void)state;
	dev_testbed_init(&t);
	page = dev_testbed_alloc(&t, 4096);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		int r = run_body(&t, rows[i].body, page, 1, 32);
		uint64_t address = (uint64_t)rows[i].address +
				   (rows[i].is_relative ? (uint64_t)(uintptr_t)page : 0);

		printf("# %s\n", rows[i].what);
		assert_int_equal(r, rows[i].kind ? DEV_INTERP_E_FAULT : 0);
		if (!rows[i].kind)
			continue;
		assert_int_equal(t.fault.kind, rows[i].kind);
		assert_true(t.fault.address == address);
		assert_int_equal(t.fault.is_write, rows[i].is_write);
		assert_int_equal(t.fault.thread[0], rows[i].thread);
		assert_true(t.fault.line >= 7);
	}
	dev_testbed_deinit(&t);
}

static void test_rights_of_a_page_are_kept_and_truth_is_told(void **state)
{
	struct dev_testbed t;
	uint32_t *page, host[4] = { 1, 2, 3, 4 };
	uint8_t *touched;
	struct dev_interp_range range = { (uint64_t)(uintptr_t)host, sizeof(host),
					  DEV_INTERP_READ };
	uint64_t number;

	(void)state;
	dev_testbed_init(&t);
	page = dev_testbed_alloc(&t, 4096);
	number = ((uint64_t)(uintptr_t)page - t.memory.base) >> DEV_TESTBED_SHIFT;
	touched = calloc(DEV_TESTBED_BYTES >> DEV_TESTBED_SHIFT, 1);
	t.memory.touched = touched;
	assert_int_equal(run_body(&t, "ld.global.u32 %r1, [%d1];", page, 1, 32), 0);
	assert_int_equal(touched[number], DEV_INTERP_READ);
	assert_int_equal(run_body(&t, "st.global.u32 [%d1], 5;", page, 1, 32), 0);
	assert_int_equal(touched[number], DEV_INTERP_READ | DEV_INTERP_WRITE);
	t.access[number] = DEV_INTERP_READ;
	assert_int_equal(run_body(&t, "ld.global.u32 %r1, [%d1];", page, 1, 32), 0);
	assert_int_equal(run_body(&t, "st.global.u32 [%d1], 5;", page, 1, 32), DEV_INTERP_E_FAULT);
	assert_int_equal(run_body(&t, "red.global.add.u32 [%d1], 5;", page, 1, 32),
			 DEV_INTERP_E_FAULT);
	t.memory.ranges = &range;
	t.memory.n_ranges = 1;
	assert_int_equal(run_body(&t, "ld.u32 %r1, [%d1+12];", host, 1, 32), 0);
	assert_int_equal(run_body(&t, "ld.u32 %r1, [%d1+16];", host, 1, 32), DEV_INTERP_E_FAULT);
	assert_int_equal(run_body(&t, "st.u32 [%d1], %r1;", host, 1, 32), DEV_INTERP_E_FAULT);
	free(touched);
	dev_testbed_deinit(&t);
}

static void test_barriers_that_nobody_completes_are_a_fault(void **state)
{
	struct dev_testbed t;
	uint32_t *page;

	(void)state;
	dev_testbed_init(&t);
	page = dev_testbed_alloc(&t, 4096);
	assert_int_equal(run_body(&t, "bar.sync 1, 96;", page, 1, 64), DEV_INTERP_E_FAULT);
	assert_int_equal(t.fault.kind, DEV_INTERP_FAULT_BARRIER);
	/* those who have left do not count */
	assert_int_equal(
		run_body(&t,
			 "mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 40; @%p1 exit; bar.sync 0;",
			 page, 1, 128),
		0);
	dev_testbed_deinit(&t);
}

static void test_barriers_of_every_form(void **state)
{
	/* 96 threads: a vote over all, an arrival that does not wait, a producer and a consumer */
	static const char body[] =
		"mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2;\n"
		"setp.lt.u32 %p1, %r1, 50; bar.red.popc.u32 %r2, 0, %p1;\n"
		"bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, !%p1;\n"
		"selp.u32 %r3, 1000, 0, %p2; selp.u32 %r4, 2000, 0, %p3;\n"
		"add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;\n"
		"setp.ge.u32 %p4, %r1, 64; @%p4 bra LAST;\n"
		"mov.u32 %r5, 7; st.shared.u32 [tile], %r5; membar.cta; bar.arrive 2, 96; bra "
		"END;\n"
		"LAST: bar.sync 2, 96; ld.shared.u32 %r5, [tile];\n"
		"END: mad.lo.u32 %r2, %r5, 10000, %r2; st.global.u32 [%d3], %r2;";
	struct dev_testbed t;
	uint32_t *page;

	(void)state;
	dev_testbed_init(&t);
	page = dev_testbed_alloc(&t, 4096);
	assert_int_equal(run_body(&t, body, page, 1, 96), 0);
	for (unsigned i = 0; i < 96; i++)
		assert_int_equal(page[i], 72050);
	dev_testbed_deinit(&t);
}

static void test_lanes_exchange_values(void **state)
{
	static const char body[] =
		"mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 32; add.s64 %d3, %d1, %d2; mul.lo.u32 "
		"%r2, %r1, 3;\n"
		"shfl.sync.up.b32 %r3|%p1, %r2, 2, 0, -1; selp.u32 %r10, 1, 0, %p1;\n"
		"shfl.sync.down.b32 %r4|%p2, %r2, 3, 31, -1; selp.u32 %r11, 1, 0, %p2;\n"
		"shfl.sync.bfly.b32 %r5, %r2, 8, 31, -1;\n"
		"shfl.sync.idx.b32 %r6, %r2, 5, 6175, -1;\n" /* segments of 8 lanes */
		"and.b32 %r7, %r1, 3; setp.eq.u32 %p3, %r7, 1; vote.sync.ballot.b32 %r8, %p3, -1;\n"
		"match.any.sync.b32 %r9, %r7, -1;\n"
		"st.global.v4.u32 [%d3], {%r3, %r4, %r5, %r6}; shl.b32 %r10, %r10, 1; or.b32 %r10, "
		"%r10, %r11;\n"
		"st.global.v2.u32 [%d3+16], {%r8, %r9}; st.global.u32 [%d3+24], %r10;";
	struct dev_testbed t;
	uint32_t *page;

	(void)state;
	dev_testbed_init(&t);
	page = dev_testbed_alloc(&t, 4096);
	assert_int_equal(run_body(&t, body, page, 1, 32), 0);
	for (unsigned i = 0; i < 32; i++) {
		const uint32_t *o = page + i * 8;

		assert_int_equal(o[0], (i >= 2 ? i - 2 : i) * 3);
		assert_int_equal(o[1], (i + 3 <= 31 ? i + 3 : i) * 3);
		assert_int_equal(o[2], (i ^ 8) * 3);
		assert_int_equal(o[3], ((i & 24) | 5) * 3);
		assert_int_equal(o[4], 0x22222222);
		assert_int_equal(o[5], 0x11111111u << (i & 3));
		assert_int_equal(o[6], (i >= 2) * 2 + (i + 3 <= 31));
	}
	dev_testbed_deinit(&t);
}

/* lanes that took different ways meet at a .sync that names them all */
static void test_sync_forms_wait_for_lanes_that_are_elsewhere(void **state)
{
	static const char body[] =
		"mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2;\n"
		"and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; mov.u32 %r3, 0; @%p1 bra EVEN;\n"
		"LOOP: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %r1; @%p2 bra LOOP; bra.uni "
		"MEET;\n"
		"EVEN: mov.u32 %r3, 100;\n"
		"MEET: shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1; bar.warp.sync -1;\n"
		"st.global.u32 [%d3], %r4;";
	struct dev_testbed t;
	uint32_t *page;

	(void)state;
	dev_testbed_init(&t);
	page = dev_testbed_alloc(&t, 4096);
	assert_int_equal(run_body(&t, body, page, 1, 32), 0);
	for (unsigned i = 0; i < 32; i++)
		assert_int_equal(page[i], i & 1 ? 100 : i + 1);
	dev_testbed_deinit(&t);
}

static void test_atomics_of_every_operation(void **state)
{
	static const struct {
		const char *form, *operand;
		uint64_t before, after;
		bool is_wide;
	} rows[] = {
		{ "add.u32", "%r1", 10, 10 + 496, false },
		{ "add.u64", "%d4", UINT32_MAX, UINT32_MAX + UINT64_C(496), true },
		{ "min.s32", "%r2", 5, (uint32_t)-31, false },
		{ "max.s32", "%r2", (uint32_t)-9, 0, false },
		{ "min.u32", "%r2", 5, 0, false },
		{ "max.u64", "%d4", 7, 31, true },
		{ "or.b32", "%r3", 0, UINT32_MAX, false },
		{ "and.b32", "%r4", UINT32_MAX, 0, false },
		{ "xor.b32", "%r3", 1, 0xfffffffe, false },
		{ "inc.u32", "20", 15, 5, false },
		{ "dec.u32", "20", 15, 4, false },
		{ "add.f32", "%f1", 0x40000000, 0x42080000, false },
		{ "add.f64", "%d5", UINT64_C(0x4000000000000000), UINT64_C(0x4041000000000000),
		  true },
		{ "add.noftz.f16x2", "0x3c003c00", 0x40003c00, 0x50405020, false },
	};
	struct dev_testbed t;
	uint32_t *page;

	(void)state;
	dev_testbed_init(&t);
	page = dev_testbed_alloc(&t, 4096);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows) * 2; i++) {
		size_t k = i / 2;
		const char *op = i & 1 ? "red" : "atom";
		char body[1024];

		printf("# %s.%s\n", op, rows[k].form);
		snprintf(body, sizeof(body),
			 "mov.u32 %%r1, %%tid.x; neg.s32 %%r2, %%r1; mov.u32 %%r3, %%lanemask_eq;"
			 "not.b32 %%r4, %%r3; cvt.u64.u32 %%d4, %%r1; mov.f32 %%f1, 0f3F800000;"
			 "mov.b64 %%d5, 0x3FF0000000000000; %s.global.%s %s[%%d1], %s;",
			 op, rows[k].form,
			 i & 1		   ? ""
			 : rows[k].is_wide ? "%d6, "
					   : "%r6, ",
			 rows[k].operand);
		memcpy(page, &rows[k].before, 8);
		assert_int_equal(run_body(&t, body, page, 1, 32), 0);
		if (rows[k].is_wide)
			assert_memory_equal(page, &rows[k].after, 8);
		else
			assert_int_equal(page[0], rows[k].after);
	}
	/* cas and exch: every lane in turn */
	page[0] = 0;
	assert_int_equal(
		run_body(&t,
			 "mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 1;"
			 "atom.global.cas.b32 %r3, [%d1], %r1, %r2;"
			 "mul.wide.u32 %d2, %r1, 4; add.s64 %d2, %d2, %d1; st.global.u32 [%d2+4], "
			 "%r3;"
			 "st.shared.u32 [tile], %r1; atom.shared.exch.b32 %r4, [tile], 99;",
			 page, 1, 32),
		0);
	assert_int_equal(page[0], 32);
	for (unsigned i = 0; i < 32; i++)
		assert_int_equal(page[1 + i], i);
	dev_testbed_deinit(&t);
}

static void test_generic_addresses_reach_every_space(void **state)
{
	static const char body[] =
		"mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2;\n"
		"mov.u64 %d4, own; cvta.local.u64 %d5, %d4; st.u32 [%d5+8], %r1; ld.local.u32 %r2, "
		"[own+8];\n"
		"mov.u64 %d6, tile; cvta.shared.u64 %d7, %d6; and.b32 %r3, %r1, 15; mul.wide.u32 "
		"%d8, %r3, 4;\n"
		"add.s64 %d9, %d7, %d8; st.u32 [%d9], %r3; cvta.to.shared.u64 %d10, %d9; "
		"ld.shared.u32 %r4, [%d10];\n"
		"isspacep.shared %p1, %d9; isspacep.local %p2, %d5; isspacep.global %p3, %d1;\n"
		"isspacep.global %p4, %d9; and.pred %p1, %p1, %p2; and.pred %p1, %p1, %p3;\n"
		"not.pred %p4, %p4; and.pred %p1, %p1, %p4; selp.u32 %r5, 1000, 0, %p1;\n"
		"mad.lo.u32 %r6, %r2, 32, %r4; add.u32 %r6, %r6, %r5; st.u32 [%d3], %r6;";
	struct dev_testbed t;
	uint32_t *page;

	(void)state;
	dev_testbed_init(&t);
	page = dev_testbed_alloc(&t, 4096);
	assert_int_equal(run_body(&t, body, page, 1, 64), 0);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(page[i], i * 32 + (i & 15) + 1000);
	dev_testbed_deinit(&t);
}

static void test_loads_and_stores_of_every_width(void **state)
{
	static const char body[] =
		"ld.global.s8 %h1, [%d1]; cvt.u32.u16 %r1, %h1; st.global.u32 [%d1+64], %r1;\n"
		"ld.global.s8 %r1, [%d1]; st.global.u32 [%d1+68], %r1;\n"
		"ld.global.s8 %d2, [%d1]; st.global.u64 [%d1+72], %d2;\n"
		"ld.global.u8 %d2, [%d1]; st.global.u64 [%d1+80], %d2;\n"
		"ld.global.s16 %r1, [%d1]; st.global.u32 [%d1+88], %r1;\n"
		"ld.global.s32 %d2, [%d1]; st.global.u64 [%d1+96], %d2;\n"
		"ld.volatile.global.u16 %r1, [%d1]; st.volatile.global.u8 [%d1+104], %r1;\n"
		"ld.relaxed.gpu.global.v2.u64 {%d2, %d3}, [%d1]; st.release.sys.global.v2.u64 "
		"[%d1+112], {%d3, %d2};\n"
		"ld.global.nc.v4.u8 {%r1, %r2, %r3, %r4}, [%d1+4]; st.global.v4.u16 [%d1+128], "
		"{%r1, %r2, %r3, %r4};\n"
		"ld.acquire.gpu.global.u32 %r1, [%d1+4]; st.global.b16 [%d1+136], %r1;";
	struct dev_testbed t;
	uint8_t *page;
	uint64_t *wide;

	(void)state;
	dev_testbed_init(&t);
	page = dev_testbed_alloc(&t, 4096);
	wide = (uint64_t *)page;
	wide[0] = UINT64_C(0x04038281f6f5f4f3);
	wide[1] = 42;
	assert_int_equal(run_body(&t, body, (uint32_t *)page, 1, 1), 0);
	assert_true(wide[8] == UINT64_C(0xfffffff30000fff3));
	assert_true(wide[9] == UINT64_C(0xfffffffffffffff3));
	assert_true(wide[10] == 0xf3);
	assert_true(wide[11] == UINT64_C(0xfffff4f3));
	assert_true(wide[12] == UINT64_C(0xfffffffff6f5f4f3));
	assert_true(wide[13] == 0xf3);
	assert_true(wide[14] == 42 && wide[15] == wide[0]);
	assert_true(wide[16] == UINT64_C(0x0004000300820081));
	assert_true(wide[17] == 0x8281);
	dev_testbed_deinit(&t);
}

static void test_calls_through_a_table_of_functions(void **state)
{
	static const char text[] =
		HEAD ".func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 "
		     "%r1, [a];\n"
		     "  add.s32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }\n"
		     ".func (.param .b32 r) minus(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 "
		     "%r1, [a];\n"
		     "  neg.s32 %r2, %r1; st.param.b32 [r], %r2; ret; }\n"
		     ".global .align 8 .u64 table[2] = { twice, minus };\n"
		     ".visible .entry k(.param .u64 p) { .reg .b32 %r<5>; .reg .b64 %d<8>;\n"
		     "  ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1; "
		     "mul.wide.u32 %d2, %r2, 8;\n"
		     "  mov.u64 %d3, table; add.s64 %d4, %d3, %d2; ld.global.u64 %d5, [%d4];\n"
		     "  { .param .b32 in; .param .b32 out; st.param.b32 [in], %r1;\n"
		     "    proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
		     "    call (out), %d5, (in), proto; ld.param.b32 %r3, [out]; }\n"
		     "  mul.wide.u32 %d6, %r1, 4; add.s64 %d7, %d1, %d6; st.global.u32 [%d7], %r3; "
		     "ret; }\n";
	struct dev_testbed t;
	int32_t *page;

	(void)state;
	dev_testbed_init(&t);
	page = dev_testbed_alloc(&t, 4096);
	assert_int_equal(dev_testbed_load(&t, text), 0);
	dev_testbed_param_ptr(&t, page);
	assert_int_equal(dev_testbed_run(&t, "k", 1, 40), 0);
	for (int i = 0; i < 40; i++)
		assert_int_equal(page[i], i & 1 ? -i : 2 * i);
	dev_testbed_deinit(&t);
}

static void test_endless_recursion_is_a_fault(void **state)
{
	static const char text[] =
		HEAD ".func f() { call f; ret; }\n.visible .entry k() { call f; ret; }\n";
	struct dev_testbed t;

	(void)state;
	dev_testbed_init(&t);
	assert_int_equal(dev_testbed_load(&t, text), 0);
	assert_int_equal(dev_testbed_run(&t, "k", 1, 32), DEV_INTERP_E_FAULT);
	assert_int_equal(t.fault.kind, DEV_INTERP_FAULT_STACK);
	dev_testbed_deinit(&t);
}

static void test_an_endless_kernel_can_be_cancelled(void **state)
{
	struct dev_testbed t;
	bool cancel = true;
	uint32_t *page;

	(void)state;
	dev_testbed_init(&t);
	page = dev_testbed_alloc(&t, 4096);
	t.cancel = &cancel;
	assert_int_equal(run_body(&t, "L: bra L;", page, 4, 64), DEV_INTERP_E_FAULT);
	assert_int_equal(t.fault.kind, DEV_INTERP_FAULT_CANCELLED);
	dev_testbed_deinit(&t);
}

/* a barrier over the grid: no block may end before all have come */
static void test_blocks_of_a_cooperative_launch_wait_for_each_other(void **state)
{
	struct dev_testbed t;
	uint32_t *page;

	(void)state;
	dev_testbed_init(&t);
	page = dev_testbed_alloc(&t, 4096);
	t.is_cooperative = true;
	assert_int_equal(run_body(&t,
				  "red.global.add.u32 [%d1], 1;"
				  "L: ld.volatile.global.u32 %r1, [%d1]; setp.ne.u32 %p1, %r1, "
				  "320; @%p1 bra L;",
				  page, 10, 32),
			 0);
	assert_int_equal(page[0], 320);
	dev_testbed_deinit(&t);
}

static void test_what_cannot_be_run_is_refused(void **state)
{
	static const char text[] =
		HEAD ".extern .func missing();\n.visible .entry k()\n{\n  call missing;\n}\n"
		     ".visible .entry good() { ret; }\n";
	struct dev_testbed t;

	(void)state;
	dev_testbed_init(&t);
	assert_int_equal(dev_testbed_load(&t, text), 0);
	assert_int_equal(dev_testbed_run(&t, "k", 1, 1), DEV_INTERP_E_REFUSED);
	assert_int_equal(t.error.line, 7);
	assert_int_equal(t.error.column, 3);
	assert_string_equal(t.error.text, "function 'missing' is not defined");
	assert_int_equal(dev_testbed_run(&t, "good", 1, 1025), -EINVAL);
	assert_int_equal(dev_testbed_run(&t, "good", 0, 1), -EINVAL);
	assert_int_equal(dev_testbed_run(&t, "good", 1, 1024), 0);
	dev_testbed_deinit(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vadd_of_any_size_and_shape),
		cmocka_unit_test(test_a_wrong_access_is_a_fault_with_its_place),
		cmocka_unit_test(test_rights_of_a_page_are_kept_and_truth_is_told),
		cmocka_unit_test(test_barriers_that_nobody_completes_are_a_fault),
		cmocka_unit_test(test_barriers_of_every_form),
		cmocka_unit_test(test_lanes_exchange_values),
		cmocka_unit_test(test_sync_forms_wait_for_lanes_that_are_elsewhere),
		cmocka_unit_test(test_atomics_of_every_operation),
		cmocka_unit_test(test_generic_addresses_reach_every_space),
		cmocka_unit_test(test_loads_and_stores_of_every_width),
		cmocka_unit_test(test_calls_through_a_table_of_functions),
		cmocka_unit_test(test_endless_recursion_is_a_fault),
		cmocka_unit_test(test_an_endless_kernel_can_be_cancelled),
		cmocka_unit_test(test_blocks_of_a_cooperative_launch_wait_for_each_other),
		cmocka_unit_test(test_what_cannot_be_run_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
