/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a program hands over as a module: PTX text, a fat binary, or the wrapper that a compiler
 * puts around one. Found is the PTX of the highest target that this device can run. Machine code
 * alone (an ELF image) cannot be run here and is refused as "no binary for this GPU".
 */

#include <stddef.h>

#include "cuabi/cuda-min.h"

struct slu_image {
	const char *text;
	size_t bytes;
	char *owned; /* where the text had to be unpacked */
};

CUresult slu_image_open(const void *image, struct slu_image *ret_image);
void slu_image_close(struct slu_image *image);
