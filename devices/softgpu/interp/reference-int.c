/* SPDX-License-Identifier: Apache-2.0 */
/* Integers: on 128 bits, where everything fits, or bit by bit. */
#include "softgpu/interp/reference-parts.h"

/* Long: one switch with a case for each opcode. */
bool dev_reference_int(const struct slu_ptx_form *form, const uint64_t in[4],
		       struct dev_reference *ret)
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
		ret->value = cut((unsigned __int128)r, 32);
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
	ret->value = cut((unsigned __int128)r, bits);
	return true;
}
