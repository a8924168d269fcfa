/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes that exchange values although they are not together: a lane that is not there gives 0, and
 * lanes that wait for each other at different places of the code find each other, each with what
 * it has in its own registers.
 */
#include "lib/test.h"

#include "softgpu/interp/testbed.h"

#define HEAD ".version 7.0\n.target sm_80\n.address_size 64\n"
/* %r1 the lane, %r2 what it brings, %r3 what it gets; %d1 is where results go */
#define BEGIN                                                         \
	".visible .entry k(.param .u64 out)\n{\n"                     \
	".reg .pred %p, %q, %u; .reg .b32 %r<12>; .reg .b64 %d<8>;\n" \
	".shared .align 4 .u32 flag;\n"                               \
	"ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x;\n"             \
	"mad.wide.u32 %d1, %r1, 8, %d1; add.u32 %r2, %r1, 100;\n"     \
	"mov.u32 %r3, 7777; mov.u32 %r4, 7777; mov.pred %q, 0;\n"     \
	"setp.lt.u32 %p, %r1, 16; mul.lo.u32 %r5, %r1, 3; mov.u32 %r6, 0;\n"
#define END "DONE: st.global.u32 [%d1], %r3; st.global.u32 [%d1+4], %r4; ret;\n}\n"

struct result {
	uint32_t first, second;
};

static const struct result *run(const char *text, unsigned n_threads)
{
	static struct result results[256];
	struct dev_testbed b;
	void *out;
	int r;

	dev_testbed_init(&b);
	if (dev_testbed_load(&b, text))
		fail_msg("%u: %s\n%s", b.error.line, b.error.text, text);
	out = dev_testbed_alloc(&b, sizeof(results));
	dev_testbed_param_ptr(&b, out);
	r = dev_testbed_run(&b, "k", 1, n_threads);
	if (r == DEV_INTERP_E_REFUSED)
		fail_msg("%u: %s\n%s", b.error.line, b.error.text, text);
	if (r)
		fail_msg("%s at line %u\n%s", dev_interp_fault_name(b.fault.kind), b.fault.line,
			 text);
	memcpy(results, out, sizeof(results));
	dev_testbed_deinit(&b);
	return results;
}

/* Everything that a shuffle can do, from lanes that are not there; the predicate is the range's. */
static const struct {
	const char *what;
	const char *text;
	unsigned n_threads;
	uint32_t here; /* lanes that take part */
	int by;	       /* the lane that is read, from the own one */
} shuffles[] = {
	{ "down, behind a branch",
	  "@!%p bra DONE; shfl.sync.down.b32 %r3|%q, %r2, 3, 31, 0xffff; selp.u32 %r4, 1, 0, %q;\n",
	  32, 0xffff, 3 },
	{ "up, behind a branch",
	  "@%p bra DONE; shfl.sync.up.b32 %r3|%q, %r2, 5, 0, 0xffff0000; selp.u32 %r4, 1, 0, %q;\n",
	  32, 0xffff0000, -5 },
	{ "bfly, under a guard",
	  "@%p shfl.sync.bfly.b32 %r3|%q, %r2, 16, 31, 0xffff;\n"
	  "selp.u32 %r4, 1, 0, %q;\n",
	  32, 0xffff, 16 },
	{ "idx from a lane that ended",
	  "setp.eq.u32 %p, %r1, 9; @%p exit; add.u32 %r7, %r1, 1; and.b32 %r7, %r7, 31;\n"
	  "shfl.sync.idx.b32 %r3|%q, %r2, %r7, 31, -1; selp.u32 %r4, 1, 0, %q;\n",
	  32, ~(1u << 9), 1 },
	{ "down in a warp of 20 threads",
	  "shfl.sync.down.b32 %r3|%q, %r2, 4, 31, -1; selp.u32 %r4, 1, 0, %q;\n", 20, 0xfffff, 4 },
	{ "down in a branch, all lanes named",
	  "@!%p bra DONE; shfl.sync.down.b32 %r3|%q, %r2, 3, 31, -1; selp.u32 %r4, 1, 0, %q;\n"
	  "bra DONE;\n",
	  32, 0xffff, 3 },
	{ "down, without .sync",
	  "@!%p bra DONE; shfl.down.b32 %r3|%q, %r2, 3, 31; selp.u32 %r4, 1, 0, %q;\n", 32, 0xffff,
	  3 },
};

static void test_a_lane_that_is_not_there_gives_0(void **state)
{
	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(shuffles); i++) {
		char text[2048];
		const struct result *got;

		printf("# %s\n", shuffles[i].what);
		snprintf(text, sizeof(text), "%s%s", HEAD BEGIN, shuffles[i].text);
		strcat(text, END);
		got = run(text, shuffles[i].n_threads);
		for (unsigned lane = 0; lane < shuffles[i].n_threads; lane++) {
			int from = (int)lane + shuffles[i].by;
			bool is_in = from >= 0 && from < 32;
			uint32_t want = !is_in			       ? lane + 100
					: shuffles[i].here >> from & 1 ? (uint32_t)from + 100
								       : 0;

			if (!(shuffles[i].here >> lane & 1))
				continue;
			/* the index of the last lane comes round */
			if (!strncmp(shuffles[i].what, "idx", 3) && from == 32) {
				is_in = true;
				want = 100;
			}
			assert_int_equal(got[lane].first, want);
			assert_int_equal(got[lane].second, is_in);
		}
	}
}

/* What lanes 0 to 15 bring in %r2, the others bring in %r5, to an instruction of their own. */
static void test_lanes_meet_at_different_places_of_the_code(void **state)
{
	static const char text[] = HEAD BEGIN
		"setp.eq.u32 %q, %r1, 5; setp.eq.u32 %u, %r1, 20;\n"
		"@!%p bra ELSE;\n"
		"shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1; vote.sync.ballot.b32 %r4, %q, -1;\n"
		"match.any.sync.b32 %r7, %r1, -1; redux.sync.add.u32 %r8, %r2, -1;\n"
		"bar.warp.sync -1; bra JOIN;\n"
		"ELSE: shfl.sync.bfly.b32 %r3, %r5, 16, 31, -1; vote.sync.ballot.b32 %r4, %u, -1;\n"
		"sub.u32 %r9, %r1, 16; match.any.sync.b32 %r7, %r9, -1;\n"
		"redux.sync.add.u32 %r8, %r5, -1; bar.warp.sync -1;\n"
		"JOIN: add.u32 %r4, %r4, %r8; add.u32 %r3, %r3, %r7;\n" END;
	const struct result *got = run(text, 32);
	uint32_t sum = 0;

	(void)state;
	for (uint32_t i = 0; i < 32; i++)
		sum += i < 16 ? i + 100 : i * 3;
	for (uint32_t i = 0; i < 32; i++) {
		uint32_t other = i ^ 16;

		assert_int_equal(got[i].first, (other < 16 ? other + 100 : other * 3) +
						       (UINT32_C(0x10001) << i % 16));
		assert_int_equal(got[i].second, (1u << 5 | 1u << 20) + sum);
	}
}

/* A function that is called from two places has two frames. */
static void test_lanes_meet_in_a_function_called_from_two_places(void **state)
{
	static const char text[] = HEAD
		".func (.reg .u32 sum) total(.reg .u32 mine)\n{\n.reg .b32 %t<3>;\n"
		"mov.u32 %t1, mine;\n"
		"shfl.sync.bfly.b32 %t2, %t1, 16, 31, -1; add.u32 %t1, %t1, %t2;\n"
		"shfl.sync.bfly.b32 %t2, %t1, 8, 31, -1; add.u32 %t1, %t1, %t2;\n"
		"shfl.sync.bfly.b32 %t2, %t1, 4, 31, -1; add.u32 %t1, %t1, %t2;\n"
		"shfl.sync.bfly.b32 %t2, %t1, 2, 31, -1; add.u32 %t1, %t1, %t2;\n"
		"shfl.sync.bfly.b32 %t2, %t1, 1, 31, -1; add.u32 sum, %t1, %t2;\nret;\n}\n" BEGIN
		"@!%p bra ELSE;\ncall (%r3), total, (%r2); bra JOIN;\n"
		"ELSE: call (%r3), total, (%r5);\nJOIN:\n" END;
	const struct result *got = run(text, 64);
	uint32_t sum = 0;

	(void)state;
	for (uint32_t i = 0; i < 32; i++)
		sum += i < 16 ? i + 100 : i * 3;
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(got[i].first, sum);
}

/* Lanes that are together, in tiles of 8 with a mask each, and half of them elsewhere. */
static void test_each_lane_goes_by_the_mask_that_it_names(void **state)
{
	static const char text[] = HEAD BEGIN
		"shr.u32 %r7, %r1, 3; mul.lo.u32 %r7, %r7, 8; mov.u32 %r8, 255;\n"
		"shl.b32 %r8, %r8, %r7; and.b32 %r9, %r1, 3; setp.eq.u32 %q, %r9, 1;\n"
		"vote.sync.ballot.b32 %r3, %q, %r8; redux.sync.add.u32 %r4, %r1, %r8;\n"
		"vote.sync.all.pred %u, %p, %r8; selp.u32 %r10, 1000, 0, %u; add.u32 %r4, %r4, "
		"%r10;\n" END;
	const struct result *got = run(text, 32);

	(void)state;
	for (uint32_t i = 0; i < 32; i++) {
		uint32_t tile = i / 8;

		assert_int_equal(got[i].first, UINT32_C(0x22) << tile * 8);
		assert_int_equal(got[i].second, tile * 64 + 28 + (tile < 2 ? 1000 : 0));
	}
}

/*
 * Lanes 0 and 1 are together; 0 wants nobody else, 1 wants 2, which comes when 0 has been there.
 */
static void test_a_lane_does_not_wait_for_those_of_its_neighbour(void **state)
{
	static const char text[] = HEAD BEGIN
		"setp.eq.u32 %q, %r1, 0; @%q st.shared.u32 [flag], 0; bar.warp.sync -1;\n"
		"setp.gt.u32 %q, %r1, 2; @%q bra DONE; setp.eq.u32 %q, %r1, 2; @%q bra LAST;\n"
		"setp.eq.u32 %q, %r1, 0; selp.u32 %r8, 1, 6, %q;\n"
		"shfl.sync.bfly.b32 %r3, %r2, 3, 31, %r8;\n"
		"@%q st.volatile.shared.u32 [flag], 1;\n"
		"bra DONE;\n"
		"LAST: ld.volatile.shared.u32 %r9, [flag]; setp.eq.u32 %q, %r9, 0; @%q bra LAST;\n"
		"shfl.sync.bfly.b32 %r3, %r5, 3, 31, 6;\n" END;
	const struct result *got = run(text, 32);

	(void)state;
	assert_int_equal(got[0].first, 0);
	assert_int_equal(got[1].first, 6);
	assert_int_equal(got[2].first, 101);
}

/* Who waits for lanes that have ended goes on, also while somebody else spins until it does. */
static void test_lanes_that_end_are_not_waited_for(void **state)
{
	static const char text[] = HEAD BEGIN
		"setp.eq.u32 %q, %r1, 0; @%q st.shared.u32 [flag], 0; bar.warp.sync -1;\n"
		"setp.lt.u32 %q, %r1, 8; @%q bra WAIT; setp.lt.u32 %q, %r1, 16; @%q bra END;\n"
		"SPIN: ld.volatile.shared.u32 %r9, [flag]; setp.eq.u32 %q, %r9, 0; @%q bra SPIN;\n"
		"mov.u32 %r3, 5; bra DONE;\n"
		"WAIT: shfl.sync.down.b32 %r3, %r2, 1, 31, 0xffff; st.volatile.shared.u32 [flag], "
		"1;\n"
		"bra DONE;\n"
		"END: mul.lo.u32 %r9, %r1, %r1; mul.lo.u32 %r9, %r9, %r9; exit;\n" END;
	const struct result *got = run(text, 32);

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(got[i].first, i < 7 ? i + 101 : 0);
	assert_int_equal(got[20].first, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_lane_that_is_not_there_gives_0),
		cmocka_unit_test(test_lanes_meet_at_different_places_of_the_code),
		cmocka_unit_test(test_lanes_meet_in_a_function_called_from_two_places),
		cmocka_unit_test(test_each_lane_goes_by_the_mask_that_it_names),
		cmocka_unit_test(test_a_lane_does_not_wait_for_those_of_its_neighbour),
		cmocka_unit_test(test_lanes_that_end_are_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
