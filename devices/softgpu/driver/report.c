/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HINT                                                                                   \
	"softgpu: the program was told so by an error, and its results may be wrong. This is " \
	"said "                                                                                \
	"once; SLUICE_LOG=stderr tells all, SLUICE_SOFTGPU_REPORT=none nothing.\n"

static bool is_told;

/* whoever gave us a full disk does without */
static void report_put(int fd, const char *line, size_t size)
{
	while (size) {
		ssize_t n = write(fd, line, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		line += n;
		size -= (size_t)n;
	}
}

/* Opened for each line: there is one a context. */
static void log_line(const char *where, const char *line, size_t size)
{
	int fd = STDERR_FILENO;
	bool is_file = strcmp(where, "stderr") != 0;

	if (is_file)
		fd = open(where, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	report_put(fd, line, size);
	if (is_file)
		close(fd);
}

/* The first line of a process, with what to do about it. */
static void tell_once(const char *line)
{
	const char *wish = secure_getenv("SLUICE_SOFTGPU_REPORT");
	char text[1024];
	int n;

	if (!wish || strcmp(wish, "once") != 0 ||
	    __atomic_exchange_n(&is_told, true, __ATOMIC_RELAXED))
		return;
	n = snprintf(text, sizeof(text), "%s%s", line, HINT);
	report_put(STDERR_FILENO, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* @line ends with a newline. */
static void report_tell(const char *line, bool may_be_once)
{
	const char *where = secure_getenv("SLUICE_LOG");
	int saved_errno = errno;

	if (where && *where)
		log_line(where, line, strlen(line));
	if (may_be_once && !(where && !strcmp(where, "stderr")))
		tell_once(line);
	errno = saved_errno;
}

void dev_report_fault(const struct slu_ptx_module *module, const struct dev_interp_fault *fault)
{
	const char *file = slu_ptx_module_file(module, fault->source_file);
	char access[64] = "", source[256] = "", line[640];

	if (fault->size)
		snprintf(access, sizeof(access), ", %s of %u bytes at 0x%" PRIx64,
			 fault->is_write ? "a write" : "a read", fault->size, fault->address);
	if (fault->source_line)
		snprintf(source, sizeof(source), " (%s:%u)", file ? file : "?", fault->source_line);
	snprintf(line, sizeof(line),
		 "softgpu: kernel '%.200s' was ended: %s%s, by thread %u,%u,%u of block %u,%u,%u "
		 "in line %u of its text%s: %s\n",
		 fault->kernel ? fault->kernel : "?", dev_interp_fault_name(fault->kind), access,
		 fault->thread[0], fault->thread[1], fault->thread[2], fault->block[0],
		 fault->block[1], fault->block[2], fault->line, source,
		 fault->form ? fault->form : "");
	report_tell(line, true);
}

void dev_report_launch(const char *kernel, const struct slu_ptx_error *error)
{
	char line[512];

	snprintf(line, sizeof(line),
		 "softgpu: kernel '%.200s' cannot be launched: line %u, column %u: %s\n", kernel,
		 error->line, error->column, error->text);
	report_tell(line, true);
}

void dev_report_refusal(const char *kernel, const char *why)
{
	char line[512];

	snprintf(line, sizeof(line), "softgpu: a launch of kernel '%.200s' was refused: %s\n",
		 kernel, why);
	report_tell(line, true);
}

void dev_report_copy(uint64_t dst, uint64_t src, uint64_t bytes, const char *what)
{
	char from[32] = "", line[256];

	if (src)
		snprintf(from, sizeof(from), "0x%" PRIx64 " to ", src);
	snprintf(line, sizeof(line),
		 "softgpu: a %s of %" PRIu64 " bytes %s%s0x%" PRIx64 " was %s: %s%s\n",
		 src ? "copy" : "set", bytes, src ? "from " : "at ", from, dst,
		 what ? "refused" : "ended", what ? what : "memory was unmapped meanwhile",
		 what ? " is not memory that it may use" : "");
	report_tell(line, true);
}

void dev_report_image(const char *why, bool has_reason)
{
	char line[640];

	snprintf(line, sizeof(line), "softgpu: a module was refused: %.560s%s", why,
		 *why && why[strlen(why) - 1] == '\n' ? "" : "\n");
	report_tell(line, !has_reason);
}
