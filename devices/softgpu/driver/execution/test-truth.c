/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>

/*
 * The trace of launches: exactly the pages that a kernel touched, launch by launch; and the reader,
 * which must not take for whole what is not.
 */

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
	snprintf(wanted, sizeof(wanted), " %u 4096 4096 0\n", PAGE);
	file = fopen(trace_path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		found = found || (!strncmp(line, "launch ", 7) && strstr(line, wanted));
	fclose(file);
	assert_true(found);
}

/* -- the reader ----------------------------------------------------------------------------- */

/* Reads a trace with the tool. Return: its exit status; what it said, on both ways, is in @said. */
static int read_trace(const char *options, const char *path, char *said, size_t size)
{
	char command[512];
	size_t n;
	FILE *pipe;
	int status;

	assert_non_null(getenv("SLUICE_SOURCE"));
	snprintf(command, sizeof(command), "%s/tools/softgpu-trace %s %s 2>&1",
		 getenv("SLUICE_SOURCE"), options, path);
	pipe = popen(command, "re");
	assert_non_null(pipe);
	n = fread(said, 1, size - 1, pipe);
	said[n] = '\0';
	status = pclose(pipe);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void the_reader_shows_what_was_written(void **state)
{
	static char said[65536];
	CUfunction fill = test_function(test_ptx_fill, "fill");
	char wanted[128];
	CUdeviceptr p;

	(void)state;
	assert_cu(cuMemAlloc_v2(&p, 4 * MIB));
	assert_cu(test_fill(fill, p, 5 * PAGE / 4, 1, NULL));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(read_trace("--json", trace_path, said, sizeof(said)), 0);
	snprintf(wanted, sizeof(wanted),
		 "\"read\": false, \"written\": true, \"address\": %" PRIu64 ", \"bytes\": %u}",
		 (uint64_t)p, 5 * PAGE);
	assert_non_null(strstr(said, wanted));
	assert_non_null(strstr(said, "\"kernel\": \"fill\", \"grid\": [320, 1, 1]"));
	assert_int_equal(read_trace("--pages", trace_path, said, sizeof(said)), 0);
	snprintf(wanted, sizeof(wanted), "-w %#" PRIx64 " %u\n", (uint64_t)p, 5 * PAGE);
	assert_non_null(strstr(said, wanted));
}

static void the_reader_knows_what_is_missing(void **state)
{
	static const struct {
		const char *what, *text;
		int status;
		const char *said;
	} table[] = {
		{ "all is there", "launch 1 1 k 1 1 1 1 1 1 5 9 64 0 0 1\nr 40 2\n", 0, "128" },
		{ "pages are missing", "launch 1 1 k 1 1 1 1 1 1 5 9 64 0 0 2\nr 40 2\n", 1,
		  "1 launches are missing" },
		{ "the end of the last number is missing",
		  "launch 1 1 k 1 1 1 1 1 1 5 9 64 0 0 1\nr 40 2", 1, "1 launches are missing" },
		{ "one was cut, and it is said so",
		  "launch 1 1 k 1 1 1 1 1 1 5 9 64 0 0 1\nr 40 2?\nlost 1 1\n"
		  "launch 1 3 k 1 1 1 1 1 1 5 9 64 0 0 0\n",
		  1, "1 launches are missing" },
		{ "several are lost, the first one was cut",
		  "launch 1 1 k 1 1?\nlost 1 3\nlaunch 1 3 k 1 1 1 1 1 1 5 9 64 0 0 0\n", 1,
		  "3 launches are missing" },
		{ "another process wrote on amid a line",
		  "launch 1 1 k 1 1 1 1 1 1 5 9 64 0 0 1\nr 40 2\n"
		  "launch 1 2 klaunch 2 1 k 1 1 1 1 1 1 5 9 64 0 0 1\nr 40 2\n",
		  1, "1 launches are missing" },
		{ "it is something else", "Dear all,\n", 1, "this is no trace" },
	};
	char path[128], said[4096];

	(void)state;
	snprintf(path, sizeof(path), "%s/written", test_folder);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		FILE *file = fopen(path, "we");

		assert_non_null(file);
		fputs(table[i].text, file);
		fclose(file);
		if (read_trace("", path, said, sizeof(said)) != table[i].status ||
		    !strstr(said, table[i].said))
			fail_msg("%s: %s", table[i].what, said);
	}
	unlink(path);
}

/* -- a trace that cannot be written --------------------------------------------------------- */

/* A process whose files may not grow beyond a few bytes more, for one launch of three. */
static _Noreturn void run_out_of_space(const char *path)
{
	struct rlimit limit;
	CUcontext context;
	CUfunction fill;
	CUdeviceptr p;

	signal(SIGXFSZ, SIG_IGN);
	setenv("SLUICE_SOFTGPU_TRACE", path, 1);
	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuMemAlloc_v2(&p, MIB))
		_exit(1);
	fill = test_function(test_ptx_fill, "fill");
	if (test_fill(fill, p, 10, 1, NULL) || cuCtxSynchronize())
		_exit(2);
	getrlimit(RLIMIT_FSIZE, &limit);
	for (unsigned i = 0; i < 2; i++) {
		struct stat st;

		if (stat(path, &st))
			_exit(3);
		limit.rlim_cur = i ? limit.rlim_max : (rlim_t)st.st_size + 20;
		if (setrlimit(RLIMIT_FSIZE, &limit) || test_fill(fill, p, 10, 1, NULL) ||
		    cuCtxSynchronize())
			_exit(4);
	}
	_exit(0);
}

static void a_trace_without_space_says_what_is_missing(void **state)
{
	char path[128], said[4096];
	int status, errors;
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/short", test_folder);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		errors = open("/dev/null", O_WRONLY);
		dup2(errors, STDERR_FILENO);
		execl("/proc/self/exe", "test-truth", "--run-out-of-space", path, NULL);
		_exit(9);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read_trace("--json", path, said, sizeof(said)), 1);
	/* the first and the third are there, and whole */
	assert_non_null(strstr(said, "\"number\": 1,"));
	assert_null(strstr(said, "\"number\": 2,"));
	assert_non_null(strstr(said, "\"number\": 3,"));
	assert_non_null(strstr(said, "1 launches are missing"));
	unlink(path);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_is_told_with_the_pages_it_touched),
		cmocka_unit_test(bytes_of_pinned_memory_are_told),
		cmocka_unit_test(the_reader_shows_what_was_written),
		cmocka_unit_test(the_reader_knows_what_is_missing),
		cmocka_unit_test(a_trace_without_space_says_what_is_missing),
	};
	CUcontext context;
	int r;

	if (argc > 2 && !strcmp(argv[1], "--run-out-of-space"))
		run_out_of_space(argv[2]);
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
