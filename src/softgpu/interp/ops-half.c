/* SPDX-License-Identifier: Apache-2.0 */
/*
 * f16 and f16x2. Arithmetic is done in double, which holds sums and products of halves exactly
 * and a fused product and sum closely enough that the one rounding to f16 is the right one. The
 * packed form does both halves of a word.
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
};

static uint16_t flush(uint16_t half)
{
	return half & 0x7c00 ? half : half & 0x8000;
}

static bool is_nan(uint16_t half)
{
	return (half & 0x7fff) > 0x7c00;
}

/* the number wins over a NaN unless .nan is asked for; -0 is less than +0 */
static uint16_t extreme(uint16_t a, uint16_t b, bool is_max, bool is_strict)
{
	float x = slu_half_to_float(a, false), y = slu_half_to_float(b, false);
	bool a_first;

	if (is_nan(a) || is_nan(b)) {
		if (is_strict || (is_nan(a) && is_nan(b)))
			return 0x7fff;
		return is_nan(a) ? b : a;
	}
	a_first = x == y ? (a & 0x8000) != 0 : x < y;
	return a_first != is_max ? a : b;
}

static uint16_t compute(const struct options *o, uint16_t a, uint16_t b, uint16_t c)
{
	double x, y, z, r;
	uint16_t half;

	if (o->is_ftz) {
		a = flush(a);
		b = flush(b);
		c = flush(c);
	}
	x = (double)slu_half_to_float(a, false);
	y = (double)slu_half_to_float(b, false);
	z = (double)slu_half_to_float(c, false);
	switch (o->opcode) {
	case SLU_PTX_OP_abs:
		return a & 0x7fff;
	case SLU_PTX_OP_neg:
		return a ^ 0x8000;
	case SLU_PTX_OP_min:
		return extreme(a, b, false, o->is_nan);
	case SLU_PTX_OP_max:
		return extreme(a, b, true, o->is_nan);
	case SLU_PTX_OP_add:
		r = x + y;
		break;
	case SLU_PTX_OP_sub:
		r = x - y;
		break;
	case SLU_PTX_OP_mul:
		r = x * y;
		break;
	case SLU_PTX_OP_fma:
		r = x * y + z;
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
	half = slu_half_from_double(r, SLU_HALF_NEAREST);
	if (o->is_relu && half & 0x8000 && !is_nan(half))
		half = 0;
	return o->is_ftz ? flush(half) : half;
}

static const struct slu_interp_insn *half_run(struct slu_interp_warp *w,
					      const struct slu_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	const uint32_t *a = ROW(w, in->a), *b = ROW(w, in->b), *c = ROW(w, in->c);
	uint32_t *d = ROW(w, in->d);
	bool is_packed = form->types[0] == SLU_PTX_TYPE_F16X2;
	struct options o = {
		.opcode = form->opcode,
		.is_ftz = slu_ptx_form_has(form, SLU_PTX_MOD_ftz),
		.is_sat = slu_ptx_form_has(form, SLU_PTX_MOD_sat),
		.is_relu = slu_ptx_form_has(form, SLU_PTX_MOD_relu),
		.is_nan = slu_ptx_form_has(form, SLU_PTX_MOD_nan),
	};

	MASKED_LANES(w->mask)
	{
		uint32_t value = compute(&o, (uint16_t)a[i], (uint16_t)b[i], (uint16_t)c[i]);

		if (is_packed)
			value |= (uint32_t)compute(&o, (uint16_t)(a[i] >> 16),
						   (uint16_t)(b[i] >> 16), (uint16_t)(c[i] >> 16))
				 << 16;
		d[i] = value;
	}
	return in + 1;
}

const struct slu_interp_handler *SLU_ISA(bind_half)(const struct slu_ptx_form *form)
{
	static const struct slu_interp_handler half = { half_run, half_run };

	(void)form;
	return &half;
}
