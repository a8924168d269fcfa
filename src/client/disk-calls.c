/* SPDX-License-Identifier: Apache-2.0 */

/* The system calls of the disk tier, and the checks before them. Part of disk.h. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/filesystem.h"
#include "client/disk.h"

/* For file systems without unnamed files: it has a name for a moment. */
static int file_open_unlinked(const char *folder)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/sluice.XXXXXX", folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (unlink(path)) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

static int file_open(const char *folder)
{
	struct slu_filesystem fs;
	int fd;

	fd = open(folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		fd = file_open_unlinked(folder);
	else if (fd < 0)
		fd = -errno;
	if (fd < 0)
		return fd;
	fd = slu_fd_lift(fd);
	if (fd < 0)
		return -errno;
	if (!slu_filesystem_look_fd(fd, &fs) && fs.is_memory) {
		close(fd);
		return -EMEDIUMTYPE;
	}
	return fd;
}

/*
 * Above the file size limit the kernel would send the program a signal. The last part of the file
 * system stays free for others.
 */
static int file_may_allocate(int fd, off_t offset, off_t bytes)
{
	struct slu_filesystem fs;
	struct rlimit limit;

	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	    (uint64_t)offset + (uint64_t)bytes > limit.rlim_cur) {
		errno = EFBIG;
		return -1;
	}
	if (!slu_filesystem_look_fd(fd, &fs) &&
	    fs.free_bytes < (uint64_t)bytes + fs.total_bytes / SLU_DISK_KEEP_PARTS) {
		errno = ENOSPC;
		return -1;
	}
	return 0;
}

static int range_allocate(int fd, off_t offset, off_t bytes)
{
	int r;

	if (file_may_allocate(fd, offset, bytes))
		return -1;
	do
		r = fallocate(fd, 0, offset, bytes);
	while (r && errno == EINTR);
	if (!r || (errno != EOPNOTSUPP && errno != ENOSYS))
		return r;
	/* if the file system cannot promise space, it writes: slower, with the same result */
	r = posix_fallocate(fd, offset, bytes);
	errno = r;
	return r ? -1 : 0;
}

static int range_punch(int fd, off_t offset, off_t bytes)
{
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
}

static int range_sync(int fd, off_t offset, off_t bytes)
{
	const unsigned all =
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
	int r;

	do
		r = sync_file_range(fd, offset, bytes, all);
	while (r && errno == EINTR);
	if (r && (errno == ENOSYS || errno == ESPIPE || errno == EINVAL))
		r = fdatasync(fd);
	if (!r)
		(void)posix_fadvise(fd, offset, bytes, POSIX_FADV_DONTNEED);
	return r;
}

const struct slu_disk_calls slu_disk_calls_real = {
	.open = file_open,
	.allocate = range_allocate,
	.punch = range_punch,
	.write = pwrite,
	.read = pread,
	.sync = range_sync,
};
