/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of any bytes. A program gives the driver an image without its size, so the outermost size
 * is true here: a fat binary says as many bytes as there are, and zeros follow a text. Everything
 * inside is the input's: entries, packings, sections of objects, members of archives, texts that
 * are merged. What comes out is a text that is as long as it says.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/driver/driver.h"
#include "softgpu/driver/images/link.h"
#include "softgpu/driver/images/merge.h"

/* what the linker wants to know of the driver */
struct dev_driver dev_driver = { .settings = { .capability = 75 } };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t fatbin_magic[4] = { 0x50, 0xed, 0x55, 0xba };
static const uint8_t wrapper_magic[4] = { 0xb1, 0x43, 0x62, 0x46 };

static void check(struct dev_image *image)
{
	assert(image->text && strnlen(image->text, image->bytes) == image->bytes);
	dev_image_close(image);
}

static void open_image(const uint8_t *data, size_t size)
{
	uint8_t *copy = calloc(1, size + 32);
	struct dev_image image;
	char log[64];

	if (!copy)
		return;
	if (size)
		memcpy(copy, data, size);
	if (size >= 4 && !memcmp(copy, fatbin_magic, 4)) {
		uint16_t header_bytes;
		uint64_t bytes;

		memcpy(&header_bytes, copy + 6, sizeof(header_bytes));
		bytes = header_bytes < size ? size - header_bytes : 0;
		memcpy(copy + 8, &bytes, sizeof(bytes));
		/* a header that is longer than all would be read from outside */
		if (header_bytes > size + 16)
			memset(copy + 6, 0, 2);
	}
	/* a wrapper is made of pointers, and those are the program's own */
	if (size < 4 || memcmp(copy, wrapper_magic, 4))
		if (!dev_image_open(copy, 75, &(struct dev_image_log){ log, sizeof(log) }, &image))
			check(&image);
	free(copy);
}

static void link_inputs(const uint8_t *data, size_t size)
{
	struct dev_link *link = dev_link_new(&(struct dev_jit){ 0 });

	if (!link)
		return;
	for (unsigned type = 0; type < 7 && size; type++)
		(void)dev_link_add(link, (CUjitInputType)type, data, size);
	(void)dev_link_complete(link);
	dev_link_free(link);
}

static void merge_halves(const uint8_t *data, size_t size)
{
	struct dev_merge_input inputs[2] = {
		{ (const char *)data, size / 2, "first" },
		{ (const char *)data + size / 2, size - size / 2, "second" },
	};
	char *text, *clash = NULL;
	size_t bytes;
	int r;

	r = dev_merge(inputs, 2, &text, &bytes, &clash);
	assert(r <= DEV_MERGE_E_REFUSED);
	if (!r) {
		assert(text[bytes] == '\0');
		free(text);
	}
	free(clash);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t nothing[1];

	if (!size)
		data = nothing;
	open_image(data, size);
	link_inputs(data, size);
	merge_halves(data, size);
	return 0;
}
