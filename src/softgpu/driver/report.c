/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opened for each line: there is one a context. */
static void write_line(const char *line, size_t size)
{
	const char *where = secure_getenv("SLUICE_LOG");
	int saved_errno = errno, fd = STDERR_FILENO;
	bool is_file = where && strcmp(where, "stderr") != 0;

	if (!where || !*where)
		return;
	if (is_file)
		fd = open(where, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0) {
		/* whoever gave us a full disk does without */
		if (write(fd, line, size) < 0)
			errno = saved_errno;
		if (is_file)
			close(fd);
	}
	errno = saved_errno;
}

void slu_report_fault(const struct slu_ptx_module *module, const struct slu_interp_fault *fault)
{
	const char *file = slu_ptx_module_file(module, fault->source_file);
	char access[64] = "", source[256] = "", line[640];
	int n;

	if (fault->size)
		snprintf(access, sizeof(access), ", %s of %u bytes at 0x%" PRIx64,
			 fault->is_write ? "a write" : "a read", fault->size, fault->address);
	if (fault->source_line)
		snprintf(source, sizeof(source), " (%s:%u)", file ? file : "?", fault->source_line);
	n = snprintf(
		line, sizeof(line),
		"softgpu: kernel '%s' was ended: %s%s, by thread %u,%u,%u of block %u,%u,%u in "
		"line %u of its text%s: %s\n",
		fault->kernel ? fault->kernel : "?", slu_interp_fault_name(fault->kind), access,
		fault->thread[0], fault->thread[1], fault->thread[2], fault->block[0],
		fault->block[1], fault->block[2], fault->line, source,
		fault->form ? fault->form : "");
	if (n > 0)
		write_line(line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}
