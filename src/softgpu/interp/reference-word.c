/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of words, as the ISA's pseudo code has them: one bit or one part after another. */
#include "softgpu/interp/reference-parts.h"

static uint32_t fns(uint32_t mask, uint32_t base, int32_t offset)
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

static int64_t saturated(int64_t x, unsigned bits, bool is_signed)
{
	int64_t most = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
	int64_t least = is_signed ? -(1 << (bits - 1)) : 0;

	return x < least ? least : x > most ? most : x;
}

static uint64_t pack(const struct slu_ptx_form *form, const uint64_t in[4])
{
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	bool is_small = HAS(u4) || HAS(s4) || HAS(u2) || HAS(s2);
	unsigned bits = HAS(u4) || HAS(s4) ? 4 : is_small ? 2 : bits_of(type);
	bool is_signed = is_small ? HAS(s4) || HAS(s2) : slu_ptx_type_is_signed(type);
	uint64_t a = cut((unsigned __int128)saturated((int32_t)in[0], bits, is_signed), bits);
	uint64_t b = cut((unsigned __int128)saturated((int32_t)in[1], bits, is_signed), bits);

	if (bits == 16)
		return a << 16 | b;
	return cut((in[2] << 2 * bits) | a << bits | b, 32);
}

/* vadd2, vset4 and their like */
static uint64_t parts(const struct slu_ptx_form *form, const uint64_t in[4])
{
	const char *name = form->row->name;
	size_t length = strlen(name) - 1;
	unsigned n = (unsigned)(name[length] - '0'), bits = 32 / n;
	bool is_set = !strncmp(name, "vset", length);
	bool a_signed = form->types[is_set ? 0 : 1] == SLU_PTX_TYPE_S32;
	bool b_signed = form->types[is_set ? 1 : 2] == SLU_PTX_TYPE_S32;
	uint64_t word = 0, sum = in[2];

	for (unsigned k = 0; k < n; k++) {
		int64_t a = (int64_t)(in[0] >> k * bits & ((1u << bits) - 1)), t;
		int64_t b = (int64_t)(in[1] >> k * bits & ((1u << bits) - 1));

		if (a_signed && a >= 1 << (bits - 1))
			a -= 1 << bits;
		if (b_signed && b >= 1 << (bits - 1))
			b -= 1 << bits;
		if (!strncmp(name, "vadd", length))
			t = a + b;
		else if (!strncmp(name, "vsub", length))
			t = a - b;
		else if (!strncmp(name, "vavrg", length))
			t = a + b >= 0 ? (a + b + 1) / 2 : (int64_t)floor((double)(a + b) / 2);
		else if (!strncmp(name, "vabsdiff", length))
			t = llabs(a - b);
		else if (!strncmp(name, "vmin", length))
			t = SLU_MIN(a, b);
		else if (!strncmp(name, "vmax", length))
			t = SLU_MAX(a, b);
		else
			t = HAS(eq)   ? a == b
			    : HAS(ne) ? a != b
			    : HAS(lt) ? a < b
			    : HAS(le) ? a <= b
			    : HAS(gt) ? a > b
				      : a >= b;
		if (HAS(sat))
			t = saturated(t, bits, form->types[0] == SLU_PTX_TYPE_S32);
		word |= cut((unsigned __int128)t, bits) << k * bits;
		sum += (uint64_t)t;
	}
	return cut(HAS(add) ? sum : word, 32);
}

bool slu_reference_word(const struct slu_ptx_form *form, const uint64_t in[4],
			struct slu_reference *ret)
{
	switch (form->opcode) {
	case SLU_PTX_OP_fns:
		ret->value = fns((uint32_t)in[0], (uint32_t)in[1], (int32_t)in[2]);
		return true;
	case SLU_PTX_OP_lop3:
		/* the table 0x96 is a ^ b ^ c */
		ret->value = cut(in[0] ^ in[1] ^ in[2], 32);
		ret->p = HAS(and) ? ret->value && in[3] : ret->value || in[3];
		return true;
	case SLU_PTX_OP_cvt:
		ret->value = pack(form, in);
		return true;
	default:
		ret->value = parts(form, in);
		return form->row->name[0] == 'v';
	}
}
