/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions that are written as one and are several: whoever walks the tree meets only those
 * that they stand for. All of these have the guard and the place of the one that was written.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "ptx/parser.h"

/* Adds "text operands" with the guard of @model. */
static int add(struct slu_ptx_parser *p, const struct slu_ptx_instr *model, const char *text,
	       const struct slu_ptx_operand *operands, unsigned n_operands)
{
	struct slu_ptx_token t = { .kind = SLU_PTX_TOKEN_WORD,
				   .text = text,
				   .size = strlen(text),
				   .line = model->line,
				   .column = model->column };
	struct slu_ptx_instr instr = *model;
	int r;

	r = slu_ptx_find_form(p, &t, &instr.form);
	if (r)
		return r;
	instr.call = NULL;
	instr.n_operands = (uint8_t)n_operands;
	instr.operands =
		slu_ptx_arena_copy(p->module->arena, operands, n_operands * sizeof(*operands));
	if (!instr.operands)
		return slu_error(-ENOMEM);
	return slu_fold(slu_ptx_list_add(&p->instrs, &instr));
}

static int add_mov(struct slu_ptx_parser *p, const struct slu_ptx_instr *model,
		   const struct slu_ptx_operand *to, const struct slu_ptx_operand *from)
{
	struct slu_ptx_operand operands[] = { *to, *from };
	char text[16];

	if (to->kind == SLU_PTX_OPERAND_SINK)
		return 0;
	snprintf(text, sizeof(text), "mov.b%u",
		 slu_ptx_type_size((enum slu_ptx_type)model->form->types[0]) * 8);
	return add(p, model, text, operands, 2);
}

/* Is a register written before it is read? */
static bool is_crossed(const struct slu_ptx_operand *to, const struct slu_ptx_operand *from,
		       unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = i + 1; k < n; k++)
			if (to[i].kind == SLU_PTX_OPERAND_REG &&
			    from[k].kind == SLU_PTX_OPERAND_REG && to[i].reg == from[k].reg)
				return true;
	return false;
}

/* mov.v4: one after the other; through registers of their own if the two overlap */
static int lower_mov(struct slu_ptx_parser *p, const struct slu_ptx_instr *instr)
{
	const struct slu_ptx_form *form = instr->form;
	const struct slu_ptx_operand *to = instr->operands[0].elements;
	const struct slu_ptx_operand *from = instr->operands[1].elements;
	struct slu_ptx_operand between[4];
	struct slu_ptx_token at = { .line = instr->line, .column = instr->column };
	uint32_t first;
	int r = 0;

	if (is_crossed(to, from, form->vector)) {
		r = slu_ptx_take_registers(p, &at, (enum slu_ptx_type)form->types[0], form->vector,
					   &first);
		for (unsigned i = 0; !r && i < form->vector; i++) {
			between[i] = (struct slu_ptx_operand){ .kind = SLU_PTX_OPERAND_REG,
							       .reg = first + i };
			r = add_mov(p, instr, &between[i], &from[i]);
		}
		from = between;
	}
	for (unsigned i = 0; !r && i < form->vector; i++)
		r = add_mov(p, instr, &to[i], &from[i]);
	return r;
}

/* 16 bits of a special register */
static int lower_narrow(struct slu_ptx_parser *p, const struct slu_ptx_instr *instr)
{
	struct slu_ptx_operand whole = { .kind = SLU_PTX_OPERAND_REG };
	struct slu_ptx_token at = { .line = instr->line, .column = instr->column };
	int r;

	r = slu_ptx_take_registers(p, &at, SLU_PTX_TYPE_B32, 1, &whole.reg);
	if (!r)
		r = add(p, instr, "mov.b32",
			(struct slu_ptx_operand[]){ whole, instr->operands[1] }, 2);
	if (!r)
		r = add(p, instr, "cvt.u16.u32",
			(struct slu_ptx_operand[]){ instr->operands[0], whole }, 2);
	return r;
}

static int add_param(struct slu_ptx_parser *p, const struct slu_ptx_instr *model, const char *name,
		     const struct slu_ptx_variable *v, const struct slu_ptx_operand *value)
{
	struct slu_ptx_operand base = { .kind = SLU_PTX_OPERAND_VARIABLE, .variable = v };
	struct slu_ptx_operand address = { .kind = SLU_PTX_OPERAND_ADDRESS, .n_elements = 1 };
	bool is_load = *name == 'l';
	char text[24];

	address.elements = slu_ptx_arena_copy(p->module->arena, &base, sizeof(base));
	if (!address.elements)
		return slu_error(-ENOMEM);
	snprintf(text, sizeof(text), "%s.param.b%u", name, (unsigned)v->size * 8);
	return add(p, model, text,
		   (struct slu_ptx_operand[]){ is_load ? *value : address,
					       is_load ? address : *value },
		   2);
}

int slu_ptx_add_load(struct slu_ptx_parser *p, const struct slu_ptx_instr *model,
		     const struct slu_ptx_operand *to, const struct slu_ptx_variable *from)
{
	return add_param(p, model, "ld", from, to);
}

int slu_ptx_add_store(struct slu_ptx_parser *p, const struct slu_ptx_instr *model,
		      const struct slu_ptx_variable *to, const struct slu_ptx_operand *from)
{
	return add_param(p, model, "st", to, from);
}

int slu_ptx_add_bound(struct slu_ptx_parser *p, const struct slu_ptx_instr *model,
		      enum slu_ptx_role role)
{
	const struct slu_ptx_bound *bound = p->bound.items;
	int r = 0;

	for (size_t i = 0; !r && i < p->bound.n; i++) {
		struct slu_ptx_operand reg = { .kind = SLU_PTX_OPERAND_REG, .reg = bound[i].reg };

		if (bound[i].variable->role != role)
			continue;
		if (role == SLU_PTX_ROLE_PARAM)
			r = slu_ptx_add_load(p, model, &reg, bound[i].variable);
		else
			r = slu_ptx_add_store(p, model, bound[i].variable, &reg);
	}
	return r;
}

int slu_ptx_lower(struct slu_ptx_parser *p, const struct slu_ptx_instr *instr)
{
	int r;

	if (instr->form->opcode == SLU_PTX_OP_mov && instr->form->vector > 1)
		return lower_mov(p, instr);
	if (instr->form->opcode == SLU_PTX_OP_mov &&
	    instr->operands[1].kind == SLU_PTX_OPERAND_SREG &&
	    slu_ptx_type_size((enum slu_ptx_type)instr->form->types[0]) == 2)
		return lower_narrow(p, instr);
	if (instr->form->opcode == SLU_PTX_OP_ret) {
		r = slu_ptx_add_bound(p, instr, SLU_PTX_ROLE_RESULT);
		if (r)
			return r;
	}
	return slu_fold(slu_ptx_list_add(&p->instrs, instr));
}
