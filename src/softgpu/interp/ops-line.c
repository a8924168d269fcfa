/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions that know lines (line.h). They run while all lanes of the warp are together, and
 * each of them falls back to the handler of rows, which decode.c left in insn->plain, whenever
 * what they are given is no line or the result would not be one.
 */
#include "softgpu/interp/isa.h"
#include "softgpu/interp/line.h"

#define LINE(w, row) slu_interp_line((w)->lines, row)

static void need_sources(struct slu_interp_warp *w, const struct slu_interp_insn *in)
{
	slu_interp_line_need(w, in->a);
	slu_interp_line_need(w, in->b);
	slu_interp_line_need(w, in->c);
	slu_interp_line_need(w, in->e);
}

static const struct slu_interp_insn *by_rows(struct slu_interp_warp *w,
					     const struct slu_interp_insn *in)
{
	need_sources(w, in);
	LINE(w, in->d)->kind = 0;
	if (w->team > 1 && !in->plain.knows_teams)
		return slu_interp_team_each(w, in, in->plain.some);
	return in->plain.all(w, in);
}

static inline void put_32(struct slu_interp_line *d, uint64_t base, uint64_t step, uint64_t jump)
{
	d->base = (uint32_t)base;
	d->step = (int32_t)step;
	d->jump = (int32_t)jump;
	d->kind = SLU_INTERP_LINE | SLU_INTERP_STALE;
}

static inline void put_64(struct slu_interp_line *d, uint64_t base, uint64_t step, uint64_t jump)
{
	d->base = base;
	d->step = (int64_t)step;
	d->jump = (int64_t)jump;
	d->kind = SLU_INTERP_LINE | SLU_INTERP_STALE;
}

/* A line times what is one value in all lanes, whichever of the two that is. */
struct product {
	uint64_t base;
	uint64_t step;
	uint64_t jump;
};

static inline bool multiply(const struct slu_interp_line *a, const struct slu_interp_line *b,
			    struct product *ret)
{
	if (!slu_interp_line_is_one(b)) {
		const struct slu_interp_line *other = a;

		if (!slu_interp_line_is_one(a))
			return false;
		a = b;
		b = other;
	}
	*ret = (struct product){ a->base * b->base, (uint64_t)a->step * b->base,
				 (uint64_t)a->jump * b->base };
	return true;
}

#define HANDLER(name)                                                                      \
	static const struct slu_interp_insn *name##_all(struct slu_interp_warp *w,         \
							const struct slu_interp_insn *in); \
	static const struct slu_interp_handler name = { name##_all, NULL, true };          \
	static const struct slu_interp_insn *name##_all(struct slu_interp_warp *w,         \
							const struct slu_interp_insn *in)

#define ARE_LINES(kinds) ((kinds)&SLU_INTERP_LINE)

#define DEFINE_LINEAR(n)                                                                          \
	HANDLER(mov_##n)                                                                          \
	{                                                                                         \
		const struct slu_interp_line *a = LINE(w, in->a);                                 \
                                                                                                  \
		if (!ARE_LINES(a->kind))                                                          \
			return by_rows(w, in);                                                    \
		put_##n(LINE(w, in->d), a->base, (uint64_t)a->step, (uint64_t)a->jump);           \
		NEXT(w, in);                                                                      \
	}                                                                                         \
	HANDLER(add_##n)                                                                          \
	{                                                                                         \
		const struct slu_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);            \
                                                                                                  \
		if (!ARE_LINES(a->kind & b->kind))                                                \
			return by_rows(w, in);                                                    \
		put_##n(LINE(w, in->d), a->base + b->base, (uint64_t)a->step + (uint64_t)b->step, \
			(uint64_t)a->jump + (uint64_t)b->jump);                                   \
		NEXT(w, in);                                                                      \
	}                                                                                         \
	HANDLER(sub_##n)                                                                          \
	{                                                                                         \
		const struct slu_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);            \
                                                                                                  \
		if (!ARE_LINES(a->kind & b->kind))                                                \
			return by_rows(w, in);                                                    \
		put_##n(LINE(w, in->d), a->base - b->base, (uint64_t)a->step - (uint64_t)b->step, \
			(uint64_t)a->jump - (uint64_t)b->jump);                                   \
		NEXT(w, in);                                                                      \
	}                                                                                         \
	HANDLER(mul_##n)                                                                          \
	{                                                                                         \
		const struct slu_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);            \
		struct product p;                                                                 \
                                                                                                  \
		if (!ARE_LINES(a->kind & b->kind) || !multiply(a, b, &p))                         \
			return by_rows(w, in);                                                    \
		put_##n(LINE(w, in->d), p.base, p.step, p.jump);                                  \
		NEXT(w, in);                                                                      \
	}                                                                                         \
	HANDLER(mad_##n)                                                                          \
	{                                                                                         \
		const struct slu_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);            \
		const struct slu_interp_line *c = LINE(w, in->c);                                 \
		struct product p;                                                                 \
                                                                                                  \
		if (!ARE_LINES(a->kind & b->kind & c->kind) || !multiply(a, b, &p))               \
			return by_rows(w, in);                                                    \
		put_##n(LINE(w, in->d), p.base + c->base, p.step + (uint64_t)c->step,             \
			p.jump + (uint64_t)c->jump);                                              \
		NEXT(w, in);                                                                      \
	}                                                                                         \
	HANDLER(shl_##n)                                                                          \
	{                                                                                         \
		const struct slu_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);            \
		uint64_t times;                                                                   \
                                                                                                  \
		if (!ARE_LINES(a->kind & b->kind) || !slu_interp_line_is_one(b))                  \
			return by_rows(w, in);                                                    \
		times = b->base < n ? UINT64_C(1) << b->base : 0;                                 \
		put_##n(LINE(w, in->d), a->base *times, (uint64_t)a->step *times,                 \
			(uint64_t)a->jump *times);                                                \
		NEXT(w, in);                                                                      \
	}
DEFINE_LINEAR(32)
DEFINE_LINEAR(64)

/* What a wider register makes of a 32-bit line, if none of its lanes wraps. */
static inline bool widen(const struct slu_interp_line *a, unsigned team, bool is_signed,
			 struct slu_interp_line *ret)
{
	int64_t min, max;

	if (slu_interp_line_is_one(a)) {
		*ret = *a;
	} else {
		if (!slu_interp_line_span_32(a, team, is_signed, &min, &max))
			return false;
		*ret = *a;
	}
	if (is_signed)
		ret->base = (uint64_t)(int64_t)(int32_t)a->base;
	return true;
}

static inline bool multiply_wide(const struct slu_interp_warp *w, const struct slu_interp_insn *in,
				 bool is_signed, struct product *ret)
{
	const struct slu_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);
	struct slu_interp_line x, y;

	return ARE_LINES(a->kind & b->kind) && widen(a, w->team, is_signed, &x) &&
	       widen(b, w->team, is_signed, &y) && multiply(&x, &y, ret);
}

#define DEFINE_WIDE(n, is_signed)                                                    \
	HANDLER(mul_wide_##n)                                                        \
	{                                                                            \
		struct product p;                                                    \
                                                                                     \
		if (!multiply_wide(w, in, is_signed, &p))                            \
			return by_rows(w, in);                                       \
		put_64(LINE(w, in->d), p.base, p.step, p.jump);                      \
		NEXT(w, in);                                                         \
	}                                                                            \
	HANDLER(mad_wide_##n)                                                        \
	{                                                                            \
		const struct slu_interp_line *c = LINE(w, in->c);                    \
		struct product p;                                                    \
                                                                                     \
		if (!ARE_LINES(c->kind) || !multiply_wide(w, in, is_signed, &p))     \
			return by_rows(w, in);                                       \
		put_64(LINE(w, in->d), p.base + c->base, p.step + (uint64_t)c->step, \
		       p.jump + (uint64_t)c->jump);                                  \
		NEXT(w, in);                                                         \
	}                                                                            \
	HANDLER(widen_##n)                                                           \
	{                                                                            \
		const struct slu_interp_line *a = LINE(w, in->a);                    \
		struct slu_interp_line x;                                            \
                                                                                     \
		if (!ARE_LINES(a->kind) || !widen(a, w->team, is_signed, &x))        \
			return by_rows(w, in);                                       \
		put_64(LINE(w, in->d), x.base, (uint64_t)x.step, (uint64_t)x.jump);  \
		NEXT(w, in);                                                         \
	}
DEFINE_WIDE(s32, true)
DEFINE_WIDE(u32, false)

/* An address of shared memory becomes generic, or the other way; of the global ones they are. */
HANDLER(cvta_shared)
{
	const struct slu_interp_line *a = LINE(w, in->a);
	bool to = slu_ptx_form_has(in->source->form, SLU_PTX_MOD_to);
	uint64_t window = (uint64_t)(uintptr_t)w->block->shared;

	if (!ARE_LINES(a->kind))
		return by_rows(w, in);
	put_64(LINE(w, in->d), to ? a->base - window : a->base + window, (uint64_t)a->step,
	       (uint64_t)a->jump);
	NEXT(w, in);
}

HANDLER(selp)
{
	uint32_t truth = w->preds[in->s] ^ in->s_flip;
	struct slu_interp_line *d = LINE(w, in->d);
	const struct slu_interp_line *from = LINE(w, truth ? in->a : in->b);
	bool is_one = !truth || truth == SLU_INTERP_ALL;

	for (unsigned k = 1; k < w->team; k++)
		is_one &= w->preds[in->s + k] == w->preds[in->s];
	if (!is_one || !ARE_LINES(from->kind))
		return by_rows(w, in);
	put_64(d, from->base, (uint64_t)from->step, (uint64_t)from->jump);
	NEXT(w, in);
}

/* All lanes are computed; the result may happen to be a line (tid / 16, tid % 16). */
HANDLER(by_lanes)
{
	struct slu_interp_line *d = LINE(w, in->d);

	need_sources(w, in);
	slu_interp_team_each(w, in, in->plain.some);
	slu_interp_line_find(d, ROW(w, in->d), w->team);
	NEXT(w, in);
}

static bool is_one(struct slu_interp_warp *w, uint32_t row)
{
	const struct slu_interp_line *line = LINE(w, row);

	return ARE_LINES(line->kind) && slu_interp_line_is_one(line);
}

static void need_first_lane(struct slu_interp_warp *w, uint32_t row)
{
	const struct slu_interp_line *line = LINE(w, row);

	if (!(line->kind & SLU_INTERP_STALE))
		return;
	if (line->is_wide)
		*(uint64_t *)ROW(w, row) = line->base;
	else
		*(uint32_t *)ROW(w, row) = (uint32_t)line->base;
}

/* Of values that are the same everywhere, one lane is computed. */
HANDLER(other)
{
	struct slu_interp_line *d = LINE(w, in->d);
	const uint32_t sources[] = { in->a, in->b, in->c, in->e };
	bool are_one = true;

	for (unsigned i = 0; are_one && i < in->n_sources; i++)
		are_one = is_one(w, sources[i]);
	if (!are_one)
		return by_lanes_all(w, in);
	for (unsigned i = 0; i < in->n_sources; i++)
		need_first_lane(w, sources[i]);
	w->mask = 1;
	in->plain.some(w, in);
	w->mask = SLU_INTERP_ALL;
	put_64(d, d->is_wide ? *(const uint64_t *)ROW(w, in->d) : *(const uint32_t *)ROW(w, in->d),
	       0, 0);
	NEXT(w, in);
}

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
static inline uint32_t holds(enum relation r, int64_t a_min, int64_t a_max, int64_t b_min,
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
	return yes ? SLU_INTERP_ALL : no ? 0 : 1;
}

static inline bool span(const struct slu_interp_line *line, unsigned team, bool is_signed,
			bool is_wide, int64_t *ret_min, int64_t *ret_max)
{
	if (!is_wide)
		return slu_interp_line_span_32(line, team, is_signed, ret_min, ret_max);
	/* unsigned: only what has no sign compares like a signed number */
	return slu_interp_line_span(line, team, (int64_t)line->base, ret_min, ret_max) &&
	       (is_signed || *ret_min >= 0);
}

static inline void put_truth(struct slu_interp_warp *w, const struct slu_interp_insn *in,
			     uint32_t bits)
{
	EVERY_STRIP
	{
		w->preds[in->p + k] = bits;
		w->preds[in->q + k] = ~bits;
	}
}

/* Lines that are more than one value. */
__attribute__((noinline)) static const struct slu_interp_insn *
compare(struct slu_interp_warp *w, const struct slu_interp_insn *in, enum relation r,
	bool is_signed, bool is_wide)
{
	const struct slu_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);
	int64_t a_min, a_max, b_min, b_max;
	uint32_t bits = 1;

	if (ARE_LINES(a->kind & b->kind) && span(a, w->team, is_signed, is_wide, &a_min, &a_max) &&
	    span(b, w->team, is_signed, is_wide, &b_min, &b_max))
		bits = holds(r, a_min, a_max, b_min, b_max);
	if (bits == 1) {
		slu_interp_line_need(w, in->a);
		slu_interp_line_need(w, in->b);
		if (w->team > 1 && !in->plain.knows_teams)
			return slu_interp_team_each(w, in, in->plain.some);
		return in->plain.all(w, in);
	}
	put_truth(w, in, bits);
	NEXT(w, in);
}

#define SETP(name, r, op, V, is_signed, is_wide)                                            \
	HANDLER(setp_##name)                                                                \
	{                                                                                   \
		const struct slu_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);      \
		uint32_t bits = (V)a->base op(V) b->base ? SLU_INTERP_ALL : 0;              \
                                                                                            \
		if (!ARE_LINES(a->kind & b->kind) || a->step | a->jump | b->step | b->jump) \
			return compare(w, in, r, is_signed, is_wide);                       \
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
	static const struct slu_interp_handler                    \
		*const setp_##n[N_RELATIONS] = {                  \
			&setp_eq_##n, &setp_ne_##n, &setp_lt_##n, \
			&setp_le_##n, &setp_gt_##n, &setp_ge_##n, \
		};
SETPS(s32, int32_t, true, false)
SETPS(u32, uint32_t, false, false)
SETPS(s64, int64_t, true, true)
SETPS(u64, uint64_t, false, true)

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)

static const struct slu_interp_handler *bind_setp(const struct slu_ptx_form *form)
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

static const struct slu_interp_handler *bind_cvt(const struct slu_ptx_form *form)
{
	unsigned to = slu_ptx_type_size((enum slu_ptx_type)form->types[0]);
	unsigned from = slu_ptx_type_size((enum slu_ptx_type)form->types[1]);

	if (HAS(sat) || to < 4 || from < 4)
		return &other;
	if (to == 4)
		return &mov_32;
	if (from == 8)
		return &mov_64;
	return slu_ptx_type_is_signed((enum slu_ptx_type)form->types[1]) ? &widen_s32 : &widen_u32;
}

const struct slu_interp_handler *SLU_ISA(bind_line)(const struct slu_ptx_form *form)
{
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	bool is_64 = slu_ptx_type_size(type) == 8, is_signed = slu_ptx_type_is_signed(type);

	switch (form->opcode) {
	case SLU_PTX_OP_setp:
		return bind_setp(form);
	case SLU_PTX_OP_cvt:
		return bind_cvt(form);
	case SLU_PTX_OP_selp:
		return &selp;
	case SLU_PTX_OP_cvta:
		if (form->space == SLU_PTX_SPACE_SHARED)
			return &cvta_shared;
		/* of the others every lane may have its own window */
		return form->space == SLU_PTX_SPACE_GLOBAL || form->space == SLU_PTX_SPACE_CONST
			       ? &mov_64
			       : &by_lanes;
	case SLU_PTX_OP_mov:
		return is_64 ? &mov_64 : &mov_32;
	case SLU_PTX_OP_add:
		return HAS(sat) ? &other : is_64 ? &add_64 : &add_32;
	case SLU_PTX_OP_sub:
		return HAS(sat) ? &other : is_64 ? &sub_64 : &sub_32;
	case SLU_PTX_OP_shl:
		return is_64 ? &shl_64 : &shl_32;
	case SLU_PTX_OP_mul:
		if (HAS(wide))
			return is_signed ? &mul_wide_s32 : &mul_wide_u32;
		return HAS(hi) ? &other : is_64 ? &mul_64 : &mul_32;
	case SLU_PTX_OP_mad:
		if (HAS(wide))
			return is_signed ? &mad_wide_s32 : &mad_wide_u32;
		return HAS(hi) ? &other : is_64 ? &mad_64 : &mad_32;
	default:
		return &other;
	}
}

static const struct slu_interp_insn *spread_all(struct slu_interp_warp *w,
						const struct slu_interp_insn *in)
{
	for (unsigned i = 0; i < in->n; i++)
		slu_interp_line_need(w, in->x[i]);
	return in + 1;
}

/* lanes that are not together have rows only */
static const struct slu_interp_insn *spread_some(struct slu_interp_warp *w,
						 const struct slu_interp_insn *in)
{
	(void)w;
	return in + 1;
}

const struct slu_interp_handler SLU_ISA(spread) = { spread_all, spread_some, true };
