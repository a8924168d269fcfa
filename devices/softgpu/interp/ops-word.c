/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that are looked at part by part: the n-th bit that is set, three words bit by bit with a
 * question about the result, numbers packed into one word, and words that say what caches shall do.
 */
#include "softgpu/interp/isa.h"
#include "softgpu/interp/range.h"

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)
#define POLICY UINT64_C(0x12f0000000000000)

/* from @base on, upwards or downwards; without a count, that bit alone */
static uint32_t find_nth(uint32_t mask, uint32_t base, int32_t n)
{
	int32_t step = n < 0 ? -1 : 1;
	int64_t left = n < 0 ? -(int64_t)n : n;

	if (!n)
		return mask >> (base & 31) & 1 ? base & 31 : UINT32_MAX;
	for (int32_t at = (int32_t)(base & 31); at >= 0 && at < 32; at += step)
		if (mask >> at & 1 && !--left)
			return (uint32_t)at;
	return UINT32_MAX;
}

static const struct dev_interp_insn *fns_run(struct dev_interp_warp *w,
					     const struct dev_interp_insn *in)
{
	const uint32_t *a = ROW(w, in->a), *b = ROW(w, in->b), *c = ROW(w, in->c);
	uint32_t *d = ROW(w, in->d);

	MASKED_LANES(w->mask) d[i] = find_nth(a[i], b[i], (int32_t)c[i]);
	return in + 1;
}

static const struct dev_interp_insn *lop3_run(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	const uint32_t *a = ROW(w, in->a), *b = ROW(w, in->b), *c = ROW(w, in->c);
	bool is_and = slu_ptx_form_has(in->source->form, SLU_PTX_MOD_and);
	uint32_t q = w->preds[in->s] ^ in->s_flip, bits = 0;
	uint32_t *d = ROW(w, in->d);

	MASKED_LANES(w->mask)
	{
		uint32_t r = 0;

		for (unsigned k = 0; k < 8; k++)
			if (in->imm >> k & 1)
				r |= (k & 4 ? a[i] : ~a[i]) & (k & 2 ? b[i] : ~b[i]) &
				     (k & 1 ? c[i] : ~c[i]);
		d[i] = r;
		bits |= (uint32_t)(r != 0) << i;
	}
	bits = (is_and ? bits & q : bits | q) & w->mask;
	w->preds[in->p] = (w->preds[in->p] & ~w->mask) | bits;
	return in + 1;
}

/* a above b; of parts smaller than 16 bits, c above both */
static const struct dev_interp_insn *pack_run(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	const uint32_t *a = ROW(w, in->a), *b = ROW(w, in->b), *c = ROW(w, in->c);
	bool is_16 = slu_ptx_type_size((enum slu_ptx_type)form->types[0]) == 2;
	unsigned bits = HAS(u4) || HAS(s4) ? 4
			: HAS(u2) || HAS(s2)
				? 2
				: slu_ptx_type_size((enum slu_ptx_type)form->types[0]) * 8;
	bool is_signed = HAS(s4) || HAS(s2) ||
			 (bits >= 8 && slu_ptx_type_is_signed((enum slu_ptx_type)form->types[0]));
	struct dev_range r = dev_range_of(bits, is_signed);
	uint32_t most = (UINT32_C(1) << bits) - 1;
	uint32_t *d = ROW(w, in->d);

	MASKED_LANES(w->mask)
	{
		uint32_t high = (uint32_t)dev_range_clamp((int32_t)a[i], r) & most;
		uint32_t low = (uint32_t)dev_range_clamp((int32_t)b[i], r) & most;

		d[i] = high << bits | low | (is_16 ? 0 : c[i] << 2 * bits);
	}
	return in + 1;
}

/* Nothing is kept or thrown out of a cache here, so that any policy will do. */
static const struct dev_interp_insn *policy_run(struct dev_interp_warp *w,
						const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	const uint64_t *a = ROW(w, in->a);
	uint64_t *d = ROW(w, in->d);

	MASKED_LANES(w->mask) d[i] = HAS(cvt) ? a[i] : POLICY;
	return in + 1;
}

const struct dev_interp_handler *DEV_ISA(word_bind)(const struct slu_ptx_form *form)
{
	static const struct dev_interp_handler fns = { fns_run, fns_run };
	static const struct dev_interp_handler lop3 = { lop3_run, lop3_run };
	static const struct dev_interp_handler policy = { policy_run, policy_run };
	static const struct dev_interp_handler pack = { pack_run, pack_run };

	switch (form->opcode) {
	case SLU_PTX_OP_fns:
		return &fns;
	case SLU_PTX_OP_lop3:
		return &lop3;
	case SLU_PTX_OP_createpolicy:
		return &policy;
	default:
		return &pack;
	}
}
