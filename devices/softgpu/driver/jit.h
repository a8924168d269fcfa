/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The options of calls that compile. Obeyed are the two logs; a compiler's other options have no
 * meaning here and are taken silently.
 */

#include "softgpu/driver/image.h"

struct slu_jit {
	struct slu_image_log error, info;
	void **error_used, **info_used; /* where the sizes are given back; NULL: nowhere */
};

/* @values must stay until slu_jit_finish(). */
CUresult slu_jit_read(unsigned n, const CUjit_option *options, void **values,
		      struct slu_jit *ret_jit);

/* Tells how much of the logs was used. */
void slu_jit_finish(const struct slu_jit *jit);
