/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a texture or surface object stands for: texels in rows and slices at an address of the
 * device, and how they are to be read. Layers and the faces of cubes are slices.
 */

#include <stdbool.h>
#include <stdint.h>

enum dev_image_format {
	DEV_IMAGE_U8,
	DEV_IMAGE_U16,
	DEV_IMAGE_U32,
	DEV_IMAGE_S8,
	DEV_IMAGE_S16,
	DEV_IMAGE_S32,
	DEV_IMAGE_F16,
	DEV_IMAGE_F32,
};

/* What is read beside the image; numbers as the driver's interface has them. */
enum dev_image_edge {
	DEV_IMAGE_WRAP,
	DEV_IMAGE_CLAMP,
	DEV_IMAGE_MIRROR,
	DEV_IMAGE_BORDER,
};

struct dev_interp_image {
	uint64_t address;
	uint64_t size[3]; /* in texels; 1 where a dimension is missing; the last counts slices */
	uint64_t pitch;	  /* bytes from row to row */
	uint64_t slice;
	uint8_t n_dims; /* 1, 2 or 3, without layers; 2 for a cube; 0: there is no image */
	bool is_layered;
	bool is_cube;
	bool is_linear; /* plain memory: nothing but its texels can be asked for */
	uint8_t format; /* enum dev_image_format */
	uint8_t n_channels;
	uint8_t texel_bytes;

	/* of a texture */
	uint8_t edges[3];   /* enum dev_image_edge; wrap and mirror only where normalized */
	bool is_filtered;   /* linear; only where is_float */
	bool is_normalized; /* coordinates go from 0 to 1 */
	bool is_float;	    /* what is read are floats: also of integers that are normalized */
	uint32_t border[4]; /* bits of a float or of an integer */
};

static inline unsigned dev_image_channel_bytes(enum dev_image_format format)
{
	switch (format) {
	case DEV_IMAGE_U8:
	case DEV_IMAGE_S8:
		return 1;
	case DEV_IMAGE_U16:
	case DEV_IMAGE_S16:
	case DEV_IMAGE_F16:
		return 2;
	default:
		return 4;
	}
}
