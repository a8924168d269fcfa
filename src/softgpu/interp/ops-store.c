/* SPDX-License-Identifier: Apache-2.0 */
/* Stores: the other way of ops-load.c. Of lanes that write to one place, the last one wins. */
#include "softgpu/interp/access.h"

static inline unsigned last_lane(const struct slu_interp_warp *w)
{
	return 31 - (unsigned)__builtin_clz(w->mask);
}

#define WRITE(w, offset, bytes, size, is_shared) \
	piece(w, offset, bytes, size, is_shared, SLU_INTERP_WRITE)
#define STORE_HALVES(name, R, M, where, is_shared)                                              \
	ELSEWHERE static const struct slu_interp_insn *name##_##where##_halves(                 \
		struct slu_interp_warp *w, const struct slu_interp_insn *in)                    \
	{                                                                                       \
		const struct slu_interp_line *line = slu_interp_line(w->rows, in->a);           \
		uint64_t offset = offset_of(w, in, line, is_shared);                            \
		unsigned bytes = sizeof(M) * SLU_INTERP_HALF;                                   \
		const R *from = ROW(w, in->x[0]), *upper = from + SLU_INTERP_HALF;              \
		M *to = WRITE(w, offset, bytes, sizeof(M), is_shared);                          \
		M *more = WRITE(w, offset + (uint64_t)line->jump, bytes, sizeof(M), is_shared); \
                                                                                                \
		if (!is_simple(line, sizeof(M)) || !line->step || !to || !more)                 \
			return name##_any_all(w, in);                                           \
		slu_interp_line_need(w->rows, in->x[0]);                                        \
		HALF_OF_LANES to[i] = (M)from[i];                                               \
		HALF_OF_LANES more[i] = (M)upper[i];                                            \
		NEXT(w, in);                                                                    \
	}

#define STORE_PIECE(name, R, M)                                                                  \
	static const struct slu_interp_insn *name##_global_all(struct slu_interp_warp *w,        \
							       const struct slu_interp_insn *in) \
	{                                                                                        \
		struct slu_interp_line *line = slu_interp_line(w->rows, in->a);                  \
		const R *from = ROW(w, in->x[0]);                                                \
		M *to;                                                                           \
                                                                                                 \
		if (!is_piece(line, sizeof(M)))                                                  \
			return name##_global_halves(w, in);                                      \
		to = WRITE(w, offset_of(w, in, line, false), sizeof(M) * SLU_INTERP_LANES,       \
			   sizeof(M), false);                                                    \
		if (!to)                                                                         \
			return name##_any_all(w, in);                                            \
		slu_interp_line_need(w->rows, in->x[0]);                                         \
		EVERY_LANE to[i] = (M)from[i];                                                   \
		look_ahead(w, line, to, sizeof(M) * SLU_INTERP_LANES);                           \
		NEXT(w, in);                                                                     \
	}

#define STORE(name, R, M)                                                                        \
	static const struct slu_interp_insn *name##_some(struct slu_interp_warp *w,              \
							 const struct slu_interp_insn *in)       \
	{                                                                                        \
		struct slu_interp_places at;                                                     \
		unsigned n = in->n;                                                              \
                                                                                                 \
		switch (SLU_ISA(reach)(w, in, (unsigned)sizeof(M) * n, true, &at)) {             \
		case SLU_INTERP_SHAPE_FAULT:                                                     \
			return NULL;                                                             \
		case SLU_INTERP_SHAPE_PIECE:                                                     \
			if (n == 1) {                                                            \
				M *to = (M *)at.base;                                            \
				const R *from = ROW(w, in->x[0]);                                \
                                                                                                 \
				EVERY_LANE to[i] = (M)from[i];                                   \
				return in + 1;                                                   \
			}                                                                        \
			for (unsigned k = 0; k < n; k++) {                                       \
				M *to = (M *)at.base + k;                                        \
				const R *from = ROW(w, in->x[k]);                                \
                                                                                                 \
				EVERY_LANE to[i * n] = (M)from[i];                               \
			}                                                                        \
			return in + 1;                                                           \
		case SLU_INTERP_SHAPE_SAME:                                                      \
			/* one of them wins: the last */                                         \
			for (unsigned k = 0; k < n; k++)                                         \
				((M *)at.base)[k] =                                              \
					(M)((const R *)ROW(w, in->x[k]))[last_lane(w)];          \
			return in + 1;                                                           \
		case SLU_INTERP_SHAPE_APART:                                                     \
			for (unsigned k = 0; k < n; k++) {                                       \
				const R *from = ROW(w, in->x[k]);                                \
                                                                                                 \
				if (w->mask == SLU_INTERP_ALL) {                                 \
					for (unsigned i = 0; i < SLU_INTERP_LANES; i++)          \
						((M *)slu_interp_place(&at, i))[k] = (M)from[i]; \
				} else {                                                         \
					MASKED_LANES(w->mask)                                    \
					((M *)slu_interp_place(&at, i))[k] = (M)from[i];         \
				}                                                                \
			}                                                                        \
			return in + 1;                                                           \
		}                                                                                \
		return NULL;                                                                     \
	}                                                                                        \
	__attribute__((noinline)) static const struct slu_interp_insn *name##_apart(             \
		struct slu_interp_warp *w, const struct slu_interp_insn *in)                     \
	{                                                                                        \
		slu_interp_line_need(w->rows, in->a);                                            \
		return name##_some(w, in);                                                       \
	}                                                                                        \
	static const struct slu_interp_insn *name##_any_all(struct slu_interp_warp *w,           \
							    const struct slu_interp_insn *in)    \
	{                                                                                        \
		unsigned n = in->n;                                                              \
		uint8_t *first, *second = NULL;                                                  \
                                                                                                 \
		for (unsigned k = 0; k < n; k++)                                                 \
			slu_interp_line_need(w->rows, in->x[k]);                                 \
		switch (halves(w, in, (unsigned)sizeof(M) * n, true, &first, &second)) {         \
		case SLU_INTERP_HALVES_PIECE:                                                    \
			second = first + sizeof(M) * n * SLU_INTERP_HALF;                        \
			/* fall through */                                                       \
		case SLU_INTERP_HALVES_PIECES:                                                   \
			for (unsigned k = 0; k < n; k++) {                                       \
				M *to = (M *)first + k;                                          \
				const R *from = ROW(w, in->x[k]);                                \
                                                                                                 \
				HALF_OF_LANES to[i * n] = (M)from[i];                            \
			}                                                                        \
			for (unsigned k = 0; k < n; k++) {                                       \
				M *to = (M *)second + k;                                         \
				const R *from = (const R *)ROW(w, in->x[k]) + SLU_INTERP_HALF;   \
                                                                                                 \
				HALF_OF_LANES to[i * n] = (M)from[i];                            \
			}                                                                        \
			return in + 1;                                                           \
		case SLU_INTERP_HALVES_SAME:                                                     \
			second = first;                                                          \
			/* fall through */                                                       \
		case SLU_INTERP_HALVES_SAMES:                                                    \
			/* one of them wins: the last */                                         \
			for (unsigned k = 0; k < n; k++)                                         \
				((M *)first)[k] =                                                \
					(M)((const R *)ROW(w, in->x[k]))[SLU_INTERP_HALF - 1];   \
			for (unsigned k = 0; k < n; k++)                                         \
				((M *)second)[k] =                                               \
					(M)((const R *)ROW(w, in->x[k]))[SLU_INTERP_LANES - 1];  \
			return in + 1;                                                           \
		default:                                                                         \
			return name##_apart(w, in);                                              \
		}                                                                                \
	}                                                                                        \
	STORE_HALVES(name, R, M, global, false)                                                  \
	STORE_PIECE(name, R, M)                                                                  \
	STORE_HALVES(name, R, M, shared, true)                                                   \
	static const struct slu_interp_handler name[] = {                                        \
		[ANY] = { name##_any_all, name##_some },                                         \
		[GLOBAL] = { name##_global_all, name##_some },                                   \
		[SHARED] = { name##_shared_halves, name##_some },                                \
	};

STORE(store_8_32, uint32_t, uint8_t)
STORE(store_16_32, uint32_t, uint16_t)
STORE(store_32_32, uint32_t, uint32_t)
STORE(store_8_64, uint64_t, uint8_t)
STORE(store_16_64, uint64_t, uint16_t)
STORE(store_32_64, uint64_t, uint32_t)
STORE(store_64_64, uint64_t, uint64_t)

const struct slu_interp_handler *SLU_ISA(bind_store)(const struct slu_ptx_form *form,
						     const struct slu_interp_insn *in)
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
