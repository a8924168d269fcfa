/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A lock file: its owner holds a flock on it for life. The kernel releases the lock of a daemon
 * that died, whatever files it left. A daemon that ends removes the file while it still holds the
 * lock, and a new one checks that the file it locked is the file at the path.
 */

#include <sys/types.h>

enum {
	_SLU_LOCKFILE_E_SUCCESS,
	SLU_LOCKFILE_E_HELD, /* locked already; *ret_holder is the holder, 0 if unknown */
};

/* Opens or creates @path (0600) and locks it. Return: 0, HELD, or -errno. */
int slu_lockfile_take(const char *path, int *ret_fd, pid_t *ret_holder);
