/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"

static int max_level = LOG_NOTICE;
static char file[PATH_MAX]; /* empty: stderr as it was */
static off_t file_max_bytes;

void slu_log_set_level(int level)
{
	max_level = level;
}

int slu_log_level(void)
{
	return max_level;
}

static int open_file(void)
{
	slu_cleanup(slu_closep) int fd =
		open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 || dup2(fd, STDERR_FILENO) < 0 ? slu_error(-errno) : 0;
}

int slu_log_to_file(const char *path, uint64_t max_bytes)
{
	int r;

	if (snprintf(file, sizeof(file), "%s", path) >= (int)sizeof(file)) {
		file[0] = '\0';
		return slu_error(-ENAMETOOLONG);
	}
	file_max_bytes = (off_t)max_bytes;
	r = open_file();
	if (r)
		file[0] = '\0';
	return slu_fold(r);
}

/* The file before it, if there was one, is gone then. Where that fails the old one grows on. */
static void rotate(void)
{
	char before[PATH_MAX + 2];
	struct stat st;

	if (fstat(STDERR_FILENO, &st) || st.st_size < file_max_bytes)
		return;
	snprintf(before, sizeof(before), "%s.1", file);
	if (!rename(file, before))
		(void)open_file();
}

static void print_time(char *ret_text, size_t size)
{
	time_t now = time(NULL);
	struct tm parts;

	if (!localtime_r(&now, &parts) || !strftime(ret_text, size, "%F %T", &parts))
		ret_text[0] = '\0';
}

/* Names and values are the users': a line break in one must not look like a line of ours. */
static void line_keep_single(char *line)
{
	for (; *line; line++)
		if ((unsigned char)*line < ' ' || *line == 0x7f)
			*line = '?';
}

void slu_log_write(int level, const char *format, ...)
{
	int saved = errno;
	char line[1024], when[32];
	va_list ap;

	va_start(ap, format);
	errno = saved; /* for %m */
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	line_keep_single(line);
	if (file[0]) {
		rotate();
		print_time(when, sizeof(when));
		fprintf(stderr, "%s %s[%d]: %s\n", when, program_invocation_short_name,
			(int)getpid(), line);
	} else if (getenv("JOURNAL_STREAM"))
		fprintf(stderr, "<%d>%s\n", level, line);
	else
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, line);
	errno = saved;
}
