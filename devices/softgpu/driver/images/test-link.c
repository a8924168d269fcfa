/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <elf.h>

#include "base/util.h"

/* The linker and archives: which members are taken, and grids that wait for themselves. */

#define VENDORS_ARCHIVE "/usr/local/cuda/lib64/libcudadevrt.a"

enum { PTX = 1, MACHINE_CODE = 2 };

struct archive {
	unsigned char bytes[32768];
	size_t n;
};

static void add(struct archive *a, const void *what, size_t n)
{
	assert_true(a->n + n <= sizeof(a->bytes));
	memcpy(a->bytes + a->n, what, n);
	a->n += n;
}

/* A member: a host object with one section, in which there is a fat binary of one entry. */
static void add_member(struct archive *a, const char *name, unsigned kind, const char *text)
{
	static const char names[] = "\0.shstrtab\0__nv_relfatbin";
	size_t text_bytes = slu_round_up(strlen(text) + 1, 8), fatbin_bytes = 16 + 64 + text_bytes;
	size_t names_bytes = slu_round_up(sizeof(names), 8);
	Elf64_Ehdr head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64 },
			    .e_shoff = sizeof(head),
			    .e_shentsize = sizeof(Elf64_Shdr),
			    .e_shnum = 3,
			    .e_shstrndx = 1 };
	Elf64_Shdr sections[3] = { { 0 } };
	uint64_t entry[8] = { kind | UINT64_C(0x101) << 16 | UINT64_C(64) << 32, text_bytes };
	uint64_t fatbin[2] = { 0xba55ed50 | UINT64_C(1) << 32 | UINT64_C(16) << 48,
			       64 + text_bytes };
	char padded[8192] = "", line[96];

	entry[3] = UINT64_C(75) << 32;
	entry[5] = 0x11;
	sections[1] = (Elf64_Shdr){ .sh_name = 1,
				    .sh_type = SHT_STRTAB,
				    .sh_offset = sizeof(head) + sizeof(sections),
				    .sh_size = sizeof(names) };
	sections[2] = (Elf64_Shdr){ .sh_name = 11,
				    .sh_type = SHT_PROGBITS,
				    .sh_offset = sections[1].sh_offset + names_bytes,
				    .sh_size = fatbin_bytes };
	snprintf(line, sizeof(line), "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644,
		 (size_t)sections[2].sh_offset + fatbin_bytes);
	if (!a->n)
		add(a, "!<arch>\n", 8);
	add(a, line, 60);
	add(a, &head, sizeof(head));
	add(a, sections, sizeof(sections));
	memcpy(padded, names, sizeof(names));
	add(a, padded, names_bytes);
	add(a, fatbin, sizeof(fatbin));
	add(a, entry, sizeof(entry));
	snprintf(padded, sizeof(padded), "%s", text);
	add(a, padded, text_bytes);
}

/* .func @name that gives what it gets, and @n more */
#define ADDS(name, n)                                                            \
	TEST_PTX_HEAD ".visible .func (.param .b32 r) " name "(.param .b32 x)\n" \
		      "{\n	.reg .b32 %r<2>; ld.param.u32 %r1, [x];\n"            \
		      "	add.u32 %r1, %r1, " #n "; st.param.b32 [r], %r1; ret;\n}\n"

/* k(p): *p = @name(*p) */
#define CALLS(name)                                                                      \
	TEST_PTX_HEAD ".extern .func (.param .b32 r) " name "(.param .b32 x);\n"         \
		      ".visible .entry k(.param .u64 p)\n{\n"                            \
		      "	.reg .b32 %r<2>; .reg .b64 %d1; .param .b32 x; .param .b32 r;\n" \
		      "	ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1];\n"              \
		      "	st.param.b32 [x], %r1; call (r), " name ", (x);\n"               \
		      "	ld.param.u32 %r1, [r]; st.global.u32 [%d1], %r1; ret;\n}\n"

static const char uses_another[] =
	TEST_PTX_HEAD ".extern .func (.param .b32 r) second(.param .b32 x);\n"
		      ".visible .func (.param .b32 r) first(.param .b32 x)\n{\n"
		      "	.reg .b32 %r<2>; .param .b32 y; .param .b32 s; ld.param.u32 %r1, [x];\n"
		      "	st.param.b32 [y], %r1; call (s), second, (y); ld.param.u32 %r1, [s];\n"
		      "	add.u32 %r1, %r1, 10; st.param.b32 [r], %r1; ret;\n}\n";

/* Links @text with an archive, and loads what comes out. */
static CUresult link_with(const char *text, const void *archive, size_t archive_bytes, char *log,
			  size_t size, CUmodule *ret_module)
{
	CUjit_option options[] = { CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)size }, *image;
	CUlinkState link;
	CUresult result;
	size_t bytes;

	assert_cu(cuLinkCreate_v2(2, options, values, &link));
	if (text)
		assert_cu(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text,
					   strlen(text) + 1, NULL, 0, NULL, NULL));
	if (archive)
		assert_cu(cuLinkAddData_v2(link, CU_JIT_INPUT_LIBRARY, (void *)(uintptr_t)archive,
					   archive_bytes, NULL, 0, NULL, NULL));
	else
		assert_cu(cuLinkAddFile_v2(link, CU_JIT_INPUT_LIBRARY, VENDORS_ARCHIVE, 0, NULL,
					   NULL));
	assert_cu(cuLinkComplete(link, &image, &bytes));
	result = cuModuleLoadData(ret_module, image);
	assert_cu(cuLinkDestroy(link));
	return result;
}

static unsigned run(CUmodule module, unsigned value)
{
	CUfunction f;
	CUdeviceptr p;
	void *params[] = { &p };

	assert_cu(cuModuleGetFunction(&f, module, "k"));
	assert_cu(cuMemAlloc_v2(&p, 4));
	assert_cu(cuMemcpyHtoD_v2(p, &value, 4));
	assert_cu(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	assert_cu(cuMemcpyDtoH_v2(&value, p, 4));
	assert_cu(cuMemFree_v2(p));
	return value;
}

static void make_archive(struct archive *a)
{
	*a = (struct archive){ .n = 0 };
	add_member(a, "code.o/", MACHINE_CODE, "\177ELF of a card");
	add_member(a, "second.o/", PTX, ADDS("second", 200));
	add_member(a, "wrong.o/", PTX, TEST_PTX_HEAD ".visible .func unused() { nonsense; }\n");
	add_member(a, "first.o/", PTX, uses_another);
	/* whoever took this one, too, would have two of a name */
	add_member(a, "clash.o/", PTX, CALLS("elsewhere"));
}

static void only_members_that_define_a_missing_name_are_taken(void **state)
{
	struct archive a;
	CUmodule module;
	char log[256];

	(void)state;
	make_archive(&a);
	assert_cu(link_with(CALLS("first"), a.bytes, a.n, log, sizeof(log), &module));
	assert_non_null(strstr(log, "'code.o' has no PTX for compute_75"));
	assert_int_equal(run(module, 5), 215);
	assert_cu(cuModuleUnload(module));
	/* what the text defines is not looked for */
	assert_cu(link_with(ADDS("first", 1) /* and nobody calls it */, a.bytes, a.n, log,
			    sizeof(log), &module));
	assert_cu(cuModuleUnload(module));
}

static void a_name_that_no_member_defines_is_missing_at_load(void **state)
{
	struct archive a;
	CUmodule module;
	char log[256];

	(void)state;
	make_archive(&a);
	assert_int_equal(link_with(CALLS("third"), a.bytes, a.n, log, sizeof(log), &module),
			 CUDA_ERROR_INVALID_PTX);
}

static void an_archive_alone_is_taken_whole(void **state)
{
	struct archive a = { .n = 0 };
	CUmodule module;
	char log[256];

	(void)state;
	add_member(&a, "k.o/", PTX, CALLS("second"));
	add_member(&a, "second.o/", PTX, ADDS("second", 200));
	assert_cu(link_with(NULL, a.bytes, a.n, log, sizeof(log), &module));
	assert_int_equal(run(module, 1), 201);
	assert_cu(cuModuleUnload(module));
}

/*
 * all(p): every block counts itself in p[0] and, when all have done so, writes what it finds there
 * to p[4 + its number]; p[1 … 3] are the size, the rank of the last thread, and the errors.
 */
static const char ptx_grid[] = TEST_PTX_HEAD
	".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 s);\n"
	".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 h, .param .b32 f);\n"
	".extern .func (.param .b32 r) cudaCGSynchronizeGrid(.param .b64 h, .param .b32 f);\n"
	".extern .func (.param .b32 r) cudaCGGetSize(.param .b64 t, .param .b64 g, .param .b64 "
	"h);\n"
	".extern .func (.param .b32 r) cudaCGGetRank(.param .b64 t, .param .b64 g, .param .b64 "
	"h);\n"
	".visible .entry all(.param .u64 p)\n{\n"
	"	.reg .pred %p<2>; .reg .b32 %r<12>; .reg .b64 %d<8>; .local .align 4 .b8 own[8];\n"
	"	ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u64 %d4, "
	"0;\n"
	"	{ .param .b32 s; .param .b64 h; st.param.b32 [s], 1;\n"
	"	call (h), cudaCGGetIntrinsicHandle, (s); ld.param.b64 %d2, [h]; }\n"
	"	setp.eq.u32 %p1, %r1, 0; @%p1 red.global.add.u32 [%d1], 1;\n"
	"	{ .param .b64 h; .param .b32 f; .param .b32 e; st.param.b64 [h], %d2;\n"
	"	st.param.b32 [f], 0; call (e), cudaCGSynchronize, (h, f); ld.param.b32 %r3, [e]; "
	"}\n"
	"	ld.volatile.global.u32 %r4, [%d1]; mad.wide.u32 %d3, %r2, 4, %d1;\n"
	"	@%p1 st.global.u32 [%d3+16], %r4;\n"
	"	{ .param .b64 h; .param .b32 f; .param .b32 e; st.param.b64 [h], %d2;\n"
	"	st.param.b32 [f], 0; call (e), cudaCGSynchronizeGrid, (h, f);\n"
	"	ld.param.b32 %r5, [e]; } add.u32 %r3, %r3, %r5;\n"
	"	mov.u64 %d5, own; cvta.local.u64 %d5, %d5; add.u64 %d6, %d5, 4;\n"
	"	{ .param .b64 t; .param .b64 g; .param .b64 h; .param .b32 e;\n"
	"	st.param.b64 [t], %d5; st.param.b64 [g], %d4; st.param.b64 [h], %d2;\n"
	"	call (e), cudaCGGetSize, (t, g, h); ld.param.b32 %r6, [e]; }\n"
	"	add.u32 %r3, %r3, %r6; ld.u32 %r7, [%d5]; red.global.max.u32 [%d1+4], %r7;\n"
	"	{ .param .b64 t; .param .b64 g; .param .b64 h; .param .b32 e;\n"
	"	st.param.b64 [t], %d6; st.param.b64 [g], %d4; st.param.b64 [h], %d2;\n"
	"	call (e), cudaCGGetRank, (t, g, h); ld.param.b32 %r6, [e]; }\n"
	"	add.u32 %r3, %r3, %r6; ld.u32 %r7, [%d6]; red.global.max.u32 [%d1+8], %r7;\n"
	"	red.global.add.u32 [%d1+12], %r3; ret;\n}\n";

static void check_grid(CUmodule module)
{
	unsigned words[4 + 6] = { 0 };
	CUfunction f;
	CUdeviceptr p;
	void *params[] = { &p };

	assert_cu(cuModuleGetFunction(&f, module, "all"));
	assert_cu(cuMemAlloc_v2(&p, sizeof(words)));
	assert_cu(cuMemsetD8_v2(p, 0, sizeof(words)));
	assert_cu(cuLaunchCooperativeKernel(f, 6, 1, 1, 64, 1, 1, 0, NULL, params));
	assert_cu(cuMemcpyDtoH_v2(words, p, sizeof(words)));
	for (unsigned i = 4; i < SLU_ARRAY_SIZE(words); i++)
		assert_int_equal(words[i], 6);
	assert_int_equal(words[1], 384);
	assert_int_equal(words[2], 383);
	assert_int_equal(words[3], 0);
	/* in any other launch there is no handle, and each call says so */
	assert_cu(cuMemsetD8_v2(p, 0, sizeof(words)));
	assert_cu(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	assert_cu(cuMemcpyDtoH_v2(words, p, sizeof(words)));
	assert_int_equal(words[3], 4 * 32);
	assert_cu(cuMemFree_v2(p));
	assert_cu(cuModuleUnload(module));
}

static void a_grid_waits_for_itself_without_an_archive(void **state)
{
	CUmodule module;

	(void)state;
	assert_cu(cuModuleLoadData(&module, ptx_grid));
	check_grid(module);
}

/* numba and others give the linker this archive, whatever it holds for the device. */
static void a_grid_waits_for_itself_with_the_vendors_archive(void **state)
{
	CUmodule module;
	char log[256];

	(void)state;
	assert_cu(link_with(ptx_grid, NULL, 0, log, sizeof(log), &module));
	check_grid(module);
}

static int set_up(void **state)
{
	(void)state;
	test_context_make("64M");
	return 0;
}

int main(void)
{
	const struct CMUnitTest vendors =
		access(VENDORS_ARCHIVE, R_OK)
			? (struct CMUnitTest)slu_test_skipped(
				  a_grid_waits_for_itself_with_the_vendors_archive,
				  "there is no " VENDORS_ARCHIVE)
			: (struct CMUnitTest)cmocka_unit_test(
				  a_grid_waits_for_itself_with_the_vendors_archive);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_members_that_define_a_missing_name_are_taken),
		cmocka_unit_test(a_name_that_no_member_defines_is_missing_at_load),
		cmocka_unit_test(an_archive_alone_is_taken_whole),
		cmocka_unit_test(a_grid_waits_for_itself_without_an_archive),
		vendors,
	};

	return cmocka_run_group_tests_name("softgpu-link", tests, set_up, test_device_tear_down);
}
