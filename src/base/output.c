/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *guarded_program;
static int failure_status;

static void check(void)
{
	bool failed_before = ferror(stdout);

	errno = 0;
	if (!fflush(stdout) && !failed_before)
		return;
	/* who reads no further, as `head`, knows */
	if (errno != EPIPE)
		fprintf(stderr, "%s: the output could not be written%s%s.\n", guarded_program,
			errno ? ": " : "", errno ? strerror(errno) : "");
	fflush(stderr);
	_exit(failure_status);
}

void slu_output_guard(const char *program, int status)
{
	guarded_program = program;
	failure_status = status;
	if (atexit(check))
		fprintf(stderr, "%s: memory is short.\n", program);
}
