/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/image.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC  0xba55ed50u
#define ELF_MAGIC     0x464c457fu

enum {
	KIND_PTX = 1,
};

struct wrapper {
	uint32_t magic;
	uint32_t version;
	const void *fatbin;
	const void *extra;
};

struct fatbin {
	uint32_t magic;
	uint16_t version;
	uint16_t header_bytes;
	uint64_t bytes;
};

struct entry {
	uint16_t kind;
	uint16_t flags16;
	uint32_t header_bytes;
	uint64_t payload_bytes;
	uint32_t compressed_bytes; /* 0: not compressed */
	uint32_t options;
	uint16_t minor, major;
	uint32_t arch;
};

static CUresult open_fatbin(const unsigned char *p, struct slu_image *ret_image)
{
	const unsigned char *at, *end, *best = NULL;
	struct fatbin head;
	struct entry entry, chosen = { 0 };

	memcpy(&head, p, sizeof(head));
	at = p + head.header_bytes;
	end = at + head.bytes;
	while (at + sizeof(entry) <= end) {
		memcpy(&entry, at, sizeof(entry));
		if (entry.header_bytes < sizeof(entry) || entry.header_bytes > (size_t)(end - at) ||
		    entry.payload_bytes > (size_t)(end - at) - entry.header_bytes)
			return CUDA_ERROR_INVALID_IMAGE;
		if (entry.kind == KIND_PTX && (!best || entry.arch > chosen.arch)) {
			best = at + entry.header_bytes;
			chosen = entry;
		}
		at += entry.header_bytes + entry.payload_bytes;
	}
	if (!best)
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	/* unpacking is not there yet; saying so is better than running something else */
	if (chosen.compressed_bytes)
		return CUDA_ERROR_NOT_SUPPORTED;
	*ret_image = (struct slu_image){
		.text = (const char *)best,
		.bytes = strnlen((const char *)best, chosen.payload_bytes),
	};
	return CUDA_SUCCESS;
}

CUresult slu_image_open(const void *image, struct slu_image *ret_image)
{
	struct wrapper wrapper;
	uint32_t magic;
	char first = *(const char *)image;

	/* a text may be shorter than a magic number */
	if (first == '\0')
		return CUDA_ERROR_INVALID_IMAGE;
	if (((const char *)image)[1] && ((const char *)image)[2]) {
		memcpy(&magic, image, sizeof(magic));
		if (magic == ELF_MAGIC)
			return CUDA_ERROR_NO_BINARY_FOR_GPU;
		if (magic == FATBIN_MAGIC)
			return open_fatbin(image, ret_image);
		if (magic == WRAPPER_MAGIC) {
			memcpy(&wrapper, image, sizeof(wrapper));
			return slu_image_open(wrapper.fatbin, ret_image);
		}
	}
	*ret_image = (struct slu_image){ .text = image, .bytes = strlen(image) };
	return CUDA_SUCCESS;
}

void slu_image_close(struct slu_image *image)
{
	free(image->owned);
	*image = (struct slu_image){ 0 };
}
