/* SPDX-License-Identifier: Apache-2.0 */
/*
 * f16 and bf16, and two of them in a word. Arithmetic is done in double, which holds products
 * exactly; a sum that it does not hold leaves a mark in its last bit, so that the one rounding to
 * 16 bits is the right one.
 */
#include <math.h>

#include "softgpu/interp/half.h"
#include "softgpu/interp/isa.h"

struct options {
	enum slu_ptx_opcode opcode;
	bool is_ftz;
	bool is_sat;
	bool is_relu;
	bool is_nan;
	bool is_bf16;
};

static uint16_t exponent_of(const struct options *o)
{
	return o->is_bf16 ? 0x7f80 : 0x7c00;
}

static uint16_t half_flush(const struct options *o, uint16_t half)
{
	return half & exponent_of(o) ? half : half & 0x8000;
}

static bool is_nan(const struct options *o, uint16_t half)
{
	return (half & 0x7fff) > exponent_of(o);
}

static double value_of(const struct options *o, uint16_t half)
{
	return (double)(o->is_bf16 ? dev_bf16_to_float(half) : dev_half_to_float(half, false));
}

/* the number wins over a NaN unless .nan is asked for; -0 is less than +0 */
static uint16_t half_extreme(const struct options *o, uint16_t a, uint16_t b, bool is_max)
{
	double x = value_of(o, a), y = value_of(o, b);
	bool a_first;

	if (is_nan(o, a) || is_nan(o, b)) {
		if (o->is_nan || (is_nan(o, a) && is_nan(o, b)))
			return 0x7fff;
		return is_nan(o, a) ? b : a;
	}
	a_first = x == y ? (a & 0x8000) != 0 : x < y;
	return a_first != is_max ? a : b;
}

static uint16_t half_compute(const struct options *o, uint16_t a, uint16_t b, uint16_t c)
{
	double x, y, z, r;
	uint16_t half;

	if (o->is_ftz) {
		a = half_flush(o, a);
		b = half_flush(o, b);
		c = half_flush(o, c);
	}
	x = value_of(o, a);
	y = value_of(o, b);
	z = value_of(o, c);
	switch (o->opcode) {
	case SLU_PTX_OP_abs:
		return a & 0x7fff;
	case SLU_PTX_OP_neg:
		return a ^ 0x8000;
	case SLU_PTX_OP_min:
		return half_extreme(o, a, b, false);
	case SLU_PTX_OP_max:
		return half_extreme(o, a, b, true);
	case SLU_PTX_OP_add:
		r = dev_half_sum(x, y);
		break;
	case SLU_PTX_OP_sub:
		r = dev_half_sum(x, -y);
		break;
	case SLU_PTX_OP_mul:
		r = x * y;
		break;
	case SLU_PTX_OP_fma:
		r = dev_half_sum(x * y, z);
		break;
	case SLU_PTX_OP_ex2:
		r = exp2(x);
		break;
	default:
		r = tanh(x);
		break;
	}
	if (o->is_sat)
		r = !(r > 0) ? 0 : r > 1 ? 1 : r;
	half = o->is_bf16 ? dev_bf16_from_double(r, DEV_HALF_NEAREST)
			  : dev_half_from_double(r, DEV_HALF_NEAREST);
	if (o->is_relu && half & 0x8000 && !is_nan(o, half))
		half = 0;
	return o->is_ftz ? half_flush(o, half) : half;
}

static const struct dev_interp_insn *half_run(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	const uint32_t *a = ROW(w, in->a), *b = ROW(w, in->b), *c = ROW(w, in->c);
	uint32_t *d = ROW(w, in->d);
	bool is_packed = slu_ptx_type_size((enum slu_ptx_type)form->types[0]) == 4;
	struct options o = {
		.opcode = form->opcode,
		.is_ftz = slu_ptx_form_has(form, SLU_PTX_MOD_ftz),
		.is_sat = slu_ptx_form_has(form, SLU_PTX_MOD_sat),
		.is_relu = slu_ptx_form_has(form, SLU_PTX_MOD_relu),
		.is_nan = slu_ptx_form_has(form, SLU_PTX_MOD_NaN),
		.is_bf16 = form->types[0] == SLU_PTX_TYPE_BF16 ||
			   form->types[0] == SLU_PTX_TYPE_BF16X2,
	};

	MASKED_LANES(w->mask)
	{
		uint32_t value = half_compute(&o, (uint16_t)a[i], (uint16_t)b[i], (uint16_t)c[i]);

		if (is_packed)
			value |= (uint32_t)half_compute(&o, (uint16_t)(a[i] >> 16),
							(uint16_t)(b[i] >> 16),
							(uint16_t)(c[i] >> 16))
				 << 16;
		d[i] = value;
	}
	return in + 1;
}

const struct dev_interp_handler *DEV_ISA(half_bind)(const struct slu_ptx_form *form)
{
	static const struct dev_interp_handler half = { half_run, half_run };

	(void)form;
	return &half;
}
