/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines (line.h) in decoded code: which operands may be some, who knows them, and an insn in front
 * of those who do not that makes rows of them.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
#include "softgpu/interp/decoder.h"

int dev_interp_decoder_note_liners(struct dev_interp_decoder *d)
{
	const struct slu_ptx_function *f = d->function;
	struct dev_interp_code *c = d->code;

	d->spread_in = calloc(f->n_regs + 1, sizeof(*d->spread_in));
	c->liners = calloc(f->n_regs + 1, sizeof(*c->liners));
	if (!c->liners || !d->spread_in)
		return slu_error(-ENOMEM);
	for (uint32_t i = 0; i < f->n_regs; i++)
		if (d->is_line[i])
			c->liners[c->n_liners++] = (struct dev_interp_liner){
				.row = d->reg_place[i],
				.is_wide = dev_interp_decoder_is_wide(d, i),
			};
	return 0;
}

static bool is_line(const struct dev_interp_decoder *d, const struct slu_ptx_operand *o)
{
	switch (o->kind) {
	case SLU_PTX_OPERAND_REG:
		return d->is_line[o->reg];
	case SLU_PTX_OPERAND_ADDRESS:
	case SLU_PTX_OPERAND_VECTOR:
		for (unsigned i = 0; i < o->n_elements; i++)
			if (is_line(d, &o->elements[i]))
				return true;
		return false;
	default:
		return false;
	}
}

static bool any_line(const struct dev_interp_decoder *d, const struct slu_ptx_instr *instr)
{
	for (unsigned i = 0; i < instr->n_operands; i++)
		if (is_line(d, &instr->operands[i]))
			return true;
	return false;
}

bool dev_interp_decoder_knows_lines(const struct dev_interp_decoder *d,
				    const struct slu_ptx_instr *instr)
{
	if (dev_interp_classify_is_access(instr))
		return true;
	if (dev_interp_classify_is_compare(instr))
		return any_line(d, instr);
	return dev_interp_classify_makes_line(d->function, instr) &&
	       is_line(d, &instr->operands[0]);
}

/* An insn in front of one that does not know lines; once for each basic block. */
static int lines_spread(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr,
			const struct slu_ptx_operand *o, struct dev_interp_insn **in)
{
	int r = 0;

	switch (o->kind) {
	case SLU_PTX_OPERAND_ADDRESS:
	case SLU_PTX_OPERAND_VECTOR:
		for (unsigned i = 0; !r && i < o->n_elements; i++)
			r = lines_spread(d, instr, &o->elements[i], in);
		return r;
	case SLU_PTX_OPERAND_REG:
		break;
	default:
		return 0;
	}
	if (!d->is_line[o->reg] || d->spread_in[o->reg] == d->block)
		return 0;
	if (!*in || (*in)->n == SLU_ARRAY_SIZE((*in)->x)) {
		*in = dev_interp_decoder_take_insn(d, instr);
		if (!*in)
			return slu_error(-ENOMEM);
		(*in)->run = *d->isa->spread;
		(*in)->n = 0;
	}
	(*in)->x[(*in)->n++] = d->reg_place[o->reg];
	d->spread_in[o->reg] = d->block;
	return 0;
}

int dev_interp_decoder_spread(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr)
{
	struct dev_interp_insn *in = NULL;
	int r = 0;

	for (unsigned i = 0; !r && i < instr->n_operands; i++)
		r = lines_spread(d, instr, &instr->operands[i], &in);
	return r;
}

/* What is written as a line has to be spread again. */
static void forget_spread(struct dev_interp_decoder *d, const struct slu_ptx_operand *o)
{
	if (o->kind == SLU_PTX_OPERAND_REG)
		d->spread_in[o->reg] = UINT32_MAX;
	for (unsigned i = 0; o->kind == SLU_PTX_OPERAND_VECTOR && i < o->n_elements; i++)
		forget_spread(d, &o->elements[i]);
}

/* Puts what knows lines in front of the handler of rows. */
void dev_interp_decoder_bind_lines(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr,
				   struct dev_interp_insn *in)
{
	in->plain = in->run;
	if (!dev_interp_classify_is_access(instr)) {
		in->run.all = d->isa->bind_line(instr->form)->all;
		in->run.knows_teams = true;
	}
	if (in->has_line_result)
		forget_spread(d, &instr->operands[0]);
}

void dev_interp_decoder_note_lines(const struct dev_interp_decoder *d,
				   const struct slu_ptx_instr *instr, struct dev_interp_insn *in)
{
	if (dev_interp_classify_is_access(instr)) {
		bool is_load = instr->form->opcode != SLU_PTX_OP_st;

		in->has_line_address = is_line(d, &instr->operands[is_load ? 1 : 0]);
		in->has_line_result = is_load && is_line(d, &instr->operands[0]);
	} else {
		in->has_line_result = !dev_interp_classify_is_compare(instr);
	}
}
