/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/module.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/library.h"
#include "softgpu/driver/memory.h"
#include "softgpu/driver/report.h"
#include "softgpu/driver/stream.h"
#include "softgpu/interp/heap.h"

static struct slu_objects modules = SLU_OBJECTS_INIT(struct slu_module);
static struct slu_objects functions = SLU_OBJECTS_INIT(struct slu_function);

static bool is_in_device_memory(const struct slu_ptx_variable *v)
{
	return v->space != SLU_PTX_SPACE_SHARED;
}

static void write_initial_bytes(const struct slu_module *module, const struct slu_ptx_variable *v)
{
	uint8_t *at = slu_window_place(&slu_driver.window, module->variables[v->index]);

	if (v->init)
		memcpy(at, v->init, v->init_size);
	for (const struct slu_ptx_reloc *reloc = v->relocs; reloc; reloc = reloc->next) {
		uint64_t address = reloc->variable ? module->variables[reloc->variable->index]
						   : slu_interp_function_address(reloc->function);

		address += (uint64_t)reloc->addend;
		memcpy(at + reloc->offset, &address, reloc->size);
	}
}

/* Managed variables are the program's, in whatever contexts it is. */
static CUresult place_managed(struct slu_module *module, bool *ret_is_new)
{
	struct slu_program *program = module->program;
	int r = slu_program_place_managed(program, ret_is_new);

	if (r)
		return slu_driver_result(r);
	for (unsigned i = 0; i < program->ptx->n_variables; i++)
		if (program->ptx->variables[i]->is_managed)
			module->variables[i] = program->managed + program->managed_at[i];
	return CUDA_SUCCESS;
}

static CUresult place_variables(struct slu_module *module)
{
	const struct slu_ptx_module *ptx = module->program->ptx;
	bool is_first_managed;
	uint64_t bytes = 0;
	CUresult result;
	int r;

	module->variables = calloc(ptx->n_variables + 1, sizeof(*module->variables));
	if (!module->variables)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = place_managed(module, &is_first_managed);
	if (result)
		return result;
	for (unsigned i = 0; i < ptx->n_variables; i++) {
		const struct slu_ptx_variable *v = ptx->variables[i];

		if (!is_in_device_memory(v) || v->is_managed)
			continue;
		bytes = slu_round_up(bytes, SLU_MAX(v->align, 1u));
		module->variables[i] = bytes;
		bytes += v->size;
	}
	if (bytes) {
		r = slu_memory_alloc(module->context, bytes, &module->memory);
		if (r)
			return r == SLU_CARD_E_FULL ? CUDA_ERROR_OUT_OF_MEMORY
						    : slu_driver_result(r);
		memset(slu_window_place(&slu_driver.window, module->memory), 0, bytes);
	}
	for (unsigned i = 0; i < ptx->n_variables; i++)
		if (is_in_device_memory(ptx->variables[i]) && !ptx->variables[i]->is_managed)
			module->variables[i] += module->memory;
	for (unsigned i = 0; i < ptx->n_variables; i++)
		if (is_in_device_memory(ptx->variables[i]) &&
		    (!ptx->variables[i]->is_managed || is_first_managed))
			write_initial_bytes(module, ptx->variables[i]);
	return CUDA_SUCCESS;
}

static void discard(struct slu_module *module)
{
	struct slu_function *f;

	while ((f = module->functions)) {
		module->functions = f->next;
		slu_objects_free(&functions, f);
	}
	if (module->memory)
		slu_memory_free(module->memory);
	if (module->code_bytes)
		slu_card_give_hidden(module->context->card, module->code_bytes);
	free(module->variables);
	slu_program_unref(module->program);
	slu_objects_free(&modules, module);
}

CUresult slu_module_new(struct slu_context *context, struct slu_program *program,
			struct slu_module **ret_module)
{
	struct slu_module *module = slu_objects_new(&modules);
	CUresult result;

	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	module->context = context;
	module->program = slu_program_ref(program);
	result = place_variables(module);
	if (result) {
		discard(module);
		return result;
	}
	slu_context_lock(context);
	LIST_INSERT_HEAD(&context->modules, module, link);
	slu_context_unlock(context);
	*ret_module = module;
	return CUDA_SUCCESS;
}

void slu_module_free(struct slu_module *module)
{
	LIST_REMOVE(module, link);
	discard(module);
}

struct slu_module *slu_module_get(CUmodule handle)
{
	return slu_objects_get(&modules, handle);
}

CUresult slu_module_function(struct slu_module *module, const char *name,
			     struct slu_function **ret_function)
{
	const struct slu_ptx_function *kernel = slu_ptx_module_kernel(module->program->ptx, name);
	struct slu_function *f;

	if (!kernel || !kernel->is_defined)
		return CUDA_ERROR_NOT_FOUND;
	slu_context_lock(module->context);
	for (f = module->functions; f; f = f->next)
		if (f->kernel == kernel)
			break;
	if (!f) {
		f = slu_objects_new(&functions);
		if (f) {
			f->module = module;
			f->kernel = kernel;
			f->wishes.carveout = -1;
			f->next = module->functions;
			module->functions = f;
		}
	}
	slu_context_unlock(module->context);
	if (!f)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_function = f;
	return CUDA_SUCCESS;
}

CUresult slu_module_variable(struct slu_module *module, const char *name, uint64_t *ret_address,
			     size_t *ret_bytes)
{
	const struct slu_ptx_variable *v = slu_ptx_module_variable(module->program->ptx, name);

	if (!v || !is_in_device_memory(v))
		return CUDA_ERROR_NOT_FOUND;
	*ret_address = module->variables[v->index];
	*ret_bytes = v->size;
	return CUDA_SUCCESS;
}

struct slu_function *slu_function_get(CUfunction handle)
{
	struct slu_function *function = slu_objects_get(&functions, handle);

	return function ? function : slu_library_function((CUkernel)(void *)handle);
}

unsigned slu_function_n_resident(const struct slu_function *function, unsigned n_threads,
				 uint64_t dynamic_shared_bytes)
{
	if (n_threads > slu_traits_max_threads(function->kernel))
		return 0;
	return slu_limits_fit(slu_driver.settings.limits, n_threads,
			      function->kernel->shared_bytes + dynamic_shared_bytes);
}

/* What the local memory of @kernel takes on a card that is full of its threads. */
static uint64_t local_bytes_of(const struct slu_card *card, const struct slu_ptx_function *kernel)
{
	const struct slu_settings *s = &slu_driver.settings;

	return kernel->local_bytes * s->limits->n_threads * s->n_multiprocessors /
	       card->shared->traits.scale;
}

/* The memory of the kernels' malloc: the first kernel that may ask for it takes it, all at once. */
static int make_heap_locked(struct slu_context *context)
{
	uint64_t address, bytes;
	int r;

	slu_driver_lock();
	bytes = context->limits[CU_LIMIT_MALLOC_HEAP_SIZE];
	slu_driver_unlock();
	if (context->heap || !bytes)
		return 0;
	r = slu_memory_alloc(context, bytes, &address);
	if (r)
		return r;
	r = slu_interp_heap_new(address, bytes, &context->heap);
	if (r)
		slu_memory_free(address);
	return r;
}

/* Takes what a kernel needs of the card's memory beside the program's own. */
static int take_room_locked(struct slu_function *function)
{
	struct slu_module *module = function->module;
	struct slu_context *context = module->context;
	uint64_t code, local;
	int r;

	if (slu_interp_module_uses_heap(module->program->interp)) {
		r = make_heap_locked(context);
		if (r)
			return r;
	}
	if (!context->overhead_bytes)
		return 0;
	code = module->code_bytes ? 0 : context->card->granule_bytes;
	local = slu_sub_floor(local_bytes_of(context->card, function->kernel),
			      context->local_bytes);
	r = slu_card_take_hidden(context->card, code + local);
	if (r)
		return r;
	module->code_bytes += code;
	context->local_bytes += local;
	return 0;
}

CUresult slu_function_load(struct slu_function *function)
{
	struct slu_context *context = function->module->context;
	struct slu_ptx_error error;
	int r = 0, room = 0;

	if (__atomic_load_n(&function->is_loaded, __ATOMIC_ACQUIRE))
		return CUDA_SUCCESS;
	/* everybody else in this context waits: so does the genuine driver's */
	slu_context_lock(context);
	if (!function->is_loaded) {
		r = slu_interp_prepare(function->module->program->interp, function->kernel, &error);
		if (!r) {
			slu_stream_drain(context);
			room = take_room_locked(function);
			if (!room)
				__atomic_store_n(&function->is_loaded, true, __ATOMIC_RELEASE);
		}
	}
	slu_context_unlock(context);
	if (r == SLU_INTERP_E_REFUSED) {
		slu_report_launch(function->kernel->name, &error);
		return CUDA_ERROR_INVALID_PTX;
	}
	if (room == SLU_CARD_E_FULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return slu_driver_result(r ? r : room);
}
