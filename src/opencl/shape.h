/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The shape of an image, and its bytes as one row after another, one slice after another, without
 * a gap: so its contents lie in a host copy, in which the client counts bytes. A run of such bytes
 * is up to seven boxes of the image: the rest of a row, whole rows, whole slices, whole rows, the
 * beginning of a row. An array's layers are slices; those of a 1D array are its rows.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opencl/layer.h"

struct slu_shape {
	cl_image_format format;
	cl_image_desc desc;   /* as the program gave it, without the parent */
	size_t element_bytes; /* a pixel's */
	size_t size[3];	      /* in pixels, rows, slices; none is 0 */
	/* as the program sees them */
	size_t row_pitch;
	size_t slice_pitch;
};

/* A part of an image, and where its bytes begin among all. */
struct slu_shape_box {
	size_t origin[3];
	size_t region[3];
	uint64_t offset;
};

/*
 * Return: whether it is a shape that every driver reads as we do: a known format, no side missing,
 * no mip-maps or samples, pitches that fit, no parent.
 */
bool slu_shape_init(struct slu_shape *shape, const cl_image_format *format,
		    const cl_image_desc *desc, bool has_host_ptr);

/* Of the contents without gaps. */
uint64_t slu_shape_bytes(const struct slu_shape *shape);

/* Whether the program's bytes, as the descriptor's pitches say, have no gaps either. */
bool slu_shape_is_tight(const struct slu_shape *shape);

/* Copies the program's bytes at @host to @to without the gaps. */
void slu_shape_pack(const struct slu_shape *shape, const void *host, void *to);

/*
 * The first box of the @bytes at @offset; both are multiples of a pixel. Return: how many of the
 * bytes it holds, 0 at the end.
 */
uint64_t slu_shape_next_box(const struct slu_shape *shape, uint64_t offset, uint64_t bytes,
			    struct slu_shape_box *ret_box);
