/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/interp/code.h"

static const char *const names[] = {
	[SLU_INTERP_FAULT_NONE] = "none",
	[SLU_INTERP_FAULT_ADDRESS] = "illegal address",
	[SLU_INTERP_FAULT_MISALIGNED] = "misaligned address",
	[SLU_INTERP_FAULT_SPACE] = "invalid address space",
	[SLU_INTERP_FAULT_TRAP] = "trap",
	[SLU_INTERP_FAULT_ASSERT] = "assertion failed",
	[SLU_INTERP_FAULT_PC] = "invalid program counter",
	[SLU_INTERP_FAULT_STACK] = "stack overflow",
	[SLU_INTERP_FAULT_BARRIER] = "barrier that nobody completes",
	[SLU_INTERP_FAULT_CANCELLED] = "cancelled",
	[SLU_INTERP_FAULT_NO_MEMORY] = "no host memory",
};

const char *slu_interp_fault_name(enum slu_interp_fault_kind kind)
{
	return kind < _SLU_INTERP_FAULT_MAX ? names[kind] : "unknown";
}

const struct slu_interp_insn *slu_interp_fault(struct slu_interp_warp *warp,
					       const struct slu_interp_insn *insn,
					       enum slu_interp_fault_kind kind, unsigned lane,
					       uint64_t address, unsigned size, bool is_write)
{
	struct slu_interp_block *block = warp->block;

	block->fault = (struct slu_interp_fault){
		.kind = kind,
		.address = address,
		.is_write = is_write,
		.size = size,
		.kernel = block->launch->kernel->name,
		.block = { block->id[0], block->id[1], block->id[2] },
		.thread = { warp->tid[0][lane], warp->tid[1][lane], warp->tid[2][lane] },
		.line = insn->source ? insn->source->line : 0,
		.source_file = insn->source ? insn->source->source_file : 0,
		.source_line = insn->source ? insn->source->source_line : 0,
		.form = insn->source ? insn->source->form->text : "",
	};
	warp->event = SLU_INTERP_EVENT_FAULT;
	return NULL;
}
