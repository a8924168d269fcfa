/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/ptx-text.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/fatbin.h"
#include "unpack/unpack.h"

/* More is not looked at: analysing it would take seconds. */
#define TEXT_BYTES_MAX (UINT64_C(64) << 20)

static struct slu_cuda_text *text_keep(const char *data, uint64_t bytes, uint64_t text_bytes)
{
	struct slu_cuda_text *text;

	if (!bytes || bytes > TEXT_BYTES_MAX || text_bytes > TEXT_BYTES_MAX)
		return NULL;
	text = malloc(sizeof(*text) + bytes);
	if (!text)
		return NULL;
	*text = (struct slu_cuda_text){
		.n_refs = 1, .may_have_suffix = true, .bytes = bytes, .text_bytes = text_bytes
	};
	memcpy(text->data, data, bytes);
	return text;
}

/* Whether machine code for @arch may run on a device of @capability. */
static bool code_fits(unsigned arch, unsigned capability)
{
	return arch / 10 == capability / 10 && arch <= capability;
}

static struct slu_cuda_text *entry_keep(const struct slu_fatbin_entry *e, const char *payload,
					unsigned capability)
{
	struct slu_cuda_text *text;
	uint64_t bytes;

	if (!e->packed_bytes) {
		bytes = strnlen(payload, e->payload_bytes);
		text = text_keep(payload, bytes, bytes);
	} else if (e->packed_bytes <= e->payload_bytes &&
		   (e->flags & (SLU_FATBIN_LZ4 | SLU_FATBIN_ZSTD))) {
		text = text_keep(payload, e->packed_bytes, e->text_bytes);
		if (text)
			text->packing = e->flags & SLU_FATBIN_ZSTD ? SLU_CUDA_PACKED_ZSTD
								   : SLU_CUDA_PACKED_LZ4;
	} else {
		text = NULL;
	}
	if (text)
		text->may_have_suffix = e->arch == capability;
	return text;
}

/* Return: false behind the last entry, and where an entry is not whole. */
static bool entry_read(const char *image, uint64_t at, uint64_t end,
		       struct slu_fatbin_entry *ret_entry)
{
	if (at > end || end - at < sizeof(*ret_entry))
		return false;
	memcpy(ret_entry, image + at, sizeof(*ret_entry));
	return ret_entry->header_bytes >= sizeof(*ret_entry) &&
	       ret_entry->header_bytes <= end - at &&
	       ret_entry->payload_bytes <= end - at - ret_entry->header_bytes;
}

static struct slu_cuda_text *fatbin_text(const char *image, uint64_t size, unsigned capability)
{
	struct slu_fatbin_entry e, best = { 0 };
	uint64_t at, end, best_at = 0;
	struct slu_fatbin head;
	unsigned n_best = 0;

	if (size < sizeof(head))
		return NULL;
	memcpy(&head, image, sizeof(head));
	if (head.header_bytes < sizeof(head) || head.bytes > UINT64_MAX - head.header_bytes)
		return NULL;
	end = head.header_bytes + head.bytes;
	if (end > size)
		return NULL;
	for (at = head.header_bytes; entry_read(image, at, end, &e);
	     at += e.header_bytes + e.payload_bytes) {
		if (e.kind != SLU_FATBIN_PTX && e.kind != SLU_FATBIN_ELF)
			return NULL;
		if (e.kind == SLU_FATBIN_ELF && code_fits(e.arch, capability))
			return NULL;
		if (e.kind != SLU_FATBIN_PTX || e.arch > capability || e.arch < best.arch)
			continue;
		n_best = e.arch > best.arch ? 1 : n_best + 1;
		best = e;
		best_at = at + e.header_bytes;
	}
	if (at != end || n_best != 1)
		return NULL;
	return entry_keep(&best, image + best_at, capability);
}

static struct slu_cuda_text *wrapper_text(const void *image, unsigned capability)
{
	struct slu_fatbin_wrapper wrapper;

	memcpy(&wrapper, image, sizeof(wrapper));
	return wrapper.version == 1 && wrapper.fatbin
		       ? slu_cuda_text_new(wrapper.fatbin, UINT64_MAX, capability)
		       : NULL;
}

struct slu_cuda_text *slu_cuda_text_new(const void *image, uint64_t size, unsigned capability)
{
	uint32_t magic = 0;
	uint64_t bytes;

	/* no kind of image has a zero in its first bytes */
	if (!image || size < sizeof(magic) || strnlen(image, sizeof(magic)) < sizeof(magic))
		return NULL;
	memcpy(&magic, image, sizeof(magic));
	if (magic == SLU_FATBIN_WRAPPER_MAGIC)
		return size == UINT64_MAX ? wrapper_text(image, capability) : NULL;
	if (magic == SLU_FATBIN_MAGIC)
		return fatbin_text(image, size, capability);
	if (!memcmp(image, ELFMAG, SELFMAG))
		return NULL;
	bytes = strnlen(image, size);
	return text_keep(image, bytes, bytes);
}

char *slu_cuda_text_unpack(const struct slu_cuda_text *text)
{
	const uint8_t *data = (const uint8_t *)text->data;
	char *unpacked = malloc(text->text_bytes + 1);
	bool is_right = true;

	if (!unpacked)
		return NULL;
	unpacked[text->text_bytes] = '\0';
	switch (text->packing) {
	case SLU_CUDA_UNPACKED:
		memcpy(unpacked, data, text->text_bytes);
		break;
	case SLU_CUDA_PACKED_LZ4:
		is_right = slu_unpack_lz4(data, text->bytes, (uint8_t *)unpacked, text->text_bytes);
		break;
	case SLU_CUDA_PACKED_ZSTD:
		is_right =
			slu_unpack_zstd(data, text->bytes, (uint8_t *)unpacked, text->text_bytes);
		break;
	}
	if (is_right)
		return unpacked;
	free(unpacked);
	return NULL;
}
