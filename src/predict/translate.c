/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a node to an op. Sound: each case below gives an op whose set contains the instruction's
 * result (opcodes.def, value.h), for operands whose sets contain the operands; whatever has no case
 * is unknown. Registers are numbers modulo 2^width, so that copies between types of one width are
 * the number itself.
 */

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
#include "predict/analysis.h"

#define MAX_DEPTH  200
#define MAX_COPIES 64

static const struct slu_ptx_instr *instr_of(const struct slu_predict_analysis *an,
					    const struct slu_predict_node *node)
{
	return node->kind == SLU_PREDICT_NODE_INSTR ? &an->function->instrs[node->a] : NULL;
}

static unsigned size_of(const struct slu_ptx_instr *in, unsigned k)
{
	return slu_ptx_type_size((enum slu_ptx_type)in->form->types[k]);
}

static struct slu_predict_type type_of(const struct slu_ptx_instr *in, unsigned k)
{
	return (struct slu_predict_type){
		.bits = (uint8_t)(size_of(in, k) * 8),
		.is_signed = slu_ptx_type_is_signed((enum slu_ptx_type)in->form->types[k]),
	};
}

static uint32_t line_of(const struct slu_predict_analysis *an, const struct slu_predict_node *node)
{
	switch (node->kind) {
	case SLU_PREDICT_NODE_INSTR:
		return an->function->instrs[node->a].line;
	case SLU_PREDICT_NODE_MERGE:
		return an->function->instrs[an->flow.blocks[node->a].first].line;
	default:
		return 0;
	}
}

/* -- ops ------------------------------------------------------------------------------------ */

/* A name of its own for every node: two unknown values are not the same one. */
static int64_t name_of(const struct slu_predict_node *node, unsigned tag)
{
	uint64_t where = node->kind == SLU_PREDICT_NODE_INSTR
				 ? (uint64_t)node->a << 16 | (node->b & 0xffff)
				 : (uint64_t)node->a << 32 | (uint32_t)node->b;

	return (int64_t)(((where << 8) ^ ((uint64_t)node->kind << 62)) | tag);
}

uint32_t slu_predict_translate_unknown(struct slu_predict_analysis *an,
				       enum slu_predict_reason reason, struct slu_predict_node node)
{
	/* what was never written may be something else each time */
	if (node.kind == SLU_PREDICT_NODE_NONE)
		node.b = ++an->n_unwritten;
	return slu_predict_program_op(an->program, &(struct slu_predict_op){
							   .code = SLU_PREDICT_CODE_UNKNOWN,
							   .imm = name_of(&node, (unsigned)reason),
							   .line = line_of(an, &node),
						   });
}

uint32_t slu_predict_translate_op(struct slu_predict_analysis *an, enum slu_predict_code code,
				  uint32_t a, uint32_t b, unsigned bits)
{
	return slu_predict_program_op(an->program, &(struct slu_predict_op){
							   .code = (uint8_t)code,
							   .type = { .bits = (uint8_t)bits },
							   .a = a,
							   .b = b,
						   });
}

/*
 * Sound: which of both it is differs from node to node, so that the joins of two nodes are two
 * values, also if they join the same ones.
 */
uint32_t slu_predict_translate_join(struct slu_predict_analysis *an, struct slu_predict_node node,
				    uint32_t a, uint32_t b)
{
	return slu_predict_program_op(an->program, &(struct slu_predict_op){
							   .code = SLU_PREDICT_CODE_JOIN,
							   .imm = name_of(&node, 0),
							   .a = a,
							   .b = b,
						   });
}

static uint32_t constant(struct slu_predict_analysis *an, int64_t c)
{
	return slu_predict_program_op(
		an->program,
		&(struct slu_predict_op){ .code = SLU_PREDICT_CODE_CONSTANT, .imm = c });
}

static uint32_t norm(struct slu_predict_analysis *an, uint32_t a, struct slu_predict_type type)
{
	return slu_predict_program_op(an->program, &(struct slu_predict_op){
							   .code = SLU_PREDICT_CODE_NORM,
							   .type = type,
							   .a = a,
						   });
}

/* Whatever fits into a type. */
static uint32_t loaded(struct slu_predict_analysis *an, struct slu_predict_node node,
		       struct slu_predict_type type)
{
	return slu_predict_program_op(an->program, &(struct slu_predict_op){
							   .code = SLU_PREDICT_CODE_LOADED,
							   .type = type,
							   .imm = name_of(&node, 0),
							   .line = line_of(an, &node),
						   });
}

static unsigned register_bits(const struct slu_predict_analysis *an,
			      const struct slu_ptx_operand *o)
{
	return o->kind == SLU_PTX_OPERAND_REG
		       ? slu_ptx_type_size((enum slu_ptx_type)an->function->reg_types[o->reg]) * 8
		       : 0;
}

/* -- copies --------------------------------------------------------------------------------- */

/* An instruction that gives its operand on as it is: the operand. */
static const struct slu_ptx_operand *copied(const struct slu_ptx_instr *in)
{
	if (in->guard != SLU_PTX_NO_REG)
		return NULL;
	switch (in->form->opcode) {
	case SLU_PTX_OP_mov:
		/* parts of a register, and predicates, are none */
		return in->form->row->family == SLU_PTX_FAMILY_MOVE &&
				       in->operands[0].kind == SLU_PTX_OPERAND_REG &&
				       in->operands[1].kind != SLU_PTX_OPERAND_VECTOR
			       ? &in->operands[1]
			       : NULL;
	case SLU_PTX_OP_cvta:
		/* sound: a generic address of global or constant memory is the address there */
		return in->form->space == SLU_PTX_SPACE_GLOBAL ||
				       in->form->space == SLU_PTX_SPACE_CONST
			       ? &in->operands[1]
			       : NULL;
	case SLU_PTX_OP_cvt:
		return in->form->n_types == 2 && !slu_ptx_form_has(in->form, SLU_PTX_MOD_sat) &&
				       !slu_ptx_type_is_float(
					       (enum slu_ptx_type)in->form->types[0]) &&
				       !slu_ptx_type_is_float(
					       (enum slu_ptx_type)in->form->types[1]) &&
				       size_of(in, 0) == size_of(in, 1) && size_of(in, 0) >= 4
			       ? &in->operands[1]
			       : NULL;
	default:
		return NULL;
	}
}

/* A cvt between types of one size copies only if both registers have that size. */
static bool is_exact(const struct slu_predict_analysis *an, const struct slu_ptx_instr *in)
{
	if (in->form->opcode != SLU_PTX_OP_cvt)
		return true;
	for (unsigned k = 0; k < 2; k++)
		if (in->operands[k].kind == SLU_PTX_OPERAND_REG &&
		    slu_ptx_type_size(
			    (enum slu_ptx_type)an->function->reg_types[in->operands[k].reg]) !=
			    size_of(in, k))
			return false;
	return true;
}

/* The one node that all ways into a merge bring, itself aside. */
static bool is_one_way(struct slu_predict_analysis *an, struct slu_predict_node *node)
{
	const struct slu_predict_block *b = &an->flow.blocks[node->a];
	struct slu_predict_node found = { .kind = SLU_PREDICT_NODE_NONE };

	/* from outside nothing is brought to the entry */
	if (!node->a)
		return false;
	for (uint32_t i = 0; i < b->n_in; i++) {
		uint32_t from = an->flow.edges[an->flow.in[b->first_in + i]].from;
		struct slu_predict_node n = slu_predict_define_find(
			&an->define, (uint32_t)node->b, from, an->flow.blocks[from].end);

		if (slu_predict_node_is(&n, node))
			continue;
		if (n.kind == SLU_PREDICT_NODE_NONE ||
		    (found.kind && !slu_predict_node_is(&n, &found)))
			return false;
		found = n;
	}
	if (!found.kind)
		return false;
	*node = found;
	return true;
}

struct slu_predict_node slu_predict_translate_origin(struct slu_predict_analysis *an,
						     struct slu_predict_node node)
{
	for (unsigned n = 0; n < MAX_COPIES; n++) {
		const struct slu_ptx_instr *in = instr_of(an, &node);
		const struct slu_ptx_operand *o;
		struct slu_predict_node next;

		if (node.kind == SLU_PREDICT_NODE_MERGE && is_one_way(an, &node))
			continue;
		if (!in || node.b)
			return node;
		o = copied(in);
		if (!o || !is_exact(an, in))
			return node;
		next = slu_predict_define_operand(&an->define, node.a, o);
		if (next.kind == SLU_PREDICT_NODE_NONE)
			return node;
		node = next;
	}
	return node;
}

struct slu_predict_node slu_predict_translate_uncut(struct slu_predict_analysis *an,
						    struct slu_predict_node node)
{
	const struct slu_ptx_instr *in;

	node = slu_predict_translate_origin(an, node);
	in = instr_of(an, &node);
	if (!in || in->guard != SLU_PTX_NO_REG || in->form->opcode != SLU_PTX_OP_cvt ||
	    in->form->n_types != 2 || slu_ptx_form_has(in->form, SLU_PTX_MOD_sat) ||
	    slu_ptx_type_is_float((enum slu_ptx_type)in->form->types[0]) ||
	    slu_ptx_type_is_float((enum slu_ptx_type)in->form->types[1]) ||
	    size_of(in, 0) >= size_of(in, 1) || size_of(in, 0) < 4 ||
	    register_bits(an, &in->operands[0]) != size_of(in, 0) * 8)
		return node;
	return slu_predict_translate_origin(
		an, slu_predict_define_operand(&an->define, node.a, &in->operands[1]));
}

/* -- instructions --------------------------------------------------------------------------- */

struct place {
	struct slu_predict_analysis *an;
	struct slu_predict_node node;
	const struct slu_ptx_instr *in;
	uint32_t facts;
};

/* The op of an instruction's k-th operand. */
static uint32_t source(const struct place *p, unsigned k)
{
	const struct slu_ptx_operand *o = &p->in->operands[k];

	if (o->is_negated || o->selector)
		return slu_predict_translate_unknown(p->an, SLU_PREDICT_REASON_OPCODE, p->node);
	return slu_predict_translate(
		p->an, slu_predict_define_operand(&p->an->define, p->node.a, o), p->facts);
}

static uint32_t source_norm(const struct place *p, unsigned k)
{
	return norm(p->an, source(p, k), type_of(p->in, 0));
}

static uint32_t two(const struct place *p, enum slu_predict_code code, uint32_t a, uint32_t b)
{
	return slu_predict_translate_op(p->an, code, a, b, type_of(p->in, 0).bits);
}

static uint32_t unknown(const struct place *p)
{
	return slu_predict_translate_unknown(p->an, SLU_PREDICT_REASON_OPCODE, p->node);
}

static bool is_int(const struct place *p)
{
	return p->in->form->row->family == SLU_PTX_FAMILY_INT &&
	       !slu_ptx_form_has(p->in->form, SLU_PTX_MOD_sat);
}

/* A constant operand as a number of the instruction's type. */
static bool is_constant(const struct place *p, unsigned k, int64_t *ret)
{
	const struct slu_ptx_operand *o = &p->in->operands[k];
	struct slu_predict_type t = type_of(p->in, 0);

	if (o->kind != SLU_PTX_OPERAND_IMM || t.bits > 32)
		return false;
	*ret = (int64_t)(o->imm << (64 - t.bits));
	*ret = t.is_signed ? *ret >> (64 - t.bits) : (int64_t)((uint64_t)*ret >> (64 - t.bits));
	return true;
}

/* floor(x * factor / 2^shift) */
static uint32_t scaled(const struct place *p, uint32_t x, int64_t factor, unsigned shift)
{
	return slu_predict_program_op(p->an->program, &(struct slu_predict_op){
							      .code = SLU_PREDICT_CODE_SCALE,
							      .a = x,
							      .imm = factor,
							      .shift = (uint8_t)shift,
						      });
}

static uint32_t translate_mul(const struct place *p)
{
	bool is_wide = slu_ptx_form_has(p->in->form, SLU_PTX_MOD_wide);
	bool is_mad = p->in->form->opcode == SLU_PTX_OP_mad;
	struct slu_predict_type t = type_of(p->in, 0);
	int64_t factor;
	uint32_t r;

	if (slu_ptx_form_has(p->in->form, SLU_PTX_MOD_hi)) {
		/* the upper half of a product of numbers that are not negative rounds down */
		if (is_mad || !is_constant(p, 2, &factor) || factor < 1 || t.bits != 32)
			return unknown(p);
		return scaled(p, source_norm(p, 1), factor, 32);
	}
	if (is_wide)
		r = two(p, SLU_PREDICT_CODE_MUL, source_norm(p, 1), source_norm(p, 2));
	else
		r = two(p, SLU_PREDICT_CODE_MUL, source(p, 1), source(p, 2));
	return is_mad ? two(p, SLU_PREDICT_CODE_ADD, r, source(p, 3)) : r;
}

/* Is a node an instruction of this opcode, without a guard, of integers? */
static bool is_plain(const struct place *p, const struct slu_predict_node *node,
		     enum slu_ptx_opcode opcode, struct place *ret)
{
	*ret = *p;
	ret->node = slu_predict_translate_origin(p->an, *node);
	ret->in = instr_of(p->an, &ret->node);
	return ret->in && ret->in->form->opcode == opcode && ret->in->guard == SLU_PTX_NO_REG &&
	       is_int(ret);
}

static struct slu_predict_node node_of(const struct place *p, unsigned k)
{
	return slu_predict_translate_origin(
		p->an, slu_predict_define_operand(&p->an->define, p->node.a, &p->in->operands[k]));
}

/*
 * What compilers make of a division by a constant: the upper half of a product, perhaps with the
 * number itself added where the factor's highest bit is its sign, shifted right. Sound: for a
 * number that is not negative, rounding down twice is rounding down once, and x * (f - 2^32) / 2^32
 * + x = x * f / 2^32; slu_predict_divide_scale() gives up on other numbers.
 */
static uint32_t translate_scaled(const struct place *p, unsigned more)
{
	struct slu_predict_node node = node_of(p, 1), x, y;
	struct place sum, product;
	int64_t factor;

	if (is_plain(p, &node, SLU_PTX_OP_mul, &product) && is_constant(&product, 2, &factor)) {
		if (slu_ptx_form_has(product.in->form, SLU_PTX_MOD_hi) &&
		    type_of(product.in, 0).bits == 32 && factor > 0)
			return scaled(p, source_norm(&product, 1), factor, 32 + more);
		if (slu_ptx_form_has(product.in->form, SLU_PTX_MOD_wide) &&
		    type_of(product.in, 0).bits == 32 && factor > 0)
			return scaled(p, source_norm(&product, 1), factor, more);
		return 0;
	}
	if (!is_plain(p, &node, SLU_PTX_OP_add, &sum))
		return 0;
	for (unsigned k = 1; k <= 2; k++) {
		node = node_of(&sum, k);
		if (!is_plain(p, &node, SLU_PTX_OP_mul, &product) ||
		    !slu_ptx_form_has(product.in->form, SLU_PTX_MOD_hi) ||
		    type_of(product.in, 0).bits != 32 || !type_of(product.in, 0).is_signed ||
		    !is_constant(&product, 2, &factor) || factor >= 0)
			continue;
		x = node_of(&product, 1);
		y = node_of(&sum, 3 - k);
		if (slu_predict_node_is(&x, &y))
			return scaled(p, source_norm(&product, 1), factor + (INT64_C(1) << 32),
				      32 + more);
	}
	return 0;
}

static uint32_t translate_shr(const struct place *p)
{
	const struct slu_ptx_operand *o = &p->in->operands[2];
	struct slu_predict_type t = type_of(p->in, 0);
	uint32_t a, op = 0;

	if (o->kind == SLU_PTX_OPERAND_IMM && o->imm < t.bits && o->imm < 63)
		op = translate_scaled(p, (unsigned)o->imm);
	if (op) {
		uint32_t plain;

		/* where the number may be negative only the shift itself is right */
		plain = slu_predict_translate_op(p->an, SLU_PREDICT_CODE_SHR, source_norm(p, 1),
						 source(p, 2), t.bits);
		return slu_predict_translate_op(p->an, SLU_PREDICT_CODE_EITHER, op, plain, 0);
	}
	a = source_norm(p, 1);
	return two(p, SLU_PREDICT_CODE_SHR, a, source(p, 2));
}

static uint32_t translate_bfe(const struct place *p)
{
	const struct slu_ptx_operand *at = &p->in->operands[2], *n = &p->in->operands[3];
	struct slu_predict_type t = type_of(p->in, 0);
	uint32_t a;

	if (t.is_signed || at->kind != SLU_PTX_OPERAND_IMM || n->kind != SLU_PTX_OPERAND_IMM ||
	    (at->imm & 0xff) + (n->imm & 0xff) > t.bits || !(n->imm & 0xff) || (n->imm & 0xff) > 62)
		return unknown(p);
	a = two(p, SLU_PREDICT_CODE_SHR, source_norm(p, 1), constant(p->an, at->imm & 0xff));
	return two(p, SLU_PREDICT_CODE_AND, a,
		   constant(p->an, (INT64_C(1) << (n->imm & 0xff)) - 1));
}

/*
 * Sound: to clear the low n bits of a number is to shift it right and left again, with its sign or
 * without. So it shares the dim of a quotient that the program computes as well.
 */
static uint32_t translate_and(const struct place *p)
{
	struct slu_predict_type t = { type_of(p->in, 0).bits, true };
	const struct slu_ptx_operand *o = &p->in->operands[2];
	uint64_t low;

	if (o->kind == SLU_PTX_OPERAND_IMM) {
		low = ~o->imm & (t.bits == 64 ? UINT64_MAX : (UINT64_C(1) << t.bits) - 1);
		if (low && !(low & (low + 1)) && low < (UINT64_C(1) << 40)) {
			uint32_t n = constant(p->an, __builtin_popcountll(low));
			uint32_t q = two(p, SLU_PREDICT_CODE_SHR, norm(p->an, source(p, 1), t), n);

			return two(p, SLU_PREDICT_CODE_SHL, q, n);
		}
	}
	return two(p, SLU_PREDICT_CODE_AND, source(p, 1), source(p, 2));
}

/* The number as its first type holds it, cut to the second; a wider register is filled up. */
static uint32_t translate_cvt(const struct place *p)
{
	const struct slu_ptx_form *form = p->in->form;
	struct slu_predict_type to = type_of(p->in, 0), from = type_of(p->in, 1);
	uint32_t r;

	if (form->row->family != SLU_PTX_FAMILY_CVT || form->n_types != 2 ||
	    slu_ptx_type_is_float((enum slu_ptx_type)form->types[0]))
		return unknown(p);
	if (slu_ptx_type_is_float((enum slu_ptx_type)form->types[1]) ||
	    slu_ptx_form_has(form, SLU_PTX_MOD_sat))
		return loaded(p->an, p->node, to);
	r = source(p, 1);
	/* bits that are cut off do not matter, and with them neither does the sign */
	if (from.bits < to.bits)
		r = norm(p->an, r, from);
	if (register_bits(p->an, &p->in->operands[0]) != to.bits)
		r = norm(p->an, r, to);
	return r;
}

static uint32_t translate_ld(const struct place *p)
{
	const struct slu_ptx_operand *address = &p->in->operands[1];
	struct slu_predict_type t = type_of(p->in, 0);
	const struct slu_ptx_operand *base = address->elements;

	/* sound: a kernel's parameters are the launch's bytes, and nobody writes them */
	if (p->in->form->opcode == SLU_PTX_OP_ld && p->in->form->space == SLU_PTX_SPACE_PARAM &&
	    base->kind == SLU_PTX_OPERAND_VARIABLE && base->variable->role == SLU_PTX_ROLE_PARAM &&
	    address->offset >= 0 &&
	    !slu_ptx_type_is_float((enum slu_ptx_type)p->in->form->types[0]))
		return slu_predict_program_op(
			p->an->program,
			&(struct slu_predict_op){
				.code = SLU_PREDICT_CODE_PARAM,
				.type = t,
				.imm = (int64_t)base->variable->offset + address->offset +
				       (int64_t)(p->node.b * size_of(p->in, 0)),
				.line = p->in->line,
			});
	return loaded(p->an, p->node, t);
}

static uint32_t translate_selp(const struct place *p)
{
	const struct slu_ptx_operand *o = &p->in->operands[3];
	struct place yes = *p, no = *p;

	/* sound: where the first one is taken the predicate holds, else it does not */
	if (o->kind == SLU_PTX_OPERAND_REG) {
		yes.facts =
			slu_predict_guard_add(p->an, p->facts, p->node.a, o->reg, !o->is_negated);
		no.facts = slu_predict_guard_add(p->an, p->facts, p->node.a, o->reg, o->is_negated);
	}
	return slu_predict_translate_join(p->an, p->node, source(&yes, 1), source(&no, 2));
}

static uint32_t translate_result(const struct place *p)
{
	struct slu_predict_type t = type_of(p->in, 0);

	switch (p->in->form->opcode) {
	case SLU_PTX_OP_add:
		return is_int(p) ? two(p, SLU_PREDICT_CODE_ADD, source(p, 1), source(p, 2))
				 : unknown(p);
	case SLU_PTX_OP_sub:
		return is_int(p) ? two(p, SLU_PREDICT_CODE_SUB, source(p, 1), source(p, 2))
				 : unknown(p);
	case SLU_PTX_OP_mul:
	case SLU_PTX_OP_mad:
		return is_int(p) ? translate_mul(p) : unknown(p);
	case SLU_PTX_OP_neg:
		return is_int(p) ? two(p, SLU_PREDICT_CODE_SUB, constant(p->an, 0), source(p, 1))
				 : unknown(p);
	case SLU_PTX_OP_div:
		return is_int(p)
			       ? two(p, SLU_PREDICT_CODE_DIV, source_norm(p, 1), source_norm(p, 2))
			       : unknown(p);
	case SLU_PTX_OP_rem:
		return is_int(p)
			       ? two(p, SLU_PREDICT_CODE_REM, source_norm(p, 1), source_norm(p, 2))
			       : unknown(p);
	case SLU_PTX_OP_min:
		return is_int(p)
			       ? two(p, SLU_PREDICT_CODE_MIN, source_norm(p, 1), source_norm(p, 2))
			       : unknown(p);
	case SLU_PTX_OP_max:
		return is_int(p)
			       ? two(p, SLU_PREDICT_CODE_MAX, source_norm(p, 1), source_norm(p, 2))
			       : unknown(p);
	case SLU_PTX_OP_abs:
		return is_int(p) ? two(p, SLU_PREDICT_CODE_ABS, source_norm(p, 1), 0) : unknown(p);
	case SLU_PTX_OP_and:
		return is_int(p) ? translate_and(p) : unknown(p);
	case SLU_PTX_OP_or:
		return is_int(p) ? two(p, SLU_PREDICT_CODE_OR, source(p, 1), source(p, 2))
				 : unknown(p);
	case SLU_PTX_OP_xor:
		return is_int(p) ? two(p, SLU_PREDICT_CODE_XOR, source(p, 1), source(p, 2))
				 : unknown(p);
	case SLU_PTX_OP_not:
		return is_int(p) ? two(p, SLU_PREDICT_CODE_SUB, constant(p->an, -1), source(p, 1))
				 : unknown(p);
	case SLU_PTX_OP_shl:
		return two(p, SLU_PREDICT_CODE_SHL, source(p, 1), source(p, 2));
	case SLU_PTX_OP_shr:
		return translate_shr(p);
	case SLU_PTX_OP_bfe:
		return translate_bfe(p);
	case SLU_PTX_OP_cvt:
		return translate_cvt(p);
	case SLU_PTX_OP_selp:
		return translate_selp(p);
	case SLU_PTX_OP_popc:
	case SLU_PTX_OP_clz:
		/* at most 64 */
		return loaded(p->an, p->node, (struct slu_predict_type){ .bits = 8 });
	case SLU_PTX_OP_ld:
	case SLU_PTX_OP_ldu:
		return translate_ld(p);
	case SLU_PTX_OP_atom:
		return loaded(p->an, p->node, t);
	case SLU_PTX_OP_mov:
		/* whole registers only; special registers of 64 bits are unknown anyway */
		return copied(p->in) ? source(p, 1) : unknown(p);
	case SLU_PTX_OP_cvta:
		if (copied(p->in))
			return source(p, 1);
		/* an address in a window of its own */
		if (!slu_ptx_form_has(p->in->form, SLU_PTX_MOD_to))
			return slu_predict_program_op(
				p->an->program,
				&(struct slu_predict_op){ .code = SLU_PREDICT_CODE_WINDOW });
		return unknown(p);
	default:
		return unknown(p);
	}
}

/* Sound: a guarded instruction leaves its result where the guard holds, else what was there. */
static uint32_t translate_instr(const struct place *p)
{
	struct place yes = *p;
	uint32_t no_facts, reg, old;
	bool is_behind;

	if (p->in->guard == SLU_PTX_NO_REG)
		return translate_result(p);
	yes.facts = slu_predict_guard_add(p->an, p->facts, p->node.a, p->in->guard,
					  !p->in->guard_is_negated);
	no_facts = slu_predict_guard_add(p->an, p->facts, p->node.a, p->in->guard,
					 p->in->guard_is_negated);
	reg = slu_predict_define_result(p->in, (uint32_t)p->node.b, &is_behind);
	if (is_behind || reg == SLU_PTX_NO_REG)
		return unknown(p);
	old = slu_predict_translate(p->an,
				    slu_predict_define_find(&p->an->define, reg,
							    p->an->flow.block_of[p->node.a],
							    p->node.a),
				    no_facts);
	return slu_predict_translate_join(p->an, p->node, translate_result(&yes), old);
}

/* -- nodes ---------------------------------------------------------------------------------- */

/* Sound: a value comes over one of the edges, with what holds there. */
static uint32_t translate_merge(struct slu_predict_analysis *an, struct slu_predict_node node)
{
	const struct slu_predict_block *b = &an->flow.blocks[node.a];
	uint32_t op = 0;

	for (uint32_t i = 0; i < b->n_in; i++) {
		uint32_t edge = an->flow.in[b->first_in + i], from = an->flow.edges[edge].from;
		struct slu_predict_node n = slu_predict_define_find(
			&an->define, (uint32_t)node.b, from, an->flow.blocks[from].end);
		uint32_t one = slu_predict_translate(an, n, slu_predict_guard_edge(an, edge));

		op = i ? slu_predict_translate_join(an, node, op, one) : one;
	}
	return op ? op : slu_predict_translate_unknown(an, SLU_PREDICT_REASON_UNWRITTEN, node);
}

static uint32_t translate_variable(struct slu_predict_analysis *an, const struct slu_ptx_operand *o)
{
	uint32_t op;

	if (o->variable->space != SLU_PTX_SPACE_GLOBAL && o->variable->space != SLU_PTX_SPACE_CONST)
		return slu_predict_program_op(
			an->program, &(struct slu_predict_op){ .code = SLU_PREDICT_CODE_WINDOW });
	op = slu_predict_program_op(an->program, &(struct slu_predict_op){
							 .code = SLU_PREDICT_CODE_VARIABLE,
							 .imm = o->variable->index,
						 });
	return o->offset ? slu_predict_translate_op(an, SLU_PREDICT_CODE_ADD, op,
						    constant(an, o->offset), 64)
			 : op;
}

static uint32_t translate_plain(struct slu_predict_analysis *an, struct slu_predict_node node,
				uint32_t facts)
{
	struct place p = { .an = an, .node = node, .in = instr_of(an, &node), .facts = facts };
	uint32_t loop;

	switch (node.kind) {
	case SLU_PREDICT_NODE_INSTR:
		/* of all results, only loads have more than one that we follow */
		if (node.b && p.in->form->row->family != SLU_PTX_FAMILY_LOAD)
			return unknown(&p);
		return translate_instr(&p);
	case SLU_PREDICT_NODE_MERGE:
		loop = slu_predict_flow_head_of(&an->flow, node.a);
		return loop == SLU_PREDICT_NO_LOOP
			       ? translate_merge(an, node)
			       : slu_predict_loop_counter(an, loop, node, facts);
	case SLU_PREDICT_NODE_CONSTANT:
		return constant(an, (int64_t)node.b);
	case SLU_PREDICT_NODE_SPECIAL:
		return slu_predict_program_op(an->program, &(struct slu_predict_op){
								   .code = SLU_PREDICT_CODE_SPECIAL,
								   .imm = node.a,
							   });
	case SLU_PREDICT_NODE_VARIABLE:
		return translate_variable(an, (const struct slu_ptx_operand *)(uintptr_t)node.b);
	default:
		return slu_predict_translate_unknown(an, SLU_PREDICT_REASON_UNWRITTEN, node);
	}
}

static struct slu_predict_memo *memo_of(struct slu_predict_analysis *an,
					const struct slu_predict_node *node, uint32_t facts)
{
	uint64_t h = (node->b * 31 + node->a) * UINT64_C(0x9E3779B97F4A7C15) +
		     facts * UINT64_C(0xBF58476D1CE4E5B9) + node->kind;
	uint32_t k = (uint32_t)(h >> 32 ^ h >> 48) & (an->max_memo - 1);

	while (an->memo[k].op &&
	       (!slu_predict_node_is(&an->memo[k].node, node) || an->memo[k].facts != facts))
		k = (k + 1) & (an->max_memo - 1);
	return &an->memo[k];
}

static bool grow_memo(struct slu_predict_analysis *an)
{
	struct slu_predict_memo *old = an->memo;
	uint32_t n = an->max_memo;

	if (an->n_memo * 2 < n)
		return true;
	an->max_memo = n ? n * 2 : 1024;
	an->memo = calloc(an->max_memo, sizeof(*an->memo));
	if (!an->memo) {
		an->memo = old;
		an->max_memo = n;
		an->error = slu_error(-ENOMEM);
		return false;
	}
	for (uint32_t i = 0; i < n; i++)
		if (old[i].op)
			*memo_of(an, &old[i].node, old[i].facts) = old[i];
	free(old);
	return true;
}

uint32_t slu_predict_translate(struct slu_predict_analysis *an, struct slu_predict_node node,
			       uint32_t facts)
{
	uint32_t op, n_evaded = an->n_evaded;
	struct slu_predict_memo *memo;

	node = slu_predict_translate_origin(an, node);
	if (node.kind == SLU_PREDICT_NODE_CONSTANT)
		return constant(an, (int64_t)node.b);
	if (an->error || !grow_memo(an) || !an->budget || an->depth >= MAX_DEPTH)
		return slu_predict_translate_unknown(an, SLU_PREDICT_REASON_LARGE, node);
	an->budget--;
	if (node.kind != SLU_PREDICT_NODE_NONE) {
		memo = memo_of(an, &node, facts);
		if (memo->op)
			return memo->op - 1;
	}
	an->depth++;
	op = translate_plain(an, node, facts);
	op = slu_predict_guard_refine(an, node, op, facts, SLU_PREDICT_CODE_REFINE);
	an->depth--;
	/* what is unknown only because it was asked for while it was looked for is so just now */
	if (an->n_evaded == n_evaded && node.kind != SLU_PREDICT_NODE_NONE) {
		memo = memo_of(an, &node, facts);
		an->n_memo += !memo->op;
		*memo = (struct slu_predict_memo){ node, facts, op + 1 };
	}
	return op;
}

uint32_t slu_predict_translate_address(struct slu_predict_analysis *an, uint32_t instr,
				       const struct slu_ptx_operand *o, uint32_t facts)
{
	if (o->elements->kind == SLU_PTX_OPERAND_IMM)
		return constant(an, 0);
	return slu_predict_translate(
		an, slu_predict_define_operand(&an->define, instr, o->elements), facts);
}
