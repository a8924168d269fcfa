/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/images/link.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cuabi/fatbin.h"
#include "ptx/ptx.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/images/image.h"
#include "softgpu/driver/images/resolve.h"

#define ARCHIVE_MAGIC	    "!<arch>\n"
#define ARCHIVE_MAGIC_BYTES 8

/* The head of a member of an archive; numbers are decimal text. */
struct member {
	char name[16];
	char date[12], owner[6], group[6], mode[8];
	char size[10];
	char end[2];
};

static struct dev_objects objects = DEV_OBJECTS_INIT(struct dev_link);

struct dev_link *dev_link_new(const struct dev_jit *jit)
{
	struct dev_link *link = dev_object_new(&objects);

	if (link)
		link->jit = *jit;
	return link;
}

static void link_drop(struct dev_images *images)
{
	for (size_t i = 0; i < images->n; i++)
		dev_image_close(&images->items[i]);
	free(images->items);
}

void dev_link_free(struct dev_link *link)
{
	link_drop(&link->inputs);
	link_drop(&link->members);
	free(link->text);
	dev_object_free(&objects, link);
}

struct dev_link *dev_link_get(CUlinkState handle)
{
	return dev_object_get(&objects, handle);
}

static CUresult link_push(struct dev_images *to, const struct dev_image *image)
{
	struct dev_image *items = reallocarray(to->items, to->n + 1, sizeof(*items));

	if (!items)
		return CUDA_ERROR_OUT_OF_MEMORY;
	to->items = items;
	items[to->n++] = *image;
	return CUDA_SUCCESS;
}

/* Keeps a copy of the text: the caller's bytes need not stay. */
static CUresult link_keep(struct dev_images *to, const struct dev_image *image)
{
	struct dev_image copy = { .bytes = image->bytes };
	CUresult result;

	copy.text = copy.owned = malloc(image->bytes + 1);
	if (!copy.owned)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(copy.owned, image->text, image->bytes);
	copy.owned[image->bytes] = '\0';
	result = link_push(to, &copy);
	if (result)
		free(copy.owned);
	return result;
}

static CUresult add_text(struct dev_images *to, const char *text, size_t bytes)
{
	return link_keep(to, &(struct dev_image){ .text = text, .bytes = strnlen(text, bytes) });
}

/* Return: how many bytes the fat binary at @data has, 0 where there is none. */
static size_t fatbin_bytes(const unsigned char *data, size_t size)
{
	uint16_t header_bytes;
	uint64_t bytes;
	uint32_t magic;

	if (size < 16)
		return 0;
	memcpy(&magic, data, sizeof(magic));
	memcpy(&header_bytes, data + 6, sizeof(header_bytes));
	memcpy(&bytes, data + 8, sizeof(bytes));
	if (magic != SLU_FATBIN_MAGIC || header_bytes < 16 || header_bytes > size ||
	    bytes > size - header_bytes)
		return 0;
	return header_bytes + bytes;
}

static CUresult add_fatbin(struct dev_images *to, const unsigned char *data, size_t bytes,
			   const struct dev_image_log *log)
{
	struct dev_image image;
	CUresult result;

	if (!fatbin_bytes(data, bytes))
		return CUDA_ERROR_INVALID_IMAGE;
	result = dev_image_open(data, dev_driver.settings.capability, log, &image);
	if (result)
		return result;
	result = link_keep(to, &image);
	dev_image_close(&image);
	return result;
}

static CUresult add_section(struct dev_images *to, const unsigned char *data, size_t bytes,
			    const struct dev_image_log *log)
{
	CUresult result = CUDA_SUCCESS;
	size_t n;

	for (size_t at = 0; at < bytes && !result; at += n) {
		n = fatbin_bytes(data + at, bytes - at);
		if (n)
			result = add_fatbin(to, data + at, n, log);
		else
			n = 8; /* fat binaries are aligned so */
	}
	return result;
}

/* The fat binaries of a host object; one without any adds nothing. */
static CUresult add_object(struct dev_images *to, const unsigned char *data, size_t bytes,
			   const struct dev_image_log *log)
{
	CUresult result = CUDA_SUCCESS;
	Elf64_Shdr names;
	Elf64_Ehdr head;

	if (bytes < sizeof(head))
		return CUDA_ERROR_INVALID_IMAGE;
	memcpy(&head, data, sizeof(head));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shoff > bytes ||
	    head.e_shnum > (bytes - head.e_shoff) / sizeof(Elf64_Shdr) ||
	    head.e_shstrndx >= head.e_shnum)
		return CUDA_ERROR_INVALID_IMAGE;
	memcpy(&names, data + head.e_shoff + head.e_shstrndx * sizeof(names), sizeof(names));
	if (names.sh_offset > bytes || names.sh_size > bytes - names.sh_offset)
		return CUDA_ERROR_INVALID_IMAGE;
	for (unsigned i = 0; i < head.e_shnum && !result; i++) {
		const char *name;
		Elf64_Shdr s;
		size_t n;

		memcpy(&s, data + head.e_shoff + i * sizeof(s), sizeof(s));
		if (s.sh_name >= names.sh_size || s.sh_type == SHT_NOBITS || s.sh_offset > bytes ||
		    s.sh_size > bytes - s.sh_offset)
			continue;
		name = (const char *)data + names.sh_offset + s.sh_name;
		n = strnlen(name, names.sh_size - s.sh_name);
		if ((n == 14 && !memcmp(name, "__nv_relfatbin", n)) ||
		    (n == 10 && !memcmp(name, ".nv_fatbin", n)))
			result = add_section(to, data + s.sh_offset, s.sh_size, log);
	}
	return result;
}

/*
 * A member without PTX for this device is left out: nobody may need it, and if somebody does, the
 * name that is missing says so when the image is loaded.
 */
static CUresult add_archive(struct dev_link *link, const unsigned char *data, size_t bytes)
{
	CUresult result = CUDA_SUCCESS;
	size_t at = ARCHIVE_MAGIC_BYTES;

	if (bytes < ARCHIVE_MAGIC_BYTES || memcmp(data, ARCHIVE_MAGIC, ARCHIVE_MAGIC_BYTES))
		return CUDA_ERROR_INVALID_IMAGE;
	while (!result && at < bytes && bytes - at >= sizeof(struct member)) {
		char size[sizeof(((struct member *)NULL)->size) + 1] = "";
		struct member m;
		size_t n;

		memcpy(&m, data + at, sizeof(m));
		memcpy(size, m.size, sizeof(m.size));
		at += sizeof(m);
		n = SLU_MIN(strtoull(size, NULL, 10), (unsigned long long)(bytes - at));
		if (n > SELFMAG && !memcmp(data + at, ELFMAG, SELFMAG))
			result = add_object(&link->members, data + at, n, NULL);
		if (result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
			dev_image_tell(&link->jit.info,
				       "member '%.*s' has no PTX for compute_%u and is left out\n",
				       (int)strcspn(m.name, "/ "), m.name,
				       dev_driver.settings.capability);
			result = CUDA_SUCCESS;
		}
		at += n + n % 2;
	}
	return result;
}

CUresult dev_link_add(struct dev_link *link, CUjitInputType type, const void *data, size_t bytes)
{
	const unsigned char *p = data;

	switch (type) {
	case CU_JIT_INPUT_PTX:
		return add_text(&link->inputs, data, bytes);
	case CU_JIT_INPUT_FATBINARY:
		return add_fatbin(&link->inputs, data, bytes, &link->jit.error);
	case CU_JIT_INPUT_OBJECT:
		return add_object(&link->inputs, data, bytes, &link->jit.error);
	case CU_JIT_INPUT_LIBRARY:
		return add_archive(link, data, bytes);
	case CU_JIT_INPUT_CUBIN:
		/* what a link of ours made, and not machine code */
		if (bytes > SELFMAG && memcmp(p, ELFMAG, SELFMAG))
			return add_text(&link->inputs, data, bytes);
		dev_image_tell(&link->jit.error,
			       "machine code cannot be linked here: give the linker PTX\n");
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	default:
		return (unsigned)type > CU_JIT_INPUT_NVVM ? CUDA_ERROR_INVALID_VALUE
							  : CUDA_ERROR_NOT_SUPPORTED;
	}
}

/* Makes those members of archives inputs that somebody needs; all, where there is nothing else. */
static CUresult take_members(struct dev_link *link)
{
	struct dev_images *members = &link->members;
	CUresult result = CUDA_SUCCESS;
	bool *is_needed, is_all;

	if (!members->n)
		return CUDA_SUCCESS;
	is_all = !link->inputs.n;
	is_needed = calloc(members->n, sizeof(*is_needed));
	if (!is_needed ||
	    dev_resolve(link->inputs.items, link->inputs.n, members->items, members->n, is_needed))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < members->n && !result; i++) {
		if (!is_needed[i] && !is_all)
			continue;
		result = link_push(&link->inputs, &members->items[i]);
		if (!result)
			members->items[i] = (struct dev_image){ .text = "" };
	}
	free(is_needed);
	return result;
}

CUresult dev_link_complete(struct dev_link *link)
{
	struct slu_ptx_module *ptx;
	struct dev_image image;
	CUresult result;

	if (link->text)
		return CUDA_SUCCESS;
	result = take_members(link);
	if (result)
		return result;
	if (!link->inputs.n)
		return CUDA_ERROR_INVALID_VALUE;
	if (link->inputs.n == 1) {
		image = link->inputs.items[0];
		link->inputs.n = 0;
	} else {
		result = dev_image_merge(link->inputs.items, link->inputs.n, &link->jit.error,
					 &image);
		if (result)
			return result;
	}
	/* whoever links wants to know now what is wrong, and not when the image is loaded */
	result = dev_image_parse(&image, dev_driver.settings.capability, &link->jit.error, &ptx);
	if (result) {
		dev_image_close(&image);
		return result;
	}
	slu_ptx_module_free(ptx);
	link->text = image.owned;
	link->bytes = image.bytes;
	return CUDA_SUCCESS;
}
