/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the files of the reference share: numbers as mathematics has them, and back to bits. */

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "softgpu/interp/reference.h"

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)

static inline unsigned bits_of(enum slu_ptx_type type)
{
	return slu_ptx_type_size(type) * 8;
}

static inline uint64_t cut(unsigned __int128 x, unsigned bits)
{
	return bits >= 64 ? (uint64_t)x : (uint64_t)x & ((UINT64_C(1) << bits) - 1);
}

/* the mathematical value of the bits */
static inline __int128 value_of(uint64_t x, enum slu_ptx_type type)
{
	unsigned bits = bits_of(type);
	__int128 v = (__int128)cut(x, bits);

	if (slu_ptx_type_is_signed(type) && x >> (bits - 1) & 1)
		v -= (__int128)1 << bits;
	return v;
}

static inline __int128 floor_shift(__int128 x, unsigned n)
{
	return x >> n;
}

static inline __int128 least_of(enum slu_ptx_type type)
{
	return slu_ptx_type_is_signed(type) ? -((__int128)1 << (bits_of(type) - 1)) : 0;
}

static inline __int128 most_of(enum slu_ptx_type type)
{
	return slu_ptx_type_is_signed(type) ? ((__int128)1 << (bits_of(type) - 1)) - 1
					    : ((__int128)1 << bits_of(type)) - 1;
}

static inline __int128 clamp(__int128 x, enum slu_ptx_type type)
{
	return x < least_of(type) ? least_of(type) : x > most_of(type) ? most_of(type) : x;
}

static inline double f64_of(uint64_t x)
{
	double d;

	memcpy(&d, &x, 8);
	return d;
}

static inline float f32_of(uint64_t x)
{
	uint32_t bits = (uint32_t)x;
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

static inline uint64_t bits_of_f64(double d)
{
	uint64_t x;

	memcpy(&x, &d, 8);
	return x;
}

static inline uint64_t bits_of_f32(float f)
{
	uint32_t x;

	memcpy(&x, &f, 4);
	return x;
}

static inline float flushed(float x)
{
	return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

/* A float of 16 bits, f16 or bf16: how many of them are the fraction. */
static inline unsigned fraction_bits(enum slu_ptx_type type)
{
	return type == SLU_PTX_TYPE_BF16 || type == SLU_PTX_TYPE_BF16X2 ? 7 : 10;
}

/* its value, by its definition */
static inline double narrow_of(uint64_t x, enum slu_ptx_type type)
{
	unsigned bits = fraction_bits(type);
	int bias = (1 << (14 - bits)) - 1, most = 2 * bias + 1;
	int exponent = (int)(x >> bits) & most, fraction = (int)x & ((1 << bits) - 1);
	double v = exponent == most ? (fraction ? NAN : INFINITY)
		   : exponent	    ? ldexp((1 << bits) + fraction, exponent - bias - (int)bits)
				    : ldexp(fraction, 1 - bias - (int)bits);

	return x & 0x8000 ? -v : v;
}

/*
 * The nearest one in a direction to @v + @rest, of which @rest is too small to be seen in @v: by
 * trying all of them between which the value lies.
 */
static inline uint64_t narrow_from(long double v, long double rest, int mode,
				   enum slu_ptx_type type)
{
	uint16_t top = (uint16_t)(0x7fff << fraction_bits(type)) & 0x7fff, low = 0, high = top;
	uint16_t sign = signbit(v) ? 0x8000 : 0;
	long double m = fabsl(v), r = sign ? -rest : rest, below, above, half;
	bool is_more;

	if (v != v)
		return 0x7fff;
	if (isinf(v))
		return sign | top;
	while (high - low > 1) {
		uint16_t middle = (uint16_t)((low + high) / 2);
		long double x = narrow_of(middle, type);

		if (x < m || (x == m && r >= 0))
			low = middle;
		else
			high = middle;
	}
	below = narrow_of(low, type);
	/* as if the next one were a number */
	above = high == top ? 2 * below - narrow_of((uint16_t)(low - 1), type)
			    : narrow_of(high, type);
	if (below == m && r == 0)
		return sign | low;
	half = (below + above) / 2;
	switch (mode) {
	case FE_TOWARDZERO:
		return sign | low;
	case FE_UPWARD:
		return sign | (sign ? low : high);
	case FE_DOWNWARD:
		return sign | (sign ? high : low);
	default:
		if (m == half && r == 0)
			return sign | (low & 1 ? high : low);
		is_more = m > half || (m == half && r > 0);
		return sign | (is_more ? high : low);
	}
}

static inline int mode_of(const struct slu_ptx_form *form)
{
	return HAS(rz) ? FE_TOWARDZERO : HAS(rm) ? FE_DOWNWARD : HAS(rp) ? FE_UPWARD : FE_TONEAREST;
}

/* one file each */
bool dev_reference_int(const struct slu_ptx_form *form, const uint64_t in[4],
		       struct dev_reference *ret);
bool dev_reference_float(const struct slu_ptx_form *form, const uint64_t in[4],
			 struct dev_reference *ret);
bool dev_reference_half(const struct slu_ptx_form *form, const uint64_t in[4],
			struct dev_reference *ret);
bool dev_reference_word(const struct slu_ptx_form *form, const uint64_t in[4],
			struct dev_reference *ret);
bool dev_reference_compare(const struct slu_ptx_form *form, const uint64_t in[4],
			   struct dev_reference *ret);
bool dev_reference_convert(const struct slu_ptx_form *form, const uint64_t in[4],
			   struct dev_reference *ret);
