/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>

#include "base/util.h"
#include "opencl/memory.h"
#include "opencl/program.h"

static struct slu_table programs; /* guarded by the layer's lock */

static struct slu_program *program_find_with_ref(cl_program handle)
{
	struct slu_program *program = NULL;
	struct slu_table_node *node;

	slu_layer_take();
	node = slu_table_find(&programs, handle);
	if (node) {
		program = slu_container_of(node, struct slu_program, node);
		program->n_kernels++;
	}
	slu_layer_give();
	return program;
}

/* Of one device: where a context has several, its first pays for all. */
static size_t program_ask_size(cl_program handle, cl_context context)
{
	struct slu_context *known;
	size_t size = 0;

	if (slu_context_get(context, &known))
		return 0;
	if (slu_layer_next.clGetProgramBuildInfo(handle, known->first,
						 CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE,
						 sizeof(size), &size, NULL) != CL_SUCCESS)
		size = 0;
	slu_context_unref(known);
	return size;
}

static struct slu_program *program_enter(cl_program handle, cl_context context, size_t size)
{
	struct slu_program *program = calloc(1, sizeof(*program));
	struct slu_table_node *old = NULL;
	bool is_noted;

	if (!program)
		return NULL;
	program->n_kernels = 1;
	program->charged =
		slu_memory_charge(context, size, SLU_FROZEN_MODULE, &(struct slu_reserve){ 0 });
	if (!program->charged) {
		free(program);
		return NULL;
	}
	slu_layer_take();
	is_noted = !slu_table_find(&programs, handle) &&
		   !slu_table_put(&programs, handle, &program->node, &old);
	slu_layer_give();
	if (is_noted)
		return program;
	slu_memory_discharge(program->charged);
	free(program);
	return program_find_with_ref(handle);
}

struct slu_program *slu_program_get(cl_kernel kernel)
{
	struct slu_program *program;
	cl_context context = NULL;
	cl_program handle = NULL;
	size_t size;

	if (!slu_layer_next.clGetProgramBuildInfo ||
	    slu_layer_next.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(handle), &handle,
					   NULL) != CL_SUCCESS ||
	    slu_layer_next.clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof(context), &context,
					   NULL) != CL_SUCCESS)
		return NULL;
	program = program_find_with_ref(handle);
	if (program)
		return program;
	size = program_ask_size(handle, context);
	return size ? program_enter(handle, context, size) : NULL;
}

void slu_program_put(struct slu_program *program)
{
	bool is_last;

	if (!program)
		return;
	slu_layer_take();
	is_last = --program->n_kernels == 0;
	if (is_last)
		slu_table_remove(&programs, &program->node);
	slu_layer_give();
	if (is_last) {
		slu_memory_discharge(program->charged);
		free(program);
	}
}
