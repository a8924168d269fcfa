/* SPDX-License-Identifier: Apache-2.0 */

#include "predict/define.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* What is not known to be read only counts as written: a definition must not be overlooked. */
static bool is_written(const struct slu_ptx_slot *slot)
{
	switch (slot->kind) {
	case SLU_PTX_SLOT_SOURCE:
	case SLU_PTX_SLOT_SOURCE_TWICE:
	case SLU_PTX_SLOT_SOURCE_PART:
	case SLU_PTX_SLOT_SOURCE_SIGNED:
	case SLU_PTX_SLOT_SOURCE_VECTOR:
	case SLU_PTX_SLOT_SOURCE_MOV:
	case SLU_PTX_SLOT_SOURCE_VARIABLE:
	case SLU_PTX_SLOT_PRED_SOURCE:
	case SLU_PTX_SLOT_ADDRESS:
	case SLU_PTX_SLOT_SECOND_ADDRESS:
	case SLU_PTX_SLOT_INTEGER:
	case SLU_PTX_SLOT_CONSTANT:
	case SLU_PTX_SLOT_BYTES:
	case SLU_PTX_SLOT_BYTES_OR_PRED:
	case SLU_PTX_SLOT_LABEL:
	case SLU_PTX_SLOT_TARGETS:
	case SLU_PTX_SLOT_FRAGMENT_READ:
	case SLU_PTX_SLOT_ANY:
		return false;
	default:
		return true;
	}
}

/* The @n-th register of an operand; how many there are is its answer's second half. */
static uint32_t register_of(const struct slu_ptx_operand *o, uint32_t n, uint32_t *ret_count)
{
	switch (o->kind) {
	case SLU_PTX_OPERAND_REG:
		*ret_count = 1;
		return o->reg;
	case SLU_PTX_OPERAND_PAIR:
		*ret_count = 2;
		return n ? o->second : o->reg;
	case SLU_PTX_OPERAND_VECTOR:
		*ret_count = o->n_elements;
		return n < o->n_elements && o->elements[n].kind == SLU_PTX_OPERAND_REG
			       ? o->elements[n].reg
			       : SLU_PTX_NO_REG;
	default:
		*ret_count = 1;
		return SLU_PTX_NO_REG;
	}
}

uint32_t slu_predict_define_result(const struct slu_ptx_instr *instr, uint32_t result,
				   bool *ret_is_behind)
{
	*ret_is_behind = false;
	for (unsigned k = 0; k < instr->n_operands; k++) {
		const struct slu_ptx_slot *slot =
			slu_ptx_slot_of(instr->form, instr->n_operands, k);
		uint32_t count, reg;

		if (!slot || !is_written(slot))
			continue;
		reg = register_of(&instr->operands[k], result, &count);
		if (result < count)
			return reg;
		result -= count;
	}
	*ret_is_behind = true;
	return SLU_PTX_NO_REG;
}

static int find_definitions(struct slu_predict_define *d)
{
	const struct slu_ptx_function *f = d->flow->function;
	uint32_t n = 0, *next;

	d->first = calloc((size_t)f->n_regs + 2, sizeof(*d->first));
	if (!d->first)
		return slu_error(-ENOMEM);
	for (unsigned pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < f->n_instrs; i++) {
			bool is_behind = d->flow->block_of[i] == SLU_PREDICT_NO_BLOCK;

			for (uint32_t k = 0; !is_behind; k++) {
				uint32_t reg =
					slu_predict_define_result(&f->instrs[i], k, &is_behind);

				if (is_behind || reg == SLU_PTX_NO_REG)
					continue;
				/* the second pass finds in first[reg + 1] where the next one goes
				 */
				if (pass)
					d->definitions[d->first[reg + 1]++] =
						(struct slu_predict_definition){ i, k };
				else
					d->first[reg + 2]++;
				n += !pass;
			}
		}
		if (pass)
			break;
		d->definitions = calloc((size_t)n + 1, sizeof(*d->definitions));
		if (!d->definitions)
			return slu_error(-ENOMEM);
		next = d->first;
		for (uint32_t r = 1; r < f->n_regs + 2; r++)
			next[r] += next[r - 1];
	}
	return 0;
}

static int find_frontiers(struct slu_predict_define *d)
{
	const struct slu_predict_flow *flow = d->flow;
	uint32_t n = flow->n_blocks;

	d->frontier_first = calloc((size_t)n + 2, sizeof(*d->frontier_first));
	if (!d->frontier_first)
		return slu_error(-ENOMEM);
	for (unsigned pass = 0; pass < 2; pass++) {
		for (uint32_t b = 0; b < n; b++) {
			const struct slu_predict_block *block = &flow->blocks[b];

			if (block->n_in < 2 && b)
				continue;
			for (uint32_t i = 0; i < block->n_in; i++) {
				uint32_t at = flow->edges[flow->in[block->first_in + i]].from;

				/* the entry may be a loop's head: nothing dominates it strictly */
				while (at != SLU_PREDICT_NO_BLOCK && at != block->idom) {
					if (pass)
						d->frontier[d->frontier_first[at + 1]++] = b;
					else
						d->frontier_first[at + 2]++;
					at = flow->blocks[at].idom;
				}
			}
		}
		if (pass)
			break;
		for (uint32_t b = 1; b < n + 2; b++)
			d->frontier_first[b] += d->frontier_first[b - 1];
		d->frontier = calloc((size_t)d->frontier_first[n + 1] + 1, sizeof(*d->frontier));
		if (!d->frontier)
			return slu_error(-ENOMEM);
	}
	return 0;
}

int slu_predict_define_init(struct slu_predict_define *d, const struct slu_predict_flow *flow)
{
	int r;

	*d = (struct slu_predict_define){ .flow = flow };
	r = find_definitions(d);
	if (!r)
		r = find_frontiers(d);
	if (!r) {
		d->merges = calloc((size_t)flow->function->n_regs + 1, sizeof(*d->merges));
		d->mark = calloc(flow->n_blocks, sizeof(*d->mark));
		d->stack = calloc(flow->n_blocks, sizeof(*d->stack));
		if (!d->merges || !d->mark || !d->stack)
			r = slu_error(-ENOMEM);
	}
	if (r)
		slu_predict_define_deinit(d);
	return r;
}

void slu_predict_define_deinit(struct slu_predict_define *d)
{
	for (uint32_t r = 0; d->merges && r < d->flow->function->n_regs; r++)
		free(d->merges[r]);
	free(d->merges);
	free(d->first);
	free(d->definitions);
	free(d->frontier_first);
	free(d->frontier);
	free(d->mark);
	free(d->stack);
	*d = (struct slu_predict_define){ 0 };
}

/* The iterated frontier of all blocks that define @reg. */
static bool find_merges(struct slu_predict_define *d, uint32_t reg)
{
	uint32_t n = 0, top = 0, *list;

	/* a block's marks: it is a merge (1), it was on the stack (2) */
	memset(d->mark, 0, d->flow->n_blocks * sizeof(*d->mark));
	for (uint32_t i = d->first[reg]; i < d->first[reg + 1]; i++) {
		uint32_t b = d->flow->block_of[d->definitions[i].instr];

		if (!(d->mark[b] & 2)) {
			d->mark[b] |= 2;
			d->stack[top++] = b;
		}
	}
	while (top) {
		uint32_t b = d->stack[--top];

		for (uint32_t i = d->frontier_first[b]; i < d->frontier_first[b + 1]; i++) {
			uint32_t to = d->frontier[i];

			if (d->mark[to] & 1)
				continue;
			d->mark[to] |= 1;
			n++;
			if (!(d->mark[to] & 2)) {
				d->mark[to] |= 2;
				d->stack[top++] = to;
			}
		}
	}
	list = calloc((size_t)n + 1, sizeof(*list));
	if (!list)
		return false;
	n = 0;
	for (uint32_t b = 0; b < d->flow->n_blocks; b++)
		if (d->mark[b] & 1)
			list[n++] = b;
	list[n] = SLU_PREDICT_NO_BLOCK;
	d->merges[reg] = list;
	return true;
}

static bool is_merge(const struct slu_predict_define *d, uint32_t reg, uint32_t block)
{
	const uint32_t *list = d->merges[reg];

	while (*list < block)
		list++;
	return *list == block;
}

/* The last definition before @before, from @first on. */
static const struct slu_predict_definition *
last_before(const struct slu_predict_define *d, uint32_t reg, uint32_t first, uint32_t before)
{
	uint32_t low = d->first[reg], high = d->first[reg + 1];

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (d->definitions[mid].instr < before)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == d->first[reg] || d->definitions[low - 1].instr < first)
		return NULL;
	return &d->definitions[low - 1];
}

struct slu_predict_node slu_predict_define_find(struct slu_predict_define *d, uint32_t reg,
						uint32_t block, uint32_t before)
{
	const struct slu_predict_node none = { .kind = SLU_PREDICT_NODE_NONE };
	const struct slu_predict_definition *at;

	if (d->error || reg >= d->flow->function->n_regs || d->first[reg] == d->first[reg + 1])
		return none;
	if (!d->merges[reg] && !find_merges(d, reg)) {
		d->error = slu_error(-ENOMEM);
		return none;
	}
	for (;;) {
		const struct slu_predict_block *b = &d->flow->blocks[block];

		at = last_before(d, reg, b->first, before);
		if (at)
			return (struct slu_predict_node){ SLU_PREDICT_NODE_INSTR, at->instr,
							  at->result };
		if (is_merge(d, reg, block))
			return (struct slu_predict_node){ SLU_PREDICT_NODE_MERGE, block, reg };
		if (b->idom == SLU_PREDICT_NO_BLOCK)
			return none;
		block = b->idom;
		before = d->flow->blocks[block].end;
	}
}

/* A constant's bits are as wide as its place among the operands says. */
static uint64_t constant_of(const struct slu_ptx_instr *in, const struct slu_ptx_operand *o)
{
	const struct slu_ptx_slot *slot = NULL;
	unsigned bits;

	if (o >= in->operands && o < in->operands + in->n_operands)
		slot = slu_ptx_slot_of(in->form, in->n_operands, (unsigned)(o - in->operands));
	bits = slot && slot->size ? slot->size * 8u : 64;
	return bits >= 64 ? o->imm : (uint64_t)((int64_t)(o->imm << (64 - bits)) >> (64 - bits));
}

struct slu_predict_node slu_predict_define_operand(struct slu_predict_define *d, uint32_t instr,
						   const struct slu_ptx_operand *o)
{
	switch (o->kind) {
	case SLU_PTX_OPERAND_REG:
		return slu_predict_define_find(d, o->reg, d->flow->block_of[instr], instr);
	case SLU_PTX_OPERAND_IMM:
		return (struct slu_predict_node){ SLU_PREDICT_NODE_CONSTANT, 0,
						  constant_of(&d->flow->function->instrs[instr],
							      o) };
	case SLU_PTX_OPERAND_SREG:
		return (struct slu_predict_node){ SLU_PREDICT_NODE_SPECIAL, o->sreg, 0 };
	case SLU_PTX_OPERAND_VARIABLE:
		return (struct slu_predict_node){ SLU_PREDICT_NODE_VARIABLE, 0,
						  (uint64_t)(uintptr_t)o };
	default:
		return (struct slu_predict_node){ .kind = SLU_PREDICT_NODE_NONE };
	}
}
