/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Video instructions: bytes and halves of words. Each part that is meant is taken out of its word
 * and extended, the operation is done on wide integers, the result is brought into range if asked
 * for, and then it goes on with a third word: by a second operation, or by replacing parts of it.
 *
 * Nobody is in a hurry here: what the text says is looked at for each instruction again.
 */
#include "ptx/selector.h"
#include "softgpu/interp/isa.h"
#include "softgpu/interp/range.h"

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)

enum { A = 1, B, C }; /* places of the sources in the text */

static int64_t video_extended(uint32_t x, unsigned bits, bool is_signed)
{
	return is_signed && x >> (bits - 1) ? (int64_t)x - (INT64_C(1) << bits) : x;
}

static uint32_t mask_of(unsigned bits)
{
	return UINT32_MAX >> (32 - bits);
}

static bool is_signed_at(const struct slu_ptx_form *form, unsigned place)
{
	return form->types[place] == SLU_PTX_TYPE_S32;
}

static bool is_set(const struct slu_ptx_form *form)
{
	return form->opcode == SLU_PTX_OP_vset || form->opcode == SLU_PTX_OP_vset2 ||
	       form->opcode == SLU_PTX_OP_vset4;
}

/* The results of comparisons have no type of their own. */
static bool is_signed_result(const struct slu_ptx_form *form)
{
	return !is_set(form) && is_signed_at(form, 0);
}

static bool is_signed_source(const struct slu_ptx_form *form, unsigned place)
{
	return is_signed_at(form, is_set(form) ? place - 1 : place);
}

static __int128 video_shifted(const struct slu_ptx_form *form, int64_t a, int64_t b)
{
	unsigned n = (unsigned)(HAS(wrap) ? b & 31 : b > 32 ? 32 : b);

	return form->opcode == SLU_PTX_OP_vshl ? (__int128)a * (INT64_C(1) << n)
					       : (__int128)(a >> n);
}

static __int128 video_combine(const struct slu_ptx_form *form, int64_t a, int64_t b)
{
	switch (form->opcode) {
	case SLU_PTX_OP_vadd:
	case SLU_PTX_OP_vadd2:
	case SLU_PTX_OP_vadd4:
		return a + b;
	case SLU_PTX_OP_vsub:
	case SLU_PTX_OP_vsub2:
	case SLU_PTX_OP_vsub4:
		return a - b;
	case SLU_PTX_OP_vavrg2:
	case SLU_PTX_OP_vavrg4:
		/* halves are rounded away from zero */
		return (a + b + (a + b >= 0)) >> 1;
	case SLU_PTX_OP_vabsdiff:
	case SLU_PTX_OP_vabsdiff2:
	case SLU_PTX_OP_vabsdiff4:
		return a > b ? a - b : b - a;
	case SLU_PTX_OP_vmin:
	case SLU_PTX_OP_vmin2:
	case SLU_PTX_OP_vmin4:
		return a < b ? a : b;
	case SLU_PTX_OP_vmax:
	case SLU_PTX_OP_vmax2:
	case SLU_PTX_OP_vmax4:
		return a > b ? a : b;
	case SLU_PTX_OP_vshl:
	case SLU_PTX_OP_vshr:
		return video_shifted(form, a, b);
	default:
		return HAS(eq)	 ? a == b
		       : HAS(ne) ? a != b
		       : HAS(lt) ? a < b
		       : HAS(le) ? a <= b
		       : HAS(gt) ? a > b
				 : a >= b;
	}
}

/* The part of a word that a selector names, or all of it. */
struct part {
	unsigned shift, bits;
	bool is_signed;
};

static struct part part_of(const struct slu_ptx_instr *instr, unsigned place)
{
	uint16_t s = instr->operands[place].selector;
	struct part p = { .bits = !s ? 32 : slu_ptx_selector_is_half(s) ? 16 : 8 };

	p.shift = s ? slu_ptx_selector_digit(s, 0) * p.bits : 0;
	p.is_signed = place ? is_signed_source(instr->form, place) : is_signed_result(instr->form);
	return p;
}

static int64_t video_take(uint32_t word, struct part p)
{
	return video_extended(word >> p.shift & mask_of(p.bits), p.bits, p.is_signed);
}

/* What is not in range loses its upper bits before it meets the third word. */
static uint32_t video_second(const struct slu_ptx_form *form, uint32_t x, uint32_t c,
			     bool is_signed)
{
	int64_t y = video_extended(x, 32, is_signed), z = video_extended(c, 32, is_signed);

	return HAS(add) ? x + c : (uint32_t)(HAS(min) == (y < z) ? y : z);
}

static const struct dev_interp_insn *scalar_run(struct dev_interp_warp *w,
						const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	struct part pa = part_of(in->source, A), pb = part_of(in->source, B);
	struct part to = part_of(in->source, 0);
	const uint32_t *a = ROW(w, in->a), *b = ROW(w, in->b), *c = ROW(w, in->c);
	uint32_t kept = ~(mask_of(to.bits) << to.shift);
	struct dev_range range = dev_range_of(to.bits, to.is_signed);
	bool has_second = HAS(add) || HAS(min) || HAS(max);
	uint32_t *d = ROW(w, in->d);

	MASKED_LANES(w->mask)
	{
		__int128 wide = video_combine(form, video_take(a[i], pa), video_take(b[i], pb));
		uint32_t x = (uint32_t)(HAS(sat) ? dev_range_clamp(wide, range) : wide);

		d[i] = has_second ? video_second(form, x, c[i], to.is_signed)
		       : kept	  ? (x & mask_of(to.bits)) << to.shift | (c[i] & kept)
				  : x;
	}
	return in + 1;
}

/* a * b + c, one of them with its sign changed, or one more; then scaled */
static const struct dev_interp_insn *mad_run(struct dev_interp_warp *w,
					     const struct dev_interp_insn *in)
{
	const struct slu_ptx_operand *o = in->source->operands;
	const struct slu_ptx_form *form = in->source->form;
	struct part pa = part_of(in->source, A), pb = part_of(in->source, B);
	const uint32_t *a = ROW(w, in->a), *b = ROW(w, in->b), *c = ROW(w, in->c);
	bool is_minus = o[A].is_negated != o[B].is_negated, is_signed;
	struct dev_range range;
	unsigned scale = HAS(shr7) ? 7 : HAS(shr15) ? 15 : 0;
	uint32_t *d = ROW(w, in->d);

	is_signed = pa.is_signed || pb.is_signed || is_minus || o[C].is_negated;
	range = dev_range_of(32, is_signed);
	MASKED_LANES(w->mask)
	{
		__int128 x = (__int128)video_take(a[i], pa) * video_take(b[i], pb);
		/* the sign is read after the change, so that what is subtracted wraps around */
		int64_t z = video_extended(o[C].is_negated ? ~c[i] : c[i], 32, is_signed);

		x = (is_minus ? -x : x) + z + (HAS(po) || o[C].is_negated);
		x >>= scale;
		d[i] = (uint32_t)(HAS(sat) ? dev_range_clamp(x, range) : x);
	}
	return in + 1;
}

/* Of the words a and b together, as many parts as there are lanes. */
static void video_choose(uint32_t a, uint32_t b, uint16_t selector, unsigned lanes, bool is_signed,
			 unsigned first, int64_t ret[SLU_PTX_SELECTOR_MAX])
{
	uint64_t both = (uint64_t)b << 32 | a;
	unsigned bits = 32 / lanes;

	for (unsigned k = 0; k < lanes; k++) {
		unsigned from = selector ? slu_ptx_selector_digit(selector, k) : first + k;

		ret[k] = video_extended((uint32_t)(both >> from * bits) & mask_of(bits), bits,
					is_signed);
	}
}

/* Which lanes are written, a bit each. */
static unsigned video_written(uint16_t mask, unsigned lanes)
{
	unsigned bits = 0;

	if (!mask)
		return (1u << lanes) - 1;
	for (unsigned k = 0; k < slu_ptx_selector_count(mask); k++)
		bits |= 1u << slu_ptx_selector_digit(mask, k);
	return bits;
}

/* Two halves or four bytes at once; .add sums the results up into c. */
static const struct dev_interp_insn *lanes_run(struct dev_interp_warp *w,
					       const struct dev_interp_insn *in)
{
	const struct slu_ptx_operand *o = in->source->operands;
	const struct slu_ptx_form *form = in->source->form;
	const uint32_t *a = ROW(w, in->a), *b = ROW(w, in->b), *c = ROW(w, in->c);
	unsigned lanes = slu_ptx_selector_lanes(form), bits = 32 / lanes;
	unsigned is_written = video_written(o[0].selector, lanes);
	struct dev_range range = dev_range_of(bits, is_signed_result(form));
	uint32_t *d = ROW(w, in->d);

	MASKED_LANES(w->mask)
	{
		int64_t x[SLU_PTX_SELECTOR_MAX], y[SLU_PTX_SELECTOR_MAX];
		uint32_t word = c[i], sum = c[i];

		video_choose(a[i], b[i], o[A].selector, lanes, is_signed_source(form, A), 0, x);
		video_choose(a[i], b[i], o[B].selector, lanes, is_signed_source(form, B), lanes, y);
		for (unsigned k = 0; k < lanes; k++) {
			__int128 wide = video_combine(form, x[k], y[k]);
			uint32_t t = (uint32_t)(HAS(sat) ? dev_range_clamp(wide, range) : wide);

			if (!(is_written >> k & 1))
				continue;
			word &= ~(mask_of(bits) << k * bits);
			word |= (t & mask_of(bits)) << k * bits;
			sum += t;
		}
		d[i] = HAS(add) ? sum : word;
	}
	return in + 1;
}

const struct dev_interp_handler *DEV_ISA(video_bind)(const struct slu_ptx_form *form)
{
	static const struct dev_interp_handler scalar = { scalar_run, scalar_run };
	static const struct dev_interp_handler mad = { mad_run, mad_run };
	static const struct dev_interp_handler lanes = { lanes_run, lanes_run };

	if (form->opcode == SLU_PTX_OP_vmad)
		return &mad;
	return slu_ptx_selector_lanes(form) == 1 ? &scalar : &lanes;
}
