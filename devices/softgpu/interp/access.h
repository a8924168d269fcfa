/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What loads and stores share. There are three handlers of each: one for a single value of global
 * and one of shared memory, for what most of them are: the address is a line, and of each half of
 * the lanes one piece or one place. A third one does everything else.
 */

#include "softgpu/interp/isa.h"
#include "softgpu/interp/memory.h"

/* inside of another loop gcc would rather write 16 copies than vector code */
#ifdef __clang__
#define HALF_OF_LANES EVERY_LANE_OF(DEV_INTERP_HALF)
#else
#define HALF_OF_LANES _Pragma("GCC unroll 1") EVERY_LANE_OF(DEV_INTERP_HALF)
#endif

enum access {
	ANY,
	GLOBAL,
	SHARED,
};

static inline enum access access_of(const struct dev_interp_insn *in)
{
	if (in->n > 1 || in->has_line_result || in->is_named)
		return ANY;
	if (in->space == SLU_PTX_SPACE_SHARED)
		return SHARED;
	return in->space <= SLU_PTX_SPACE_CONST ? GLOBAL : ANY;
}

/* An address that became a row may be a line all the same. */
static inline void find_address(struct dev_interp_warp *w, const struct dev_interp_insn *in)
{
	struct dev_interp_line *line = dev_interp_line(w->lines, in->a);

	if (in->has_line_address && !line->kind)
		dev_interp_line_find(line, ROW(w, in->a), w->team);
}

/* A parameter of the kernel: one place for all lanes. */
static inline enum dev_interp_halves parameter(const struct dev_interp_warp *w,
					       const struct dev_interp_insn *in, unsigned size,
					       bool is_write, uint8_t **ret_first)
{
	const struct slu_ptx_function *f = w->frame->code->function;
	uint64_t offset = (uint64_t)in->imm;

	if (!f->is_kernel || in->role != SLU_PTX_ROLE_PARAM || is_write || offset & (size - 1) ||
	    !dev_interp_is_within(offset, size, f->param_bytes))
		return DEV_INTERP_HALVES_OTHER;
	*ret_first = (uint8_t *)(uintptr_t)w->block->launch->params + offset;
	return DEV_INTERP_HALVES_SAME;
}

/* Of a team's k-th warp; find_address() was called. */
static inline enum dev_interp_halves halves(struct dev_interp_warp *w,
					    const struct dev_interp_insn *in, unsigned k,
					    unsigned size, bool is_write, uint8_t **ret_first,
					    uint8_t **ret_second)
{
	struct dev_interp_line line;

	if (in->is_named)
		return parameter(w, in, size, is_write, ret_first);
	line = *dev_interp_line(w->lines, in->a);
	line.base = dev_interp_line_base(&line, k);
	if (in->space == SLU_PTX_SPACE_SHARED)
		return dev_interp_halves(w->block, &line, in, size, is_write, true, ret_first,
					 ret_second);
	if (in->space <= SLU_PTX_SPACE_CONST)
		return dev_interp_halves(w->block, &line, in, size, is_write, false, ret_first,
					 ret_second);
	return DEV_INTERP_HALVES_OTHER;
}

/* what happens less often stays out of the way of what happens most */
#define ELSEWHERE __attribute__((noinline))

/* 32 lanes one after another */
static inline bool is_piece(const struct dev_interp_line *line, unsigned size)
{
	return line->kind & DEV_INTERP_LINE && line->is_wide && line->step == (int64_t)size &&
	       line->jump == (int64_t)size * (int64_t)DEV_INTERP_HALF;
}

/* each half is one piece, or one place */
static inline bool is_simple(const struct dev_interp_line *line, unsigned size)
{
	return line->kind & DEV_INTERP_LINE && line->is_wide &&
	       (!line->step || line->step == (int64_t)size);
}

/* Where a single value of lane 0 is, from the beginning of the window, if the line is wide. */
__attribute__((always_inline)) static inline uint64_t offset_of(const struct dev_interp_warp *w,
								const struct dev_interp_insn *in,
								const struct dev_interp_line *line,
								bool is_shared)
{
	return line->base + (uint64_t)in->imm - (is_shared ? 0 : w->block->memory->base);
}

/* A number: with an offset that nobody has looked at it is no pointer yet. */
static inline uintptr_t window_of(const struct dev_interp_warp *w, bool is_shared)
{
	return (uintptr_t)(is_shared ? w->block->shared : w->block->memory->view);
}

/* Pages that allow it, and are known to be touched; not more than two. */
static inline bool is_usual(const struct dev_interp_memory *m, uint64_t offset, unsigned bytes,
			    uint8_t want)
{
	uint64_t first = offset >> m->shift, last = (offset + bytes - 1) >> m->shift;

	return last - first < 2 &&
	       __atomic_load_n(&m->access[first], __ATOMIC_RELAXED) &
		       __atomic_load_n(&m->access[last], __ATOMIC_RELAXED) & want &&
	       (!m->touched || __atomic_load_n(&m->touched[first], __ATOMIC_RELAXED) &
				       __atomic_load_n(&m->touched[last], __ATOMIC_RELAXED) & want);
}

/*
 * @bytes of the window, at an @offset that may be anything. (The window begins at a page, so that
 * its offsets are aligned as the addresses are.) Return: their place, or NULL if that needs a
 * closer look.
 */
__attribute__((always_inline)) static inline void *piece(const struct dev_interp_warp *w,
							 uint64_t offset, unsigned bytes,
							 unsigned size, bool is_shared,
							 uint8_t want)
{
	const struct dev_interp_block *b = w->block;
	uint64_t window_bytes = is_shared ? b->shared_bytes : b->memory->bytes;

	/* outside, one of the two is negative */
	if ((offset | (window_bytes - bytes - offset)) >> 63 || offset & (size - 1))
		return NULL;
	if (is_shared)
		return b->shared + offset;
	return is_usual(b->memory, offset, bytes, want) ? b->memory->view + offset : NULL;
}

/*
 * The halves of all lanes of a team: are they where piece() would find each of them? Without the
 * limit, what lies between the first and the last one could be anywhere.
 */
__attribute__((always_inline)) static inline bool are_pieces(const struct dev_interp_warp *w,
							     uint64_t offset, uint64_t jump,
							     unsigned bytes, unsigned size,
							     bool is_shared, uint8_t want)
{
	unsigned n = 2 * w->team;

	if ((jump + (UINT64_C(1) << 31)) >> 32 || !piece(w, offset, bytes, size, is_shared, want) ||
	    !piece(w, offset + (n - 1) * jump, bytes, size, is_shared, want))
		return false;
	for (unsigned h = 1; !is_shared && h < n - 1; h++)
		if (!piece(w, offset + h * jump, bytes, size, false, want))
			return false;
	return true;
}

/* What every warp of a team reaches; false if one of them needs a closer look. */
struct reached {
	enum dev_interp_halves shape[DEV_INTERP_TEAM];
	uint8_t *first[DEV_INTERP_TEAM];
	uint8_t *second[DEV_INTERP_TEAM];
};

__attribute__((always_inline)) static inline bool reach_halves(struct dev_interp_warp *w,
							       const struct dev_interp_insn *in,
							       unsigned size, bool is_write,
							       struct reached *ret)
{
	unsigned k = 0;

	find_address(w, in);
	do {
		ret->shape[k] = halves(w, in, k, size, is_write, &ret->first[k], &ret->second[k]);
		if (ret->shape[k] == DEV_INTERP_HALVES_OTHER)
			return false;
		if (ret->shape[k] == DEV_INTERP_HALVES_SAME)
			ret->second[k] = ret->first[k];
	} while (++k < w->team);
	return true;
}

/* Is what the team reads one place for each half of its lanes, so that the result is a line? */
static inline bool is_pair(const struct dev_interp_warp *w, const struct dev_interp_insn *in,
			   const struct reached *at)
{
	if (at->shape[0] != DEV_INTERP_HALVES_SAME && at->shape[0] != DEV_INTERP_HALVES_SAMES)
		return false;
	return w->team == 1 || in->is_named ||
	       dev_interp_line_is_one(dev_interp_line(w->lines, in->a));
}

/*
 * Asks for what the warp will want when it comes here again, if it goes on as it did since the
 * last time, and lets other warps run in the meantime.
 */
static inline void look_ahead(struct dev_interp_warp *w, struct dev_interp_line *line,
			      const void *first, unsigned bytes)
{
	int32_t ahead = (int32_t)((uint32_t)line->base - line->last);

	if (w->is_alone)
		w->budget = DEV_INTERP_SLICE_FAR;
	w->block->is_far = true;
	line->last = (uint32_t)line->base;
	for (unsigned i = 0; ahead && i < bytes; i += 64)
		__builtin_prefetch(
			(const void *)((uintptr_t)first + (uintptr_t)(intptr_t)ahead + i));
}

/*
 * The frame that loads and stores have in common, between rows of @R and memory of @M. The file
 * that uses it says which of them it is:
 *
 *   WANT                      DEV_INTERP_READ or DEV_INTERP_WRITE
 *   MOVE(row, cell, R, M, V)  one value; a load takes it through the type @V
 *   SAME(w, in, at, R, M, V)  all lanes in the mask have one place
 *   READY(w, in)              before one value of whole lanes is moved
 *
 * and writes for each pair of types NAME_any_all, for 32 lanes in general, which falls back on
 * NAME_apart, and NAME_global_halves and NAME_shared_halves. Handlers follow each other so:
 *
 *   global_all ──▶ global_halves ──▶ any_all ──▶ apart ──▶ some
 *                  shared_halves ──▶
 */

/* Lanes in the mask, each where it is. */
#define ACCESS_SOME(name, R, M, V)                                                                 \
	static const struct dev_interp_insn *name##_some(struct dev_interp_warp *w,                \
							 const struct dev_interp_insn *in)         \
	{                                                                                          \
		struct dev_interp_places at;                                                       \
		unsigned n = in->n;                                                                \
                                                                                                   \
		switch (DEV_ISA(memory_reach)(w, in, (unsigned)sizeof(M) * n,                      \
					      WANT == DEV_INTERP_WRITE, &at)) {                    \
		case DEV_INTERP_SHAPE_FAULT:                                                       \
			return NULL;                                                               \
		case DEV_INTERP_SHAPE_PIECE:                                                       \
			if (n == 1) {                                                              \
				M *cells = (M *)at.base;                                           \
				R *row = ROW(w, in->x[0]);                                         \
                                                                                                   \
				EVERY_LANE MOVE(row[i], cells[i], R, M, V);                        \
				return in + 1;                                                     \
			}                                                                          \
			for (unsigned k = 0; k < n; k++) {                                         \
				M *cells = (M *)at.base + k;                                       \
				R *row = ROW(w, in->x[k]);                                         \
                                                                                                   \
				EVERY_LANE MOVE(row[i], cells[i * n], R, M, V);                    \
			}                                                                          \
			return in + 1;                                                             \
		case DEV_INTERP_SHAPE_SAME:                                                        \
			SAME(w, in, at.base, R, M, V);                                             \
			return in + 1;                                                             \
		case DEV_INTERP_SHAPE_APART:                                                       \
			for (unsigned k = 0; k < n; k++) {                                         \
				R *row = ROW(w, in->x[k]);                                         \
                                                                                                   \
				if (w->mask == DEV_INTERP_ALL) {                                   \
					for (unsigned i = 0; i < DEV_INTERP_LANES; i++)            \
						MOVE(row[i], ((M *)dev_interp_place(&at, i))[k],   \
						     R, M, V);                                     \
				} else {                                                           \
					MASKED_LANES(w->mask)                                      \
					MOVE(row[i], ((M *)dev_interp_place(&at, i))[k], R, M, V); \
				}                                                                  \
			}                                                                          \
			return in + 1;                                                             \
		}                                                                                  \
		return NULL;                                                                       \
	}                                                                                          \
	/* 32 lanes that are no line, or not in one window, or wrong */                            \
	ELSEWHERE static const struct dev_interp_insn *name##_apart(                               \
		struct dev_interp_warp *w, const struct dev_interp_insn *in)                       \
	{                                                                                          \
		dev_interp_line_need(w, in->a);                                                    \
		return w->team > 1 ? dev_interp_team_each(w, in, name##_some)                      \
				   : name##_some(w, in);                                           \
	}

/* One value of 32 lanes, one after another in global memory. */
#define ACCESS_PIECE(name, R, M, V)                                                                \
	static const struct dev_interp_insn *name##_global_all(struct dev_interp_warp *w,          \
							       const struct dev_interp_insn *in)   \
	{                                                                                          \
		struct dev_interp_line *line = dev_interp_line(w->lines, in->a);                   \
		unsigned bytes = sizeof(M) * DEV_INTERP_LANES * w->team;                           \
		R *row = ROW(w, in->x[0]);                                                         \
		M *cells;                                                                          \
                                                                                                   \
		if (!is_piece(line, sizeof(M)))                                                    \
			return name##_global_halves(w, in);                                        \
		cells = piece(w, offset_of(w, in, line, false), bytes, sizeof(M), false, WANT);    \
		if (!cells)                                                                        \
			return name##_any_all(w, in);                                              \
		READY(w, in);                                                                      \
		look_ahead(w, line, cells, bytes);                                                 \
		for (unsigned k = 0; k < w->team; k++, cells += DEV_INTERP_LANES, NEXT_STRIP(row)) \
			EVERY_LANE MOVE(row[i], cells[i], R, M, V);                                \
		NEXT(w, in);                                                                       \
	}

#define ACCESS_HANDLERS(name)                                           \
	static const struct dev_interp_handler name[] = {               \
		[ANY] = { name##_any_all, name##_some, true },          \
		[GLOBAL] = { name##_global_all, name##_some, true },    \
		[SHARED] = { name##_shared_halves, name##_some, true }, \
	};
