/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Texture and surface objects. What a program gets is a number that kernels pass to their
 * instructions. An object that was destroyed stays readable for kernels until its place is used
 * again, as late as possible: programs destroy one right behind the launch that uses it.
 *
 *   new ─dev_texture_new─▶ live ─dev_texture_free, dev_texture_drop_context─▶ readable
 *   readable ─a later dev_texture_new─▶ another one
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cuabi/cuda-min.h"
#include "softgpu/driver/object.h"
#include "softgpu/interp/image.h"

struct dev_context;

struct dev_texture {
	struct dev_object object;
	LIST_ENTRY(dev_texture) link; /* of all that live; guarded by the driver's lock */
	struct dev_context *context;
	bool is_surface;
	bool has_view;
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC texture;
	CUDA_RESOURCE_VIEW_DESC view;
	struct dev_interp_image image;
};

/* @texture: NULL for a surface. @view: may be NULL. */
CUresult dev_texture_new(struct dev_context *context, const CUDA_RESOURCE_DESC *resource,
			 const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view,
			 struct dev_texture **ret_texture);
void dev_texture_free(struct dev_texture *texture);
void dev_texture_drop_context(struct dev_context *context);

/* Return: the live object of that number, or NULL. */
struct dev_texture *dev_texture_get(unsigned long long number, bool is_surface);
unsigned long long dev_texture_number(const struct dev_texture *texture);

/* What a kernel of @context reads through it; NULL where it never was one. */
const struct dev_interp_image *dev_texture_image(const struct dev_context *context, uint64_t number,
						 bool is_surface);
