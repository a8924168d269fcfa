/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A PTX text of any bytes. It is taken or refused at a place inside of it, never anything worse;
 * what is taken can be made ready or is refused again; and what has no loops and calls nobody is
 * run, on memory that is almost all out of bounds.
 */
#include <assert.h>
#include <string.h>

#include "softgpu/interp/testbed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_straight(const struct slu_ptx_function *f)
{
	for (uint32_t i = 0; i < f->n_instrs; i++)
		switch (f->instrs[i].form->opcode) {
		case SLU_PTX_OP_bra:
		case SLU_PTX_OP_brx:
		case SLU_PTX_OP_call:
			return false;
		default:
			break;
		}
	/* neither the stack nor shared memory shall be what takes time */
	return f->param_bytes <= 4096 && f->local_bytes <= 65536 && f->shared_bytes <= 65536 &&
	       f->n_regs <= 4096;
}

static unsigned count_lines(const uint8_t *data, size_t size)
{
	unsigned n = 1;

	for (size_t i = 0; i < size; i++)
		n += data[i] == '\n';
	return n;
}

static void run(struct dev_testbed *bed, const struct slu_ptx_function *kernel)
{
	struct dev_interp_launch launch = {
		.module = bed->module,
		.kernel = kernel,
		.grid = { 2, 1, 1 },
		.block = { 40, 1, 1 },
		.params = bed->params,
		.memory = &bed->memory,
		.variables = bed->variables,
	};
	int r = dev_interp_launch(&launch, &bed->fault);

	assert(r == 0 || r == DEV_INTERP_E_FAULT || r < 0);
	assert(r != DEV_INTERP_E_FAULT || bed->fault.kind);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slu_ptx_error error = { 0 };
	struct slu_ptx_module *module;
	struct dev_testbed bed;
	uint64_t total = 0;
	int r = slu_ptx_parse((const char *)data, size, &module, &error);

	assert(r == 0 || r == SLU_PTX_E_REFUSED);
	if (r) {
		assert(error.text[0] && error.line && error.column);
		assert(error.line <= count_lines(data, size));
		return 0;
	}
	dev_testbed_init(&bed);
	bed.ptx = module;
	r = dev_interp_module_new(module, &bed.module);
	assert(!r);
	bed.variables = calloc(module->n_variables + 1, sizeof(*bed.variables));
	assert(bed.variables);
	for (unsigned i = 0; i < module->n_variables; i++)
		total += module->variables[i]->size;
	for (unsigned i = 0; total < 1 << 20 && i < module->n_variables; i++)
		bed.variables[i] =
			(uint64_t)(uintptr_t)dev_testbed_alloc(&bed, module->variables[i]->size);
	for (unsigned i = 0; i < module->n_functions; i++) {
		const struct slu_ptx_function *f = module->functions[i];

		if (!f->is_kernel || !f->is_defined)
			continue;
		error = (struct slu_ptx_error){ 0 };
		r = dev_interp_module_prepare(bed.module, f, &error);
		assert(r == 0 || r == DEV_INTERP_E_REFUSED);
		assert(r == 0 || (error.text[0] && error.line));
		if (!r && is_straight(f))
			run(&bed, f);
	}
	dev_testbed_deinit(&bed);
	return 0;
}
