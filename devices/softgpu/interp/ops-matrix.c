/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices that a warp multiplies together. Fragments are gathered from the lanes into whole
 * matrices, multiplied there, and handed out again. Loads and stores are in ops-matrix-move.c.
 *
 * Floats are summed in double and rounded once, which is no worse than any order of sums that a
 * device may take.
 */
#include <immintrin.h>

#include "softgpu/interp/fragment.h"
#include "softgpu/interp/half.h"
#include "softgpu/interp/isa.h"

#define HAS(m)	  slu_ptx_form_has(form, SLU_PTX_MOD_##m)
#define MAX_CELLS (16u * 256u)

struct cells {
	union {
		double f[MAX_CELLS];
		int32_t n[MAX_CELLS];
	};
};

static double float_of(uint64_t bits, enum slu_ptx_element element)
{
	uint32_t low = (uint32_t)bits;
	double d;
	float f;

	switch (element) {
	case SLU_PTX_ELEMENT_F16:
		return (double)dev_half_to_float((uint16_t)bits, false);
	case SLU_PTX_ELEMENT_BF16:
		return (double)dev_bf16_to_float((uint16_t)bits);
	case SLU_PTX_ELEMENT_F64:
		memcpy(&d, &bits, 8);
		return d;
	case SLU_PTX_ELEMENT_TF32:
		low &= ~UINT32_C(0x1fff);
		break;
	default:
		break;
	}
	memcpy(&f, &low, 4);
	return (double)f;
}

static uint64_t bits_of(double x, enum slu_ptx_element element)
{
	uint32_t low;
	uint64_t bits;
	float f;

	switch (element) {
	case SLU_PTX_ELEMENT_F16:
		return dev_half_from_double(x, DEV_HALF_NEAREST);
	case SLU_PTX_ELEMENT_F64:
		memcpy(&bits, &x, 8);
		return bits;
	default:
		f = (float)x;
		memcpy(&low, &f, 4);
		return f != f ? 0x7fffffff : low;
	}
}

static int32_t int_of(uint64_t bits, enum slu_ptx_element element)
{
	switch (element) {
	case SLU_PTX_ELEMENT_S4:
		return (int32_t)(bits ^ 8) - 8;
	case SLU_PTX_ELEMENT_S8:
		return (int8_t)bits;
	default:
		return (int32_t)bits;
	}
}

static bool is_float(enum slu_ptx_element element)
{
	return element <= SLU_PTX_ELEMENT_F64;
}

static void gather_cells(const struct dev_interp_warp *w, const struct dev_interp_insn *in,
			 enum slu_ptx_part part, unsigned matrix, struct cells *ret)
{
	const struct slu_ptx_matrix *m = &in->extra->matrix;
	const struct slu_ptx_fragment *f = &m->parts[part];

	for (unsigned lane = 0; lane < DEV_INTERP_LANES; lane++)
		for (unsigned i = 0; i < f->n_elements; i++) {
			struct place p = place_of(m, part, lane, i);
			unsigned cell = p.row * f->columns + p.column;
			uint64_t bits = read_element(w, in, part, lane, i);

			if (p.matrix != matrix)
				continue;
			if (is_float(f->element))
				ret->f[cell] = float_of(bits, f->element);
			else
				ret->n[cell] = int_of(bits, f->element);
		}
}

/* one element of D */
static double sum_floats(const struct slu_ptx_matrix *m, const struct cells *a,
			 const struct cells *b, double c, unsigned row, unsigned column)
{
	/* f64 has its own order of roundings */
	bool is_fused = m->parts[SLU_PTX_PART_A].element == SLU_PTX_ELEMENT_F64;

	for (unsigned k = 0; k < m->k; k++) {
		double x = a->f[row * m->k + k], y = b->f[k * m->n + column];

		c = is_fused ? fma(x, y, c) : c + x * y;
	}
	return c;
}

static int32_t sum_ints(const struct slu_ptx_form *form, const struct slu_ptx_matrix *m,
			const struct cells *a, const struct cells *b, int32_t c, unsigned row,
			unsigned column)
{
	bool is_bit = m->parts[SLU_PTX_PART_A].element == SLU_PTX_ELEMENT_B1;
	int64_t sum = c;

	for (unsigned k = 0; k < m->k; k++) {
		int32_t x = a->n[row * m->k + k], y = b->n[k * m->n + column];

		sum += !is_bit ? x * y : HAS(xor) ? x ^ y : x & y;
	}
	if (HAS(satfinite))
		sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
	return (int32_t)sum;
}

static void matrix_multiply(struct dev_interp_warp *w, const struct dev_interp_insn *in,
			    unsigned matrix)
{
	const struct slu_ptx_form *form = in->source->form;
	const struct slu_ptx_matrix *m = &in->extra->matrix;
	const struct slu_ptx_fragment *d = &m->parts[SLU_PTX_PART_D];
	struct cells a, b, c;

	gather_cells(w, in, SLU_PTX_PART_A, matrix, &a);
	gather_cells(w, in, SLU_PTX_PART_B, matrix, &b);
	gather_cells(w, in, SLU_PTX_PART_C, matrix, &c);
	MASKED_LANES(w->mask)
	{
		for (unsigned k = 0; k < d->n_elements; k++) {
			struct place p = place_of(m, SLU_PTX_PART_D, i, k);
			unsigned cell = p.row * d->columns + p.column;
			uint64_t bits;

			if (p.matrix != matrix)
				continue;
			if (is_float(d->element))
				bits = bits_of(sum_floats(m, &a, &b, c.f[cell], p.row, p.column),
					       d->element);
			else
				bits = (uint32_t)sum_ints(form, m, &a, &b, c.n[cell], p.row,
							  p.column);
			write_element(w, in, SLU_PTX_PART_D, i, k, bits);
		}
	}
}

static const struct dev_interp_insn *mma_run(struct dev_interp_warp *w,
					     const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	uint32_t csr = _mm_getcsr();

	if (!dev_interp_flow_gather(w, in, dev_interp_flow_whole_warp))
		return NULL;
	/* whatever the function's usual state is: subnormals count, and only f64 is told to round
	 */
	_mm_setcsr(DEV_INTERP_CSR_DEFAULT | (HAS(rm)   ? 1u << 13
					     : HAS(rp) ? 2u << 13
					     : HAS(rz) ? 3u << 13
						       : 0));
	/* A, B and C are read before D is written, also where they are the same registers */
	for (unsigned k = 0; k < (in->extra->matrix.is_four ? 4 : 1); k++)
		matrix_multiply(w, in, k);
	_mm_setcsr(csr);
	return in + 1;
}

const struct dev_interp_handler *DEV_ISA(matrix_bind)(const struct slu_ptx_form *form)
{
	static const struct dev_interp_handler mma = { mma_run, mma_run };

	if (form->opcode == SLU_PTX_OP_ldmatrix || form->opcode == SLU_PTX_OP_movmatrix ||
	    (form->opcode == SLU_PTX_OP_wmma && (HAS(load) || HAS(store))))
		return DEV_ISA(matrix_move_bind)(form);
	return &mma;
}
