/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads. Where the lanes' places are comes from memory.[ch]; here bytes become rows. A narrow
 * value is extended by its own sign into the register, whatever its width.
 *
 * Ordered forms (.volatile, .relaxed, .acquire, .release) use the same plain moves: an aligned
 * access of up to 8 bytes is one access on this machine and its order is strong enough; that the
 * compiler keeps it is ensured by the call through a pointer. Vectors of them: ops-vector.c.
 */
#include "softgpu/interp/access.h"

#define WANT			 DEV_INTERP_READ
#define MOVE(row, cell, R, M, V) ((row) = (R)(V)(cell))
#define READY(w, in)		 ((void)0)
#define SAME(w, in, at, R, M, V)                              \
	for (unsigned k = 0; k < in->n; k++) {                \
		R value = (R)(V)((const M *)(at))[k];         \
		R *row = ROW(w, in->x[k]);                    \
                                                              \
		if (w->mask == DEV_INTERP_ALL)                \
			EVERY_LANE row[i] = value;            \
		else                                          \
			MASKED_LANES(w->mask) row[i] = value; \
	}

static inline void wrote_rows(struct dev_interp_warp *w, const struct dev_interp_insn *in)
{
	if (in->has_line_result)
		for (unsigned k = 0; k < in->n; k++)
			dev_interp_line(w->lines, in->x[k])->kind = 0;
}

/* The lower half of the lanes has @value, the upper one @other. */
static inline void put_pair(struct dev_interp_warp *w, uint32_t row, uint64_t value, uint64_t other)
{
	struct dev_interp_line *line = dev_interp_line(w->lines, row);

	line->base = value;
	line->step = 0;
	line->jump = (int64_t)(other - value);
	if (!line->is_wide)
		line->jump = (int32_t)line->jump;
	line->kind = DEV_INTERP_LINE | DEV_INTERP_STALE;
}

#define LOAD_HALVES(name, R, M, V, where, is_shared)                                              \
	ELSEWHERE static const struct dev_interp_insn *name##_##where##_halves(                   \
		struct dev_interp_warp *w, const struct dev_interp_insn *in)                      \
	{                                                                                         \
		const struct dev_interp_line *line = dev_interp_line(w->lines, in->a);            \
		uint64_t offset = offset_of(w, in, line, is_shared), jump = (uint64_t)line->jump; \
		unsigned bytes = line->step ? sizeof(M) * DEV_INTERP_HALF : sizeof(M);            \
		const uint8_t *from = (const uint8_t *)(window_of(w, is_shared) + offset);        \
		R *to = ROW(w, in->x[0]);                                                         \
                                                                                                  \
		if (!is_simple(line, sizeof(M)) ||                                                \
		    !are_pieces(w, offset, jump, bytes, sizeof(M), is_shared, DEV_INTERP_READ))   \
			return name##_any_all(w, in);                                             \
		for (unsigned k = 0; k < w->team; k++, from += 2 * jump, NEXT_STRIP(to)) {        \
			const M *lower = (const M *)from, *upper = (const M *)(from + jump);      \
                                                                                                  \
			if (line->step) {                                                         \
				HALF_OF_LANES to[i] = (R)(V)lower[i];                             \
				HALF_OF_LANES to[i + DEV_INTERP_HALF] = (R)(V)upper[i];           \
			} else {                                                                  \
				R value = (R)(V)*lower, other = (R)(V)*upper;                     \
                                                                                                  \
				HALF_OF_LANES to[i] = value;                                      \
				HALF_OF_LANES to[i + DEV_INTERP_HALF] = other;                    \
			}                                                                         \
		}                                                                                 \
		NEXT(w, in);                                                                      \
	}

#define LOAD(name, R, M, V)                                                                   \
	ACCESS_SOME(name, R, M, V)                                                            \
	/* one warp of a team */                                                              \
	static inline void name##_strip(struct dev_interp_warp *w,                            \
					const struct dev_interp_insn *in,                     \
					const struct reached *at, unsigned k)                 \
	{                                                                                     \
		unsigned n = in->n;                                                           \
                                                                                              \
		for (unsigned e = 0; e < n; e++) {                                            \
			const M *from = (const M *)at->first[k] + e;                          \
			const M *more = (const M *)at->second[k] + e;                         \
			R *to = (R *)ROW(w, in->x[e]) + k * (DEV_INTERP_STRIP / sizeof(R));   \
			R value, other;                                                       \
                                                                                              \
			switch (at->shape[k]) {                                               \
			case DEV_INTERP_HALVES_PIECE:                                         \
				EVERY_LANE to[i] = (R)(V)from[i * n];                         \
				break;                                                        \
			case DEV_INTERP_HALVES_PIECES:                                        \
				HALF_OF_LANES to[i] = (R)(V)from[i * n];                      \
				HALF_OF_LANES to[i + DEV_INTERP_HALF] = (R)(V)more[i * n];    \
				break;                                                        \
			default:                                                              \
				value = (R)(V)*from;                                          \
				other = (R)(V)*more;                                          \
				HALF_OF_LANES to[i] = value;                                  \
				HALF_OF_LANES to[i + DEV_INTERP_HALF] = other;                \
			}                                                                     \
		}                                                                             \
	}                                                                                     \
	static const struct dev_interp_insn *name##_any_all(struct dev_interp_warp *w,        \
							    const struct dev_interp_insn *in) \
	{                                                                                     \
		unsigned n = in->n;                                                           \
		struct reached at;                                                            \
                                                                                              \
		if (!reach_halves(w, in, (unsigned)sizeof(M) * n, false, &at)) {              \
			wrote_rows(w, in);                                                    \
			return name##_apart(w, in);                                           \
		}                                                                             \
		if (in->has_line_result && is_pair(w, in, &at)) {                             \
			for (unsigned e = 0; e < n; e++)                                      \
				put_pair(w, in->x[e], (R)(V)((const M *)at.first[0])[e],      \
					 (R)(V)((const M *)at.second[0])[e]);                 \
			return in + 1;                                                        \
		}                                                                             \
		wrote_rows(w, in);                                                            \
		EVERY_STRIP name##_strip(w, in, &at, k);                                      \
		return in + 1;                                                                \
	}                                                                                     \
	LOAD_HALVES(name, R, M, V, global, false)                                             \
	ACCESS_PIECE(name, R, M, V)                                                           \
	LOAD_HALVES(name, R, M, V, shared, true)                                              \
	ACCESS_HANDLERS(name)

/* through the signed type into an unsigned row: that is the sign's extension */
LOAD(load_u8_32, uint32_t, uint8_t, uint32_t)
LOAD(load_s8_32, uint32_t, int8_t, int32_t)
LOAD(load_s8_16, uint32_t, int8_t, uint16_t)
LOAD(load_u16_32, uint32_t, uint16_t, uint32_t)
LOAD(load_s16_32, uint32_t, int16_t, int32_t)
LOAD(load_32_32, uint32_t, uint32_t, uint32_t)
LOAD(load_u8_64, uint64_t, uint8_t, uint64_t)
LOAD(load_s8_64, uint64_t, int8_t, int64_t)
LOAD(load_u16_64, uint64_t, uint16_t, uint64_t)
LOAD(load_s16_64, uint64_t, int16_t, int64_t)
LOAD(load_u32_64, uint64_t, uint32_t, uint64_t)
LOAD(load_s32_64, uint64_t, int32_t, int64_t)
LOAD(load_64_64, uint64_t, uint64_t, uint64_t)

const struct dev_interp_handler *DEV_ISA(load_bind)(const struct slu_ptx_form *form,
						    const struct dev_interp_insn *in)
{
	bool is_signed = slu_ptx_type_is_signed((enum slu_ptx_type)form->types[0]);
	bool is_wide = in->is_wide_row, is_half = in->is_half_row;
	enum access k = access_of(in);

	switch (slu_ptx_type_size((enum slu_ptx_type)form->types[0])) {
	case 1:
		if (is_wide)
			return is_signed ? &load_s8_64[k] : &load_u8_64[k];
		/* a 16-bit register keeps zeroes above its value */
		return !is_signed ? &load_u8_32[k] : is_half ? &load_s8_16[k] : &load_s8_32[k];
	case 2:
		if (is_wide)
			return is_signed ? &load_s16_64[k] : &load_u16_64[k];
		return is_signed && !is_half ? &load_s16_32[k] : &load_u16_32[k];
	case 4:
		if (is_wide)
			return is_signed && form->types[0] != SLU_PTX_TYPE_F32 ? &load_s32_64[k]
									       : &load_u32_64[k];
		return &load_32_32[k];
	default:
		return &load_64_64[k];
	}
}
