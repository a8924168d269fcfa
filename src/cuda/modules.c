/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/modules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "base/util.h"
#include "cuda/contexts.h"
#include "cuda/frozen.h"
#include "cuda/headroom.h"
#include "cuda/image.h"
#include "cuda/real.h"

#define FILE_BYTES_MAX (UINT64_C(1) << 31)

struct module {
	LIST_ENTRY(module) link;
	const void *handle; /* the driver's; constant, as are the next three */
	CUcontext context;  /* NULL: a library */
	CUdevice ordinal;   /* of the context */
	uint64_t bytes;
	unsigned n_charging;		       /* threads that charge it now */
	bool is_charged[SLU_CUDA_DEVICES_MAX]; /* by place in slu_cuda.devices */
};

/* guarded by slu_cuda.lock, as are its entries */
static LIST_HEAD(, module) modules = LIST_HEAD_INITIALIZER(modules);

static size_t device_place(const struct slu_cuda_device *d)
{
	return (size_t)(d - slu_cuda.devices);
}

static uint64_t module_key(const struct module *m, const struct slu_cuda_device *d)
{
	return (uint64_t)(uintptr_t)&m->is_charged[device_place(d)];
}

static bool module_is_due_locked(const struct module *m, const struct slu_cuda_device *d)
{
	return (!m->context || m->ordinal == d->ordinal) && d->service && !d->is_starting &&
	       !m->is_charged[device_place(d)];
}

void slu_cuda_modules_charge_all(struct slu_cuda_device *device)
{
	struct module *m;

	slu_lock_take(&slu_cuda.lock);
	do {
		LIST_FOREACH (m, &modules, link)
			if (module_is_due_locked(m, device))
				break;
		if (!m)
			break;
		m->is_charged[device_place(device)] = true;
		m->n_charging++;
		slu_lock_give(&slu_cuda.lock);
		slu_cuda_frozen_add(device, module_key(m, device), m->bytes, SLU_FROZEN_MODULE,
				    &(uint64_t){ 0 });
		slu_lock_take(&slu_cuda.lock);
		m->n_charging--;
		pthread_cond_broadcast(&slu_cuda.changed);
	} while (m);
	slu_lock_give(&slu_cuda.lock);
}

void slu_cuda_modules_reset(struct slu_cuda_device *device)
{
	struct module *m;

	slu_lock_take(&slu_cuda.lock);
	LIST_FOREACH (m, &modules, link)
		m->is_charged[device_place(device)] = false;
	slu_lock_give(&slu_cuda.lock);
}

/* What cannot be noted is left out. */
static void module_note(const void *handle, bool is_library, uint64_t bytes)
{
	CUcontext context = is_library ? NULL : slu_cuda_contexts_current();
	struct module *m = bytes ? calloc(1, sizeof(*m)) : NULL;
	CUdevice ordinal = 0;

	if (!m || (!is_library && SLU_REAL(cuCtxGetDevice)(&ordinal) != CUDA_SUCCESS)) {
		free(m);
		return;
	}
	m->handle = handle;
	m->context = context;
	m->ordinal = ordinal;
	m->bytes = bytes;
	slu_lock_take(&slu_cuda.lock);
	LIST_INSERT_HEAD(&modules, m, link);
	slu_lock_give(&slu_cuda.lock);
	for (unsigned i = 0; i < slu_cuda.n_devices; i++)
		slu_cuda_modules_charge_all(&slu_cuda.devices[i]);
}

/* Takes out the one with @handle, or one of @context where that is NULL. */
static struct module *module_take_out(const void *handle, CUcontext context)
{
	struct module *m;

	slu_lock_take(&slu_cuda.lock);
	LIST_FOREACH (m, &modules, link)
		if (handle ? m->handle == handle : m->context == context)
			break;
	if (m)
		LIST_REMOVE(m, link);
	while (m && m->n_charging)
		slu_lock_wait(&slu_cuda.lock, &slu_cuda.changed, NULL);
	slu_lock_give(&slu_cuda.lock);
	return m;
}

/* Out of the list nothing changes it any more. */
static void module_end(struct module *m)
{
	for (unsigned i = 0; i < slu_cuda.n_devices; i++)
		if (m->is_charged[i])
			slu_cuda_frozen_remove(module_key(m, &slu_cuda.devices[i]));
	free(m);
}

void slu_cuda_modules_forget(CUcontext context)
{
	struct module *m;

	while ((m = module_take_out(NULL, context)))
		module_end(m);
}

/* -- the calls ----------------------------------------------------------------------------------
 */

/* The variables of an image in a file; 0 if it cannot be read. */
static uint64_t file_variable_bytes(const char *path)
{
	FILE *file = fopen(path, "re");
	struct stat stat;
	uint64_t bytes = 0;
	char *text = NULL;
	size_t size = 0;

	if (file && !fstat(fileno(file), &stat) && (uint64_t)stat.st_size < FILE_BYTES_MAX) {
		size = (size_t)stat.st_size;
		text = malloc(size + 1);
	}
	if (text && fread(text, 1, size, file) == size) {
		text[size] = '\0'; /* PTX may end with the file */
		bytes = slu_cuda_image_variable_bytes(text, size);
	}
	free(text);
	if (file)
		fclose(file);
	return bytes;
}

static uint64_t memory_variable_bytes(const void *image)
{
	return slu_cuda_image_variable_bytes(image, UINT64_MAX);
}

/* The device of the calling thread, if the shim serves it and a refusal may be answered. */
static struct slu_cuda_device *device_if(CUresult r)
{
	return r == CUDA_ERROR_OUT_OF_MEMORY ? slu_cuda_device_here() : NULL;
}

#define LOAD(name, is_library, bytes_of, type, arguments, ...)                 \
	CUresult name(type *ret_handle, __VA_ARGS__)                           \
	{                                                                      \
		CUresult r = SLU_REAL(name) arguments;                         \
		struct slu_cuda_device *d = device_if(r);                      \
		int saved = errno;                                             \
                                                                               \
		SLU_CUDA_HEADROOM_RETRY (d, 0, r)                              \
			r = SLU_REAL(name) arguments;                          \
		if (r == CUDA_SUCCESS)                                         \
			module_note(*ret_handle, is_library, bytes_of(image)); \
		errno = saved;                                                 \
		return r;                                                      \
	}

LOAD(cuModuleLoad, false, file_variable_bytes, CUmodule, (ret_handle, image), const char *image)
LOAD(cuModuleLoadData, false, memory_variable_bytes, CUmodule, (ret_handle, image),
     const void *image)
LOAD(cuModuleLoadDataEx, false, memory_variable_bytes, CUmodule,
     (ret_handle, image, n_options, options, values), const void *image, unsigned int n_options,
     CUjit_option *options, void **values)
LOAD(cuModuleLoadFatBinary, false, memory_variable_bytes, CUmodule, (ret_handle, image),
     const void *image)
LOAD(cuLibraryLoadData, true, memory_variable_bytes, CUlibrary,
     (ret_handle, image, jit_options, jit_values, n_jit, options, values, n_options),
     const void *image, CUjit_option *jit_options, void **jit_values, unsigned int n_jit,
     CUlibraryOption *options, void **values, unsigned int n_options)
LOAD(cuLibraryLoadFromFile, true, file_variable_bytes, CUlibrary,
     (ret_handle, image, jit_options, jit_values, n_jit, options, values, n_options),
     const char *image, CUjit_option *jit_options, void **jit_values, unsigned int n_jit,
     CUlibraryOption *options, void **values, unsigned int n_options)

/* Taken out before: as soon as the driver has it, another thread may get the same value anew. */
#define UNLOAD(name, type)                                                        \
	CUresult name(type handle)                                                \
	{                                                                         \
		struct module *m = handle ? module_take_out(handle, NULL) : NULL; \
		CUresult r = SLU_REAL(name)(handle);                              \
                                                                                  \
		if (m && r == CUDA_SUCCESS) {                                     \
			module_end(m);                                            \
		} else if (m) {                                                   \
			slu_lock_take(&slu_cuda.lock);                            \
			LIST_INSERT_HEAD(&modules, m, link);                      \
			slu_lock_give(&slu_cuda.lock);                            \
		}                                                                 \
		return r;                                                         \
	}

UNLOAD(cuModuleUnload, CUmodule)
UNLOAD(cuLibraryUnload, CUlibrary)
