/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices between registers and memory: wmma.load and wmma.store, ldmatrix, movmatrix. */
#include "base/util.h"
#include "softgpu/interp/fragment.h"
#include "softgpu/interp/isa.h"
#include "softgpu/interp/memory.h"

/*
 * Where element @k of every lane lies in memory, or the first of the byte or word that it shares
 * with others: the addresses go through the frame's spare row and are reached like any others.
 */
static enum dev_interp_shape reach_element(struct dev_interp_warp *w,
					   const struct dev_interp_insn *in, enum slu_ptx_part part,
					   unsigned k, bool is_write, struct dev_interp_places *ret)
{
	const struct slu_ptx_matrix *m = &in->extra->matrix;
	const struct slu_ptx_fragment *f = &m->parts[part];
	const uint32_t *strides = in->source->n_operands == 3 ? ROW(w, in->b) : NULL;
	uint64_t *addresses = ROW(w, in->e);
	struct dev_interp_insn one = *in;

	MASKED_LANES(w->mask)
	{
		struct place p = place_of(m, part, i, k);
		uint64_t base = in->is_wide_address ? ((const uint64_t *)ROW(w, in->a))[i]
						    : ((const uint32_t *)ROW(w, in->a))[i];
		uint64_t stride = strides ? strides[i] : f->is_column ? f->rows : f->columns;
		uint64_t cell =
			f->is_column ? p.column * stride + p.row : p.row * stride + p.column;

		addresses[i] = base + (uint64_t)in->imm + cell * f->bits / 8;
		if (!in->is_wide_address)
			addresses[i] = (uint32_t)addresses[i];
	}
	one.a = in->e;
	one.imm = 0;
	one.is_wide_address = true;
	return DEV_ISA(memory_reach)(w, &one, SLU_MAX(f->bits / 8, 1u), is_write, ret);
}

/* wmma.load and wmma.store; elements smaller than a byte come and go by bytes */
static const struct dev_interp_insn *move_run(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	bool is_store = slu_ptx_form_has(in->source->form, SLU_PTX_MOD_store);
	const struct slu_ptx_matrix *m = &in->extra->matrix;
	enum slu_ptx_part part = SLU_PTX_PART_A;
	const struct slu_ptx_fragment *f;
	unsigned size, step;

	if (!dev_interp_flow_gather(w, in, dev_interp_flow_whole_warp))
		return NULL;
	while (!m->parts[part].element)
		part++;
	f = &m->parts[part];
	size = SLU_MAX(f->bits / 8, 1u);
	step = f->bits < 8 ? 8 / f->bits : 1;
	for (unsigned k = 0; k < f->n_elements; k += step) {
		struct dev_interp_places at;
		enum dev_interp_shape shape = reach_element(w, in, part, k, is_store, &at);

		if (shape == DEV_INTERP_SHAPE_FAULT)
			return NULL;
		MASKED_LANES(w->mask)
		{
			void *p = dev_interp_place_of(&at, shape, size, i);
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
static const struct dev_interp_insn *ldmatrix_run(struct dev_interp_warp *w,
						  const struct dev_interp_insn *in)
{
	bool is_trans = slu_ptx_form_has(in->source->form, SLU_PTX_MOD_trans);
	unsigned n = in->extra->matrix.parts[SLU_PTX_PART_D].n_regs;
	uint16_t cells[4][8][8] = { 0 };
	struct dev_interp_places at;
	enum dev_interp_shape shape;
	uint32_t mask;

	if (!dev_interp_flow_gather(w, in, dev_interp_flow_whole_warp))
		return NULL;
	mask = w->mask;
	w->mask &= UINT32_MAX >> (32 - 8 * n);
	shape = w->mask ? DEV_ISA(memory_reach)(w, in, 16, false, &at) : DEV_INTERP_SHAPE_SAME;
	if (shape != DEV_INTERP_SHAPE_FAULT) {
		MASKED_LANES(w->mask)
		memcpy(cells[i / 8][i % 8], dev_interp_place_of(&at, shape, 16, i), 16);
	}
	w->mask = mask;
	if (shape == DEV_INTERP_SHAPE_FAULT)
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

static const struct dev_interp_insn *movmatrix_run(struct dev_interp_warp *w,
						   const struct dev_interp_insn *in)
{
	const uint32_t *a = ROW(w, in->a);
	uint32_t *d = ROW(w, in->d);
	uint16_t cells[8][8];

	if (!dev_interp_flow_gather(w, in, dev_interp_flow_whole_warp))
		return NULL;
	for (unsigned i = 0; i < DEV_INTERP_LANES; i++) {
		cells[i / 4][i % 4 * 2] = (uint16_t)a[i];
		cells[i / 4][i % 4 * 2 + 1] = (uint16_t)(a[i] >> 16);
	}
	MASKED_LANES(w->mask)
	d[i] = cells[i % 4 * 2][i / 4] | (uint32_t)cells[i % 4 * 2 + 1][i / 4] << 16;
	return in + 1;
}

const struct dev_interp_handler *DEV_ISA(matrix_move_bind)(const struct slu_ptx_form *form)
{
	static const struct dev_interp_handler move = { move_run, move_run };
	static const struct dev_interp_handler ldmatrix = { ldmatrix_run, ldmatrix_run };
	static const struct dev_interp_handler movmatrix = { movmatrix_run, movmatrix_run };

	return form->opcode == SLU_PTX_OP_ldmatrix    ? &ldmatrix
	       : form->opcode == SLU_PTX_OP_movmatrix ? &movmatrix
						      : &move;
}
