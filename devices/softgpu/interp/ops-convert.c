/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cvt as it mostly is: one handler for each of the pairs of types that programs are full of. The
 * others are in ops-convert-any.c.
 */
#include <math.h>

#include "softgpu/interp/half.h"
#include "softgpu/interp/isa.h"

/*
 * From @VS in a row @RS to @VD in a row @RD: @expr of a, as the type @VD; the row gets it through
 * @X, the type as wide as the row with the destination's sign.
 */
#define CVT(name, RD, X, RS, VS, expr)                                                     \
	static const struct dev_interp_insn *name##_all(struct dev_interp_warp *w,         \
							const struct dev_interp_insn *in)  \
	{                                                                                  \
		RD *pd = ROW(w, in->d);                                                    \
		const RS *pa = ROW(w, in->a);                                              \
                                                                                           \
		EVERY_STRIP                                                                \
		{                                                                          \
			EVERY_LANE                                                         \
			{                                                                  \
				VS a = (VS)pa[i];                                          \
                                                                                           \
				pd[i] = (RD)(X)(expr);                                     \
			}                                                                  \
			NEXT_STRIP(pd), NEXT_STRIP(pa);                                    \
		}                                                                          \
		return in + 1;                                                             \
	}                                                                                  \
	static const struct dev_interp_insn *name##_some(struct dev_interp_warp *w,        \
							 const struct dev_interp_insn *in) \
	{                                                                                  \
		RD *pd = ROW(w, in->d);                                                    \
		const RS *pa = ROW(w, in->a);                                              \
                                                                                           \
		MASKED_LANES(w->mask)                                                      \
		{                                                                          \
			VS a = (VS)pa[i];                                                  \
                                                                                           \
			pd[i] = (RD)(X)(expr);                                             \
		}                                                                          \
		return in + 1;                                                             \
	}                                                                                  \
	static const struct dev_interp_handler name = { name##_all, name##_some, true };

CVT(s32_s64, uint64_t, int64_t, uint32_t, int32_t, a)
CVT(u32_u64, uint64_t, uint64_t, uint32_t, uint32_t, a)
CVT(u64_u32, uint32_t, uint32_t, uint64_t, uint64_t, a)
CVT(u32_u16, uint32_t, uint32_t, uint32_t, uint16_t, a)
CVT(u32_s16, uint32_t, int32_t, uint32_t, int16_t, a)
CVT(u32_u8, uint32_t, uint32_t, uint32_t, uint8_t, a)
CVT(u32_s8, uint32_t, int32_t, uint32_t, int8_t, a)
CVT(u64_u16, uint64_t, uint64_t, uint32_t, uint16_t, a)

/* whatever is no number is the one NaN of f32 */
static inline uint32_t bits_of(double x)
{
	float f = (float)x;
	uint32_t bits;

	memcpy(&bits, &f, 4);
	return f != f ? 0x7fffffff : bits;
}

CVT(s32_f32, float, float, uint32_t, int32_t, (float)a)
CVT(s32_f64, double, double, uint32_t, int32_t, (double)a)
CVT(u32_f32, float, float, uint32_t, uint32_t, (float)(int64_t)a)
CVT(u32_f64, double, double, uint32_t, uint32_t, (double)(int64_t)a)
CVT(u16_f32, float, float, uint32_t, uint16_t, (float)(int32_t)a)
CVT(s16_f32, float, float, uint32_t, int16_t, (float)a)
CVT(f32_f64, double, double, float, float, (double)a)
CVT(f64_f32, uint32_t, uint32_t, double, double, bits_of(a))

/* f32 to 32-bit integers, where most conversions are: a float's range is clamped in double */
static inline int32_t clamp_s32(double x)
{
	return x != x ? 0 : x <= INT32_MIN ? INT32_MIN : x >= INT32_MAX ? INT32_MAX : (int32_t)x;
}

CVT(f32_s32_rzi, uint32_t, uint32_t, float, float, clamp_s32(truncf(a)))
CVT(f32_s32_rni, uint32_t, uint32_t, float, float, clamp_s32(rintf(a)))
CVT(f32_s32_rmi, uint32_t, uint32_t, float, float, clamp_s32(floorf(a)))

/* f16 in, f32 out: exact, and frequent where there are halves at all */
CVT(f16_f32, float, float, uint32_t, uint16_t, dev_half_to_float(a, false))

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)

/* The pairs that programs are full of, when the registers are as wide as the types. */
static const struct dev_interp_handler *bind_fast(const struct slu_ptx_form *form, bool to_is_wide,
						  bool from_is_wide)
{
	enum slu_ptx_type to = (enum slu_ptx_type)form->types[0];
	enum slu_ptx_type from = (enum slu_ptx_type)form->types[1];
	unsigned to_size = slu_ptx_type_size(to), from_size = slu_ptx_type_size(from);

	if (HAS(sat) || to_is_wide != (to_size == 8) || from_is_wide != (from_size == 8))
		return NULL;
	if (slu_ptx_type_is_float(to) && !slu_ptx_type_is_float(from)) {
		if (to == SLU_PTX_TYPE_F32)
			return from == SLU_PTX_TYPE_S32	  ? &s32_f32
			       : from == SLU_PTX_TYPE_U32 ? &u32_f32
			       : from == SLU_PTX_TYPE_S16 ? &s16_f32
			       : from == SLU_PTX_TYPE_U16 ? &u16_f32
							  : NULL;
		if (to == SLU_PTX_TYPE_F64)
			return from == SLU_PTX_TYPE_S32	  ? &s32_f64
			       : from == SLU_PTX_TYPE_U32 ? &u32_f64
							  : NULL;
		return NULL;
	}
	if (slu_ptx_type_is_float(from)) {
		if (HAS(ftz))
			return NULL;
		if (to == SLU_PTX_TYPE_F64 && from == SLU_PTX_TYPE_F32)
			return &f32_f64;
		if (to == SLU_PTX_TYPE_F32 && from == SLU_PTX_TYPE_F64)
			return &f64_f32;
		if (to == SLU_PTX_TYPE_F32 && from == SLU_PTX_TYPE_F16)
			return &f16_f32;
		if (to == SLU_PTX_TYPE_S32 && from == SLU_PTX_TYPE_F32)
			return HAS(rzi)	  ? &f32_s32_rzi
			       : HAS(rni) ? &f32_s32_rni
			       : HAS(rmi) ? &f32_s32_rmi
					  : NULL;
		return NULL;
	}
	if (to_size == 8)
		return from == SLU_PTX_TYPE_S32	  ? &s32_s64
		       : from == SLU_PTX_TYPE_U32 ? &u32_u64
		       : from == SLU_PTX_TYPE_U16 ? &u64_u16
						  : NULL;
	if (to_size == 4)
		return from_size == 8		  ? &u64_u32
		       : from == SLU_PTX_TYPE_U16 ? &u32_u16
		       : from == SLU_PTX_TYPE_S16 ? &u32_s16
		       : from == SLU_PTX_TYPE_U8  ? &u32_u8
		       : from == SLU_PTX_TYPE_S8  ? &u32_s8
						  : NULL;
	return NULL;
}

const struct dev_interp_handler *DEV_ISA(convert_bind)(const struct slu_ptx_form *form,
						       bool to_is_wide, bool from_is_wide)
{
	const struct dev_interp_handler *h = bind_fast(form, to_is_wide, from_is_wide);

	if (form->types[0] == SLU_PTX_TYPE_F16X2 || form->types[0] == SLU_PTX_TYPE_BF16X2)
		return &DEV_ISA(convert_pair);
	return h ? h : &DEV_ISA(convert_any);
}
