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

int slu_ptx_lower(struct slu_ptx_parser *p, const struct slu_ptx_instr *instr)
{
	if (instr->form->opcode == SLU_PTX_OP_mov && instr->form->vector > 1)
		return lower_mov(p, instr);
	return slu_fold(slu_ptx_list_add(&p->instrs, instr));
}
