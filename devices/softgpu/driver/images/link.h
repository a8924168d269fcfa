/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The linker: inputs in, one image out that can be loaded as a module. Inputs are PTX texts, fat
 * binaries, host objects that hold fat binaries (what a compiler writes with -rdc=true) and
 * archives of such, of which only those members are taken that define a name somebody lacks. The
 * image is a PTX text; it belongs to the link.
 */

#include "softgpu/driver/images/jit.h"
#include "softgpu/driver/object.h"

struct dev_images {
	struct dev_image *items;
	size_t n;
};

struct dev_link {
	struct dev_object object;
	struct dev_jit jit;
	struct dev_images inputs;  /* owned, their texts as well */
	struct dev_images members; /* of archives, likewise */
	char *text;		   /* what came out; NULL: not complete */
	size_t bytes;
};

struct dev_link *dev_link_new(const struct dev_jit *jit);
void dev_link_free(struct dev_link *link);
struct dev_link *dev_link_get(CUlinkState handle);

CUresult dev_link_add(struct dev_link *link, CUjitInputType type, const void *data, size_t bytes);
CUresult dev_link_complete(struct dev_link *link);
