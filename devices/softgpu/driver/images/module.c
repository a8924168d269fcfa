/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/images/module.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/execution/stream.h"
#include "softgpu/driver/images/library.h"
#include "softgpu/driver/memory/memory.h"
#include "softgpu/driver/report.h"
#include "softgpu/interp/heap.h"

static struct dev_objects modules = DEV_OBJECTS_INIT(struct dev_module);
static struct dev_objects functions = DEV_OBJECTS_INIT(struct dev_function);

static bool is_in_device_memory(const struct slu_ptx_variable *v)
{
	return v->space != SLU_PTX_SPACE_SHARED;
}

static void write_initial_bytes(const struct dev_module *module, const struct slu_ptx_variable *v)
{
	uint8_t *at = dev_window_place(&dev_driver.window, module->variables[v->index]);

	if (v->init)
		memcpy(at, v->init, v->init_size);
	for (const struct slu_ptx_reloc *reloc = v->relocs; reloc; reloc = reloc->next) {
		uint64_t address = reloc->variable
					   ? module->variables[reloc->variable->index]
					   : dev_interp_module_function_address(reloc->function);

		address += (uint64_t)reloc->addend;
		memcpy(at + reloc->offset, &address, reloc->size);
	}
}

/* Managed variables are the program's, in whatever contexts it is. */
static CUresult place_managed(struct dev_module *module, bool *ret_is_new)
{
	struct dev_program *program = module->program;
	int r = dev_program_place_managed(program, ret_is_new);

	if (r)
		return dev_driver_result(r);
	for (unsigned i = 0; i < program->ptx->n_variables; i++)
		if (program->ptx->variables[i]->is_managed)
			module->variables[i] = program->managed + program->managed_at[i];
	return CUDA_SUCCESS;
}

static CUresult place_variables(struct dev_module *module)
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
		r = dev_memory_alloc(module->context, bytes, &module->memory);
		if (r)
			return r == DEV_CARD_E_FULL ? CUDA_ERROR_OUT_OF_MEMORY
						    : dev_driver_result(r);
		memset(dev_window_place(&dev_driver.window, module->memory), 0, bytes);
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

static void module_discard(struct dev_module *module)
{
	struct dev_function *f;

	while ((f = module->functions)) {
		module->functions = f->next;
		dev_object_free(&functions, f);
	}
	if (module->memory)
		dev_memory_free(module->memory);
	if (module->code_bytes)
		dev_context_give_bytes(module->context->card, module->code_bytes);
	free(module->variables);
	dev_program_unref(module->program);
	dev_object_free(&modules, module);
}

CUresult dev_module_new(struct dev_context *context, struct dev_program *program,
			struct dev_module **ret_module)
{
	struct dev_module *module = dev_object_new(&modules);
	CUresult result;

	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	module->context = context;
	module->program = dev_program_ref(program);
	result = place_variables(module);
	if (result) {
		module_discard(module);
		return result;
	}
	dev_context_lock(context);
	LIST_INSERT_HEAD(&context->modules, module, link);
	dev_context_unlock(context);
	*ret_module = module;
	return CUDA_SUCCESS;
}

void dev_module_free(struct dev_module *module)
{
	LIST_REMOVE(module, link);
	module_discard(module);
}

struct dev_module *dev_module_get(CUmodule handle)
{
	return dev_object_get(&modules, handle);
}

CUresult dev_module_function(struct dev_module *module, const char *name,
			     struct dev_function **ret_function)
{
	const struct slu_ptx_function *kernel = slu_ptx_module_kernel(module->program->ptx, name);
	struct dev_function *f;

	if (!kernel || !kernel->is_defined)
		return CUDA_ERROR_NOT_FOUND;
	dev_context_lock(module->context);
	for (f = module->functions; f; f = f->next)
		if (f->kernel == kernel)
			break;
	if (!f) {
		f = dev_object_new(&functions);
		if (f) {
			f->module = module;
			f->kernel = kernel;
			f->wishes.carveout = -1;
			f->next = module->functions;
			module->functions = f;
		}
	}
	dev_context_unlock(module->context);
	if (!f)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_function = f;
	return CUDA_SUCCESS;
}

CUresult dev_module_variable(struct dev_module *module, const char *name, uint64_t *ret_address,
			     size_t *ret_bytes)
{
	const struct slu_ptx_variable *v = slu_ptx_module_variable(module->program->ptx, name);

	if (!v || !is_in_device_memory(v))
		return CUDA_ERROR_NOT_FOUND;
	*ret_address = module->variables[v->index];
	*ret_bytes = v->size;
	return CUDA_SUCCESS;
}

struct dev_function *dev_module_function_get(CUfunction handle)
{
	struct dev_function *function = dev_object_get(&functions, handle);

	return function ? function : dev_library_function((CUkernel)(void *)handle);
}

unsigned dev_module_function_n_resident(const struct dev_function *function, unsigned n_threads,
					uint64_t dynamic_shared_bytes)
{
	if (n_threads > dev_traits_max_threads(function->kernel))
		return 0;
	return dev_limits_fit(dev_driver.settings.limits, n_threads,
			      function->kernel->shared_bytes + dynamic_shared_bytes);
}

/* What the local memory of @kernel takes on a card that is full of its threads. */
static uint64_t local_bytes_of(const struct dev_card *card, const struct slu_ptx_function *kernel)
{
	const struct dev_settings *s = &dev_driver.settings;

	return kernel->local_bytes * s->limits->n_threads * s->n_multiprocessors /
	       card->shared->traits.scale;
}

/* The memory of the kernels' malloc: the first kernel that may ask for it takes it, all at once. */
static int make_heap_locked(struct dev_context *context)
{
	uint64_t address, bytes;
	int r;

	dev_driver_lock();
	bytes = context->limits[CU_LIMIT_MALLOC_HEAP_SIZE];
	dev_driver_unlock();
	if (context->heap || !bytes)
		return 0;
	r = dev_memory_alloc(context, bytes, &address);
	if (r)
		return r;
	r = dev_interp_heap_new(address, bytes, &context->heap);
	if (r)
		dev_memory_free(address);
	return r;
}

/* Takes what a kernel needs of the card's memory beside the program's own. */
static int take_memory_locked(struct dev_function *function)
{
	struct dev_module *module = function->module;
	struct dev_context *context = module->context;
	uint64_t code, local;
	int r;

	if (dev_interp_builtin_uses_heap(module->program->interp)) {
		r = make_heap_locked(context);
		if (r)
			return r;
	}
	if (!context->overhead_bytes)
		return 0;
	code = module->code_bytes ? 0 : context->card->granule_bytes;
	local = slu_sub_floor(local_bytes_of(context->card, function->kernel),
			      context->local_bytes);
	r = dev_context_take_bytes(context->card, code + local);
	if (r)
		return r;
	module->code_bytes += code;
	context->local_bytes += local;
	return 0;
}

CUresult dev_module_function_load(struct dev_function *function)
{
	struct dev_context *context = function->module->context;
	struct slu_ptx_error error;
	int r = 0, taken = 0;

	if (__atomic_load_n(&function->is_loaded, __ATOMIC_ACQUIRE))
		return CUDA_SUCCESS;
	/* everybody else in this context waits: so does the genuine driver's */
	dev_context_lock(context);
	if (!function->is_loaded) {
		r = dev_interp_module_prepare(function->module->program->interp, function->kernel,
					      &error);
		if (!r) {
			dev_stream_drain(context);
			taken = take_memory_locked(function);
			if (!taken)
				__atomic_store_n(&function->is_loaded, true, __ATOMIC_RELEASE);
		}
	}
	dev_context_unlock(context);
	if (r == DEV_INTERP_E_REFUSED) {
		dev_report_launch(function->kernel->name, &error);
		return CUDA_ERROR_INVALID_PTX;
	}
	if (taken == DEV_CARD_E_FULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return dev_driver_result(r ? r : taken);
}
