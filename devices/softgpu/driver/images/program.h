/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A program: PTX that is parsed, and what the interpreter made of it. It knows no context; modules
 * and libraries share it.
 */

#include "ptx/ptx.h"
#include "softgpu/driver/images/image.h"
#include "softgpu/interp/interp.h"

struct dev_program {
	unsigned n_refs; /* atomic */
	struct slu_ptx_module *ptx;
	struct dev_interp_module *interp;
	/* where its managed variables lie, alike in all contexts; guarded by a mutex of its own */
	uint64_t managed;     /* 0: nowhere yet, or there are none */
	uint64_t *managed_at; /* the place of each variable in it; owned */
};

/* A refusal of the image or its text goes to @log, which may be NULL. */
CUresult dev_program_load(const void *image, unsigned capability, const struct dev_image_log *log,
			  struct dev_program **ret_program);
struct dev_program *dev_program_ref(struct dev_program *program);
void dev_program_unref(struct dev_program *program);

unsigned dev_program_count_kernels(const struct dev_program *program);

/* Return: the @i-th kernel that is defined, or NULL. */
const struct slu_ptx_function *dev_program_kernel(const struct dev_program *program, unsigned i);

/*
 * Gives the managed variables their memory, if they have none. Return: 0, -errno; *ret_is_new:
 * whether their first values are to be written.
 */
int dev_program_place_managed(struct dev_program *program, bool *ret_is_new);
