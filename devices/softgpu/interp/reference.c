/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/interp/reference-parts.h"

bool dev_reference_compute(const struct slu_ptx_form *form, const uint64_t in[4],
			   struct dev_reference *ret)
{
	*ret = (struct dev_reference){ 0 };
	switch (form->row->family) {
	case SLU_PTX_FAMILY_INT:
		return dev_reference_int(form, in, ret);
	case SLU_PTX_FAMILY_WORD:
		return dev_reference_word(form, in, ret);
	case SLU_PTX_FAMILY_FLOAT:
		return dev_reference_float(form, in, ret);
	case SLU_PTX_FAMILY_HALF:
		return dev_reference_half(form, in, ret);
	case SLU_PTX_FAMILY_CMP:
		return dev_reference_compare(form, in, ret);
	case SLU_PTX_FAMILY_CVT:
		return dev_reference_convert(form, in, ret);
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

bool dev_reference_atomic(const struct slu_ptx_form *form, uint64_t old, uint64_t b, uint64_t c,
			  uint64_t *ret_new)
{
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	unsigned bits = bits_of(type);
	__int128 x = value_of(old, type), y = value_of(b, type), r;
	volatile float f;
	volatile double d;

	if (HAS(add) && slu_ptx_type_is_float(type)) {
		switch (type) {
		case SLU_PTX_TYPE_F32:
			f = f32_of(old) + f32_of(b);
			*ret_new = f != f ? 0x7fffffff : bits_of_f32(f);
			return true;
		case SLU_PTX_TYPE_F64:
			/* the first NaN's bits stay, made quiet */
			d = f64_of(old) + f64_of(b);
			*ret_new = bits_of_f64(d);
			return true;
		default:
			*ret_new = 0;
			for (unsigned k = 0; k < bits; k += 16) {
				long double v = narrow_of(old >> k & 0xffff, type);
				long double w = narrow_of(b >> k & 0xffff, type), sum = v + w;
				/* what the sum lost */
				long double rest =
					fabsl(v) > fabsl(w) ? w - (sum - v) : v - (sum - w);

				*ret_new |= narrow_from(sum, rest, FE_TONEAREST, type) << k;
			}
			return true;
		}
	}
	if (HAS(add))
		r = x + y;
	else if (HAS(min))
		r = x < y ? x : y;
	else if (HAS(max))
		r = x > y ? x : y;
	else if (HAS(and))
		r = x & y;
	else if (HAS(or))
		r = x | y;
	else if (HAS(xor))
		r = x ^ y;
	else if (HAS(inc))
		r = x >= y ? 0 : x + 1;
	else if (HAS(dec))
		r = x == 0 || x > y ? y : x - 1;
	else if (HAS(exch))
		r = y;
	else if (HAS(cas))
		r = x == y ? value_of(c, type) : x;
	else
		return false;
	*ret_new = cut((unsigned __int128)r, bits);
	return true;
}
