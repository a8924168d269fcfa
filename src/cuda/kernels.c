/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cuda/analyst.h"
#include "cuda/contexts.h"
#include "cuda/device.h"
#include "cuda/headroom.h"
#include "cuda/real.h"

#define BUCKETS 1024

/* What a launch may pass: more than any driver takes. */
#define PARAM_BYTES_MAX 65536

/* A module or library whose PTX is kept. */
struct image {
	LIST_ENTRY(image) link;
	const void *handle;	    /* constant, as is the rest */
	const void *library;	    /* a module of this library; else NULL */
	CUcontext context;	    /* NULL: a library */
	struct slu_cuda_text *text; /* held */
};

/* All guarded by slu_cuda.lock. */
static LIST_HEAD(, slu_cuda_kernel) buckets[BUCKETS];
static LIST_HEAD(, image) images = LIST_HEAD_INITIALIZER(images);

/* A launch's parameters, as its kernel has them. Guarded by slu_cuda.lock. */
static _Alignas(16) unsigned char gathered[PARAM_BYTES_MAX];

/* -- the lists -------------------------------------------------------------------------------- */

static void text_unref_locked(struct slu_cuda_text *text)
{
	if (text && !--text->n_refs)
		free(text);
}

static struct slu_cuda_kernel *bucket_first(const void *handle, size_t *ret_bucket)
{
	*ret_bucket = ((uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15)) >> 54;
	return LIST_FIRST(&buckets[*ret_bucket]);
}

static struct slu_cuda_kernel *kernel_find_locked(const void *handle)
{
	size_t bucket;
	struct slu_cuda_kernel *k = bucket_first(handle, &bucket);

	while (k && k->handle != handle)
		k = LIST_NEXT(k, link);
	return k;
}

void slu_cuda_kernel_unref_locked(struct slu_cuda_kernel *k)
{
	if (--k->n_refs)
		return;
	text_unref_locked(k->text);
	slu_predict_sheet_free(k->sheet);
	slu_predict_kernel_free(k->predict);
	free(k->params);
	free(k->name);
	free(k);
}

static void kernel_drop_locked(struct slu_cuda_kernel *k)
{
	LIST_REMOVE(k, link);
	slu_cuda_kernel_unref_locked(k);
}

/* Drops the kernels of an image, or those of a context. */
static void kernels_drop_locked(const void *image, CUcontext context)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		struct slu_cuda_kernel *k = LIST_FIRST(&buckets[i]), *next;

		for (; k; k = next) {
			next = LIST_NEXT(k, link);
			if (image ? k->image == image : k->context == context)
				kernel_drop_locked(k);
		}
	}
}

static struct image *image_find_locked(const void *handle)
{
	struct image *image;

	LIST_FOREACH (image, &images, link)
		if (image->handle == handle)
			break;
	return image;
}

static void image_drop_locked(struct image *image)
{
	LIST_REMOVE(image, link);
	kernels_drop_locked(image->handle, NULL);
	text_unref_locked(image->text);
	free(image);
}

/* Drops the image @handle and, of a library, its modules. */
static void images_drop_locked(const void *handle)
{
	struct image *image = LIST_FIRST(&images), *next;

	for (; image; image = next) {
		next = LIST_NEXT(image, link);
		if (image->handle == handle || image->library == handle)
			image_drop_locked(image);
	}
}

void slu_cuda_kernels_loaded(const void *handle, CUcontext context, struct slu_cuda_text *text)
{
	struct image *image = text ? malloc(sizeof(*image)) : NULL;

	slu_lock_take(&slu_cuda.lock);
	images_drop_locked(handle);
	if (image) {
		*image = (struct image){ .handle = handle, .context = context, .text = text };
		LIST_INSERT_HEAD(&images, image, link);
	} else {
		text_unref_locked(text);
	}
	slu_lock_give(&slu_cuda.lock);
}

void slu_cuda_kernels_unload(const void *handle)
{
	slu_lock_take(&slu_cuda.lock);
	images_drop_locked(handle);
	slu_lock_give(&slu_cuda.lock);
}

void slu_cuda_kernels_forget(CUcontext context)
{
	struct image *image, *next;

	slu_lock_take(&slu_cuda.lock);
	for (image = LIST_FIRST(&images); image; image = next) {
		next = LIST_NEXT(image, link);
		if (image->context == context)
			image_drop_locked(image);
	}
	kernels_drop_locked(NULL, context);
	slu_lock_give(&slu_cuda.lock);
}

void slu_cuda_kernels_forked(void)
{
	for (size_t i = 0; i < BUCKETS; i++)
		LIST_INIT(&buckets[i]);
	LIST_INIT(&images);
}

/*
 * The driver gave out @handle, the kernel @name of the image @image_handle. In @context; NULL: in
 * none.
 */
static void kernel_note(const void *handle, const void *image_handle, CUcontext context,
			const char *name)
{
	struct slu_cuda_kernel *k = calloc(1, sizeof(*k)), *old;
	char *copy = k ? strdup(name) : NULL;
	const struct image *image;
	size_t bucket;

	slu_lock_take(&slu_cuda.lock);
	image = image_find_locked(image_handle);
	old = kernel_find_locked(handle);
	if (old && image && old->text == image->text && old->image == image_handle &&
	    old->context == context && !strcmp(old->name, name)) {
		image = NULL; /* it is the same one */
	} else if (old) {
		kernel_drop_locked(old);
	}
	if (image && copy) {
		*k = (struct slu_cuda_kernel){
			.n_refs = 1,
			.handle = handle,
			.image = image_handle,
			.context = context,
			.text = image->text,
			.name = copy,
		};
		k->text->n_refs++;
		bucket_first(handle, &bucket);
		LIST_INSERT_HEAD(&buckets[bucket], k, link);
		k = NULL;
		copy = NULL;
	}
	slu_lock_give(&slu_cuda.lock);
	free(copy);
	free(k);
}

/* -- analysis --------------------------------------------------------------------------------- */

struct slu_cuda_kernel *slu_cuda_kernels_next_wanted_locked(const struct slu_cuda_text *text)
{
	struct slu_cuda_kernel *k;

	for (size_t i = 0; i < BUCKETS; i++)
		LIST_FOREACH (k, &buckets[i], link)
			if (text ? k->text == text && k->state != SLU_CUDA_KERNEL_KNOWN
				 : k->state == SLU_CUDA_KERNEL_WANTED) {
				k->n_refs++;
				return k;
			}
	return NULL;
}

void slu_cuda_kernels_know_locked(struct slu_cuda_kernel *k, struct slu_predict_kernel *predict,
				  struct slu_cuda_kernel_param *layout, size_t n_params,
				  size_t param_bytes)
{
	k->state = SLU_CUDA_KERNEL_KNOWN;
	if (predict &&
	    (param_bytes > PARAM_BYTES_MAX || slu_predict_sheet_new(predict, &k->sheet))) {
		slu_predict_kernel_free(predict);
		predict = NULL;
	}
	k->predict = predict;
	k->params = layout;
	k->n_params = n_params;
	k->param_bytes = param_bytes;
	pthread_cond_broadcast(&slu_cuda.changed);
}

/* The buffer of parameters that a launch gives in @extra. Return: false if it is none we know. */
static bool extra_read(void **extra, const void **ret_params, size_t *ret_bytes)
{
	const void *buffer = NULL;
	const size_t *bytes = NULL;

	for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[i + 1];
		else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			bytes = extra[i + 1];
		else
			return false;
	}
	if (!buffer || !bytes)
		return false;
	*ret_params = buffer;
	*ret_bytes = *bytes;
	return true;
}

static bool params_read(const struct slu_cuda_kernel *k, const struct slu_cuda_launch *launch,
			const void **ret_params, size_t *ret_bytes)
{
	if (!launch->params && launch->extra)
		return extra_read(launch->extra, ret_params, ret_bytes);
	if ((!launch->params && k->n_params) || launch->extra)
		return false;
	for (size_t i = 0; i < k->n_params; i++) {
		const struct slu_cuda_kernel_param *p = &k->params[i];

		if (!launch->params[i])
			return false;
		memcpy(gathered + p->offset, launch->params[i], p->bytes);
	}
	*ret_params = gathered;
	*ret_bytes = k->param_bytes;
	return true;
}

static void kernel_want_locked(struct slu_cuda_kernel *k)
{
	if (k->state != SLU_CUDA_KERNEL_KEPT)
		return;
	k->state = SLU_CUDA_KERNEL_WANTED;
	slu_cuda_analyst_wake_locked();
}

const char *slu_cuda_kernels_name_locked(CUfunction function)
{
	const struct slu_cuda_kernel *k = kernel_find_locked(function);

	return k ? k->name : NULL;
}

void slu_cuda_kernels_await_locked(CUfunction function)
{
	struct slu_cuda_kernel *k = slu_cuda_kernels_get_locked(function);

	if (!k)
		return;
	slu_cuda_kernel_await_locked(k);
	slu_cuda_kernel_unref_locked(k);
}

struct slu_cuda_kernel *slu_cuda_kernels_get_locked(const void *handle)
{
	struct slu_cuda_kernel *k = kernel_find_locked(handle);

	if (k)
		k->n_refs++;
	return k;
}

void slu_cuda_kernel_await_locked(struct slu_cuda_kernel *k)
{
	/* one that the program gave up is not analysed any more */
	while (k->state != SLU_CUDA_KERNEL_KNOWN && kernel_find_locked(k->handle) == k) {
		kernel_want_locked(k);
		slu_lock_wait(&slu_cuda.lock, &slu_cuda.changed, NULL);
	}
}

const struct slu_predict_set *
slu_cuda_kernel_evaluate_locked(struct slu_cuda_kernel *k, const struct slu_predict_launch *launch)
{
	kernel_want_locked(k);
	return k->predict ? slu_predict_sheet_evaluate(k->sheet, launch) : NULL;
}

const struct slu_predict_set *slu_cuda_kernels_evaluate_locked(const struct slu_cuda_launch *launch)
{
	struct slu_cuda_kernel *k = kernel_find_locked(launch->function);
	struct slu_predict_launch asked = { 0 };

	if (!k)
		return NULL;
	kernel_want_locked(k);
	if (!k->predict || !params_read(k, launch, &asked.params, &asked.param_bytes))
		return NULL;
	memcpy(asked.grid, launch->grid, sizeof(asked.grid));
	memcpy(asked.block, launch->block, sizeof(asked.block));
	return slu_predict_sheet_evaluate(k->sheet, &asked);
}

/* -- the calls ----------------------------------------------------------------------------------
 */

static struct slu_cuda_device *device_if(CUresult r)
{
	return r == CUDA_ERROR_OUT_OF_MEMORY ? slu_cuda_device_here() : NULL;
}

/* A call that gives out a handle, and may need headroom. */
#define GIVE(name, arguments, note, ...)                  \
	CUresult name(__VA_ARGS__)                        \
	{                                                 \
		CUresult r = SLU_REAL(name) arguments;    \
		struct slu_cuda_device *d = device_if(r); \
		int saved = errno;                        \
                                                          \
		SLU_CUDA_HEADROOM_RETRY (d, 0, r)         \
			r = SLU_REAL(name) arguments;     \
		if (r == CUDA_SUCCESS)                    \
			note;                             \
		errno = saved;                            \
		return r;                                 \
	}

/* The function of a kernel is the same code, in the current context. */
static void function_note(CUfunction function, CUkernel kernel)
{
	CUcontext context = slu_cuda_contexts_current();
	const struct slu_cuda_kernel *k;
	const void *image = NULL;
	char *name = NULL;

	slu_lock_take(&slu_cuda.lock);
	k = kernel_find_locked(kernel);
	if (k) {
		name = strdup(k->name);
		image = k->image;
	}
	slu_lock_give(&slu_cuda.lock);
	kernel_note(function, name ? image : NULL, context, name ? name : "");
	free(name);
}

/* A library's module in the current context has the library's code. */
static void module_note(CUmodule module, CUlibrary library)
{
	CUcontext context = slu_cuda_contexts_current();
	struct image *made = malloc(sizeof(*made)), *of;
	const struct image *is;

	slu_lock_take(&slu_cuda.lock);
	of = image_find_locked(library);
	is = image_find_locked(module);
	if (!is || !of || is->text != of->text || is->library != library ||
	    is->context != context) {
		images_drop_locked(module);
		if (of && made) {
			*made = (struct image){ .handle = module,
						.library = library,
						.context = context,
						.text = of->text };
			made->text->n_refs++;
			LIST_INSERT_HEAD(&images, made, link);
			made = NULL;
		}
	}
	slu_lock_give(&slu_cuda.lock);
	free(made);
}

/* Handles that are given out by number: what they were before is not what they are now. */
static void handles_forget(const void *const *handles, unsigned n)
{
	struct slu_cuda_kernel *k;

	slu_lock_take(&slu_cuda.lock);
	for (unsigned i = 0; i < n; i++) {
		k = kernel_find_locked(handles[i]);
		if (k)
			kernel_drop_locked(k);
	}
	slu_lock_give(&slu_cuda.lock);
}

GIVE(cuModuleGetFunction, (ret_function, module, name),
     kernel_note(*ret_function, module, slu_cuda_contexts_current(), name),
     CUfunction *ret_function, CUmodule module, const char *name)
GIVE(cuLibraryGetKernel, (ret_kernel, library, name), kernel_note(*ret_kernel, library, NULL, name),
     CUkernel *ret_kernel, CUlibrary library, const char *name)
GIVE(cuKernelGetFunction, (ret_function, kernel), function_note(*ret_function, kernel),
     CUfunction *ret_function, CUkernel kernel)
GIVE(cuLibraryGetModule, (ret_module, library), module_note(*ret_module, library),
     CUmodule *ret_module, CUlibrary library)
GIVE(cuModuleEnumerateFunctions, (ret_functions, n, module),
     handles_forget((const void *const *)ret_functions, n), CUfunction *ret_functions,
     unsigned int n, CUmodule module)
GIVE(cuLibraryEnumerateKernels, (ret_kernels, n, library),
     handles_forget((const void *const *)ret_kernels, n), CUkernel *ret_kernels, unsigned int n,
     CUlibrary library)
