/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/images/image.h"

#include <lz4.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "cuabi/fatbin.h"
#include "softgpu/driver/images/merge.h"

#define ELF_MAGIC 0x464c457fu

#define FATBIN_BYTES_MAX (UINT64_C(1) << 40)
#define TEXT_BYTES_MAX	 (UINT64_C(1) << 30)
#define OBJECTS_MAX	 65536

/* The part that every entry has; the rest is there where something is packed. */
#define ENTRY_BYTES_MIN offsetof(struct slu_fatbin_entry, name)

void dev_image_tell(const struct dev_image_log *log, const char *format, ...)
{
	va_list ap;

	if (!log || !log->text || !log->size)
		return;
	va_start(ap, format);
	vsnprintf(log->text, log->size, format, ap);
	va_end(ap);
}

static bool image_unpack(const struct slu_fatbin_entry *e, const char *packed, char *text)
{
	if (e->flags & SLU_FATBIN_ZSTD)
		return ZSTD_decompress(text, e->text_bytes, packed, e->packed_bytes) ==
		       e->text_bytes;
	return LZ4_decompress_safe(packed, text, (int)e->packed_bytes, (int)e->text_bytes) ==
	       (int)e->text_bytes;
}

static CUresult open_entry(const struct slu_fatbin_entry *e, const char *payload,
			   const struct dev_image_log *log, struct dev_image *ret_image)
{
	char *text;

	if (!e->packed_bytes) {
		*ret_image = (struct dev_image){ .text = payload,
						 .bytes = strnlen(payload, e->payload_bytes) };
		return CUDA_SUCCESS;
	}
	if (e->header_bytes < sizeof(*e) || e->packed_bytes > e->payload_bytes ||
	    e->text_bytes > TEXT_BYTES_MAX || e->packed_bytes > TEXT_BYTES_MAX)
		return CUDA_ERROR_INVALID_IMAGE;
	if (!(e->flags & (SLU_FATBIN_ZSTD | SLU_FATBIN_LZ4))) {
		dev_image_tell(log, "the image is packed in a way that is not known here\n");
		return CUDA_ERROR_INVALID_IMAGE;
	}
	text = malloc(e->text_bytes + 1);
	if (!text)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!image_unpack(e, payload, text)) {
		free(text);
		dev_image_tell(log, "the image cannot be unpacked\n");
		return CUDA_ERROR_INVALID_IMAGE;
	}
	text[e->text_bytes] = '\0';
	*ret_image = (struct dev_image){ .text = text,
					 .bytes = strnlen(text, e->text_bytes),
					 .owned = text };
	return CUDA_SUCCESS;
}

static void tell_missing(const struct dev_image_log *log, unsigned capability, unsigned lowest_ptx,
			 unsigned code)
{
	char what[64] = "";

	if (lowest_ptx)
		snprintf(what, sizeof(what), ", only PTX for compute_%u and higher", lowest_ptx);
	else if (code)
		snprintf(what, sizeof(what), ", only machine code (sm_%u)", code);
	dev_image_tell(log,
		       "no PTX for compute_%u in the image%s; the software GPU runs PTX only: "
		       "compile with -gencode arch=compute_%u,code=compute_%u\n",
		       capability, what, capability, capability);
}

static CUresult open_fatbin(const char *p, unsigned capability, const struct dev_image_log *log,
			    struct dev_image *ret_image)
{
	unsigned lowest_ptx = 0, code = 0;
	const char *at, *end, *best = NULL;
	struct slu_fatbin_entry chosen = { 0 };
	struct slu_fatbin head;

	memcpy(&head, p, sizeof(head));
	if (head.magic != SLU_FATBIN_MAGIC || head.header_bytes < sizeof(head) ||
	    head.bytes > FATBIN_BYTES_MAX)
		return CUDA_ERROR_INVALID_IMAGE;
	at = p + head.header_bytes;
	end = at + head.bytes;
	while ((size_t)(end - at) >= ENTRY_BYTES_MIN) {
		size_t n_rest = (size_t)(end - at);
		struct slu_fatbin_entry e = { 0 };

		memcpy(&e, at, ENTRY_BYTES_MIN);
		if (e.header_bytes < ENTRY_BYTES_MIN || e.header_bytes > n_rest ||
		    e.payload_bytes > n_rest - e.header_bytes)
			return CUDA_ERROR_INVALID_IMAGE;
		if (e.header_bytes >= sizeof(e))
			memcpy(&e, at, sizeof(e));
		if (e.kind == SLU_FATBIN_ELF)
			code = e.arch;
		else if (e.kind == SLU_FATBIN_PTX && e.arch > capability)
			lowest_ptx = lowest_ptx && lowest_ptx < e.arch ? lowest_ptx : e.arch;
		else if (e.kind == SLU_FATBIN_PTX && (!best || e.arch > chosen.arch)) {
			best = at + e.header_bytes;
			chosen = e;
		}
		at += e.header_bytes + e.payload_bytes;
	}
	if (!best) {
		tell_missing(log, capability, lowest_ptx, code);
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	return open_entry(&chosen, best, log, ret_image);
}

/* The objects of a program that was linked from several. */
static CUresult open_objects(const void *const *objects, unsigned capability,
			     const struct dev_image_log *log, struct dev_image *ret_image)
{
	CUresult result = CUDA_SUCCESS;
	struct dev_image *images;
	size_t n = 0, n_open = 0;

	while (n < OBJECTS_MAX && objects[n])
		n++;
	images = calloc(n, sizeof(*images));
	if (!images)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (; n_open < n && !result; n_open++)
		result = open_fatbin(objects[n_open], capability, log, &images[n_open]);
	if (result)
		n_open--;
	else
		result = dev_image_merge(images, n, log, ret_image);
	for (size_t i = 0; i < n_open; i++)
		dev_image_close(&images[i]);
	free(images);
	return result;
}

CUresult dev_image_merge(const struct dev_image *images, size_t n, const struct dev_image_log *log,
			 struct dev_image *ret_image)
{
	struct dev_merge_input *inputs = calloc(n + 1, sizeof(*inputs));
	char *text, *clash = NULL;
	size_t bytes;
	int r;

	if (!inputs)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < n; i++)
		inputs[i] = (struct dev_merge_input){ images[i].text, images[i].bytes, NULL };
	r = dev_merge(inputs, n, &text, &bytes, &clash);
	free(inputs);
	if (r == DEV_MERGE_E_REFUSED) {
		dev_image_tell(log, "'%s' is defined twice\n", clash ? clash : "a name");
		free(clash);
		return CUDA_ERROR_INVALID_IMAGE;
	}
	if (r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_image = (struct dev_image){ .text = text, .bytes = bytes, .owned = text };
	return CUDA_SUCCESS;
}

CUresult dev_image_open(const void *image, unsigned capability, const struct dev_image_log *log,
			struct dev_image *ret_image)
{
	const char *p = image;
	struct slu_fatbin_wrapper wrapper;
	uint32_t magic;

	/* a text may be shorter than a magic number */
	if (!p[0])
		return CUDA_ERROR_INVALID_IMAGE;
	if (p[1] && p[2]) {
		memcpy(&magic, p, sizeof(magic));
		if (magic == ELF_MAGIC) {
			tell_missing(log, capability, 0, 0);
			return CUDA_ERROR_NO_BINARY_FOR_GPU;
		}
		if (magic == SLU_FATBIN_MAGIC)
			return open_fatbin(p, capability, log, ret_image);
		if (magic == SLU_FATBIN_WRAPPER_MAGIC) {
			memcpy(&wrapper, p, sizeof(wrapper));
			if (wrapper.version == 2 && wrapper.extra && wrapper.extra[0])
				return open_objects(wrapper.extra, capability, log, ret_image);
			return wrapper.fatbin
				       ? dev_image_open(wrapper.fatbin, capability, log, ret_image)
				       : CUDA_ERROR_INVALID_IMAGE;
		}
	}
	*ret_image = (struct dev_image){ .text = p, .bytes = strlen(p) };
	return CUDA_SUCCESS;
}

void dev_image_close(struct dev_image *image)
{
	free(image->owned);
	*image = (struct dev_image){ 0 };
}
