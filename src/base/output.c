/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/util.h"

static const char *guarded_program;
static int failure_status;
static int failure; /* errno of the first write that failed */
static bool is_plain;

struct stream {
	int fd;
	struct slu_ascii ascii;
};

static struct stream out_stream = { .fd = STDOUT_FILENO }, error_stream = { .fd = STDERR_FILENO };

/* Return: 0, or the errno. */
static int write_all(int fd, const char *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = write(fd, data + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : EIO;
		done += (size_t)n;
	}
	return 0;
}

static int write_ascii(struct stream *stream, const char *data, size_t size)
{
	char plain[1024 + 4];
	int r = 0;

	for (size_t i = 0; i < size && !r; i += 1024) {
		size_t n = slu_ascii_translate(&stream->ascii, data + i,
					       SLU_MIN(size - i, (size_t)1024), plain);

		r = write_all(stream->fd, plain, n);
	}
	return r;
}

/* Return: 0 where it failed, as fopencookie() wants it. */
static ssize_t write_out(void *cookie, const char *data, size_t size)
{
	struct stream *stream = cookie;
	int r = is_plain ? write_ascii(stream, data, size) : write_all(stream->fd, data, size);

	if (r && !failure && stream == &out_stream)
		failure = r;
	return r ? 0 : (ssize_t)size;
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
	FILE *out = fopencookie(&out_stream, "w", (cookie_io_functions_t){ .write = write_out });

	guarded_program = program;
	failure_status = status;
	if (!out || atexit(check)) {
		fprintf(stderr, "%s: memory is short.\n", program);
		return;
	}
	setvbuf(out, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
	stdout = out;
}

void slu_output_follow_locale(void)
{
	FILE *error;

	if (!slu_ascii_is_wanted())
		return;
	error = fopencookie(&error_stream, "w", (cookie_io_functions_t){ .write = write_out });
	if (!error)
		return;
	is_plain = true;
	setvbuf(error, NULL, _IONBF, 0);
	stderr = error;
}
