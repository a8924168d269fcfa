/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The options of calls that compile. Obeyed are the two logs; a compiler's other options have no
 * meaning here and are taken silently.
 */

#include "softgpu/driver/images/image.h"

struct dev_jit {
	struct dev_image_log error, info;
	void **error_used, **info_used; /* where the sizes are given back; NULL: nowhere */
};

/* @values must stay until dev_jit_finish(). */
CUresult dev_jit_read(unsigned n, const CUjit_option *options, void **values,
		      struct dev_jit *ret_jit);

/* Tells how much of the logs was used. */
void dev_jit_finish(const struct dev_jit *jit);
