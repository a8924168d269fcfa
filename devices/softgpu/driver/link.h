/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The linker: inputs in, one image out that can be loaded as a module. Inputs are PTX texts, fat
 * binaries, host objects that hold fat binaries (what a compiler writes with -rdc=true) and
 * archives of such, of which only those members are taken that define a name somebody lacks. The
 * image is a PTX text; it belongs to the link.
 */

#include "softgpu/driver/jit.h"
#include "softgpu/driver/object.h"

struct slu_images {
	struct slu_image *items;
	size_t n;
};

struct slu_link {
	struct slu_object object;
	struct slu_jit jit;
	struct slu_images inputs;  /* owned, their texts as well */
	struct slu_images members; /* of archives, likewise */
	char *text;		   /* what came out; NULL: not complete */
	size_t bytes;
};

struct slu_link *slu_link_new(const struct slu_jit *jit);
void slu_link_free(struct slu_link *link);
struct slu_link *slu_link_get(CUlinkState handle);

CUresult slu_link_add(struct slu_link *link, CUjitInputType type, const void *data, size_t bytes);
CUresult slu_link_complete(struct slu_link *link);
