/* SPDX-License-Identifier: Apache-2.0 */
/* Integer arithmetic; what works on bits is in ops-bits.c. */
#include "softgpu/interp/isa.h"

/* name, row, value, unsigned value, as wide as a result of mul.wide */
#define EACH_INT(X)                                                  \
	X(u16, U16, uint32_t, uint16_t, uint16_t, uint32_t)          \
	X(u32, U32, uint32_t, uint32_t, uint32_t, uint64_t)          \
	X(u64, U64, uint64_t, uint64_t, uint64_t, unsigned __int128) \
	X(s16, S16, uint32_t, int16_t, uint16_t, int32_t)            \
	X(s32, S32, uint32_t, int32_t, uint32_t, int64_t)            \
	X(s64, S64, uint64_t, int64_t, uint64_t, __int128)

#define BITS_OF(U) (sizeof(U) * 8)

/* arithmetic is done unsigned, where overflow is defined; 16 bits would be promoted to int */
#define DEFINE_INT(n, T, R, V, U, W)                                                          \
	OP2(add_##n, R, U, R, U, (uint64_t)a + b)                                             \
	OP2(sub_##n, R, U, R, U, (uint64_t)a - b)                                             \
	OP2(mul_lo_##n, R, U, R, U, (R)a *(R)b)                                               \
	OP2(mul_hi_##n, R, U, R, V, (U)(((W)a * (W)b) >> BITS_OF(U)))                         \
	OP3(mad_lo_##n, R, U, R, U, (R)a *(R)b + c)                                           \
	OP3(mad_hi_##n, R, U, R, V, (uint64_t)(U)(((W)a * (W)b) >> BITS_OF(U)) + (U)c)        \
	OP3(sad_##n, R, U, R, V,                                                              \
	    (uint64_t)(U)c + (a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a)) \
	OP2(min_##n, R, U, R, V, a < b ? a : b)                                               \
	OP2(max_##n, R, U, R, V, a > b ? a : b)                                               \
	OP2(div_##n, R, U, R, V, div_lane_##n(a, b))                                          \
	OP2(rem_##n, R, U, R, V, rem_lane_##n(a, b))

/* division by zero gives all ones; the one signed quotient that does not fit wraps */
#define DEFINE_DIV(n, T, R, V, U, W)                 \
	static inline U div_lane_##n(V a, V b)       \
	{                                            \
		if (!b)                              \
			return (U)-1;                \
		if ((V)-1 < (V)1 && b == (V)-1)      \
			return (U)(0 - (uint64_t)a); \
		return (U)(a / b);                   \
	}                                            \
	static inline U rem_lane_##n(V a, V b)       \
	{                                            \
		if (!b)                              \
			return (U)a;                 \
		if ((V)-1 < (V)1 && b == (V)-1)      \
			return 0;                    \
		return (U)(a % b);                   \
	}
EACH_INT(DEFINE_DIV)
EACH_INT(DEFINE_INT)

OP2(mul_wide_u16, uint32_t, uint32_t, uint32_t, uint16_t, (uint32_t)a *b)
OP2(mul_wide_s16, uint32_t, uint32_t, uint32_t, int16_t, (int32_t)a *b)
OP2(mul_wide_u32, uint64_t, uint64_t, uint32_t, uint32_t, (uint64_t)a *b)
OP2(mul_wide_s32, uint64_t, uint64_t, uint32_t, int32_t, (int64_t)a *b)

/* the third operand of mad.wide is as wide as the result */
#define MAD_WIDE(n, RD, V, expr)                                                                   \
	static const struct dev_interp_insn *mad_wide_##n##_all(struct dev_interp_warp *w,         \
								const struct dev_interp_insn *in)  \
	{                                                                                          \
		RD *pd = ROW(w, in->d);                                                            \
		const uint32_t *pa = ROW(w, in->a), *pb = ROW(w, in->b);                           \
		const RD *pc = ROW(w, in->c);                                                      \
                                                                                                   \
		EVERY_STRIP                                                                        \
		{                                                                                  \
			EVERY_LANE                                                                 \
			{                                                                          \
				V a = (V)pa[i], b = (V)pb[i];                                      \
				pd[i] = (RD)(expr) + pc[i];                                        \
			}                                                                          \
			NEXT_STRIP(pd), NEXT_STRIP(pa), NEXT_STRIP(pb), NEXT_STRIP(pc);            \
		}                                                                                  \
		return in + 1;                                                                     \
	}                                                                                          \
	static const struct dev_interp_insn *mad_wide_##n##_some(struct dev_interp_warp *w,        \
								 const struct dev_interp_insn *in) \
	{                                                                                          \
		RD *pd = ROW(w, in->d);                                                            \
		const uint32_t *pa = ROW(w, in->a), *pb = ROW(w, in->b);                           \
		const RD *pc = ROW(w, in->c);                                                      \
                                                                                                   \
		MASKED_LANES(w->mask)                                                              \
		{                                                                                  \
			V a = (V)pa[i], b = (V)pb[i];                                              \
			pd[i] = (RD)(expr) + pc[i];                                                \
		}                                                                                  \
		return in + 1;                                                                     \
	}                                                                                          \
	static const struct dev_interp_handler mad_wide_##n = { mad_wide_##n##_all,                \
								mad_wide_##n##_some, true };
MAD_WIDE(u16, uint32_t, uint16_t, (uint32_t)a *b)
MAD_WIDE(s16, uint32_t, int16_t, (int32_t)a *b)
MAD_WIDE(u32, uint64_t, uint32_t, (uint64_t)a *b)
MAD_WIDE(s32, uint64_t, int32_t, (int64_t)a *b)

static inline int32_t clamp_s32(int64_t x)
{
	return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}

OP2(add_sat_s32, uint32_t, uint32_t, uint32_t, int32_t, clamp_s32((int64_t)a + b))
OP2(sub_sat_s32, uint32_t, uint32_t, uint32_t, int32_t, clamp_s32((int64_t)a - b))
OP3(mad_hi_sat_s32, uint32_t, uint32_t, uint32_t, int32_t, clamp_s32((((int64_t)a * b) >> 32) + c))

/* 24 bits: the upper 8 of the operands do not count */
#define LOW24_u32(x) ((uint64_t)((x)&0xffffff))
#define LOW24_s32(x) ((int64_t)((int32_t)((uint32_t)(x) << 8) >> 8))
OP2(mul24_lo_u32, uint32_t, uint32_t, uint32_t, uint32_t, LOW24_u32(a) * LOW24_u32(b))
OP2(mul24_hi_u32, uint32_t, uint32_t, uint32_t, uint32_t, (LOW24_u32(a) * LOW24_u32(b)) >> 16)
OP2(mul24_lo_s32, uint32_t, uint32_t, uint32_t, int32_t, LOW24_s32(a) * LOW24_s32(b))
OP2(mul24_hi_s32, uint32_t, uint32_t, uint32_t, int32_t, (LOW24_s32(a) * LOW24_s32(b)) >> 16)
OP3(mad24_lo_u32, uint32_t, uint32_t, uint32_t, uint32_t, LOW24_u32(a) * LOW24_u32(b) + c)
OP3(mad24_hi_u32, uint32_t, uint32_t, uint32_t, uint32_t, ((LOW24_u32(a) * LOW24_u32(b)) >> 16) + c)
OP3(mad24_lo_s32, uint32_t, uint32_t, uint32_t, int32_t, LOW24_s32(a) * LOW24_s32(b) + c)
OP3(mad24_hi_s32, uint32_t, uint32_t, uint32_t, int32_t, ((LOW24_s32(a) * LOW24_s32(b)) >> 16) + c)
OP3(mad24_hi_sat_s32, uint32_t, uint32_t, uint32_t, int32_t,
    clamp_s32(((LOW24_s32(a) * LOW24_s32(b)) >> 16) + c))

#define DEFINE_SIGNED(n, T, R, V, U)                                    \
	OP1(abs_##n, R, U, R, V, a < 0 ? 0 - (uint64_t)a : (uint64_t)a) \
	OP1(neg_##n, R, U, R, V, 0 - (uint64_t)a)
DEFINE_SIGNED(s16, S16, uint32_t, int16_t, uint16_t)
DEFINE_SIGNED(s32, S32, uint32_t, int32_t, uint32_t)
DEFINE_SIGNED(s64, S64, uint64_t, int64_t, uint64_t)

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)
#define TABLE(op)                                                                       \
	static const struct dev_interp_handler *const table_##op[_SLU_PTX_TYPE_MAX] = { \
		[SLU_PTX_TYPE_U16] = &op##_u16, [SLU_PTX_TYPE_U32] = &op##_u32,         \
		[SLU_PTX_TYPE_U64] = &op##_u64, [SLU_PTX_TYPE_S16] = &op##_s16,         \
		[SLU_PTX_TYPE_S32] = &op##_s32, [SLU_PTX_TYPE_S64] = &op##_s64,         \
	};
#define TABLE_SIGNED(op)                                                                \
	static const struct dev_interp_handler *const table_##op[_SLU_PTX_TYPE_MAX] = { \
		[SLU_PTX_TYPE_S16] = &op##_s16,                                         \
		[SLU_PTX_TYPE_S32] = &op##_s32,                                         \
		[SLU_PTX_TYPE_S64] = &op##_s64,                                         \
	};
#define TABLE_WIDE(op)                                                                  \
	static const struct dev_interp_handler *const table_##op[_SLU_PTX_TYPE_MAX] = { \
		[SLU_PTX_TYPE_U16] = &op##_u16,                                         \
		[SLU_PTX_TYPE_U32] = &op##_u32,                                         \
		[SLU_PTX_TYPE_S16] = &op##_s16,                                         \
		[SLU_PTX_TYPE_S32] = &op##_s32,                                         \
	};
TABLE(add)
TABLE(sub)
TABLE(mul_lo)
TABLE(mul_hi)
TABLE(mad_lo)
TABLE(mad_hi)
TABLE(sad)
TABLE(min)
TABLE(max)
TABLE(div)
TABLE(rem)
TABLE_WIDE(mul_wide)
TABLE_WIDE(mad_wide)
TABLE_SIGNED(abs)
TABLE_SIGNED(neg)

const struct dev_interp_handler *DEV_ISA(int_bind)(const struct slu_ptx_form *form)
{
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	bool is_s32 = type == SLU_PTX_TYPE_S32;

	switch (form->opcode) {
	case SLU_PTX_OP_add:
		return HAS(sat) ? &add_sat_s32 : table_add[type];
	case SLU_PTX_OP_sub:
		return HAS(sat) ? &sub_sat_s32 : table_sub[type];
	case SLU_PTX_OP_mul:
		return HAS(wide) ? table_mul_wide[type]
		       : HAS(hi) ? table_mul_hi[type]
				 : table_mul_lo[type];
	case SLU_PTX_OP_mad:
		return HAS(sat)	   ? &mad_hi_sat_s32
		       : HAS(wide) ? table_mad_wide[type]
		       : HAS(hi)   ? table_mad_hi[type]
				   : table_mad_lo[type];
	case SLU_PTX_OP_mul24:
		return HAS(hi) ? (is_s32 ? &mul24_hi_s32 : &mul24_hi_u32)
			       : (is_s32 ? &mul24_lo_s32 : &mul24_lo_u32);
	case SLU_PTX_OP_mad24:
		if (HAS(sat))
			return &mad24_hi_sat_s32;
		return HAS(hi) ? (is_s32 ? &mad24_hi_s32 : &mad24_hi_u32)
			       : (is_s32 ? &mad24_lo_s32 : &mad24_lo_u32);
	case SLU_PTX_OP_sad:
		return table_sad[type];
	case SLU_PTX_OP_div:
		return table_div[type];
	case SLU_PTX_OP_rem:
		return table_rem[type];
	case SLU_PTX_OP_abs:
		return table_abs[type];
	case SLU_PTX_OP_neg:
		return table_neg[type];
	case SLU_PTX_OP_min:
		return table_min[type];
	case SLU_PTX_OP_max:
		return table_max[type];
	default:
		return DEV_ISA(bits_bind)(form);
	}
}
