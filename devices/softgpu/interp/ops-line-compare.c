/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparisons of lines. What holds for the least and the greatest lane holds for all of them, and
 * then 128 lanes are compared at once; where it differs, the rows are.
 */
#include "softgpu/interp/ops-line.h"

enum relation {
	EQ,
	NE,
	LT,
	LE,
	GT,
	GE,
	N_RELATIONS,
};

/* What holds for all lanes (ALL), for none (0), or differs (anything else). */
static inline uint32_t compare_holds(enum relation r, int64_t a_min, int64_t a_max, int64_t b_min,
				     int64_t b_max)
{
	bool is_less = a_max<b_min, is_greater = a_min> b_max;
	bool is_equal = a_min == a_max && b_min == b_max && a_min == b_min;
	bool yes, no;

	switch (r) {
	case EQ:
		yes = is_equal;
		no = is_less || is_greater;
		break;
	case NE:
		yes = is_less || is_greater;
		no = is_equal;
		break;
	case LT:
		yes = is_less;
		no = a_min >= b_max;
		break;
	case LE:
		yes = a_max <= b_min;
		no = is_greater;
		break;
	case GT:
		yes = is_greater;
		no = a_max <= b_min;
		break;
	default:
		yes = a_min >= b_max;
		no = is_less;
		break;
	}
	return yes ? DEV_INTERP_ALL : no ? 0 : 1;
}

static inline bool compare_span(const struct dev_interp_line *line, unsigned team, bool is_signed,
				bool is_wide, int64_t *ret_min, int64_t *ret_max)
{
	if (!is_wide)
		return dev_interp_line_span_32(line, team, is_signed, ret_min, ret_max);
	/* unsigned: only what has no sign compares like a signed number */
	return dev_interp_line_span(line, team, (int64_t)line->base, ret_min, ret_max) &&
	       (is_signed || *ret_min >= 0);
}

static inline void put_truth(struct dev_interp_warp *w, const struct dev_interp_insn *in,
			     uint32_t bits)
{
	EVERY_STRIP
	{
		w->preds[in->p + k] = bits;
		w->preds[in->q + k] = ~bits;
	}
}

/* Lines that are more than one value. */
__attribute__((noinline)) static const struct dev_interp_insn *
compare_run(struct dev_interp_warp *w, const struct dev_interp_insn *in, enum relation r,
	    bool is_signed, bool is_wide)
{
	const struct dev_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);
	int64_t a_min, a_max, b_min, b_max;
	uint32_t bits = 1;

	if (ARE_LINES(a->kind & b->kind) &&
	    compare_span(a, w->team, is_signed, is_wide, &a_min, &a_max) &&
	    compare_span(b, w->team, is_signed, is_wide, &b_min, &b_max))
		bits = compare_holds(r, a_min, a_max, b_min, b_max);
	if (bits == 1) {
		dev_interp_line_need(w, in->a);
		dev_interp_line_need(w, in->b);
		if (w->team > 1 && !in->plain.knows_teams)
			return dev_interp_team_each(w, in, in->plain.some);
		return in->plain.all(w, in);
	}
	put_truth(w, in, bits);
	NEXT(w, in);
}

#define SETP(name, r, op, V, is_signed, is_wide)                                            \
	HANDLER(setp_##name)                                                                \
	{                                                                                   \
		const struct dev_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);      \
		uint32_t bits = (V)a->base op(V) b->base ? DEV_INTERP_ALL : 0;              \
                                                                                            \
		if (!ARE_LINES(a->kind & b->kind) || a->step | a->jump | b->step | b->jump) \
			return compare_run(w, in, r, is_signed, is_wide);                   \
		put_truth(w, in, bits);                                                     \
		NEXT(w, in);                                                                \
	}
#define SETPS(n, V, is_signed, is_wide)                           \
	SETP(eq_##n, EQ, ==, V, is_signed, is_wide)               \
	SETP(ne_##n, NE, !=, V, is_signed, is_wide)               \
	SETP(lt_##n, LT, <, V, is_signed, is_wide)                \
	SETP(le_##n, LE, <=, V, is_signed, is_wide)               \
	SETP(gt_##n, GT, >, V, is_signed, is_wide)                \
	SETP(ge_##n, GE, >=, V, is_signed, is_wide)               \
	static const struct dev_interp_handler                    \
		*const setp_##n[N_RELATIONS] = {                  \
			&setp_eq_##n, &setp_ne_##n, &setp_lt_##n, \
			&setp_le_##n, &setp_gt_##n, &setp_ge_##n, \
		};
SETPS(s32, int32_t, true, false)
SETPS(u32, uint32_t, false, false)
SETPS(s64, int64_t, true, true)
SETPS(u64, uint64_t, false, true)

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)

const struct dev_interp_handler *DEV_ISA(line_compare_bind)(const struct slu_ptx_form *form)
{
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	enum relation r = HAS(eq)	       ? EQ
			  : HAS(ne)	       ? NE
			  : HAS(lt) || HAS(lo) ? LT
			  : HAS(le) || HAS(ls) ? LE
			  : HAS(gt) || HAS(hi) ? GT
					       : GE;

	if (slu_ptx_type_is_signed(type))
		return slu_ptx_type_size(type) == 8 ? setp_s64[r] : setp_s32[r];
	return slu_ptx_type_size(type) == 8 ? setp_u64[r] : setp_u32[r];
}
