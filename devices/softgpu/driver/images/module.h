/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Modules: a program in a context, its variables placed in device memory, its kernels decoded when
 * they are first used. As the genuine driver does by default, a kernel is loaded by its first
 * launch, which waits until the context has nothing left to do and takes memory of the card:
 *
 *   - for code, a granule with the first kernel of a module; the module's end gives it back;
 *   - for local memory, what the kernel's threads need on a card full of them, where that is more
 *     than any kernel of the context needed before; it stays until the context's end;
 *   - for malloc, the whole heap with the first kernel of a module that may call it, as long.
 *
 * Where contexts are told to take nothing (profile `none`), kernels take nothing but the heap.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "softgpu/driver/context.h"
#include "softgpu/driver/images/program.h"
#include "softgpu/driver/images/traits.h"

struct dev_function {
	struct dev_object object;
	struct dev_module *module; /* constant, as the kernel */
	const struct slu_ptx_function *kernel;
	bool is_loaded; /* atomic */
	struct dev_wishes wishes;
	/* what entry-legacy.c was told; the program sees to it that threads do not meet there */
	struct {
		unsigned block[3];
		unsigned shared_bytes, param_bytes;
		uint8_t params[4096];
	} legacy;
	struct dev_function *next;
};

struct dev_module {
	struct dev_object object;
	struct dev_context *context;
	LIST_ENTRY(dev_module) link; /* guarded by the context's lock */
	struct dev_program *program; /* holds a reference */
	uint64_t *variables;	     /* address of each variable */
	uint64_t memory;	     /* the allocation that holds them; 0: none */
	uint64_t code_bytes; /* what its kernels took of the card; guarded by the context's lock */
	struct dev_function
		*functions; /* those that were asked for; guarded by the context's lock */
};

CUresult dev_module_new(struct dev_context *context, struct dev_program *program,
			struct dev_module **ret_module);

/* Its kernels must have ended; called with the context's lock held. */
void dev_module_free(struct dev_module *module);
struct dev_module *dev_module_get(CUmodule handle);

CUresult dev_module_function(struct dev_module *module, const char *name,
			     struct dev_function **ret_function);
CUresult dev_module_variable(struct dev_module *module, const char *name, uint64_t *ret_address,
			     size_t *ret_bytes);

/* The function of @handle; where that is a library's kernel, its function in the current context.
 */
struct dev_function *dev_module_function_get(CUfunction handle);

/* How many blocks of it a multiprocessor holds; 0 where a block may not be so large. */
unsigned dev_module_function_n_resident(const struct dev_function *function, unsigned n_threads,
					uint64_t dynamic_shared_bytes);

/*
 * Makes it ready for its first launch; drains the context if that is this one.
 * Return: CUDA_SUCCESS, INVALID_PTX, OUT_OF_MEMORY where the card is too full for it.
 */
CUresult dev_module_function_load(struct dev_function *function);
