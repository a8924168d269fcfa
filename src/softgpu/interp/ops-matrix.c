/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices that a warp multiplies together. Fragments are gathered from the lanes into whole
 * matrices, multiplied there, and handed out again. Where an element of an mma lies is documented;
 * where one of a wmma lies is ours to choose: in memory's order, one lane's share after another's.
 *
 * Floats are summed in double and rounded once, which is no worse than any order of sums that a
 * device may take.
 */
#include <immintrin.h>

#include "softgpu/interp/extra.h"
#include "softgpu/interp/half.h"
#include "softgpu/interp/isa.h"
#include "softgpu/interp/memory.h"

#define HAS(m)	  slu_ptx_form_has(form, SLU_PTX_MOD_##m)
#define MAX_CELLS (16u * 256u)

struct cells {
	union {
		double f[MAX_CELLS];
		int32_t n[MAX_CELLS];
	};
};

struct place {
	unsigned matrix; /* of the four of mma.m8n8k4 */
	unsigned row, column;
};

/* mma.m8n8k4: lanes 0 to 3 and 16 to 19 have the first matrix, the next four the second … */
static struct place place_of_four(const struct slu_ptx_fragment *f, enum slu_ptx_part part,
				  unsigned lane, unsigned i)
{
	struct place p = { .matrix = lane % 16 / 4 };
	unsigned high = lane < 16 ? 0 : 4;

	switch (part) {
	case SLU_PTX_PART_A:
		p.row = (f->is_column ? i : lane % 4) + high;
		p.column = f->is_column ? lane % 4 : i;
		return p;
	case SLU_PTX_PART_B:
		p.row = f->is_column ? i : lane % 4;
		p.column = (f->is_column ? lane % 4 : i) + high;
		return p;
	default:
		if (f->element == SLU_PTX_ELEMENT_F16) {
			p.row = lane % 4 + high;
			p.column = i;
		} else {
			p.row = (lane & 1) + (i & 2) + high;
			p.column = (i & 4) + (lane & 2) + (i & 1);
		}
		return p;
	}
}

/* Where element @i of a lane's fragment belongs. */
static struct place place_of(const struct slu_ptx_matrix *m, enum slu_ptx_part part, unsigned lane,
			     unsigned i)
{
	const struct slu_ptx_fragment *f = &m->parts[part];
	unsigned group = lane / 4, in_group = lane % 4, n_cells = f->rows * f->columns, packed, reg;

	if (m->is_opaque) {
		unsigned cell = (lane * f->n_elements + i) % n_cells;

		/* C and D are the same whichever way they lie in memory */
		if (f->is_column && part <= SLU_PTX_PART_B)
			return (struct place){ 0, cell % f->rows, cell / f->rows };
		return (struct place){ 0, cell / f->columns, cell % f->columns };
	}
	if (m->is_four)
		return place_of_four(f, part, lane, i);
	if (part >= SLU_PTX_PART_C)
		return (struct place){ 0, group + i / 2 * 8, in_group * 2 + i % 2 };
	packed = f->bits == 64 ? 1 : 32 / f->bits;
	reg = i / packed;
	i = in_group * packed + i % packed;
	if (part == SLU_PTX_PART_B)
		return (struct place){ 0, i + reg * packed * 4, group };
	if (m->m == 8)
		return (struct place){ 0, group, i };
	return (struct place){ 0, group + reg % 2 * 8, i + reg / 2 * packed * 4 };
}

static uint64_t read_element(const struct slu_interp_warp *w, const struct slu_interp_insn *in,
			     enum slu_ptx_part part, unsigned lane, unsigned i)
{
	unsigned bits = in->extra->matrix.parts[part].bits;
	const uint32_t *rows = in->extra->rows[part];

	if (bits == 64)
		return ((const uint64_t *)ROW(w, rows[i]))[lane];
	return ((const uint32_t *)ROW(w, rows[i * bits / 32]))[lane] >> i * bits % 32 &
	       UINT32_MAX >> (32 - bits);
}

static void write_element(struct slu_interp_warp *w, const struct slu_interp_insn *in,
			  enum slu_ptx_part part, unsigned lane, unsigned i, uint64_t value)
{
	unsigned bits = in->extra->matrix.parts[part].bits, shift = i * bits % 32;
	const uint32_t *rows = in->extra->rows[part];
	uint32_t *word;

	if (bits == 64) {
		((uint64_t *)ROW(w, rows[i]))[lane] = value;
		return;
	}
	word = (uint32_t *)ROW(w, rows[i * bits / 32]) + lane;
	*word = (*word & ~(UINT32_MAX >> (32 - bits) << shift)) | (uint32_t)value << shift;
}

static double float_of(uint64_t bits, enum slu_ptx_element element)
{
	uint32_t low = (uint32_t)bits;
	double d;
	float f;

	switch (element) {
	case SLU_PTX_ELEMENT_F16:
		return (double)slu_half_to_float((uint16_t)bits, false);
	case SLU_PTX_ELEMENT_BF16:
		return (double)slu_bf16_to_float((uint16_t)bits);
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
		return slu_half_from_double(x, SLU_HALF_NEAREST);
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

static void gather_cells(const struct slu_interp_warp *w, const struct slu_interp_insn *in,
			 enum slu_ptx_part part, unsigned matrix, struct cells *ret)
{
	const struct slu_ptx_matrix *m = &in->extra->matrix;
	const struct slu_ptx_fragment *f = &m->parts[part];

	for (unsigned lane = 0; lane < SLU_INTERP_LANES; lane++)
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

static void multiply(struct slu_interp_warp *w, const struct slu_interp_insn *in, unsigned matrix)
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

static const struct slu_interp_insn *mma_run(struct slu_interp_warp *w,
					     const struct slu_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	uint32_t csr = _mm_getcsr();

	if (!slu_interp_gather(w, in, SLU_INTERP_ALL))
		return NULL;
	/* whatever the function's usual state is: subnormals count, and only f64 is told to round
	 */
	_mm_setcsr(SLU_INTERP_CSR_DEFAULT | (HAS(rm)   ? 1u << 13
					     : HAS(rp) ? 2u << 13
					     : HAS(rz) ? 3u << 13
						       : 0));
	/* A, B and C are read before D is written, also where they are the same registers */
	for (unsigned k = 0; k < (in->extra->matrix.is_four ? 4 : 1); k++)
		multiply(w, in, k);
	_mm_setcsr(csr);
	return in + 1;
}

static void *place(const struct slu_interp_places *at, enum slu_interp_shape shape, unsigned size,
		   unsigned i)
{
	return shape == SLU_INTERP_SHAPE_PIECE	? at->base + i * size
	       : shape == SLU_INTERP_SHAPE_SAME ? at->base
						: slu_interp_place(at, i);
}

/*
 * Where element @k of every lane lies in memory, or the first of the byte or word that it shares
 * with others: the addresses go through the frame's spare row and are reached like any others.
 */
static enum slu_interp_shape reach_element(struct slu_interp_warp *w,
					   const struct slu_interp_insn *in, enum slu_ptx_part part,
					   unsigned k, bool is_write, struct slu_interp_places *ret)
{
	const struct slu_ptx_matrix *m = &in->extra->matrix;
	const struct slu_ptx_fragment *f = &m->parts[part];
	const uint32_t *strides = in->source->n_operands == 3 ? ROW(w, in->b) : NULL;
	uint64_t *addresses = ROW(w, in->e);
	struct slu_interp_insn one = *in;

	MASKED_LANES(w->mask)
	{
		struct place p = place_of(m, part, i, k);
		uint64_t base = in->is_wide_address ? ((const uint64_t *)ROW(w, in->a))[i]
						    : ((const uint32_t *)ROW(w, in->a))[i];
		uint64_t stride = strides ? strides[i] : f->is_column ? f->rows : f->columns;
		uint64_t cell =
			f->is_column ? p.column * stride + p.row : p.row * stride + p.column;

		addresses[i] = base + (uint64_t)in->imm + cell * f->bits / 8;
	}
	one.a = in->e;
	one.imm = 0;
	one.is_wide_address = true;
	return SLU_ISA(reach)(w, &one, SLU_MAX(f->bits / 8, 1u), is_write, ret);
}

/* wmma.load and wmma.store; elements smaller than a byte come and go by bytes */
static const struct slu_interp_insn *move_run(struct slu_interp_warp *w,
					      const struct slu_interp_insn *in)
{
	bool is_store = slu_ptx_form_has(in->source->form, SLU_PTX_MOD_store);
	const struct slu_ptx_matrix *m = &in->extra->matrix;
	enum slu_ptx_part part = SLU_PTX_PART_A;
	const struct slu_ptx_fragment *f;
	unsigned size, step;

	if (!slu_interp_gather(w, in, SLU_INTERP_ALL))
		return NULL;
	while (!m->parts[part].element)
		part++;
	f = &m->parts[part];
	size = SLU_MAX(f->bits / 8, 1u);
	step = f->bits < 8 ? 8 / f->bits : 1;
	for (unsigned k = 0; k < f->n_elements; k += step) {
		struct slu_interp_places at;
		enum slu_interp_shape shape = reach_element(w, in, part, k, is_store, &at);

		if (shape == SLU_INTERP_SHAPE_FAULT)
			return NULL;
		MASKED_LANES(w->mask)
		{
			void *p = place(&at, shape, size, i);
			uint64_t value = 0;

			if (is_store) {
				value = read_element(w, in, part, i, k);
				memcpy(p, &value, size);
				continue;
			}
			memcpy(&value, p, size);
			for (unsigned n = 0; n < step; n++)
				write_element(w, in, part, i, k + n,
					      step == 1 ? value
							: value >> n * f->bits &
								  ((1u << f->bits) - 1));
		}
	}
	return in + 1;
}

/* Eight lanes give the rows of a matrix of 8 by 8 halves; every lane gets two neighbours of it. */
static const struct slu_interp_insn *ldmatrix_run(struct slu_interp_warp *w,
						  const struct slu_interp_insn *in)
{
	bool is_trans = slu_ptx_form_has(in->source->form, SLU_PTX_MOD_trans);
	unsigned n = in->extra->matrix.parts[SLU_PTX_PART_D].n_regs;
	uint16_t cells[4][8][8] = { 0 };
	struct slu_interp_places at;
	enum slu_interp_shape shape;
	uint32_t mask;

	if (!slu_interp_gather(w, in, SLU_INTERP_ALL))
		return NULL;
	mask = w->mask;
	w->mask &= UINT32_MAX >> (32 - 8 * n);
	shape = w->mask ? SLU_ISA(reach)(w, in, 16, false, &at) : SLU_INTERP_SHAPE_SAME;
	if (shape != SLU_INTERP_SHAPE_FAULT)
		MASKED_LANES(w->mask) memcpy(cells[i / 8][i % 8], place(&at, shape, 16, i), 16);
	w->mask = mask;
	if (shape == SLU_INTERP_SHAPE_FAULT)
		return NULL;
	for (unsigned k = 0; k < n; k++) {
		uint32_t *d = ROW(w, in->extra->rows[SLU_PTX_PART_D][k]);

		MASKED_LANES(mask)
		{
			unsigned row = i / 4, column = i % 4 * 2;

			d[i] = is_trans ? cells[k][column][row] |
						  (uint32_t)cells[k][column + 1][row] << 16
					: cells[k][row][column] |
						  (uint32_t)cells[k][row][column + 1] << 16;
		}
	}
	return in + 1;
}

static const struct slu_interp_insn *movmatrix_run(struct slu_interp_warp *w,
						   const struct slu_interp_insn *in)
{
	const uint32_t *a = ROW(w, in->a);
	uint32_t *d = ROW(w, in->d);
	uint16_t cells[8][8];

	if (!slu_interp_gather(w, in, SLU_INTERP_ALL))
		return NULL;
	for (unsigned i = 0; i < SLU_INTERP_LANES; i++) {
		cells[i / 4][i % 4 * 2] = (uint16_t)a[i];
		cells[i / 4][i % 4 * 2 + 1] = (uint16_t)(a[i] >> 16);
	}
	MASKED_LANES(w->mask)
	d[i] = cells[i % 4 * 2][i / 4] | (uint32_t)cells[i % 4 * 2 + 1][i / 4] << 16;
	return in + 1;
}

const struct slu_interp_handler *SLU_ISA(bind_matrix)(const struct slu_ptx_form *form)
{
	static const struct slu_interp_handler mma = { mma_run, mma_run };
	static const struct slu_interp_handler move = { move_run, move_run };
	static const struct slu_interp_handler ldmatrix = { ldmatrix_run, ldmatrix_run };
	static const struct slu_interp_handler movmatrix = { movmatrix_run, movmatrix_run };

	switch (form->opcode) {
	case SLU_PTX_OP_ldmatrix:
		return &ldmatrix;
	case SLU_PTX_OP_movmatrix:
		return &movmatrix;
	case SLU_PTX_OP_wmma:
		if (HAS(load) || HAS(store))
			return &move;
		return &mma;
	default:
		return &mma;
	}
}
