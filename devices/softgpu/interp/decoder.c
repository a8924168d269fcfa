/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and insns of a function that is being decoded. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "softgpu/interp/decoder.h"

int dev_interp_decoder_refuse(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr,
			      const char *why)
{
	d->error->line = instr->line;
	d->error->column = instr->column;
	snprintf(d->error->text, sizeof(d->error->text), "'%s' %s", instr->form->text, why);
	return DEV_INTERP_E_REFUSED;
}

unsigned dev_interp_decoder_reg_size(const struct dev_interp_decoder *d, uint32_t reg)
{
	return slu_ptx_type_size((enum slu_ptx_type)d->function->reg_types[reg]);
}

bool dev_interp_decoder_is_wide(const struct dev_interp_decoder *d, uint32_t reg)
{
	return dev_interp_decoder_reg_size(d, reg) == 8;
}

uint32_t dev_interp_decoder_take_row(struct dev_interp_decoder *d, bool is_wide)
{
	uint32_t row = d->code->row_bytes;

	/* a slot holds a wide row or two narrow ones */
	if (!is_wide && d->half_slot) {
		row = d->half_slot;
		d->half_slot = 0;
		return row;
	}
	if (!is_wide)
		d->half_slot = row + DEV_INTERP_ROW_32;
	d->code->row_bytes += DEV_INTERP_STRIP * d->code->n_strips;
	return row;
}

uint32_t dev_interp_decoder_take_pred(struct dev_interp_decoder *d)
{
	uint32_t pred = d->code->n_preds;

	d->code->n_preds += d->code->n_strips;
	return pred;
}

struct dev_interp_insn *dev_interp_decoder_take_insn(struct dev_interp_decoder *d,
						     const struct slu_ptx_instr *source)
{
	struct dev_interp_code *c = d->code;

	if (c->n_insns == d->n_allocated) {
		uint32_t n = d->n_allocated ? d->n_allocated * 2 : 64;
		struct dev_interp_insn *insns = aligned_alloc(64, n * sizeof(*insns));

		if (!insns)
			return NULL;
		if (c->insns)
			memcpy(insns, c->insns, c->n_insns * sizeof(*insns));
		free(c->insns);
		c->insns = insns;
		d->n_allocated = n;
	}
	c->insns[c->n_insns] = (struct dev_interp_insn){
		.source = source,
		.d = d->scratch,
		.a = d->scratch,
		.b = d->scratch,
		.c = d->scratch,
		.e = d->scratch,
		.x = { d->scratch, d->scratch, d->scratch, d->scratch },
		.p = d->sink,
		.q = d->sink,
		.s = d->sink,
		.n = 1,
	};
	return &c->insns[c->n_insns++];
}

/* The row of a value that is known before the function runs; equal ones share it. */
int dev_interp_decoder_fill_row(struct dev_interp_decoder *d, const struct dev_interp_fill *fill,
				uint32_t *ret_row)
{
	struct dev_interp_code *c = d->code;

	for (uint32_t i = 0; i < c->n_fills; i++) {
		const struct dev_interp_fill *o = &c->fills[i];

		if (o->kind == fill->kind && o->is_wide == fill->is_wide && o->imm == fill->imm &&
		    o->variable == fill->variable && o->sreg == fill->sreg) {
			*ret_row = o->row;
			return 0;
		}
	}
	if (c->n_fills == d->n_fills_allocated) {
		uint32_t n = d->n_fills_allocated ? d->n_fills_allocated * 2 : 16;
		struct dev_interp_fill *fills = realloc(c->fills, n * sizeof(*fills));

		if (!fills)
			return slu_error(-ENOMEM);
		c->fills = fills;
		d->n_fills_allocated = n;
	}
	c->fills[c->n_fills] = *fill;
	c->fills[c->n_fills].row = dev_interp_decoder_take_row(d, fill->is_wide);
	*ret_row = c->fills[c->n_fills++].row;
	return 0;
}

int dev_interp_decoder_row_of(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr,
			      const struct slu_ptx_operand *o, bool is_wide, uint32_t *ret_row)
{
	struct dev_interp_fill fill = { .is_wide = is_wide };

	switch (o->kind) {
	case SLU_PTX_OPERAND_SINK:
		*ret_row = d->scratch;
		return 0;
	case SLU_PTX_OPERAND_REG:
		*ret_row = d->reg_place[o->reg];
		return 0;
	case SLU_PTX_OPERAND_PAIR:
		*ret_row = o->reg == SLU_PTX_NO_REG ? d->scratch : d->reg_place[o->reg];
		return 0;
	case SLU_PTX_OPERAND_IMM:
		fill.kind = DEV_INTERP_FILL_IMM;
		fill.imm = o->imm;
		return dev_interp_decoder_fill_row(d, &fill, ret_row);
	case SLU_PTX_OPERAND_FUNCTION:
		fill.kind = DEV_INTERP_FILL_IMM;
		fill.imm = dev_interp_module_function_address(o->function);
		return dev_interp_decoder_fill_row(d, &fill, ret_row);
	case SLU_PTX_OPERAND_SREG:
		if (o->sreg >= SLU_PTX_SREG_CLOCK && o->sreg <= SLU_PTX_SREG_GLOBALTIMER_HI)
			return dev_interp_decoder_refuse(d, instr, "reads a clock; only mov can");
		fill.kind = DEV_INTERP_FILL_SREG;
		fill.sreg = o->sreg;
		return dev_interp_decoder_fill_row(d, &fill, ret_row);
	case SLU_PTX_OPERAND_VARIABLE:
		fill.imm = (uint64_t)o->offset;
		switch (o->variable->space) {
		case SLU_PTX_SPACE_LOCAL:
			fill.kind = DEV_INTERP_FILL_LOCAL;
			fill.imm += o->variable->offset;
			break;
		case SLU_PTX_SPACE_PARAM:
			if (o->variable->role != SLU_PTX_ROLE_PARAM)
				return dev_interp_decoder_refuse(
					d, instr, "takes the address of a call's parameter");
			fill.kind = DEV_INTERP_FILL_IMM;
			fill.imm += o->variable->offset;
			break;
		default:
			fill.kind = DEV_INTERP_FILL_VARIABLE;
			fill.variable = o->variable;
		}
		return dev_interp_decoder_fill_row(d, &fill, ret_row);
	default:
		return dev_interp_decoder_refuse(d, instr, "has an operand that is not supported");
	}
}
