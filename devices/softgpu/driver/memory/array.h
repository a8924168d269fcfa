/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Arrays: texels that a program reaches only through copies, textures and surfaces. A card lays
 * them out as it likes; here they lie row after row, in memory like any other.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cuabi/cuda-min.h"
#include "softgpu/driver/object.h"
#include "softgpu/interp/image.h"

struct dev_context;
struct dev_mipmap;

struct dev_array {
	struct dev_object object;
	LIST_ENTRY(dev_array) link; /* of all arrays; guarded by the driver's lock */
	struct dev_context *context;
	struct dev_mipmap *mipmap; /* the mipmapped array whose level it is, or NULL */
	CUDA_ARRAY3D_DESCRIPTOR description;
	struct dev_interp_image image; /* without what a texture adds */
};

/* A mipmapped array: of one level, there are no others. */
struct dev_mipmap {
	struct dev_object object;
	struct dev_array *level;
};

/* Return: CUDA_SUCCESS, INVALID_VALUE, NOT_SUPPORTED for what this device lacks, OUT_OF_MEMORY. */
CUresult dev_array_new(struct dev_context *context, const CUDA_ARRAY3D_DESCRIPTOR *description,
		       struct dev_array **ret_array);
/* Its memory goes as well; nobody may use it any more. */
void dev_array_free(struct dev_array *array);
struct dev_array *dev_array_get(CUarray handle);

CUresult dev_array_new_mipmap(struct dev_context *context,
			      const CUDA_ARRAY3D_DESCRIPTOR *description, unsigned n_levels,
			      struct dev_mipmap **ret_mipmap);
void dev_array_free_mipmap(struct dev_mipmap *mipmap);
struct dev_mipmap *dev_array_get_mipmap(CUmipmappedArray handle);

/* Ends what was made in @context; its memory is freed elsewhere. */
void dev_array_drop_context(struct dev_context *context);

/* The format and size of texels. Return: as dev_array_new(). */
CUresult dev_array_set_format(CUarray_format format, unsigned n_channels,
			      struct dev_interp_image *image);
