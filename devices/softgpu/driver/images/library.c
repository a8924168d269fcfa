/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/images/library.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/driver/driver.h"
#include "softgpu/driver/execution/stream.h"

struct dev_placement {
	LIST_ENTRY(dev_placement) link; /* in its library */
	LIST_ENTRY(dev_placement) all;
	struct dev_library *library;
	struct dev_context *context;
	struct dev_module *module;
};

static struct dev_objects libraries = DEV_OBJECTS_INIT(struct dev_library);
static struct dev_objects kernels = DEV_OBJECTS_INIT(struct dev_kernel);

/*
 * Guards what follows and the lists of all libraries; taken before a context's lock, and not held
 * while anybody waits for a stream.
 */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, dev_placement) placements = LIST_HEAD_INITIALIZER(placements);

CUresult dev_library_load(const void *image, const struct dev_image_log *log,
			  struct dev_library **ret_library)
{
	struct dev_library *library;
	struct dev_program *program;
	CUresult result;

	result = dev_program_load(image, dev_driver.settings.capability, log, &program);
	if (result)
		return result;
	library = dev_object_new(&libraries);
	if (!library) {
		dev_program_unref(program);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	LIST_INIT(&library->places);
	library->program = program;
	*ret_library = library;
	return CUDA_SUCCESS;
}

static void drop_placement(struct dev_placement *place)
{
	LIST_REMOVE(place, link);
	LIST_REMOVE(place, all);
	free(place);
}

/* Return: one of the modules of @library, which is not known any more; NULL: it has none. */
static struct dev_module *take_module(struct dev_library *library)
{
	struct dev_module *module = NULL;
	struct dev_placement *place;

	pthread_mutex_lock(&mutex);
	place = LIST_FIRST(&library->places);
	if (place) {
		module = place->module;
		drop_placement(place);
	}
	pthread_mutex_unlock(&mutex);
	return module;
}

void dev_library_free(struct dev_library *library)
{
	struct dev_module *module;
	struct dev_kernel *kernel;

	while ((module = take_module(library))) {
		struct dev_context *context = module->context;

		dev_context_lock(context);
		dev_stream_drain(context);
		dev_module_free(module);
		dev_context_unlock(context);
	}
	pthread_mutex_lock(&mutex);
	while ((kernel = library->kernels)) {
		library->kernels = kernel->next;
		dev_object_free(&kernels, kernel);
	}
	pthread_mutex_unlock(&mutex);
	dev_program_unref(library->program);
	dev_object_free(&libraries, library);
}

struct dev_library *dev_library_get(CUlibrary handle)
{
	return dev_object_get(&libraries, handle);
}

CUresult dev_library_module(struct dev_library *library, struct dev_context *context,
			    struct dev_module **ret_module)
{
	struct dev_placement *place;
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&mutex);
	LIST_FOREACH (place, &library->places, link)
		if (place->context == context)
			break;
	if (!place) {
		place = calloc(1, sizeof(*place));
		result = place ? dev_module_new(context, library->program, &place->module)
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

CUresult dev_library_kernel(struct dev_library *library, const char *name,
			    struct dev_kernel **ret_kernel)
{
	const struct slu_ptx_function *ptx = slu_ptx_module_kernel(library->program->ptx, name);
	struct dev_kernel *kernel;

	if (!ptx || !ptx->is_defined)
		return CUDA_ERROR_NOT_FOUND;
	pthread_mutex_lock(&mutex);
	for (kernel = library->kernels; kernel; kernel = kernel->next)
		if (kernel->ptx == ptx)
			break;
	if (!kernel)
		kernel = dev_object_new(&kernels);
	if (kernel && !kernel->library) {
		kernel->library = library;
		kernel->ptx = ptx;
		for (unsigned i = 0; i < DEV_SETTINGS_DEVICES_MAX; i++)
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

struct dev_kernel *dev_library_get_kernel(CUkernel handle)
{
	return dev_object_get(&kernels, handle);
}

struct dev_function *dev_library_function(CUkernel handle)
{
	struct dev_kernel *kernel = dev_library_get_kernel(handle);
	struct dev_function *function;
	struct dev_context *context;
	struct dev_module *module;

	if (!kernel || dev_context_enter(&context) ||
	    dev_library_module(kernel->library, context, &module) ||
	    dev_module_function(module, kernel->ptx->name, &function))
		return NULL;
	/* the function's own wishes win; who wishes for the kernel later sets both */
	if (!function->wishes.dynamic_shared_bytes)
		function->wishes.dynamic_shared_bytes =
			kernel->wishes[context->card->index].dynamic_shared_bytes;
	return function;
}

CUresult dev_library_wish(struct dev_kernel *kernel, struct dev_card *card,
			  CUfunction_attribute which, int value)
{
	struct dev_placement *place;
	struct dev_function *function;
	CUresult result;

	pthread_mutex_lock(&mutex);
	result = dev_traits_set(kernel->ptx, &kernel->wishes[card->index], which, value);
	LIST_FOREACH (place, &kernel->library->places, link)
		if (!result && place->context->card == card &&
		    !dev_module_function(place->module, kernel->ptx->name, &function))
			result = dev_traits_set(kernel->ptx, &function->wishes, which, value);
	pthread_mutex_unlock(&mutex);
	return result;
}

void dev_library_drop_context(struct dev_context *context)
{
	struct dev_placement *place, *next;

	pthread_mutex_lock(&mutex);
	for (place = LIST_FIRST(&placements); place; place = next) {
		next = LIST_NEXT(place, all);
		if (place->context == context)
			drop_placement(place);
	}
	pthread_mutex_unlock(&mutex);
}
