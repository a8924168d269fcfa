/* SPDX-License-Identifier: Apache-2.0 */
/* Stores: the other way of ops-load.c. Of lanes that write to one place, the last one wins. */
#include "softgpu/interp/access.h"

static inline unsigned last_lane(const struct dev_interp_warp *w)
{
	return 31 - (unsigned)__builtin_clz(w->mask);
}

#define WANT			 DEV_INTERP_WRITE
#define MOVE(row, cell, R, M, V) ((cell) = (M)(row))
#define READY(w, in)		 dev_interp_line_need(w, in->x[0])
#define SAME(w, in, at, R, M, V)             \
	for (unsigned k = 0; k < in->n; k++) \
		((M *)(at))[k] = (M)((const R *)ROW(w, in->x[k]))[last_lane(w)];

#define STORE_HALVES(name, R, M, where, is_shared)                                                \
	ELSEWHERE static const struct dev_interp_insn *name##_##where##_halves(                   \
		struct dev_interp_warp *w, const struct dev_interp_insn *in)                      \
	{                                                                                         \
		const struct dev_interp_line *line = dev_interp_line(w->lines, in->a);            \
		uint64_t offset = offset_of(w, in, line, is_shared), jump = (uint64_t)line->jump; \
		uint8_t *to = (uint8_t *)(window_of(w, is_shared) + offset);                      \
		const R *from = ROW(w, in->x[0]);                                                 \
                                                                                                  \
		if (!is_simple(line, sizeof(M)) || !line->step ||                                 \
		    !are_pieces(w, offset, jump, sizeof(M) * DEV_INTERP_HALF, sizeof(M),          \
				is_shared, DEV_INTERP_WRITE))                                     \
			return name##_any_all(w, in);                                             \
		dev_interp_line_need(w, in->x[0]);                                                \
		for (unsigned k = 0; k < w->team; k++, to += 2 * jump, NEXT_STRIP(from)) {        \
			M *lower = (M *)to, *upper = (M *)(to + jump);                            \
                                                                                                  \
			HALF_OF_LANES lower[i] = (M)from[i];                                      \
			HALF_OF_LANES upper[i] = (M)from[i + DEV_INTERP_HALF];                    \
		}                                                                                 \
		NEXT(w, in);                                                                      \
	}

#define STORE(name, R, M)                                                                          \
	ACCESS_SOME(name, R, M, R)                                                                 \
	/* one warp of a team */                                                                   \
	static inline void name##_strip(struct dev_interp_warp *w,                                 \
					const struct dev_interp_insn *in,                          \
					const struct reached *at, unsigned k)                      \
	{                                                                                          \
		unsigned n = in->n, strip = k * (DEV_INTERP_STRIP / sizeof(R));                    \
		bool are_pieces = at->shape[k] == DEV_INTERP_HALVES_PIECE ||                       \
				  at->shape[k] == DEV_INTERP_HALVES_PIECES;                        \
		M *second = at->shape[k] == DEV_INTERP_HALVES_PIECE                                \
				    ? (M *)at->first[k] + n * DEV_INTERP_HALF                      \
				    : (M *)at->second[k];                                          \
                                                                                                   \
		/* of lanes that write to one place, the last one wins */                          \
		for (unsigned h = 0; h < 2; h++)                                                   \
			for (unsigned e = 0; e < n; e++) {                                         \
				M *to = (h ? second : (M *)at->first[k]) + e;                      \
				const R *from =                                                    \
					(const R *)ROW(w, in->x[e]) + strip + h * DEV_INTERP_HALF; \
                                                                                                   \
				if (are_pieces)                                                    \
					HALF_OF_LANES to[i * n] = (M)from[i];                      \
				else                                                               \
					*to = (M)from[DEV_INTERP_HALF - 1];                        \
			}                                                                          \
	}                                                                                          \
	static const struct dev_interp_insn *name##_any_all(struct dev_interp_warp *w,             \
							    const struct dev_interp_insn *in)      \
	{                                                                                          \
		struct reached at;                                                                 \
                                                                                                   \
		for (unsigned e = 0; e < in->n; e++)                                               \
			dev_interp_line_need(w, in->x[e]);                                         \
		if (!reach_halves(w, in, (unsigned)sizeof(M) * in->n, true, &at))                  \
			return name##_apart(w, in);                                                \
		EVERY_STRIP name##_strip(w, in, &at, k);                                           \
		return in + 1;                                                                     \
	}                                                                                          \
	STORE_HALVES(name, R, M, global, false)                                                    \
	ACCESS_PIECE(name, R, M, R)                                                                \
	STORE_HALVES(name, R, M, shared, true)                                                     \
	ACCESS_HANDLERS(name)

STORE(store_8_32, uint32_t, uint8_t)
STORE(store_16_32, uint32_t, uint16_t)
STORE(store_32_32, uint32_t, uint32_t)
STORE(store_8_64, uint64_t, uint8_t)
STORE(store_16_64, uint64_t, uint16_t)
STORE(store_32_64, uint64_t, uint32_t)
STORE(store_64_64, uint64_t, uint64_t)

const struct dev_interp_handler *DEV_ISA(store_bind)(const struct slu_ptx_form *form,
						     const struct dev_interp_insn *in)
{
	enum access k = access_of(in);

	switch (slu_ptx_type_size((enum slu_ptx_type)form->types[0])) {
	case 1:
		return in->is_wide_row ? &store_8_64[k] : &store_8_32[k];
	case 2:
		return in->is_wide_row ? &store_16_64[k] : &store_16_32[k];
	case 4:
		return in->is_wide_row ? &store_32_64[k] : &store_32_32[k];
	default:
		return &store_64_64[k];
	}
}
