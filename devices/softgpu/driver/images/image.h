/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a program hands over as a module: PTX text, a fat binary, or the wrapper that a compiler
 * puts around one.
 *
 *   wrapper ── fat binary ┬─ entry: PTX for sm_75, zstd      the highest that the device can run
 *      │                  └─ entry: machine code for sm_90   cannot be run here
 *      └─ version 2: one more fat binary for each object that was compiled with -rdc=true; their
 *         texts are merged
 *
 * A text may be raw or packed (LZ4, zstd). Machine code alone is refused as "no binary for this
 * GPU", with a hint of what to do in the log.
 */

#include <stddef.h>

#include "cuabi/cuda-min.h"

struct dev_image {
	const char *text;
	size_t bytes;
	char *owned; /* where the text had to be unpacked or merged */
};

/* Where a refusal is explained; may be NULL. */
struct dev_image_log {
	char *text;
	size_t size;
};

/* @capability: of the device, 75 for 7.5. */
CUresult dev_image_open(const void *image, unsigned capability, const struct dev_image_log *log,
			struct dev_image *ret_image);
void dev_image_close(struct dev_image *image);

/*
 * Parses a text, and makes sure that a device of @capability may run it: like the genuine driver's
 * compiler, which refuses what was made for a later device.
 */
struct slu_ptx_module;
CUresult dev_image_parse(const struct dev_image *image, unsigned capability,
			 const struct dev_image_log *log, struct slu_ptx_module **ret_ptx);

/* Merges texts into one; @images stay the caller's. */
CUresult dev_image_merge(const struct dev_image *images, size_t n, const struct dev_image_log *log,
			 struct dev_image *ret_image);

void dev_image_tell(const struct dev_image_log *log, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));
