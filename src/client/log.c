/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "client/log.h"

static int log_fd = -1; /* constant after init */

void slu_client_log_init(void)
{
	const char *where = secure_getenv("SLUICE_LOG");
	int saved = errno;

	if (log_fd >= 0 || !where || !*where)
		return;
	if (!strcmp(where, "stderr"))
		log_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		log_fd = open(where, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
	errno = saved;
}

void slu_client_log(const char *format, ...)
{
	int saved = errno;
	uint64_t now_ns;
	char line[512];
	va_list ap;
	size_t n;
	int r;

	if (log_fd < 0)
		return;
	now_ns = slu_clock_now_ns();
	r = snprintf(line, sizeof(line), "sluice[%d] %llu.%06llu: ", (int)getpid(),
		     (unsigned long long)(now_ns / SLU_NS_PER_S),
		     (unsigned long long)(now_ns % SLU_NS_PER_S / SLU_NS_PER_US));
	n = (size_t)r;
	va_start(ap, format);
	errno = saved; /* for %m */
	r = vsnprintf(line + n, sizeof(line) - n - 1, format, ap);
	va_end(ap);
	if (r > 0)
		n = SLU_MIN(n + (size_t)r, sizeof(line) - 2);
	line[n++] = '\n';
	/* One write a line, so that lines of several processes do not mix. */
	if (write(log_fd, line, n) < 0)
		errno = 0;
	errno = saved;
}
