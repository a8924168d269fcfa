/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A lane's fragment of a matrix: which cells it has, and in which registers. Where an element of an
 * mma lies is documented; where one of a wmma lies is ours to choose: in memory's order, one lane's
 * share after another's.
 */

#include "softgpu/interp/extra.h"
#include "softgpu/interp/lanes.h"

struct place {
	unsigned matrix; /* of the four of mma.m8n8k4 */
	unsigned row, column;
};

/* mma.m8n8k4: lanes 0 to 3 and 16 to 19 have the first matrix, the next four the second … */
static inline struct place place_of_four(const struct slu_ptx_fragment *f, enum slu_ptx_part part,
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
static inline struct place place_of(const struct slu_ptx_matrix *m, enum slu_ptx_part part,
				    unsigned lane, unsigned i)
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

static inline uint64_t read_element(const struct dev_interp_warp *w,
				    const struct dev_interp_insn *in, enum slu_ptx_part part,
				    unsigned lane, unsigned i)
{
	unsigned bits = in->extra->matrix.parts[part].bits;
	const uint32_t *rows = in->extra->rows[part];

	if (bits == 64)
		return ((const uint64_t *)ROW(w, rows[i]))[lane];
	return ((const uint32_t *)ROW(w, rows[i * bits / 32]))[lane] >> i * bits % 32 &
	       UINT32_MAX >> (32 - bits);
}

static inline void write_element(struct dev_interp_warp *w, const struct dev_interp_insn *in,
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
