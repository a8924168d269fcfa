/* SPDX-License-Identifier: Apache-2.0 */
/* Part of code.h: the names of faults. */
#include "softgpu/interp/code.h"

static const char *const names[] = {
	[DEV_INTERP_FAULT_NONE] = "none",
	[DEV_INTERP_FAULT_ADDRESS] = "illegal address",
	[DEV_INTERP_FAULT_MISALIGNED] = "misaligned address",
	[DEV_INTERP_FAULT_SPACE] = "invalid address space",
	[DEV_INTERP_FAULT_TRAP] = "trap",
	[DEV_INTERP_FAULT_ASSERT] = "assertion failed",
	[DEV_INTERP_FAULT_PC] = "invalid program counter",
	[DEV_INTERP_FAULT_STACK] = "stack overflow",
	[DEV_INTERP_FAULT_BARRIER] = "barrier that nobody completes",
	[DEV_INTERP_FAULT_OBJECT] = "no texture or surface object of that shape",
	[DEV_INTERP_FAULT_CANCELLED] = "cancelled",
	[DEV_INTERP_FAULT_NO_MEMORY] = "no host memory",
};

const char *dev_interp_fault_name(enum dev_interp_fault_kind kind)
{
	return kind < _DEV_INTERP_FAULT_MAX ? names[kind] : "unknown";
}

const struct dev_interp_insn *dev_interp_fault(struct dev_interp_warp *warp,
					       const struct dev_interp_insn *insn,
					       enum dev_interp_fault_kind kind, unsigned lane,
					       uint64_t address, unsigned size, bool is_write)
{
	struct dev_interp_block *block = warp->block;

	block->fault = (struct dev_interp_fault){
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
	warp->event = DEV_INTERP_EVENT_FAULT;
	return NULL;
}
