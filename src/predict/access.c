/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which instructions touch global memory, and where. Sound: every family and opcode that may do so
 * has a case, those that cannot are listed, and whatever is neither makes the kernel unknown.
 * Shared, local and parameter memory are the launch's own and do not count.
 */

#include <string.h>

#include "predict/analysis.h"

/* The cases of one instruction. */
enum effect {
	EFFECT_NONE,
	EFFECT_ACCESS,
	EFFECT_UNKNOWN,
	EFFECT_CALL,
};

struct touch {
	enum effect effect;
	unsigned operand; /* the address */
	uint32_t bytes;
	bool is_read;
	bool is_written;
	bool may_be_window;
};

static struct touch none(void)
{
	return (struct touch){ .effect = EFFECT_NONE };
}

static struct touch unknown(void)
{
	return (struct touch){ .effect = EFFECT_UNKNOWN };
}

/* An access of a vector of the form's type, in the form's space. */
static struct touch plain(const struct slu_ptx_instr *in, unsigned operand, bool is_read,
			  bool is_written)
{
	struct touch t = {
		.effect = EFFECT_ACCESS,
		.operand = operand,
		.bytes =
			slu_ptx_type_size((enum slu_ptx_type)in->form->types[0]) * in->form->vector,
		.is_read = is_read,
		.is_written = is_written,
		.may_be_window = !in->form->has_space,
	};

	switch (in->form->space) {
	case SLU_PTX_SPACE_SHARED:
	case SLU_PTX_SPACE_LOCAL:
	case SLU_PTX_SPACE_PARAM:
		return none();
	default:
		return t.bytes ? t : unknown();
	}
}

static struct touch touch_of_copy(const struct slu_ptx_instr *in)
{
	struct touch t = { .effect = EFFECT_ACCESS, .operand = 1, .is_read = true };

	/* from global to shared memory: at most as many bytes as the constant says */
	if (in->form->opcode != SLU_PTX_OP_cp || in->n_operands < 3 ||
	    in->operands[2].kind != SLU_PTX_OPERAND_IMM || in->operands[2].imm > 16)
		return unknown();
	t.bytes = (uint32_t)in->operands[2].imm;
	return t;
}

static struct touch touch_of_nop(const struct slu_ptx_instr *in)
{
	struct touch t = {
		.effect = EFFECT_ACCESS, .operand = 0, .bytes = 128, .is_written = true
	};

	switch (in->form->opcode) {
	case SLU_PTX_OP_discard:
		/* what lies there may be lost, as if it were written */
		t.may_be_window = !in->form->has_space;
		return t;
	case SLU_PTX_OP_cp:
	case SLU_PTX_OP_prefetch:
	case SLU_PTX_OP_prefetchu:
	case SLU_PTX_OP_applypriority:
	case SLU_PTX_OP_brkpt:
	case SLU_PTX_OP_pmevent:
	case SLU_PTX_OP_nanosleep:
		return none();
	default:
		return unknown();
	}
}

static struct touch touch_of_matrix(const struct slu_ptx_instr *in)
{
	switch (in->form->opcode) {
	case SLU_PTX_OP_wmma:
		/* a load or store of rows with a distance; in shared memory it does not count */
		return slu_ptx_form_has(in->form, SLU_PTX_MOD_mma) ||
				       in->form->space == SLU_PTX_SPACE_SHARED
			       ? none()
			       : unknown();
	case SLU_PTX_OP_mma:
	case SLU_PTX_OP_movmatrix:
	case SLU_PTX_OP_ldmatrix: /* from shared memory only */
		return none();
	default:
		return unknown();
	}
}

static struct touch touch_of(const struct slu_ptx_instr *in)
{
	switch (in->form->row->family) {
	case SLU_PTX_FAMILY_INT:
	case SLU_PTX_FAMILY_CARRY:
	case SLU_PTX_FAMILY_WORD:
	case SLU_PTX_FAMILY_VIDEO:
	case SLU_PTX_FAMILY_FLOAT:
	case SLU_PTX_FAMILY_HALF:
	case SLU_PTX_FAMILY_CMP:
	case SLU_PTX_FAMILY_PRED:
	case SLU_PTX_FAMILY_MOVE:
	case SLU_PTX_FAMILY_CVT:
	case SLU_PTX_FAMILY_WARP:
	case SLU_PTX_FAMILY_STACK:
	case SLU_PTX_FAMILY_PHASE: /* barriers lie in shared memory */
	case SLU_PTX_FAMILY_FENCE:
	case SLU_PTX_FAMILY_BAR:
		return none();
	case SLU_PTX_FAMILY_FLOW:
		return in->form->opcode == SLU_PTX_OP_call ? (struct touch){ .effect = EFFECT_CALL }
							   : none();
	case SLU_PTX_FAMILY_NOP:
		return touch_of_nop(in);
	case SLU_PTX_FAMILY_MATRIX:
		return touch_of_matrix(in);
	case SLU_PTX_FAMILY_COPY:
		return touch_of_copy(in);
	case SLU_PTX_FAMILY_LOAD:
		return in->form->opcode == SLU_PTX_OP_ld || in->form->opcode == SLU_PTX_OP_ldu
			       ? plain(in, 1, true, false)
			       : unknown();
	case SLU_PTX_FAMILY_STORE:
		return in->form->opcode == SLU_PTX_OP_st ? plain(in, 0, false, true) : unknown();
	case SLU_PTX_FAMILY_ATOM:
		if (in->form->opcode == SLU_PTX_OP_atom)
			return plain(in, 1, true, true);
		return in->form->opcode == SLU_PTX_OP_red ? plain(in, 0, true, true) : unknown();
	default:
		return unknown();
	}
}

/* Functions that call functions are followed this deep, which ends at recursion too. */
#define MAX_CALLS 8u

/*
 * Sound: what a call gives back comes through parameter memory, and counts as loaded (translate.c).
 * So a function none of whose instructions may touch global memory changes nothing else. A failed
 * assertion ends the context: what its message is read from lies in the module, and no launch of
 * this context follows.
 */
static bool is_harmless_call(struct slu_predict_analysis *an, const struct slu_ptx_instr *call,
			     unsigned depth)
{
	const struct slu_ptx_function *f = call->operands[0].function;

	if (call->operands[0].kind != SLU_PTX_OPERAND_FUNCTION || depth == MAX_CALLS)
		return false;
	if (!f->is_defined)
		return !strcmp(f->name, "__assertfail");
	for (uint32_t i = 0; i < f->n_instrs; i++) {
		enum effect effect = touch_of(&f->instrs[i]).effect;

		if (!an->budget)
			return false;
		an->budget--;
		if (effect != EFFECT_NONE &&
		    (effect != EFFECT_CALL || !is_harmless_call(an, &f->instrs[i], depth + 1)))
			return false;
	}
	return true;
}

static bool add_access(struct slu_predict_analysis *an, uint32_t instr, const struct touch *t)
{
	const struct slu_ptx_instr *in = &an->function->instrs[instr];
	const struct slu_ptx_operand *o = &in->operands[t->operand];
	uint32_t facts = an->block_facts[an->flow.block_of[instr]];
	struct slu_predict_access access = {
		.offset = o->offset,
		.bytes = t->bytes,
		.line = in->line,
		.is_read = t->is_read,
		.is_written = t->is_written,
		.may_be_window = t->may_be_window,
	};

	if (in->guard != SLU_PTX_NO_REG)
		facts = slu_predict_guard_add(an, facts, instr, in->guard, !in->guard_is_negated);
	access.address = slu_predict_translate_address(an, instr, o, facts);
	access.guard = slu_predict_guard_op(an, facts);
	return slu_predict_program_access(an->program, &access);
}

enum slu_predict_reason slu_predict_access_all(struct slu_predict_analysis *an, uint32_t *ret_line)
{
	for (uint32_t i = 0; i < an->function->n_instrs; i++) {
		const struct slu_ptx_instr *in = &an->function->instrs[i];
		struct touch t;

		if (an->flow.block_of[i] == SLU_PREDICT_NO_BLOCK)
			continue;
		t = touch_of(in);
		*ret_line = in->line;
		if (t.effect == EFFECT_UNKNOWN)
			return SLU_PREDICT_REASON_MEMORY;
		if (t.effect == EFFECT_CALL && !is_harmless_call(an, in, 0))
			return SLU_PREDICT_REASON_CALL;
		if (t.effect == EFFECT_ACCESS && !add_access(an, i, &t))
			return SLU_PREDICT_REASON_LARGE;
		if (!an->budget)
			return SLU_PREDICT_REASON_LARGE;
	}
	*ret_line = 0;
	return SLU_PREDICT_REASON_NONE;
}
