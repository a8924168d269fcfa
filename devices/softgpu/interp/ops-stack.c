/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local memory that is taken while running. Every lane has its own top; a row of the frame that
 * uses them holds it, above the frame's own variables and below those of whoever it calls.
 */
#include "softgpu/interp/isa.h"

static const struct dev_interp_insn *alloca_run(struct dev_interp_warp *w,
						const struct dev_interp_insn *in)
{
	bool is_wide = slu_ptx_type_size((enum slu_ptx_type)in->source->form->types[0]) == 8;
	uint64_t *top = ROW(w, w->frame->code->top_row);
	uint64_t align = in->source->n_operands == 3 ? (uint64_t)in->imm : 8;

	MASKED_LANES(w->mask)
	{
		uint64_t size = is_wide ? ((const uint64_t *)ROW(w, in->a))[i]
					: ((const uint32_t *)ROW(w, in->a))[i];
		uint64_t at = slu_round_up(top[i], align);

		if (at > w->block->local_bytes || size > w->block->local_bytes - at)
			return dev_interp_fault(w, in, DEV_INTERP_FAULT_STACK, i, at, 0, true);
		top[i] = at + size;
		if (is_wide)
			((uint64_t *)ROW(w, in->d))[i] = at;
		else
			((uint32_t *)ROW(w, in->d))[i] = (uint32_t)at;
	}
	return in + 1;
}

static const struct dev_interp_insn *save_run(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	bool is_wide = slu_ptx_type_size((enum slu_ptx_type)in->source->form->types[0]) == 8;
	const uint64_t *top = ROW(w, w->frame->code->top_row);

	MASKED_LANES(w->mask)
	{
		if (is_wide)
			((uint64_t *)ROW(w, in->d))[i] = top[i];
		else
			((uint32_t *)ROW(w, in->d))[i] = (uint32_t)top[i];
	}
	return in + 1;
}

static const struct dev_interp_insn *restore_run(struct dev_interp_warp *w,
						 const struct dev_interp_insn *in)
{
	bool is_wide = slu_ptx_type_size((enum slu_ptx_type)in->source->form->types[0]) == 8;
	uint64_t *top = ROW(w, w->frame->code->top_row);

	MASKED_LANES(w->mask)
	top[i] = is_wide ? ((const uint64_t *)ROW(w, in->a))[i]
			 : ((const uint32_t *)ROW(w, in->a))[i];
	return in + 1;
}

const struct dev_interp_handler *DEV_ISA(stack_bind)(const struct slu_ptx_form *form)
{
	static const struct dev_interp_handler take = { alloca_run, alloca_run };
	static const struct dev_interp_handler save = { save_run, save_run };
	static const struct dev_interp_handler restore = { restore_run, restore_run };

	switch (form->opcode) {
	case SLU_PTX_OP_alloca:
		return &take;
	case SLU_PTX_OP_stacksave:
		return &save;
	default:
		return &restore;
	}
}
