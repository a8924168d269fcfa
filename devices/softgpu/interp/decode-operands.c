/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of an instruction: registers, constants and addresses become rows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "softgpu/interp/decoder.h"

static int pred_of(struct dev_interp_decoder *d, const struct slu_ptx_operand *o,
		   uint32_t *ret_pred, uint32_t *ret_flip)
{
	*ret_flip = o->is_negated ? UINT32_MAX : 0;
	if (o->kind == SLU_PTX_OPERAND_IMM) {
		*ret_pred = d->code->n_preds - d->code->n_strips;
		if (o->imm)
			*ret_flip = ~*ret_flip;
		return 0;
	}
	*ret_pred = d->reg_place[o->reg];
	return 0;
}

static int bind_address(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr,
			const struct slu_ptx_operand *o, enum slu_ptx_space space,
			struct dev_interp_insn *in)
{
	const struct slu_ptx_operand *base = o->elements;

	in->imm = o->offset;
	in->space = (uint8_t)space;
	if (base->kind == SLU_PTX_OPERAND_REG) {
		in->is_wide_address = dev_interp_decoder_is_wide(d, base->reg);
		in->a = d->reg_place[base->reg];
		return 0;
	}
	in->is_wide_address = true;
	if (base->kind == SLU_PTX_OPERAND_IMM) {
		/* a bare number: the offset says it all */
		struct dev_interp_fill zero = { .kind = DEV_INTERP_FILL_IMM, .is_wide = true };

		return dev_interp_decoder_fill_row(d, &zero, &in->a);
	}
	if (base->kind == SLU_PTX_OPERAND_VARIABLE &&
	    base->variable->space == SLU_PTX_SPACE_PARAM) {
		in->imm += (int64_t)base->variable->offset;
		in->role = (uint8_t)base->variable->role;
		in->is_named = true;
		return base->variable->space == (enum slu_ptx_space)in->space
			       ? 0
			       : dev_interp_decoder_refuse(
					 d, instr, "does not name the space of its variable");
	}
	/* [variable] in a generic access means its address as it stands */
	if (base->kind == SLU_PTX_OPERAND_VARIABLE && instr->form->has_space &&
	    base->variable->space != space &&
	    !(base->variable->space == SLU_PTX_SPACE_CONST && space == SLU_PTX_SPACE_GLOBAL))
		return dev_interp_decoder_refuse(d, instr,
						 "does not name the space of its variable");
	if (!instr->form->has_space && (base->variable->space == SLU_PTX_SPACE_SHARED ||
					base->variable->space == SLU_PTX_SPACE_LOCAL))
		in->space = (uint8_t)base->variable->space;
	return dev_interp_decoder_row_of(d, instr, base, true, &in->a);
}

static struct dev_interp_extra *extra_of(struct dev_interp_decoder *d, struct dev_interp_insn *in)
{
	if (!in->extra)
		in->extra = dev_interp_extra_new(d->code);
	return in->extra;
}

/* The registers of a lane's part of a matrix. */
static int bind_fragment(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr,
			 const struct slu_ptx_operand *o, enum slu_ptx_part part,
			 struct dev_interp_insn *in)
{
	struct dev_interp_extra *e = extra_of(d, in);
	bool is_vector = o->kind == SLU_PTX_OPERAND_VECTOR;
	int r = 0;

	if (!e)
		return slu_error(-ENOMEM);
	slu_ptx_matrix_of(instr->form, instr->form->text, &e->matrix);
	for (unsigned i = 0; !r && i < (is_vector ? o->n_elements : 1u); i++)
		r = dev_interp_decoder_row_of(d, instr, is_vector ? &o->elements[i] : o,
					      e->matrix.parts[part].reg_size == 8,
					      &e->rows[part][i]);
	return r;
}

/* The address that a copy reads from; the first one is where it writes. */
static int bind_second(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr,
		       const struct slu_ptx_operand *o, struct dev_interp_insn *in)
{
	struct dev_interp_extra *e = extra_of(d, in);
	struct dev_interp_insn second = *in;
	int r;

	if (!e)
		return slu_error(-ENOMEM);
	r = bind_address(d, instr, o, SLU_PTX_SPACE_GLOBAL, &second);
	in->b = second.a;
	e->offset = second.imm;
	e->is_wide_address = second.is_wide_address;
	return r;
}

/* A texture or surface object, and coordinates. */
static int bind_texture(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr,
			const struct slu_ptx_operand *o, struct dev_interp_insn *in)
{
	struct dev_interp_extra *e = extra_of(d, in);
	int r;

	if (!e)
		return slu_error(-ENOMEM);
	r = dev_interp_decoder_row_of(d, instr, &o->elements[0], true, &in->a);
	for (unsigned k = 1; !r && k < o->n_elements; k++)
		r = dev_interp_decoder_row_of(d, instr, &o->elements[k], false, &e->rows[0][k - 1]);
	return r;
}

/* Where the labels are is known when everything has its place. */
static int bind_targets(struct dev_interp_decoder *d, const struct slu_ptx_targets *targets,
			struct dev_interp_insn *in)
{
	struct dev_interp_extra *e = extra_of(d, in);

	if (e)
		e->targets = calloc(targets->n_labels, sizeof(*e->targets));
	if (!e || !e->targets)
		return slu_error(-ENOMEM);
	e->n_targets = targets->n_labels;
	return 0;
}

/*
 * Hands the operands out in the order of the form's slots. Long: one switch with a case for each
 * kind of slot.
 */
int dev_interp_decoder_bind_operands(struct dev_interp_decoder *d,
				     const struct slu_ptx_instr *instr, struct dev_interp_insn *in)
{
	uint32_t *const sources[] = { &in->a, &in->b, &in->c, &in->e };
	const struct slu_ptx_form *form = instr->form;
	unsigned n_source = 0;
	int r = 0;

	for (unsigned k = 0; !r && k < instr->n_operands; k++) {
		const struct slu_ptx_slot *slot = slu_ptx_slot_of(form, instr->n_operands, k);
		const struct slu_ptx_operand *o = &instr->operands[k];
		unsigned size = slot->size;

		switch ((enum slu_ptx_slot_kind)slot->kind) {
		case SLU_PTX_SLOT_DEST:
		case SLU_PTX_SLOT_DEST_TWICE:
		case SLU_PTX_SLOT_DEST_PART:
			r = dev_interp_decoder_row_of(d, instr, o, false, &in->d);
			break;
		case SLU_PTX_SLOT_DEST_MOV:
			if (o->kind != SLU_PTX_OPERAND_VECTOR)
				r = dev_interp_decoder_row_of(d, instr, o, false, &in->d);
			else
				for (unsigned i = 0; !r && i < o->n_elements; i++)
					r = dev_interp_decoder_row_of(d, instr, &o->elements[i],
								      false, &in->x[i]);
			break;
		case SLU_PTX_SLOT_DEST_PAIR:
			r = dev_interp_decoder_row_of(d, instr, o, false, &in->d);
			if (o->kind == SLU_PTX_OPERAND_PAIR && o->second != SLU_PTX_NO_REG)
				in->p = d->reg_place[o->second];
			break;
		case SLU_PTX_SLOT_SOURCE_MOV:
		case SLU_PTX_SLOT_SOURCE:
		case SLU_PTX_SLOT_SOURCE_VARIABLE:
		case SLU_PTX_SLOT_SOURCE_TWICE:
		case SLU_PTX_SLOT_SOURCE_PART:
		case SLU_PTX_SLOT_SOURCE_SIGNED:
			if (o->kind == SLU_PTX_OPERAND_VECTOR) {
				for (unsigned i = 0; !r && i < o->n_elements; i++)
					r = dev_interp_decoder_row_of(d, instr, &o->elements[i],
								      size / o->n_elements == 8,
								      &in->x[i]);
				break;
			}
			r = dev_interp_decoder_row_of(d, instr, o, size == 8, sources[n_source++]);
			in->n_sources = (uint8_t)n_source;
			break;
		case SLU_PTX_SLOT_DEST_TEXEL:
		case SLU_PTX_SLOT_SOURCE_TEXEL:
		case SLU_PTX_SLOT_DEST_VECTOR:
		case SLU_PTX_SLOT_SOURCE_VECTOR:
			if (slot->kind == SLU_PTX_SLOT_DEST_TEXEL && o->second != SLU_PTX_NO_REG)
				in->p = d->reg_place[o->second];
			in->n = form->vector;
			in->element = (uint8_t)size;
			for (unsigned i = 0; !r && i < form->vector; i++) {
				const struct slu_ptx_operand *e =
					o->kind == SLU_PTX_OPERAND_VECTOR ? &o->elements[i] : o;
				bool is_wide = e->kind == SLU_PTX_OPERAND_REG
						       ? dev_interp_decoder_is_wide(d, e->reg)
						       : size == 8;

				if (i == 0 || e->kind == SLU_PTX_OPERAND_REG) {
					if (i && is_wide != in->is_wide_row && form->vector > 1 &&
					    o->elements[0].kind == SLU_PTX_OPERAND_REG)
						return dev_interp_decoder_refuse(
							d, instr, "mixes widths in its vector");
					in->is_wide_row = is_wide;
					in->is_half_row =
						e->kind == SLU_PTX_OPERAND_REG &&
						dev_interp_decoder_reg_size(d, e->reg) <= 2;
				}
				r = dev_interp_decoder_row_of(d, instr, e, is_wide, &in->x[i]);
			}
			break;
		case SLU_PTX_SLOT_PRED_DEST:
		case SLU_PTX_SLOT_PRED_PAIR:
			if (o->kind == SLU_PTX_OPERAND_SINK)
				break;
			if (o->reg != SLU_PTX_NO_REG)
				in->p = d->reg_place[o->reg];
			if (o->kind == SLU_PTX_OPERAND_PAIR && o->second != SLU_PTX_NO_REG)
				in->q = d->reg_place[o->second];
			break;
		case SLU_PTX_SLOT_PRED_SOURCE:
			if (n_source == 4)
				return dev_interp_decoder_refuse(d, instr, "has too many operands");
			/* and.pred reads two */
			if (in->n_preds++)
				r = pred_of(d, o, &in->t, &in->t_flip);
			else
				r = pred_of(d, o, &in->s, &in->s_flip);
			break;
		case SLU_PTX_SLOT_BYTES_OR_PRED:
			/* a number of bytes, or the predicate that there are none */
			in->n_preds = o->kind == SLU_PTX_OPERAND_REG &&
				      d->function->reg_types[o->reg] == SLU_PTX_TYPE_PRED;
			in->extra->has_size = !in->n_preds;
			r = in->n_preds ? pred_of(d, o, &in->s, &in->s_flip)
					: dev_interp_decoder_row_of(d, instr, o, false, &in->e);
			break;
		case SLU_PTX_SLOT_ADDRESS:
			r = bind_address(d, instr, o,
					 form->row->family == SLU_PTX_FAMILY_COPY
						 ? SLU_PTX_SPACE_SHARED
						 : form->space,
					 in);
			n_source++;
			break;
		case SLU_PTX_SLOT_SECOND_ADDRESS:
			r = bind_second(d, instr, o, in);
			n_source++;
			break;
		case SLU_PTX_SLOT_TEXTURE:
			r = bind_texture(d, instr, o, in);
			n_source++;
			break;
		case SLU_PTX_SLOT_FRAGMENT_WRITTEN:
		case SLU_PTX_SLOT_FRAGMENT_READ:
			r = bind_fragment(d, instr, o, (enum slu_ptx_part)slot->part, in);
			break;
		case SLU_PTX_SLOT_TARGETS:
			r = bind_targets(d, o->targets, in);
			break;
		case SLU_PTX_SLOT_BYTES:
			in->element = (uint8_t)o->imm;
			break;
		case SLU_PTX_SLOT_INTEGER:
			in->imm = (int64_t)o->imm;
			break;
		case SLU_PTX_SLOT_GRADIENT: /* there is one level only */
		case SLU_PTX_SLOT_CONSTANT: /* of what has no effect here */
		case SLU_PTX_SLOT_LABEL:    /* where it is comes later */
		case SLU_PTX_SLOT_ANY:
			break;
		}
	}
	return r;
}
