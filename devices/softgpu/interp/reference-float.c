/* SPDX-License-Identifier: Apache-2.0 */
/* f32 and f64, with the rounding of the C library; halves, by trying all of them. */
#include "softgpu/interp/reference-parts.h"

/*
 * The errors that the ISA states. Of the two approximations in f64 that know only the upper word,
 * that word's bits; of the third, which it says nothing about, what rounding twice costs.
 */
static void allow_error(const struct slu_ptx_form *form, double a, struct dev_reference *ret)
{
	if (form->types[0] == SLU_PTX_TYPE_F64) {
		ret->tolerance = HAS(ftz) ? 0x1p-19 : 0x1p-51;
		return;
	}
	switch (form->opcode) {
	case SLU_PTX_OP_rcp:
	case SLU_PTX_OP_sqrt:
		ret->tolerance = 0x1p-23;
		break;
	case SLU_PTX_OP_rsqrt:
		ret->tolerance = exp2(-22.9);
		break;
	case SLU_PTX_OP_div: /* two units in the last place */
	case SLU_PTX_OP_ex2:
		ret->tolerance = 0x1p-22;
		break;
	case SLU_PTX_OP_lg2:
		if (a > 0.5 && a < 2)
			ret->absolute = 0x1p-22;
		else
			ret->tolerance = 0x1p-22;
		break;
	case SLU_PTX_OP_sin:
	case SLU_PTX_OP_cos:
		ret->absolute = a <= 2 * M_PI ? exp2(-20.5) : exp2(-14.7);
		break;
	case SLU_PTX_OP_tanh:
		ret->tolerance = 0x1p-11;
		break;
	default:
		break;
	}
}

/* Long: one switch with a case for each opcode. */
bool dev_reference_float(const struct slu_ptx_form *form, const uint64_t in[4],
			 struct dev_reference *ret)
{
	bool is_64 = form->types[0] == SLU_PTX_TYPE_F64;
	uint64_t sign = UINT64_C(1) << (is_64 ? 63 : 31);
	volatile double a = is_64 ? f64_of(in[0]) : f32_of(in[0]);
	volatile double b = is_64 ? f64_of(in[1]) : f32_of(in[1]);
	volatile double c = is_64 ? f64_of(in[2]) : f32_of(in[2]);
	volatile float fa, fb, fc, fr = 0;
	volatile double r = 0;

	if (!is_64 && HAS(ftz)) {
		a = flushed((float)a);
		b = flushed((float)b);
		c = flushed((float)c);
	}
	/* of f64, only approximations flush */
	if (is_64 && HAS(ftz) && fpclassify(a) == FP_SUBNORMAL)
		a = copysign(0, a);
	fa = (float)a;
	fb = (float)b;
	fc = (float)c;
	/* signs are bits: what a NaN is then is left open, as it is for all of f64 */
	ret->any_nan = true;
	switch (form->opcode) {
	case SLU_PTX_OP_abs:
		ret->value =
			HAS(ftz) ? bits_of_f32(fa) & ~sign : cut(in[0], is_64 ? 64 : 32) & ~sign;
		return true;
	case SLU_PTX_OP_neg:
		ret->value = HAS(ftz) ? bits_of_f32(fa) ^ sign : cut(in[0], is_64 ? 64 : 32) ^ sign;
		return true;
	case SLU_PTX_OP_copysign:
		ret->value = (in[0] & sign) | (cut(in[1], is_64 ? 64 : 32) & ~sign);
		return true;
	default:
		break;
	}
	ret->any_nan = is_64;
	fesetround(mode_of(form));
	switch (form->opcode) {
	case SLU_PTX_OP_add:
		r = a + b;
		fr = fa + fb;
		break;
	case SLU_PTX_OP_sub:
		r = a - b;
		fr = fa - fb;
		break;
	case SLU_PTX_OP_mul:
		r = a * b;
		fr = fa * fb;
		break;
	case SLU_PTX_OP_mad:
	case SLU_PTX_OP_fma:
		r = fma(a, b, c);
		fr = fmaf(fa, fb, fc);
		break;
	case SLU_PTX_OP_div:
		r = a / b;
		/* an approximation multiplies by what 1/b is, and that is nothing from 2^126 on */
		fr = HAS(approx) && isfinite(fb) && fabs(b) > 0x1p126 ? fa * copysign(0, b)
								      : fa / fb;
		break;
	case SLU_PTX_OP_rcp:
		r = 1 / a;
		fr = 1 / fa;
		break;
	case SLU_PTX_OP_sqrt:
		r = sqrt(a);
		fr = sqrtf(fa);
		break;
	case SLU_PTX_OP_rsqrt:
		r = 1 / sqrt(a);
		fr = (float)(1 / sqrt((double)fa));
		break;
	case SLU_PTX_OP_sin:
		fr = (float)sin((double)fa);
		break;
	case SLU_PTX_OP_cos:
		fr = (float)cos((double)fa);
		break;
	case SLU_PTX_OP_lg2:
		fr = (float)log2((double)fa);
		break;
	case SLU_PTX_OP_ex2:
		fr = (float)exp2((double)fa);
		break;
	case SLU_PTX_OP_tanh:
		fr = (float)tanh((double)fa);
		break;
	case SLU_PTX_OP_min:
	case SLU_PTX_OP_max: {
		bool is_max = form->opcode == SLU_PTX_OP_max;

		if (isnan(a) || isnan(b))
			r = HAS(NaN) ? NAN : isnan(a) ? b : a;
		else if (a == b)
			r = (signbit(a) != 0) != is_max ? a : b;
		else
			r = (a < b) != is_max ? a : b;
		fr = (float)r;
		break;
	}
	default:
		fesetround(FE_TONEAREST);
		return false;
	}
	fesetround(FE_TONEAREST);
	if (!is_64 && HAS(ftz))
		fr = flushed(fr);
	if (is_64 && HAS(ftz) && fpclassify(r) == FP_SUBNORMAL)
		r = copysign(0, r);
	if (HAS(sat))
		fr = !(fr > 0) ? 0 : fr > 1 ? 1 : fr;
	if (HAS(approx) || HAS(full))
		allow_error(form, fabs(a), ret);
	ret->value = is_64 ? bits_of_f64(r) : isnan(fr) ? 0x7fffffff : bits_of_f32(fr);
	return true;
}

/* the less or greater one; a number wins over a NaN, -0 is less than +0 */
static uint64_t extreme_of(const struct slu_ptx_form *form, const uint64_t h[3], const double x[3])
{
	bool is_max = form->opcode == SLU_PTX_OP_max;

	if (isnan(x[0]) || isnan(x[1]))
		return HAS(NaN) || (isnan(x[0]) && isnan(x[1])) ? 0x7fff
		       : isnan(x[0])				? h[1]
								: h[0];
	if (x[0] == x[1])
		return ((h[0] >> 15) != 0) != is_max ? h[0] : h[1];
	return (x[0] < x[1]) != is_max ? h[0] : h[1];
}

/* one of the two halves of a word, or the only one */
static bool half_of(const struct slu_ptx_form *form, const uint64_t in[4], unsigned shift,
		    uint64_t *ret)
{
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	uint64_t h[3], exponents = (0x7fff << fraction_bits(type)) & 0x7fff;
	/* every product of two halves is exact in a long double; what a sum loses is @rest */
	long double product, r, rest = 0, more;
	double x[3];

	for (unsigned m = 0; m < 3; m++) {
		h[m] = in[m] >> shift & 0xffff;
		if (HAS(ftz) && !(h[m] & exponents))
			h[m] &= 0x8000;
		x[m] = narrow_of(h[m], type);
	}
	switch (form->opcode) {
	case SLU_PTX_OP_abs:
		*ret = h[0] & 0x7fff;
		return true;
	case SLU_PTX_OP_neg:
		*ret = h[0] ^ 0x8000;
		return true;
	case SLU_PTX_OP_min:
	case SLU_PTX_OP_max:
		*ret = extreme_of(form, h, x);
		return true;
	case SLU_PTX_OP_add:
	case SLU_PTX_OP_sub:
	case SLU_PTX_OP_fma:
		product = form->opcode == SLU_PTX_OP_fma ? (long double)x[0] * x[1] : x[0];
		more = form->opcode == SLU_PTX_OP_fma	? x[2]
		       : form->opcode == SLU_PTX_OP_sub ? -x[1]
							: x[1];
		r = product + more;
		if (isfinite(r))
			rest = fabsl(product) > fabsl(more) ? more - (r - product)
							    : product - (r - more);
		break;
	case SLU_PTX_OP_mul:
		r = (long double)x[0] * x[1];
		break;
	case SLU_PTX_OP_ex2:
		r = exp2(x[0]);
		break;
	case SLU_PTX_OP_tanh:
		r = tanh(x[0]);
		break;
	default:
		return false;
	}
	if (HAS(sat)) {
		r = !(r > 0) ? 0 : r > 1 ? 1 : r;
		rest = r == 0 || r == 1 ? 0 : rest;
	}
	*ret = narrow_from(r, rest, FE_TONEAREST, type);
	if (HAS(relu) && *ret & 0x8000 && (*ret & 0x7fff) <= exponents)
		*ret = 0;
	if (HAS(ftz) && !(*ret & exponents))
		*ret &= 0x8000;
	return true;
}

bool dev_reference_half(const struct slu_ptx_form *form, const uint64_t in[4],
			struct dev_reference *ret)
{
	for (unsigned k = 0; k < bits_of((enum slu_ptx_type)form->types[0]); k += 16) {
		uint64_t half = 0;

		if (!half_of(form, in, k, &half))
			return false;
		ret->value |= half << k;
	}
	return true;
}
