/* SPDX-License-Identifier: Apache-2.0 */
/* cvt: a long double holds every 64-bit integer and every float. */
#include "softgpu/interp/reference-parts.h"

static long double convert_rounded(long double x, const struct slu_ptx_form *form)
{
	return HAS(rzi) ? truncl(x) : HAS(rmi) ? floorl(x) : HAS(rpi) ? ceill(x) : rintl(x);
}

/* the nearest with 10 bits of fraction; of two that are as near, the larger one */
static uint64_t tf32_from(float x)
{
	int exponent;
	double fraction = frexp(fabsf(x), &exponent), scaled;

	if (isnan(x))
		return 0x7fffffff;
	if (isinf(x) || x == 0)
		return bits_of_f32(x);
	/* subnormals have fewer */
	if (exponent < -125) {
		fraction = ldexp(fraction, exponent + 125);
		exponent = -125;
	}
	scaled = floor(ldexp(fraction, 11) + 0.5);
	return bits_of_f32(copysignf((float)ldexp(scaled, exponent - 11), x));
}

/* of .satfinite: the largest number where an infinity came out, which is the one before it */
static uint64_t kept_finite(const struct slu_ptx_form *form, uint64_t x, uint64_t infinity,
			    uint64_t step)
{
	uint64_t sign = infinity >= 0x10000 ? 0x80000000 : 0x8000;

	return HAS(satfinite) && (x & ~sign) == infinity ? x - step : x;
}

static uint64_t convert_narrowed(const struct slu_ptx_form *form, long double x)
{
	enum slu_ptx_type to = (enum slu_ptx_type)form->types[0];

	return kept_finite(form, narrow_from(x, 0, mode_of(form), to),
			   (UINT64_C(0x7fff) << fraction_bits(to)) & 0x7fff, 1);
}

bool dev_reference_convert(const struct slu_ptx_form *form, const uint64_t in[4],
			   struct dev_reference *ret)
{
	enum slu_ptx_type to = (enum slu_ptx_type)form->types[0];
	enum slu_ptx_type from = (enum slu_ptx_type)form->types[1];
	volatile long double x;
	volatile float f;
	volatile double d;
	__int128 v;

	if (!slu_ptx_type_is_float(from) && !slu_ptx_type_is_float(to)) {
		v = value_of(in[0], from);
		if (HAS(sat))
			v = clamp(v, to);
		ret->value = cut((unsigned __int128)v, bits_of(to));
		return true;
	}
	x = from == SLU_PTX_TYPE_F16 || from == SLU_PTX_TYPE_BF16 ? narrow_of(in[0] & 0xffff, from)
	    : from == SLU_PTX_TYPE_F32 ? (HAS(ftz) ? flushed(f32_of(in[0])) : f32_of(in[0]))
	    : from == SLU_PTX_TYPE_F64 ? f64_of(in[0])
				       : (long double)value_of(in[0], from);
	if (HAS(rni) || HAS(rzi) || HAS(rmi) || HAS(rpi))
		x = convert_rounded(x, form);
	if (!slu_ptx_type_is_float(to)) {
		if (isnan(x))
			v = 0;
		else if (x < (long double)least_of(to))
			v = least_of(to);
		else if (x > (long double)most_of(to))
			v = most_of(to);
		else
			v = (__int128)x;
		ret->value = cut((unsigned __int128)v, bits_of(to));
		return true;
	}
	if (HAS(sat))
		x = !(x > 0) ? 0 : x > 1 ? 1 : x;
	if (HAS(relu) && x <= 0)
		x = 0;
	if (to == SLU_PTX_TYPE_TF32) {
		ret->value = kept_finite(form, tf32_from(f32_of(in[0])), 0x7f800000, 0x2000);
		return true;
	}
	if (to == SLU_PTX_TYPE_F16X2 || to == SLU_PTX_TYPE_BF16X2) {
		volatile long double y = f32_of(in[1]);

		if (HAS(relu) && y <= 0)
			y = 0;
		ret->value = convert_narrowed(form, x) << 16 | convert_narrowed(form, y);
		return true;
	}
	if (to == SLU_PTX_TYPE_F16 || to == SLU_PTX_TYPE_BF16) {
		ret->value = convert_narrowed(form, x);
		return true;
	}
	fesetround(mode_of(form));
	f = (float)x;
	d = (double)x;
	fesetround(FE_TONEAREST);
	if (to == SLU_PTX_TYPE_F32 && HAS(ftz))
		f = flushed(f);
	ret->any_nan = to == SLU_PTX_TYPE_F64;
	ret->value = to != SLU_PTX_TYPE_F32 ? bits_of_f64(d)
		     : isnan(f)		    ? 0x7fffffff
					    : bits_of_f32(f);
	return true;
}
