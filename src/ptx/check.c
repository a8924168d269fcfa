/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands are held against the row's slots (slot.h):
 * how many, what kind, how wide. Constants leave here as the bits of the type that the instruction
 * reads, so nobody asks again how they were written.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "ptx/matrix.h"
#include "ptx/operand.h"
#include "ptx/texture.h"

static enum slu_ptx_type reg_type(const struct slu_ptx_parser *p, uint32_t reg)
{
	return (enum slu_ptx_type)((const uint8_t *)p->reg_types.items)[reg];
}

int slu_ptx_check_reg(struct slu_ptx_parser *p, const struct slu_ptx_raw *raw, uint32_t reg,
		      const struct slu_ptx_demand *d)
{
	enum slu_ptx_type type = reg_type(p, reg);
	unsigned size = slu_ptx_type_size(type);

	if (size == d->size || (d->may_be_wider && size > d->size))
		return 0;
	return slu_ptx_refuse(p, &raw->token, "'%.*s' is .%s, but the instruction wants %u bits",
			      slu_ptx_shown(&raw->token), raw->token.text, slu_ptx_type_name(type),
			      d->size * 8);
}

static int check_pred(struct slu_ptx_parser *p, const struct slu_ptx_raw *raw, uint32_t reg)
{
	if (reg == SLU_PTX_NO_REG || reg_type(p, reg) == SLU_PTX_TYPE_PRED)
		return 0;
	return slu_ptx_refuse(p, &raw->token, "'%.*s' is no predicate", slu_ptx_shown(&raw->token),
			      raw->token.text);
}

int slu_ptx_refuse_operand(struct slu_ptx_parser *p, const struct slu_ptx_raw *raw,
			   const char *expected)
{
	return slu_ptx_refuse(p, &raw->token, "'%.*s' where %s is wanted",
			      raw->token.size ? slu_ptx_shown(&raw->token) : 1, raw->token.text,
			      expected);
}

/* Turns a literal into the bits of the type that is read. */
static int check_literal(struct slu_ptx_parser *p, const struct slu_ptx_raw *raw,
			 enum slu_ptx_token_kind literal, const struct slu_ptx_demand *d,
			 uint64_t *imm)
{
	double wide;
	float narrow;

	if (literal == SLU_PTX_TOKEN_INT) {
		if (d->type == SLU_PTX_TYPE_F32 || d->type == SLU_PTX_TYPE_F64)
			return slu_ptx_refuse_operand(p, raw, "a floating-point constant");
	} else if (literal == SLU_PTX_TOKEN_F32 && d->size == 8) {
		if (d->type != SLU_PTX_TYPE_F64)
			return slu_ptx_refuse_operand(p, raw, "64 bits");
		memcpy(&narrow, imm, 4);
		wide = narrow;
		memcpy(imm, &wide, 8);
	} else if (literal == SLU_PTX_TOKEN_F64 && d->size == 4) {
		if (d->type != SLU_PTX_TYPE_F32)
			return slu_ptx_refuse_operand(p, raw, "32 bits");
		memcpy(&wide, imm, 8);
		narrow = (float)wide;
		*imm = 0;
		memcpy(imm, &narrow, 4);
	}
	if (d->size < 8)
		*imm &= (UINT64_C(1) << d->size * 8) - 1;
	return 0;
}

int slu_ptx_check_source(struct slu_ptx_parser *p, struct slu_ptx_raw *raw,
			 const struct slu_ptx_demand *d)
{
	switch (raw->operand.kind) {
	case SLU_PTX_OPERAND_REG:
		return slu_ptx_check_reg(p, raw, raw->operand.reg, d);
	case SLU_PTX_OPERAND_IMM:
		return check_literal(p, raw, raw->literal, d, &raw->operand.imm);
	case SLU_PTX_OPERAND_SREG:
		if (slu_ptx_sreg_is_wide(raw->operand.sreg) ? d->size == 8
		    : d->may_be_wider			    ? d->size <= 4
							    : d->size == 4)
			return 0;
		/* it had 32 bits once */
		if (raw->operand.sreg == SLU_PTX_SREG_GRIDID && d->size == 4)
			return 0;
		return slu_ptx_refuse_operand(p, raw, "another width");
	default:
		return slu_ptx_refuse_operand(p, raw, "a register or constant");
	}
}

static int check_element(struct slu_ptx_parser *p, const struct slu_ptx_raw *raw, uint32_t reg,
			 const struct slu_ptx_demand *d)
{
	enum slu_ptx_type type = reg_type(p, reg);
	unsigned size = slu_ptx_type_size(type);

	if (size == d->size || (d->may_be_wider && size > d->size))
		return 0;
	return slu_ptx_refuse(p, &raw->token,
			      "the vector has a .%s, but the instruction wants %u bits",
			      slu_ptx_type_name(type), d->size * 8);
}

static int check_vector(struct slu_ptx_parser *p, struct slu_ptx_raw *raw,
			const struct slu_ptx_demand *d, unsigned n, bool is_source)
{
	if (raw->operand.kind != SLU_PTX_OPERAND_VECTOR || raw->operand.n_elements != n)
		return slu_ptx_refuse(p, &raw->token, "a vector of %u is wanted", n);
	for (unsigned i = 0; i < n; i++) {
		struct slu_ptx_operand *e = &raw->operand.elements[i];
		int r = 0;

		if (e->kind == SLU_PTX_OPERAND_REG)
			r = check_element(p, raw, e->reg, d);
		else if (is_source && e->kind == SLU_PTX_OPERAND_IMM)
			r = check_literal(p, raw, (enum slu_ptx_token_kind)raw->literals[i], d,
					  &e->imm);
		else if (is_source && e->kind == SLU_PTX_OPERAND_SREG && d->size == 4 &&
			 !slu_ptx_sreg_is_wide(e->sreg))
			r = 0;
		else if (is_source || e->kind != SLU_PTX_OPERAND_SINK)
			r = slu_ptx_refuse_operand(p, raw, "a vector of registers");
		if (r)
			return r;
	}
	return 0;
}

static int check_address_of(struct slu_ptx_parser *p, const struct slu_ptx_raw *raw, unsigned size)
{
	const struct slu_ptx_variable *v = raw->operand.variable;

	/* only windows are small enough for a 32-bit address */
	if (size == 8 ||
	    (size == 4 && (v->space == SLU_PTX_SPACE_SHARED || v->space == SLU_PTX_SPACE_LOCAL ||
			   v->space == SLU_PTX_SPACE_PARAM)))
		return 0;
	return slu_ptx_refuse_operand(p, raw, "a 64-bit register for the address");
}

static int check_address(struct slu_ptx_parser *p, struct slu_ptx_raw *raw)
{
	struct slu_ptx_operand *o = &raw->operand, base = *o;

	if (raw->is_element) {
		*o = (struct slu_ptx_operand){ .kind = SLU_PTX_OPERAND_ADDRESS,
					       .n_elements = 1,
					       .offset = base.offset };
		base.offset = 0;
		o->elements = slu_ptx_arena_copy(p->module->arena, &base, sizeof(base));
		return o->elements ? 0 : slu_error(-ENOMEM);
	}
	if (o->kind != SLU_PTX_OPERAND_ADDRESS || o->n_elements != 1)
		return slu_ptx_refuse_operand(p, raw, "an address");
	return 0;
}

static int check_mov(struct slu_ptx_parser *p, struct slu_ptx_raw *raw,
		     const struct slu_ptx_demand *d, bool is_source)
{
	enum slu_ptx_operand_kind kind = raw->operand.kind;

	if (kind == SLU_PTX_OPERAND_VECTOR) {
		struct slu_ptx_demand element = { .size = d->size /
							  SLU_MAX(raw->operand.n_elements, 1) };

		if (raw->operand.n_elements != 2 && raw->operand.n_elements != 4)
			return slu_ptx_refuse_operand(p, raw, "a vector of 2 or 4");
		return check_vector(p, raw, &element, raw->operand.n_elements, is_source);
	}
	if (is_source && kind == SLU_PTX_OPERAND_VARIABLE)
		return check_address_of(p, raw, d->size);
	if (is_source && kind == SLU_PTX_OPERAND_FUNCTION && d->size == 8)
		return 0;
	if (!is_source && kind != SLU_PTX_OPERAND_REG)
		return slu_ptx_refuse_operand(p, raw, "a register");
	/* and these had 16 */
	if (kind == SLU_PTX_OPERAND_SREG && raw->operand.sreg <= SLU_PTX_SREG_NCTAID_Z &&
	    d->size == 2)
		return 0;
	return slu_ptx_check_source(p, raw, d);
}

/* A vector of as many registers as the lane's part of the matrix; one may stand alone. */
static int check_fragment(struct slu_ptx_parser *p, const struct slu_ptx_form *form,
			  const struct slu_ptx_slot *slot, struct slu_ptx_raw *raw)
{
	struct slu_ptx_matrix m;
	const struct slu_ptx_fragment *f;
	struct slu_ptx_demand d;

	if (!slu_ptx_matrix_of(form, form->text, &m))
		return slu_ptx_refuse_operand(p, raw, "something else");
	f = &m.parts[slot->part];
	d = (struct slu_ptx_demand){ .size = f->reg_size };
	if (f->n_regs == 1 && raw->operand.kind == SLU_PTX_OPERAND_REG)
		return slu_ptx_check_reg(p, raw, raw->operand.reg, &d);
	return check_vector(p, raw, &d, f->n_regs, slot->kind == SLU_PTX_SLOT_FRAGMENT_READ);
}

static int check_label(struct slu_ptx_parser *p, struct slu_ptx_raw *raw,
		       struct slu_ptx_operand *place)
{
	struct slu_ptx_pending pending = {
		.name = raw->token.text,
		.size = raw->token.size,
		.operand = place,
		.line = raw->token.line,
		.column = raw->token.column,
	};

	if (raw->token.kind != SLU_PTX_TOKEN_WORD ||
	    (!raw->is_unknown && raw->operand.kind != SLU_PTX_OPERAND_SINK))
		return slu_ptx_refuse_operand(p, raw, "a label");
	raw->is_unknown = false;
	raw->operand = (struct slu_ptx_operand){ .kind = SLU_PTX_OPERAND_LABEL };
	return slu_fold(slu_ptx_list_add(&p->pending, &pending));
}

/* cp.async moves 4, 8 or 16 bytes, past the first cache only 16 */
static int check_copied(struct slu_ptx_parser *p, const struct slu_ptx_form *form,
			struct slu_ptx_raw *raw)
{
	uint64_t n = raw->operand.imm;

	if (raw->operand.kind != SLU_PTX_OPERAND_IMM || raw->literal != SLU_PTX_TOKEN_INT)
		return slu_ptx_refuse_operand(p, raw, "a constant");
	if (n == 16 || ((n == 4 || n == 8) && slu_ptx_form_has(form, SLU_PTX_MOD_ca)))
		return 0;
	return slu_ptx_refuse_operand(p, raw, "a number of bytes that can be copied");
}

/* Long: one switch with a case for each kind of slot. */
int slu_ptx_check_operand(struct slu_ptx_parser *p, const struct slu_ptx_form *form,
			  const struct slu_ptx_slot *slot, struct slu_ptx_raw *raw,
			  struct slu_ptx_operand *place)
{
	struct slu_ptx_demand d = { .size = slot->size,
				    .may_be_wider = slot->may_be_wider,
				    .type = (enum slu_ptx_type)slot->type };
	struct slu_ptx_operand *o = &raw->operand;
	int r;

	if (raw->is_minus && slot->kind != SLU_PTX_SLOT_SOURCE_SIGNED)
		return slu_ptx_refuse_operand(p, raw, "no sign");
	if (raw->is_paired && slot->kind != SLU_PTX_SLOT_DEST_TEXEL)
		return slu_ptx_refuse_operand(p, raw, "no predicate");
	if (o->selector && slot->kind != SLU_PTX_SLOT_DEST_PART &&
	    slot->kind != SLU_PTX_SLOT_SOURCE_PART && slot->kind != SLU_PTX_SLOT_SOURCE_SIGNED)
		return slu_ptx_refuse_operand(p, raw, "no selector");
	if (slot->kind == SLU_PTX_SLOT_LABEL)
		return check_label(p, raw, place);
	if (raw->is_unknown)
		return slu_ptx_refuse_unknown(p, &raw->token);
	if (o->is_negated && slot->kind != SLU_PTX_SLOT_PRED_SOURCE &&
	    slot->kind != SLU_PTX_SLOT_BYTES_OR_PRED)
		return slu_ptx_refuse_operand(p, raw, "no negation");
	switch ((enum slu_ptx_slot_kind)slot->kind) {
	case SLU_PTX_SLOT_DEST:
	case SLU_PTX_SLOT_DEST_TWICE:
	case SLU_PTX_SLOT_DEST_PART:
		if (o->kind == SLU_PTX_OPERAND_SINK)
			return 0;
		if (o->kind != SLU_PTX_OPERAND_REG)
			return slu_ptx_refuse_operand(p, raw, "a register");
		return slu_ptx_check_reg(p, raw, o->reg, &d);
	case SLU_PTX_SLOT_DEST_PAIR:
		if (o->kind == SLU_PTX_OPERAND_PAIR) {
			r = check_pred(p, raw, o->second);
			if (r || o->reg == SLU_PTX_NO_REG)
				return r;
		} else if (o->kind != SLU_PTX_OPERAND_REG) {
			return slu_ptx_refuse_operand(p, raw, "a register");
		}
		return slu_ptx_check_reg(p, raw, o->reg, &d);
	case SLU_PTX_SLOT_SOURCE_SIGNED:
		o->is_negated = raw->is_minus;
		return slu_ptx_check_source(p, raw, &d);
	case SLU_PTX_SLOT_SOURCE:
	case SLU_PTX_SLOT_SOURCE_TWICE:
	case SLU_PTX_SLOT_SOURCE_PART:
		return slu_ptx_check_source(p, raw, &d);
	case SLU_PTX_SLOT_DEST_VECTOR:
	case SLU_PTX_SLOT_SOURCE_VECTOR:
		if (form->vector > 1)
			return check_vector(p, raw, &d, form->vector,
					    slot->kind == SLU_PTX_SLOT_SOURCE_VECTOR);
		if (slot->kind == SLU_PTX_SLOT_SOURCE_VECTOR)
			return slu_ptx_check_source(p, raw, &d);
		if (o->kind != SLU_PTX_OPERAND_REG)
			return slu_ptx_refuse_operand(p, raw, "a register");
		return slu_ptx_check_reg(p, raw, o->reg, &d);
	case SLU_PTX_SLOT_DEST_TEXEL:
	case SLU_PTX_SLOT_SOURCE_TEXEL:
		r = raw->is_paired ? check_pred(p, raw, o->second) : 0;
		return r ? r
			 : check_vector(p, raw, &d, form->vector,
					slot->kind == SLU_PTX_SLOT_SOURCE_TEXEL);
	case SLU_PTX_SLOT_TEXTURE:
		return slu_ptx_check_texture(p, form, slot, raw);
	case SLU_PTX_SLOT_GRADIENT:
		return slu_ptx_check_gradient(p, form, slot, raw);
	case SLU_PTX_SLOT_DEST_MOV:
	case SLU_PTX_SLOT_SOURCE_MOV:
		return check_mov(p, raw, &d, slot->kind == SLU_PTX_SLOT_SOURCE_MOV);
	case SLU_PTX_SLOT_SOURCE_VARIABLE:
		if (o->kind == SLU_PTX_OPERAND_VARIABLE)
			return check_address_of(p, raw, d.size);
		return slu_ptx_check_source(p, raw, &d);
	case SLU_PTX_SLOT_PRED_DEST:
	case SLU_PTX_SLOT_PRED_PAIR:
		if (o->kind == SLU_PTX_OPERAND_PAIR && slot->kind == SLU_PTX_SLOT_PRED_PAIR) {
			r = check_pred(p, raw, o->reg);
			return r ? r : check_pred(p, raw, o->second);
		}
		if (o->kind == SLU_PTX_OPERAND_SINK)
			return 0;
		if (o->kind != SLU_PTX_OPERAND_REG)
			return slu_ptx_refuse_operand(p, raw, "a predicate");
		return check_pred(p, raw, o->reg);
	case SLU_PTX_SLOT_PRED_SOURCE:
		if (o->kind == SLU_PTX_OPERAND_IMM && raw->literal == SLU_PTX_TOKEN_INT)
			return 0;
		if (o->kind != SLU_PTX_OPERAND_REG)
			return slu_ptx_refuse_operand(p, raw, "a predicate");
		return check_pred(p, raw, o->reg);
	case SLU_PTX_SLOT_ADDRESS:
	case SLU_PTX_SLOT_SECOND_ADDRESS:
		return check_address(p, raw);
	case SLU_PTX_SLOT_FRAGMENT_WRITTEN:
	case SLU_PTX_SLOT_FRAGMENT_READ:
		return check_fragment(p, form, slot, raw);
	case SLU_PTX_SLOT_TARGETS:
		if (o->kind != SLU_PTX_OPERAND_TARGETS)
			return slu_ptx_refuse_operand(p, raw, "a list of labels");
		return 0;
	case SLU_PTX_SLOT_BYTES_OR_PRED:
		if (o->kind == SLU_PTX_OPERAND_REG &&
		    (o->is_negated || reg_type(p, o->reg) == SLU_PTX_TYPE_PRED))
			return check_pred(p, raw, o->reg);
		if (o->is_negated)
			return slu_ptx_refuse_operand(p, raw, "a predicate");
		d = (struct slu_ptx_demand){ .type = SLU_PTX_TYPE_B32, .size = 4 };
		return slu_ptx_check_source(p, raw, &d);
	case SLU_PTX_SLOT_CONSTANT:
		if (o->kind != SLU_PTX_OPERAND_IMM)
			return slu_ptx_refuse_operand(p, raw, "a constant");
		return 0;
	case SLU_PTX_SLOT_BYTES:
		return check_copied(p, form, raw);
	case SLU_PTX_SLOT_INTEGER:
		if (o->kind != SLU_PTX_OPERAND_IMM || raw->literal != SLU_PTX_TOKEN_INT)
			return slu_ptx_refuse_operand(p, raw, "a constant");
		return 0;
	case SLU_PTX_SLOT_LABEL:
	case SLU_PTX_SLOT_ANY:
		break;
	}
	return slu_ptx_refuse_operand(p, raw, "something else");
}

/* mov between a vector and a register goes one way only */
int slu_ptx_check_pack(struct slu_ptx_parser *p, const struct slu_ptx_raw *raws)
{
	if (raws[0].operand.kind == SLU_PTX_OPERAND_VECTOR &&
	    raws[1].operand.kind != SLU_PTX_OPERAND_REG &&
	    raws[1].operand.kind != SLU_PTX_OPERAND_IMM)
		return slu_ptx_refuse_operand(p, &raws[1], "a register");
	return 0;
}
