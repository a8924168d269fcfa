/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An address is the sum of a register and an offset, modulo the register's width: a compiler that
 * knows that a[i + 17] is inside of a tile writes [%r4+68] whatever %r4 holds. Every instruction
 * that reaches memory runs with an address of 64 bits and no offset, and then with what must mean
 * the same: less in a register of 32 bits, and the rest behind it; or, where the space is a window,
 * bits above the 32 that it has.
 */
#include "lib/test.h"

#include "softgpu/interp/isa.h"
#include "softgpu/interp/testbed.h"

#define DEVICE	  UINT64_C(0x10000) /* where the memory begins: below 4 GiB, for all addresses */
#define TILE	  8192u		    /* bytes of shared memory */
#define OWN	  256u		    /* of local memory a thread */
#define RESULT	  64u		    /* of the output a thread */
#define N_THREADS 128u
#define OUT_BYTES (N_THREADS * (RESULT + OWN) + TILE)

enum space {
	SHARED,
	LOCAL,
	GLOBAL,
	CONST,
	PARAM,
};

/* %A is the address; %v to %y are results of 32 bits, %D and %E of 64; %r1 is the thread */
static const struct path {
	const char *what;
	enum space space;
	unsigned bytes; /* a thread, and their alignment */
	bool is_whole;	/* all lanes must be there */
	const char *text;
} paths[] = {
	{ "ld.shared.u8", SHARED, 1, false, "ld.shared.u8 %v, [A];" },
	{ "ld.shared.s16", SHARED, 2, false, "ld.shared.s16 %v, [A];" },
	{ "ld.shared.u32", SHARED, 4, false, "ld.shared.u32 %v, [A];" },
	{ "ld.shared.f64", SHARED, 8, false, "ld.shared.b64 %D, [A];" },
	{ "ld.shared.v2", SHARED, 8, false, "ld.shared.v2.u32 {%v, %w}, [A];" },
	{ "ld.shared.v4", SHARED, 16, false, "ld.shared.v4.u32 {%v, %w, %x, %y}, [A];" },
	{ "ld.volatile", SHARED, 4, false, "ld.volatile.shared.u32 %v, [A];" },
	{ "st.shared.u8", SHARED, 1, false, "st.shared.u8 [A], %r1;" },
	{ "st.shared.u16", SHARED, 2, false, "st.shared.u16 [A], %h;" },
	{ "st.shared.u32", SHARED, 4, false, "st.shared.u32 [A], %r1;" },
	{ "st.shared.u64", SHARED, 8, false, "st.shared.u64 [A], %T;" },
	{ "st.shared.v4", SHARED, 16, false, "st.shared.v4.u32 [A], {%r1, %r1, %r1, 7};" },
	{ "atom.shared.add", SHARED, 4, false, "atom.shared.add.u32 %v, [A], %r1;" },
	{ "atom.shared.cas", SHARED, 8, false, "atom.shared.cas.b64 %D, [A], 0, %T;" },
	{ "red.shared", SHARED, 4, false, "red.shared.max.u32 [A], %r1;" },
	{ "cp.async", SHARED, 16, false,
	  "cp.async.cg.shared.global [A], [%in], 16;\ncp.async.wait_all;" },
	{ "mbarrier", SHARED, 8, false,
	  "mbarrier.init.shared.b64 [A], 3; mbarrier.arrive.shared.b64 %D, [A];\n"
	  "mbarrier.test_wait.shared.b64 %q, [A], %D; selp.u32 %v, 1, 2, %q;" },
	{ "ldmatrix", SHARED, 16, true,
	  "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%v, %w, %x, %y}, [A];" },
	{ "wmma.load", SHARED, 0, true,
	  "wmma.load.c.sync.aligned.row.m16n16k16.shared.f32\n"
	  "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [A], 20;\n"
	  "mov.b32 %v, %f0; mov.b32 %w, %f3; mov.b32 %x, %f5; mov.b32 %y, %f7;" },
	{ "wmma.store", SHARED, 0, true,
	  "cvt.rn.f32.u32 %f0, %r1; wmma.store.d.sync.aligned.row.m16n16k16.shared.f32\n"
	  "[A], {%f0, %f0, %f0, %f0, %f0, %f0, %f0, %f0}, 16;" },
	{ "ld.local", LOCAL, 4, false, "ld.local.u32 %v, [A];" },
	{ "ld.local.v2", LOCAL, 16, false, "ld.local.v2.u64 {%D, %E}, [A];" },
	{ "st.local", LOCAL, 4, false, "st.local.u32 [A], %r1;" },
	{ "ld.param", PARAM, 4, false, "ld.param.u32 %v, [A];" },
	{ "ld.param.v2", PARAM, 8, false, "ld.param.v2.u32 {%v, %w}, [A];" },
	{ "ld.const", CONST, 4, false, "ld.const.u32 %v, [A];" },
	{ "ld.global.u32", GLOBAL, 4, false, "ld.global.u32 %v, [A];" },
	{ "ld.global.v4", GLOBAL, 16, false, "ld.global.v4.u32 {%v, %w, %x, %y}, [A];" },
	{ "ld", GLOBAL, 8, false, "ld.u64 %D, [A];" },
	{ "st.global.u32", GLOBAL, 4, false, "st.global.u32 [A], %r1;" },
	{ "st", GLOBAL, 8, false, "st.u64 [A], %T;" },
	{ "atom.global", GLOBAL, 4, false, "atom.global.add.u32 %v, [A], 5;" },
	{ "red", GLOBAL, 4, false, "red.add.u32 [A], 5;" },
	{ "from of cp.async", GLOBAL, 16, false,
	  "cp.async.cg.shared.global [%tile], [A], 16;\ncp.async.wait_all;" },
	{ "wmma.load.global", GLOBAL, 0, true,
	  "wmma.load.c.sync.aligned.col.m16n16k16.global.f32\n"
	  "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [A], 16;\n"
	  "mov.b32 %v, %f0; mov.b32 %w, %f3; mov.b32 %x, %f5; mov.b32 %y, %f7;" },
};

/* Where the lanes are, in elements of a path. */
static const struct layout {
	const char *what;
	const char *text; /* from %r1 into %r3 */
	bool is_some;	  /* not all lanes */
} layouts[] = {
	{ "a piece", "mov.u32 %r3, %r1;", false },
	{ "one place", "mov.u32 %r3, 3;", false },
	{ "two pieces", "and.b32 %r3, %r1, 15; shr.u32 %r2, %r1, 4; mad.lo.u32 %r3, %r2, 18, %r3;",
	  false },
	{ "two places", "shr.u32 %r3, %r1, 4;", false },
	{ "backwards", "sub.u32 %r3, 127, %r1;", false },
	{ "scattered", "mul.lo.u32 %r3, %r1, 77; and.b32 %r3, %r3, 127;", false },
	{ "some lanes", "mov.u32 %r3, %r1;", true },
};

/* What is added to the register, and with which offset it is taken away again. */
static const struct split {
	unsigned bits;
	int64_t offset;
	uint64_t above;
} splits[] = {
	{ 64, 0, 0 }, /* what the others must equal */
	{ 32, 0, 0 },
	{ 32, 68, 0 },
	{ 32, -68, 0 },
	{ 32, 1024, 0 },
	{ 32, 0x7ffffff0, 0 },
	{ 32, -0x7ffffff0, 0 },
	{ 64, 1024, 0 },
	{ 64, -1024, 0 },
	{ 64, 1024, UINT64_C(1) << 32 },
	{ 64, 0, UINT64_C(0xfff) << 40 },
};

struct text {
	char bytes[8192];
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	t->n += (size_t)vsnprintf(t->bytes + t->n, sizeof(t->bytes) - t->n, format, args);
	va_end(args);
	assert_true(t->n < sizeof(t->bytes));
}

/* The instructions of a path, with their address in place of "A". */
static void say_path(struct text *t, const struct path *path, const struct split *split)
{
	for (const char *c = path->text; *c; c++) {
		if (strncmp(c, "[A]", 3)) {
			say(t, "%c", *c);
			continue;
		}
		say(t, "[%%%c4+%lld]", split->bits == 32 ? 'r' : 'd', (long long)split->offset);
		c += 2;
	}
	say(t, "\n");
}

static void say_address(struct text *t, const struct path *path, const struct split *split)
{
	static const char *const bases[] = {
		[SHARED] = "mov.u64 %d4, tile;\n",  [LOCAL] = "mov.u64 %d4, own;\n",
		[GLOBAL] = "mov.u64 %d4, %in;\n",   [CONST] = "mov.u64 %d4, bank;\n",
		[PARAM] = "mov.u64 %d4, window;\n",
	};
	/* of windows that every thread has for itself, a few places */
	unsigned few = path->space == LOCAL ? OWN / 16 - 1 : N_THREADS - 1;

	say(t, "%s", bases[path->space]);
	say(t, "and.b32 %%r3, %%r3, %u; mad.wide.u32 %%d4, %%r3, %u, %%d4;\n", few, path->bytes);
	if (split->bits == 32)
		say(t, "cvt.u32.u64 %%r4, %%d4; add.u32 %%r4, %%r4, %d;\n", (int)-split->offset);
	else
		say(t, "add.u64 %%d4, %%d4, %lld;\n", (long long)(split->above - split->offset));
}

static void make_kernel(struct text *t, const struct path *path, const struct layout *layout,
			const struct split *split)
{
	t->n = 0;
	say(t,
	    ".version 7.0\n.target sm_80\n.address_size 64\n"
	    ".const .align 16 .u32 bank[%u] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};\n"
	    ".visible .entry k(.param .u64 in, .param .u64 out, .param .align 16 .b8 "
	    "window[2048])\n"
	    "{\n.shared .align 16 .b8 tile[%u]; .local .align 16 .b8 own[%u];\n"
	    ".reg .pred %%p, %%q; .reg .b16 %%h; .reg .b32 %%r<9>, %%v, %%w, %%x, %%y;\n"
	    ".reg .f32 %%f<8>; .reg .b64 %%d<9>, %%D, %%E, %%T, %%in, %%tile;\n"
	    "ld.param.u64 %%in, [in]; ld.param.u64 %%d2, [out]; mov.u32 %%r1, %%tid.x;\n"
	    "cvt.u16.u32 %%h, %%r1; cvt.u64.u32 %%T, %%r1; mov.u64 %%tile, tile;\n"
	    "mad.wide.u32 %%tile, %%r1, 16, %%tile;\n"
	    "mov.u32 %%v, 0; mov.u32 %%w, 0; mov.u32 %%x, 0; mov.u32 %%y, 0;\n"
	    "mov.u64 %%D, 0; mov.u64 %%E, 0; mov.u32 %%r8, %%ntid.x;\n",
	    2 * N_THREADS, TILE, OWN);
	/* both windows hold what the input has */
	say(t,
	    "mul.lo.u32 %%r5, %%r1, 4;\nFILL: cvt.u64.u32 %%d5, %%r5; add.u64 %%d6, %%in, %%d5;\n"
	    "ld.global.u32 %%r6, [%%d6]; mov.u64 %%d7, tile; add.u64 %%d7, %%d7, %%d5;\n"
	    "st.shared.u32 [%%d7], %%r6; mad.lo.u32 %%r5, %%r8, 4, %%r5;\n"
	    "setp.lt.u32 %%p, %%r5, %u; @%%p bra FILL;\n"
	    "mov.u32 %%r5, 0;\nOWN: cvt.u64.u32 %%d5, %%r5; mov.u64 %%d7, own;\n"
	    "add.u64 %%d6, %%in, %%d5; ld.global.u32 %%r6, [%%d6]; add.u64 %%d7, %%d7, %%d5;\n"
	    "st.local.u32 [%%d7], %%r6; add.u32 %%r5, %%r5, 4; setp.lt.u32 %%p, %%r5, %u;\n"
	    "@%%p bra OWN;\nbar.sync 0;\n%s\n",
	    TILE, OWN, layout->text);
	say_address(t, path, split);
	if (layout->is_some)
		say(t, "and.b32 %%r2, %%r1, 3; setp.eq.u32 %%p, %%r2, 1; @%%p bra SKIP;\n");
	say_path(t, path, split);
	say(t,
	    "SKIP: bar.sync 0; mad.wide.u32 %%d6, %%r1, %u, %%d2;\n"
	    "st.global.v4.u32 [%%d6], {%%v, %%w, %%x, %%y};\n"
	    "st.global.v2.u64 [%%d6+16], {%%D, %%E}; mov.u32 %%r5, 0;\n"
	    "OWNED: cvt.u64.u32 %%d5, %%r5; mov.u64 %%d7, own; add.u64 %%d7, %%d7, %%d5;\n"
	    "ld.local.u32 %%r6, [%%d7]; add.u64 %%d8, %%d6, %%d5; st.global.u32 [%%d8+%u], %%r6;\n"
	    "add.u32 %%r5, %%r5, 4; setp.lt.u32 %%p, %%r5, %u; @%%p bra OWNED;\n"
	    "mul.lo.u32 %%r5, %%r1, 4;\nEMPTY: cvt.u64.u32 %%d5, %%r5; mov.u64 %%d7, tile;\n"
	    "add.u64 %%d7, %%d7, %%d5; ld.shared.u32 %%r6, [%%d7]; add.u64 %%d6, %%d2, %%d5;\n"
	    "st.global.u32 [%%d6+%u], %%r6; mad.lo.u32 %%r5, %%r8, 4, %%r5;\n"
	    "setp.lt.u32 %%p, %%r5, %u; @%%p bra EMPTY;\nret;\n}\n",
	    RESULT + OWN, RESULT, OWN, N_THREADS * (RESULT + OWN), TILE);
}

/* What is left in the output, and in the input that some paths write to. */
struct result {
	uint8_t in[TILE];
	uint8_t out[OUT_BYTES];
};

static bool run(const struct path *path, const struct layout *layout, const struct split *split,
		unsigned n_threads, struct result *ret)
{
	static struct text t;
	struct dev_testbed b;
	uint8_t window[2048], *in, *out;
	uint64_t device;
	int r;

	make_kernel(&t, path, layout, split);
	dev_testbed_init(&b);
	b.memory.base = DEVICE;
	if (dev_testbed_load(&b, t.bytes))
		fail_msg("%u: %s\n%s", b.error.line, b.error.text, t.bytes);
	for (unsigned i = 0; i < b.ptx->n_variables; i++)
		if (b.variables[i])
			b.variables[i] += DEVICE - (uint64_t)(uintptr_t)b.window;
	in = dev_testbed_alloc(&b, TILE);
	out = dev_testbed_alloc(&b, OUT_BYTES);
	for (unsigned i = 0; i < TILE / 4; i++)
		((uint32_t *)(void *)in)[i] = i * UINT32_C(0x9e3779b1);
	memcpy(window, in, sizeof(window));
	device = DEVICE + (uint64_t)(in - b.window);
	dev_testbed_param(&b, &device, 8);
	device = DEVICE + (uint64_t)(out - b.window);
	dev_testbed_param(&b, &device, 8);
	memcpy(b.params + 16, window, sizeof(window));
	r = dev_testbed_run(&b, "k", 1, n_threads);
	if (r == DEV_INTERP_E_REFUSED)
		fail_msg("%u: %s\n%s", b.error.line, b.error.text, t.bytes);
	if (r)
		printf("# %s: address %llx\n", dev_interp_fault_name(b.fault.kind),
		       (unsigned long long)b.fault.address);
	memcpy(ret->in, in, TILE);
	memcpy(ret->out, out, OUT_BYTES);
	dev_testbed_deinit(&b);
	return !r;
}

/* 31 threads are never lines, 32 are, and 128 are a team. Return: how many runs were wrong. */
static unsigned run_path(const struct path *path, const struct layout *layout)
{
	static const unsigned sizes[] = { 31, 32, 128 };
	static struct result want, got;
	unsigned n_wrong = 0;

	for (size_t k = path->is_whole; k < SLU_ARRAY_SIZE(sizes); k++)
		for (size_t i = 0; i < SLU_ARRAY_SIZE(splits); i++) {
			bool is_window = path->space == SHARED || path->space == LOCAL;

			if (splits[i].above && !is_window)
				continue;
			if (run(path, layout, &splits[i], sizes[k], i ? &got : &want) &&
			    !(i && memcmp(&want, &got, sizeof(want))))
				continue;
			printf("# wrong: %s, %s, %u threads, %u bits with offset %lld\n",
			       path->what, layout->what, sizes[k], splits[i].bits,
			       (long long)splits[i].offset);
			n_wrong++;
		}
	return n_wrong;
}

static void test_an_offset_wraps_with_its_register(void **state)
{
	unsigned n_wrong = 0;

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(paths); i++)
		for (size_t k = 0; k < SLU_ARRAY_SIZE(layouts); k++) {
			if (paths[i].is_whole && layouts[k].is_some)
				continue;
			dev_interp_isa_force(k % 2 ? &dev_interp_isa_base : NULL);
			n_wrong += run_path(&paths[i], &layouts[k]);
		}
	dev_interp_isa_force(NULL);
	assert_int_equal(n_wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_offset_wraps_with_its_register),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
