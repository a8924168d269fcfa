/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

static int max_level = LOG_NOTICE;

void slu_log_set_level(int level)
{
	max_level = level;
}

int slu_log_level(void)
{
	return max_level;
}

void slu_log_write(int level, const char *format, ...)
{
	int saved = errno;
	char line[1024];
	va_list ap;

	va_start(ap, format);
	errno = saved; /* for %m */
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (getenv("JOURNAL_STREAM"))
		fprintf(stderr, "<%d>%s\n", level, line);
	else
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, line);
	errno = saved;
}
