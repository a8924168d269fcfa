/* SPDX-License-Identifier: Apache-2.0 */

/* Which PTX of an image proves what its kernels do: only one that the driver compiles. */

#include "lib/test.h"

#include <elf.h>
#include <lz4.h>
#include <zstd.h>

#include "cuabi/fatbin.h"
#include "cuda/ptx-text.h"

#define TEXT ".version 6.3\n.target sm_75\n"

struct part {
	unsigned kind, arch;
	const char *text;   /* NULL: code that has a note */
	unsigned made_from; /* what the note says */
	uint64_t flags;
};

/* Machine code, as far as it is looked at. */
struct code {
	Elf64_Ehdr head;
	Elf64_Shdr section;
	Elf64_Nhdr note;
	char owner[12];
	uint16_t version, arch;
	uint32_t toolkit;
};

static char image[8192];

/* A fat binary of @n parts. Return: its size. */
static size_t make(const struct part *parts, size_t n)
{
	struct slu_fatbin head = { .magic = SLU_FATBIN_MAGIC, .version = 1, .header_bytes = 16 };
	size_t at = sizeof(head);

	memset(image, 0, sizeof(image));
	for (size_t i = 0; i < n; i++) {
		const struct code code = {
			.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64 },
				  .e_shoff = offsetof(struct code, section),
				  .e_shentsize = sizeof(Elf64_Shdr),
				  .e_shnum = 1 },
			.section = { .sh_type = SHT_NOTE,
				     .sh_offset = offsetof(struct code, note),
				     .sh_size = 32 },
			.note = { .n_namesz = 12, .n_descsz = 8, .n_type = 1000 },
			.owner = "NVIDIA Corp",
			.version = 2,
			.arch = (uint16_t)parts[i].made_from,
		};
		const void *payload = parts[i].text ? (const void *)parts[i].text : &code;
		size_t bytes = parts[i].text ? strlen(parts[i].text) : sizeof(code);
		struct slu_fatbin_entry e = {
			.kind = (uint16_t)parts[i].kind,
			.header_bytes = sizeof(e),
			.payload_bytes = (bytes + 8) / 8 * 8,
			.arch = parts[i].arch,
			.flags = 0x11 | parts[i].flags,
		};

		memcpy(image + at, &e, sizeof(e));
		memcpy(image + at + sizeof(e), payload, bytes);
		at += sizeof(e) + e.payload_bytes;
	}
	head.bytes = at - sizeof(head);
	memcpy(image, &head, sizeof(head));
	return at;
}

/* The text that runs on a device of @capability is @expected; NULL: none is known to. */
static void expect(const void *from, uint64_t size, unsigned capability, const char *expected)
{
	struct slu_cuda_text *text = slu_cuda_text_new(from, size, capability);
	char *unpacked;

	if (!expected) {
		assert_null(text);
		return;
	}
	assert_non_null(text);
	unpacked = slu_cuda_text_unpack(text);
	assert_non_null(unpacked);
	assert_string_equal(unpacked, expected);
	free(unpacked);
	free(text);
}

static void a_text_runs_as_it_is(void **state)
{
	expect(TEXT, UINT64_MAX, 75, TEXT);
	expect(TEXT, sizeof(TEXT) - 1, 90, TEXT);
	expect("", UINT64_MAX, 75, NULL);
	expect("\x7f"
	       "ELF\x02",
	       6, 75, NULL);
}

#define PTX SLU_FATBIN_PTX
#define ELF SLU_FATBIN_ELF

static const struct {
	const char *what;
	struct part parts[3];
	size_t n;
	unsigned capability;
	const char *expected;
} rows[] = {
	{ "one text", { { PTX, 75, "a" } }, 1, 75, "a" },
	{ "for a newer device", { { PTX, 75, "a" } }, 1, 89, "a" },
	{ "for an older device", { { PTX, 80, "a" } }, 1, 75, NULL },
	{ "the highest that fits",
	  { { PTX, 75, "a" }, { PTX, 86, "b" }, { PTX, 90, "c" } },
	  3,
	  89,
	  "b" },
	{ "two of the same", { { PTX, 75, "a" }, { PTX, 75, "b" } }, 2, 75, NULL },
	{ "two of the same below",
	  { { PTX, 75, "a" }, { PTX, 75, "b" }, { PTX, 80, "c" } },
	  3,
	  80,
	  "c" },
	{ "code without a note", { { ELF, 75, "x" }, { PTX, 75, "a" } }, 2, 75, NULL },
	{ "code made from the text", { { ELF, 75, NULL, 75 }, { PTX, 75, "a" } }, 2, 75, "a" },
	{ "from an older text",
	  { { ELF, 89, NULL, 80 }, { PTX, 80, "a" }, { PTX, 89, "b" } },
	  3,
	  89,
	  "a" },
	{ "from a text that is not there",
	  { { ELF, 86, NULL, 86 }, { PTX, 80, "a" } },
	  2,
	  86,
	  NULL },
	{ "from one of two",
	  { { ELF, 86, NULL, 86 }, { PTX, 86, "a" }, { PTX, 86, "b" } },
	  3,
	  86,
	  NULL },
	{ "two codes",
	  { { ELF, 86, NULL, 86 }, { ELF, 86, NULL, 86 }, { PTX, 86, "a" } },
	  3,
	  86,
	  NULL },
	{ "the higher code",
	  { { ELF, 80, NULL, 80 }, { ELF, 86, NULL, 80 }, { PTX, 80, "a" } },
	  3,
	  86,
	  "a" },
	{ "code of a suffix", { { ELF, 90, NULL, 90, 0x100000 }, { PTX, 90, "a" } }, 2, 90, NULL },
	{ "text of a suffix",
	  { { ELF, 90, NULL, 90 }, { PTX, 90, "a", 0, 0x100000 } },
	  2,
	  90,
	  NULL },
	{ "neither", { { ELF, 90, NULL, 90 }, { PTX, 90, "a" } }, 2, 90, "a" },
	{ "a note that says too little",
	  { { ELF, 100, NULL, 100 }, { PTX, 100, "a" } },
	  2,
	  100,
	  NULL },
	{ "code of an older one of its kind", { { ELF, 86, "x" }, { PTX, 86, "a" } }, 2, 89, NULL },
	{ "code of another kind", { { ELF, 75, "x" }, { PTX, 75, "a" } }, 2, 89, "a" },
	{ "code of a newer one of its kind", { { ELF, 89, "x" }, { PTX, 80, "a" } }, 2, 86, "a" },
	{ "a part that is not known", { { PTX, 75, "a" }, { 8, 75, "x" } }, 2, 75, NULL },
	{ "nothing", { { 0 } }, 0, 75, NULL },
};

static void of_a_fat_binary_only_what_is_compiled_counts(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t size = make(rows[i].parts, rows[i].n);

		print_message("# %s\n", rows[i].what);
		expect(image, size, rows[i].capability, rows[i].expected);
		expect(image, UINT64_MAX, rows[i].capability, rows[i].expected);
	}
}

static void a_fat_binary_that_is_not_whole_is_none(void **state)
{
	size_t size = make((const struct part[]){ { PTX, 75, "a" }, { PTX, 80, "b" } }, 2);

	for (size_t n = 0; n < size; n++)
		expect(image, n, 89, NULL);
	expect(image, size, 89, "b");
}

/* A fat binary with one text that is packed. Return: its size. */
static size_t make_packed(uint64_t flags, const char *text)
{
	char *payload = image + sizeof(struct slu_fatbin) + sizeof(struct slu_fatbin_entry);
	size_t n = strlen(text), packed;

	memset(image, 0, sizeof(image));
	packed = flags & SLU_FATBIN_ZSTD
			 ? ZSTD_compress(payload, 4096, text, n, 3)
			 : (size_t)LZ4_compress_default(text, payload, (int)n, 4096);
	memcpy(image + sizeof(struct slu_fatbin),
	       &(struct slu_fatbin_entry){ .kind = PTX,
					   .header_bytes = sizeof(struct slu_fatbin_entry),
					   .payload_bytes = (packed + 7) / 8 * 8,
					   .packed_bytes = (uint32_t)packed,
					   .arch = 75,
					   .flags = flags,
					   .text_bytes = n },
	       sizeof(struct slu_fatbin_entry));
	packed = sizeof(struct slu_fatbin_entry) + (packed + 7) / 8 * 8;
	memcpy(image,
	       &(struct slu_fatbin){ .magic = SLU_FATBIN_MAGIC,
				     .version = 1,
				     .header_bytes = sizeof(struct slu_fatbin),
				     .bytes = packed },
	       sizeof(struct slu_fatbin));
	return sizeof(struct slu_fatbin) + packed;
}

static void packed_texts_are_unpacked(void **state)
{
	static const char text[] = TEXT TEXT TEXT "// " TEXT TEXT;

	expect(image, make_packed(SLU_FATBIN_LZ4, text), 75, text);
	expect(image, make_packed(SLU_FATBIN_ZSTD, text), 80, text);
	expect(image, make_packed(0, text), 80, NULL);
}

static void a_program_of_several_objects_has_none(void **state)
{
	struct slu_fatbin_wrapper wrapper = { SLU_FATBIN_WRAPPER_MAGIC, 1, image, NULL };

	make((const struct part[]){ { PTX, 75, "a" } }, 1);
	expect(&wrapper, UINT64_MAX, 75, "a");
	wrapper.version = 2;
	expect(&wrapper, UINT64_MAX, 75, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_runs_as_it_is),
		cmocka_unit_test(of_a_fat_binary_only_what_is_compiled_counts),
		cmocka_unit_test(a_fat_binary_that_is_not_whole_is_none),
		cmocka_unit_test(packed_texts_are_unpacked),
		cmocka_unit_test(a_program_of_several_objects_has_none),
	};

	return cmocka_run_group_tests_name("ptx-text", tests, NULL, NULL);
}
