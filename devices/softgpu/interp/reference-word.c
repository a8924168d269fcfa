/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of words, as the ISA's pseudo code has them: one bit or one part after another. */
#include "softgpu/interp/reference-parts.h"

static uint32_t word_fns(uint32_t mask, uint32_t base, int32_t offset)
{
	int64_t at = base & 31, count = offset < 0 ? -(int64_t)offset - 1 : (int64_t)offset - 1;

	if (offset == 0)
		return mask >> at & 1 ? (uint32_t)at : UINT32_MAX;
	while (at >= 0 && at < 32) {
		if (mask >> at & 1) {
			if (count == 0)
				return (uint32_t)at;
			count--;
		}
		at += offset > 0 ? 1 : -1;
	}
	return UINT32_MAX;
}

static int64_t word_saturated(int64_t x, unsigned bits, bool is_signed)
{
	int64_t most = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
	int64_t least = is_signed ? -(1 << (bits - 1)) : 0;

	return x < least ? least : x > most ? most : x;
}

static uint64_t word_pack(const struct slu_ptx_form *form, const uint64_t in[4])
{
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	bool is_small = HAS(u4) || HAS(s4) || HAS(u2) || HAS(s2);
	unsigned bits = HAS(u4) || HAS(s4) ? 4 : is_small ? 2 : bits_of(type);
	bool is_signed = is_small ? HAS(s4) || HAS(s2) : slu_ptx_type_is_signed(type);
	uint64_t a = cut((unsigned __int128)word_saturated((int32_t)in[0], bits, is_signed), bits);
	uint64_t b = cut((unsigned __int128)word_saturated((int32_t)in[1], bits, is_signed), bits);

	if (bits == 16)
		return a << 16 | b;
	return cut((in[2] << 2 * bits) | a << bits | b, 32);
}

bool dev_reference_word(const struct slu_ptx_form *form, const uint64_t in[4],
			struct dev_reference *ret)
{
	switch (form->opcode) {
	case SLU_PTX_OP_fns:
		ret->value = word_fns((uint32_t)in[0], (uint32_t)in[1], (int32_t)in[2]);
		return true;
	case SLU_PTX_OP_lop3:
		/* the table 0x96 is a ^ b ^ c */
		ret->value = cut(in[0] ^ in[1] ^ in[2], 32);
		ret->p = HAS(and) ? ret->value && in[3] : ret->value || in[3];
		return true;
	case SLU_PTX_OP_cvt:
		ret->value = word_pack(form, in);
		return true;
	default:
		return false;
	}
}
