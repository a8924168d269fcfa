/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, returns from them, and the end of lanes. */
#include <string.h>

#include "base/util.h"
#include "softgpu/interp/code.h"

/* Lanes of the group are gone for good. */
static void end_lanes(struct dev_interp_warp *w)
{
	for (unsigned k = 0; k < w->team; k++)
		w[k].live &= ~w->mask;
	w->block->n_live -= w->team * (unsigned)__builtin_popcount(w->mask);
	w->team = 1;
	w->event = DEV_INTERP_EVENT_RESCHEDULE;
	dev_interp_barrier_check(w->block);
}

/* Lets go of the frames of lanes that end inside a call. */
static void leave_frames(struct dev_interp_warp *w, struct dev_interp_frame *f)
{
	while (f->parent) {
		struct dev_interp_frame *parent = f->parent;

		f->lanes &= ~w->mask;
		if (!f->lanes)
			dev_interp_frame_put(w, f);
		f = parent;
	}
}

static const struct dev_interp_insn *call_end(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	(void)in;
	leave_frames(w, w->frame);
	end_lanes(w);
	return NULL;
}

/* Moves one parameter of every lane between two buffers of lanes. */
static void move_param(uint32_t mask, uint8_t *to, uint64_t to_stride, uint64_t to_offset,
		       const uint8_t *from, uint64_t from_stride, uint64_t from_offset,
		       uint64_t size)
{
	for (; mask; mask &= mask - 1) {
		unsigned i = (unsigned)__builtin_ctz(mask);

		memcpy(to + i * to_stride + to_offset, from + i * from_stride + from_offset, size);
	}
}

uint8_t *dev_interp_call_buffer(const struct dev_interp_frame *f, const struct slu_ptx_variable *v,
				uint64_t *ret_stride)
{
	const struct slu_ptx_function *fn = f->code->function;

	switch (v->role) {
	case SLU_PTX_ROLE_PARAM:
		*ret_stride = fn->param_bytes;
		return f->params;
	case SLU_PTX_ROLE_RESULT:
		*ret_stride = fn->result_bytes;
		return f->results;
	default:
		*ret_stride = fn->call_bytes;
		return f->calls;
	}
}

static const struct dev_interp_insn *call_ret(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	struct dev_interp_frame *f = w->frame, *parent = f->parent;
	const struct slu_ptx_function *fn = f->code->function;
	const struct slu_ptx_call *call;

	if (!parent)
		return call_end(w, in);
	call = f->call->source->call;
	for (unsigned i = 0; i < fn->n_results; i++) {
		uint64_t stride;
		uint8_t *to = dev_interp_call_buffer(parent, call->results[i], &stride);

		move_param(w->mask, to, stride, call->results[i]->offset, f->results,
			   fn->result_bytes, fn->results[i]->offset, fn->results[i]->size);
	}
	f->lanes &= ~w->mask;
	w->frame = parent;
	dev_interp_warp_park(w, f->call + 1);
	if (!f->lanes)
		dev_interp_frame_put(w, f);
	w->event = DEV_INTERP_EVENT_RESCHEDULE;
	return NULL;
}

const struct dev_interp_handler dev_interp_call_end = { call_end, call_end, true };
const struct dev_interp_handler dev_interp_call_return = { call_ret, call_ret, true };

static const struct dev_interp_insn *call_enter(struct dev_interp_warp *w,
						const struct dev_interp_insn *in,
						struct dev_interp_code *code)
{
	const struct slu_ptx_function *fn = code->function;
	const struct slu_ptx_call *call = in->source->call;
	struct dev_interp_frame *parent = w->frame, *f;
	uint64_t local_base = parent->local_base + parent->code->function->local_bytes;
	unsigned lane = (unsigned)__builtin_ctz(w->mask);

	/* above what any lane took while it ran */
	for (unsigned i = 0; parent->code->top_row && i < DEV_INTERP_LANES; i++)
		local_base = SLU_MAX(local_base,
				     ((const uint64_t *)(w->rows + parent->code->top_row))[i]);
	local_base = slu_round_up(local_base, 16);
	if (parent->depth + 1 >= DEV_INTERP_MAX_DEPTH ||
	    local_base + fn->local_bytes > w->block->local_bytes)
		return dev_interp_fault(w, in, DEV_INTERP_FAULT_STACK, lane, 0, 0, false);
	f = dev_interp_frame_get(w, code);
	if (!f)
		return dev_interp_fault(w, in, DEV_INTERP_FAULT_NO_MEMORY, lane, 0, 0, false);
	f->parent = parent;
	f->call = in;
	f->lanes = w->mask;
	f->depth = parent->depth + 1;
	f->local_base = local_base;
	dev_interp_frame_fill(w, f);
	for (unsigned i = 0; i < fn->n_params; i++) {
		uint64_t stride;
		const uint8_t *from = dev_interp_call_buffer(parent, call->params[i], &stride);

		move_param(w->mask, f->params, fn->param_bytes, fn->params[i]->offset, from, stride,
			   call->params[i]->offset, fn->params[i]->size);
	}
	w->frame = f;
	dev_interp_warp_park(w, code->insns);
	w->event = DEV_INTERP_EVENT_RESCHEDULE;
	return NULL;
}

static const struct dev_interp_insn *call_run(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	return call_enter(
		w, in,
		dev_interp_module_code(w->block->launch->module, in->source->operands[0].function));
}

static bool call_fits(const struct slu_ptx_function *fn, const struct slu_ptx_call *c)
{
	if (fn->n_params != c->n_params || fn->n_results != c->n_results)
		return false;
	for (unsigned i = 0; i < fn->n_params; i++)
		if (fn->params[i]->size != c->params[i]->size)
			return false;
	for (unsigned i = 0; i < fn->n_results; i++)
		if (fn->results[i]->size != c->results[i]->size)
			return false;
	return true;
}

/* Lanes with the same target go together, the others try again afterwards. */
static const struct dev_interp_insn *call_indirect(struct dev_interp_warp *w,
						   const struct dev_interp_insn *in)
{
	const uint64_t *targets = (const uint64_t *)(w->rows + in->a);
	unsigned first = (unsigned)__builtin_ctz(w->mask);
	const struct dev_interp_module *m = w->block->launch->module;
	const struct slu_ptx_function *fn = dev_interp_module_function(m, targets[first]);
	struct dev_interp_code *code = fn ? dev_interp_module_code(m, fn) : NULL;
	uint32_t together = 0, mask = w->mask;

	if (!code || !call_fits(fn, in->source->call))
		return dev_interp_fault(w, in, DEV_INTERP_FAULT_PC, first, targets[first], 0,
					false);
	for (unsigned i = 0; i < DEV_INTERP_LANES; i++)
		if (mask >> i & 1 && targets[i] == targets[first])
			together |= UINT32_C(1) << i;
	if (together != mask) {
		w->mask = mask & ~together;
		dev_interp_warp_park(w, in);
		w->mask = together;
	}
	return call_enter(w, in, code);
}

const struct dev_interp_handler dev_interp_call = { call_run, call_run };
const struct dev_interp_handler dev_interp_call_indirect = { call_indirect, call_indirect };
