/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Libraries: programs that belong to no context. A library becomes a module in a context when it is
 * first used there; its kernels are handles that stand for the function in whichever context is
 * current, and may be given wherever a function is wanted.
 */

#include <sys/queue.h>

#include "softgpu/driver/images/module.h"

struct dev_library {
	struct dev_object object;
	struct dev_program *program; /* constant; holds a reference */
	LIST_HEAD(, dev_placement)
	places;			    /* the contexts it was used in; guarded by its own mutex */
	struct dev_kernel *kernels; /* those that were asked for; guarded as above */
};

struct dev_kernel {
	struct dev_object object;
	struct dev_library *library;
	const struct slu_ptx_function *ptx; /* constant */
	struct dev_wishes wishes[DEV_SETTINGS_DEVICES_MAX];
	struct dev_kernel *next;
};

CUresult dev_library_load(const void *image, const struct dev_image_log *log,
			  struct dev_library **ret_library);

/* Its kernels must have ended. */
void dev_library_free(struct dev_library *library);
struct dev_library *dev_library_get(CUlibrary handle);

/* The library's module in @context, made where there is none. */
CUresult dev_library_module(struct dev_library *library, struct dev_context *context,
			    struct dev_module **ret_module);

CUresult dev_library_kernel(struct dev_library *library, const char *name,
			    struct dev_kernel **ret_kernel);
struct dev_kernel *dev_library_get_kernel(CUkernel handle);

/* The function of a kernel in the current context. Return: NULL where there is none. */
struct dev_function *dev_library_function(CUkernel handle);

/* A wish for the kernel on one card, also for its function there. */
CUresult dev_library_wish(struct dev_kernel *kernel, struct dev_card *card,
			  CUfunction_attribute which, int value);

/* The context ends, and its modules with it. */
void dev_library_drop_context(struct dev_context *context);
