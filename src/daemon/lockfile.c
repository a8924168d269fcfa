/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/flock.h"
#include "daemon/lockfile.h"

int slu_lockfile_take(const char *path, int *ret_fd, pid_t *ret_holder)
{
	for (;;) {
		slu_cleanup(slu_closep) int fd = -1;
		struct stat ours, named;

		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return slu_error(-errno);
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			if (errno != EWOULDBLOCK)
				return slu_error(-errno);
			*ret_holder = 0;
			slu_flock_holder(fd, ret_holder);
			return SLU_LOCKFILE_E_HELD;
		}
		if (fstat(fd, &ours) < 0)
			return slu_error(-errno);
		/* the last daemon may have removed it between our open and our lock */
		if (stat(path, &named) == 0 && ours.st_ino == named.st_ino &&
		    ours.st_dev == named.st_dev) {
			*ret_fd = slu_steal_fd(&fd);
			return 0;
		}
	}
}
