/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/modules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "base/util.h"
#include "cuda/contexts.h"
#include "cuda/frozen.h"
#include "cuda/headroom.h"
#include "cuda/image.h"
#include "cuda/kernels.h"
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
	slu_cuda_kernels_forget(context);
}

/* -- the calls ----------------------------------------------------------------------------------
 */

/* Where an image is: in memory, or in a file that was like @before when the driver was asked. */
struct source {
	const void *memory; /* NULL: a file */
	const char *path;
	struct stat before;
};

static struct source source_memory(const void *image)
{
	return (struct source){ .memory = image };
}

static struct source source_file(const char *path)
{
	struct source s = { .path = path };

	if (!path || stat(path, &s.before))
		s.before = (struct stat){ 0 };
	return s;
}

/* The file with a zero behind it; to be freed. NULL if it cannot be read, or is not the same. */
static char *source_read(const struct source *s, size_t *ret_size)
{
	FILE *file = fopen(s->path, "re");
	const struct stat *before = &s->before;
	struct stat now;
	char *text = NULL;
	size_t size = 0;

	if (file && !fstat(fileno(file), &now) && (uint64_t)now.st_size < FILE_BYTES_MAX &&
	    now.st_dev == before->st_dev && now.st_ino == before->st_ino &&
	    now.st_size == before->st_size &&
	    !memcmp(&now.st_mtim, &before->st_mtim, sizeof(now.st_mtim)) &&
	    !memcmp(&now.st_ctim, &before->st_ctim, sizeof(now.st_ctim))) {
		size = (size_t)now.st_size;
		text = malloc(size + 1);
	}
	if (text && fread(text, 1, size, file) != size) {
		free(text);
		text = NULL;
	}
	if (file)
		fclose(file);
	if (text)
		text[size] = '\0'; /* PTX may end with the file */
	*ret_size = size;
	return text;
}

static unsigned device_capability(CUdevice ordinal)
{
	int major = 0, minor = 0;

	SLU_REAL(cuDeviceGetAttribute)
	(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ordinal);
	SLU_REAL(cuDeviceGetAttribute)
	(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, ordinal);
	return (unsigned)(10 * major + minor);
}

/* The devices that an image may run on have one compute capability; 0 if they have several. */
static unsigned image_capability(bool is_library)
{
	unsigned capability;
	CUdevice ordinal;
	int n = 0;

	if (!is_library)
		return SLU_REAL(cuCtxGetDevice)(&ordinal) == CUDA_SUCCESS
			       ? device_capability(ordinal)
			       : 0;
	if (SLU_REAL(cuDeviceGetCount)(&n) != CUDA_SUCCESS || !n)
		return 0;
	capability = device_capability(0);
	for (int i = 1; i < n; i++)
		if (device_capability(i) != capability)
			return 0;
	return capability;
}

/* Whether options of the compiler choose which part of an image runs. */
static bool options_choose(const CUjit_option *options, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (options[i] >= CU_JIT_TARGET_FROM_CUCONTEXT &&
		    options[i] <= CU_JIT_FALLBACK_STRATEGY)
			return true;
	return false;
}

/* The driver loaded an image: what it takes, and what its kernels are. */
static void image_note(const void *handle, bool is_library, const struct source *s,
		       const CUjit_option *options, unsigned n_options)
{
	unsigned capability = options_choose(options, n_options) ? 0 : image_capability(is_library);
	const void *image = s->memory;
	uint64_t size = UINT64_MAX;
	size_t file_bytes;
	char *read = NULL;

	if (!image) {
		image = read = source_read(s, &file_bytes);
		size = file_bytes;
	}
	slu_cuda_kernels_loaded(handle, is_library ? NULL : slu_cuda_contexts_current(),
				capability ? slu_cuda_text_new(image, size, capability) : NULL);
	module_note(handle, is_library, slu_cuda_image_variable_bytes(image, size));
	free(read);
}

/* The device of the calling thread, if the shim serves it and a refusal may be answered. */
static struct slu_cuda_device *device_if(CUresult r)
{
	return r == CUDA_ERROR_OUT_OF_MEMORY ? slu_cuda_device_here() : NULL;
}

#define LOAD(name, is_library, source_of, options, n_options, type, arguments, ...)       \
	CUresult name(type *ret_handle, __VA_ARGS__)                                      \
	{                                                                                 \
		int saved = errno;                                                        \
		struct source source = source_of(image);                                  \
		CUresult r = SLU_REAL(name) arguments;                                    \
		struct slu_cuda_device *d = device_if(r);                                 \
                                                                                          \
		SLU_CUDA_HEADROOM_RETRY (d, 0, r)                                         \
			r = SLU_REAL(name) arguments;                                     \
		if (r == CUDA_SUCCESS)                                                    \
			image_note(*ret_handle, is_library, &source, options, n_options); \
		errno = saved;                                                            \
		return r;                                                                 \
	}

LOAD(cuModuleLoad, false, source_file, NULL, 0, CUmodule, (ret_handle, image), const char *image)
LOAD(cuModuleLoadData, false, source_memory, NULL, 0, CUmodule, (ret_handle, image),
     const void *image)
LOAD(cuModuleLoadDataEx, false, source_memory, options, n_options, CUmodule,
     (ret_handle, image, n_options, options, values), const void *image, unsigned int n_options,
     CUjit_option *options, void **values)
LOAD(cuModuleLoadFatBinary, false, source_memory, NULL, 0, CUmodule, (ret_handle, image),
     const void *image)
LOAD(cuLibraryLoadData, true, source_memory, jit_options, n_jit, CUlibrary,
     (ret_handle, image, jit_options, jit_values, n_jit, options, values, n_options),
     const void *image, CUjit_option *jit_options, void **jit_values, unsigned int n_jit,
     CUlibraryOption *options, void **values, unsigned int n_options)
LOAD(cuLibraryLoadFromFile, true, source_file, jit_options, n_jit, CUlibrary,
     (ret_handle, image, jit_options, jit_values, n_jit, options, values, n_options),
     const char *image, CUjit_option *jit_options, void **jit_values, unsigned int n_jit,
     CUlibraryOption *options, void **values, unsigned int n_options)

/* Taken out before: as soon as the driver has it, another thread may get the same value anew. */
#define UNLOAD(name, type)                                                        \
	CUresult name(type handle)                                                \
	{                                                                         \
		struct module *m = handle ? module_take_out(handle, NULL) : NULL; \
		CUresult r;                                                       \
                                                                                  \
		if (handle)                                                       \
			slu_cuda_kernels_unload(handle);                          \
		r = SLU_REAL(name)(handle);                                       \
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
