/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who holds a flock, as /proc/locks tells: by the pid that this process's /proc has for the holder,
 * whatever pid namespace that one is in.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct slu_flock {
	pid_t pid; /* not above 0: nobody whom we can see */
	uint64_t device, inode;
};

/* Return: whether @line of /proc/locks tells of somebody who holds a flock. */
bool slu_flock_parse(const char *line, struct slu_flock *ret_flock);

/* Who holds a flock on the file behind @fd. Return: 0, -ENOENT if nobody can be seen, or -errno. */
int slu_flock_holder(int fd, pid_t *ret_pid);
