/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A file that says "this is taken": its owner holds a flock on it for life. A daemon that died has
 * let go, whatever it left behind; a daemon that leaves removes the file while it still holds it,
 * and a newcomer checks that what it locked is what the path names.
 */

#include <sys/types.h>

enum {
	_SLU_LOCKFILE_E_SUCCESS,
	SLU_LOCKFILE_E_HELD, /* somebody else has it; *ret_holder says who, 0 when that is unknown
			      */
};

/* Opens or creates @path (0600) and locks it. Return: 0, HELD, or -errno. */
int slu_lockfile_take(const char *path, int *ret_fd, pid_t *ret_holder);
