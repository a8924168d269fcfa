/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions that know lines (line.h). They run while all lanes of the warp are together, and
 * each of them falls back to the handler of rows, which decode.c left in insn->plain, whenever
 * what they are given is no line or the result would not be one.
 */
#include "softgpu/interp/ops-line.h"

static void need_sources(struct dev_interp_warp *w, const struct dev_interp_insn *in)
{
	dev_interp_line_need(w, in->a);
	dev_interp_line_need(w, in->b);
	dev_interp_line_need(w, in->c);
	dev_interp_line_need(w, in->e);
}

static const struct dev_interp_insn *by_rows(struct dev_interp_warp *w,
					     const struct dev_interp_insn *in)
{
	need_sources(w, in);
	LINE(w, in->d)->kind = 0;
	if (w->team > 1 && !in->plain.knows_teams)
		return dev_interp_team_each(w, in, in->plain.some);
	return in->plain.all(w, in);
}

static inline void put_32(struct dev_interp_line *d, uint64_t base, uint64_t step, uint64_t jump)
{
	d->base = (uint32_t)base;
	d->step = (int32_t)step;
	d->jump = (int32_t)jump;
	d->kind = DEV_INTERP_LINE | DEV_INTERP_STALE;
}

static inline void put_64(struct dev_interp_line *d, uint64_t base, uint64_t step, uint64_t jump)
{
	d->base = base;
	d->step = (int64_t)step;
	d->jump = (int64_t)jump;
	d->kind = DEV_INTERP_LINE | DEV_INTERP_STALE;
}

/* A line times what is one value in all lanes, whichever of the two that is. */
struct product {
	uint64_t base;
	uint64_t step;
	uint64_t jump;
};

static inline bool line_multiply(const struct dev_interp_line *a, const struct dev_interp_line *b,
				 struct product *ret)
{
	if (!dev_interp_line_is_one(b)) {
		const struct dev_interp_line *other = a;

		if (!dev_interp_line_is_one(a))
			return false;
		a = b;
		b = other;
	}
	*ret = (struct product){ a->base * b->base, (uint64_t)a->step * b->base,
				 (uint64_t)a->jump * b->base };
	return true;
}

#define DEFINE_LINEAR(n)                                                                          \
	HANDLER(mov_##n)                                                                          \
	{                                                                                         \
		const struct dev_interp_line *a = LINE(w, in->a);                                 \
                                                                                                  \
		if (!ARE_LINES(a->kind))                                                          \
			return by_rows(w, in);                                                    \
		put_##n(LINE(w, in->d), a->base, (uint64_t)a->step, (uint64_t)a->jump);           \
		NEXT(w, in);                                                                      \
	}                                                                                         \
	HANDLER(add_##n)                                                                          \
	{                                                                                         \
		const struct dev_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);            \
                                                                                                  \
		if (!ARE_LINES(a->kind & b->kind))                                                \
			return by_rows(w, in);                                                    \
		put_##n(LINE(w, in->d), a->base + b->base, (uint64_t)a->step + (uint64_t)b->step, \
			(uint64_t)a->jump + (uint64_t)b->jump);                                   \
		NEXT(w, in);                                                                      \
	}                                                                                         \
	HANDLER(sub_##n)                                                                          \
	{                                                                                         \
		const struct dev_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);            \
                                                                                                  \
		if (!ARE_LINES(a->kind & b->kind))                                                \
			return by_rows(w, in);                                                    \
		put_##n(LINE(w, in->d), a->base - b->base, (uint64_t)a->step - (uint64_t)b->step, \
			(uint64_t)a->jump - (uint64_t)b->jump);                                   \
		NEXT(w, in);                                                                      \
	}                                                                                         \
	HANDLER(mul_##n)                                                                          \
	{                                                                                         \
		const struct dev_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);            \
		struct product p;                                                                 \
                                                                                                  \
		if (!ARE_LINES(a->kind & b->kind) || !line_multiply(a, b, &p))                    \
			return by_rows(w, in);                                                    \
		put_##n(LINE(w, in->d), p.base, p.step, p.jump);                                  \
		NEXT(w, in);                                                                      \
	}                                                                                         \
	HANDLER(mad_##n)                                                                          \
	{                                                                                         \
		const struct dev_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);            \
		const struct dev_interp_line *c = LINE(w, in->c);                                 \
		struct product p;                                                                 \
                                                                                                  \
		if (!ARE_LINES(a->kind & b->kind & c->kind) || !line_multiply(a, b, &p))          \
			return by_rows(w, in);                                                    \
		put_##n(LINE(w, in->d), p.base + c->base, p.step + (uint64_t)c->step,             \
			p.jump + (uint64_t)c->jump);                                              \
		NEXT(w, in);                                                                      \
	}                                                                                         \
	HANDLER(shl_##n)                                                                          \
	{                                                                                         \
		const struct dev_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);            \
		uint64_t times;                                                                   \
                                                                                                  \
		if (!ARE_LINES(a->kind & b->kind) || !dev_interp_line_is_one(b))                  \
			return by_rows(w, in);                                                    \
		times = b->base < n ? UINT64_C(1) << b->base : 0;                                 \
		put_##n(LINE(w, in->d), a->base *times, (uint64_t)a->step *times,                 \
			(uint64_t)a->jump *times);                                                \
		NEXT(w, in);                                                                      \
	}
DEFINE_LINEAR(32)
DEFINE_LINEAR(64)

/* What a wider register makes of a 32-bit line, if none of its lanes wraps. */
static inline bool line_widen(const struct dev_interp_line *a, unsigned team, bool is_signed,
			      struct dev_interp_line *ret)
{
	int64_t min, max;

	if (dev_interp_line_is_one(a)) {
		*ret = *a;
	} else {
		if (!dev_interp_line_span_32(a, team, is_signed, &min, &max))
			return false;
		*ret = *a;
	}
	if (is_signed)
		ret->base = (uint64_t)(int64_t)(int32_t)a->base;
	return true;
}

static inline bool multiply_wide(const struct dev_interp_warp *w, const struct dev_interp_insn *in,
				 bool is_signed, struct product *ret)
{
	const struct dev_interp_line *a = LINE(w, in->a), *b = LINE(w, in->b);
	struct dev_interp_line x, y;

	return ARE_LINES(a->kind & b->kind) && line_widen(a, w->team, is_signed, &x) &&
	       line_widen(b, w->team, is_signed, &y) && line_multiply(&x, &y, ret);
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
		const struct dev_interp_line *c = LINE(w, in->c);                    \
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
		const struct dev_interp_line *a = LINE(w, in->a);                    \
		struct dev_interp_line x;                                            \
                                                                                     \
		if (!ARE_LINES(a->kind) || !line_widen(a, w->team, is_signed, &x))   \
			return by_rows(w, in);                                       \
		put_64(LINE(w, in->d), x.base, (uint64_t)x.step, (uint64_t)x.jump);  \
		NEXT(w, in);                                                         \
	}
DEFINE_WIDE(s32, true)
DEFINE_WIDE(u32, false)

/* An address of shared memory becomes generic, or the other way; of the global ones they are. */
HANDLER(cvta_shared)
{
	const struct dev_interp_line *a = LINE(w, in->a);
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
	struct dev_interp_line *d = LINE(w, in->d);
	const struct dev_interp_line *from = LINE(w, truth ? in->a : in->b);
	bool is_one = !truth || truth == DEV_INTERP_ALL;

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
	struct dev_interp_line *d = LINE(w, in->d);

	need_sources(w, in);
	dev_interp_team_each(w, in, in->plain.some);
	dev_interp_line_find(d, ROW(w, in->d), w->team);
	NEXT(w, in);
}

static bool is_one(struct dev_interp_warp *w, uint32_t row)
{
	const struct dev_interp_line *line = LINE(w, row);

	return ARE_LINES(line->kind) && dev_interp_line_is_one(line);
}

static void need_first_lane(struct dev_interp_warp *w, uint32_t row)
{
	const struct dev_interp_line *line = LINE(w, row);

	if (!(line->kind & DEV_INTERP_STALE))
		return;
	if (line->is_wide)
		*(uint64_t *)ROW(w, row) = line->base;
	else
		*(uint32_t *)ROW(w, row) = (uint32_t)line->base;
}

/* Of values that are the same everywhere, one lane is computed. */
HANDLER(other)
{
	struct dev_interp_line *d = LINE(w, in->d);
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
	w->mask = DEV_INTERP_ALL;
	put_64(d, d->is_wide ? *(const uint64_t *)ROW(w, in->d) : *(const uint32_t *)ROW(w, in->d),
	       0, 0);
	NEXT(w, in);
}

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)

static const struct dev_interp_handler *bind_cvt(const struct slu_ptx_form *form)
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

const struct dev_interp_handler *DEV_ISA(line_bind)(const struct slu_ptx_form *form)
{
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	bool is_64 = slu_ptx_type_size(type) == 8, is_signed = slu_ptx_type_is_signed(type);

	switch (form->opcode) {
	case SLU_PTX_OP_setp:
		return DEV_ISA(line_compare_bind)(form);
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

static const struct dev_interp_insn *spread_all(struct dev_interp_warp *w,
						const struct dev_interp_insn *in)
{
	for (unsigned i = 0; i < in->n; i++)
		dev_interp_line_need(w, in->x[i]);
	return in + 1;
}

/* lanes that are not together have rows only */
static const struct dev_interp_insn *spread_some(struct dev_interp_warp *w,
						 const struct dev_interp_insn *in)
{
	(void)w;
	return in + 1;
}

const struct dev_interp_handler DEV_ISA(line_spread) = { spread_all, spread_some, true };
