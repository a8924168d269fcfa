/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparisons and what follows from them. A comparison makes a word with a bit a lane; setp puts
 * it into predicates, set into registers. One function a type and relation; the Boolean
 * operation with a third predicate is the same for all.
 */
#include <math.h>

#include "softgpu/interp/half.h"
#include "softgpu/interp/isa.h"

/* how to get 32 truth values into a word: bytes first, which compilers do well, then their signs */
static inline uint32_t word_of(const uint8_t truth[static DEV_INTERP_LANES])
{
	uint32_t bits = 0;

	for (unsigned k = 0; k < DEV_INTERP_LANES; k += 8) {
		uint64_t eight;

		memcpy(&eight, truth + k, 8);
		/* bit 0 of byte n ends up as bit n */
		bits |= (uint32_t)((eight * UINT64_C(0x0102040810204080)) >> 56) << k;
	}
	return bits;
}

#define COMPARE(name, R, V, expr)                                    \
	static uint32_t cmp_##name(const struct dev_interp_warp *w,  \
				   const struct dev_interp_insn *in) \
	{                                                            \
		const R *pa = ROW(w, in->a), *pb = ROW(w, in->b);    \
		uint8_t truth[DEV_INTERP_LANES];                     \
                                                                     \
		EVERY_LANE                                           \
		{                                                    \
			V a = (V)pa[i], b = (V)pb[i];                \
                                                                     \
			truth[i] = (expr) ? 1 : 0;                   \
		}                                                    \
		return word_of(truth);                               \
	}
#define COMPARE_INT(n, R, V)          \
	COMPARE(eq_##n, R, V, a == b) \
	COMPARE(ne_##n, R, V, a != b) \
	COMPARE(lt_##n, R, V, a < b)  \
	COMPARE(le_##n, R, V, a <= b) \
	COMPARE(gt_##n, R, V, a > b)  \
	COMPARE(ge_##n, R, V, a >= b)
COMPARE_INT(u16, uint32_t, uint16_t)
COMPARE_INT(u32, uint32_t, uint32_t)
COMPARE_INT(u64, uint64_t, uint64_t)
COMPARE_INT(s16, uint32_t, int16_t)
COMPARE_INT(s32, uint32_t, int32_t)
COMPARE_INT(s64, uint64_t, int64_t)

/* ordered ones are false, unordered ones true, when there is a NaN */
#define COMPARE_FLOAT(n, R, V)                    \
	COMPARE(eq_##n, R, V, a == b)             \
	COMPARE(ne_##n, R, V, a<b || a> b)        \
	COMPARE(lt_##n, R, V, a < b)              \
	COMPARE(le_##n, R, V, a <= b)             \
	COMPARE(gt_##n, R, V, a > b)              \
	COMPARE(ge_##n, R, V, a >= b)             \
	COMPARE(equ_##n, R, V, !(a < b || a > b)) \
	COMPARE(neu_##n, R, V, a != b)            \
	COMPARE(ltu_##n, R, V, !(a >= b))         \
	COMPARE(leu_##n, R, V, !(a > b))          \
	COMPARE(gtu_##n, R, V, !(a <= b))         \
	COMPARE(geu_##n, R, V, !(a < b))          \
	COMPARE(num_##n, R, V, a == a && b == b)  \
	COMPARE(nan_##n, R, V, a != a || b != b)
COMPARE_FLOAT(f32, float, float)
COMPARE_FLOAT(f64, double, double)

enum relation {
	EQ,
	NE,
	LT,
	LE,
	GT,
	GE,
	EQU,
	NEU,
	LTU,
	LEU,
	GTU,
	GEU,
	NUM,
	NAN_,
	N_RELATIONS,
};

struct relations {
	uint32_t (*compare[N_RELATIONS])(const struct dev_interp_warp *,
					 const struct dev_interp_insn *);
};

#define ROW_INT(n)                                                                             \
	{                                                                                      \
		{                                                                              \
			cmp_eq_##n, cmp_ne_##n, cmp_lt_##n, cmp_le_##n, cmp_gt_##n, cmp_ge_##n \
		}                                                                              \
	}
#define ROW_FLOAT(n)                                                                             \
	{                                                                                        \
		{                                                                                \
			cmp_eq_##n, cmp_ne_##n, cmp_lt_##n, cmp_le_##n, cmp_gt_##n, cmp_ge_##n,  \
				cmp_equ_##n, cmp_neu_##n, cmp_ltu_##n, cmp_leu_##n, cmp_gtu_##n, \
				cmp_geu_##n, cmp_num_##n, cmp_nan_##n                            \
		}                                                                                \
	}

static const struct relations relations[_SLU_PTX_TYPE_MAX] = {
	[SLU_PTX_TYPE_B16] = ROW_INT(u16),   [SLU_PTX_TYPE_B32] = ROW_INT(u32),
	[SLU_PTX_TYPE_B64] = ROW_INT(u64),   [SLU_PTX_TYPE_U16] = ROW_INT(u16),
	[SLU_PTX_TYPE_U32] = ROW_INT(u32),   [SLU_PTX_TYPE_U64] = ROW_INT(u64),
	[SLU_PTX_TYPE_S16] = ROW_INT(s16),   [SLU_PTX_TYPE_S32] = ROW_INT(s32),
	[SLU_PTX_TYPE_S64] = ROW_INT(s64),   [SLU_PTX_TYPE_F32] = ROW_FLOAT(f32),
	[SLU_PTX_TYPE_F64] = ROW_FLOAT(f64),
};

static enum relation relation_of(const struct slu_ptx_form *form)
{
	static const struct {
		enum slu_ptx_modifier modifier;
		enum relation relation;
	} rows[] = {
		{ SLU_PTX_MOD_eq, EQ },	  { SLU_PTX_MOD_ne, NE },   { SLU_PTX_MOD_lt, LT },
		{ SLU_PTX_MOD_le, LE },	  { SLU_PTX_MOD_gt, GT },   { SLU_PTX_MOD_ge, GE },
		{ SLU_PTX_MOD_lo, LT },	  { SLU_PTX_MOD_ls, LE },   { SLU_PTX_MOD_hi, GT },
		{ SLU_PTX_MOD_hs, GE },	  { SLU_PTX_MOD_equ, EQU }, { SLU_PTX_MOD_neu, NEU },
		{ SLU_PTX_MOD_ltu, LTU }, { SLU_PTX_MOD_leu, LEU }, { SLU_PTX_MOD_gtu, GTU },
		{ SLU_PTX_MOD_geu, GEU }, { SLU_PTX_MOD_num, NUM }, { SLU_PTX_MOD_nan, NAN_ },
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++)
		if (slu_ptx_form_has(form, rows[i].modifier))
			return rows[i].relation;
	return EQ;
}

static bool compare_holds(enum relation r, float a, float b)
{
	switch (r) {
	case EQ:
		return a == b;
	case NE:
		return a < b || a > b;
	case LT:
		return a < b;
	case LE:
		return a <= b;
	case GT:
		return a > b;
	case GE:
		return a >= b;
	case EQU:
		return !(a < b || a > b);
	case NEU:
		return a != b;
	case LTU:
		return !(a >= b);
	case LEU:
		return !(a > b);
	case GTU:
		return !(a <= b);
	case GEU:
		return !(a < b);
	case NUM:
		return a == a && b == b;
	default:
		return a != a || b != b;
	}
}

/* f16 has no arithmetic of its own: @shift is 0 or, for the upper of two, 16 */
static uint32_t compare_half(const struct dev_interp_warp *w, const struct dev_interp_insn *in,
			     unsigned shift)
{
	const struct slu_ptx_form *form = in->source->form;
	const uint32_t *pa = ROW(w, in->a), *pb = ROW(w, in->b);
	enum relation r = relation_of(form);
	bool is_ftz = slu_ptx_form_has(form, SLU_PTX_MOD_ftz);
	uint32_t bits = 0;

	for (unsigned i = 0; i < DEV_INTERP_LANES; i++) {
		float a = dev_half_to_float((uint16_t)(pa[i] >> shift), is_ftz);
		float b = dev_half_to_float((uint16_t)(pb[i] >> shift), is_ftz);

		bits |= (uint32_t)compare_holds(r, a, b) << i;
	}
	return bits;
}

static uint32_t compare_combine(const struct dev_interp_warp *w, const struct dev_interp_insn *in,
				uint32_t bits)
{
	const struct slu_ptx_form *form = in->source->form;
	uint32_t c = w->preds[in->s] ^ in->s_flip;

	if (slu_ptx_form_has(form, SLU_PTX_MOD_and))
		return bits & c;
	if (slu_ptx_form_has(form, SLU_PTX_MOD_or))
		return bits | c;
	if (slu_ptx_form_has(form, SLU_PTX_MOD_xor))
		return bits ^ c;
	return bits;
}

static void compare_put(struct dev_interp_warp *w, uint32_t pred, uint32_t bits)
{
	w->preds[pred] = (w->preds[pred] & ~w->mask) | (bits & w->mask);
}

/* setp in general: p gets a CMP b BOOL c, q gets !(a CMP b) BOOL c */
static const struct dev_interp_insn *setp_run(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	uint32_t bits, first, second;

	if (type == SLU_PTX_TYPE_F16X2) {
		/* one predicate for each half */
		first = compare_combine(w, in, compare_half(w, in, 0));
		second = compare_combine(w, in, compare_half(w, in, 16));
	} else {
		bits = type == SLU_PTX_TYPE_F16 ? compare_half(w, in, 0)
						: relations[type].compare[relation_of(form)](w, in);
		first = compare_combine(w, in, bits);
		second = compare_combine(w, in, ~bits);
	}
	compare_put(w, in->p, first);
	compare_put(w, in->q, second);
	return in + 1;
}

static const struct dev_interp_handler setp = { setp_run, setp_run };

/* setp as it mostly is: no third operand */
#define SETP_FAST(name)                                                                           \
	static const struct dev_interp_insn *setp_##name##_all(struct dev_interp_warp *w,         \
							       const struct dev_interp_insn *in)  \
	{                                                                                         \
		EVERY_STRIP                                                                       \
		{                                                                                 \
			uint32_t bits = cmp_##name(&w[k], in);                                    \
                                                                                                  \
			w->preds[in->p + k] = bits;                                               \
			w->preds[in->q + k] = ~bits;                                              \
		}                                                                                 \
		return in + 1;                                                                    \
	}                                                                                         \
	static const struct dev_interp_insn *setp_##name##_some(struct dev_interp_warp *w,        \
								const struct dev_interp_insn *in) \
	{                                                                                         \
		uint32_t bits = cmp_##name(w, in);                                                \
                                                                                                  \
		compare_put(w, in->p, bits);                                                      \
		compare_put(w, in->q, ~bits);                                                     \
		return in + 1;                                                                    \
	}                                                                                         \
	static const struct dev_interp_handler setp_##name = { setp_##name##_all,                 \
							       setp_##name##_some, true };
#define SETP_FASTS(n)     \
	SETP_FAST(eq_##n) \
	SETP_FAST(ne_##n) SETP_FAST(lt_##n) SETP_FAST(le_##n) SETP_FAST(gt_##n) SETP_FAST(ge_##n)
SETP_FASTS(u32)
SETP_FASTS(s32)
SETP_FASTS(u64)
SETP_FASTS(s64)
SETP_FASTS(f32)
SETP_FASTS(f64)

#define FAST_ROW(n)                                                                                \
	{                                                                                          \
		&setp_eq_##n, &setp_ne_##n, &setp_lt_##n, &setp_le_##n, &setp_gt_##n, &setp_ge_##n \
	}

static const struct dev_interp_handler *bind_setp(const struct slu_ptx_form *form)
{
	static const struct dev_interp_handler *const fast[_SLU_PTX_TYPE_MAX][N_RELATIONS] = {
		[SLU_PTX_TYPE_B32] = FAST_ROW(u32), [SLU_PTX_TYPE_U32] = FAST_ROW(u32),
		[SLU_PTX_TYPE_S32] = FAST_ROW(s32), [SLU_PTX_TYPE_B64] = FAST_ROW(u64),
		[SLU_PTX_TYPE_U64] = FAST_ROW(u64), [SLU_PTX_TYPE_S64] = FAST_ROW(s64),
		[SLU_PTX_TYPE_F32] = FAST_ROW(f32), [SLU_PTX_TYPE_F64] = FAST_ROW(f64),
	};
	const struct dev_interp_handler *h = fast[form->types[0]][relation_of(form)];

	if (!h || slu_ptx_form_has(form, SLU_PTX_MOD_and) ||
	    slu_ptx_form_has(form, SLU_PTX_MOD_or) || slu_ptx_form_has(form, SLU_PTX_MOD_xor))
		return &setp;
	return h;
}

/* set: all ones, or 1.0, where it holds */
static const struct dev_interp_insn *set_run(struct dev_interp_warp *w,
					     const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	enum slu_ptx_type to = (enum slu_ptx_type)form->types[0];
	enum slu_ptx_type from = (enum slu_ptx_type)form->types[1];
	uint32_t truth = to == SLU_PTX_TYPE_F32	      ? 0x3f800000
			 : to == SLU_PTX_TYPE_F16     ? 0x3c00
			 : to == SLU_PTX_TYPE_F16X2   ? 0x3c003c00
			 : slu_ptx_type_size(to) == 2 ? UINT16_MAX
						      : UINT32_MAX;
	uint32_t *d = ROW(w, in->d);
	uint32_t low, high;

	if (from == SLU_PTX_TYPE_F16X2) {
		low = compare_combine(w, in, compare_half(w, in, 0));
		high = compare_combine(w, in, compare_half(w, in, 16));
		MASKED_LANES(w->mask)
		{
			uint32_t value = (low >> i & 1 ? truth & 0xffff : 0) |
					 (high >> i & 1 ? truth & 0xffff0000 : 0);

			d[i] = value;
		}
		return in + 1;
	}
	low = from == SLU_PTX_TYPE_F16 ? compare_half(w, in, 0)
				       : relations[from].compare[relation_of(form)](w, in);
	low = compare_combine(w, in, low);
	MASKED_LANES(w->mask) d[i] = low >> i & 1 ? truth : 0;
	return in + 1;
}

static const struct dev_interp_handler set = { set_run, set_run };

static const struct dev_interp_insn *testp_run(struct dev_interp_warp *w,
					       const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	bool is_64 = form->types[0] == SLU_PTX_TYPE_F64;
	uint32_t bits = 0;

	MASKED_LANES(w->mask)
	{
		double a = is_64 ? ((const double *)ROW(w, in->a))[i]
				 : (double)((const float *)ROW(w, in->a))[i];
		/* a float that is subnormal is a normal double */
		int class = is_64 ? fpclassify(a) : fpclassify((float)a);
		bool is = slu_ptx_form_has(form, SLU_PTX_MOD_finite)
				  ? class != FP_NAN && class != FP_INFINITE
			  : slu_ptx_form_has(form, SLU_PTX_MOD_infinite)   ? class == FP_INFINITE
			  : slu_ptx_form_has(form, SLU_PTX_MOD_number)	   ? class != FP_NAN
			  : slu_ptx_form_has(form, SLU_PTX_MOD_notanumber) ? class == FP_NAN
			  : slu_ptx_form_has(form, SLU_PTX_MOD_normal)	   ? class == FP_NORMAL
									   : class == FP_SUBNORMAL;

		bits |= (uint32_t)is << i;
	}
	compare_put(w, in->p, bits);
	return in + 1;
}

static const struct dev_interp_handler testp = { testp_run, testp_run };

const struct dev_interp_handler *DEV_ISA(compare_bind)(const struct slu_ptx_form *form)
{
	switch (form->opcode) {
	case SLU_PTX_OP_setp:
		return bind_setp(form);
	case SLU_PTX_OP_set:
		return &set;
	case SLU_PTX_OP_testp:
		return &testp;
	default:
		return DEV_ISA(select_bind)(form);
	}
}
