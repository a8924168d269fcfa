/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who has a slot, for those who look. A pid means something in its own pid namespace only: a
 * program in a container calls itself 1, and the daemon, NVML and people outside know it by another
 * number. Only the kernel can translate, and it does so for the holders of flocks in /proc/locks.
 * So each process holds a flock on a file of its own, without a name and for nothing else, and
 * leaves the file's number in its slot.
 *
 * Where both are in the same namespace, which is nearly always, the pid is right as it is and
 * nobody is asked. Where there is no /proc/locks to ask, it is taken as it is.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/flock.h"
#include "board/layout.h"

uint64_t dev_board_badge_namespace(void)
{
	char self[16] = "";
	struct stat st;

	/* a process in a new pid namespace may still see the /proc of the old one */
	if (readlink("/proc/self", self, sizeof(self) - 1) < 0 || atoi(self) != getpid() ||
	    stat("/proc/self/ns/pid", &st) < 0)
		return 0;
	return st.st_ino;
}

int dev_board_badge_take(uint64_t namespace, struct board_badge *ret_badge)
{
	int fd = slu_fd_lift(memfd_create("sluice-badge", MFD_CLOEXEC));
	struct stat st = { 0 };

	if (fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0)) {
		close(fd);
		fd = -1;
	}
	*ret_badge = (struct board_badge){
		.pid = getpid(),
		.namespace = namespace,
		.device = st.st_dev,
		.inode = st.st_ino,
	};
	return fd;
}

void dev_board_badge_pids(const struct board_badge *const *badges, size_t n, uint64_t namespace,
			  pid_t *ret_pids)
{
	size_t n_foreign = 0;
	char line[256];
	FILE *file;

	for (size_t i = 0; i < n; i++) {
		bool is_near = namespace && badges[i]->namespace == namespace;

		ret_pids[i] = is_near ? badges[i]->pid : 0;
		n_foreign += !is_near;
	}
	file = n_foreign ? fopen("/proc/locks", "re") : NULL;
	if (!file) {
		for (size_t i = 0; i < n; i++)
			ret_pids[i] = badges[i]->pid;
		return;
	}
	while (fgets(line, sizeof(line), file)) {
		struct slu_flock held;

		if (!slu_flock_parse(line, &held))
			continue;
		for (size_t i = 0; i < n; i++)
			if (!ret_pids[i] && badges[i]->inode == held.inode &&
			    badges[i]->device == held.device)
				ret_pids[i] = held.pid > 0 ? held.pid : 0;
	}
	fclose(file);
}
