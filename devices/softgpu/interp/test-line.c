/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers that are lines hold what rows would, and warps that go in step do what each of them
 * would do. Random kernels run in blocks of whole warps, one warp or teams of several, and in
 * blocks of 31 threads, where nothing ever is a line or a team, because both are for whole warps.
 */
#include "lib/test.h"

#include "softgpu/interp/code.h"
#include "softgpu/interp/testbed.h"

#define HEAD	  ".version 7.0\n.target sm_75\n.address_size 64\n"
#define N_PARTS	  5u
#define N_THREADS (N_PARTS * 31u)
#define N_WARPS	  5u /* of one block: a team, and one that is left over */
#define N_TABLE	  1024u
#define N_RESULTS 8u /* of 8 bytes a thread */

struct text {
	char bytes[16384];
	size_t n;
	uint64_t *seed;
	unsigned n_labels;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	t->n += (size_t)vsnprintf(t->bytes + t->n, sizeof(t->bytes) - t->n, format, args);
	va_end(args);
	assert_true(t->n < sizeof(t->bytes));
}

static unsigned pick(struct text *t, unsigned n)
{
	return (unsigned)(slu_test_random(t->seed) >> 33) % n;
}

/* numbers as kernels have them, and some that wrap */
static unsigned constant(struct text *t)
{
	static const unsigned values[] = { 0, 1, 2, 4, 16, 31, 64, 0x7fffffff, 0x80000000, ~0u };

	return values[pick(t, SLU_ARRAY_SIZE(values))];
}

static void say_source(struct text *t)
{
	if (pick(t, 3))
		say(t, "%%r%u", pick(t, 8));
	else
		say(t, "%d", (int)constant(t));
}

static void say_instruction(struct text *t, const char *guard)
{
	static const char *const of_two[] = { "add.s32",    "sub.s32", "mul.lo.s32", "and.b32",
					      "or.b32",	    "xor.b32", "min.s32",    "max.u32",
					      "mul.hi.u32", "add.u32", "sub.u32" };
	static const char *const counts[] = { "shl.b32", "shr.u32", "shr.s32" };
	static const char *const wide[] = { "mul.wide.s32", "mul.wide.u32" };
	static const char *const compares[] = { "lt.s32", "lt.u32", "ge.s32", "gt.u32",
						"eq.s32", "ne.u32", "le.s32", "hs.u32" };
	static const char *const compares_64[] = { "lt.s64", "gt.u64", "eq.b64", "ge.u64" };
	static const char *const widen[] = { "s64.s32", "u64.u32" };

	say(t, "%s", guard);
	switch (pick(t, 15)) {
	case 0:
	case 1:
	case 2:
		say(t, "%s %%r%u, %%r%u, ", of_two[pick(t, SLU_ARRAY_SIZE(of_two))], pick(t, 8),
		    pick(t, 8));
		say_source(t);
		break;
	case 3:
		say(t, "mad.lo.s32 %%r%u, %%r%u, ", pick(t, 8), pick(t, 8));
		say_source(t);
		say(t, ", %%r%u", pick(t, 8));
		break;
	case 4:
		say(t, "%s %%r%u, %%r%u, %u", counts[pick(t, SLU_ARRAY_SIZE(counts))], pick(t, 8),
		    pick(t, 8), pick(t, 36));
		break;
	case 5:
		say(t, "%s %%d%u, %%r%u, ", wide[pick(t, 2)], pick(t, 4), pick(t, 8));
		say_source(t);
		break;
	case 6:
		say(t, "mad.wide.%s %%d%u, %%r%u, ", pick(t, 2) ? "s32" : "u32", pick(t, 4),
		    pick(t, 8));
		say_source(t);
		say(t, ", %%d%u", pick(t, 4));
		break;
	case 7:
		say(t, "cvt.%s %%d%u, %%r%u", widen[pick(t, 2)], pick(t, 4), pick(t, 8));
		break;
	case 8:
		say(t, "%s.s64 %%d%u, %%d%u, %%d%u", pick(t, 2) ? "add" : "sub", pick(t, 4),
		    pick(t, 4), pick(t, 4));
		break;
	case 9:
		say(t, "setp.%s %%p%u, %%r%u, ", compares[pick(t, SLU_ARRAY_SIZE(compares))],
		    pick(t, 3), pick(t, 8));
		say_source(t);
		break;
	case 10:
		say(t, "setp.%s %%p%u, %%d%u, %%d%u",
		    compares_64[pick(t, SLU_ARRAY_SIZE(compares_64))], pick(t, 3), pick(t, 4),
		    pick(t, 4));
		break;
	case 11:
		say(t, "%s.b32 %%r%u, %%r%u", pick(t, 2) ? "popc" : "not", pick(t, 8), pick(t, 8));
		break;
	case 12:
		say(t, "lop3.b32 %%r%u, %%r%u, %%r%u, %%r%u, %u", pick(t, 8), pick(t, 8),
		    pick(t, 8), pick(t, 8), pick(t, 256));
		break;
	case 13:
		say(t, "fma.rn.f32 %%r%u, %%r%u, %%r%u, %%r%u", pick(t, 8), pick(t, 8), pick(t, 8),
		    pick(t, 8));
		break;
	default:
		say(t, "selp.b32 %%r%u, %%r%u, %%r%u, %%p%u", pick(t, 8), pick(t, 8), pick(t, 8),
		    pick(t, 3));
		break;
	}
	say(t, ";\n");
}

/* By an address that is a line, or is none, or lies anywhere in a table. */
static void say_load(struct text *t)
{
	switch (pick(t, 5)) {
	case 0:
		say(t, "mad.wide.u32 %%d5, %%r8, 4, %%d8;\nld.global.u32 %%r%u, [%%d5+%u];\n",
		    pick(t, 8), pick(t, 64) * 4);
		break;
	case 1:
		say(t,
		    "and.b32 %%r9, %%r%u, 511;\nmad.wide.u32 %%d5, %%r9, 4, %%d8;\n"
		    "ld.global.u32 %%r%u, [%%d5];\n",
		    pick(t, 8), pick(t, 8));
		break;
	case 2:
		say(t,
		    "and.b32 %%r9, %%r%u, 255;\nmad.wide.u32 %%d5, %%r9, 8, %%d8;\n"
		    "ld.global.v2.u32 {%%r%u, %%r9}, [%%d5];\n",
		    pick(t, 8), pick(t, 8));
		break;
	case 3:
		/* what the thread itself wrote, in two ways */
		say(t, "st.shared.u32 [%%r10], %%r%u;\natom.shared.add.u32 %%r%u, [%%r10], %u;\n",
		    pick(t, 8), pick(t, 8), pick(t, 99));
		break;
	default:
		/* what the thread itself wrote */
		say(t, "st.shared.u32 [%%r10], %%r%u;\nld.shared.u32 %%r%u, [%%r10];\n", pick(t, 8),
		    pick(t, 8));
		break;
	}
}

static void say_some(struct text *t, unsigned depth)
{
	static const char *const guards[] = { "@%p0 ", "@!%p1 ", "@%p2 " };
	unsigned n = 2 + pick(t, 6), label;

	while (n--) {
		switch (pick(t, depth ? 8 : 6)) {
		default:
			say_instruction(t, "");
			break;
		case 1:
			say_instruction(t, guards[pick(t, 3)]);
			break;
		case 2:
			say_load(t);
			break;
		case 6:
			/* over a part of the lanes, or all, or none */
			label = t->n_labels++;
			say(t, "%sbra L%u;\n", guards[pick(t, 3)], label);
			say_some(t, depth - 1);
			say(t, "L%u:\n", label);
			break;
		case 7:
			/* as often for all lanes, or once more for each than for the one before */
			label = t->n_labels++;
			say(t, "and.b32 %%c%u, %s, 7;\nL%u:\n", depth, pick(t, 2) ? "%r7" : "%r3",
			    label);
			say_some(t, depth - 1);
			say(t,
			    "sub.s32 %%c%u, %%c%u, 1;\nsetp.gt.s32 %%q%u, %%c%u, 0;\n@%%q%u bra "
			    "L%u;\n",
			    depth, depth, depth, depth, depth, label);
			break;
		}
	}
}

static void make_kernel(struct text *t)
{
	say(t, HEAD
	    ".visible .entry k(.param .u64 out, .param .u64 table, .param .u32 first,"
	    " .param .u32 any)\n"
	    "{\n.shared .align 8 .b8 own[4096];\n"
	    ".reg .pred %%p<3>, %%q<4>; .reg .b32 %%r<11>, %%c<4>; .reg .b64 %%d<9>;\n"
	    "ld.param.u64 %%d7, [out]; ld.param.u64 %%d8, [table];\n"
	    "ld.param.u32 %%r0, [first]; ld.param.u32 %%r1, [any];\n"
	    "mov.u32 %%r2, %%tid.x; add.s32 %%r0, %%r0, %%r2; mov.u32 %%r8, %%r0;\n"
	    "mov.u32 %%r9, own; mad.lo.s32 %%r10, %%r2, 4, %%r9; and.b32 %%r3, %%r0, 15; shr.u32 "
	    "%%r2, %%r0, 4;\n"
	    "mad.wide.u32 %%d7, %%r0, 64, %%d7;\n"
	    "sub.s32 %%r4, %%r0, 20; mul.lo.s32 %%r5, %%r0, %%r1; mov.u32 %%r6, %%r0;\n"
	    "mov.u32 %%r7, 7; cvt.u64.u32 %%d0, %%r0; mul.wide.s32 %%d1, %%r4, 4;\n"
	    "mov.u64 %%d2, 5; mul.wide.u32 %%d3, %%r4, 8;\n"
	    "setp.lt.s32 %%p0, %%r4, 0; setp.eq.s32 %%p1, %%r3, 3; setp.gt.u32 %%p2, %%r1, 9;\n");
	for (unsigned n = 1 + pick(t, 3); n--;) {
		say_some(t, 3);
		say(t, "bar.sync 0;\n");
	}
	for (unsigned i = 0; i < 8; i++)
		say(t, "st.global.u32 [%%d7+%u], %%r%u;\n", i * 4, i);
	for (unsigned i = 0; i < 4; i++)
		say(t, "st.global.u64 [%%d7+%u], %%d%u;\n", 32 + i * 8, i);
	say(t, "ret;\n}\n");
}

static void run_part(struct dev_testbed *b, const void *out, const void *table, unsigned first,
		     unsigned any, unsigned n_threads)
{
	dev_testbed_param_ptr(b, out);
	dev_testbed_param_ptr(b, table);
	dev_testbed_param_u32(b, first);
	dev_testbed_param_u32(b, any);
	if (dev_testbed_run(b, "k", 1, n_threads))
		fail_msg("%s at line %u, thread %u, address %llx",
			 dev_interp_fault_name(b->fault.kind), b->fault.line, b->fault.thread[0],
			 (unsigned long long)b->fault.address);
}

static void run_one(uint64_t *seed)
{
	static struct text t;
	struct dev_testbed b;
	uint64_t *whole, *parts;
	uint32_t *table;
	unsigned any, n;

	t = (struct text){ .seed = seed };
	make_kernel(&t);
	any = constant(&t);
	dev_testbed_init(&b);
	if (dev_testbed_load(&b, t.bytes))
		fail_msg("%u: %s\n%s", b.error.line, b.error.text, t.bytes);
	table = dev_testbed_alloc(&b, N_TABLE * 4);
	whole = dev_testbed_alloc(&b, N_WARPS * 32 * N_RESULTS * 8);
	parts = dev_testbed_alloc(&b, N_THREADS * N_RESULTS * 8);
	for (unsigned i = 0; i < N_TABLE; i++)
		table[i] = pick(&t, 3) ? i * 4 : (unsigned)slu_test_random(seed);
	/* blocks of one size, and a smaller one for the rest */
	n = 32 * (1 + pick(&t, N_WARPS));
	for (unsigned first = 0; first < N_WARPS * 32; first += n)
		run_part(&b, whole, table, first, any, SLU_MIN(n, N_WARPS * 32 - first));
	for (unsigned i = 0; i < N_PARTS; i++)
		run_part(&b, parts, table, i * 31, any, 31);
	for (unsigned i = 0; i < N_THREADS * N_RESULTS; i++)
		if (whole[i] != parts[i])
			fail_msg("thread %u, word %u: %llx, not %llx\n%s", i / N_RESULTS,
				 i % N_RESULTS, (unsigned long long)whole[i],
				 (unsigned long long)parts[i], t.bytes);
	dev_testbed_deinit(&b);
}

static void test_random_kernels_of_lines_give_what_rows_give(void **state)
{
	uint64_t seed = slu_test_seed(20261);
	unsigned n = getenv("SLUICE_LONG") ? 20000 : 400;

	(void)state;
	for (unsigned i = 0; i < n; i++) {
		dev_interp_isa_force(i % 4 ? NULL : &dev_interp_isa_base);
		run_one(&seed);
	}
	dev_interp_isa_force(NULL);
}

/* one access a thread at @p + first + tid * step, of the lanes of a whole warp */
static const char access_text[] =
	HEAD ".visible .entry put(.param .u64 p, .param .s32 step, .param .s32 jump)\n"
	     "{\n.reg .b32 %r<9>; .reg .b64 %d<6>; .reg .f32 %f<2>;\n"
	     "ld.param.u64 %d1, [p]; ld.param.s32 %r1, [step]; ld.param.s32 %r2, [jump];\n"
	     "mov.u32 %r3, %tid.x; and.b32 %r4, %r3, 15; shr.u32 %r5, %r3, 4;\n"
	     "mul.wide.s32 %d2, %r4, %r1; mul.wide.s32 %d3, %r5, %r2;\n"
	     "add.s64 %d4, %d1, %d2; add.s64 %d5, %d4, %d3;\n"
	     "mov.f32 %f1, 0f3F800000; st.global.f32 [%d5], %f1;\nret;\n}\n";

static const struct {
	const char *what;
	int64_t first; /* from the page's beginning */
	int step, jump;
	int fault_lane; /* -1: none */
	enum dev_interp_fault_kind kind;
	uint32_t touched; /* a bit a page, from the first one */
} accesses[] = {
	{ "one page", 0, 4, 64, -1, DEV_INTERP_FAULT_NONE, 1 },
	{ "over the end of a page", 4096 - 64, 4, 64, -1, DEV_INTERP_FAULT_NONE, 3 },
	{ "two halves far from each other", 0, 4, 8192, -1, DEV_INTERP_FAULT_NONE, 5 },
	{ "two places", 4, 0, 12288, -1, DEV_INTERP_FAULT_NONE, 9 },
	{ "one place", 8192, 0, 0, -1, DEV_INTERP_FAULT_NONE, 4 },
	{ "backwards", 128, -4, -64, -1, DEV_INTERP_FAULT_NONE, 1 },
	{ "every page", 0, 128, 4096, -1, DEV_INTERP_FAULT_NONE, 3 },
	{ "over the end of everything", 4 * 4096 - 80, 4, 64, 20, DEV_INTERP_FAULT_ADDRESS, 8 },
	{ "the second half outside", 0, 4, 4 * 4096, 16, DEV_INTERP_FAULT_ADDRESS, 1 },
	{ "in front of everything", 32, -4, 64, 9, DEV_INTERP_FAULT_ADDRESS, 1 },
	{ "misaligned", 2, 4, 64, 0, DEV_INTERP_FAULT_MISALIGNED, 0 },
	{ "the second half misaligned", 0, 4, 66, 16, DEV_INTERP_FAULT_MISALIGNED, 0 },
};

static void test_accesses_by_lines_touch_and_fault_as_their_lanes_do(void **state)
{
	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(accesses); i++) {
		struct dev_testbed b;
		uint8_t *touched, *p;
		uint32_t pages = 0;
		bool is_fault = accesses[i].kind != DEV_INTERP_FAULT_NONE;
		int r;

		printf("# %s\n", accesses[i].what);
		dev_testbed_init(&b);
		touched = calloc(DEV_TESTBED_BYTES >> DEV_TESTBED_SHIFT, 1);
		assert_non_null(touched);
		b.memory.touched = touched;
		assert_int_equal(dev_testbed_load(&b, access_text), 0);
		p = dev_testbed_alloc(&b, 4 * 4096);
		/* twice: the second time everything is known */
		for (unsigned round = 0; round < 2; round++) {
			dev_testbed_param_ptr(&b, p + accesses[i].first);
			dev_testbed_param_u32(&b, (uint32_t)accesses[i].step);
			dev_testbed_param_u32(&b, (uint32_t)accesses[i].jump);
			r = dev_testbed_run(&b, "put", 1, 32);
			assert_int_equal(r, is_fault ? DEV_INTERP_E_FAULT : 0);
		}
		if (is_fault) {
			int lane = accesses[i].fault_lane;
			uint64_t at = (uint64_t)(uintptr_t)p + (uint64_t)accesses[i].first +
				      (uint64_t)(lane % 16 * (int64_t)accesses[i].step +
						 lane / 16 * (int64_t)accesses[i].jump);

			assert_int_equal(b.fault.kind, accesses[i].kind);
			assert_int_equal(b.fault.thread[0], lane);
			assert_int_equal(b.fault.address, at);
			assert_true(b.fault.is_write);
		}
		for (unsigned k = 0; k < 4; k++)
			if (touched[((uint64_t)(p - b.window) >> DEV_TESTBED_SHIFT) + k])
				pages |= 1u << k;
		if (!is_fault)
			assert_int_equal(pages, accesses[i].touched);
		free(touched);
		dev_testbed_deinit(&b);
	}
}

/* What the first thread in order that goes wrong does; or which pages all of them touch. */
static enum dev_interp_fault_kind foresee(size_t row, unsigned n_threads, unsigned *ret_thread,
					  uint32_t *ret_pages)
{
	*ret_pages = 0;
	for (unsigned i = 0; i < n_threads; i++) {
		int64_t at = accesses[row].first + i % 16 * (int64_t)accesses[row].step +
			     i / 16 * (int64_t)accesses[row].jump;

		*ret_thread = i;
		if (at & 3)
			return DEV_INTERP_FAULT_MISALIGNED;
		if (at < 0 || at >= 4 * 4096)
			return DEV_INTERP_FAULT_ADDRESS;
		*ret_pages |= 1u << (at / 4096);
	}
	return DEV_INTERP_FAULT_NONE;
}

static void test_teams_touch_and_fault_as_their_warps_do(void **state)
{
	static const unsigned sizes[] = { 32, 64, 96, 128, 160, 256 };

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(accesses) * SLU_ARRAY_SIZE(sizes); i++) {
		size_t row = i / SLU_ARRAY_SIZE(sizes);
		unsigned n = sizes[i % SLU_ARRAY_SIZE(sizes)], thread;
		enum dev_interp_fault_kind kind;
		struct dev_testbed b;
		uint8_t *touched, *p;
		uint32_t want, pages = 0;
		float sum = 0;

		kind = foresee(row, n, &thread, &want);
		dev_testbed_init(&b);
		touched = calloc(DEV_TESTBED_BYTES >> DEV_TESTBED_SHIFT, 1);
		assert_non_null(touched);
		b.memory.touched = touched;
		assert_int_equal(dev_testbed_load(&b, access_text), 0);
		p = dev_testbed_alloc(&b, 4 * 4096);
		for (unsigned round = 0; round < 2; round++) {
			dev_testbed_param_ptr(&b, p + accesses[row].first);
			dev_testbed_param_u32(&b, (uint32_t)accesses[row].step);
			dev_testbed_param_u32(&b, (uint32_t)accesses[row].jump);
			assert_int_equal(dev_testbed_run(&b, "put", 1, n),
					 kind ? DEV_INTERP_E_FAULT : 0);
		}
		if (kind) {
			assert_int_equal(b.fault.kind, kind);
			assert_int_equal(b.fault.thread[0], thread);
		} else {
			uint64_t first = (uint64_t)(p - b.window) >> DEV_TESTBED_SHIFT;

			for (unsigned k = 0; k < 4; k++)
				pages |= touched[first + k] ? 1u << k : 0;
			assert_int_equal(pages, want);
			for (unsigned k = 0; k < 4096; k++)
				sum += ((const float *)(const void *)p)[k];
			/* every thread wrote a one, some of them to the same place */
			assert_true(sum >= 1 && sum <= (float)n);
			if (accesses[row].step && accesses[row].jump)
				assert_true(sum == (float)n);
		}
		free(touched);
		dev_testbed_deinit(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_kernels_of_lines_give_what_rows_give),
		cmocka_unit_test(test_accesses_by_lines_touch_and_fault_as_their_lanes_do),
		cmocka_unit_test(test_teams_touch_and_fault_as_their_warps_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
