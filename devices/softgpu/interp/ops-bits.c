/* SPDX-License-Identifier: Apache-2.0 */
/* Bits: logic, shifts, fields, permutations. */
#include "softgpu/interp/isa.h"

#define BITS_OF(U) (sizeof(U) * 8)

#define DEFINE_BITS(n, T, R, U)         \
	OP2(and_##n, R, U, R, U, a &b)  \
	OP2(or_##n, R, U, R, U, a | b)  \
	OP2(xor_##n, R, U, R, U, a ^ b) \
	OP1(not_##n, R, U, R, U, ~a)    \
	OP1(cnot_##n, R, U, R, U, a ? 0 : 1)
DEFINE_BITS(b16, B16, uint32_t, uint16_t)
DEFINE_BITS(b32, B32, uint32_t, uint32_t)
DEFINE_BITS(b64, B64, uint64_t, uint64_t)

/* the count of a shift has 32 bits, whatever is shifted, and counts up to the width */
#define SHIFT(name, R, V, U, expr)                                                         \
	static const struct dev_interp_insn *name##_all(struct dev_interp_warp *w,         \
							const struct dev_interp_insn *in)  \
	{                                                                                  \
		R *pd = ROW(w, in->d);                                                     \
		const R *pa = ROW(w, in->a);                                               \
		const uint32_t *pb = ROW(w, in->b);                                        \
                                                                                           \
		EVERY_STRIP                                                                \
		{                                                                          \
			EVERY_LANE                                                         \
			{                                                                  \
				V a = (V)pa[i];                                            \
				uint32_t b = pb[i];                                        \
				pd[i] = (R)(U)(expr);                                      \
			}                                                                  \
			NEXT_STRIP(pd), NEXT_STRIP(pa), NEXT_STRIP(pb);                    \
		}                                                                          \
		return in + 1;                                                             \
	}                                                                                  \
	static const struct dev_interp_insn *name##_some(struct dev_interp_warp *w,        \
							 const struct dev_interp_insn *in) \
	{                                                                                  \
		R *pd = ROW(w, in->d);                                                     \
		const R *pa = ROW(w, in->a);                                               \
		const uint32_t *pb = ROW(w, in->b);                                        \
                                                                                           \
		MASKED_LANES(w->mask)                                                      \
		{                                                                          \
			V a = (V)pa[i];                                                    \
			uint32_t b = pb[i];                                                \
			pd[i] = (R)(U)(expr);                                              \
		}                                                                          \
		return in + 1;                                                             \
	}                                                                                  \
	static const struct dev_interp_handler name = { name##_all, name##_some, true };
#define COUNT(U) (b < BITS_OF(U) ? b : BITS_OF(U) - 1)
SHIFT(shl_b16, uint32_t, uint16_t, uint16_t, b < 16 ? (uint32_t)a << (b & 15) : 0)
SHIFT(shl_b32, uint32_t, uint32_t, uint32_t, b < 32 ? a << (b & 31) : 0)
SHIFT(shl_b64, uint64_t, uint64_t, uint64_t, b < 64 ? a << (b & 63) : 0)
SHIFT(shr_u16, uint32_t, uint16_t, uint16_t, b < 16 ? a >> (b & 15) : 0)
SHIFT(shr_u32, uint32_t, uint32_t, uint32_t, b < 32 ? a >> (b & 31) : 0)
SHIFT(shr_u64, uint64_t, uint64_t, uint64_t, b < 64 ? a >> (b & 63) : 0)
SHIFT(shr_s16, uint32_t, int16_t, uint16_t, a >> COUNT(uint16_t))
SHIFT(shr_s32, uint32_t, int32_t, uint32_t, a >> COUNT(uint32_t))
SHIFT(shr_s64, uint64_t, int64_t, uint64_t, a >> COUNT(uint64_t))

static inline uint32_t bits_reverse(uint32_t x)
{
	x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
	x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
	x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(x);
}

static inline uint32_t find_bit(uint64_t x, bool is_amount, unsigned width)
{
	uint32_t at;

	if (!x)
		return UINT32_MAX;
	at = 63 - (uint32_t)__builtin_clzll(x);
	return is_amount ? width - 1 - at : at;
}

OP1(popc_b32, uint32_t, uint32_t, uint32_t, uint32_t, __builtin_popcount(a))
OP1(popc_b64, uint32_t, uint32_t, uint64_t, uint64_t, __builtin_popcountll(a))
OP1(clz_b32, uint32_t, uint32_t, uint32_t, uint32_t, a ? __builtin_clz(a) : 32)
OP1(clz_b64, uint32_t, uint32_t, uint64_t, uint64_t, a ? __builtin_clzll(a) : 64)
OP1(brev_b32, uint32_t, uint32_t, uint32_t, uint32_t, bits_reverse(a))
OP1(brev_b64, uint64_t, uint64_t, uint64_t, uint64_t,
    (uint64_t)bits_reverse((uint32_t)a) << 32 | bits_reverse((uint32_t)(a >> 32)))
OP1(bfind_u32, uint32_t, uint32_t, uint32_t, uint32_t, find_bit(a, false, 32))
OP1(bfind_u64, uint32_t, uint32_t, uint64_t, uint64_t, find_bit(a, false, 64))
OP1(bfind_s32, uint32_t, uint32_t, uint32_t, int32_t,
    find_bit((uint32_t)(a < 0 ? ~a : a), false, 32))
OP1(bfind_s64, uint32_t, uint32_t, uint64_t, int64_t,
    find_bit((uint64_t)(a < 0 ? ~a : a), false, 64))
OP1(bfind_amount_u32, uint32_t, uint32_t, uint32_t, uint32_t, find_bit(a, true, 32))
OP1(bfind_amount_u64, uint32_t, uint32_t, uint64_t, uint64_t, find_bit(a, true, 64))
OP1(bfind_amount_s32, uint32_t, uint32_t, uint32_t, int32_t,
    find_bit((uint32_t)(a < 0 ? ~a : a), true, 32))
OP1(bfind_amount_s64, uint32_t, uint32_t, uint64_t, int64_t,
    find_bit((uint64_t)(a < 0 ? ~a : a), true, 64))

/* instructions with operands of several widths: one function a lane, rows read by hand */
#define LANE_FUNCTION(name, RD, body)                                                             \
	static inline RD name##_lane(struct dev_interp_warp *w, const struct dev_interp_insn *in, \
				     unsigned i)                                                  \
		body static const struct dev_interp_insn *name##_all(                             \
			struct dev_interp_warp *w, const struct dev_interp_insn *in)              \
	{                                                                                         \
		RD *pd = ROW(w, in->d);                                                           \
                                                                                                  \
		EVERY_STRIP                                                                       \
		{                                                                                 \
			for (unsigned i = 0; i < DEV_INTERP_LANES; i++)                           \
				pd[i] = name##_lane(&w[k], in, i);                                \
			NEXT_STRIP(pd);                                                           \
		}                                                                                 \
		return in + 1;                                                                    \
	}                                                                                         \
	static const struct dev_interp_insn *name##_some(struct dev_interp_warp *w,               \
							 const struct dev_interp_insn *in)        \
	{                                                                                         \
		RD *pd = ROW(w, in->d);                                                           \
                                                                                                  \
		MASKED_LANES(w->mask) pd[i] = name##_lane(w, in, i);                              \
		return in + 1;                                                                    \
	}                                                                                         \
	static const struct dev_interp_handler name = { name##_all, name##_some, true };
#define LANE_32(row) (((const uint32_t *)ROW(w, row))[i])
#define LANE_64(row) (((const uint64_t *)ROW(w, row))[i])

static inline uint64_t bits_field(uint64_t a, uint32_t at, uint32_t length, unsigned width,
				  bool is_signed)
{
	uint64_t msb, bit, value = 0;

	at &= 255;
	length &= 255;
	msb = width - 1;
	if (!is_signed || !length)
		bit = 0;
	else
		bit = a >> SLU_MIN((uint64_t)at + length - 1, msb) & 1;
	if (at < width && length)
		value = a >> at;
	if (width == 32)
		value &= UINT32_MAX;
	if (length < 64)
		value &= (UINT64_C(1) << length) - 1;
	/* above the field, and above the source, stands its sign */
	if (bit) {
		unsigned have = at < width ? SLU_MIN(length, width - at) : 0;

		if (have < 64)
			value |= UINT64_MAX << have;
	}
	return value;
}

LANE_FUNCTION(bfe_u32, uint32_t, {
	return (uint32_t)bits_field(LANE_32(in->a), LANE_32(in->b), LANE_32(in->c), 32, false);
})
LANE_FUNCTION(bfe_s32, uint32_t, {
	return (uint32_t)bits_field(LANE_32(in->a), LANE_32(in->b), LANE_32(in->c), 32, true);
})
LANE_FUNCTION(bfe_u64, uint64_t,
	      { return bits_field(LANE_64(in->a), LANE_32(in->b), LANE_32(in->c), 64, false); })
LANE_FUNCTION(bfe_s64, uint64_t,
	      { return bits_field(LANE_64(in->a), LANE_32(in->b), LANE_32(in->c), 64, true); })

static inline uint64_t bits_insert(uint64_t f, uint64_t a, uint32_t at, uint32_t length,
				   unsigned width)
{
	uint64_t mask;

	at &= 255;
	length &= 255;
	if (at >= width || !length)
		return a;
	mask = length < 64 ? (UINT64_C(1) << length) - 1 : UINT64_MAX;
	mask <<= at;
	return (a & ~mask) | ((f << at) & mask);
}

LANE_FUNCTION(bfi_b32, uint32_t, {
	return (uint32_t)bits_insert(LANE_32(in->a), LANE_32(in->b), LANE_32(in->c), LANE_32(in->e),
				     32);
})
LANE_FUNCTION(bfi_b64, uint64_t, {
	return bits_insert(LANE_64(in->a), LANE_64(in->b), LANE_32(in->c), LANE_32(in->e), 64);
})

static inline uint32_t mask_from(uint32_t at, uint32_t length, bool is_wrapping)
{
	if (is_wrapping) {
		at &= 31;
		length &= 31;
	}
	if (at >= 32 || !length)
		return 0;
	return (length >= 32 ? UINT32_MAX : (UINT32_C(1) << length) - 1) << at;
}

OP2(bmsk_clamp, uint32_t, uint32_t, uint32_t, uint32_t, mask_from(a, b, false))
OP2(bmsk_wrap, uint32_t, uint32_t, uint32_t, uint32_t, mask_from(a, b, true))

static inline uint32_t bits_extend(uint32_t a, uint32_t n, bool is_wrapping, bool is_signed)
{
	if (is_wrapping)
		n &= 31;
	if (n >= 32)
		return a;
	if (!n)
		return 0;
	a <<= 32 - n;
	return is_signed ? (uint32_t)((int32_t)a >> (32 - n)) : a >> (32 - n);
}

OP2(szext_clamp_u32, uint32_t, uint32_t, uint32_t, uint32_t, bits_extend(a, b, false, false))
OP2(szext_clamp_s32, uint32_t, uint32_t, uint32_t, uint32_t, bits_extend(a, b, false, true))
OP2(szext_wrap_u32, uint32_t, uint32_t, uint32_t, uint32_t, bits_extend(a, b, true, false))
OP2(szext_wrap_s32, uint32_t, uint32_t, uint32_t, uint32_t, bits_extend(a, b, true, true))

/* one bit of the table for each lane's bit of the three */
static inline uint32_t bits_lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
	uint32_t r = 0;

	for (unsigned k = 0; k < 8; k++)
		r |= (0 - (table >> k & 1)) & ((k & 4) ? a : ~a) & ((k & 2) ? b : ~b) &
		     ((k & 1) ? c : ~c);
	return r;
}

OP3(lop3_b32, uint32_t, uint32_t, uint32_t, uint32_t, bits_lop3(a, b, c, (uint32_t)in->imm))

static inline uint32_t bits_funnel(uint32_t lo, uint32_t hi, uint32_t n, bool is_shl,
				   bool is_wrapping)
{
	uint64_t both = (uint64_t)hi << 32 | lo;

	n = is_wrapping ? n & 31 : SLU_MIN(n, 32u);
	return is_shl ? (uint32_t)(both << n >> 32) : (uint32_t)(both >> n);
}

OP3(shf_l_clamp, uint32_t, uint32_t, uint32_t, uint32_t, bits_funnel(a, b, c, true, false))
OP3(shf_l_wrap, uint32_t, uint32_t, uint32_t, uint32_t, bits_funnel(a, b, c, true, true))
OP3(shf_r_clamp, uint32_t, uint32_t, uint32_t, uint32_t, bits_funnel(a, b, c, false, false))
OP3(shf_r_wrap, uint32_t, uint32_t, uint32_t, uint32_t, bits_funnel(a, b, c, false, true))

/* the modes of prmt choose a selector; the default one has it in the operand */
static inline uint32_t bits_permute(uint32_t a, uint32_t b, uint32_t selector)
{
	uint64_t bytes = (uint64_t)b << 32 | a;
	uint32_t r = 0;

	for (unsigned k = 0; k < 4; k++) {
		uint32_t s = selector >> k * 4;
		uint32_t byte = (uint32_t)(bytes >> (s & 7) * 8) & 255;

		if (s & 8)
			byte = byte & 128 ? 255 : 0;
		r |= byte << k * 8;
	}
	return r;
}

static const uint16_t selectors_f4e[4] = { 0x3210, 0x4321, 0x5432, 0x6543 };
static const uint16_t selectors_b4e[4] = { 0x5670, 0x6701, 0x7012, 0x0123 };
static const uint16_t selectors_rc8[4] = { 0x0000, 0x1111, 0x2222, 0x3333 };
static const uint16_t selectors_ecl[4] = { 0x3210, 0x3211, 0x3222, 0x3333 };
static const uint16_t selectors_ecr[4] = { 0x0000, 0x1110, 0x2210, 0x3210 };
static const uint16_t selectors_rc16[4] = { 0x1010, 0x3232, 0x1010, 0x3232 };

OP3(prmt, uint32_t, uint32_t, uint32_t, uint32_t, bits_permute(a, b, c))
OP3(prmt_f4e, uint32_t, uint32_t, uint32_t, uint32_t, bits_permute(a, b, selectors_f4e[c & 3]))
OP3(prmt_b4e, uint32_t, uint32_t, uint32_t, uint32_t, bits_permute(a, b, selectors_b4e[c & 3]))
OP3(prmt_rc8, uint32_t, uint32_t, uint32_t, uint32_t, bits_permute(a, b, selectors_rc8[c & 3]))
OP3(prmt_ecl, uint32_t, uint32_t, uint32_t, uint32_t, bits_permute(a, b, selectors_ecl[c & 3]))
OP3(prmt_ecr, uint32_t, uint32_t, uint32_t, uint32_t, bits_permute(a, b, selectors_ecr[c & 3]))
OP3(prmt_rc16, uint32_t, uint32_t, uint32_t, uint32_t, bits_permute(a, b, selectors_rc16[c & 3]))

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)
#define TABLE_BITS(op)                                                                  \
	static const struct dev_interp_handler *const table_##op[_SLU_PTX_TYPE_MAX] = { \
		[SLU_PTX_TYPE_B16] = &op##_b16,                                         \
		[SLU_PTX_TYPE_B32] = &op##_b32,                                         \
		[SLU_PTX_TYPE_B64] = &op##_b64,                                         \
	};
#define TABLE_LARGE(op)                                                                 \
	static const struct dev_interp_handler *const table_##op[_SLU_PTX_TYPE_MAX] = { \
		[SLU_PTX_TYPE_U32] = &op##_u32,                                         \
		[SLU_PTX_TYPE_U64] = &op##_u64,                                         \
		[SLU_PTX_TYPE_S32] = &op##_s32,                                         \
		[SLU_PTX_TYPE_S64] = &op##_s64,                                         \
	};
TABLE_BITS(and)
TABLE_BITS(or)
TABLE_BITS(xor)
TABLE_BITS(not )
TABLE_BITS(cnot)
TABLE_BITS(shl)
TABLE_LARGE(bfind)
TABLE_LARGE(bfind_amount)
TABLE_LARGE(bfe)

static const struct dev_interp_handler *const table_shr[_SLU_PTX_TYPE_MAX] = {
	[SLU_PTX_TYPE_B16] = &shr_u16, [SLU_PTX_TYPE_B32] = &shr_u32, [SLU_PTX_TYPE_B64] = &shr_u64,
	[SLU_PTX_TYPE_U16] = &shr_u16, [SLU_PTX_TYPE_U32] = &shr_u32, [SLU_PTX_TYPE_U64] = &shr_u64,
	[SLU_PTX_TYPE_S16] = &shr_s16, [SLU_PTX_TYPE_S32] = &shr_s32, [SLU_PTX_TYPE_S64] = &shr_s64,
};

const struct dev_interp_handler *DEV_ISA(bits_bind)(const struct slu_ptx_form *form)
{
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	bool is_64 = slu_ptx_type_size(type) == 8;
	bool is_s32 = type == SLU_PTX_TYPE_S32;

	switch (form->opcode) {
	case SLU_PTX_OP_popc:
		return is_64 ? &popc_b64 : &popc_b32;
	case SLU_PTX_OP_clz:
		return is_64 ? &clz_b64 : &clz_b32;
	case SLU_PTX_OP_brev:
		return is_64 ? &brev_b64 : &brev_b32;
	case SLU_PTX_OP_bfind:
		return HAS(shiftamt) ? table_bfind_amount[type] : table_bfind[type];
	case SLU_PTX_OP_bfe:
		return table_bfe[type];
	case SLU_PTX_OP_bfi:
		return is_64 ? &bfi_b64 : &bfi_b32;
	case SLU_PTX_OP_bmsk:
		return HAS(clamp) ? &bmsk_clamp : &bmsk_wrap;
	case SLU_PTX_OP_szext:
		return HAS(clamp) ? (is_s32 ? &szext_clamp_s32 : &szext_clamp_u32)
				  : (is_s32 ? &szext_wrap_s32 : &szext_wrap_u32);
	case SLU_PTX_OP_dp4a:
	case SLU_PTX_OP_dp2a:
		return DEV_ISA(dot_bind)(form);
	case SLU_PTX_OP_and:
		return table_and[type];
	case SLU_PTX_OP_or:
		return table_or[type];
	case SLU_PTX_OP_xor:
		return table_xor[type];
	case SLU_PTX_OP_not:
		return table_not[type];
	case SLU_PTX_OP_cnot:
		return table_cnot[type];
	case SLU_PTX_OP_lop3:
		return &lop3_b32;
	case SLU_PTX_OP_shf:
		return HAS(l) ? (HAS(clamp) ? &shf_l_clamp : &shf_l_wrap)
			      : (HAS(clamp) ? &shf_r_clamp : &shf_r_wrap);
	case SLU_PTX_OP_shl:
		return table_shl[type];
	case SLU_PTX_OP_shr:
		return table_shr[type];
	case SLU_PTX_OP_prmt:
		return HAS(f4e)	   ? &prmt_f4e
		       : HAS(b4e)  ? &prmt_b4e
		       : HAS(rc8)  ? &prmt_rc8
		       : HAS(ecl)  ? &prmt_ecl
		       : HAS(ecr)  ? &prmt_ecr
		       : HAS(rc16) ? &prmt_rc16
				   : &prmt;
	default:
		return NULL;
	}
}
