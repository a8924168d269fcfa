/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a module's variables as its image tells it. */

#include "lib/test.h"

#include <elf.h>

#include "base/util.h"
#include "cuda/image.h"

#define HEAD ".version 6.0\n.target sm_50, debug\n.address_size 64\n"

static uint64_t text(const char *ptx)
{
	return slu_cuda_image_variable_bytes(ptx, UINT64_MAX);
}

static void declarations_of_ptx_are_counted(void **state)
{
	static const struct {
		const char *what, *ptx;
		uint64_t bytes;
	} rows[] = {
		{ "none", HEAD, 0 },
		{ "a word", HEAD ".global .u32 x;", 4 },
		{ "an array", HEAD ".visible .global .align 16 .b8 x[12304];", 12304 },
		{ "two dimensions", HEAD ".global .f32 x[3][0x10];", 192 },
		{ "a vector", HEAD ".global .align 8 .v2 .f32 x[4];", 32 },
		{ "half pairs", HEAD ".global .f16x2 x[4];", 16 },
		{ "two names", HEAD ".global .u64 x, y[2];", 24 },
		{ "constants", HEAD ".const .b16 x[5] = {1, 2, 3, 4, 5};", 10 },
		{ "with an initial value", HEAD ".global .b8 x[4] = {1, 2}; .global .b8 y;", 5 },
		{ "elsewhere", HEAD ".extern .global .b8 x[400];", 0 },
		{ "managed", HEAD ".global .attribute(.managed) .b8 x[400];", 0 },
		{ "in a comment", HEAD "// .global .b8 x[4];\n/* .global .b8 y; */", 0 },
		{ "after a function",
		  HEAD ".entry k(.param .u64 p)\n{ .reg .b64 %d<2>; { ret; } }\n"
		       ".global .b8 y[7];",
		  7 },
		{ "in a function", HEAD ".entry k()\n{ .shared .b8 s[64]; ret; }", 0 },
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++)
		if (text(rows[i].ptx) != rows[i].bytes)
			fail_msg("%s: %llu bytes", rows[i].what,
				 (unsigned long long)text(rows[i].ptx));
}

static const char names[] = "\0.nv.global\0.nv.global.init\0.text.k\0.shstrtab";

struct code {
	Elf64_Ehdr head;
	char names[sizeof(names)];
	Elf64_Shdr sections[4];
};

static struct code code_make(void)
{
	struct code c = { 0 };

	memcpy(c.head.e_ident, ELFMAG, SELFMAG);
	c.head.e_ident[EI_CLASS] = ELFCLASS64;
	c.head.e_shoff = offsetof(struct code, sections);
	c.head.e_shentsize = sizeof(c.sections[0]);
	c.head.e_shnum = 4;
	c.head.e_shstrndx = 3;
	memcpy(c.names, names, sizeof(names));
	c.sections[0] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_NOBITS, .sh_size = 1 << 20 };
	c.sections[1] = (Elf64_Shdr){ .sh_name = 12, .sh_type = SHT_PROGBITS, .sh_size = 64 };
	c.sections[2] = (Elf64_Shdr){ .sh_name = 28, .sh_type = SHT_PROGBITS, .sh_size = 4096 };
	c.sections[3] = (Elf64_Shdr){ .sh_name = 36,
				      .sh_type = SHT_STRTAB,
				      .sh_offset = offsetof(struct code, names),
				      .sh_size = sizeof(names) };
	return c;
}

static void sections_of_machine_code_are_counted(void **state)
{
	struct code c = code_make();

	assert_int_equal(slu_cuda_image_variable_bytes(&c, UINT64_MAX), (1 << 20) + 64);
	assert_int_equal(slu_cuda_image_variable_bytes(&c, sizeof(c)), (1 << 20) + 64);
}

/* Every byte that may not be read is guarded by the sanitizer's build. */
static void what_is_cut_short_or_damaged_counts_nothing(void **state)
{
	struct code c = code_make();

	for (size_t size = 0; size < sizeof(c); size++) {
		void *copy = malloc(size ? size : 1);

		assert_non_null(copy);
		memcpy(copy, &c, size);
		assert_int_equal(slu_cuda_image_variable_bytes(copy, size), 0);
		free(copy);
	}
	c.head.e_shstrndx = 9;
	assert_int_equal(slu_cuda_image_variable_bytes(&c, sizeof(c)), 0);
}

/* Two entries of 16 bytes and more; the second one may be packed. */
static void the_largest_entry_of_a_fat_binary_counts(void **state)
{
	static const char small[] = ".global .b8 x[10];", large[] = ".global .b8 x[500];";
	struct {
		uint32_t magic;
		uint16_t version, header_bytes;
		uint64_t bytes;
		struct {
			uint16_t kind, flags;
			uint32_t header_bytes;
			uint64_t payload_bytes;
			uint32_t packed_bytes, options;
			char payload[32];
		} entries[2];
	} image = { .magic = 0xba55ed50u, .version = 1, .header_bytes = 16 };
	const struct {
		uint32_t magic, version;
		const void *fatbin, *extra;
	} wrapper = { 0x466243b1u, 1, &image, NULL };

	image.bytes = sizeof(image.entries);
	for (unsigned i = 0; i < 2; i++) {
		image.entries[i].kind = 1;
		image.entries[i].header_bytes = 24;
		image.entries[i].payload_bytes = sizeof(image.entries[i].payload);
		strcpy(image.entries[i].payload, i ? large : small);
	}
	assert_int_equal(slu_cuda_image_variable_bytes(&image, UINT64_MAX), 500);
	assert_int_equal(slu_cuda_image_variable_bytes(&wrapper, UINT64_MAX), 500);
	image.entries[1].packed_bytes = 12;
	assert_int_equal(slu_cuda_image_variable_bytes(&image, UINT64_MAX), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(declarations_of_ptx_are_counted),
		cmocka_unit_test(sections_of_machine_code_are_counted),
		cmocka_unit_test(what_is_cut_short_or_damaged_counts_nothing),
		cmocka_unit_test(the_largest_entry_of_a_fat_binary_counts),
	};

	return cmocka_run_group_tests_name("cuda-image", tests, NULL, NULL);
}
