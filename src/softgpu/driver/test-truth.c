/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <inttypes.h>
#include <stdbool.h>

/* The trace of launches: exactly the pages that a kernel touched, launch by launch. */

#define MIB  (1u << 20)
#define PAGE (64 * 1024u)

static char trace_path[128];

/* copies n words from a to b */
static const char ptx_copy[] =
	TEST_PTX_HEAD ".visible .entry copy(.param .u64 a, .param .u64 b, .param .u32 n)\n"
		      "{\n"
		      "	.reg .pred %q<2>;\n"
		      "	.reg .b32 %r<8>;\n"
		      "	.reg .b64 %d<8>;\n"
		      "	ld.param.u64 %d1, [a];\n"
		      "	ld.param.u64 %d2, [b];\n"
		      "	ld.param.u32 %r1, [n];\n"
		      "	mov.u32 %r2, %ctaid.x;\n"
		      "	mov.u32 %r3, %ntid.x;\n"
		      "	mov.u32 %r4, %tid.x;\n"
		      "	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
		      "	setp.ge.u32 %q1, %r5, %r1;\n"
		      "	@%q1 bra DONE;\n"
		      "	mul.wide.u32 %d3, %r5, 4;\n"
		      "	add.s64 %d4, %d1, %d3;\n"
		      "	add.s64 %d5, %d2, %d3;\n"
		      "	ld.global.u32 %r6, [%d4];\n"
		      "	st.global.u32 [%d5], %r6;\n"
		      "DONE:\n"
		      "	ret;\n"
		      "}\n";

/* Return: how many lines of the trace are @wanted. */
static unsigned count_lines(const char *wanted)
{
	FILE *file = fopen(trace_path, "re");
	char line[512];
	unsigned n = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		n += !strncmp(line, wanted, strlen(wanted));
	fclose(file);
	return n;
}

static unsigned count_range(char how, CUdeviceptr p, unsigned n_pages)
{
	char line[64];

	snprintf(line, sizeof(line), "%c %" PRIx64 " %u\n", how, (uint64_t)p, n_pages);
	return count_lines(line);
}

static void a_launch_is_told_with_the_pages_it_touched(void **state)
{
	CUfunction copy = test_function(ptx_copy, "copy");
	CUdeviceptr a, b;
	unsigned n;
	void *params[] = { &a, &b, &n };

	(void)state;
	assert_cu(cuMemAlloc_v2(&a, 4 * MIB));
	assert_cu(cuMemAlloc_v2(&b, 4 * MIB));
	/* three pages and one word of the fourth */
	n = 3 * PAGE / 4 + 1;
	assert_cu(cuLaunchKernel(copy, n / 256 + 1, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(count_lines("launch "), 1);
	assert_int_equal(count_range('r', a, 4), 1);
	assert_int_equal(count_range('w', b, 4), 1);
	/* the next launch begins anew; what is read and written is one line */
	b = a + PAGE;
	n = PAGE / 2;
	assert_cu(cuLaunchKernel(copy, n / 256, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(count_lines("launch "), 2);
	assert_int_equal(count_range('r', a, 1), 1);
	assert_int_equal(count_range('x', a + PAGE, 1), 1);
	assert_int_equal(count_range('w', a + 2 * PAGE, 1), 1);
}

static void bytes_of_pinned_memory_are_told(void **state)
{
	CUfunction copy = test_function(ptx_copy, "copy");
	CUdeviceptr a, b;
	unsigned n = 1024;
	void *params[] = { &a, &b, &n }, *pinned;
	char wanted[160];
	FILE *file;
	bool found = false;
	char line[512];

	(void)state;
	assert_cu(cuMemAllocHost_v2(&pinned, 8192));
	a = (uintptr_t)pinned;
	b = a + 4096;
	assert_cu(cuLaunchKernel(copy, n / 256, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
	assert_cu(cuCtxSynchronize());
	snprintf(wanted, sizeof(wanted), " %u 4096 4096\n", PAGE);
	file = fopen(trace_path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		found = found || (!strncmp(line, "launch ", 7) && strstr(line, wanted));
	fclose(file);
	assert_true(found);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_is_told_with_the_pages_it_touched),
		cmocka_unit_test(bytes_of_pinned_memory_are_told),
	};
	CUcontext context;
	int r;

	test_device_make("16M");
	snprintf(trace_path, sizeof(trace_path), "%s/trace", test_folder);
	setenv("SLUICE_SOFTGPU_TRACE", trace_path, 1);
	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0))
		return 1;
	r = cmocka_run_group_tests_name("softgpu-truth", tests, NULL, NULL);
	unlink(trace_path);
	test_device_remove();
	return r;
}
