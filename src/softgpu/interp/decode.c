/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From parsed instructions to code that runs: every operand becomes a row, every instruction a
 * pair of handlers, and three things are made explicit that PTX leaves to the reader:
 *
 *   - a guard in front of something that changes the flow is a branch around it;
 *   - the rounding mode and the flushing of subnormals are a state of the CPU (MXCSR). Every
 *     basic block begins and ends with the function's usual one; an instruction that wants
 *     another gets a "set" in front of it;
 *   - the end of the text is a return.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "softgpu/interp/extra.h"

struct decoder {
	const struct slu_ptx_function *function;
	struct slu_interp_code *code;
	const struct slu_interp_isa *isa;
	struct slu_ptx_error *error;
	uint32_t *reg_place; /* row of a register, or number of a predicate */
	uint32_t *starts;    /* first insn of each instruction */
	uint8_t *is_leader;
	uint8_t *is_line;    /* by register: may be a line */
	uint32_t *spread_in; /* by register: the basic block in which its row was made to hold */
	uint32_t block;	     /* which basic block this is */
	uint32_t n_allocated;
	uint32_t n_fills_allocated;
	uint32_t scratch; /* row for results that nobody wants */
	uint32_t sink;	  /* predicate likewise */
	uint32_t csr;	  /* in force at this place */
};

static int refuse(struct decoder *d, const struct slu_ptx_instr *instr, const char *why)
{
	d->error->line = instr->line;
	d->error->column = instr->column;
	snprintf(d->error->text, sizeof(d->error->text), "'%s' %s", instr->form->text, why);
	return SLU_INTERP_E_REFUSED;
}

static unsigned reg_size(const struct decoder *d, uint32_t reg)
{
	return slu_ptx_type_size((enum slu_ptx_type)d->function->reg_types[reg]);
}

static bool reg_is_wide(const struct decoder *d, uint32_t reg)
{
	return reg_size(d, reg) == 8;
}

static uint32_t take_row(struct decoder *d, bool is_wide)
{
	uint32_t row = d->code->row_bytes;

	d->code->row_bytes += is_wide ? SLU_INTERP_ROW_64 : SLU_INTERP_ROW_32;
	return row;
}

static int note_liners(struct decoder *d)
{
	const struct slu_ptx_function *f = d->function;
	struct slu_interp_code *c = d->code;

	d->spread_in = calloc(f->n_regs + 1, sizeof(*d->spread_in));
	c->liners = calloc(f->n_regs + 1, sizeof(*c->liners));
	if (!c->liners || !d->spread_in)
		return slu_error(-ENOMEM);
	for (uint32_t i = 0; i < f->n_regs; i++)
		if (d->is_line[i])
			c->liners[c->n_liners++] = (struct slu_interp_liner){
				.row = d->reg_place[i],
				.is_wide = reg_is_wide(d, i),
			};
	return 0;
}

static int place_registers(struct decoder *d)
{
	const struct slu_ptx_function *f = d->function;
	int r;

	d->reg_place = calloc(f->n_regs + 1, sizeof(*d->reg_place));
	if (!d->reg_place)
		return slu_error(-ENOMEM);
	d->scratch = take_row(d, true);
	for (uint32_t i = 0; i < f->n_regs; i++)
		d->reg_place[i] = f->reg_types[i] == SLU_PTX_TYPE_PRED
					  ? d->code->n_preds++
					  : take_row(d, reg_is_wide(d, i));
	r = note_liners(d);
	if (r)
		return r;
	d->sink = d->code->n_preds++;
	/* the carry flag, and one that is never true, are the last two */
	d->code->n_preds += 2;
	return 0;
}

static struct slu_interp_insn *take_insn(struct decoder *d, const struct slu_ptx_instr *source)
{
	struct slu_interp_code *c = d->code;

	if (c->n_insns == d->n_allocated) {
		uint32_t n = d->n_allocated ? d->n_allocated * 2 : 64;
		struct slu_interp_insn *insns = aligned_alloc(64, n * sizeof(*insns));

		if (!insns)
			return NULL;
		if (c->insns)
			memcpy(insns, c->insns, c->n_insns * sizeof(*insns));
		free(c->insns);
		c->insns = insns;
		d->n_allocated = n;
	}
	c->insns[c->n_insns] = (struct slu_interp_insn){
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
static int fill_row(struct decoder *d, const struct slu_interp_fill *fill, uint32_t *ret_row)
{
	struct slu_interp_code *c = d->code;

	for (uint32_t i = 0; i < c->n_fills; i++) {
		const struct slu_interp_fill *o = &c->fills[i];

		if (o->kind == fill->kind && o->is_wide == fill->is_wide && o->imm == fill->imm &&
		    o->variable == fill->variable && o->sreg == fill->sreg) {
			*ret_row = o->row;
			return 0;
		}
	}
	if (c->n_fills == d->n_fills_allocated) {
		uint32_t n = d->n_fills_allocated ? d->n_fills_allocated * 2 : 16;
		struct slu_interp_fill *fills = realloc(c->fills, n * sizeof(*fills));

		if (!fills)
			return slu_error(-ENOMEM);
		c->fills = fills;
		d->n_fills_allocated = n;
	}
	c->fills[c->n_fills] = *fill;
	c->fills[c->n_fills].row = take_row(d, fill->is_wide);
	*ret_row = c->fills[c->n_fills++].row;
	return 0;
}

static int row_of(struct decoder *d, const struct slu_ptx_instr *instr,
		  const struct slu_ptx_operand *o, bool is_wide, uint32_t *ret_row)
{
	struct slu_interp_fill fill = { .is_wide = is_wide };

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
		fill.kind = SLU_INTERP_FILL_IMM;
		fill.imm = o->imm;
		return fill_row(d, &fill, ret_row);
	case SLU_PTX_OPERAND_FUNCTION:
		fill.kind = SLU_INTERP_FILL_IMM;
		fill.imm = slu_interp_function_address(o->function);
		return fill_row(d, &fill, ret_row);
	case SLU_PTX_OPERAND_SREG:
		if (o->sreg >= SLU_PTX_SREG_CLOCK && o->sreg <= SLU_PTX_SREG_GLOBALTIMER_HI)
			return refuse(d, instr, "reads a clock; only mov can");
		fill.kind = SLU_INTERP_FILL_SREG;
		fill.sreg = o->sreg;
		return fill_row(d, &fill, ret_row);
	case SLU_PTX_OPERAND_VARIABLE:
		fill.imm = (uint64_t)o->offset;
		switch (o->variable->space) {
		case SLU_PTX_SPACE_LOCAL:
			fill.kind = SLU_INTERP_FILL_LOCAL;
			fill.imm += o->variable->offset;
			break;
		case SLU_PTX_SPACE_PARAM:
			if (o->variable->role != SLU_PTX_ROLE_PARAM)
				return refuse(d, instr, "takes the address of a call's parameter");
			fill.kind = SLU_INTERP_FILL_IMM;
			fill.imm += o->variable->offset;
			break;
		default:
			fill.kind = SLU_INTERP_FILL_VARIABLE;
			fill.variable = o->variable;
		}
		return fill_row(d, &fill, ret_row);
	default:
		return refuse(d, instr, "has an operand that is not supported");
	}
}

static int pred_of(struct decoder *d, const struct slu_ptx_operand *o, uint32_t *ret_pred,
		   uint32_t *ret_flip)
{
	*ret_flip = o->is_negated ? UINT32_MAX : 0;
	if (o->kind == SLU_PTX_OPERAND_IMM) {
		*ret_pred = d->code->n_preds - 1;
		if (o->imm)
			*ret_flip = ~*ret_flip;
		return 0;
	}
	*ret_pred = d->reg_place[o->reg];
	return 0;
}

static int bind_address(struct decoder *d, const struct slu_ptx_instr *instr,
			const struct slu_ptx_operand *o, enum slu_ptx_space space,
			struct slu_interp_insn *in)
{
	const struct slu_ptx_operand *base = o->elements;

	in->imm = o->offset;
	in->space = (uint8_t)space;
	if (base->kind == SLU_PTX_OPERAND_REG) {
		in->is_wide_address = reg_is_wide(d, base->reg);
		in->a = d->reg_place[base->reg];
		return 0;
	}
	in->is_wide_address = true;
	if (base->kind == SLU_PTX_OPERAND_IMM) {
		/* a bare number: the offset says it all */
		struct slu_interp_fill zero = { .kind = SLU_INTERP_FILL_IMM, .is_wide = true };

		return fill_row(d, &zero, &in->a);
	}
	if (base->kind == SLU_PTX_OPERAND_VARIABLE &&
	    base->variable->space == SLU_PTX_SPACE_PARAM) {
		in->imm += (int64_t)base->variable->offset;
		in->role = (uint8_t)base->variable->role;
		in->is_named = true;
		return base->variable->space == (enum slu_ptx_space)in->space
			       ? 0
			       : refuse(d, instr, "does not name the space of its variable");
	}
	/* [variable] in a generic access means its address as it stands */
	if (base->kind == SLU_PTX_OPERAND_VARIABLE && instr->form->has_space &&
	    base->variable->space != space &&
	    !(base->variable->space == SLU_PTX_SPACE_CONST && space == SLU_PTX_SPACE_GLOBAL))
		return refuse(d, instr, "does not name the space of its variable");
	if (!instr->form->has_space && (base->variable->space == SLU_PTX_SPACE_SHARED ||
					base->variable->space == SLU_PTX_SPACE_LOCAL))
		in->space = (uint8_t)base->variable->space;
	return row_of(d, instr, base, true, &in->a);
}

static struct slu_interp_extra *extra_of(struct decoder *d, struct slu_interp_insn *in)
{
	if (!in->extra)
		in->extra = slu_interp_extra_new(d->code);
	return in->extra;
}

/* The registers of a lane's part of a matrix. */
static int bind_fragment(struct decoder *d, const struct slu_ptx_instr *instr,
			 const struct slu_ptx_operand *o, enum slu_ptx_part part,
			 struct slu_interp_insn *in)
{
	struct slu_interp_extra *e = extra_of(d, in);
	bool is_vector = o->kind == SLU_PTX_OPERAND_VECTOR;
	int r = 0;

	if (!e)
		return slu_error(-ENOMEM);
	slu_ptx_matrix_of(instr->form, instr->form->text, &e->matrix);
	for (unsigned i = 0; !r && i < (is_vector ? o->n_elements : 1u); i++)
		r = row_of(d, instr, is_vector ? &o->elements[i] : o,
			   e->matrix.parts[part].reg_size == 8, &e->rows[part][i]);
	return r;
}

/* The address that a copy reads from; the first one is where it writes. */
static int bind_second(struct decoder *d, const struct slu_ptx_instr *instr,
		       const struct slu_ptx_operand *o, struct slu_interp_insn *in)
{
	struct slu_interp_extra *e = extra_of(d, in);
	struct slu_interp_insn second = *in;
	int r;

	if (!e)
		return slu_error(-ENOMEM);
	r = bind_address(d, instr, o, SLU_PTX_SPACE_GLOBAL, &second);
	in->b = second.a;
	e->offset = second.imm;
	e->is_wide_address = second.is_wide_address;
	return r;
}

/* Where the labels are is known when everything has its place. */
static int bind_targets(struct decoder *d, const struct slu_ptx_targets *targets,
			struct slu_interp_insn *in)
{
	struct slu_interp_extra *e = extra_of(d, in);

	if (e)
		e->targets = calloc(targets->n_labels, sizeof(*e->targets));
	if (!e || !e->targets)
		return slu_error(-ENOMEM);
	e->n_targets = targets->n_labels;
	return 0;
}

/* Hands the operands out in the order of the row's words. */
static int bind_operands(struct decoder *d, const struct slu_ptx_instr *instr,
			 struct slu_interp_insn *in)
{
	uint32_t *const sources[] = { &in->a, &in->b, &in->c, &in->e };
	const struct slu_ptx_form *form = instr->form;
	const char *word = form->row->operands;
	unsigned n_source = 0, n_skip = 0, n_words = 0;
	int r = 0;

	for (const char *w = word; *w; w += strcspn(w, " "), w += *w == ' ')
		n_words++;
	n_skip = n_words - instr->n_operands;
	for (unsigned k = 0; !r && k < instr->n_operands; word += strcspn(word, " ") + 1) {
		const struct slu_ptx_operand *o = &instr->operands[k];
		char c = word[1];
		unsigned size = c == 'U'   ? 4
				: c == 'L' ? 8
				: (c >= '0' && c <= '3')
					? slu_ptx_type_size((enum slu_ptx_type)form->types[c - '0'])
					: 4;

		if (word[strcspn(word, " ") - 1] == '?' && n_skip) {
			n_skip--;
			continue;
		}
		k++;
		switch (*word) {
		case 'd':
		case 'D':
		case 'w':
			r = row_of(d, instr, o, false, &in->d);
			break;
		case 'M':
			if (o->kind != SLU_PTX_OPERAND_VECTOR)
				r = row_of(d, instr, o, false, &in->d);
			else
				for (unsigned i = 0; !r && i < o->n_elements; i++)
					r = row_of(d, instr, &o->elements[i], false, &in->x[i]);
			break;
		case 'e':
			r = row_of(d, instr, o, false, &in->d);
			if (o->kind == SLU_PTX_OPERAND_PAIR && o->second != SLU_PTX_NO_REG)
				in->p = d->reg_place[o->second];
			break;
		case 'm':
		case 's':
		case 'S':
		case 'c':
		case 'x':
			if (o->kind == SLU_PTX_OPERAND_VECTOR) {
				for (unsigned i = 0; !r && i < o->n_elements; i++)
					r = row_of(d, instr, &o->elements[i],
						   size / o->n_elements == 8, &in->x[i]);
				break;
			}
			r = row_of(d, instr, o, (*word == 'x' ? size * 2 : size) == 8,
				   sources[n_source++]);
			in->n_sources = (uint8_t)n_source;
			break;
		case 'v':
		case 'V':
			in->n = form->vector;
			in->element = (uint8_t)size;
			for (unsigned i = 0; !r && i < form->vector; i++) {
				const struct slu_ptx_operand *e =
					form->vector > 1 ? &o->elements[i] : o;
				bool is_wide = e->kind == SLU_PTX_OPERAND_REG
						       ? reg_is_wide(d, e->reg)
						       : size == 8;

				if (i == 0 || e->kind == SLU_PTX_OPERAND_REG) {
					if (i && is_wide != in->is_wide_row && form->vector > 1 &&
					    o->elements[0].kind == SLU_PTX_OPERAND_REG)
						return refuse(d, instr,
							      "mixes widths in its vector");
					in->is_wide_row = is_wide;
					in->is_half_row = e->kind == SLU_PTX_OPERAND_REG &&
							  reg_size(d, e->reg) <= 2;
				}
				r = row_of(d, instr, e, is_wide, &in->x[i]);
			}
			break;
		case 'p':
		case 'q':
			if (o->kind == SLU_PTX_OPERAND_SINK)
				break;
			if (o->reg != SLU_PTX_NO_REG)
				in->p = d->reg_place[o->reg];
			if (o->kind == SLU_PTX_OPERAND_PAIR && o->second != SLU_PTX_NO_REG)
				in->q = d->reg_place[o->second];
			break;
		case 'P':
			if (n_source == 4)
				return refuse(d, instr, "has too many operands");
			/* and.pred reads two */
			if (in->n_preds++)
				r = pred_of(d, o, &in->t, &in->t_flip);
			else
				r = pred_of(d, o, &in->s, &in->s_flip);
			break;
		case 'a':
			r = bind_address(d, instr, o,
					 form->row->family == SLU_PTX_FAMILY_COPY
						 ? SLU_PTX_SPACE_SHARED
						 : form->space,
					 in);
			n_source++;
			break;
		case 'A':
			r = bind_second(d, instr, o, in);
			n_source++;
			break;
		case 'g':
		case 'G':
			r = bind_fragment(d, instr, o, (enum slu_ptx_part)(word[1] - 'a'), in);
			break;
		case 'L':
			r = bind_targets(d, o->targets, in);
			break;
		case 'z':
			in->element = (uint8_t)o->imm;
			break;
		case 'i':
			in->imm = (int64_t)o->imm;
			break;
		}
	}
	return r;
}

/* rounded by our own arithmetic */
static bool is_narrow(uint8_t type)
{
	return type >= SLU_PTX_TYPE_F16 && type <= SLU_PTX_TYPE_TF32;
}

/* Which state of MXCSR an instruction wants; 0 if it does not care. */
static uint32_t csr_of(const struct slu_ptx_form *form)
{
	static const struct {
		enum slu_ptx_modifier modifier;
		uint32_t bits;
	} modes[] = {
		{ SLU_PTX_MOD_rm, 1u << 13 },
		{ SLU_PTX_MOD_rp, 2u << 13 },
		{ SLU_PTX_MOD_rz, 3u << 13 },
	};
	uint32_t csr = SLU_INTERP_CSR_DEFAULT;

	switch (form->row->family) {
	case SLU_PTX_FAMILY_FLOAT:
		/* approximations flush by themselves: the library behind them wants no surprise */
		if (slu_ptx_form_has(form, SLU_PTX_MOD_approx) ||
		    slu_ptx_form_has(form, SLU_PTX_MOD_full))
			return csr;
		break;
	case SLU_PTX_FAMILY_CVT:
		if (!slu_ptx_type_is_float((enum slu_ptx_type)form->types[0]) &&
		    !slu_ptx_type_is_float((enum slu_ptx_type)form->types[1]))
			return 0;
		if (is_narrow(form->types[0]) || is_narrow(form->types[1]))
			return csr;
		break;
	case SLU_PTX_FAMILY_CMP:
		if (!slu_ptx_form_has(form, SLU_PTX_MOD_ftz))
			return slu_ptx_type_is_float(
				       (enum slu_ptx_type)form->types[form->n_types - 1])
				       ? csr
				       : 0;
		break;
	case SLU_PTX_FAMILY_HALF:
		return csr;
	case SLU_PTX_FAMILY_ATOM:
		return slu_ptx_type_is_float((enum slu_ptx_type)form->types[0]) ? csr : 0;
	default:
		return 0;
	}
	for (size_t i = 0; i < SLU_ARRAY_SIZE(modes); i++)
		if (slu_ptx_form_has(form, modes[i].modifier))
			csr |= modes[i].bits;
	if (slu_ptx_form_has(form, SLU_PTX_MOD_ftz))
		csr |= 0x8040;
	return csr;
}

/* The function's usual state: the one that most of its instructions want. */
static uint32_t usual_csr(const struct slu_ptx_function *f)
{
	uint32_t values[8], counts[8], best = SLU_INTERP_CSR_DEFAULT, best_count = 0;
	unsigned n = 0;

	for (uint32_t i = 0; i < f->n_instrs; i++) {
		uint32_t csr = csr_of(f->instrs[i].form);
		unsigned k = 0;

		if (!csr)
			continue;
		while (k < n && values[k] != csr)
			k++;
		if (k == n) {
			values[n] = csr;
			counts[n++] = 0;
		}
		if (++counts[k] > best_count) {
			best_count = counts[k];
			best = csr;
		}
	}
	return best;
}

static int set_csr(struct decoder *d, const struct slu_ptx_instr *instr, uint32_t csr)
{
	struct slu_interp_insn *in;

	if (!csr || csr == d->csr)
		return 0;
	in = take_insn(d, instr);
	if (!in)
		return slu_error(-ENOMEM);
	in->run = slu_interp_set_csr;
	in->csr = csr;
	d->csr = csr;
	return 0;
}

/* Instructions after which another group may run: the state must be the usual one there. */
static bool changes_group(const struct slu_ptx_form *form)
{
	switch (form->row->family) {
	case SLU_PTX_FAMILY_FLOW:
	case SLU_PTX_FAMILY_BAR:
	case SLU_PTX_FAMILY_WARP:
	case SLU_PTX_FAMILY_MATRIX:
		return true;
	default:
		return form->opcode == SLU_PTX_OP_nanosleep;
	}
}

static int check_call(struct decoder *d, const struct slu_ptx_instr *instr)
{
	const struct slu_ptx_function *f;

	d->code->has_calls = true;
	if (instr->operands[0].kind == SLU_PTX_OPERAND_REG)
		return 0;
	f = instr->operands[0].function;
	if (f->is_defined || slu_interp_builtin(f))
		return 0;
	d->error->line = instr->line;
	d->error->column = instr->column;
	snprintf(d->error->text, sizeof(d->error->text), "function '%.120s' is not defined",
		 f->name);
	return SLU_INTERP_E_REFUSED;
}

static const struct slu_interp_handler *bind(struct decoder *d, const struct slu_ptx_instr *instr,
					     const struct slu_interp_insn *in)
{
	const struct slu_ptx_form *form = instr->form;
	const struct slu_ptx_operand *o = instr->operands;

	switch (form->row->family) {
	case SLU_PTX_FAMILY_FLOW:
		if (form->opcode == SLU_PTX_OP_brx)
			return &slu_interp_jump;
		return slu_interp_bind_flow(instr);
	case SLU_PTX_FAMILY_BAR:
	case SLU_PTX_FAMILY_FENCE:
	case SLU_PTX_FAMILY_NOP:
		return slu_interp_bind_flow(instr);
	case SLU_PTX_FAMILY_STACK:
		/* whoever takes local memory has a row for how much, and a stack */
		d->code->has_calls = true;
		if (!d->code->top_row)
			d->code->top_row = take_row(d, true);
		break;
	case SLU_PTX_FAMILY_LOAD:
		return d->isa->bind_load(form, in);
	case SLU_PTX_FAMILY_STORE:
		return d->isa->bind_store(form, in);
	case SLU_PTX_FAMILY_CVT:
		return d->isa->bind_cvt(form, in->is_wide_row, in->is_wide_address);
	case SLU_PTX_FAMILY_MOVE:
		if (form->opcode == SLU_PTX_OP_mov) {
			unsigned size = slu_ptx_type_size((enum slu_ptx_type)form->types[0]);

			if (o[0].kind == SLU_PTX_OPERAND_VECTOR)
				return d->isa->bind_pack(false, o[0].n_elements, size);
			if (o[1].kind == SLU_PTX_OPERAND_VECTOR)
				return d->isa->bind_pack(true, o[1].n_elements, size);
		}
		break;
	default:
		break;
	}
	return d->isa->bind[form->row->family] ? d->isa->bind[form->row->family](form) : NULL;
}

/* mov from a register that is never the same twice */
static bool reads_clock(const struct slu_ptx_instr *instr)
{
	const struct slu_ptx_operand *o = &instr->operands[1];

	return instr->form->opcode == SLU_PTX_OP_mov && o->kind == SLU_PTX_OPERAND_SREG &&
	       o->sreg >= SLU_PTX_SREG_CLOCK && o->sreg <= SLU_PTX_SREG_GLOBALTIMER_HI;
}

static int decode_branch(struct decoder *d, const struct slu_ptx_instr *instr)
{
	struct slu_interp_insn *in = take_insn(d, instr);

	if (!in)
		return slu_error(-ENOMEM);
	in->run = slu_interp_branch_always;
	if (instr->guard != SLU_PTX_NO_REG) {
		in->run = slu_interp_branch;
		in->guard = d->reg_place[instr->guard];
		in->guard_flip = instr->guard_is_negated ? UINT32_MAX : 0;
	}
	/* where to is known when everything has its place */
	in->imm = d->function->labels[instr->operands[0].label].instr;
	return 0;
}

/* cvt takes registers that are wider than its types */
static void note_widths(const struct decoder *d, const struct slu_ptx_instr *instr,
			struct slu_interp_insn *in)
{
	const struct slu_ptx_operand *to = &instr->operands[0], *from = &instr->operands[1];
	enum slu_ptx_type type = (enum slu_ptx_type)instr->form->types[1];

	if (to->kind == SLU_PTX_OPERAND_REG) {
		in->is_wide_row = reg_is_wide(d, to->reg);
		in->is_half_row = reg_size(d, to->reg) <= 2;
	}
	in->is_wide_address = from->kind == SLU_PTX_OPERAND_REG ? reg_is_wide(d, from->reg)
								: slu_ptx_type_size(type) == 8;
}

static bool is_line(const struct decoder *d, const struct slu_ptx_operand *o)
{
	switch (o->kind) {
	case SLU_PTX_OPERAND_REG:
		return d->is_line[o->reg];
	case SLU_PTX_OPERAND_ADDRESS:
		return is_line(d, o->elements);
	case SLU_PTX_OPERAND_VECTOR:
		for (unsigned i = 0; i < o->n_elements; i++)
			if (is_line(d, &o->elements[i]))
				return true;
		return false;
	default:
		return false;
	}
}

static bool any_line(const struct decoder *d, const struct slu_ptx_instr *instr)
{
	for (unsigned i = 0; i < instr->n_operands; i++)
		if (is_line(d, &instr->operands[i]))
			return true;
	return false;
}

static bool knows_lines(const struct decoder *d, const struct slu_ptx_instr *instr)
{
	if (slu_interp_is_access(instr))
		return true;
	if (slu_interp_is_compare(instr))
		return any_line(d, instr);
	return slu_interp_makes_line(d->function, instr) && is_line(d, &instr->operands[0]);
}

/* An insn in front of one that does not know lines; once for each basic block. */
static int spread(struct decoder *d, const struct slu_ptx_instr *instr,
		  const struct slu_ptx_operand *o, struct slu_interp_insn **in)
{
	int r = 0;

	switch (o->kind) {
	case SLU_PTX_OPERAND_ADDRESS:
		return spread(d, instr, o->elements, in);
	case SLU_PTX_OPERAND_VECTOR:
		for (unsigned i = 0; !r && i < o->n_elements; i++)
			r = spread(d, instr, &o->elements[i], in);
		return r;
	case SLU_PTX_OPERAND_REG:
		break;
	default:
		return 0;
	}
	if (!d->is_line[o->reg] || d->spread_in[o->reg] == d->block)
		return 0;
	if (!*in || (*in)->n == SLU_ARRAY_SIZE((*in)->x)) {
		*in = take_insn(d, instr);
		if (!*in)
			return slu_error(-ENOMEM);
		(*in)->run = *d->isa->spread;
		(*in)->n = 0;
	}
	(*in)->x[(*in)->n++] = d->reg_place[o->reg];
	d->spread_in[o->reg] = d->block;
	return 0;
}

static int spread_operands(struct decoder *d, const struct slu_ptx_instr *instr)
{
	struct slu_interp_insn *in = NULL;
	int r = 0;

	for (unsigned i = 0; !r && i < instr->n_operands; i++)
		r = spread(d, instr, &instr->operands[i], &in);
	return r;
}

/* What is written as a line has to be spread again. */
static void forget_spread(struct decoder *d, const struct slu_ptx_operand *o)
{
	if (o->kind == SLU_PTX_OPERAND_REG)
		d->spread_in[o->reg] = UINT32_MAX;
	for (unsigned i = 0; o->kind == SLU_PTX_OPERAND_VECTOR && i < o->n_elements; i++)
		forget_spread(d, &o->elements[i]);
}

/* Puts what knows lines in front of the handler of rows. */
static void bind_lines(struct decoder *d, const struct slu_ptx_instr *instr,
		       struct slu_interp_insn *in)
{
	in->plain = in->run;
	if (!slu_interp_is_access(instr))
		in->run.all = d->isa->bind_line(instr->form)->all;
	if (in->has_line_result)
		forget_spread(d, &instr->operands[0]);
}

static void note_lines(const struct decoder *d, const struct slu_ptx_instr *instr,
		       struct slu_interp_insn *in)
{
	if (slu_interp_is_access(instr)) {
		bool is_load = instr->form->opcode != SLU_PTX_OP_st;

		in->has_line_address = is_line(d, &instr->operands[is_load ? 1 : 0]);
		in->has_line_result = is_load && is_line(d, &instr->operands[0]);
	} else {
		in->has_line_result = !slu_interp_is_compare(instr);
	}
}

static int decode_instr(struct decoder *d, const struct slu_ptx_instr *instr)
{
	const struct slu_interp_handler *handler;
	struct slu_interp_insn *in;
	bool is_flow = changes_group(instr->form);
	uint32_t around = UINT32_MAX;
	int r;

	r = set_csr(d, instr, is_flow ? d->code->csr : csr_of(instr->form));
	if (r)
		return r;
	if (instr->form->opcode == SLU_PTX_OP_bra)
		return decode_branch(d, instr);
	if (instr->form->opcode == SLU_PTX_OP_call) {
		r = check_call(d, instr);
		if (r)
			return r;
	}
	if (!knows_lines(d, instr)) {
		r = spread_operands(d, instr);
		if (r)
			return r;
	}
	if (instr->guard != SLU_PTX_NO_REG && is_flow) {
		in = take_insn(d, instr);
		if (!in)
			return slu_error(-ENOMEM);
		in->run = slu_interp_branch;
		in->guard = d->reg_place[instr->guard];
		in->guard_flip = instr->guard_is_negated ? 0 : UINT32_MAX;
		in->imm = -1;
		around = d->code->n_insns - 1;
	}
	in = take_insn(d, instr);
	if (!in)
		return slu_error(-ENOMEM);
	if (instr->form->opcode == SLU_PTX_OP_call) {
		if (instr->operands[0].kind == SLU_PTX_OPERAND_REG)
			in->a = d->reg_place[instr->operands[0].reg];
	} else if (reads_clock(instr)) {
		r = row_of(d, instr, &instr->operands[0], false, &in->d);
	} else {
		r = bind_operands(d, instr, in);
	}
	if (r)
		return r;
	if (instr->form->row->family == SLU_PTX_FAMILY_BAR) {
		bool is_red = slu_ptx_form_has(instr->form, SLU_PTX_MOD_red);

		in->n = (uint8_t)(instr->n_operands - (is_red ? 2 : 0));
	}
	if (instr->form->row->family == SLU_PTX_FAMILY_CVT)
		note_widths(d, instr, in);
	if (knows_lines(d, instr))
		note_lines(d, instr, in);
	handler = reads_clock(instr) ? d->isa->bind_clock(instr->operands[1].sreg)
				     : bind(d, instr, in);
	if (!handler)
		return refuse(d, instr, "is not supported");
	in->run = *handler;
	if (knows_lines(d, instr))
		bind_lines(d, instr, in);
	if (instr->guard != SLU_PTX_NO_REG && !is_flow) {
		in->inner = in->run;
		in->run = knows_lines(d, instr) ? slu_interp_guarded_lines : slu_interp_guarded;
		in->guard = d->reg_place[instr->guard];
		in->guard_flip = instr->guard_is_negated ? UINT32_MAX : 0;
	}
	if (around != UINT32_MAX)
		d->code->insns[around].imm = -(int64_t)d->code->n_insns - 1;
	return 0;
}

/* Branches hold the number of an instruction, or, below zero, of an insn. */
static void resolve(struct decoder *d)
{
	struct slu_interp_code *c = d->code;

	for (uint32_t i = 0; i < c->n_insns; i++) {
		struct slu_interp_insn *in = &c->insns[i];

		for (uint32_t k = 0; in->extra && k < in->extra->n_targets; k++) {
			const struct slu_ptx_targets *t = in->source->operands[1].targets;
			uint32_t label = t->labels[k].label;

			in->extra->targets[k] =
				&c->insns[d->starts[d->function->labels[label].instr]];
		}
		if (in->run.all != slu_interp_branch.all &&
		    in->run.all != slu_interp_branch_always.all)
			continue;
		in->target = in->imm < 0 ? &c->insns[-in->imm - 1] : &c->insns[d->starts[in->imm]];
	}
}

static int decode_all(struct decoder *d)
{
	const struct slu_ptx_function *f = d->function;
	static const struct slu_ptx_instr none = { 0 };
	struct slu_interp_insn *in;
	int r;

	for (uint32_t i = 0; i < f->n_labels; i++)
		d->is_leader[f->labels[i].instr] = 1;
	d->csr = d->code->csr;
	d->block = 1;
	for (uint32_t i = 0; i <= f->n_instrs; i++) {
		const struct slu_ptx_instr *instr = i < f->n_instrs ? &f->instrs[i] : &none;

		if (d->is_leader[i] || i == f->n_instrs) {
			r = set_csr(d, i ? &f->instrs[i - 1] : NULL, d->code->csr);
			if (r)
				return r;
			d->block++;
		}
		d->starts[i] = d->code->n_insns;
		if (i == f->n_instrs)
			break;
		r = decode_instr(d, instr);
		if (r)
			return r;
	}
	in = take_insn(d, NULL);
	if (!in)
		return slu_error(-ENOMEM);
	in->run = slu_interp_return;
	resolve(d);
	return 0;
}

int slu_interp_decode(const struct slu_ptx_function *function, struct slu_interp_code **ret_code,
		      struct slu_ptx_error *ret_error)
{
	struct decoder d = { .function = function, .isa = slu_interp_isa(), .error = ret_error };
	int r;

	d.code = calloc(1, sizeof(*d.code));
	d.starts = calloc(function->n_instrs + 1, sizeof(*d.starts));
	d.is_leader = calloc(function->n_instrs + 1, 1);
	if (!d.code || !d.starts || !d.is_leader)
		r = slu_error(-ENOMEM);
	else {
		d.code->function = function;
		d.code->csr = usual_csr(function);
		r = slu_interp_classify(function, &d.is_line);
		if (!r)
			r = place_registers(&d);
		if (!r)
			r = decode_all(&d);
	}
	free(d.reg_place);
	free(d.starts);
	free(d.is_leader);
	free(d.is_line);
	free(d.spread_in);
	if (r) {
		slu_interp_code_free(d.code);
		return r;
	}
	*ret_code = d.code;
	return 0;
}

void slu_interp_code_free(struct slu_interp_code *code)
{
	if (!code)
		return;
	free(code->insns);
	free(code->fills);
	slu_interp_extra_free_all(code);
	free(code->liners);
	free(code);
}
