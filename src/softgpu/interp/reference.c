/* SPDX-License-Identifier: Apache-2.0 */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "softgpu/interp/reference.h"

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)

static unsigned bits_of(enum slu_ptx_type type)
{
	return slu_ptx_type_size(type) * 8;
}

static uint64_t cut(unsigned __int128 x, unsigned bits)
{
	return bits >= 64 ? (uint64_t)x : (uint64_t)x & ((UINT64_C(1) << bits) - 1);
}

/* the mathematical value of the bits */
static __int128 value_of(uint64_t x, enum slu_ptx_type type)
{
	unsigned bits = bits_of(type);
	__int128 v = (__int128)cut(x, bits);

	if (slu_ptx_type_is_signed(type) && x >> (bits - 1) & 1)
		v -= (__int128)1 << bits;
	return v;
}

static __int128 floor_shift(__int128 x, unsigned n)
{
	return x >> n;
}

static __int128 least_of(enum slu_ptx_type type)
{
	return slu_ptx_type_is_signed(type) ? -((__int128)1 << (bits_of(type) - 1)) : 0;
}

static __int128 most_of(enum slu_ptx_type type)
{
	return slu_ptx_type_is_signed(type) ? ((__int128)1 << (bits_of(type) - 1)) - 1
					    : ((__int128)1 << bits_of(type)) - 1;
}

static __int128 clamp(__int128 x, enum slu_ptx_type type)
{
	return x < least_of(type) ? least_of(type) : x > most_of(type) ? most_of(type) : x;
}

static bool int_op(const struct slu_ptx_form *form, const uint64_t in[4], uint64_t *ret)
{
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	unsigned bits = bits_of(type), n = 0;
	__int128 a = value_of(in[0], type), b = value_of(in[1], type), c = value_of(in[2], type), r;
	uint64_t x = cut(in[0], bits), y = cut(in[1], bits);
	uint32_t count = (uint32_t)in[1];

	switch (form->opcode) {
	case SLU_PTX_OP_add:
		r = a + b;
		break;
	case SLU_PTX_OP_sub:
		r = a - b;
		break;
	case SLU_PTX_OP_mul:
		/* wraps where the low half is wanted; a signed product always fits */
		r = (__int128)((unsigned __int128)a * (unsigned __int128)b);
		if (HAS(hi) && !slu_ptx_type_is_signed(type))
			r = (__int128)((unsigned __int128)x * y >> bits);
		else if (HAS(hi))
			r = floor_shift(r, bits);
		break;
	case SLU_PTX_OP_mad:
		/* wraps where the low half is wanted; a signed product always fits */
		r = (__int128)((unsigned __int128)a * (unsigned __int128)b);
		if (HAS(hi) && !slu_ptx_type_is_signed(type))
			r = (__int128)((unsigned __int128)x * y >> bits);
		else if (HAS(hi))
			r = floor_shift(r, bits);
		if (HAS(wide))
			c = (__int128)in[2];
		r = (__int128)((unsigned __int128)r + (unsigned __int128)c);
		break;
	case SLU_PTX_OP_mul24:
	case SLU_PTX_OP_mad24:
		for (unsigned k = 0; k < 2; k++) {
			__int128 *v = k ? &b : &a;

			*v = (__int128)(in[k] & 0xffffff);
			if (slu_ptx_type_is_signed(type) && in[k] & 0x800000)
				*v -= 1 << 24;
		}
		r = a * b;
		if (HAS(hi))
			r = floor_shift(r, 16);
		if (form->opcode == SLU_PTX_OP_mad24)
			r += c;
		break;
	case SLU_PTX_OP_sad:
		r = c + (a > b ? a - b : b - a);
		break;
	case SLU_PTX_OP_div:
		r = b ? a / b : -1;
		break;
	case SLU_PTX_OP_rem:
		r = b ? a % b : a;
		break;
	case SLU_PTX_OP_abs:
		r = a < 0 ? -a : a;
		break;
	case SLU_PTX_OP_neg:
		r = -a;
		break;
	case SLU_PTX_OP_min:
		r = a < b ? a : b;
		break;
	case SLU_PTX_OP_max:
		r = a > b ? a : b;
		break;
	case SLU_PTX_OP_and:
		r = (__int128)(x & y);
		break;
	case SLU_PTX_OP_or:
		r = (__int128)(x | y);
		break;
	case SLU_PTX_OP_xor:
		r = (__int128)(x ^ y);
		break;
	case SLU_PTX_OP_not:
		r = (__int128)~x;
		break;
	case SLU_PTX_OP_cnot:
		r = x == 0;
		break;
	case SLU_PTX_OP_shl:
		r = count < bits ? (__int128)((unsigned __int128)x << count) : 0;
		break;
	case SLU_PTX_OP_shr:
		r = floor_shift(a, SLU_MIN(count, 100u));
		break;
	case SLU_PTX_OP_popc:
		for (unsigned k = 0; k < bits; k++)
			n += x >> k & 1;
		r = n;
		break;
	case SLU_PTX_OP_clz:
		while (n < bits && !(x >> (bits - 1 - n) & 1))
			n++;
		r = n;
		break;
	case SLU_PTX_OP_brev:
		r = 0;
		for (unsigned k = 0; k < bits; k++)
			r |= (__int128)(x >> k & 1) << (bits - 1 - k);
		break;
	case SLU_PTX_OP_bfind:
		if (a < 0)
			x = cut((unsigned __int128)~x, bits);
		r = -1;
		for (unsigned k = 0; k < bits; k++)
			if (x >> k & 1)
				r = k;
		if (HAS(shiftamt) && r >= 0)
			r = bits - 1 - r;
		*ret = cut((unsigned __int128)r, 32);
		return true;
	case SLU_PTX_OP_bfe: {
		/* the ISA's own description, bit by bit */
		unsigned at = in[1] & 255, length = in[2] & 255, sign_at = at + length - 1;
		bool sign = slu_ptx_type_is_signed(type) && length &&
			    x >> SLU_MIN(sign_at, bits - 1) & 1;

		r = 0;
		for (unsigned k = 0; k < bits; k++) {
			bool bit = k < length && at + k < bits ? x >> (at + k) & 1 : sign;

			r |= (__int128)bit << k;
		}
		break;
	}
	case SLU_PTX_OP_bfi: {
		unsigned at = in[2] & 255, length = in[3] & 255;

		r = (__int128)y;
		for (unsigned k = 0; k < length && at + k < bits; k++) {
			r &= ~((__int128)1 << (at + k));
			r |= (__int128)(x >> k & 1) << (at + k);
		}
		break;
	}
	case SLU_PTX_OP_bmsk: {
		uint32_t at = (uint32_t)in[0], length = (uint32_t)in[1];

		if (HAS(wrap)) {
			at %= 32;
			length %= 32;
		}
		r = 0;
		for (uint32_t k = 0; k < 32; k++)
			if (k >= at && k - at < length)
				r |= (__int128)1 << k;
		break;
	}
	case SLU_PTX_OP_szext: {
		uint32_t width = HAS(wrap) ? (uint32_t)in[1] % 32 : SLU_MIN((uint32_t)in[1], 32u);
		uint64_t low = in[0] & ((UINT64_C(1) << width) - 1);

		r = (__int128)low;
		if (width && slu_ptx_type_is_signed(type) && low >> (width - 1) & 1)
			r -= (__int128)1 << width;
		break;
	}
	case SLU_PTX_OP_dp4a:
	case SLU_PTX_OP_dp2a:
		r = (__int128)in[2];
		for (unsigned k = 0; k < 4; k++) {
			bool is_dp2a = form->opcode == SLU_PTX_OP_dp2a;
			enum slu_ptx_type ta =
				form->types[0] == SLU_PTX_TYPE_S32
					? (is_dp2a ? SLU_PTX_TYPE_S16 : SLU_PTX_TYPE_S8)
					: (is_dp2a ? SLU_PTX_TYPE_U16 : SLU_PTX_TYPE_U8);
			enum slu_ptx_type tb = form->types[1] == SLU_PTX_TYPE_S32 ? SLU_PTX_TYPE_S8
										  : SLU_PTX_TYPE_U8;
			unsigned kb = is_dp2a && HAS(hi) ? k + 2 : k;

			if (is_dp2a && k == 2)
				break;
			r += value_of(in[0] >> k * bits_of(ta), ta) * value_of(in[1] >> kb * 8, tb);
		}
		break;
	case SLU_PTX_OP_shf: {
		uint64_t both = in[1] << 32 | (uint32_t)in[0];
		uint32_t by = HAS(wrap) ? (uint32_t)in[2] % 32 : SLU_MIN((uint32_t)in[2], 32u);

		r = (__int128)(HAS(r) ? both >> by
				      : (uint64_t)(((unsigned __int128)both << by) >> 32));
		break;
	}
	case SLU_PTX_OP_lop3:
		r = 0;
		for (unsigned k = 0; k < 32; k++) {
			unsigned row = (unsigned)((in[0] >> k & 1) * 4 + (in[1] >> k & 1) * 2 +
						  (in[2] >> k & 1));

			r |= (__int128)(0x96 >> row & 1) << k;
		}
		break;
	case SLU_PTX_OP_prmt: {
		uint8_t bytes[8];
		uint32_t pick = (uint32_t)in[2], low = (uint32_t)in[2] & 3;

		for (unsigned k = 0; k < 8; k++)
			bytes[k] = (uint8_t)(in[k / 4] >> k % 4 * 8);
		r = 0;
		for (unsigned k = 0; k < 4; k++) {
			unsigned which = pick >> k * 4 & 7;
			uint8_t byte;

			if (HAS(f4e))
				which = (low + k) & 7;
			else if (HAS(b4e))
				which = (low + 8 - k) & 7;
			else if (HAS(rc8))
				which = low;
			else if (HAS(ecl))
				which = SLU_MAX(low, k);
			else if (HAS(ecr))
				which = SLU_MIN(low, k);
			else if (HAS(rc16))
				which = (low & 1) * 2 + (k & 1);
			byte = bytes[which];
			if (!HAS(f4e) && !HAS(b4e) && !HAS(rc8) && !HAS(ecl) && !HAS(ecr) &&
			    !HAS(rc16) && pick >> k * 4 & 8)
				byte = byte & 128 ? 255 : 0;
			r |= (__int128)byte << k * 8;
		}
		break;
	}
	default:
		return false;
	}
	if (HAS(sat))
		r = clamp(r, type);
	if (HAS(wide))
		bits *= 2;
	if (form->opcode == SLU_PTX_OP_popc || form->opcode == SLU_PTX_OP_clz)
		bits = 32;
	*ret = cut((unsigned __int128)r, bits);
	return true;
}

static double f64_of(uint64_t x)
{
	double d;

	memcpy(&d, &x, 8);
	return d;
}

static float f32_of(uint64_t x)
{
	uint32_t bits = (uint32_t)x;
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

static uint64_t bits_of_f64(double d)
{
	uint64_t x;

	memcpy(&x, &d, 8);
	return x;
}

static uint64_t bits_of_f32(float f)
{
	uint32_t x;

	memcpy(&x, &f, 4);
	return x;
}

static float flushed(float x)
{
	return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

/* value of an f16, by its definition */
static double f16_of(uint64_t x)
{
	int exponent = (int)(x >> 10 & 31), fraction = (int)(x & 1023);
	double v = exponent == 31 ? (fraction ? NAN : INFINITY)
		   : exponent	  ? ldexp(1024 + fraction, exponent - 25)
				  : ldexp(fraction, -24);

	return x & 0x8000 ? -v : v;
}

/* the nearest f16 in a direction, by trying all of them between which the value lies */
static uint64_t f16_from(double v, int mode)
{
	uint16_t low = 0, high = 0x7c00, sign = signbit(v) ? 0x8000 : 0;
	double m = fabs(v), below, above;

	if (v != v)
		return 0x7fff;
	if (isinf(v))
		return sign | 0x7c00;
	while (high - low > 1) {
		uint16_t middle = (uint16_t)((low + high) / 2);

		if (f16_of(middle) <= m)
			low = middle;
		else
			high = middle;
	}
	below = f16_of(low);
	/* as if the next one were a number */
	above = high == 0x7c00 ? 65536 : f16_of(high);
	if (below == m)
		return sign | low;
	switch (mode) {
	case FE_TOWARDZERO:
		return sign | low;
	case FE_UPWARD:
		return sign | (sign ? low : high);
	case FE_DOWNWARD:
		return sign | (sign ? high : low);
	default:
		if (m - below == above - m)
			return sign | (low & 1 ? high : low);
		return sign | (m - below < above - m ? low : high);
	}
}

static int mode_of(const struct slu_ptx_form *form)
{
	return HAS(rz) ? FE_TOWARDZERO : HAS(rm) ? FE_DOWNWARD : HAS(rp) ? FE_UPWARD : FE_TONEAREST;
}

static bool float_op(const struct slu_ptx_form *form, const uint64_t in[4],
		     struct slu_reference *ret)
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
		fr = fa / fb;
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
			r = HAS(nan) ? NAN : isnan(a) ? b : a;
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
		ret->tolerance = is_64 && HAS(ftz) ? 0x1p-19 : 0x1p-20;
	ret->value = is_64 ? bits_of_f64(r) : bits_of_f32(fr);
	return true;
}

static bool half_op(const struct slu_ptx_form *form, const uint64_t in[4],
		    struct slu_reference *ret)
{
	unsigned n = form->types[0] == SLU_PTX_TYPE_F16X2 ? 2 : 1;

	ret->value = 0;
	for (unsigned k = 0; k < n; k++) {
		uint64_t h[3], out;
		double x[3];
		long double r;

		for (unsigned m = 0; m < 3; m++) {
			h[m] = in[m] >> k * 16 & 0xffff;
			if (HAS(ftz) && !(h[m] & 0x7c00))
				h[m] &= 0x8000;
			x[m] = f16_of(h[m]);
		}
		switch (form->opcode) {
		case SLU_PTX_OP_abs:
			ret->value |= (h[0] & 0x7fff) << k * 16;
			continue;
		case SLU_PTX_OP_neg:
			ret->value |= (h[0] ^ 0x8000) << k * 16;
			continue;
		case SLU_PTX_OP_min:
		case SLU_PTX_OP_max: {
			bool is_max = form->opcode == SLU_PTX_OP_max;

			if (isnan(x[0]) || isnan(x[1]))
				out = HAS(nan) || (isnan(x[0]) && isnan(x[1])) ? 0x7fff
				      : isnan(x[0])			       ? h[1]
									       : h[0];
			else if (x[0] == x[1])
				out = ((h[0] >> 15) != 0) != is_max ? h[0] : h[1];
			else
				out = (x[0] < x[1]) != is_max ? h[0] : h[1];
			ret->value |= out << k * 16;
			continue;
		}
		case SLU_PTX_OP_add:
			r = (long double)x[0] + x[1];
			break;
		case SLU_PTX_OP_sub:
			r = (long double)x[0] - x[1];
			break;
		case SLU_PTX_OP_mul:
			r = (long double)x[0] * x[1];
			break;
		case SLU_PTX_OP_fma:
			r = (long double)x[0] * x[1] + x[2];
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
		if (HAS(sat))
			r = !(r > 0) ? 0 : r > 1 ? 1 : r;
		out = f16_from((double)r, FE_TONEAREST);
		if (HAS(relu) && out & 0x8000 && (out & 0x7fff) <= 0x7c00)
			out = 0;
		if (HAS(ftz) && !(out & 0x7c00))
			out &= 0x8000;
		ret->value |= out << k * 16;
	}
	return true;
}

static bool compare(const struct slu_ptx_form *form, enum slu_ptx_type type, uint64_t x, uint64_t y,
		    bool *ret)
{
	int order; /* -1, 0, 1; 2 if there is a NaN */
	double a = 0, b = 0;

	switch (type) {
	case SLU_PTX_TYPE_F16:
		a = f16_of(x & 0xffff);
		b = f16_of(y & 0xffff);
		if (HAS(ftz)) {
			a = fabs(a) < 0x1p-14 ? 0 : a;
			b = fabs(b) < 0x1p-14 ? 0 : b;
		}
		break;
	case SLU_PTX_TYPE_F32:
		a = HAS(ftz) ? flushed(f32_of(x)) : f32_of(x);
		b = HAS(ftz) ? flushed(f32_of(y)) : f32_of(y);
		break;
	case SLU_PTX_TYPE_F64:
		a = f64_of(x);
		b = f64_of(y);
		break;
	default:
		order = value_of(x, type) < value_of(y, type)
				? -1
				: value_of(x, type) > value_of(y, type);
		goto compared;
	}
	order = isnan(a) || isnan(b) ? 2 : a < b ? -1 : a > b;
compared:
	*ret = HAS(eq)		    ? order == 0
	       : HAS(ne)	    ? order == -1 || order == 1
	       : HAS(lt) || HAS(lo) ? order == -1
	       : HAS(le) || HAS(ls) ? order == -1 || order == 0
	       : HAS(gt) || HAS(hi) ? order == 1
	       : HAS(ge) || HAS(hs) ? order == 1 || order == 0
	       : HAS(equ)	    ? order == 0 || order == 2
	       : HAS(neu)	    ? order != 0
	       : HAS(ltu)	    ? order == -1 || order == 2
	       : HAS(leu)	    ? order != 1
	       : HAS(gtu)	    ? order == 1 || order == 2
	       : HAS(geu)	    ? order != -1
	       : HAS(num)	    ? order != 2
				    : order == 2;
	return true;
}

static bool with(const struct slu_ptx_form *form, bool a, bool c)
{
	return HAS(and) ? a && c : HAS(or) ? a || c : HAS(xor) ? a != c : a;
}

static bool cmp_op(const struct slu_ptx_form *form, const uint64_t in[4], struct slu_reference *ret)
{
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	enum slu_ptx_type last = (enum slu_ptx_type)form->types[form->n_types - 1];
	unsigned bits = bits_of(type);
	bool low, high;
	int class;

	switch (form->opcode) {
	case SLU_PTX_OP_setp:
		if (type == SLU_PTX_TYPE_F16X2) {
			compare(form, SLU_PTX_TYPE_F16, in[0], in[1], &low);
			compare(form, SLU_PTX_TYPE_F16, in[0] >> 16, in[1] >> 16, &high);
			ret->p = with(form, low, in[2]);
			ret->q = with(form, high, in[2]);
			return true;
		}
		compare(form, type, in[0], in[1], &low);
		ret->p = with(form, low, in[2]);
		ret->q = with(form, !low, in[2]);
		return true;
	case SLU_PTX_OP_set:
		if (last == SLU_PTX_TYPE_F16X2) {
			uint64_t one = type == SLU_PTX_TYPE_F16X2 ? 0x3c00 : 0xffff;

			compare(form, SLU_PTX_TYPE_F16, in[0], in[1], &low);
			compare(form, SLU_PTX_TYPE_F16, in[0] >> 16, in[1] >> 16, &high);
			ret->value = (low ? one : 0) | (high ? one << 16 : 0);
			return true;
		}
		compare(form, last, in[0], in[1], &low);
		low = with(form, low, in[2]);
		ret->value = !low			? 0
			     : type == SLU_PTX_TYPE_F32 ? bits_of_f32(1)
			     : type == SLU_PTX_TYPE_F16 ? 0x3c00
							: UINT32_MAX;
		return true;
	case SLU_PTX_OP_selp:
		ret->value = cut(in[2] ? in[0] : in[1], bits);
		return true;
	case SLU_PTX_OP_slct:
		if (last == SLU_PTX_TYPE_S32)
			low = (int32_t)in[2] >= 0;
		else
			low = (HAS(ftz) ? flushed(f32_of(in[2])) : f32_of(in[2])) >= 0;
		ret->value = cut(low ? in[0] : in[1], bits);
		return true;
	case SLU_PTX_OP_testp:
		class = type == SLU_PTX_TYPE_F64 ? fpclassify(f64_of(in[0]))
						 : fpclassify(f32_of(in[0]));
		ret->p = HAS(finite)
				 ? class == FP_NORMAL || class == FP_SUBNORMAL || class == FP_ZERO
			 : HAS(infinite)   ? class == FP_INFINITE
			 : HAS(number)	   ? class != FP_NAN
			 : HAS(notanumber) ? class == FP_NAN
			 : HAS(normal)	   ? class == FP_NORMAL
					   : class == FP_SUBNORMAL;
		return true;
	default:
		return false;
	}
}

static long double rounded(long double x, const struct slu_ptx_form *form)
{
	return HAS(rzi) ? truncl(x) : HAS(rmi) ? floorl(x) : HAS(rpi) ? ceill(x) : rintl(x);
}

/* a long double holds every 64-bit integer and every float */
static bool cvt_op(const struct slu_ptx_form *form, const uint64_t in[4], struct slu_reference *ret)
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
	x = from == SLU_PTX_TYPE_F16   ? f16_of(in[0] & 0xffff)
	    : from == SLU_PTX_TYPE_F32 ? (HAS(ftz) ? flushed(f32_of(in[0])) : f32_of(in[0]))
	    : from == SLU_PTX_TYPE_F64 ? f64_of(in[0])
				       : (long double)value_of(in[0], from);
	if (HAS(rni) || HAS(rzi) || HAS(rmi) || HAS(rpi))
		x = rounded(x, form);
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
	if (to == SLU_PTX_TYPE_F16) {
		ret->value = f16_from((double)x, mode_of(form));
		return true;
	}
	fesetround(mode_of(form));
	f = (float)x;
	d = (double)x;
	fesetround(FE_TONEAREST);
	if (to == SLU_PTX_TYPE_F32 && HAS(ftz))
		f = flushed(f);
	ret->value = to == SLU_PTX_TYPE_F32 ? bits_of_f32(f) : bits_of_f64(d);
	return true;
}

bool slu_reference_compute(const struct slu_ptx_form *form, const uint64_t in[4],
			   struct slu_reference *ret)
{
	*ret = (struct slu_reference){ 0 };
	switch (form->row->family) {
	case SLU_PTX_FAMILY_INT:
		if (form->opcode == SLU_PTX_OP_addc || form->opcode == SLU_PTX_OP_subc || HAS(cc))
			return false;
		return int_op(form, in, &ret->value);
	case SLU_PTX_FAMILY_FLOAT:
		return float_op(form, in, ret);
	case SLU_PTX_FAMILY_HALF:
		return half_op(form, in, ret);
	case SLU_PTX_FAMILY_CMP:
		return cmp_op(form, in, ret);
	case SLU_PTX_FAMILY_CVT:
		return cvt_op(form, in, ret);
	case SLU_PTX_FAMILY_PRED:
		ret->p = form->opcode == SLU_PTX_OP_and	  ? in[0] && in[1]
			 : form->opcode == SLU_PTX_OP_or  ? in[0] || in[1]
			 : form->opcode == SLU_PTX_OP_xor ? in[0] != in[1]
			 : form->opcode == SLU_PTX_OP_not ? !in[0]
							  : in[0] != 0;
		return true;
	default:
		return false;
	}
}
