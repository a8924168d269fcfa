/* SPDX-License-Identifier: Apache-2.0 */
/* Sums with a carry: the carry (or borrow) of each lane is a predicate of the frame. */
#include "softgpu/interp/isa.h"

/* what is added to or subtracted from: of mad, a half of the product */
static uint64_t minuend_of(const struct slu_ptx_form *form, uint64_t a, uint64_t b)
{
	bool is_signed = slu_ptx_type_is_signed((enum slu_ptx_type)form->types[0]);

	if (slu_ptx_type_size((enum slu_ptx_type)form->types[0]) == 4) {
		uint64_t product = is_signed ? (uint64_t)((int64_t)(int32_t)a * (int32_t)b) : a * b;

		return (uint32_t)(slu_ptx_form_has(form, SLU_PTX_MOD_hi) ? product >> 32 : product);
	}
	if (!slu_ptx_form_has(form, SLU_PTX_MOD_hi))
		return a * b;
	if (is_signed)
		return (uint64_t)(((__int128)(int64_t)a * (int64_t)b) >> 64);
	return (uint64_t)(((unsigned __int128)a * b) >> 64);
}

static const struct dev_interp_insn *carry_run(struct dev_interp_warp *w,
					       const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	enum slu_ptx_opcode op = form->opcode;
	bool takes = op == SLU_PTX_OP_addc || op == SLU_PTX_OP_subc || op == SLU_PTX_OP_madc;
	bool is_sub = op == SLU_PTX_OP_sub || op == SLU_PTX_OP_subc;
	bool is_mad = op == SLU_PTX_OP_mad || op == SLU_PTX_OP_madc;
	bool is_wide = slu_ptx_type_size((enum slu_ptx_type)form->types[0]) == 8;
	const struct dev_interp_code *code = w->frame->code;
	uint32_t *flag = &w->preds[code->n_preds - 2 * code->n_strips];
	uint32_t out = 0;

	MASKED_LANES(w->mask)
	{
		uint64_t x[3], carry = takes ? *flag >> i & 1 : 0;
		const uint32_t rows[3] = { in->a, in->b, in->c };
		unsigned __int128 r;

		for (unsigned k = 0; k < 3; k++)
			x[k] = is_wide ? ((const uint64_t *)ROW(w, rows[k]))[i]
				       : ((const uint32_t *)ROW(w, rows[k]))[i];
		if (is_mad) {
			x[0] = minuend_of(form, x[0], x[1]);
			x[1] = x[2];
		}
		r = is_sub ? (unsigned __int128)x[0] - x[1] - carry
			   : (unsigned __int128)x[0] + x[1] + carry;
		if (r >> (is_wide ? 64 : 32) & 1)
			out |= UINT32_C(1) << i;
		if (is_wide)
			((uint64_t *)ROW(w, in->d))[i] = (uint64_t)r;
		else
			((uint32_t *)ROW(w, in->d))[i] = (uint32_t)r;
	}
	if (slu_ptx_form_has(form, SLU_PTX_MOD_cc))
		*flag = (*flag & ~w->mask) | out;
	return in + 1;
}

const struct dev_interp_handler *DEV_ISA(carry_bind)(const struct slu_ptx_form *form)
{
	static const struct dev_interp_handler carry = { carry_run, carry_run };

	(void)form;
	return &carry;
}
