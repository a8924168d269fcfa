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
#include "softgpu/interp/decoder.h"

static int place_registers(struct dev_interp_decoder *d)
{
	const struct slu_ptx_function *f = d->function;
	int r;

	d->reg_place = calloc(f->n_regs + 1, sizeof(*d->reg_place));
	if (!d->reg_place)
		return slu_error(-ENOMEM);
	d->scratch = dev_interp_decoder_take_row(d, true);
	for (uint32_t i = 0; i < f->n_regs; i++)
		d->reg_place[i] =
			f->reg_types[i] == SLU_PTX_TYPE_PRED
				? dev_interp_decoder_take_pred(d)
				: dev_interp_decoder_take_row(d, dev_interp_decoder_is_wide(d, i));
	r = dev_interp_decoder_note_liners(d);
	if (r)
		return r;
	d->sink = dev_interp_decoder_take_pred(d);
	/* the carry flag, and one that is never true, are the last two */
	dev_interp_decoder_take_pred(d);
	dev_interp_decoder_take_pred(d);
	return 0;
}

static int set_csr(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr, uint32_t csr)
{
	struct dev_interp_insn *in;

	if (!csr || csr == d->csr)
		return 0;
	in = dev_interp_decoder_take_insn(d, instr);
	if (!in)
		return slu_error(-ENOMEM);
	in->run = dev_interp_flow_set_csr;
	in->imm = csr;
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

/* Kernels that start kernels have them from an archive, which not every kernel of a text needs. */
static bool is_of_runtime(const char *name)
{
	return !strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6);
}

static int check_call(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr)
{
	const struct slu_ptx_function *f;
	bool is_known;

	d->code->has_calls = true;
	if (instr->operands[0].kind == SLU_PTX_OPERAND_REG)
		return 0;
	f = instr->operands[0].function;
	if (f->is_defined || dev_interp_builtin(f, &is_known) ||
	    (d->is_check && !is_known && is_of_runtime(f->name)))
		return 0;
	d->error->line = instr->line;
	d->error->column = instr->column;
	snprintf(d->error->text, sizeof(d->error->text), "function '%.120s' is %s", f->name,
		 is_known ? "declared with too few or too small parameters" : "not defined");
	return DEV_INTERP_E_REFUSED;
}

static const struct dev_interp_handler *decode_bind(struct dev_interp_decoder *d,
						    const struct slu_ptx_instr *instr,
						    const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = instr->form;
	const struct slu_ptx_operand *o = instr->operands;
	const struct dev_interp_handler *vector;

	switch (form->row->family) {
	case SLU_PTX_FAMILY_FLOW:
		if (form->opcode == SLU_PTX_OP_brx)
			return &dev_interp_jump;
		return dev_interp_flow_bind(instr);
	case SLU_PTX_FAMILY_BAR:
	case SLU_PTX_FAMILY_FENCE:
	case SLU_PTX_FAMILY_NOP:
		return dev_interp_flow_bind(instr);
	case SLU_PTX_FAMILY_STACK:
		/* whoever takes local memory has a row for how much, and a stack */
		d->code->has_calls = true;
		if (!d->code->top_row)
			d->code->top_row = dev_interp_decoder_take_row(d, true);
		break;
	case SLU_PTX_FAMILY_LOAD:
		vector = d->isa->bind_vector(form);
		return vector ? vector : d->isa->bind_load(form, in);
	case SLU_PTX_FAMILY_STORE:
		vector = d->isa->bind_vector(form);
		return vector ? vector : d->isa->bind_store(form, in);
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

static int decode_branch(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr)
{
	struct dev_interp_insn *in = dev_interp_decoder_take_insn(d, instr);

	if (!in)
		return slu_error(-ENOMEM);
	in->run = dev_interp_flow_branch_always;
	if (instr->guard != SLU_PTX_NO_REG) {
		in->run = dev_interp_flow_branch;
		in->guard = d->reg_place[instr->guard];
		in->guard_flip = instr->guard_is_negated ? UINT32_MAX : 0;
	}
	/* where to is known when everything has its place */
	in->imm = d->function->labels[instr->operands[0].label].instr;
	return 0;
}

/* cvt takes registers that are wider than its types */
static void note_widths(const struct dev_interp_decoder *d, const struct slu_ptx_instr *instr,
			struct dev_interp_insn *in)
{
	const struct slu_ptx_operand *to = &instr->operands[0], *from = &instr->operands[1];
	enum slu_ptx_type type = (enum slu_ptx_type)instr->form->types[1];

	if (to->kind == SLU_PTX_OPERAND_REG) {
		in->is_wide_row = dev_interp_decoder_is_wide(d, to->reg);
		in->is_half_row = dev_interp_decoder_reg_size(d, to->reg) <= 2;
	}
	in->is_wide_address = from->kind == SLU_PTX_OPERAND_REG
				      ? dev_interp_decoder_is_wide(d, from->reg)
				      : slu_ptx_type_size(type) == 8;
}

static int decode_instr(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr)
{
	const struct dev_interp_handler *handler;
	struct dev_interp_insn *in;
	bool is_flow = changes_group(instr->form);
	uint32_t around = UINT32_MAX;
	int r;

	r = set_csr(d, instr, is_flow ? d->code->csr : dev_interp_csr_of(instr->form));
	if (r)
		return r;
	if (instr->form->opcode == SLU_PTX_OP_bra)
		return decode_branch(d, instr);
	if (instr->form->opcode == SLU_PTX_OP_call) {
		r = check_call(d, instr);
		if (r)
			return r;
	}
	if (!dev_interp_decoder_knows_lines(d, instr)) {
		r = dev_interp_decoder_spread(d, instr);
		if (r)
			return r;
	}
	if (instr->guard != SLU_PTX_NO_REG && is_flow) {
		in = dev_interp_decoder_take_insn(d, instr);
		if (!in)
			return slu_error(-ENOMEM);
		in->run = dev_interp_flow_branch;
		in->guard = d->reg_place[instr->guard];
		in->guard_flip = instr->guard_is_negated ? 0 : UINT32_MAX;
		in->imm = -1;
		around = d->code->n_insns - 1;
	}
	in = dev_interp_decoder_take_insn(d, instr);
	if (!in)
		return slu_error(-ENOMEM);
	if (instr->form->opcode == SLU_PTX_OP_call) {
		if (instr->operands[0].kind == SLU_PTX_OPERAND_REG)
			in->a = d->reg_place[instr->operands[0].reg];
	} else if (reads_clock(instr)) {
		r = dev_interp_decoder_row_of(d, instr, &instr->operands[0], false, &in->d);
	} else {
		r = dev_interp_decoder_bind_operands(d, instr, in);
	}
	if (r)
		return r;
	if (instr->form->row->family == SLU_PTX_FAMILY_BAR) {
		bool is_red = slu_ptx_form_has(instr->form, SLU_PTX_MOD_red);

		in->n = (uint8_t)(instr->n_operands - (is_red ? 2 : 0));
	}
	if (instr->form->row->family == SLU_PTX_FAMILY_CVT)
		note_widths(d, instr, in);
	if (dev_interp_decoder_knows_lines(d, instr))
		dev_interp_decoder_note_lines(d, instr, in);
	handler = reads_clock(instr) ? d->isa->bind_clock(instr->operands[1].sreg)
				     : decode_bind(d, instr, in);
	if (!handler)
		return dev_interp_decoder_refuse(d, instr, "is not supported");
	in->run = *handler;
	if (dev_interp_decoder_knows_lines(d, instr))
		dev_interp_decoder_bind_lines(d, instr, in);
	if (instr->guard != SLU_PTX_NO_REG && !is_flow) {
		in->inner = in->run;
		in->run = dev_interp_decoder_knows_lines(d, instr) ? dev_interp_flow_guarded_lines
								   : dev_interp_flow_guarded;
		in->guard = d->reg_place[instr->guard];
		in->guard_flip = instr->guard_is_negated ? UINT32_MAX : 0;
	}
	if (d->code->n_strips > 1)
		dev_interp_team_bind(in, is_flow &&
						 instr->form->row->family != SLU_PTX_FAMILY_WARP &&
						 instr->form->row->family != SLU_PTX_FAMILY_MATRIX);
	if (around != UINT32_MAX)
		d->code->insns[around].imm = -(int64_t)d->code->n_insns - 1;
	return 0;
}

/* Branches hold the number of an instruction, or, below zero, of an insn. */
static void decode_resolve(struct dev_interp_decoder *d)
{
	struct dev_interp_code *c = d->code;

	for (uint32_t i = 0; i < c->n_insns; i++) {
		struct dev_interp_insn *in = &c->insns[i];

		for (uint32_t k = 0; in->extra && k < in->extra->n_targets; k++) {
			const struct slu_ptx_targets *t = in->source->operands[1].targets;
			uint32_t label = t->labels[k].label;

			in->extra->targets[k] =
				&c->insns[d->starts[d->function->labels[label].instr]];
		}
		if (in->run.all != dev_interp_flow_branch.all &&
		    in->run.all != dev_interp_flow_branch_always.all)
			continue;
		in->target = in->imm < 0 ? &c->insns[-in->imm - 1] : &c->insns[d->starts[in->imm]];
	}
}

static int decode_all(struct dev_interp_decoder *d)
{
	const struct slu_ptx_function *f = d->function;
	static const struct slu_ptx_instr none = { 0 };
	struct dev_interp_insn *in;
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
	in = dev_interp_decoder_take_insn(d, NULL);
	if (!in)
		return slu_error(-ENOMEM);
	in->run = dev_interp_call_return;
	decode_resolve(d);
	return 0;
}

int dev_interp_decode(const struct slu_ptx_function *function, bool is_check,
		      struct dev_interp_code **ret_code, struct slu_ptx_error *ret_error)
{
	struct dev_interp_decoder d = { .function = function,
					.isa = dev_interp_isa(),
					.is_check = is_check,
					.error = ret_error };
	int r;

	d.code = calloc(1, sizeof(*d.code));
	d.starts = calloc(function->n_instrs + 1, sizeof(*d.starts));
	d.is_leader = calloc(function->n_instrs + 1, 1);
	if (!d.code || !d.starts || !d.is_leader)
		r = slu_error(-ENOMEM);
	else {
		d.code->function = function;
		/* what is called is called by warps on their own */
		d.code->n_strips = function->is_kernel ? DEV_INTERP_TEAM : 1;
		d.code->csr = dev_interp_csr_usual(function);
		r = dev_interp_classify(function, &d.is_line);
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
		dev_interp_decode_free(d.code);
		return r;
	}
	*ret_code = d.code;
	return 0;
}

void dev_interp_decode_free(struct dev_interp_code *code)
{
	if (!code)
		return;
	free(code->insns);
	free(code->fills);
	dev_interp_extra_free_all(code);
	free(code->liners);
	free(code);
}
