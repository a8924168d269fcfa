/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which registers of a function may be lines (line.h). Begins with all that could be and takes
 * away, until nothing changes, those that
 *
 *   - an instruction writes that does not know lines, or from sources that are none;
 *   - nobody uses for an address or a comparison, directly or through others: a line that has to
 *     be spread for each of its uses is no gain.
 *
 * Whether a register is a line at a moment of a run is found out then; here nothing can be wrong,
 * only slow.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "softgpu/interp/code.h"

/* passes over a function after which it does without lines */
#define MAX_PASSES 32

struct classifier {
	const struct slu_ptx_function *function;
	uint8_t *may;
	uint8_t *is_useful;
	bool has_changed;
};

static bool could_be(enum slu_ptx_type type)
{
	switch (type) {
	case SLU_PTX_TYPE_B32:
	case SLU_PTX_TYPE_B64:
	case SLU_PTX_TYPE_U32:
	case SLU_PTX_TYPE_U64:
	case SLU_PTX_TYPE_S32:
	case SLU_PTX_TYPE_S64:
		return true;
	default:
		return false;
	}
}

static bool has_size(const struct slu_ptx_function *f, const struct slu_ptx_operand *o,
		     unsigned type)
{
	return o->kind != SLU_PTX_OPERAND_REG ||
	       slu_ptx_type_size((enum slu_ptx_type)f->reg_types[o->reg]) ==
		       slu_ptx_type_size((enum slu_ptx_type)type);
}

static bool is_clock(const struct slu_ptx_operand *o)
{
	return o->kind == SLU_PTX_OPERAND_SREG && o->sreg >= SLU_PTX_SREG_CLOCK &&
	       o->sreg <= SLU_PTX_SREG_GLOBALTIMER_HI;
}

bool dev_interp_classify_is_access(const struct slu_ptx_instr *instr)
{
	enum slu_ptx_opcode op = instr->form->opcode;

	return op == SLU_PTX_OP_ld || op == SLU_PTX_OP_ldu || op == SLU_PTX_OP_st;
}

bool dev_interp_classify_is_compare(const struct slu_ptx_instr *instr)
{
	const struct slu_ptx_form *form = instr->form;

	return form->opcode == SLU_PTX_OP_setp && could_be((enum slu_ptx_type)form->types[0]) &&
	       !slu_ptx_form_has(form, SLU_PTX_MOD_and) &&
	       !slu_ptx_form_has(form, SLU_PTX_MOD_or) && !slu_ptx_form_has(form, SLU_PTX_MOD_xor);
}

bool dev_interp_classify_makes_line(const struct slu_ptx_function *f,
				    const struct slu_ptx_instr *instr)
{
	const struct slu_ptx_form *form = instr->form;
	const struct slu_ptx_operand *o = instr->operands;

	switch (form->opcode) {
	case SLU_PTX_OP_add:
	case SLU_PTX_OP_sub:
	case SLU_PTX_OP_mul:
	case SLU_PTX_OP_mad:
	case SLU_PTX_OP_mul24:
	case SLU_PTX_OP_mad24:
	case SLU_PTX_OP_div:
	case SLU_PTX_OP_rem:
	case SLU_PTX_OP_abs:
	case SLU_PTX_OP_neg:
	case SLU_PTX_OP_min:
	case SLU_PTX_OP_max:
	case SLU_PTX_OP_popc:
	case SLU_PTX_OP_clz:
	case SLU_PTX_OP_bfe:
	case SLU_PTX_OP_bfi:
	case SLU_PTX_OP_and:
	case SLU_PTX_OP_or:
	case SLU_PTX_OP_xor:
	case SLU_PTX_OP_not:
	case SLU_PTX_OP_lop3:
	case SLU_PTX_OP_shf:
	case SLU_PTX_OP_shl:
	case SLU_PTX_OP_shr:
	case SLU_PTX_OP_prmt:
		return form->row->family == SLU_PTX_FAMILY_INT &&
		       slu_ptx_type_size((enum slu_ptx_type)form->types[0]) >= 4 &&
		       !slu_ptx_form_has(form, SLU_PTX_MOD_cc);
	case SLU_PTX_OP_selp:
		return could_be((enum slu_ptx_type)form->types[0]);
	case SLU_PTX_OP_cvta:
		return slu_ptx_type_size((enum slu_ptx_type)form->types[0]) == 8;
	case SLU_PTX_OP_mov:
		return form->row->family == SLU_PTX_FAMILY_MOVE &&
		       o[0].kind == SLU_PTX_OPERAND_REG && o[1].kind != SLU_PTX_OPERAND_VECTOR &&
		       !is_clock(&o[1]);
	case SLU_PTX_OP_cvt:
		return form->n_types == 2 && could_be((enum slu_ptx_type)form->types[0]) &&
		       could_be((enum slu_ptx_type)form->types[1]) &&
		       has_size(f, &o[0], form->types[0]) && has_size(f, &o[1], form->types[1]);
	case SLU_PTX_OP_ld:
	case SLU_PTX_OP_ldu:
		/* what a function was given lies apart for each lane */
		return could_be((enum slu_ptx_type)form->types[0]) &&
		       (form->space != SLU_PTX_SPACE_PARAM || f->is_kernel);
	default:
		return false;
	}
}

/* Calls @visit for each register of an operand; true if one of the calls said so. */
static bool any_register(struct classifier *c, const struct slu_ptx_operand *o,
			 bool (*visit)(struct classifier *, uint32_t))
{
	bool is_any = false;

	switch (o->kind) {
	case SLU_PTX_OPERAND_ADDRESS:
	case SLU_PTX_OPERAND_VECTOR:
		for (unsigned i = 0; i < o->n_elements; i++)
			is_any |= any_register(c, &o->elements[i], visit);
		return is_any;
	case SLU_PTX_OPERAND_PAIR:
		if (o->second != SLU_PTX_NO_REG)
			is_any |= visit(c, o->second);
		return is_any | (o->reg != SLU_PTX_NO_REG && visit(c, o->reg));
	case SLU_PTX_OPERAND_REG:
		return visit(c, o->reg);
	default:
		return false;
	}
}

static bool any_source(struct classifier *c, const struct slu_ptx_instr *instr,
		       bool (*visit)(struct classifier *, uint32_t))
{
	bool is_any = false;

	for (unsigned i = 1; i < instr->n_operands; i++)
		is_any |= any_register(c, &instr->operands[i], visit);
	return is_any;
}

static bool classify_drop(struct classifier *c, uint32_t reg)
{
	c->has_changed |= c->may[reg];
	c->may[reg] = 0;
	return true;
}

static bool is_none(struct classifier *c, uint32_t reg)
{
	return c->function->reg_types[reg] != SLU_PTX_TYPE_PRED && !c->may[reg];
}

static bool classify_use(struct classifier *c, uint32_t reg)
{
	c->has_changed |= c->may[reg] && !c->is_useful[reg];
	c->is_useful[reg] |= c->may[reg];
	return true;
}

static bool is_useful(struct classifier *c, uint32_t reg)
{
	return c->is_useful[reg];
}

/* Whether a register at such a place is only read, and need not be as one row. */
static bool slot_is_read(const struct slu_ptx_slot *slot)
{
	switch ((enum slu_ptx_slot_kind)slot->kind) {
	case SLU_PTX_SLOT_SOURCE:
	case SLU_PTX_SLOT_SOURCE_TWICE:
	case SLU_PTX_SLOT_SOURCE_PART:
	case SLU_PTX_SLOT_SOURCE_SIGNED:
	case SLU_PTX_SLOT_SOURCE_VECTOR:
	case SLU_PTX_SLOT_SOURCE_MOV:
	case SLU_PTX_SLOT_SOURCE_VARIABLE:
	case SLU_PTX_SLOT_PRED_SOURCE:
	case SLU_PTX_SLOT_ADDRESS:
	case SLU_PTX_SLOT_INTEGER:
	case SLU_PTX_SLOT_CONSTANT:
	case SLU_PTX_SLOT_BYTES_OR_PRED:
	case SLU_PTX_SLOT_TEXTURE:
	case SLU_PTX_SLOT_GRADIENT:
	case SLU_PTX_SLOT_SOURCE_TEXEL:
		return true;
	default:
		return false;
	}
}

/* Whatever an instruction writes that makes no lines; what is not known may be written. */
static void drop_results(struct classifier *c, const struct slu_ptx_instr *instr)
{
	for (unsigned k = 0; k < instr->n_operands; k++) {
		const struct slu_ptx_slot *slot =
			slu_ptx_slot_of(instr->form, instr->n_operands, k);

		if (!slot || !slot_is_read(slot))
			any_register(c, &instr->operands[k], classify_drop);
	}
}

static void classify_begin(struct classifier *c)
{
	const struct slu_ptx_function *f = c->function;

	for (uint32_t i = 0; i < f->n_regs; i++)
		c->may[i] = could_be((enum slu_ptx_type)f->reg_types[i]);
	for (uint32_t i = 0; i < f->n_instrs; i++)
		if (!dev_interp_classify_makes_line(f, &f->instrs[i]))
			drop_results(c, &f->instrs[i]);
}

static void take_away(struct classifier *c)
{
	const struct slu_ptx_function *f = c->function;

	for (uint32_t i = 0; i < f->n_instrs; i++) {
		const struct slu_ptx_instr *instr = &f->instrs[i];

		if (dev_interp_classify_makes_line(f, instr) &&
		    (any_source(c, instr, is_none) ||
		     any_register(c, &instr->operands[0], is_none)))
			any_register(c, &instr->operands[0], classify_drop);
	}
}

/* From the end, where most uses are, to the beginning. */
static void note_uses(struct classifier *c)
{
	const struct slu_ptx_function *f = c->function;

	for (uint32_t i = f->n_instrs; i-- > 0;) {
		const struct slu_ptx_instr *instr = &f->instrs[i];

		for (unsigned k = 0; dev_interp_classify_is_access(instr) && k < instr->n_operands;
		     k++)
			if (instr->operands[k].kind == SLU_PTX_OPERAND_ADDRESS)
				any_register(c, &instr->operands[k], classify_use);
		if (dev_interp_classify_is_compare(instr))
			any_source(c, instr, classify_use);
		if (dev_interp_classify_makes_line(f, instr) &&
		    any_register(c, &instr->operands[0], is_useful)) {
			any_register(c, &instr->operands[0], classify_use);
			any_source(c, instr, classify_use);
		}
	}
}

static bool classify_converges(struct classifier *c, void (*pass)(struct classifier *))
{
	for (unsigned i = 0; i < MAX_PASSES; i++) {
		c->has_changed = false;
		pass(c);
		if (!c->has_changed)
			return true;
	}
	return false;
}

int dev_interp_classify(const struct slu_ptx_function *f, uint8_t **ret_is_line)
{
	struct classifier c = {
		.function = f,
		.may = calloc(f->n_regs + 1, 1),
		.is_useful = calloc(f->n_regs + 1, 1),
	};

	if (!c.may || !c.is_useful) {
		free(c.may);
		free(c.is_useful);
		return slu_error(-ENOMEM);
	}
	classify_begin(&c);
	if (!classify_converges(&c, take_away) || !classify_converges(&c, note_uses))
		memset(c.is_useful, 0, f->n_regs);
	free(c.may);
	*ret_is_line = c.is_useful;
	return 0;
}
