/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * In a program that has closed its standard streams a new descriptor gets the number of one of
 * them, and what the program prints would go into ours. Keeps errno.
 *
 * Return: one above them in place of @fd; @fd itself where it is above, an error, or none is left.
 */
static inline int slu_fd_lift(int fd)
{
	int saved = errno, lifted = -1;

	if (fd >= 0 && fd <= STDERR_FILENO)
		lifted = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (lifted >= 0)
		close(fd);
	errno = saved;
	return lifted >= 0 ? lifted : fd;
}

/*
 * Whether a file of this process may have @bytes (ulimit -f). Where it may not, whoever makes it
 * larger or writes beyond that is ended by a signal. Memory files are files.
 *
 * Return: 0, or -EFBIG.
 */
static inline int slu_fd_may_hold(uint64_t bytes)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
			       bytes > limit.rlim_cur
		       ? -EFBIG
		       : 0;
}
