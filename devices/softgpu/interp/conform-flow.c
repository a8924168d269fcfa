/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms that decide where a thread goes on or when, and those that have no effect to see: a small
 * program for each, in which its place is marked by an @. Thread t of 96 leaves what it computed
 * in word t of the output; what that must be is a function here.
 */
#include "softgpu/interp/test-conform.h"

#define N_THREADS 96u

struct program {
	enum slu_ptx_opcode opcode;
	/* a modifier that chooses among several programs of an opcode, or NONE */
	enum slu_ptx_modifier modifier;
	const char *body; /* @ is the form; %r1 is the thread, %r0 its result */
	uint32_t (*expected)(unsigned thread);
	enum dev_interp_fault_kind fault;
};

static uint32_t flow_ten(unsigned t)
{
	return t % 3 ? 10 : 20;
}

static uint32_t flow_even(unsigned t)
{
	return t & 1 ? 7 : 5;
}

static uint32_t one_further(unsigned t)
{
	return (t + 37) % N_THREADS;
}

/* threads of the last warp see what the others left, which go on by themselves */
static uint32_t from_others(unsigned t)
{
	return t < 64 ? 1000 : t - 64;
}

static uint32_t flow_fifty(unsigned t)
{
	(void)t;
	return 50;
}

static uint32_t flow_votes(unsigned t)
{
	(void)t;
	return 1;
}

static uint32_t flow_same(unsigned t)
{
	return t;
}

static uint32_t flow_none(unsigned t)
{
	(void)t;
	return 0;
}

static uint32_t flow_jumped(unsigned t)
{
	return 100 + t % 4;
}

static uint32_t flow_called(unsigned t)
{
	return t & 1 ? 3 * t : t;
}

#define WRITE  "st.shared.u32 [%d4], %r1;\n"
#define READ   "ld.shared.u32 %r0, [%d5];\n"
#define VOTE   "setp.lt.u32 %p1, %r1, 50;\n"
#define ANSWER "selp.u32 %r0, 1, 0, %p2;\n"

static const struct program programs[] = {
	{ SLU_PTX_OP_bra, SLU_PTX_MOD_NONE,
	  "rem.u32 %r2, %r1, 3; setp.ne.u32 %p1, %r2, 0; mov.u32 %r0, 20; @%p1 bra ONE; @ TWO;\n"
	  "mov.u32 %r0, 99; ONE: mov.u32 %r0, 10; TWO:\n",
	  flow_ten, 0 },
	{ SLU_PTX_OP_brx, SLU_PTX_MOD_NONE,
	  "and.b32 %r2, %r1, 3; WAYS: .branchtargets A, B, C, D;\n@ %r2, WAYS;\n"
	  "A: mov.u32 %r0, 100; bra END; B: mov.u32 %r0, 101; bra END; C: mov.u32 %r0, 102; bra "
	  "END;\nD: mov.u32 %r0, 103; END:\n",
	  flow_jumped, 0 },
	{ SLU_PTX_OP_call, SLU_PTX_MOD_NONE,
	  "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1; mov.u32 %r0, %r1;\n"
	  "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; @!%p1 bra SKIP; @ (y), triple, "
	  "(x);\nld.param.b32 %r0, [y]; SKIP: }\n",
	  flow_called, 0 },
	{ SLU_PTX_OP_ret, SLU_PTX_MOD_NONE,
	  "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1; mov.u32 %r0, 7; st.global.u32 [%d3], "
	  "%r0;\n"
	  "@%p1 @; mov.u32 %r0, 5;\n",
	  flow_even, 0 },
	{ SLU_PTX_OP_exit, SLU_PTX_MOD_NONE,
	  "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1; mov.u32 %r0, 7; st.global.u32 [%d3], "
	  "%r0;\n"
	  "@%p1 @; mov.u32 %r0, 5;\n",
	  flow_even, 0 },
	{ SLU_PTX_OP_trap, SLU_PTX_MOD_NONE, "setp.eq.u32 %p1, %r1, 33; mov.u32 %r0, 0; @%p1 @;\n",
	  flow_none, DEV_INTERP_FAULT_TRAP },
	{ SLU_PTX_OP_bar, SLU_PTX_MOD_sync,
	  WRITE "@ 1;\n" READ "bar.sync 0;\n" WRITE "@ 2, 96;\n" READ, one_further, 0 },
	{ SLU_PTX_OP_barrier, SLU_PTX_MOD_sync,
	  WRITE "@ 1;\n" READ "bar.sync 0;\n" WRITE "@ 2, 96;\n" READ, one_further, 0 },
	{ SLU_PTX_OP_bar, SLU_PTX_MOD_arrive,
	  WRITE "mov.u32 %r0, 1000; setp.ge.u32 %p1, %r1, 64; @%p1 bra LAST;\n"
		"@ 3, 96; bra END; LAST: bar.sync 3, 96; ld.shared.u32 %r0, [%d4+-256]; END:\n",
	  from_others, 0 },
	{ SLU_PTX_OP_barrier, SLU_PTX_MOD_arrive,
	  WRITE "mov.u32 %r0, 1000; setp.ge.u32 %p1, %r1, 64; @%p1 bra LAST;\n"
		"@ 3, 96; bra END; LAST: bar.sync 3, 96; ld.shared.u32 %r0, [%d4+-256]; END:\n",
	  from_others, 0 },
	{ SLU_PTX_OP_bar, SLU_PTX_MOD_popc,
	  VOTE "@ %r2, 0, %p1; @ %r0, 1, 96, %p1; min.u32 %r0, %r0, %r2;\n", flow_fifty, 0 },
	{ SLU_PTX_OP_barrier, SLU_PTX_MOD_popc,
	  VOTE "@ %r2, 0, %p1; @ %r0, 1, 96, %p1; min.u32 %r0, %r0, %r2;\n", flow_fifty, 0 },
	/* not all of them, but all of those with a number */
	{ SLU_PTX_OP_bar, SLU_PTX_MOD_and,
	  VOTE "@ %p2, 0, %p1; setp.lt.u32 %p3, %r1, 96; @ %p4, 0, 96, %p3; not.pred %p2, %p2;\n"
	       "and.pred %p2, %p2, %p4;\n" ANSWER,
	  flow_votes, 0 },
	{ SLU_PTX_OP_barrier, SLU_PTX_MOD_and,
	  VOTE "@ %p2, 0, %p1; setp.lt.u32 %p3, %r1, 96; @ %p4, 0, 96, %p3; not.pred %p2, %p2;\n"
	       "and.pred %p2, %p2, %p4;\n" ANSWER,
	  flow_votes, 0 },
	{ SLU_PTX_OP_bar, SLU_PTX_MOD_or,
	  VOTE "@ %p2, 0, %p1; setp.ge.u32 %p3, %r1, 96; @ %p4, 0, 96, %p3; not.pred %p4, %p4;\n"
	       "and.pred %p2, %p2, %p4;\n" ANSWER,
	  flow_votes, 0 },
	{ SLU_PTX_OP_barrier, SLU_PTX_MOD_or,
	  VOTE "@ %p2, 0, %p1; setp.ge.u32 %p3, %r1, 96; @ %p4, 0, 96, %p3; not.pred %p4, %p4;\n"
	       "and.pred %p2, %p2, %p4;\n" ANSWER,
	  flow_votes, 0 },
	/* lanes that took two ways and meet: each sees what its neighbour did */
	{ SLU_PTX_OP_bar, SLU_PTX_MOD_warp,
	  "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1; @%p1 bra ODD; add.u32 %r3, %r1, 1; bra "
	  "MEET;\nODD: sub.u32 %r3, %r1, 1; MEET: st.shared.u32 [%d4], %r3; @ -1;\n"
	  "xor.b32 %r4, %r1, 1; mad.wide.u32 %d6, %r4, 4, %d7; ld.shared.u32 %r0, [%d6];\n",
	  flow_same, 0 },
	{ SLU_PTX_OP_cp, SLU_PTX_MOD_wait_group, "mov.u32 %r0, %r1; @ 1;\n", flow_same, 0 },
	{ SLU_PTX_OP_cp, SLU_PTX_MOD_NONE, "mov.u32 %r0, %r1; @;\n", flow_same, 0 },
	{ SLU_PTX_OP_membar, SLU_PTX_MOD_NONE, "mov.u32 %r0, %r1; @; @%p1 @;\n", flow_same, 0 },
	{ SLU_PTX_OP_fence, SLU_PTX_MOD_NONE, "mov.u32 %r0, %r1; @; @%p1 @;\n", flow_same, 0 },
	{ SLU_PTX_OP_prefetch, SLU_PTX_MOD_NONE, "mov.u32 %r0, %r1; @ [%d3]; @%p1 @ [%d3];\n",
	  flow_same, 0 },
	{ SLU_PTX_OP_prefetchu, SLU_PTX_MOD_NONE, "mov.u32 %r0, %r1; @ [%d3];\n", flow_same, 0 },
	{ SLU_PTX_OP_applypriority, SLU_PTX_MOD_NONE,
	  "mov.u32 %r0, %r1; cvta.to.global.u64 %d6, %d3; @ [%d6], 128;\n", flow_same, 0 },
	{ SLU_PTX_OP_discard, SLU_PTX_MOD_NONE,
	  "mov.u32 %r0, %r1; cvta.to.global.u64 %d6, %d3; @ [%d6], 128;\n", flow_same, 0 },
	/* a policy is good for an access; one that is made of a number is that number */
	{ SLU_PTX_OP_createpolicy, SLU_PTX_MOD_range,
	  "@ %d6, [%d3], 4096, %r1; st.global.L2::cache_hint.u32 [%d3], %r1, %d6;\n"
	  "ld.global.L2::cache_hint.u32 %r0, [%d3], %d6;\n",
	  flow_same, 0 },
	{ SLU_PTX_OP_createpolicy, SLU_PTX_MOD_cvt,
	  "cvt.u64.u32 %d6, %r1; @ %d5, %d6; cvt.u32.u64 %r0, %d5;\n", flow_same, 0 },
	{ SLU_PTX_OP_createpolicy, SLU_PTX_MOD_NONE,
	  "@ %d6, 0.5; @ %d6; st.global.L2::cache_hint.u32 [%d3], %r1, %d6;\n"
	  "ld.global.L2::cache_hint.u32 %r0, [%d3], %d6;\n",
	  flow_same, 0 },
	{ SLU_PTX_OP_brkpt, SLU_PTX_MOD_NONE, "mov.u32 %r0, %r1; @;\n", flow_same, 0 },
	{ SLU_PTX_OP_pmevent, SLU_PTX_MOD_NONE, "mov.u32 %r0, %r1; @ 7;\n", flow_same, 0 },
	{ SLU_PTX_OP_nanosleep, SLU_PTX_MOD_NONE,
	  "setp.gt.u32 %p1, %r1, 50; mov.u32 %r0, 1; @%p1 @ 20; @ %r1; mov.u32 %r0, %r1;\n",
	  flow_same, 0 },
};

static const struct program *flow_find(const struct slu_ptx_form *form)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(programs); i++)
		if (programs[i].opcode == form->opcode &&
		    (!programs[i].modifier || slu_ptx_form_has(form, programs[i].modifier)))
			/* bar.warp.sync has a sync too */
			if (slu_ptx_form_has(form, SLU_PTX_MOD_warp) ==
			    (programs[i].modifier == SLU_PTX_MOD_warp))
				return &programs[i];
	return NULL;
}

static bool flow_knows(const struct slu_ptx_form *form)
{
	return form->row->family != SLU_PTX_FAMILY_COPY && flow_find(form) != NULL;
}

static void put_body(struct dev_conform_text *t, const struct program *p, const char *form)
{
	for (const char *c = p->body; *c; c++) {
		/* a guard has its register behind it, a form a blank or the end */
		if (*c == '@' && c[1] != '%' && c[1] != '!')
			dev_conform_put(t, "%s", form);
		else
			dev_conform_put(t, "%c", *c);
	}
}

static void flow_run(const char *text, const struct slu_ptx_form *form)
{
	static struct dev_conform_text t;
	const struct program *p = flow_find(form);
	const uint32_t *out = (const uint32_t *)dev_conform_out;

	t.size = 0;
	dev_conform_put(&t,
			"%s.func (.param .b32 r) triple(.param .b32 a)\n{\n.reg .b32 %%r<3>;\n"
			"ld.param.b32 %%r1, [a]; mul.lo.u32 %%r2, %%r1, 3; st.param.b32 [r], %%r2; "
			"ret;\n}\n"
			".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
			".reg .pred %%p<6>; .reg .b32 %%r<8>; .reg .b64 %%d<8>; .shared .align 4 "
			".b8 tile[384];\n"
			"ld.param.u64 %%d2, [out]; mov.u32 %%r1, %%tid.x; mad.wide.u32 %%d3, %%r1, "
			"4, %%d2;\n"
			"mov.u64 %%d7, tile; mad.wide.u32 %%d4, %%r1, 4, %%d7; add.u32 %%r2, %%r1, "
			"37;\n"
			"rem.u32 %%r2, %%r2, 96; mad.wide.u32 %%d5, %%r2, 4, %%d7; setp.eq.u32 "
			"%%p1, %%r1, 5;\n",
			dev_conform_head(form));
	put_body(&t, p, form->text);
	dev_conform_put(&t, "st.global.u32 [%%d3], %%r0;\nret;\n}\n");
	memset(dev_conform_out, 0, N_THREADS * 4);
	if (p->fault) {
		dev_conform_launch_fault(text, t.text, 1, N_THREADS, p->fault);
		return;
	}
	dev_conform_launch(text, t.text, 1, N_THREADS);
	for (unsigned i = 0; i < N_THREADS; i++)
		if (out[i] != p->expected(i))
			fail_msg("%s, thread %u: %u, not %u\n%s", text, i, out[i], p->expected(i),
				 t.text);
}

const struct dev_conform_case dev_conform_flow = { "flow", flow_knows, flow_run };
