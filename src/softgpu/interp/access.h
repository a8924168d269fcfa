/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What loads and stores share. There are three handlers of each: one for a single value of global
 * and one of shared memory, which is what most of them are, and one for everything else.
 */

#include "softgpu/interp/isa.h"
#include "softgpu/interp/memory.h"

#define HALF_OF_LANES EVERY_LANE_OF(SLU_INTERP_HALF)

enum access {
	ANY,
	GLOBAL,
	SHARED,
};

static inline enum access access_of(const struct slu_interp_insn *in)
{
	if (in->n > 1 || in->has_line_result || in->is_named)
		return ANY;
	if (in->space == SLU_PTX_SPACE_SHARED)
		return SHARED;
	return in->space <= SLU_PTX_SPACE_CONST ? GLOBAL : ANY;
}

/* An address that became a row may be a line all the same. */
static inline void find_address(struct slu_interp_warp *w, const struct slu_interp_insn *in)
{
	struct slu_interp_line *line = slu_interp_line(w->rows, in->a);

	if (in->has_line_address && !line->kind)
		slu_interp_line_find(line, ROW(w, in->a));
}

static inline enum slu_interp_halves halves(struct slu_interp_warp *w,
					    const struct slu_interp_insn *in, unsigned size,
					    bool is_write, uint8_t **ret_first,
					    uint8_t **ret_second)
{
	if (in->is_named)
		return SLU_INTERP_HALVES_OTHER;
	find_address(w, in);
	if (in->space == SLU_PTX_SPACE_SHARED)
		return slu_interp_halves(w, in, size, is_write, true, ret_first, ret_second);
	if (in->space <= SLU_PTX_SPACE_CONST)
		return slu_interp_halves(w, in, size, is_write, false, ret_first, ret_second);
	return SLU_INTERP_HALVES_OTHER;
}

/*
 * Asks for what the warp will want when it comes here again, if it goes on as it did since the
 * last time: other warps run in the meantime.
 */
static inline void look_ahead(struct slu_interp_warp *w, const struct slu_interp_insn *in,
			      const uint8_t *first, unsigned bytes)
{
	struct slu_interp_line *line = slu_interp_line(w->rows, in->a);
	int32_t ahead = (int32_t)((uint32_t)line->base - line->last);

	line->last = (uint32_t)line->base;
	for (unsigned i = 0; ahead && i < bytes; i += 64)
		__builtin_prefetch(
			(const void *)((uintptr_t)first + (uintptr_t)(intptr_t)ahead + i));
}
