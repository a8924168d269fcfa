/* SPDX-License-Identifier: Apache-2.0 */

#include "predict/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define MAX_INSTRS (UINT32_C(1) << 20)
#define MAX_BLOCKS (UINT32_C(1) << 16)

static bool ends_block(const struct slu_ptx_instr *in)
{
	switch (in->form->opcode) {
	case SLU_PTX_OP_bra:
	case SLU_PTX_OP_brx:
	case SLU_PTX_OP_ret:
	case SLU_PTX_OP_exit:
	case SLU_PTX_OP_trap:
		return true;
	default:
		return false;
	}
}

static uint32_t target_of(const struct slu_ptx_function *f, const struct slu_ptx_operand *o)
{
	return f->labels[o->label].instr;
}

/* -- blocks in the order of the text -------------------------------------------------------- */

/* Marks where blocks begin. Return: how many there are. */
static uint32_t find_starts(const struct slu_ptx_function *f, bool *starts)
{
	uint32_t n = 0;

	starts[0] = true;
	for (uint32_t i = 0; i < f->n_labels; i++)
		starts[f->labels[i].instr] = true;
	for (uint32_t i = 0; i < f->n_instrs; i++)
		if (ends_block(&f->instrs[i]))
			starts[i + 1] = true;
	for (uint32_t i = 0; i < f->n_instrs; i++)
		n += starts[i];
	return n;
}

struct maker {
	struct slu_predict_flow *flow;
	uint32_t *text_block; /* by instruction: block in the order of the text */
	struct slu_predict_block *blocks;
	uint32_t n_blocks;
	struct slu_predict_edge *edges;
	uint32_t n_edges, max_edges;
	uint32_t *first_out; /* edges are made block by block */
};

static int add_edge(struct maker *m, uint32_t from, uint32_t instr, bool is_conditional,
		    bool is_taken)
{
	const struct slu_ptx_function *f = m->flow->function;

	/* behind the last instruction the function ends */
	if (instr >= f->n_instrs)
		return 0;
	if (m->n_edges == m->max_edges) {
		uint32_t more = m->max_edges ? m->max_edges * 2 : 64;
		struct slu_predict_edge *bigger = reallocarray(m->edges, more, sizeof(*m->edges));

		if (!bigger)
			return slu_error(-ENOMEM);
		m->edges = bigger;
		m->max_edges = more;
	}
	m->edges[m->n_edges++] = (struct slu_predict_edge){
		.from = from,
		.to = m->text_block[instr],
		.is_conditional = is_conditional,
		.is_taken = is_taken,
	};
	return 0;
}

static int make_edges(struct maker *m, uint32_t block)
{
	const struct slu_ptx_function *f = m->flow->function;
	uint32_t end = m->blocks[block].end;
	const struct slu_ptx_instr *last = &f->instrs[end - 1];
	bool has_guard = last->guard != SLU_PTX_NO_REG;
	int r = 0;

	switch (last->form->opcode) {
	case SLU_PTX_OP_bra:
		r = add_edge(m, block, target_of(f, &last->operands[0]), has_guard, true);
		if (!r && has_guard)
			r = add_edge(m, block, end, true, false);
		return r;
	case SLU_PTX_OP_brx:
		for (uint32_t i = 0; !r && i < last->operands[1].targets->n_labels; i++)
			r = add_edge(m, block, target_of(f, &last->operands[1].targets->labels[i]),
				     false, true);
		if (!r && has_guard)
			r = add_edge(m, block, end, false, false);
		return r;
	case SLU_PTX_OP_ret:
	case SLU_PTX_OP_exit:
	case SLU_PTX_OP_trap:
		return has_guard ? add_edge(m, block, end, true, false) : 0;
	default:
		return add_edge(m, block, end, false, true);
	}
}

static int make_blocks(struct maker *m)
{
	const struct slu_ptx_function *f = m->flow->function;
	bool *starts = calloc((size_t)f->n_instrs + 1, sizeof(*starts));
	uint32_t n;

	m->text_block = calloc((size_t)f->n_instrs + 1, sizeof(*m->text_block));
	if (!starts || !m->text_block) {
		free(starts);
		return slu_error(-ENOMEM);
	}
	n = find_starts(f, starts);
	m->blocks = calloc(n, sizeof(*m->blocks));
	m->first_out = calloc((size_t)n + 1, sizeof(*m->first_out));
	if (!m->blocks || !m->first_out || n > MAX_BLOCKS) {
		free(starts);
		return m->blocks && m->first_out ? SLU_PREDICT_FLOW_E_LARGE : slu_error(-ENOMEM);
	}
	for (uint32_t i = 0, b = 0; i < f->n_instrs; i++) {
		if (starts[i])
			m->blocks[b++].first = i;
		m->blocks[b - 1].end = i + 1;
		m->text_block[i] = b - 1;
	}
	free(starts);
	m->n_blocks = n;
	for (uint32_t b = 0; b < n; b++) {
		int r;

		m->first_out[b] = m->n_edges;
		r = make_edges(m, b);
		if (r)
			return r;
	}
	m->first_out[n] = m->n_edges;
	return 0;
}

/* -- blocks in reverse postorder ------------------------------------------------------------ */

/* Return: how many blocks can be reached; @order has them in postorder, from the end on. */
static uint32_t walk(const struct maker *m, uint32_t *order, uint32_t *stack, uint32_t *next)
{
	uint32_t n = m->n_blocks, at = n, top = 0;

	for (uint32_t b = 0; b < n; b++)
		next[b] = SLU_PREDICT_NO_BLOCK;
	stack[top++] = 0;
	next[0] = m->first_out[0];
	while (top) {
		uint32_t b = stack[top - 1];

		if (next[b] == m->first_out[b + 1]) {
			order[--at] = b;
			top--;
		} else {
			uint32_t to = m->edges[next[b]++].to;

			if (next[to] == SLU_PREDICT_NO_BLOCK) {
				next[to] = m->first_out[to];
				stack[top++] = to;
			}
		}
	}
	memmove(order, order + at, (n - at) * sizeof(*order));
	return n - at;
}

static int order_blocks(struct maker *m)
{
	struct slu_predict_flow *flow = m->flow;
	uint32_t n = m->n_blocks, n_edges = 0;
	uint32_t *order = calloc(n, sizeof(*order)), *stack = calloc(n, sizeof(*stack));
	uint32_t *place = calloc(n, sizeof(*place));
	int r = slu_error(-ENOMEM);

	if (!order || !stack || !place)
		goto out;
	flow->n_blocks = walk(m, order, stack, place);
	flow->blocks = calloc(flow->n_blocks, sizeof(*flow->blocks));
	flow->edges = calloc((size_t)m->n_edges + 1, sizeof(*flow->edges));
	flow->in = calloc((size_t)m->n_edges + 1, sizeof(*flow->in));
	flow->block_of = calloc((size_t)flow->function->n_instrs + 1, sizeof(*flow->block_of));
	if (!flow->blocks || !flow->edges || !flow->in || !flow->block_of)
		goto out;
	for (uint32_t b = 0; b < n; b++)
		place[b] = SLU_PREDICT_NO_BLOCK;
	for (uint32_t i = 0; i < flow->n_blocks; i++)
		place[order[i]] = i;
	for (uint32_t i = 0; i < flow->function->n_instrs; i++)
		flow->block_of[i] = place[m->text_block[i]];
	for (uint32_t i = 0; i < flow->n_blocks; i++) {
		struct slu_predict_block *b = &flow->blocks[i];

		*b = m->blocks[order[i]];
		b->loop = SLU_PREDICT_NO_LOOP;
		for (uint32_t k = m->first_out[order[i]]; k < m->first_out[order[i] + 1]; k++) {
			if (b->n_out < 2)
				b->out[b->n_out] = n_edges;
			b->n_out++;
			flow->edges[n_edges] = m->edges[k];
			flow->edges[n_edges].from = i;
			flow->edges[n_edges].to = place[m->edges[k].to];
			n_edges++;
		}
	}
	flow->n_edges = n_edges;
	r = 0;
out:
	free(order);
	free(stack);
	free(place);
	return r;
}

static void fill_in(struct slu_predict_flow *flow)
{
	uint32_t at = 0;

	for (uint32_t e = 0; e < flow->n_edges; e++)
		flow->blocks[flow->edges[e].to].n_in++;
	for (uint32_t b = 0; b < flow->n_blocks; b++) {
		flow->blocks[b].first_in = at;
		at += flow->blocks[b].n_in;
		flow->blocks[b].n_in = 0;
	}
	for (uint32_t e = 0; e < flow->n_edges; e++) {
		struct slu_predict_block *b = &flow->blocks[flow->edges[e].to];

		flow->in[b->first_in + b->n_in++] = e;
	}
}

/* -- dominators ----------------------------------------------------------------------------- */

static uint32_t meet(const struct slu_predict_flow *flow, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (a > b)
			a = flow->blocks[a].idom;
		while (b > a)
			b = flow->blocks[b].idom;
	}
	return a;
}

/* Until nothing changes (Cooper, Harvey, Kennedy); blocks are numbered in reverse postorder. */
static void find_dominators(struct slu_predict_flow *flow)
{
	bool has_changed = true;

	for (uint32_t b = 0; b < flow->n_blocks; b++)
		flow->blocks[b].idom = SLU_PREDICT_NO_BLOCK;
	flow->blocks[0].idom = 0;
	while (has_changed) {
		has_changed = false;
		for (uint32_t b = 1; b < flow->n_blocks; b++) {
			struct slu_predict_block *block = &flow->blocks[b];
			uint32_t idom = SLU_PREDICT_NO_BLOCK;

			for (uint32_t i = 0; i < block->n_in; i++) {
				uint32_t from = flow->edges[flow->in[block->first_in + i]].from;

				if (flow->blocks[from].idom == SLU_PREDICT_NO_BLOCK)
					continue;
				idom = idom == SLU_PREDICT_NO_BLOCK ? from : meet(flow, from, idom);
			}
			has_changed = has_changed || idom != block->idom;
			block->idom = idom;
		}
	}
	for (uint32_t b = 1; b < flow->n_blocks; b++)
		flow->blocks[b].depth = flow->blocks[flow->blocks[b].idom].depth + 1;
	flow->blocks[0].idom = SLU_PREDICT_NO_BLOCK;
}

bool slu_predict_flow_dominates(const struct slu_predict_flow *flow, uint32_t a, uint32_t b)
{
	while (flow->blocks[b].depth > flow->blocks[a].depth)
		b = flow->blocks[b].idom;
	return a == b;
}

/* -- loops ---------------------------------------------------------------------------------- */

static uint32_t outermost(const struct slu_predict_flow *flow, uint32_t loop, uint32_t under)
{
	while (flow->loops[loop].outer != SLU_PREDICT_NO_LOOP && flow->loops[loop].outer != under)
		loop = flow->loops[loop].outer;
	return loop;
}

/*
 * Blocks from which the head of @loop can be reached without passing it. Heads are taken from the
 * last to the first, so that what belongs to an inner loop does so already: that loop as a whole is
 * put into this one, and the search goes on at the edges into its head.
 */
static void fill_loop(struct slu_predict_flow *flow, uint32_t loop, uint32_t *stack,
		      bool *is_queued)
{
	uint32_t head = flow->loops[loop].head, top = 0;

	memset(is_queued, 0, flow->n_blocks * sizeof(*is_queued));
	is_queued[head] = true;
	flow->blocks[head].loop = loop;
	for (uint32_t i = 0; i < flow->blocks[head].n_in; i++) {
		uint32_t from = flow->edges[flow->in[flow->blocks[head].first_in + i]].from;

		if (from >= head && !is_queued[from]) {
			is_queued[from] = true;
			stack[top++] = from;
		}
	}
	while (top) {
		uint32_t b = stack[--top];

		if (flow->blocks[b].loop == SLU_PREDICT_NO_LOOP) {
			flow->blocks[b].loop = loop;
		} else if (flow->blocks[b].loop != loop) {
			uint32_t inner = outermost(flow, flow->blocks[b].loop, loop);

			if (inner != loop) {
				flow->loops[inner].outer = loop;
				b = flow->loops[inner].head;
				is_queued[b] = true;
			}
		}
		for (uint32_t i = 0; i < flow->blocks[b].n_in; i++) {
			uint32_t from = flow->edges[flow->in[flow->blocks[b].first_in + i]].from;

			if (!is_queued[from]) {
				is_queued[from] = true;
				stack[top++] = from;
			}
		}
	}
}

static int find_loops(struct slu_predict_flow *flow)
{
	uint32_t *stack = calloc(flow->n_blocks, sizeof(*stack));
	bool *is_queued = calloc(flow->n_blocks, sizeof(*is_queued));
	uint32_t n = 0;
	int r = slu_error(-ENOMEM);

	flow->loops = calloc((size_t)flow->n_edges + 1, sizeof(*flow->loops));
	if (!stack || !is_queued || !flow->loops)
		goto out;
	r = 0;
	for (uint32_t b = flow->n_blocks; b-- > 0;) {
		uint32_t n_latches = 0;

		for (uint32_t i = 0; i < flow->blocks[b].n_in; i++) {
			uint32_t from = flow->edges[flow->in[flow->blocks[b].first_in + i]].from;

			/* an edge against the order that does not lead to a head */
			if (from >= b && !slu_predict_flow_dominates(flow, b, from)) {
				r = SLU_PREDICT_FLOW_E_IRREDUCIBLE;
				goto out;
			}
			n_latches += from >= b;
		}
		if (!n_latches)
			continue;
		flow->loops[n] = (struct slu_predict_loop){ .head = b,
							    .outer = SLU_PREDICT_NO_LOOP,
							    .n_latches = n_latches };
		fill_loop(flow, n++, stack, is_queued);
	}
	flow->n_loops = n;
	/* outer loops have later numbers */
	for (uint32_t i = n; i-- > 0;)
		flow->loops[i].depth = flow->loops[i].outer == SLU_PREDICT_NO_LOOP
					       ? 1
					       : flow->loops[flow->loops[i].outer].depth + 1;
out:
	free(stack);
	free(is_queued);
	return r;
}

bool slu_predict_flow_is_in(const struct slu_predict_flow *flow, uint32_t block, uint32_t loop)
{
	uint32_t l = flow->blocks[block].loop;

	while (l != SLU_PREDICT_NO_LOOP && l != loop)
		l = flow->loops[l].outer;
	return l == loop;
}

uint32_t slu_predict_flow_head_of(const struct slu_predict_flow *flow, uint32_t block)
{
	uint32_t l = flow->blocks[block].loop;

	return l != SLU_PREDICT_NO_LOOP && flow->loops[l].head == block ? l : SLU_PREDICT_NO_LOOP;
}

/* ------------------------------------------------------------------------------------------- */

int slu_predict_flow_init(struct slu_predict_flow *flow, const struct slu_ptx_function *function)
{
	struct maker m = { .flow = flow };
	int r;

	*flow = (struct slu_predict_flow){ .function = function };
	if (!function->n_instrs)
		return 0;
	if (function->n_instrs > MAX_INSTRS)
		return SLU_PREDICT_FLOW_E_LARGE;
	r = make_blocks(&m);
	if (!r)
		r = order_blocks(&m);
	free(m.text_block);
	free(m.blocks);
	free(m.edges);
	free(m.first_out);
	if (!r) {
		fill_in(flow);
		find_dominators(flow);
		r = find_loops(flow);
	}
	if (r)
		slu_predict_flow_deinit(flow);
	return r;
}

void slu_predict_flow_deinit(struct slu_predict_flow *flow)
{
	free(flow->blocks);
	free(flow->edges);
	free(flow->in);
	free(flow->block_of);
	free(flow->loops);
	*flow = (struct slu_predict_flow){ 0 };
}
