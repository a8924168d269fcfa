/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cvt of any pair of types. Sources and destinations may lie in registers wider than their types: a
 * source is read by its low bits, a result extended by its own sign. f16 goes through double, where
 * everything that it can hold is exact, and is rounded once.
 */
#include <math.h>

#include "softgpu/interp/half.h"
#include "softgpu/interp/isa.h"

struct range {
	int64_t min;
	uint64_t max;
};

static const struct range ranges[_SLU_PTX_TYPE_MAX] = {
	[SLU_PTX_TYPE_U8] = { 0, UINT8_MAX },
	[SLU_PTX_TYPE_U16] = { 0, UINT16_MAX },
	[SLU_PTX_TYPE_U32] = { 0, UINT32_MAX },
	[SLU_PTX_TYPE_U64] = { 0, UINT64_MAX },
	[SLU_PTX_TYPE_S8] = { INT8_MIN, INT8_MAX },
	[SLU_PTX_TYPE_S16] = { INT16_MIN, INT16_MAX },
	[SLU_PTX_TYPE_S32] = { INT32_MIN, INT32_MAX },
	[SLU_PTX_TYPE_S64] = { INT64_MIN, INT64_MAX },
};

static uint64_t read_bits(const struct dev_interp_warp *w, const struct dev_interp_insn *in,
			  unsigned i)
{
	const void *row = ROW(w, in->a);

	return in->is_wide_address ? ((const uint64_t *)row)[i] : ((const uint32_t *)row)[i];
}

/* cut to the type, then extended by its sign to 64 bits */
static uint64_t convert_extend(uint64_t bits, enum slu_ptx_type type)
{
	unsigned drop = 64 - slu_ptx_type_size(type) * 8;

	if (slu_ptx_type_is_signed(type) && !slu_ptx_type_is_float(type))
		return (uint64_t)((int64_t)(bits << drop) >> drop);
	return bits << drop >> drop;
}

static void write_bits(struct dev_interp_warp *w, const struct dev_interp_insn *in, unsigned i,
		       uint64_t bits)
{
	void *row = ROW(w, in->d);

	if (in->is_wide_row)
		((uint64_t *)row)[i] = bits;
	else
		/* a 16-bit register keeps zeroes above its value */
		((uint32_t *)row)[i] = in->is_half_row ? (uint16_t)bits : (uint32_t)bits;
}

static uint64_t int_to_int(uint64_t bits, enum slu_ptx_type from, enum slu_ptx_type to, bool is_sat)
{
	uint64_t value = convert_extend(bits, from);

	if (is_sat) {
		const struct range *r = &ranges[to];

		if (slu_ptx_type_is_signed(from) && (int64_t)value < 0)
			value = (int64_t)value < r->min ? (uint64_t)r->min : value;
		else if (value > r->max)
			value = r->max;
	}
	return convert_extend(value, to);
}

/* 63 bits and a sticky one are converted with the right rounding in every mode; twice is exact */
static inline float u64_to_f32(uint64_t x)
{
	return x >> 63 ? 2 * (float)(int64_t)(x >> 1 | (x & 1)) : (float)(int64_t)x;
}

static inline double u64_to_f64(uint64_t x)
{
	return x >> 63 ? 2 * (double)(int64_t)(x >> 1 | (x & 1)) : (double)(int64_t)x;
}

static inline double to_integral(double x, const struct slu_ptx_form *form)
{
	if (slu_ptx_form_has(form, SLU_PTX_MOD_rzi))
		return trunc(x);
	if (slu_ptx_form_has(form, SLU_PTX_MOD_rmi))
		return floor(x);
	if (slu_ptx_form_has(form, SLU_PTX_MOD_rpi))
		return ceil(x);
	/* the state of the CPU is "nearest" for conversions with an integer rounding */
	return rint(x);
}

/* what does not fit is clamped, a NaN is 0 */
static uint64_t double_to_int(double x, enum slu_ptx_type to)
{
	const struct range *r = &ranges[to];
	bool is_signed = slu_ptx_type_is_signed(to);

	if (x != x)
		return 0;
	if (x <= (double)r->min)
		return convert_extend((uint64_t)r->min, to);
	/* the largest 64-bit values round up to a power of two that does not fit */
	if (x >= (double)r->max)
		return r->max;
	return convert_extend(is_signed ? (uint64_t)(int64_t)x : (uint64_t)x, to);
}

static double flush_double(double x, enum slu_ptx_type type)
{
	double least = type == SLU_PTX_TYPE_F32 ? 0x1p-126 : type == SLU_PTX_TYPE_F16 ? 0x1p-14 : 0;

	return fabs(x) < least ? copysign(0, x) : x;
}

static double read_float(uint64_t bits, enum slu_ptx_type type, bool is_ftz)
{
	uint32_t low = (uint32_t)bits;
	double d;
	float f;

	switch (type) {
	case SLU_PTX_TYPE_F16:
		return (double)dev_half_to_float((uint16_t)bits, false);
	case SLU_PTX_TYPE_BF16:
		return (double)dev_bf16_to_float((uint16_t)bits);
	case SLU_PTX_TYPE_F32:
		memcpy(&f, &low, 4);
		d = (double)f;
		return is_ftz ? flush_double(d, type) : d;
	default:
		memcpy(&d, &bits, 8);
		return d;
	}
}

static enum dev_half_rounding half_rounding(const struct slu_ptx_form *form)
{
	return slu_ptx_form_has(form, SLU_PTX_MOD_rz)	? DEV_HALF_ZERO
	       : slu_ptx_form_has(form, SLU_PTX_MOD_rm) ? DEV_HALF_DOWN
	       : slu_ptx_form_has(form, SLU_PTX_MOD_rp) ? DEV_HALF_UP
							: DEV_HALF_NEAREST;
}

static double convert_saturate(double x)
{
	return !(x > 0) ? 0 : x > 1 ? 1 : x;
}

/* between the outermost numbers of the type; a NaN stays one */
static double convert_bounded(double x, enum slu_ptx_type type)
{
	double most = type == SLU_PTX_TYPE_F16 || type == SLU_PTX_TYPE_F16X2 ? 0x1.ffcp15
		      : type == SLU_PTX_TYPE_TF32			     ? 0x1.ffcp127
									     : 0x1.fep127;

	return x > most ? most : x < -most ? -most : x;
}

static uint64_t write_float(double x, const struct slu_ptx_form *form)
{
	enum slu_ptx_type to = (enum slu_ptx_type)form->types[0];
	uint64_t bits = 0;
	float f;

	if (slu_ptx_form_has(form, SLU_PTX_MOD_sat))
		x = convert_saturate(x);
	if (slu_ptx_form_has(form, SLU_PTX_MOD_relu) && x <= 0)
		x = 0;
	if (slu_ptx_form_has(form, SLU_PTX_MOD_satfinite))
		x = convert_bounded(x, to);
	switch (to) {
	case SLU_PTX_TYPE_F16:
	case SLU_PTX_TYPE_F16X2:
		return dev_half_from_double(x, half_rounding(form));
	case SLU_PTX_TYPE_BF16:
	case SLU_PTX_TYPE_BF16X2:
		return dev_bf16_from_double(x, half_rounding(form));
	case SLU_PTX_TYPE_TF32:
		/* an f32 with 10 bits of fraction; a half is rounded away from zero */
		f = (float)x;
		if (f != f)
			return 0x7fffffff;
		memcpy(&bits, &f, 4);
		return (bits & 0x7f800000) == 0x7f800000 ? bits
							 : (bits + 0x1000) & ~UINT64_C(0x1fff);
	case SLU_PTX_TYPE_F32:
		f = (float)x;
		if (f != f)
			return 0x7fffffff;
		memcpy(&bits, &f, 4);
		if (slu_ptx_form_has(form, SLU_PTX_MOD_ftz) && !(bits & 0x7f800000))
			bits &= 0x80000000;
		return bits;
	default:
		memcpy(&bits, &x, 8);
		return bits;
	}
}

/* Integers that a double does not hold are converted by the CPU in its mode, or by hand to f16. */
static uint64_t int_to_float(uint64_t bits, const struct slu_ptx_form *form)
{
	enum slu_ptx_type to = (enum slu_ptx_type)form->types[0];
	enum slu_ptx_type from = (enum slu_ptx_type)form->types[1];
	uint64_t value = convert_extend(bits, from), out = 0;
	bool is_signed = slu_ptx_type_is_signed(from);
	double d;
	float f;

	switch (to) {
	case SLU_PTX_TYPE_F32:
		f = is_signed ? (float)(int64_t)value : u64_to_f32(value);
		if (slu_ptx_form_has(form, SLU_PTX_MOD_sat))
			f = (float)convert_saturate((double)f);
		memcpy(&out, &f, 4);
		return out;
	case SLU_PTX_TYPE_F64:
		d = is_signed ? (double)(int64_t)value : u64_to_f64(value);
		if (slu_ptx_form_has(form, SLU_PTX_MOD_sat))
			d = convert_saturate(d);
		memcpy(&out, &d, 8);
		return out;
	default:
		/* whatever exceeds 2^53 is far outside of f16: how it is rounded does not matter */
		d = is_signed ? (double)(int64_t)value : u64_to_f64(value);
		return write_float(d, form);
	}
}

static uint64_t convert_run(uint64_t bits, const struct slu_ptx_form *form)
{
	enum slu_ptx_type to = (enum slu_ptx_type)form->types[0];
	enum slu_ptx_type from = (enum slu_ptx_type)form->types[1];
	bool is_ftz = slu_ptx_form_has(form, SLU_PTX_MOD_ftz);
	double x;

	if (!slu_ptx_type_is_float(from))
		return slu_ptx_type_is_float(to)
			       ? int_to_float(bits, form)
			       : int_to_int(bits, from, to,
					    slu_ptx_form_has(form, SLU_PTX_MOD_sat));
	x = read_float(bits, from, is_ftz);
	if (!slu_ptx_type_is_float(to))
		return double_to_int(to_integral(x, form), to);
	if (slu_ptx_form_has(form, SLU_PTX_MOD_rni) || slu_ptx_form_has(form, SLU_PTX_MOD_rzi) ||
	    slu_ptx_form_has(form, SLU_PTX_MOD_rmi) || slu_ptx_form_has(form, SLU_PTX_MOD_rpi))
		x = to_integral(x, form);
	return write_float(x, form);
}

static const struct dev_interp_insn *general_run(struct dev_interp_warp *w,
						 const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;

	MASKED_LANES(w->mask) write_bits(w, in, i, convert_run(read_bits(w, in, i), form));
	return in + 1;
}

const struct dev_interp_handler DEV_ISA(convert_any) = { general_run, general_run };

/* two f32 into the halves of a word, the first above the second */
static const struct dev_interp_insn *pair_run(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	const float *a = ROW(w, in->a), *b = ROW(w, in->b);
	uint32_t *d = ROW(w, in->d);

	MASKED_LANES(w->mask)
	d[i] = (uint32_t)(write_float((double)a[i], form) << 16 | write_float((double)b[i], form));
	return in + 1;
}

const struct dev_interp_handler DEV_ISA(convert_pair) = { pair_run, pair_run };
