/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames: the rows, predicates and parameter buffers of one call. Constants, and what is constant
 * for a warp, are filled in once, when a frame is made; what depends on the block's place or the
 * depth of the call, each time it is used.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "softgpu/interp/line.h"

/* one value in all lanes: row and line */
static void fill_one(struct dev_interp_frame *f, const struct dev_interp_fill *fill, uint64_t value)
{
	struct dev_interp_line *line = dev_interp_line(f->lines, fill->row);

	*line = (struct dev_interp_line){
		.base = fill->is_wide ? value : (uint32_t)value,
		.kind = DEV_INTERP_LINE,
		.is_wide = fill->is_wide,
	};
	dev_interp_line_spread(line, 0, f->rows + fill->row);
}

static uint32_t lane_value(const struct dev_interp_warp *w, enum slu_ptx_sreg sreg, unsigned lane)
{
	const struct dev_interp_launch *l = w->block->launch;
	uint32_t bit = UINT32_C(1) << lane;

	switch (sreg) {
	case SLU_PTX_SREG_TID_X:
	case SLU_PTX_SREG_TID_Y:
	case SLU_PTX_SREG_TID_Z:
		return w->tid[sreg - SLU_PTX_SREG_TID_X][lane];
	case SLU_PTX_SREG_NTID_X:
	case SLU_PTX_SREG_NTID_Y:
	case SLU_PTX_SREG_NTID_Z:
		return l->block[sreg - SLU_PTX_SREG_NTID_X];
	case SLU_PTX_SREG_CTAID_X:
	case SLU_PTX_SREG_CTAID_Y:
	case SLU_PTX_SREG_CTAID_Z:
		return w->block->id[sreg - SLU_PTX_SREG_CTAID_X];
	case SLU_PTX_SREG_NCTAID_X:
	case SLU_PTX_SREG_NCTAID_Y:
	case SLU_PTX_SREG_NCTAID_Z:
		return l->grid[sreg - SLU_PTX_SREG_NCTAID_X];
	case SLU_PTX_SREG_LANEID:
		return lane;
	case SLU_PTX_SREG_WARPID:
		return w->index;
	case SLU_PTX_SREG_NWARPID:
		return DEV_INTERP_MAX_WARPS;
	case SLU_PTX_SREG_SMID:
		return w->block->worker;
	case SLU_PTX_SREG_NSMID:
		return SLU_MAX(l->n_workers, 1u);
	case SLU_PTX_SREG_LANEMASK_EQ:
		return bit;
	case SLU_PTX_SREG_LANEMASK_LT:
		return bit - 1;
	case SLU_PTX_SREG_LANEMASK_LE:
		return bit | (bit - 1);
	case SLU_PTX_SREG_LANEMASK_GE:
		return ~(bit - 1);
	case SLU_PTX_SREG_LANEMASK_GT:
		return ~(bit | (bit - 1));
	case SLU_PTX_SREG_ENVREG1:
		return (uint32_t)((uint64_t)(uintptr_t)w->block->workspace >> 32);
	case SLU_PTX_SREG_ENVREG2:
		return (uint32_t)(uintptr_t)w->block->workspace;
	case SLU_PTX_SREG_TOTAL_SMEM_SIZE:
		return (uint32_t)w->block->shared_bytes;
	case SLU_PTX_SREG_DYNAMIC_SMEM_SIZE:
		return (uint32_t)l->dynamic_shared_bytes;
	default:
		return 0;
	}
}

static void fill_sreg(struct dev_interp_warp *w, struct dev_interp_frame *f,
		      const struct dev_interp_fill *fill)
{
	struct dev_interp_line *line = dev_interp_line(f->lines, fill->row);
	void *row = f->rows + fill->row;

	for (unsigned i = 0; i < DEV_INTERP_LANES; i++) {
		uint32_t value = lane_value(w, fill->sreg, i);

		if (fill->is_wide)
			((uint64_t *)row)[i] = value;
		else
			((uint32_t *)row)[i] = value;
	}
	line->is_wide = fill->is_wide;
	dev_interp_line_find(line, row, 1);
}

static bool is_place(enum slu_ptx_sreg sreg)
{
	return sreg >= SLU_PTX_SREG_CTAID_X && sreg <= SLU_PTX_SREG_CTAID_Z;
}

static void fill_constants(struct dev_interp_warp *w, struct dev_interp_frame *f)
{
	const struct dev_interp_block *b = w->block;

	for (uint32_t i = 0; i < f->code->n_fills; i++) {
		const struct dev_interp_fill *fill = &f->code->fills[i];
		uint64_t value = fill->imm;

		if (fill->kind == DEV_INTERP_FILL_VARIABLE)
			value += fill->variable->space == SLU_PTX_SPACE_SHARED
					 ? b->shared_address[fill->variable->index]
					 : b->launch->variables[fill->variable->index];
		if (fill->kind == DEV_INTERP_FILL_SREG)
			fill_sreg(w, f, fill);
		else if (fill->kind != DEV_INTERP_FILL_LOCAL)
			fill_one(f, fill, value);
	}
}

void dev_interp_frame_fill(struct dev_interp_warp *w, struct dev_interp_frame *f)
{
	for (uint32_t i = 0; i < f->code->n_fills; i++) {
		const struct dev_interp_fill *fill = &f->code->fills[i];

		if (fill->kind == DEV_INTERP_FILL_SREG && is_place(fill->sreg))
			fill_one(f, fill, lane_value(w, fill->sreg, 0));
		else if (fill->kind == DEV_INTERP_FILL_LOCAL)
			fill_one(f, fill, f->local_base + fill->imm);
	}
	for (unsigned i = 0; f->code->top_row && i < DEV_INTERP_LANES; i++)
		((uint64_t *)(f->rows + f->code->top_row))[i] =
			f->local_base + f->code->function->local_bytes;
}

void dev_interp_frame_flatten(struct dev_interp_frame *f)
{
	for (uint32_t i = 0; i < f->code->n_liners; i++) {
		uint32_t row = f->code->liners[i].row;

		dev_interp_line_materialize(f->lines, f->rows, row, 1);
		dev_interp_line(f->lines, row)->kind = 0;
	}
	f->has_lines = false;
}

/* The registers of a kernel lie in the frame of the first warp of a team. */
static const struct dev_interp_frame *
host_of(const struct dev_interp_warp *w, const struct dev_interp_code *code, unsigned *ret_strip)
{
	*ret_strip = w->index % code->n_strips;
	return *ret_strip ? w[-(int)*ret_strip].root : NULL;
}

static struct dev_interp_frame *frame_new(struct dev_interp_warp *w, struct dev_interp_code *code)
{
	const struct slu_ptx_function *fn = code->function;
	unsigned strip;
	const struct dev_interp_frame *host = host_of(w, code, &strip);
	size_t head = slu_round_up(sizeof(struct dev_interp_frame), 64);
	size_t rows = host ? 0 : code->row_bytes;
	size_t lines = rows / DEV_INTERP_LINES_PER_ROW;
	size_t preds = host ? 0 : slu_round_up(code->n_preds * sizeof(uint32_t), 64);
	size_t params = fn->is_kernel ? 0 : slu_round_up(fn->param_bytes * DEV_INTERP_LANES, 64);
	size_t results = slu_round_up(fn->result_bytes * DEV_INTERP_LANES, 64);
	size_t calls = slu_round_up(fn->call_bytes * DEV_INTERP_LANES, 64);
	size_t bytes = head + lines + rows + preds + params + results + calls;
	struct dev_interp_frame *f;
	uint8_t *at;

	f = aligned_alloc(64, bytes);
	if (!f)
		return NULL;
	memset(f, 0, bytes);
	at = (uint8_t *)f + head;
	f->code = code;
	f->lines = host ? host->lines + strip * DEV_INTERP_LINE_STRIP : at;
	at += lines;
	f->rows = host ? host->rows + strip * DEV_INTERP_STRIP : at;
	at += rows;
	f->preds = host ? host->preds + strip : (uint32_t *)at;
	at += preds;
	f->params = at;
	at += params;
	f->results = at;
	at += results;
	f->calls = at;
	for (uint32_t i = 0; i < code->n_liners; i++)
		dev_interp_line(f->lines, code->liners[i].row)->is_wide = code->liners[i].is_wide;
	fill_constants(w, f);
	f->next_made = w->made;
	w->made = f;
	return f;
}

struct dev_interp_frame *dev_interp_frame_get(struct dev_interp_warp *w,
					      struct dev_interp_code *code)
{
	struct dev_interp_frame **at = &w->pool;

	for (; *at; at = &(*at)->next) {
		struct dev_interp_frame *f = *at;

		if (f->code != code)
			continue;
		*at = f->next;
		f->next = NULL;
		return f;
	}
	return frame_new(w, code);
}

void dev_interp_frame_put(struct dev_interp_warp *w, struct dev_interp_frame *f)
{
	f->next = w->pool;
	w->pool = f;
}

void dev_interp_frame_free_all(struct dev_interp_warp *w)
{
	while (w->made) {
		struct dev_interp_frame *f = w->made;

		w->made = f->next_made;
		free(f);
	}
	w->pool = w->root = NULL;
}
