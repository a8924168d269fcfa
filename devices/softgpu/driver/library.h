/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Libraries: programs that belong to no context. A library becomes a module in a context when it is
 * first used there; its kernels are handles that stand for the function in whichever context is
 * current, and may be given wherever a function is wanted.
 */

#include <sys/queue.h>

#include "softgpu/driver/module.h"

struct slu_library {
	struct slu_object object;
	struct slu_program *program; /* constant; holds a reference */
	LIST_HEAD(, slu_placement)
	places;			    /* the contexts it was used in; guarded by its own mutex */
	struct slu_kernel *kernels; /* those that were asked for; guarded as above */
};

struct slu_kernel {
	struct slu_object object;
	struct slu_library *library;
	const struct slu_ptx_function *ptx; /* constant */
	struct slu_wishes wishes[SLU_SETTINGS_DEVICES_MAX];
	struct slu_kernel *next;
};

CUresult slu_library_load(const void *image, const struct slu_image_log *log,
			  struct slu_library **ret_library);

/* Its kernels must have ended. */
void slu_library_free(struct slu_library *library);
struct slu_library *slu_library_get(CUlibrary handle);

/* The library's module in @context, made where there is none. */
CUresult slu_library_module(struct slu_library *library, struct slu_context *context,
			    struct slu_module **ret_module);

CUresult slu_library_kernel(struct slu_library *library, const char *name,
			    struct slu_kernel **ret_kernel);
struct slu_kernel *slu_library_get_kernel(CUkernel handle);

/* The function of a kernel in the current context. Return: NULL where there is none. */
struct slu_function *slu_library_function(CUkernel handle);

/* A wish for the kernel on one card, also for its function there. */
CUresult slu_library_wish(struct slu_kernel *kernel, struct slu_card *card,
			  CUfunction_attribute which, int value);

/* The context ends, and its modules with it. */
void slu_library_drop_context(struct slu_context *context);
