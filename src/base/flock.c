/* SPDX-License-Identifier: Apache-2.0 */
#include "base/flock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/error.h"

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

int slu_flock_holder(int fd, pid_t *ret_pid)
{
	char line[256];
	struct stat st;
	pid_t by_inode = 0;
	FILE *f;

	if (fstat(fd, &st) < 0)
		return slu_error(-errno);
	f = fopen("/proc/locks", "re");
	if (!f)
		return slu_error(-ENOENT);
	while (fgets(line, sizeof(line), f)) {
		struct slu_flock held;

		if (!slu_flock_parse(line, &held) || held.inode != st.st_ino || held.pid <= 0)
			continue;
		by_inode = held.pid;
		if (held.device == st.st_dev)
			break; /* else stat and the kernel name the file system differently */
	}
	fclose(f);
	if (!by_inode)
		return slu_error(-ENOENT);
	*ret_pid = by_inode;
	return 0;
}
