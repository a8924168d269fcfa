/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * 16-bit floats by hand, because not every machine has them: to float exactly, from double with
 * one rounding in any mode. From double, so that the sum or product of two halves, which a double
 * holds exactly, is rounded once.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum slu_half_rounding {
	SLU_HALF_NEAREST,
	SLU_HALF_ZERO,
	SLU_HALF_DOWN,
	SLU_HALF_UP,
};

static inline float slu_half_to_float(uint16_t half, bool is_flushing)
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

static inline uint16_t slu_half_from_double(double value, enum slu_half_rounding mode)
{
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
		return fraction ? 0x7fff : (uint16_t)(sign | 0x7c00);
	if (exponent == -1023 && !fraction)
		return sign;
	/* the bits that do not fit, and the value in units of the last that does */
	if (exponent > -1023)
		fraction |= UINT64_C(1) << 52;
	drop = 42;
	if (exponent < -14)
		drop += (unsigned)(-14 - exponent);
	if (drop > 63)
		drop = 63;
	if (exponent < -1000)
		fraction = 1; /* far below: only "not zero" counts */
	rest = fraction & ((UINT64_C(1) << drop) - 1);
	half_way = UINT64_C(1) << (drop - 1);
	magnitude = (uint16_t)(fraction >> drop);
	switch (mode) {
	case SLU_HALF_NEAREST:
		is_up = rest > half_way || (rest == half_way && (magnitude & 1));
		break;
	case SLU_HALF_ZERO:
		is_up = false;
		break;
	case SLU_HALF_DOWN:
		is_up = rest && sign;
		break;
	default:
		is_up = rest && !sign;
		break;
	}
	/* an exponent of -14 or more brings its own bit, which is added to the field */
	if (exponent >= -14) {
		if (exponent > 15)
			magnitude = 0x7c00;
		else
			magnitude = (uint16_t)(magnitude + ((exponent + 14) << 10));
	}
	if (exponent > 15 || magnitude >= 0x7c00) {
		bool is_infinite = mode == SLU_HALF_NEAREST || (mode == SLU_HALF_UP && !sign) ||
				   (mode == SLU_HALF_DOWN && sign);

		return (uint16_t)(sign | (is_infinite ? 0x7c00 : 0x7bff));
	}
	if (is_up)
		magnitude++;
	return (uint16_t)(sign | magnitude);
}
