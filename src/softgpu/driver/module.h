/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Modules: a PTX text that is parsed, its variables placed in device memory, its kernels decoded
 * when they are first used. As the genuine driver does by default, a kernel is loaded by its first
 * launch, which waits until the context has nothing left to do.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "softgpu/driver/context.h"
#include "softgpu/interp/interp.h"

struct slu_function {
	struct slu_object object;
	struct slu_module *module; /* constant, as the kernel */
	const struct slu_ptx_function *kernel;
	bool is_loaded; /* atomic */
	int max_dynamic_shared_bytes;
	int carveout;
	struct slu_function *next;
};

struct slu_module {
	struct slu_object object;
	struct slu_context *context;
	LIST_ENTRY(slu_module) link; /* guarded by the context's lock */
	struct slu_ptx_module *ptx;
	struct slu_interp_module *interp;
	uint64_t *variables; /* address of each variable */
	uint64_t memory;     /* the allocation that holds them; 0: none */
	struct slu_function
		*functions; /* those that were asked for; guarded by the context's lock */
};

/* A refusal of the text goes to @log, where one is given. */
CUresult slu_module_load(struct slu_context *context, const void *image, char *log, size_t log_size,
			 struct slu_module **ret_module);

/* Its kernels must have ended; called with the context's lock held. */
void slu_module_free(struct slu_module *module);
struct slu_module *slu_module_get(CUmodule handle);

CUresult slu_module_function(struct slu_module *module, const char *name,
			     struct slu_function **ret_function);
CUresult slu_module_variable(struct slu_module *module, const char *name, uint64_t *ret_address,
			     size_t *ret_bytes);
struct slu_function *slu_function_get(CUfunction handle);

/* Makes it ready for its first launch; drains the context if that is this one. */
CUresult slu_function_load(struct slu_function *function);
