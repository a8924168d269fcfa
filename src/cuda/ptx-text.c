/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/ptx-text.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "cuabi/fatbin.h"
#include "unpack/unpack.h"

/* More is not looked at: parsed, it would take hundreds of megabytes of the program's memory. */
#define TEXT_BYTES_MAX (UINT64_C(16) << 20)

/* The note of machine code on what it was made from, and the first architecture with several texts
 * of one number. */
#define NOTE_CUINFO	1000
#define NOTE_OWNER	"NVIDIA Corp"
#define SOURCE_ARCH_END 100

/* Flags of entries that every one may have: 64 bits, Linux. */
#define FLAGS_PLAIN 0x11

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

/* The entry of its kind with the highest architecture, of those that are looked for. */
struct best {
	struct slu_fatbin_entry entry;
	uint64_t payload_at;
	unsigned n; /* of that architecture */
};

static void best_add(struct best *best, const struct slu_fatbin_entry *e, uint64_t payload_at)
{
	if (best->n && e->arch < best->entry.arch)
		return;
	best->n = best->n && e->arch == best->entry.arch ? best->n + 1 : 1;
	best->entry = *e;
	best->payload_at = payload_at;
}

/*
 * Finds machine code that fits the device, and the PTX of the highest architecture up to @arch_max,
 * or of exactly @arch_max. Return: false if the fat binary is not whole, or has parts that we do
 * not know.
 */
static bool fatbin_look(const char *image, uint64_t size, unsigned capability, unsigned arch_max,
			bool is_exact, struct best *ret_code, struct best *ret_text)
{
	struct slu_fatbin_entry e;
	struct slu_fatbin head;
	uint64_t at, end;

	*ret_code = *ret_text = (struct best){ 0 };
	if (size < sizeof(head))
		return false;
	memcpy(&head, image, sizeof(head));
	if (head.header_bytes < sizeof(head) || head.bytes > UINT64_MAX - head.header_bytes)
		return false;
	end = head.header_bytes + head.bytes;
	if (end > size)
		return false;
	for (at = head.header_bytes; entry_read(image, at, end, &e);
	     at += e.header_bytes + e.payload_bytes) {
		if (e.kind == SLU_FATBIN_ELF && code_fits(e.arch, capability))
			best_add(ret_code, &e, at + e.header_bytes);
		else if (e.kind == SLU_FATBIN_PTX && e.arch <= arch_max &&
			 (!is_exact || e.arch == arch_max))
			best_add(ret_text, &e, at + e.header_bytes);
		else if (e.kind != SLU_FATBIN_ELF && e.kind != SLU_FATBIN_PTX)
			return false;
	}
	return at == end;
}

/* The architecture whose PTX machine code was made from; 0: it does not say. */
static unsigned code_source(const char *code, uint64_t size)
{
	struct {
		Elf64_Nhdr head;
		char owner[12];
		uint16_t version, arch;
	} note;
	Elf64_Shdr section;
	Elf64_Ehdr head;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, code, sizeof(head));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_shentsize != sizeof(section))
		return 0;
	for (unsigned i = 0; i < head.e_shnum; i++) {
		uint64_t at = (uint64_t)i * sizeof(section);

		if (head.e_shoff > size || size - head.e_shoff < at + sizeof(section))
			return 0;
		memcpy(&section, code + head.e_shoff + at, sizeof(section));
		if (section.sh_type != SHT_NOTE || section.sh_size < sizeof(note) ||
		    section.sh_offset > size || size - section.sh_offset < sizeof(note))
			continue;
		memcpy(&note, code + section.sh_offset, sizeof(note));
		if (note.head.n_type == NOTE_CUINFO && note.head.n_namesz == sizeof(note.owner) &&
		    !memcmp(note.owner, NOTE_OWNER, sizeof(note.owner)) && note.version == 2)
			return note.arch;
	}
	return 0;
}

/* Without a suffix like that of sm_90a, of which a note says nothing. */
static bool entry_is_plain(const struct slu_fatbin_entry *e)
{
	return !(e->flags & ~(uint64_t)(FLAGS_PLAIN | SLU_FATBIN_LZ4 | SLU_FATBIN_ZSTD));
}

static struct slu_cuda_text *fatbin_text(const char *image, uint64_t size, unsigned capability)
{
	struct best code, text;
	unsigned source;

	if (!fatbin_look(image, size, capability, capability, false, &code, &text))
		return NULL;
	if (code.n) {
		if (code.n > 1 || code.entry.packed_bytes || !entry_is_plain(&code.entry))
			return NULL;
		source = code_source(image + code.payload_at, code.entry.payload_bytes);
		if (!source || source >= SOURCE_ARCH_END ||
		    !fatbin_look(image, size, capability, source, true, &code, &text) ||
		    !entry_is_plain(&text.entry))
			return NULL;
	}
	return text.n == 1 ? entry_keep(&text.entry, image + text.payload_at, capability) : NULL;
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
