/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons and selections, from the order of two numbers: less, equal, greater, or none. */
#include "softgpu/interp/reference-parts.h"

static bool compare_run(const struct slu_ptx_form *form, enum slu_ptx_type type, uint64_t x,
			uint64_t y, bool *ret)
{
	int order; /* -1, 0, 1; 2 if there is a NaN */
	double a = 0, b = 0;

	switch (type) {
	case SLU_PTX_TYPE_F16:
		a = narrow_of(x & 0xffff, type);
		b = narrow_of(y & 0xffff, type);
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

static bool compare_with(const struct slu_ptx_form *form, bool a, bool c)
{
	return HAS(and) ? a && c : HAS(or) ? a || c : HAS(xor) ? a != c : a;
}

bool dev_reference_compare(const struct slu_ptx_form *form, const uint64_t in[4],
			   struct dev_reference *ret)
{
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	enum slu_ptx_type last = (enum slu_ptx_type)form->types[form->n_types - 1];
	unsigned bits = bits_of(type);
	bool low, high;
	int class;

	switch (form->opcode) {
	case SLU_PTX_OP_setp:
		if (type == SLU_PTX_TYPE_F16X2) {
			compare_run(form, SLU_PTX_TYPE_F16, in[0], in[1], &low);
			compare_run(form, SLU_PTX_TYPE_F16, in[0] >> 16, in[1] >> 16, &high);
			ret->p = compare_with(form, low, in[2]);
			ret->q = compare_with(form, high, in[2]);
			return true;
		}
		compare_run(form, type, in[0], in[1], &low);
		ret->p = compare_with(form, low, in[2]);
		ret->q = compare_with(form, !low, in[2]);
		return true;
	case SLU_PTX_OP_set:
		if (last == SLU_PTX_TYPE_F16X2) {
			uint64_t one = type == SLU_PTX_TYPE_F16X2 ? 0x3c00 : 0xffff;

			compare_run(form, SLU_PTX_TYPE_F16, in[0], in[1], &low);
			compare_run(form, SLU_PTX_TYPE_F16, in[0] >> 16, in[1] >> 16, &high);
			low = compare_with(form, low, in[2]);
			high = compare_with(form, high, in[2]);
			ret->value = (low ? one : 0) | (high ? one << 16 : 0);
			return true;
		}
		compare_run(form, last, in[0], in[1], &low);
		low = compare_with(form, low, in[2]);
		ret->value = !low			? 0
			     : type == SLU_PTX_TYPE_F32 ? bits_of_f32(1)
			     : type == SLU_PTX_TYPE_F16 ? 0x3c00
							: cut(UINT64_MAX, bits);
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
