/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads. Where the lanes' places are comes from memory.[ch]; here bytes become rows. A narrow
 * value is extended by its own sign into the register, whatever its width.
 *
 * Ordered forms (.volatile, .relaxed, .acquire, .release) use the same plain moves: an aligned
 * access of up to 8 bytes is one access on this machine and its order is strong enough; that the
 * compiler keeps it is ensured by the call through a pointer.
 */
#include "softgpu/interp/access.h"

static inline const struct slu_interp_insn *wrote_rows(struct slu_interp_warp *w,
						       const struct slu_interp_insn *in)
{
	if (in->has_line_result)
		for (unsigned k = 0; k < in->n; k++)
			slu_interp_line(w->rows, in->x[k])->kind = 0;
	return in + 1;
}

/* The lower half of the lanes has @value, the upper one @other. */
static inline void put_pair(struct slu_interp_warp *w, uint32_t row, uint64_t value, uint64_t other)
{
	struct slu_interp_line *line = slu_interp_line(w->rows, row);

	line->base = value;
	line->step = 0;
	line->jump = (int64_t)(other - value);
	if (!line->is_wide)
		line->jump = (int32_t)line->jump;
	line->kind = SLU_INTERP_LINE | SLU_INTERP_STALE;
}

#define READ(w, offset, bytes, size, is_shared) \
	piece(w, offset, bytes, size, is_shared, SLU_INTERP_READ)
#define LOAD_HALVES(name, R, M, V, where, is_shared)                                         \
	ELSEWHERE static const struct slu_interp_insn *name##_##where##_halves(              \
		struct slu_interp_warp *w, const struct slu_interp_insn *in)                 \
	{                                                                                    \
		const struct slu_interp_line *line = slu_interp_line(w->rows, in->a);        \
		uint64_t offset = offset_of(w, in, line, is_shared);                         \
		unsigned bytes = line->step ? sizeof(M) * SLU_INTERP_HALF : sizeof(M);       \
		R *to = ROW(w, in->x[0]), *upper = to + SLU_INTERP_HALF;                     \
		const M *from = READ(w, offset, bytes, sizeof(M), is_shared);                \
		const M *more =                                                              \
			READ(w, offset + (uint64_t)line->jump, bytes, sizeof(M), is_shared); \
                                                                                             \
		if (!is_simple(line, sizeof(M)) || !from || !more)                           \
			return name##_any_all(w, in);                                        \
		if (line->step) {                                                            \
			HALF_OF_LANES to[i] = (R)(V)from[i];                                 \
			HALF_OF_LANES upper[i] = (R)(V)more[i];                              \
		} else {                                                                     \
			R value = (R)(V)*from, other = (R)(V)*more;                          \
                                                                                             \
			HALF_OF_LANES to[i] = value;                                         \
			HALF_OF_LANES upper[i] = other;                                      \
		}                                                                            \
		NEXT(w, in);                                                                 \
	}

#define LOAD_PIECE(name, R, M, V)                                                                \
	static const struct slu_interp_insn *name##_global_all(struct slu_interp_warp *w,        \
							       const struct slu_interp_insn *in) \
	{                                                                                        \
		struct slu_interp_line *line = slu_interp_line(w->rows, in->a);                  \
		R *to = ROW(w, in->x[0]);                                                        \
		const M *from;                                                                   \
                                                                                                 \
		if (!is_piece(line, sizeof(M)))                                                  \
			return name##_global_halves(w, in);                                      \
		from = READ(w, offset_of(w, in, line, false), sizeof(M) * SLU_INTERP_LANES,      \
			    sizeof(M), false);                                                   \
		if (!from)                                                                       \
			return name##_any_all(w, in);                                            \
		EVERY_LANE to[i] = (R)(V)from[i];                                                \
		look_ahead(w, line, from, sizeof(M) * SLU_INTERP_LANES);                         \
		NEXT(w, in);                                                                     \
	}

#define LOAD(name, R, M, V)                                                                        \
	static const struct slu_interp_insn *name##_some(struct slu_interp_warp *w,                \
							 const struct slu_interp_insn *in)         \
	{                                                                                          \
		struct slu_interp_places at;                                                       \
		unsigned n = in->n;                                                                \
                                                                                                   \
		switch (SLU_ISA(reach)(w, in, (unsigned)sizeof(M) * n, false, &at)) {              \
		case SLU_INTERP_SHAPE_FAULT:                                                       \
			return NULL;                                                               \
		case SLU_INTERP_SHAPE_PIECE:                                                       \
			if (n == 1) {                                                              \
				const M *from = (const M *)at.base;                                \
				R *to = ROW(w, in->x[0]);                                          \
                                                                                                   \
				EVERY_LANE to[i] = (R)(V)from[i];                                  \
				return in + 1;                                                     \
			}                                                                          \
			for (unsigned k = 0; k < n; k++) {                                         \
				const M *from = (const M *)at.base + k;                            \
				R *to = ROW(w, in->x[k]);                                          \
                                                                                                   \
				EVERY_LANE to[i] = (R)(V)from[i * n];                              \
			}                                                                          \
			return in + 1;                                                             \
		case SLU_INTERP_SHAPE_SAME:                                                        \
			for (unsigned k = 0; k < n; k++) {                                         \
				R value = (R)(V)((const M *)at.base)[k];                           \
				R *to = ROW(w, in->x[k]);                                          \
                                                                                                   \
				if (w->mask == SLU_INTERP_ALL)                                     \
					EVERY_LANE to[i] = value;                                  \
				else                                                               \
					MASKED_LANES(w->mask) to[i] = value;                       \
			}                                                                          \
			return in + 1;                                                             \
		case SLU_INTERP_SHAPE_APART:                                                       \
			for (unsigned k = 0; k < n; k++) {                                         \
				R *to = ROW(w, in->x[k]);                                          \
                                                                                                   \
				if (w->mask == SLU_INTERP_ALL) {                                   \
					for (unsigned i = 0; i < SLU_INTERP_LANES; i++)            \
						to[i] = (R)(V)((const M *)slu_interp_place(&at,    \
											   i))[k]; \
				} else {                                                           \
					MASKED_LANES(w->mask)                                      \
					to[i] = (R)(V)((const M *)slu_interp_place(&at, i))[k];    \
				}                                                                  \
			}                                                                          \
			return in + 1;                                                             \
		}                                                                                  \
		return NULL;                                                                       \
	}                                                                                          \
	/* 32 lanes that are no line, or not in one window, or wrong */                            \
	__attribute__((noinline)) static const struct slu_interp_insn *name##_apart(               \
		struct slu_interp_warp *w, const struct slu_interp_insn *in)                       \
	{                                                                                          \
		slu_interp_line_need(w->rows, in->a);                                              \
		wrote_rows(w, in);                                                                 \
		return name##_some(w, in);                                                         \
	}                                                                                          \
	static const struct slu_interp_insn *name##_any_all(struct slu_interp_warp *w,             \
							    const struct slu_interp_insn *in)      \
	{                                                                                          \
		unsigned n = in->n;                                                                \
		uint8_t *first, *second = NULL;                                                    \
                                                                                                   \
		switch (halves(w, in, (unsigned)sizeof(M) * n, false, &first, &second)) {          \
		case SLU_INTERP_HALVES_PIECE:                                                      \
			for (unsigned k = 0; k < n; k++) {                                         \
				const M *from = (const M *)first + k;                              \
				R *to = ROW(w, in->x[k]);                                          \
                                                                                                   \
				EVERY_LANE to[i] = (R)(V)from[i * n];                              \
			}                                                                          \
			return wrote_rows(w, in);                                                  \
		case SLU_INTERP_HALVES_PIECES:                                                     \
			for (unsigned k = 0; k < n; k++) {                                         \
				const M *from = (const M *)first + k;                              \
				const M *more = (const M *)second + k;                             \
				R *to = ROW(w, in->x[k]);                                          \
                                                                                                   \
				HALF_OF_LANES to[i] = (R)(V)from[i * n];                           \
				to += SLU_INTERP_HALF;                                             \
				HALF_OF_LANES to[i] = (R)(V)more[i * n];                           \
			}                                                                          \
			return wrote_rows(w, in);                                                  \
		case SLU_INTERP_HALVES_SAME:                                                       \
			second = first;                                                            \
			/* fall through */                                                         \
		case SLU_INTERP_HALVES_SAMES:                                                      \
			for (unsigned k = 0; k < n; k++) {                                         \
				R value = (R)(V)((const M *)first)[k];                             \
				R other = (R)(V)((const M *)second)[k];                            \
				R *to = ROW(w, in->x[k]);                                          \
                                                                                                   \
				if (in->has_line_result) {                                         \
					put_pair(w, in->x[k], value, other);                       \
					continue;                                                  \
				}                                                                  \
				HALF_OF_LANES to[i] = value;                                       \
				to += SLU_INTERP_HALF;                                             \
				HALF_OF_LANES to[i] = other;                                       \
			}                                                                          \
			return in + 1;                                                             \
		default:                                                                           \
			return name##_apart(w, in);                                                \
		}                                                                                  \
	}                                                                                          \
	LOAD_HALVES(name, R, M, V, global, false)                                                  \
	LOAD_PIECE(name, R, M, V)                                                                  \
	LOAD_HALVES(name, R, M, V, shared, true)                                                   \
	static const struct slu_interp_handler name[] = {                                          \
		[ANY] = { name##_any_all, name##_some },                                           \
		[GLOBAL] = { name##_global_all, name##_some },                                     \
		[SHARED] = { name##_shared_halves, name##_some },                                  \
	};

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

const struct slu_interp_handler *SLU_ISA(bind_load)(const struct slu_ptx_form *form,
						    const struct slu_interp_insn *in)
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
