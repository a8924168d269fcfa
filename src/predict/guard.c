/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts: what a branch or guard told of values. Sound: an edge's condition holds when the edge is
 * taken, and at every place that the edge dominates the values are still those that were compared
 * (define.h). Only facts that follow from one predicate are used: all parts of an `and` that is
 * true, of an `or` that is false. To leave a fact out is always allowed.
 */

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
#include "predict/analysis.h"

#define MAX_PARTS 8  /* of a predicate, one in another */
#define MAX_FACTS 64 /* that are looked at for one value */

static uint32_t push(struct slu_predict_analysis *an, const struct slu_predict_fact *fact)
{
	if (an->error)
		return fact->parent;
	if (an->n_facts >= an->max_facts) {
		uint32_t more = an->max_facts ? an->max_facts * 2 : 64;
		struct slu_predict_fact *bigger = reallocarray(an->facts, more, sizeof(*an->facts));

		if (!bigger) {
			an->error = slu_error(-ENOMEM);
			return fact->parent;
		}
		an->facts = bigger;
		an->max_facts = more;
	}
	if (!an->n_facts)
		an->facts[an->n_facts++] = (struct slu_predict_fact){ .parent = 0 };
	an->facts[an->n_facts] = *fact;
	return an->n_facts++;
}

static bool find_relation(const struct slu_ptx_form *form, enum slu_predict_relation *ret)
{
	static const struct {
		uint16_t modifier;
		uint8_t relation;
	} table[] = {
		{ SLU_PTX_MOD_eq, SLU_PREDICT_EQ }, { SLU_PTX_MOD_ne, SLU_PREDICT_NE },
		{ SLU_PTX_MOD_lt, SLU_PREDICT_LT }, { SLU_PTX_MOD_lo, SLU_PREDICT_LT },
		{ SLU_PTX_MOD_le, SLU_PREDICT_LE }, { SLU_PTX_MOD_ls, SLU_PREDICT_LE },
		{ SLU_PTX_MOD_gt, SLU_PREDICT_GT }, { SLU_PTX_MOD_hi, SLU_PREDICT_GT },
		{ SLU_PTX_MOD_ge, SLU_PREDICT_GE }, { SLU_PTX_MOD_hs, SLU_PREDICT_GE },
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(table); i++)
		if (slu_ptx_form_has(form, (enum slu_ptx_modifier)table[i].modifier)) {
			*ret = table[i].relation;
			return true;
		}
	return false;
}

static enum slu_predict_relation inverse(enum slu_predict_relation r)
{
	static const uint8_t table[] = {
		[SLU_PREDICT_EQ] = SLU_PREDICT_NE, [SLU_PREDICT_NE] = SLU_PREDICT_EQ,
		[SLU_PREDICT_LT] = SLU_PREDICT_GE, [SLU_PREDICT_GE] = SLU_PREDICT_LT,
		[SLU_PREDICT_GT] = SLU_PREDICT_LE, [SLU_PREDICT_LE] = SLU_PREDICT_GT,
	};

	return table[r];
}

/* x r y is y r' x */
static enum slu_predict_relation mirror(enum slu_predict_relation r)
{
	static const uint8_t table[] = {
		[SLU_PREDICT_EQ] = SLU_PREDICT_EQ, [SLU_PREDICT_NE] = SLU_PREDICT_NE,
		[SLU_PREDICT_LT] = SLU_PREDICT_GT, [SLU_PREDICT_GT] = SLU_PREDICT_LT,
		[SLU_PREDICT_LE] = SLU_PREDICT_GE, [SLU_PREDICT_GE] = SLU_PREDICT_LE,
	};

	return table[r];
}

static uint32_t add_node(struct slu_predict_analysis *an, uint32_t facts,
			 struct slu_predict_node node, bool is_true, unsigned depth);

static uint32_t add_operand(struct slu_predict_analysis *an, uint32_t facts, uint32_t instr,
			    const struct slu_ptx_operand *o, bool is_true, unsigned depth)
{
	return add_node(an, facts, slu_predict_define_operand(&an->define, instr, o),
			is_true != o->is_negated, depth);
}

static uint32_t add_comparison(struct slu_predict_analysis *an, uint32_t facts, uint32_t i,
			       bool is_true)
{
	const struct slu_ptx_instr *in = &an->function->instrs[i];
	enum slu_ptx_type type = (enum slu_ptx_type)in->form->types[0];
	struct slu_predict_fact fact = { .parent = facts, .has_relation = true };
	enum slu_predict_relation relation;

	if (slu_ptx_type_is_float(type) || !find_relation(in->form, &relation))
		return facts;
	fact.loop = SLU_PREDICT_NO_LOOP;
	fact.relation = (uint8_t)(is_true ? relation : inverse(relation));
	fact.type.bits = (uint8_t)(slu_ptx_type_size(type) * 8);
	fact.type.is_signed = slu_ptx_type_is_signed(type) || type == SLU_PTX_TYPE_B16 ||
			      type == SLU_PTX_TYPE_B32 || type == SLU_PTX_TYPE_B64;
	fact.x = slu_predict_translate_origin(
		an, slu_predict_define_operand(&an->define, i, &in->operands[1]));
	fact.y = slu_predict_translate_origin(
		an, slu_predict_define_operand(&an->define, i, &in->operands[2]));
	return push(an, &fact);
}

/*
 * setp p|q, a, b: p is the comparison, q its opposite; with `and c` or `or c` behind it, each of
 * the two is that with c.
 */
static uint32_t add_setp(struct slu_predict_analysis *an, uint32_t facts,
			 struct slu_predict_node node, bool is_true, unsigned depth)
{
	const struct slu_ptx_instr *in = &an->function->instrs[node.a];
	bool is_and = slu_ptx_form_has(in->form, SLU_PTX_MOD_and);
	bool is_or = slu_ptx_form_has(in->form, SLU_PTX_MOD_or);

	if (slu_ptx_form_has(in->form, SLU_PTX_MOD_xor) || (is_and && !is_true) ||
	    (is_or && is_true))
		return facts;
	facts = add_comparison(an, facts, node.a, is_true != (node.b == 1));
	if (is_and || is_or)
		facts = add_operand(an, facts, node.a, &in->operands[3], is_true, depth);
	return facts;
}

static uint32_t add_node(struct slu_predict_analysis *an, uint32_t facts,
			 struct slu_predict_node node, bool is_true, unsigned depth)
{
	const struct slu_ptx_instr *in;

	if (node.kind != SLU_PREDICT_NODE_INSTR || depth == MAX_PARTS)
		return facts;
	in = &an->function->instrs[node.a];
	/* a guarded one may have left the old value */
	if (in->guard != SLU_PTX_NO_REG)
		return facts;
	switch (in->form->opcode) {
	case SLU_PTX_OP_setp:
		return add_setp(an, facts, node, is_true, depth + 1);
	case SLU_PTX_OP_and:
	case SLU_PTX_OP_or:
		if (in->form->row->family != SLU_PTX_FAMILY_PRED ||
		    is_true != (in->form->opcode == SLU_PTX_OP_and))
			return facts;
		facts = add_operand(an, facts, node.a, &in->operands[1], is_true, depth + 1);
		return add_operand(an, facts, node.a, &in->operands[2], is_true, depth + 1);
	case SLU_PTX_OP_not:
		if (in->form->row->family != SLU_PTX_FAMILY_PRED)
			return facts;
		return add_operand(an, facts, node.a, &in->operands[1], !is_true, depth + 1);
	case SLU_PTX_OP_mov:
		if (in->form->row->family != SLU_PTX_FAMILY_PRED)
			return facts;
		return add_operand(an, facts, node.a, &in->operands[1], is_true, depth + 1);
	default:
		return facts;
	}
}

uint32_t slu_predict_guard_add(struct slu_predict_analysis *an, uint32_t facts, uint32_t instr,
			       uint32_t reg, bool is_true)
{
	struct slu_predict_node node =
		slu_predict_define_find(&an->define, reg, an->flow.block_of[instr], instr);

	return add_node(an, facts, node, is_true, 0);
}

uint32_t slu_predict_guard_edge(struct slu_predict_analysis *an, uint32_t edge)
{
	const struct slu_predict_edge *e = &an->flow.edges[edge];
	uint32_t facts = an->block_facts[e->from];
	uint32_t last = an->flow.blocks[e->from].end - 1, loop;
	const struct slu_ptx_instr *in = &an->function->instrs[last];
	struct slu_predict_fact stay = { 0 };

	if (an->edge_facts[edge])
		return an->edge_facts[edge] - 1;
	if (!e->is_conditional)
		return facts;
	facts = slu_predict_guard_add(an, facts, last, in->guard,
				      e->is_taken != in->guard_is_negated);
	loop = slu_predict_loop_stayed(an, edge);
	if (loop != SLU_PREDICT_NO_LOOP) {
		stay.parent = facts;
		stay.loop = loop;
		facts = push(an, &stay);
	}
	an->edge_facts[edge] = facts + 1;
	return facts;
}

/* What holds in a block's dominator holds in the block, and on its only edge in. */
void slu_predict_guard_all(struct slu_predict_analysis *an)
{
	for (uint32_t i = 1; i < an->flow.n_blocks; i++) {
		const struct slu_predict_block *b = &an->flow.blocks[i];

		/* a dominator has a lower number */
		an->block_facts[i] = b->n_in == 1
					     ? slu_predict_guard_edge(an, an->flow.in[b->first_in])
					     : an->block_facts[b->idom];
	}
}

uint32_t slu_predict_guard_op(struct slu_predict_analysis *an, uint32_t facts)
{
	struct slu_predict_fact *fact;
	uint32_t before, x, y, op = 0;

	if (facts == SLU_PREDICT_NO_FACT || an->error)
		return 0;
	if (an->facts[facts].has_guard)
		return an->facts[facts].guard;
	before = slu_predict_guard_op(an, an->facts[facts].parent);
	fact = &an->facts[facts];
	if (fact->has_relation) {
		struct slu_predict_fact f = *fact;

		x = slu_predict_translate(an, f.x, f.parent);
		y = slu_predict_translate(an, f.y, f.parent);
		op = slu_predict_program_op(an->program, &(struct slu_predict_op){
								 .code = SLU_PREDICT_CODE_REFINE,
								 .relation = f.relation,
								 .type = f.type,
								 .a = x,
								 .b = y,
							 });
	} else if (slu_predict_loop_is_past_test(an, fact->loop, facts)) {
		x = slu_predict_loop_turns(an, fact->loop);
		op = slu_predict_translate_op(an, SLU_PREDICT_CODE_BODY, x, 0, 0);
	}
	if (before && op)
		op = slu_predict_translate_op(an, SLU_PREDICT_CODE_GUARD, before, op, 0);
	else if (before)
		op = before;
	/* facts may have moved */
	fact = &an->facts[facts];
	fact->guard = op;
	fact->has_guard = true;
	return op;
}

/*
 * What one fact says of @op, which is @node's; @code is REFINE or KEEP. Of a number that was cut to
 * fewer bits a fact says something if nothing was cut off, and that is what KEEP finds out.
 */
static uint32_t apply(struct slu_predict_analysis *an, const struct slu_predict_fact *f,
		      struct slu_predict_node node, uint32_t op, enum slu_predict_code code)
{
	struct slu_predict_node x = slu_predict_translate_uncut(an, f->x);
	struct slu_predict_node y = slu_predict_translate_uncut(an, f->y);
	bool is_x = slu_predict_node_is(&x, &node);
	bool is_cut = is_x ? !slu_predict_node_is(&f->x, &x) : !slu_predict_node_is(&f->y, &y);
	enum slu_predict_relation r = (enum slu_predict_relation)f->relation;
	uint32_t refined;

	if (node.kind == SLU_PREDICT_NODE_CONSTANT || (!is_x && !slu_predict_node_is(&y, &node)))
		return op;
	refined = slu_predict_program_op(
		an->program, &(struct slu_predict_op){
				     .code = (uint8_t)(is_cut ? SLU_PREDICT_CODE_KEEP : code),
				     .relation = (uint8_t)(is_x ? r : mirror(r)),
				     .type = f->type,
				     .a = op,
				     .b = slu_predict_translate(an, is_x ? f->y : f->x, f->parent),
			     });
	if (is_cut && code != SLU_PREDICT_CODE_KEEP)
		return slu_predict_translate_op(an, SLU_PREDICT_CODE_NARROWER, op, refined, 0);
	return refined;
}

uint32_t slu_predict_guard_refine(struct slu_predict_analysis *an, struct slu_predict_node node,
				  uint32_t op, uint32_t facts, enum slu_predict_code code)
{
	for (unsigned n = 0; facts != SLU_PREDICT_NO_FACT && n < MAX_FACTS; n++) {
		struct slu_predict_fact f = an->facts[facts];

		if (f.has_relation)
			op = apply(an, &f, node, op, code);
		facts = f.parent;
	}
	return op;
}
