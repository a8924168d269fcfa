/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that decide where a group goes on: guards and branches; calls are in flow-call.c. */
#include <string.h>

#include <immintrin.h>

#include "base/util.h"
#include "softgpu/interp/line.h"

static const struct dev_interp_insn *guarded_some(struct dev_interp_warp *w,
						  const struct dev_interp_insn *in)
{
	uint32_t mask = w->mask;
	uint32_t taken = mask & (w->preds[in->guard] ^ in->guard_flip);
	const struct dev_interp_insn *next;

	if (!taken)
		return in + 1;
	w->mask = taken;
	next = in->inner.some(w, in);
	w->mask = mask;
	return next;
}

/*
 * Which lanes a predicate is true for, if all warps of a team agree. Return: false if they do not.
 */
static inline bool team_agrees(const struct dev_interp_warp *w, uint32_t pred, uint32_t *ret_lanes)
{
	uint32_t lanes = w->preds[pred];

	for (unsigned k = 1; k < w->team; k++)
		if (w->preds[pred + k] != lanes)
			return false;
	*ret_lanes = lanes;
	return w->team == 1 || !lanes || lanes == DEV_INTERP_ALL;
}

static const struct dev_interp_insn *run_inner(struct dev_interp_warp *w,
					       const struct dev_interp_insn *in)
{
	if (w->team > 1 && !in->inner.knows_teams)
		return dev_interp_team_each(w, in, in->inner.some);
	return in->inner.all(w, in);
}

static const struct dev_interp_insn *guarded_all(struct dev_interp_warp *w,
						 const struct dev_interp_insn *in)
{
	uint32_t lanes;

	if (!team_agrees(w, in->guard, &lanes))
		return dev_interp_team_part(w, in);
	if ((lanes ^ in->guard_flip) == DEV_INTERP_ALL)
		return run_inner(w, in);
	return w->team > 1 ? in + 1 : guarded_some(w, in);
}

const struct dev_interp_handler dev_interp_flow_guarded = { guarded_all, guarded_some, true };

/* The same for what knows lines: a part of the lanes writes rows, and what it reads are rows. */
static const struct dev_interp_insn *guarded_lines_all(struct dev_interp_warp *w,
						       const struct dev_interp_insn *in)
{
	const uint32_t rows[] = { in->a, in->b, in->c, in->e, in->d };
	uint32_t taken;

	if (!team_agrees(w, in->guard, &taken))
		return dev_interp_team_part(w, in);
	taken ^= in->guard_flip;
	if (taken == DEV_INTERP_ALL)
		return in->inner.all(w, in);
	if (!taken)
		return in + 1;
	for (unsigned i = 0; i < SLU_ARRAY_SIZE(rows); i++)
		dev_interp_line_need(w, rows[i]);
	for (unsigned i = 0; i < SLU_ARRAY_SIZE(in->x); i++)
		dev_interp_line_need(w, in->x[i]);
	if (in->has_line_result) {
		dev_interp_line(w->lines, in->d)->kind = 0;
		for (unsigned i = 0; i < SLU_ARRAY_SIZE(in->x); i++)
			dev_interp_line(w->lines, in->x[i])->kind = 0;
	}
	return guarded_some(w, in);
}

const struct dev_interp_handler dev_interp_flow_guarded_lines = { guarded_lines_all, guarded_some,
								  true };

/* Everybody goes to @to, which may be behind: then the group's time is counted. */
static const struct dev_interp_insn *flow_go(struct dev_interp_warp *w,
					     const struct dev_interp_insn *in,
					     const struct dev_interp_insn *to)
{
	if (to <= in && !--w->budget) {
		dev_interp_warp_park(w, to);
		w->event = DEV_INTERP_EVENT_YIELD;
		return NULL;
	}
	return to;
}

static const struct dev_interp_insn *branch_always(struct dev_interp_warp *w,
						   const struct dev_interp_insn *in)
{
	return flow_go(w, in, in->target);
}

const struct dev_interp_handler dev_interp_flow_branch_always = { branch_always, branch_always,
								  true };

static const struct dev_interp_insn *flow_branch(struct dev_interp_warp *w,
						 const struct dev_interp_insn *in)
{
	uint32_t mask = w->mask, taken;

	if (!team_agrees(w, in->guard, &taken))
		return dev_interp_team_part(w, in);
	taken = mask & (taken ^ in->guard_flip);
	if (!taken)
		return in + 1;
	if (taken == mask)
		return flow_go(w, in, in->target);
	w->mask = mask & ~taken;
	dev_interp_warp_park(w, in + 1);
	w->mask = taken;
	dev_interp_warp_park(w, in->target);
	w->event = DEV_INTERP_EVENT_RESCHEDULE;
	/* a loop that loses some of its lanes spends time like any other */
	if (in->target <= in && !--w->budget)
		w->event = DEV_INTERP_EVENT_YIELD;
	return NULL;
}

const struct dev_interp_handler dev_interp_flow_branch = { flow_branch, flow_branch, true };

static const struct dev_interp_insn *set_csr(struct dev_interp_warp *w,
					     const struct dev_interp_insn *in)
{
	_mm_setcsr((unsigned)in->imm);
	*w->block->csr = (uint32_t)in->imm;
	return in + 1;
}

const struct dev_interp_handler dev_interp_flow_set_csr = { set_csr, set_csr, true };

static const struct dev_interp_insn *flow_trap(struct dev_interp_warp *w,
					       const struct dev_interp_insn *in)
{
	return dev_interp_fault(w, in, DEV_INTERP_FAULT_TRAP, (unsigned)__builtin_ctz(w->mask), 0,
				0, false);
}

#define ALL_4 DEV_INTERP_ALL, DEV_INTERP_ALL, DEV_INTERP_ALL, DEV_INTERP_ALL
const uint32_t dev_interp_flow_whole_warp[DEV_INTERP_LANES] = { ALL_4, ALL_4, ALL_4, ALL_4,
								ALL_4, ALL_4, ALL_4, ALL_4 };

/* Lanes of @from that name the same lanes as the first one, and these. */
static uint32_t flow_alike(const struct dev_interp_warp *w, const uint32_t *members, uint32_t from,
			   uint32_t *ret_members)
{
	uint32_t lanes = 0;

	*ret_members = members[__builtin_ctz(from)] & w->live;
	for (uint32_t m = from; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		if ((members[i] & w->live) == *ret_members)
			lanes |= UINT32_C(1) << i;
	}
	return lanes;
}

bool dev_interp_flow_gather(struct dev_interp_warp *w, const struct dev_interp_insn *in,
			    const uint32_t *members)
{
	uint32_t mask = w->mask, ready = 0, lanes, who;

	if (mask == DEV_INTERP_ALL || w->is_released) {
		w->is_released = false;
		return true;
	}
	for (uint32_t left = mask; left; left &= ~lanes) {
		struct dev_interp_group *g;

		lanes = flow_alike(w, members, left, &who);
		if (!(who & ~mask)) {
			ready |= lanes;
			continue;
		}
		w->mask = lanes;
		g = dev_interp_warp_park(w, in);
		g->state = DEV_INTERP_GROUP_SYNC;
		g->members = who;
	}
	w->mask = ready;
	if (!ready)
		w->event = DEV_INTERP_EVENT_RESCHEDULE;
	return ready;
}

static const struct dev_interp_insn *flow_warp_sync(struct dev_interp_warp *w,
						    const struct dev_interp_insn *in)
{
	if (!dev_interp_flow_gather(w, in, (const uint32_t *)(w->rows + in->a)))
		return NULL;
	return in + 1;
}

static const struct dev_interp_insn *flow_fence(struct dev_interp_warp *w,
						const struct dev_interp_insn *in)
{
	(void)w;
	__sync_synchronize();
	return in + 1;
}

static const struct dev_interp_insn *flow_nothing(struct dev_interp_warp *w,
						  const struct dev_interp_insn *in)
{
	(void)w;
	return in + 1;
}

/* Who sleeps lets others run. */
static const struct dev_interp_insn *flow_sleep_a_little(struct dev_interp_warp *w,
							 const struct dev_interp_insn *in)
{
	dev_interp_warp_park(w, in + 1);
	w->event = DEV_INTERP_EVENT_YIELD;
	return NULL;
}

#define FLOW(name, knows_teams)                                                         \
	static const struct dev_interp_handler run_##name = { flow_##name, flow_##name, \
							      knows_teams };
FLOW(trap, false)
FLOW(warp_sync, true)
FLOW(fence, true)
FLOW(nothing, true)
FLOW(sleep_a_little, false)

/* One that is neither defined nor ours is in code that is only looked at, and will not run. */
static const struct dev_interp_handler *bind_call(const struct slu_ptx_function *f)
{
	const struct dev_interp_handler *ours;
	bool is_known;

	ours = f->is_defined ? NULL : dev_interp_builtin(f, &is_known);
	return ours ? ours : &dev_interp_call;
}

const struct dev_interp_handler *dev_interp_flow_bind(const struct slu_ptx_instr *instr)
{
	switch (instr->form->opcode) {
	case SLU_PTX_OP_exit:
		return &dev_interp_call_end;
	case SLU_PTX_OP_ret:
		return &dev_interp_call_return;
	case SLU_PTX_OP_call:
		if (instr->operands[0].kind == SLU_PTX_OPERAND_REG)
			return &dev_interp_call_indirect;
		return bind_call(instr->operands[0].function);
	case SLU_PTX_OP_trap:
		return &run_trap;
	case SLU_PTX_OP_bar:
	case SLU_PTX_OP_barrier:
		if (slu_ptx_form_has(instr->form, SLU_PTX_MOD_warp))
			return &run_warp_sync;
		return &dev_interp_barrier;
	case SLU_PTX_OP_membar:
	case SLU_PTX_OP_fence:
		return &run_fence;
	case SLU_PTX_OP_nanosleep:
		return &run_sleep_a_little;
	default:
		return &run_nothing;
	}
}
