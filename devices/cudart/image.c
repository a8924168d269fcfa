/* SPDX-License-Identifier: Apache-2.0 */

#include "cudart/image.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/util.h"
#include "cudart/runtime.h"

struct dev_rt_symbol {
	const void *host; /* the key */
	enum dev_rt_symbol_kind kind;
	const char *name;	    /* the program's own text */
	struct dev_rt_image *image; /* NULL: a handle from a library */
	CUkernel kernel;	    /* NULL: not asked for yet */
	LIST_ENTRY(dev_rt_symbol) link;
	UT_hash_handle hh;
};

/* Never held while the driver is called: it may call back through a front end of ours. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dev_rt_symbol *by_host;			  /* guarded by lock */
static int kernel_error = cudaErrorInvalidDeviceFunction; /* atomic */

static struct dev_rt_symbol *find_locked(const void *host)
{
	struct dev_rt_symbol *symbol;

	HASH_FIND_PTR(by_host, &host, symbol);
	return symbol;
}

struct dev_rt_image *dev_rt_image_new(const void *wrapper)
{
	struct dev_rt_image *image = calloc(1, sizeof(*image));

	if (image)
		image->wrapper = wrapper;
	return image;
}

void dev_rt_image_free(struct dev_rt_image *image)
{
	struct dev_rt_symbol *symbol;

	if (!image)
		return;
	pthread_mutex_lock(&lock);
	while ((symbol = LIST_FIRST(&image->symbols))) {
		LIST_REMOVE(symbol, link);
		HASH_DEL(by_host, symbol);
		free(symbol);
	}
	pthread_mutex_unlock(&lock);
	if (image->library)
		dev_rt_driver.cuLibraryUnload(image->library);
	free(image);
}

static void image_add(struct dev_rt_symbol values)
{
	struct dev_rt_symbol *symbol = malloc(sizeof(*symbol));

	if (!symbol)
		return;
	*symbol = values;
	pthread_mutex_lock(&lock);
	if (find_locked(symbol->host)) {
		free(symbol);
	} else {
		HASH_ADD_PTR(by_host, host, symbol);
		if (!symbol->hh.tbl)
			free(symbol);
		else if (symbol->image)
			LIST_INSERT_HEAD(&symbol->image->symbols, symbol, link);
	}
	pthread_mutex_unlock(&lock);
}

void dev_rt_image_add(struct dev_rt_image *image, enum dev_rt_symbol_kind kind, const void *host,
		      const char *name)
{
	image_add(
		(struct dev_rt_symbol){ .host = host, .kind = kind, .name = name, .image = image });
}

void dev_rt_kernel_add(CUkernel kernel)
{
	image_add(
		(struct dev_rt_symbol){ .host = kernel, .kind = DEV_RT_KERNEL, .kernel = kernel });
}

static cudaError_t image_load(struct dev_rt_image *image, CUlibrary *ret_library)
{
	CUlibrary library, mine;

	DEV_RT_TRY(dev_rt_enter());
	pthread_mutex_lock(&lock);
	library = image->library;
	pthread_mutex_unlock(&lock);
	if (!library) {
		DEV_RT_TRY((cudaError_t)dev_rt_driver.cuLibraryLoadData(&mine, image->wrapper, NULL,
									NULL, 0, NULL, NULL, 0));
		pthread_mutex_lock(&lock);
		library = image->library;
		if (!library)
			library = image->library = mine;
		pthread_mutex_unlock(&lock);
		/* another thread was faster */
		if (library != mine)
			dev_rt_driver.cuLibraryUnload(mine);
	}
	*ret_library = library;
	return cudaSuccess;
}

/* A copy of the symbol, with its library loaded. */
static cudaError_t look_up(const void *host, bool is_kernel, struct dev_rt_symbol *ret_symbol,
			   CUlibrary *ret_library)
{
	const struct dev_rt_symbol *found;

	pthread_mutex_lock(&lock);
	found = find_locked(host);
	if (found)
		*ret_symbol = *found;
	pthread_mutex_unlock(&lock);
	if (!found || (ret_symbol->kind == DEV_RT_KERNEL) != is_kernel)
		return is_kernel ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidSymbol;
	if (ret_symbol->kernel)
		return cudaSuccess;
	return image_load(ret_symbol->image, ret_library);
}

static cudaError_t get_kernel(const void *host, CUkernel *ret_kernel)
{
	struct dev_rt_symbol symbol, *stored;
	CUlibrary library;
	cudaError_t error;

	DEV_RT_TRY(look_up(host, true, &symbol, &library));
	if (!symbol.kernel) {
		error = (cudaError_t)dev_rt_driver.cuLibraryGetKernel(&symbol.kernel, library,
								      symbol.name);
		if (error == cudaErrorSymbolNotFound)
			return cudaErrorInvalidDeviceFunction;
		DEV_RT_TRY(error);
		pthread_mutex_lock(&lock);
		stored = find_locked(host);
		if (stored)
			stored->kernel = symbol.kernel;
		pthread_mutex_unlock(&lock);
		/* so that a handle can be given for the address, and found again */
		dev_rt_kernel_add(symbol.kernel);
	}
	*ret_kernel = symbol.kernel;
	return cudaSuccess;
}

cudaError_t dev_rt_kernel(const void *host, CUkernel *ret_kernel)
{
	cudaError_t error = get_kernel(host, ret_kernel);

	if (error)
		__atomic_store_n(&kernel_error, (int)error, __ATOMIC_RELAXED);
	return error;
}

cudaError_t dev_rt_kernel_error(void)
{
	return (cudaError_t)__atomic_load_n(&kernel_error, __ATOMIC_RELAXED);
}

cudaError_t dev_rt_function(const void *host, CUfunction *ret_function)
{
	CUkernel kernel;

	DEV_RT_TRY(dev_rt_kernel(host, &kernel));
	return DEV_RT_CALL(cuKernelGetFunction, ret_function, kernel);
}

/* The @n-th registered kernel that was used; NULL behind the last one. */
static CUkernel used_kernel(unsigned n, const void **ret_host)
{
	CUkernel kernel = NULL;

	pthread_mutex_lock(&lock);
	for (const struct dev_rt_symbol *s = by_host; s && !kernel; s = s->hh.next)
		if (s->kernel && s->image && !n--) {
			kernel = s->kernel;
			*ret_host = s->host;
		}
	pthread_mutex_unlock(&lock);
	return kernel;
}

const void *dev_rt_function_host(CUfunction function, CUkernel kernel)
{
	const void *host;
	CUfunction its;
	CUkernel k;

	for (unsigned n = 0; (k = used_kernel(n, &host)); n++)
		if (kernel ? k == kernel
			   : !dev_rt_driver.cuKernelGetFunction(&its, k) && its == function)
			return host;
	return kernel ? (const void *)kernel : (const void *)function;
}

cudaError_t dev_rt_variable(const void *host, CUdeviceptr *ret_address, size_t *ret_bytes)
{
	struct dev_rt_symbol symbol;
	CUlibrary library;
	cudaError_t error;

	DEV_RT_TRY(look_up(host, false, &symbol, &library));
	DEV_RT_TRY(dev_rt_enter());
	error = (cudaError_t)(symbol.kind == DEV_RT_MANAGED ? dev_rt_driver.cuLibraryGetManaged
							    : dev_rt_driver.cuLibraryGetGlobal)(
		ret_address, ret_bytes, library, symbol.name);
	return error == cudaErrorSymbolNotFound ? cudaErrorInvalidSymbol : error;
}

cudaError_t dev_rt_variable_part(const void *host, size_t bytes, size_t offset, void **ret_pointer)
{
	CUdeviceptr address;
	size_t size;

	DEV_RT_TRY(dev_rt_variable(host, &address, &size));
	if (offset > size || bytes > size - offset)
		return cudaErrorInvalidValue;
	*ret_pointer = (void *)(uintptr_t)(address + offset);
	return cudaSuccess;
}

cudaError_t dev_rt_image_place_managed(struct dev_rt_image *image)
{
	struct dev_rt_symbol *symbol;
	CUlibrary library;

	/* the list is the constructors' work and does not change any more */
	DEV_RT_TRY(image_load(image, &library));
	LIST_FOREACH (symbol, &image->symbols, link) {
		CUdeviceptr address;
		size_t bytes;

		if (symbol->kind != DEV_RT_MANAGED)
			continue;
		DEV_RT_TRY((cudaError_t)dev_rt_driver.cuLibraryGetManaged(&address, &bytes, library,
									  symbol->name));
		*(void **)(uintptr_t)symbol->host = (void *)(uintptr_t)address;
	}
	return cudaSuccess;
}
