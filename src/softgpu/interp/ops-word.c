/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that are looked at part by part: the n-th bit that is set, three words bit by bit with a
 * question about the result, numbers packed into one word, and arithmetic on two or four small
 * integers at once.
 */
#include "softgpu/interp/isa.h"

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)

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

static const struct slu_interp_insn *fns_run(struct slu_interp_warp *w,
					     const struct slu_interp_insn *in)
{
	const uint32_t *a = ROW(w, in->a), *b = ROW(w, in->b), *c = ROW(w, in->c);
	uint32_t *d = ROW(w, in->d);

	MASKED_LANES(w->mask) d[i] = find_nth(a[i], b[i], (int32_t)c[i]);
	return in + 1;
}

static const struct slu_interp_insn *lop3_run(struct slu_interp_warp *w,
					      const struct slu_interp_insn *in)
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

struct range {
	int64_t min, max;
};

static struct range range_of(unsigned bits, bool is_signed)
{
	return is_signed ? (struct range){ -(INT64_C(1) << (bits - 1)),
					   (INT64_C(1) << (bits - 1)) - 1 }
			 : (struct range){ 0, (INT64_C(1) << bits) - 1 };
}

static int64_t clamp(int64_t x, struct range r)
{
	return x < r.min ? r.min : x > r.max ? r.max : x;
}

/* a above b; of parts smaller than 16 bits, c above both */
static const struct slu_interp_insn *pack_run(struct slu_interp_warp *w,
					      const struct slu_interp_insn *in)
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
	struct range r = range_of(bits, is_signed);
	uint32_t most = (UINT32_C(1) << bits) - 1;
	uint32_t *d = ROW(w, in->d);

	MASKED_LANES(w->mask)
	{
		uint32_t high = (uint32_t)clamp((int32_t)a[i], r) & most;
		uint32_t low = (uint32_t)clamp((int32_t)b[i], r) & most;

		d[i] = high << bits | low | (is_16 ? 0 : c[i] << 2 * bits);
	}
	return in + 1;
}

static int64_t part_of(uint32_t word, unsigned k, unsigned bits, bool is_signed)
{
	uint32_t x = word >> k * bits & ((UINT32_C(1) << bits) - 1);

	return is_signed && x >> (bits - 1) ? (int64_t)x - (INT64_C(1) << bits) : x;
}

static int64_t combine(const struct slu_ptx_form *form, int64_t a, int64_t b)
{
	switch (form->opcode) {
	case SLU_PTX_OP_vadd2:
	case SLU_PTX_OP_vadd4:
		return a + b;
	case SLU_PTX_OP_vsub2:
	case SLU_PTX_OP_vsub4:
		return a - b;
	case SLU_PTX_OP_vavrg2:
	case SLU_PTX_OP_vavrg4:
		/* halves are rounded away from zero */
		return (a + b + (a + b >= 0)) >> 1;
	case SLU_PTX_OP_vabsdiff2:
	case SLU_PTX_OP_vabsdiff4:
		return a > b ? a - b : b - a;
	case SLU_PTX_OP_vmin2:
	case SLU_PTX_OP_vmin4:
		return a < b ? a : b;
	case SLU_PTX_OP_vmax2:
	case SLU_PTX_OP_vmax4:
		return a > b ? a : b;
	default:
		return HAS(eq)	 ? a == b
		       : HAS(ne) ? a != b
		       : HAS(lt) ? a < b
		       : HAS(le) ? a <= b
		       : HAS(gt) ? a > b
				 : a >= b;
	}
}

/* 2 halves or 4 bytes of a with those of b; .add sums the results up into c */
static const struct slu_interp_insn *parts_run(struct slu_interp_warp *w,
					       const struct slu_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	const uint32_t *a = ROW(w, in->a), *b = ROW(w, in->b), *c = ROW(w, in->c);
	bool is_set = form->opcode == SLU_PTX_OP_vset2 || form->opcode == SLU_PTX_OP_vset4;
	unsigned first = is_set ? 0 : 1;
	bool a_is_signed = form->types[first] == SLU_PTX_TYPE_S32;
	bool b_is_signed = form->types[first + 1] == SLU_PTX_TYPE_S32;
	bool is_signed = !is_set && form->types[0] == SLU_PTX_TYPE_S32;
	unsigned n = (unsigned)(form->row->name[strlen(form->row->name) - 1] - '0'), bits = 32 / n;
	struct range r = range_of(bits, is_signed);
	uint32_t *d = ROW(w, in->d);

	MASKED_LANES(w->mask)
	{
		uint32_t word = 0, sum = c[i];

		for (unsigned k = 0; k < n; k++) {
			int64_t x = combine(form, part_of(a[i], k, bits, a_is_signed),
					    part_of(b[i], k, bits, b_is_signed));

			if (HAS(sat))
				x = clamp(x, r);
			word |= ((uint32_t)x & ((UINT32_C(1) << bits) - 1)) << k * bits;
			sum += (uint32_t)x;
		}
		d[i] = HAS(add) ? sum : word;
	}
	return in + 1;
}

const struct slu_interp_handler *SLU_ISA(bind_word)(const struct slu_ptx_form *form)
{
	static const struct slu_interp_handler fns = { fns_run, fns_run };
	static const struct slu_interp_handler lop3 = { lop3_run, lop3_run };
	static const struct slu_interp_handler pack = { pack_run, pack_run };
	static const struct slu_interp_handler parts = { parts_run, parts_run };

	switch (form->opcode) {
	case SLU_PTX_OP_fns:
		return &fns;
	case SLU_PTX_OP_lop3:
		return &lop3;
	case SLU_PTX_OP_cvt:
		return &pack;
	default:
		return &parts;
	}
}
