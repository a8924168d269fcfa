/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Copies with rows and layers, in the driver's words. */

#include "cudart/cudart-min.h"

cudaError_t dev_rt_box(const struct cudaMemcpy3DParms *params, CUDA_MEMCPY3D *ret_box);

/* The same the other way round. */
void dev_rt_unbox(const CUDA_MEMCPY3D *box, struct cudaMemcpy3DParms *ret_params);

/* A run of bytes as a box of one row. */
cudaError_t dev_rt_box_run(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			   CUDA_MEMCPY3D *ret_box);
