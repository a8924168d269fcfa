/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that change from turn to turn, and how many turns there are.
 *
 * A counter is a MERGE at a loop's head whose value over every edge back is itself plus the same
 * steps, none of which changes in the loop. Sound: then its value in turn k is the first one plus k
 * times the step, as integers; all counters of a loop have the same k at the same time. Every other
 * value that is carried around is unknown.
 */

#include "predict/analysis.h"

#define MAX_STEPS	8
#define MAX_FIXED_DEPTH 6

/* A node as a counter plus steps that do not change. */
struct chain {
	uint32_t reg; /* the counter's */
	unsigned n_steps;
	struct slu_predict_node steps[MAX_STEPS];
	bool is_negative[MAX_STEPS];
	unsigned bits;
};

/* Is a node the same in every turn? */
static bool is_fixed(struct slu_predict_analysis *an, struct slu_predict_node node, uint32_t loop,
		     unsigned depth)
{
	const struct slu_ptx_instr *in;

	node = slu_predict_translate_origin(an, node);
	switch (node.kind) {
	case SLU_PREDICT_NODE_CONSTANT:
	case SLU_PREDICT_NODE_VARIABLE:
		return true;
	case SLU_PREDICT_NODE_SPECIAL:
		return node.a <= SLU_PTX_SREG_NCTAID_Z;
	case SLU_PREDICT_NODE_MERGE:
		return !slu_predict_flow_is_in(&an->flow, node.a, loop);
	case SLU_PREDICT_NODE_INSTR:
		break;
	default:
		return false;
	}
	if (!slu_predict_flow_is_in(&an->flow, an->flow.block_of[node.a], loop))
		return true;
	in = &an->function->instrs[node.a];
	if (in->guard != SLU_PTX_NO_REG || depth == MAX_FIXED_DEPTH)
		return false;
	if (in->form->opcode == SLU_PTX_OP_ld)
		return in->form->space == SLU_PTX_SPACE_PARAM &&
		       in->operands[1].elements->kind == SLU_PTX_OPERAND_VARIABLE;
	if (in->form->row->family != SLU_PTX_FAMILY_INT &&
	    in->form->row->family != SLU_PTX_FAMILY_CVT)
		return false;
	for (unsigned k = 1; k < in->n_operands; k++)
		if (in->operands[k].is_negated || in->operands[k].selector ||
		    !is_fixed(an, slu_predict_define_operand(&an->define, node.a, &in->operands[k]),
			      loop, depth + 1))
			return false;
	return true;
}

/* Takes sums apart until a MERGE at the loop's head remains. */
static bool find_chain(struct slu_predict_analysis *an, uint32_t loop, struct slu_predict_node node,
		       struct chain *ret)
{
	*ret = (struct chain){ 0 };
	for (;;) {
		const struct slu_ptx_instr *in;
		struct slu_predict_node a, b;
		bool is_sub;

		/* sums commute with cutting bits off */
		node = slu_predict_translate_uncut(an, node);
		if (node.kind == SLU_PREDICT_NODE_MERGE && node.a == an->flow.loops[loop].head) {
			ret->reg = (uint32_t)node.b;
			return true;
		}
		if (node.kind != SLU_PREDICT_NODE_INSTR || node.b || ret->n_steps == MAX_STEPS)
			return false;
		in = &an->function->instrs[node.a];
		is_sub = in->form->opcode == SLU_PTX_OP_sub;
		if (in->guard != SLU_PTX_NO_REG || in->form->row->family != SLU_PTX_FAMILY_INT ||
		    slu_ptx_form_has(in->form, SLU_PTX_MOD_sat) ||
		    (!is_sub && in->form->opcode != SLU_PTX_OP_add))
			return false;
		ret->bits = slu_ptx_type_size((enum slu_ptx_type)in->form->types[0]) * 8;
		a = slu_predict_define_operand(&an->define, node.a, &in->operands[1]);
		b = slu_predict_define_operand(&an->define, node.a, &in->operands[2]);
		if (!is_fixed(an, b, loop, 0)) {
			struct slu_predict_node t = a;

			if (is_sub || !is_fixed(an, a, loop, 0))
				return false;
			a = b;
			b = t;
		}
		ret->steps[ret->n_steps] = b;
		ret->is_negative[ret->n_steps++] = is_sub;
		node = a;
	}
}

/* The chain by which a counter goes on: the same over all edges back. */
static bool find_counter(struct slu_predict_analysis *an, uint32_t loop, uint32_t reg,
			 struct chain *ret, struct slu_predict_node *ret_next)
{
	const struct slu_predict_block *head = &an->flow.blocks[an->flow.loops[loop].head];
	struct slu_predict_node next = { .kind = SLU_PREDICT_NODE_NONE };

	for (uint32_t i = 0; i < head->n_in; i++) {
		uint32_t from = an->flow.edges[an->flow.in[head->first_in + i]].from;
		struct slu_predict_node n;

		if (from < an->flow.loops[loop].head)
			continue;
		n = slu_predict_translate_origin(
			an,
			slu_predict_define_find(&an->define, reg, from, an->flow.blocks[from].end));
		if (n.kind == SLU_PREDICT_NODE_NONE ||
		    (next.kind != SLU_PREDICT_NODE_NONE && !slu_predict_node_is(&n, &next)))
			return false;
		next = n;
	}
	*ret_next = next;
	return find_chain(an, loop, next, ret) && ret->reg == reg && ret->n_steps;
}

/* @op and all steps of a chain, what holds at the loop's head known. */
static uint32_t add_steps(struct slu_predict_analysis *an, uint32_t loop, const struct chain *chain,
			  uint32_t op)
{
	uint32_t facts = an->block_facts[an->flow.loops[loop].head];

	for (unsigned i = 0; i < chain->n_steps; i++) {
		uint32_t step = slu_predict_translate(an, chain->steps[i], facts);

		op = slu_predict_translate_op(
			an, chain->is_negative[i] ? SLU_PREDICT_CODE_SUB : SLU_PREDICT_CODE_ADD, op,
			step, chain->bits);
	}
	return op;
}

static uint32_t zero(struct slu_predict_analysis *an)
{
	return slu_predict_program_op(
		an->program, &(struct slu_predict_op){ .code = SLU_PREDICT_CODE_CONSTANT });
}

/* A counter's value before the first turn: one of those that come from outside. */
static uint32_t first_of(struct slu_predict_analysis *an, uint32_t loop, uint32_t reg)
{
	const struct slu_predict_block *head = &an->flow.blocks[an->flow.loops[loop].head];
	struct slu_predict_node node = { SLU_PREDICT_NODE_MERGE, an->flow.loops[loop].head, reg };
	uint32_t op = 0;

	for (uint32_t i = 0; i < head->n_in; i++) {
		uint32_t edge = an->flow.in[head->first_in + i];
		uint32_t from = an->flow.edges[edge].from, one;

		if (from >= an->flow.loops[loop].head)
			continue;
		one = slu_predict_translate(
			an,
			slu_predict_define_find(&an->define, reg, from, an->flow.blocks[from].end),
			slu_predict_guard_edge(an, edge));
		op = op ? slu_predict_translate_join(an, node, op, one) : one;
	}
	return op;
}

/* -- turns ---------------------------------------------------------------------------------- */

uint32_t slu_predict_loop_stayed(struct slu_predict_analysis *an, uint32_t edge)
{
	const struct slu_predict_edge *e = &an->flow.edges[edge];
	const struct slu_predict_block *b = &an->flow.blocks[e->from], *head;
	uint32_t loop = b->loop, other;

	if (loop == SLU_PREDICT_NO_LOOP || b->n_out != 2 || !e->is_conditional)
		return SLU_PREDICT_NO_LOOP;
	other = b->out[0] == edge ? b->out[1] : b->out[0];
	if (!slu_predict_flow_is_in(&an->flow, e->to, loop) ||
	    slu_predict_flow_is_in(&an->flow, an->flow.edges[other].to, loop))
		return SLU_PREDICT_NO_LOOP;
	/* the test is made in every turn that is followed by another */
	head = &an->flow.blocks[an->flow.loops[loop].head];
	for (uint32_t i = 0; i < head->n_in; i++) {
		uint32_t from = an->flow.edges[an->flow.in[head->first_in + i]].from;

		if (from >= an->flow.loops[loop].head &&
		    !slu_predict_flow_dominates(&an->flow, e->from, from))
			return SLU_PREDICT_NO_LOOP;
	}
	return loop;
}

/* What one comparison that holds on a way on allows; 0: nothing follows. */
static uint32_t turns_of(struct slu_predict_analysis *an, uint32_t loop, uint32_t block,
			 const struct slu_predict_fact *fact, bool is_mirrored)
{
	static const uint8_t mirror[] = {
		[SLU_PREDICT_EQ] = SLU_PREDICT_EQ, [SLU_PREDICT_NE] = SLU_PREDICT_NE,
		[SLU_PREDICT_LT] = SLU_PREDICT_GT, [SLU_PREDICT_GT] = SLU_PREDICT_LT,
		[SLU_PREDICT_LE] = SLU_PREDICT_GE, [SLU_PREDICT_GE] = SLU_PREDICT_LE,
	};
	struct slu_predict_node x = is_mirrored ? fact->y : fact->x;
	struct slu_predict_node y = is_mirrored ? fact->x : fact->y, next;
	struct chain tested, counter;
	uint32_t first;

	if (!find_chain(an, loop, x, &tested) ||
	    !find_counter(an, loop, tested.reg, &counter, &next))
		return 0;
	first = first_of(an, loop, tested.reg);
	if (!first)
		return 0;
	if (!an->turns[loop].has_primary) {
		an->turns[loop].has_primary = true;
		an->turns[loop].primary = tested.reg;
	}
	return slu_predict_program_op(
		an->program,
		&(struct slu_predict_op){
			.code = SLU_PREDICT_CODE_TURNS,
			/* sound: two loops are in turns of their own, also if they are alike */
			.imm = loop,
			.relation = is_mirrored ? mirror[fact->relation] : fact->relation,
			.type = fact->type,
			.a = add_steps(an, loop, &tested, first),
			.b = add_steps(an, loop, &counter, zero(an)),
			.c = slu_predict_translate(an, y, an->block_facts[block]),
			.is_fixed = is_fixed(an, y, loop, 0),
			.line = an->function->instrs[an->flow.blocks[block].end - 1].line,
		});
}

static uint32_t add_turns(struct slu_predict_analysis *an, uint32_t op, uint32_t more)
{
	if (!more || !op)
		return op ? op : more;
	return slu_predict_translate_op(an, SLU_PREDICT_CODE_FEWER, op, more, 0);
}

/* Sound: a loop goes on only if every test on the way on allows it; the strictest one counts. */
static uint32_t find_turns(struct slu_predict_analysis *an, uint32_t loop)
{
	uint32_t op = 0;

	for (uint32_t edge = 0; edge < an->flow.n_edges; edge++) {
		uint32_t from = an->flow.edges[edge].from, facts;

		if (an->flow.blocks[from].loop != loop || slu_predict_loop_stayed(an, edge) != loop)
			continue;
		facts = slu_predict_guard_edge(an, edge);
		while (facts != an->block_facts[from] && facts != SLU_PREDICT_NO_FACT) {
			struct slu_predict_fact fact = an->facts[facts];

			if (fact.has_relation) {
				op = add_turns(an, op, turns_of(an, loop, from, &fact, false));
				op = add_turns(an, op, turns_of(an, loop, from, &fact, true));
			}
			facts = fact.parent;
		}
	}
	return op;
}

static struct slu_predict_node head_node(const struct slu_predict_analysis *an, uint32_t loop)
{
	return (struct slu_predict_node){ SLU_PREDICT_NODE_MERGE, an->flow.loops[loop].head,
					  UINT32_MAX };
}

uint32_t slu_predict_loop_turns(struct slu_predict_analysis *an, uint32_t loop)
{
	struct slu_predict_turns *t = &an->turns[loop];
	uint32_t n_evaded = an->n_evaded;

	if (t->is_known)
		return t->op;
	if (t->is_counting && ++an->n_evaded)
		return slu_predict_translate_unknown(an, SLU_PREDICT_REASON_TURNS,
						     head_node(an, loop));
	t->is_counting = true;
	t->op = find_turns(an, loop);
	t->is_counting = false;
	if (!t->op)
		t->op = slu_predict_translate_unknown(an, SLU_PREDICT_REASON_TURNS,
						      head_node(an, loop));
	t->is_known = an->n_evaded == n_evaded;
	return t->op;
}

/* -- counters ------------------------------------------------------------------------------- */

/*
 * Is a place past the test that keeps the loop going? Of several tests another one may end the loop
 * behind the place, in a turn that has begun: then the place counts as any other.
 */
bool slu_predict_loop_is_past_test(const struct slu_predict_analysis *an, uint32_t loop,
				   uint32_t facts)
{
	if (an->turns[loop].n_tests != 1)
		return false;
	while (facts != SLU_PREDICT_NO_FACT) {
		if (!an->facts[facts].has_relation && an->facts[facts].loop == loop)
			return true;
		facts = an->facts[facts].parent;
	}
	return false;
}

/* The next value as far as the only edge back allows it: 0 if it says nothing. */
static uint32_t bound_next(struct slu_predict_analysis *an, uint32_t loop,
			   struct slu_predict_node next, uint32_t op)
{
	uint32_t latch = an->loop_latch[loop], bounded;

	if (latch == UINT32_MAX || (an->turns[loop].is_bounding && ++an->n_evaded))
		return 0;
	an->turns[loop].is_bounding = true;
	bounded = slu_predict_guard_refine(an, next, op, slu_predict_guard_edge(an, latch),
					   SLU_PREDICT_CODE_KEEP);
	an->turns[loop].is_bounding = false;
	return bounded == op ? 0 : bounded;
}

/* A counter that is alone: its first value, its step, and all its values. */
struct counter {
	uint32_t first, step, op;
	struct slu_predict_node next;
	unsigned bits;
};

/* Return: NONE, or why it is no counter. */
static enum slu_predict_reason make_counter(struct slu_predict_analysis *an, uint32_t loop,
					    uint32_t reg, uint32_t facts, struct counter *ret)
{
	struct chain chain;
	uint32_t turns;

	if (!find_counter(an, loop, reg, &chain, &ret->next))
		return SLU_PREDICT_REASON_LOOP;
	ret->first = first_of(an, loop, reg);
	if (!ret->first)
		return SLU_PREDICT_REASON_UNWRITTEN;
	ret->bits = chain.bits;
	ret->step = add_steps(an, loop, &chain, zero(an));
	turns = slu_predict_loop_turns(an, loop);
	if (slu_predict_loop_is_past_test(an, loop, facts))
		turns = slu_predict_translate_op(an, SLU_PREDICT_CODE_BODY, turns, 0, 0);
	ret->op = slu_predict_translate_op(an, SLU_PREDICT_CODE_MUL, ret->step, turns, chain.bits);
	ret->op =
		slu_predict_translate_op(an, SLU_PREDICT_CODE_ADD, ret->first, ret->op, chain.bits);
	return SLU_PREDICT_REASON_NONE;
}

/* Sound: at the head it is the first value, or a next one that the edge back let through. */
static uint32_t bound_counter(struct slu_predict_analysis *an, uint32_t loop,
			      const struct counter *c)
{
	uint32_t next = bound_next(
		an, loop, c->next,
		slu_predict_translate_op(an, SLU_PREDICT_CODE_ADD, c->op, c->step, c->bits));

	if (!next)
		return c->op;
	return slu_predict_program_op(an->program, &(struct slu_predict_op){
							   .code = SLU_PREDICT_CODE_COUNTER,
							   .a = c->op,
							   .b = c->first,
							   .c = next,
						   });
}

/*
 * Compilers test one counter and let others run beside it. Sound: with p = first_p + m * step * k
 * and i = first_i + step * k in the same turn, p = first_p - m * first_i + m * i as integers, and
 * what bounds i bounds p.
 */
static uint32_t follow_primary(struct slu_predict_analysis *an, uint32_t loop,
			       const struct counter *p, uint32_t facts)
{
	struct slu_predict_node node = { SLU_PREDICT_NODE_MERGE, an->flow.loops[loop].head,
					 an->turns[loop].primary };
	struct counter i;
	uint32_t m, distance, op;

	if (make_counter(an, loop, an->turns[loop].primary, facts, &i))
		return p->op;
	op = bound_counter(an, loop, &i);
	op = slu_predict_guard_refine(an, node, op, facts, SLU_PREDICT_CODE_KEEP);
	if (op == i.op)
		return p->op;
	m = slu_predict_translate_op(an, SLU_PREDICT_CODE_RATIO, p->step, i.step, 0);
	distance = slu_predict_translate_op(an, SLU_PREDICT_CODE_MUL, m, i.first, 0);
	distance = slu_predict_translate_op(an, SLU_PREDICT_CODE_SUB, p->first, distance, 0);
	op = slu_predict_translate_op(an, SLU_PREDICT_CODE_MUL, m, op, 0);
	op = slu_predict_translate_op(an, SLU_PREDICT_CODE_ADD, distance, op, 0);
	return slu_predict_translate_op(an, SLU_PREDICT_CODE_NARROWER, p->op, op, 0);
}

uint32_t slu_predict_loop_counter(struct slu_predict_analysis *an, uint32_t loop,
				  struct slu_predict_node node, uint32_t facts)
{
	enum slu_predict_reason reason;
	struct counter c;

	if (an->turns[loop].is_counting && ++an->n_evaded)
		return slu_predict_translate_unknown(an, SLU_PREDICT_REASON_TURNS, node);
	reason = make_counter(an, loop, (uint32_t)node.b, facts, &c);
	if (reason)
		return slu_predict_translate_unknown(an, reason, node);
	if (an->turns[loop].has_primary && an->turns[loop].primary != (uint32_t)node.b)
		return follow_primary(an, loop, &c, facts);
	return bound_counter(an, loop, &c);
}
