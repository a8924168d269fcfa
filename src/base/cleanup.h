/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cleanup by attribute. A function uses these or goto, never both. Cleanup
 * functions keep errno, so that they may run between a failed call and the
 * place where its errno is read.
 */

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define slu_cleanup(func) __attribute__((__cleanup__(func)))

static inline void slu_freep(void *p)
{
	int saved = errno;

	free(*(void **)p);
	errno = saved;
}

static inline void slu_closep(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

/* Hand over: the value goes to the caller, the variable forgets it. */
#define slu_steal_ptr(p)                    \
	({                                  \
		__typeof__(p) _slu_p = (p); \
		(p) = NULL;                 \
		_slu_p;                     \
	})

static inline int slu_steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}
