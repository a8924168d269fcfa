/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Images: what a program's constructors register before main(). The compiler leaves one fat binary
 * a linked object, and for each kernel and variable in it an address on the host that stands for
 * it; the program later names the kernel or variable by that address.
 *
 *   REGISTERED ──first use of a symbol──▶ LOADED ──dev_rt_image_free()──▶ gone
 *
 *   REGISTERED  known by its wrapper only: constructors may run where there is no driver at all
 *   LOADED      a CUlibrary, which serves all devices and outlives their contexts
 */

#include <stdbool.h>
#include <sys/queue.h>

#include "cudart/cudart-min.h"

struct dev_rt_symbol;

struct dev_rt_image {
	const void *wrapper;
	CUlibrary library;		    /* NULL: not loaded; guarded by the lock */
	LIST_HEAD(, dev_rt_symbol) symbols; /* guarded by the lock */
};

enum dev_rt_symbol_kind {
	DEV_RT_KERNEL,
	DEV_RT_VARIABLE,
	DEV_RT_MANAGED,
};

/* Takes no driver. Return: NULL where memory ran out. */
struct dev_rt_image *dev_rt_image_new(const void *wrapper);

/* Unloads it and forgets its symbols; accepts NULL. */
void dev_rt_image_free(struct dev_rt_image *image);

/* Symbols that cannot be remembered are unknown afterwards, as those that were never registered. */
void dev_rt_image_add(struct dev_rt_image *image, enum dev_rt_symbol_kind kind, const void *host,
		      const char *name);

/* Gives the program's pointers to managed variables their values. */
cudaError_t dev_rt_image_place_managed(struct dev_rt_image *image);

/*
 * The kernel that @host stands for, which may be a kernel's handle itself.
 * Return: cudaErrorInvalidDeviceFunction if it stands for none.
 */
cudaError_t dev_rt_kernel(const void *host, CUkernel *ret_kernel);

/* Why the last kernel that could not be had could not; cudaErrorInvalidDeviceFunction if all could.
 */
cudaError_t dev_rt_kernel_error(void);

/* The kernel of @host as a function of the current context. */
cudaError_t dev_rt_function(const void *host, CUfunction *ret_function);

/*
 * The address on the host that stands for @function of the current context, or for @kernel where
 * that is known; the handle itself if it was never registered.
 */
const void *dev_rt_function_host(CUfunction function, CUkernel kernel);

/* A kernel's handle that the program got from a library, so that it may be given for a host
 * address. */
void dev_rt_kernel_add(CUkernel kernel);

/* A variable's place on the current device. Return: cudaErrorInvalidSymbol if @host is none. */
cudaError_t dev_rt_variable(const void *host, CUdeviceptr *ret_address, size_t *ret_bytes);

/* The part [@offset, @offset + @bytes) of a variable. Return: cudaErrorInvalidValue if it is
 * longer. */
cudaError_t dev_rt_variable_part(const void *host, size_t bytes, size_t offset, void **ret_pointer);
