/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * 16-bit floats by hand, because not every machine has them: f16 with a fraction of 10 bits, bf16
 * with 7. To float exactly, from double with one rounding in any mode. From double, because it
 * holds the product of two of them exactly; what a sum does not hold is kept in its last bit.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum dev_half_rounding {
	DEV_HALF_NEAREST,
	DEV_HALF_ZERO,
	DEV_HALF_DOWN,
	DEV_HALF_UP,
};

static inline float dev_half_to_float(uint16_t half, bool is_flushing)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
	uint32_t bits;
	float f;

	if (exponent == 31) {
		/* there is one NaN of f32 */
		bits = fraction ? 0x7fffffff : sign | 0x7f800000;
	} else if (exponent) {
		bits = sign | (exponent + 112) << 23 | fraction << 13;
	} else if (!fraction || is_flushing) {
		bits = sign;
	} else {
		unsigned shift = (unsigned)__builtin_clz(fraction) - 21;

		bits = sign | (113 - shift) << 23 | (fraction << shift & 1023) << 13;
	}
	memcpy(&f, &bits, 4);
	return f;
}

static inline float dev_bf16_to_float(uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

/* a + b, with an odd last bit if it is not exact: rounded once more, it is rounded rightly */
static inline double dev_half_sum(double a, double b)
{
	double sum = a + b, from_b = sum - a;
	double rest = (a - (sum - from_b)) + (b - from_b);
	uint64_t bits;

	/* also where a or b is no number, and so is the rest */
	if (!(rest < 0) && !(rest > 0))
		return sum;
	memcpy(&bits, &sum, 8);
	if (!(bits & 1))
		bits += (rest > 0) == (sum > 0) ? 1 : -UINT64_C(1);
	memcpy(&sum, &bits, 8);
	return sum;
}

/* @n_fraction bits of fraction, 10 or 7, and as many of the exponent as are left of 15 */
static inline uint16_t dev_narrow_from_double(double value, enum dev_half_rounding mode,
					      unsigned n_fraction)
{
	const int bias = (1 << (14 - n_fraction)) - 1, least = 1 - bias;
	const uint16_t infinity = (uint16_t)(0x7fff >> n_fraction << n_fraction);
	uint64_t bits, fraction, rest, half_way;
	uint16_t sign, magnitude;
	int exponent;
	unsigned drop;
	bool is_up;

	memcpy(&bits, &value, 8);
	sign = (uint16_t)(bits >> 48 & 0x8000);
	exponent = (int)(bits >> 52 & 2047) - 1023;
	fraction = bits & ((UINT64_C(1) << 52) - 1);
	if (exponent == 1024)
		return fraction ? 0x7fff : (uint16_t)(sign | infinity);
	if (exponent == -1023 && !fraction)
		return sign;
	/* the bits that do not fit, and the value in units of the last that does */
	if (exponent > -1023)
		fraction |= UINT64_C(1) << 52;
	drop = 52 - n_fraction;
	if (exponent < least)
		drop += (unsigned)(least - exponent);
	if (drop > 63)
		drop = 63;
	if (exponent < -1000)
		fraction = 1; /* far below: only "not zero" counts */
	rest = fraction & ((UINT64_C(1) << drop) - 1);
	half_way = UINT64_C(1) << (drop - 1);
	magnitude = (uint16_t)(fraction >> drop);
	switch (mode) {
	case DEV_HALF_NEAREST:
		is_up = rest > half_way || (rest == half_way && (magnitude & 1));
		break;
	case DEV_HALF_ZERO:
		is_up = false;
		break;
	case DEV_HALF_DOWN:
		is_up = rest && sign;
		break;
	default:
		is_up = rest && !sign;
		break;
	}
	/* a normal number brings its own bit, which is added to the field */
	if (exponent >= least) {
		if (exponent > bias)
			magnitude = infinity;
		else
			magnitude = (uint16_t)(magnitude + ((exponent - least) << n_fraction));
	}
	if (exponent > bias || magnitude >= infinity) {
		bool is_infinite = mode == DEV_HALF_NEAREST || (mode == DEV_HALF_UP && !sign) ||
				   (mode == DEV_HALF_DOWN && sign);

		return (uint16_t)(sign | (infinity - !is_infinite));
	}
	if (is_up)
		magnitude++;
	return (uint16_t)(sign | magnitude);
}

static inline uint16_t dev_half_from_double(double value, enum dev_half_rounding mode)
{
	return dev_narrow_from_double(value, mode, 10);
}

static inline uint16_t dev_bf16_from_double(double value, enum dev_half_rounding mode)
{
	return dev_narrow_from_double(value, mode, 7);
}
