/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *guarded_program;
static int failure_status;
static int failure; /* errno of the first write that failed */

/* Return: 0 where it failed, as fopencookie() wants it. */
static ssize_t write_out(void *cookie, const char *data, size_t size)
{
	size_t done = 0;

	(void)cookie;
	while (done < size) {
		ssize_t n = write(STDOUT_FILENO, data + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (!failure)
				failure = n < 0 ? errno : EIO;
			return 0;
		}
		done += (size_t)n;
	}
	return (ssize_t)size;
}

static void check(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return;
	/* who reads no further, as `head`, knows */
	if (failure != EPIPE)
		fprintf(stderr, "%s: the output could not be written: %s.\n", guarded_program,
			strerror(failure));
	fflush(stderr);
	_exit(failure_status);
}

void slu_output_guard(const char *program, int status)
{
	FILE *out = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_out });

	guarded_program = program;
	failure_status = status;
	if (!out || atexit(check)) {
		fprintf(stderr, "%s: memory is short.\n", program);
		return;
	}
	setvbuf(out, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
	stdout = out;
}
