/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and stores. Where the lanes' places are comes from memory.c; here bytes become rows and
 * back. A narrow value is extended by its own sign into the register, whatever its width.
 *
 * Ordered forms (.volatile, .relaxed, .acquire, .release) use the same plain moves: an aligned
 * access of up to 8 bytes is one access on this machine and its order is strong enough; that the
 * compiler keeps it is ensured by the call through a pointer.
 */
#include "softgpu/interp/isa.h"
#include "softgpu/interp/memory.h"

#define LOAD(name, R, M, V)                                                                        \
	static const struct slu_interp_insn *name##_run(struct slu_interp_warp *w,                 \
							const struct slu_interp_insn *in)          \
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
	static const struct slu_interp_handler name = { name##_run, name##_run };

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

#define STORE(name, R, M)                                                                        \
	static const struct slu_interp_insn *name##_run(struct slu_interp_warp *w,               \
							const struct slu_interp_insn *in)        \
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
	static const struct slu_interp_handler name = { name##_run, name##_run };

static inline unsigned last_lane(const struct slu_interp_warp *w)
{
	return 31 - (unsigned)__builtin_clz(w->mask);
}

STORE(store_8_32, uint32_t, uint8_t)
STORE(store_16_32, uint32_t, uint16_t)
STORE(store_32_32, uint32_t, uint32_t)
STORE(store_8_64, uint64_t, uint8_t)
STORE(store_16_64, uint64_t, uint16_t)
STORE(store_32_64, uint64_t, uint32_t)
STORE(store_64_64, uint64_t, uint64_t)

static const struct slu_interp_handler *bind_load(const struct slu_ptx_form *form, bool is_wide,
						  bool is_half)
{
	bool is_signed = slu_ptx_type_is_signed((enum slu_ptx_type)form->types[0]);

	switch (slu_ptx_type_size((enum slu_ptx_type)form->types[0])) {
	case 1:
		if (is_wide)
			return is_signed ? &load_s8_64 : &load_u8_64;
		/* a 16-bit register keeps zeroes above its value */
		return !is_signed ? &load_u8_32 : is_half ? &load_s8_16 : &load_s8_32;
	case 2:
		if (is_wide)
			return is_signed ? &load_s16_64 : &load_u16_64;
		return is_signed && !is_half ? &load_s16_32 : &load_u16_32;
	case 4:
		if (is_wide)
			return is_signed && form->types[0] != SLU_PTX_TYPE_F32 ? &load_s32_64
									       : &load_u32_64;
		return &load_32_32;
	default:
		return &load_64_64;
	}
}

static const struct slu_interp_handler *bind_store(const struct slu_ptx_form *form, bool is_wide)
{
	switch (slu_ptx_type_size((enum slu_ptx_type)form->types[0])) {
	case 1:
		return is_wide ? &store_8_64 : &store_8_32;
	case 2:
		return is_wide ? &store_16_64 : &store_16_32;
	case 4:
		return is_wide ? &store_32_64 : &store_32_32;
	default:
		return &store_64_64;
	}
}

const struct slu_interp_handler *SLU_ISA(bind_memory)(const struct slu_ptx_form *form,
						      bool is_wide_row, bool is_half_row)
{
	return form->row->family == SLU_PTX_FAMILY_LOAD ? bind_load(form, is_wide_row, is_half_row)
							: bind_store(form, is_wide_row);
}
