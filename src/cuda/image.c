/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/image.h"

#include <ctype.h>
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cuabi/fatbin.h"

/* -- machine code ----------------------------------------------------------------------------- */

static bool is_inside(uint64_t offset, uint64_t bytes, uint64_t size)
{
	return offset <= size && bytes <= size - offset;
}

/* @names: the table of names, up to its end. */
static bool section_is_variables(const Elf64_Shdr *section, const char *names, uint64_t names_bytes)
{
	const char *name = names + section->sh_name;

	if (section->sh_name >= names_bytes || !memchr(name, 0, names_bytes - section->sh_name))
		return false;
	return !strncmp(name, ".nv.global", strlen(".nv.global")) || !strcmp(name, ".nv.constant3");
}

static uint64_t elf_bytes(const char *image, uint64_t size)
{
	Elf64_Shdr section, names;
	Elf64_Ehdr head;
	uint64_t sum = 0, at;

	if (!is_inside(0, sizeof(head), size))
		return 0;
	memcpy(&head, image, sizeof(head));
	at = head.e_shoff + (uint64_t)head.e_shstrndx * sizeof(names);
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(section) ||
	    head.e_shstrndx >= head.e_shnum || !is_inside(at, sizeof(names), size))
		return 0;
	memcpy(&names, image + at, sizeof(names));
	if (!is_inside(names.sh_offset, names.sh_size, size))
		return 0;
	for (unsigned i = 0; i < head.e_shnum; i++) {
		at = head.e_shoff + (uint64_t)i * sizeof(section);
		if (!is_inside(at, sizeof(section), size))
			return 0;
		memcpy(&section, image + at, sizeof(section));
		if (section_is_variables(&section, image + names.sh_offset, names.sh_size))
			sum += section.sh_size;
	}
	return sum;
}

/* -- PTX -------------------------------------------------------------------------------------- */

/* The end of a comment or string that begins at @p, or @p. */
static const char *text_skip(const char *p, const char *end)
{
	char quote[3] = { 0 };

	if (*p == '"')
		quote[0] = '"';
	else if (end - p > 1 && p[0] == '/' && p[1] == '/')
		quote[0] = '\n';
	else if (end - p > 1 && p[0] == '/' && p[1] == '*')
		memcpy(quote, "*/", 2);
	else
		return p;
	p = memmem(p + 1, (size_t)(end - p) - 1, quote, strlen(quote));
	return p ? p + strlen(quote) : end;
}

/* Bytes of an element of a type like .b8, .f32 or .f16x2; 0: it is no such type. */
static uint64_t type_bytes(const char *word, size_t length)
{
	char *after;
	unsigned long bits;

	if (length < 3 || !strchr("busf", word[1]) || !isdigit((unsigned char)word[2]))
		return 0;
	bits = strtoul(word + 2, &after, 10);
	return bits / 8 * (*after == 'x' ? 2 : 1);
}

/* What a declaration says before its first name. */
struct declaration {
	bool is_variable, is_elsewhere;
	uint64_t element_bytes, n_in_vector;
};

static void declaration_add(struct declaration *d, const char *word, size_t length)
{
	uint64_t bytes = type_bytes(word, length);

#define IS(text) (length == strlen(text) && !memcmp(word, text, length))
	if (IS(".global") || IS(".const"))
		d->is_variable = true;
	else if (IS(".extern") || IS(".managed"))
		d->is_elsewhere = true;
	else if (IS(".v2"))
		d->n_in_vector = 2;
	else if (IS(".v4"))
		d->n_in_vector = 4;
	else if (bytes)
		d->element_bytes = bytes;
#undef IS
}

/* From a name on: each has its sizes in brackets, and a comma before the next one. */
static uint64_t names_count(const char *p, const char *end)
{
	uint64_t sum = 0, n = 1;

	for (; p < end && *p != '='; p++) {
		if (*p == '[') {
			n *= strtoull(p + 1, NULL, 0);
		} else if (*p == ',') {
			sum += n;
			n = 1;
		}
	}
	return sum + n;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || strchr("._$%", c);
}

/*
 * A statement outside of functions, without its semicolon; directives like .target, which have
 * none, may be in front of it.
 */
static uint64_t statement_bytes(const char *p, const char *end)
{
	struct declaration d = { .n_in_vector = 1 };

	while (p < end && *p != '=') {
		const char *after, *word = text_skip(p, end);

		if (word != p || !*p || !is_word(*p)) {
			p = word != p ? word : p + 1;
			continue;
		}
		for (after = word; after < end && *after && is_word(*after); after++)
			;
		if (*word == '.')
			declaration_add(&d, word, (size_t)(after - word));
		else if (d.is_variable && !isdigit((unsigned char)*word))
			break;
		p = after;
	}
	if (!d.is_variable || d.is_elsewhere)
		return 0;
	return d.element_bytes * d.n_in_vector * names_count(p, end);
}

static uint64_t text_bytes(const char *text, uint64_t size)
{
	const char *end = text + strnlen(text, size), *start = text;
	bool has_initial = false;
	unsigned depth = 0;
	uint64_t sum = 0;

	for (const char *p = text; p < end; p++) {
		const char *after = text_skip(p, end);

		if (after != p) {
			p = after - 1;
			continue;
		}
		has_initial = has_initial || (!depth && *p == '=');
		depth += *p == '{';
		depth -= *p == '}' && depth;
		if (depth || (*p != ';' && (*p != '}' || has_initial)))
			continue;
		sum += *p == ';' ? statement_bytes(start, p) : 0;
		start = p + 1;
		has_initial = false;
	}
	return sum;
}

/* -- containers ------------------------------------------------------------------------------- */

static uint64_t fatbin_bytes(const char *image, uint64_t size)
{
	struct slu_fatbin head;
	struct slu_fatbin_entry entry;
	uint64_t most = 0, at, end;

	if (!is_inside(0, sizeof(head), size))
		return 0;
	memcpy(&head, image, sizeof(head));
	end = SLU_MIN(size, head.header_bytes + head.bytes);
	for (at = head.header_bytes; is_inside(at, SLU_FATBIN_ENTRY_BYTES_MIN, end);
	     at += entry.header_bytes + entry.payload_bytes) {
		const char *payload;
		uint64_t bytes = 0;

		memcpy(&entry, image + at, SLU_FATBIN_ENTRY_BYTES_MIN);
		if (entry.header_bytes < SLU_FATBIN_ENTRY_BYTES_MIN ||
		    !is_inside(at + entry.header_bytes, entry.payload_bytes, end))
			break;
		payload = image + at + entry.header_bytes;
		if (entry.kind == SLU_FATBIN_ELF && !entry.packed_bytes)
			bytes = elf_bytes(payload, entry.payload_bytes);
		else if (entry.kind == SLU_FATBIN_PTX && !entry.packed_bytes)
			bytes = text_bytes(payload, entry.payload_bytes);
		most = SLU_MAX(most, bytes);
	}
	return most;
}

static uint64_t wrapper_bytes(const void *image)
{
	struct slu_fatbin_wrapper wrapper;
	uint64_t sum;

	memcpy(&wrapper, image, sizeof(wrapper));
	sum = slu_cuda_image_variable_bytes(wrapper.fatbin, UINT64_MAX);
	for (size_t i = 0; wrapper.version == 2 && wrapper.extra && wrapper.extra[i]; i++)
		sum += slu_cuda_image_variable_bytes(wrapper.extra[i], UINT64_MAX);
	return sum;
}

uint64_t slu_cuda_image_variable_bytes(const void *image, uint64_t size)
{
	uint32_t magic = 0;

	/* no kind of image has a zero in its first bytes */
	if (!image || size < sizeof(magic) || strnlen(image, sizeof(magic)) < sizeof(magic))
		return 0;
	memcpy(&magic, image, sizeof(magic));
	if (magic == SLU_FATBIN_WRAPPER_MAGIC)
		return size == UINT64_MAX ? wrapper_bytes(image) : 0;
	if (magic == SLU_FATBIN_MAGIC)
		return fatbin_bytes(image, size);
	if (!memcmp(image, ELFMAG, SELFMAG))
		return elf_bytes(image, size);
	return text_bytes(image, size);
}
