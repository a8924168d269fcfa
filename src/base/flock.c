/* SPDX-License-Identifier: Apache-2.0 */
#include "base/flock.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

bool slu_flock_parse(const char *line, struct slu_flock *ret_flock)
{
	/* of one who waits there is "-> " between the two */
	const char *at = strstr(line, ": FLOCK ");
	unsigned major, minor;
	unsigned long inode;
	int pid;

	if (!at || sscanf(at, ": FLOCK %*s %*s %d %x:%x:%lu", &pid, &major, &minor, &inode) != 4)
		return false;
	*ret_flock = (struct slu_flock){ pid, makedev(major, minor), inode };
	return true;
}
