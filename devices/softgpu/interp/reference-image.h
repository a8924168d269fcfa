/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a texture gives, a second time, from the programming guide: the image is continued without
 * end in each direction as its address mode says, and a filter interpolates one dimension after the
 * other. Nothing here knows how the interpreter does it.
 */

#include "softgpu/interp/image.h"

struct dev_reference_texel {
	bool is_float;
	long double f[4];
	uint32_t n[4];
};

/* @slice: the layer or face. @is_filtered: by the image's filter; else the texel at @at. */
struct dev_reference_texel dev_reference_image_read(const struct dev_interp_image *image,
						    const long double at[3], uint64_t slice,
						    bool is_filtered);
/* The texel of that number, which may be beside the image. */
struct dev_reference_texel dev_reference_image_texel(const struct dev_interp_image *image,
						     const int64_t at[3], uint64_t slice);
