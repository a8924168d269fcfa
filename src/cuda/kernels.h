/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The kernels of a process: from the handle that a launch names (CUfunction, or CUkernel in its
 * place) to its PTX, and to what the PTX says of each launch (predict/kernel.h).
 *
 *   (none) -> KEPT     [kernel_note]     the program got the handle; the image has PTX that runs
 *   KEPT   -> WANTED   [slu_cuda_kernels_evaluate_locked]   the first launch that asks
 *   WANTED -> KNOWN    [slu_cuda_kernels_know_locked]   analysed, or found to be beyond analysis
 *   KEPT   -> KNOWN    the same, when another kernel of its image is analysed
 *   any    -> (none)   the module, the library or the context ends, or the handle is given out anew
 *
 * A launch asks only while memory is short (writes.h), so nothing is analysed before. The analysis
 * runs on a thread of its own (analyst.h), once for each kernel; launches meanwhile are unknown.
 *
 * A handle that the driver gave out by a call that is not seen here is unknown. Drivers use the
 * values of handles again, so each call that gives one out replaces what was known of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cuabi/cuda-min.h"
#include "cuda/ptx-text.h"
#include "predict/sheet.h"

enum slu_cuda_kernel_state { SLU_CUDA_KERNEL_KEPT, SLU_CUDA_KERNEL_WANTED, SLU_CUDA_KERNEL_KNOWN };

struct slu_cuda_kernel_param {
	uint32_t offset, bytes;
};

/* All guarded by slu_cuda.lock, but for what is constant. */
struct slu_cuda_kernel {
	LIST_ENTRY(slu_cuda_kernel) link; /* in its bucket */
	unsigned n_refs;
	const void *handle;	    /* constant */
	const void *image;	    /* constant: the module or library it came from */
	CUcontext context;	    /* constant; NULL: of no context */
	struct slu_cuda_text *text; /* constant; held */
	char *name;		    /* constant */

	uint8_t state;			    /* enum slu_cuda_kernel_state */
	struct slu_predict_kernel *predict; /* KNOWN; NULL: beyond analysis */
	struct slu_predict_sheet *sheet;    /* with it */
	struct slu_cuda_kernel_param *params;
	size_t n_params, param_bytes;
};

/* One launch, as the program asked for it. */
struct slu_cuda_launch {
	CUfunction function;
	uint32_t grid[3], block[3];
	void **params; /* kernelParams */
	void **extra;
	CUstream stream;
};

/*
 * What the launch touches. Return: NULL if its kernel is not KNOWN, is beyond analysis, or the
 * launch does not give its parameters. The set is valid as long as the lock is held.
 */
const struct slu_predict_set *
slu_cuda_kernels_evaluate_locked(const struct slu_cuda_launch *launch);

/* The name of a kernel whose PTX is kept, or NULL. */
const char *slu_cuda_kernels_name_locked(CUfunction function);
/* For tests: waits until it is KNOWN, if its PTX is kept. */
void slu_cuda_kernels_await_locked(CUfunction function);

/* The same for a kernel that somebody keeps: with a reference, or NULL if there is no PTX. */
struct slu_cuda_kernel *slu_cuda_kernels_get_locked(const void *handle);
void slu_cuda_kernel_await_locked(struct slu_cuda_kernel *kernel);
const struct slu_predict_set *
slu_cuda_kernel_evaluate_locked(struct slu_cuda_kernel *kernel,
				const struct slu_predict_launch *launch);

/*
 * The driver loaded @image as @handle, a module in @context or a library (NULL). Takes over the
 * reference to @text; NULL: it has no PTX that runs.
 */
void slu_cuda_kernels_loaded(const void *handle, CUcontext context, struct slu_cuda_text *text);

/* The image is about to be unloaded. */
void slu_cuda_kernels_unload(const void *handle);

/* @context ends, and its modules and functions with it. */
void slu_cuda_kernels_forget(CUcontext context);

/*
 * For the analyst: a kernel that is WANTED, or NULL; and the next one of its text that is not
 * KNOWN, after which the ones that come later need the text unpacked again. With a reference.
 */
struct slu_cuda_kernel *slu_cuda_kernels_next_wanted_locked(const struct slu_cuda_text *text);
void slu_cuda_kernel_unref_locked(struct slu_cuda_kernel *kernel);
/* WANTED -> KNOWN. Takes over what is given; @params has one for each parameter. */
void slu_cuda_kernels_know_locked(struct slu_cuda_kernel *kernel,
				  struct slu_predict_kernel *predict,
				  struct slu_cuda_kernel_param *params, size_t n_params,
				  size_t param_bytes);

/* A child of a fork has no driver, and none of this. */
void slu_cuda_kernels_forked(void);
