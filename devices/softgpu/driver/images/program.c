/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/images/program.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
#include "softgpu/driver/images/devrt.h"
#include "softgpu/driver/memory/managed.h"
#include "softgpu/driver/report.h"

/* Like the genuine driver's compiler, which refuses what could never be launched. */
static CUresult program_prepare(struct dev_program *program, const struct dev_image *image,
				unsigned capability, const struct dev_image_log *log)
{
	CUresult result = dev_image_parse(image, capability, log, &program->ptx);
	struct slu_ptx_error error;
	int r;

	if (result)
		return result;
	if (dev_interp_module_new(program->ptx, &program->interp))
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = dev_interp_module_check(program->interp, &error);
	if (r == DEV_INTERP_E_REFUSED) {
		dev_image_tell(log, "ptx: line %u, column %u: %s\n", error.line, error.column,
			       error.text);
		return CUDA_ERROR_INVALID_PTX;
	}
	return r ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult program_load(const void *image, unsigned capability,
			     const struct dev_image_log *log, struct dev_program **ret_program)
{
	struct dev_program *program;
	struct dev_image opened;
	CUresult result;

	result = dev_image_open(image, capability, log, &opened);
	if (result)
		return result;
	program = calloc(1, sizeof(*program));
	result = program ? dev_devrt_add(&opened, log) : CUDA_ERROR_OUT_OF_MEMORY;
	if (program)
		program->n_refs = 1;
	if (!result)
		result = program_prepare(program, &opened, capability, log);
	dev_image_close(&opened);
	if (result) {
		dev_program_unref(program);
		return result;
	}
	*ret_program = program;
	return CUDA_SUCCESS;
}

CUresult dev_program_load(const void *image, unsigned capability, const struct dev_image_log *log,
			  struct dev_program **ret_program)
{
	char text[512] = "";
	struct dev_image_log own = { text, sizeof(text) };
	bool has_log = log && log->text && log->size;
	CUresult result = program_load(image, capability, has_log ? log : &own, ret_program);

	if (result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_NO_BINARY_FOR_GPU)
		dev_report_image(has_log ? log->text : text, has_log);
	return result;
}

struct dev_program *dev_program_ref(struct dev_program *program)
{
	__atomic_add_fetch(&program->n_refs, 1, __ATOMIC_RELAXED);
	return program;
}

void dev_program_unref(struct dev_program *program)
{
	if (!program || __atomic_sub_fetch(&program->n_refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (program->managed)
		dev_managed_free(program->managed);
	free(program->managed_at);
	if (program->interp)
		dev_interp_module_free(program->interp);
	if (program->ptx)
		slu_ptx_module_free(program->ptx);
	free(program);
}

int dev_program_place_managed(struct dev_program *program, bool *ret_is_new)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	const struct slu_ptx_module *ptx = program->ptx;
	uint64_t bytes = 0;
	int r = 0;

	*ret_is_new = false;
	pthread_mutex_lock(&mutex);
	if (!program->managed_at) {
		program->managed_at = calloc(ptx->n_variables + 1, sizeof(*program->managed_at));
		if (!program->managed_at)
			r = slu_error(-ENOMEM);
		for (unsigned i = 0; i < ptx->n_variables && !r; i++) {
			const struct slu_ptx_variable *v = ptx->variables[i];

			if (!v->is_managed)
				continue;
			bytes = slu_round_up(bytes, SLU_MAX(v->align, 1u));
			program->managed_at[i] = bytes;
			bytes += v->size;
		}
		if (!r && bytes) {
			r = dev_managed_alloc(NULL, bytes, CU_MEM_ATTACH_GLOBAL, &program->managed);
			*ret_is_new = !r;
		}
		if (r) {
			free(program->managed_at);
			program->managed_at = NULL;
		}
	}
	pthread_mutex_unlock(&mutex);
	return r;
}

unsigned dev_program_count_kernels(const struct dev_program *program)
{
	unsigned n = 0;

	while (dev_program_kernel(program, n))
		n++;
	return n;
}

const struct slu_ptx_function *dev_program_kernel(const struct dev_program *program, unsigned i)
{
	const struct slu_ptx_module *ptx = program->ptx;

	for (unsigned j = 0; j < ptx->n_functions; j++)
		if (ptx->functions[j]->is_kernel && ptx->functions[j]->is_defined && !i--)
			return ptx->functions[j];
	return NULL;
}
