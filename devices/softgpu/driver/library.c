/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/library.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/driver/driver.h"
#include "softgpu/driver/stream.h"

struct slu_placement {
	LIST_ENTRY(slu_placement) link; /* in its library */
	LIST_ENTRY(slu_placement) all;
	struct slu_library *library;
	struct slu_context *context;
	struct slu_module *module;
};

static struct slu_objects libraries = SLU_OBJECTS_INIT(struct slu_library);
static struct slu_objects kernels = SLU_OBJECTS_INIT(struct slu_kernel);

/*
 * Guards what follows and the lists of all libraries; taken before a context's lock, and not held
 * while anybody waits for a stream.
 */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, slu_placement) placements = LIST_HEAD_INITIALIZER(placements);

CUresult slu_library_load(const void *image, const struct slu_image_log *log,
			  struct slu_library **ret_library)
{
	struct slu_library *library;
	struct slu_program *program;
	CUresult result;

	result = slu_program_load(image, slu_driver.settings.capability, log, &program);
	if (result)
		return result;
	library = slu_objects_new(&libraries);
	if (!library) {
		slu_program_unref(program);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	LIST_INIT(&library->places);
	library->program = program;
	*ret_library = library;
	return CUDA_SUCCESS;
}

static void drop_placement(struct slu_placement *place)
{
	LIST_REMOVE(place, link);
	LIST_REMOVE(place, all);
	free(place);
}

/* Return: one of the modules of @library, which is not known any more; NULL: it has none. */
static struct slu_module *take_module(struct slu_library *library)
{
	struct slu_module *module = NULL;
	struct slu_placement *place;

	pthread_mutex_lock(&mutex);
	place = LIST_FIRST(&library->places);
	if (place) {
		module = place->module;
		drop_placement(place);
	}
	pthread_mutex_unlock(&mutex);
	return module;
}

void slu_library_free(struct slu_library *library)
{
	struct slu_module *module;
	struct slu_kernel *kernel;

	while ((module = take_module(library))) {
		struct slu_context *context = module->context;

		slu_context_lock(context);
		slu_stream_drain(context);
		slu_module_free(module);
		slu_context_unlock(context);
	}
	pthread_mutex_lock(&mutex);
	while ((kernel = library->kernels)) {
		library->kernels = kernel->next;
		slu_objects_free(&kernels, kernel);
	}
	pthread_mutex_unlock(&mutex);
	slu_program_unref(library->program);
	slu_objects_free(&libraries, library);
}

struct slu_library *slu_library_get(CUlibrary handle)
{
	return slu_objects_get(&libraries, handle);
}

CUresult slu_library_module(struct slu_library *library, struct slu_context *context,
			    struct slu_module **ret_module)
{
	struct slu_placement *place;
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&mutex);
	LIST_FOREACH (place, &library->places, link)
		if (place->context == context)
			break;
	if (!place) {
		place = calloc(1, sizeof(*place));
		result = place ? slu_module_new(context, library->program, &place->module)
			       : CUDA_ERROR_OUT_OF_MEMORY;
		if (result) {
			free(place);
		} else {
			place->library = library;
			place->context = context;
			LIST_INSERT_HEAD(&library->places, place, link);
			LIST_INSERT_HEAD(&placements, place, all);
		}
	}
	if (!result)
		*ret_module = place->module;
	pthread_mutex_unlock(&mutex);
	return result;
}

CUresult slu_library_kernel(struct slu_library *library, const char *name,
			    struct slu_kernel **ret_kernel)
{
	const struct slu_ptx_function *ptx = slu_ptx_module_kernel(library->program->ptx, name);
	struct slu_kernel *kernel;

	if (!ptx || !ptx->is_defined)
		return CUDA_ERROR_NOT_FOUND;
	pthread_mutex_lock(&mutex);
	for (kernel = library->kernels; kernel; kernel = kernel->next)
		if (kernel->ptx == ptx)
			break;
	if (!kernel)
		kernel = slu_objects_new(&kernels);
	if (kernel && !kernel->library) {
		kernel->library = library;
		kernel->ptx = ptx;
		for (unsigned i = 0; i < SLU_SETTINGS_DEVICES_MAX; i++)
			kernel->wishes[i].carveout = -1;
		kernel->next = library->kernels;
		library->kernels = kernel;
	}
	pthread_mutex_unlock(&mutex);
	if (!kernel)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_kernel = kernel;
	return CUDA_SUCCESS;
}

struct slu_kernel *slu_library_get_kernel(CUkernel handle)
{
	return slu_objects_get(&kernels, handle);
}

struct slu_function *slu_library_function(CUkernel handle)
{
	struct slu_kernel *kernel = slu_library_get_kernel(handle);
	struct slu_function *function;
	struct slu_context *context;
	struct slu_module *module;

	if (!kernel || slu_context_enter(&context) ||
	    slu_library_module(kernel->library, context, &module) ||
	    slu_module_function(module, kernel->ptx->name, &function))
		return NULL;
	/* the function's own wishes win; who wishes for the kernel later sets both */
	if (!function->wishes.dynamic_shared_bytes)
		function->wishes.dynamic_shared_bytes =
			kernel->wishes[context->card->index].dynamic_shared_bytes;
	return function;
}

CUresult slu_library_wish(struct slu_kernel *kernel, struct slu_card *card,
			  CUfunction_attribute which, int value)
{
	struct slu_placement *place;
	struct slu_function *function;
	CUresult result;

	pthread_mutex_lock(&mutex);
	result = slu_traits_set(kernel->ptx, &kernel->wishes[card->index], which, value);
	LIST_FOREACH (place, &kernel->library->places, link)
		if (!result && place->context->card == card &&
		    !slu_module_function(place->module, kernel->ptx->name, &function))
			result = slu_traits_set(kernel->ptx, &function->wishes, which, value);
	pthread_mutex_unlock(&mutex);
	return result;
}

void slu_library_drop_context(struct slu_context *context)
{
	struct slu_placement *place, *next;

	pthread_mutex_lock(&mutex);
	for (place = LIST_FIRST(&placements); place; place = next) {
		next = LIST_NEXT(place, all);
		if (place->context == context)
			drop_placement(place);
	}
	pthread_mutex_unlock(&mutex);
}
