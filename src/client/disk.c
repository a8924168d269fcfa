/* SPDX-License-Identifier: Apache-2.0 */
#include "client/disk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/util.h"
#include "client/sizes.h"

struct slu_disk_hole {
	struct slu_disk_hole *next;
	uint64_t offset;
	uint64_t bytes;
};

void slu_disk_init(struct slu_disk *disk, const struct slu_disk_calls *calls)
{
	*disk = (struct slu_disk){ .calls = calls, .fd = -1 };
	slu_lock_init(&disk->lock, SLU_LOCK_LEAF);
}

static void holes_forget(struct slu_disk *disk)
{
	while (disk->holes) {
		struct slu_disk_hole *hole = disk->holes;

		disk->holes = hole->next;
		free(hole);
	}
}

/*
 * The descriptor may belong to another file by now. The identity of the file does not change while
 * an extent exists, so the owner of an extent needs no lock here.
 */
static bool file_is_ours(const struct slu_disk *disk)
{
	struct stat s;

	return disk->fd >= 0 && !fstat(disk->fd, &s) && s.st_dev == disk->device &&
	       s.st_ino == disk->inode;
}

void slu_disk_deinit(struct slu_disk *disk)
{
	if (!disk->calls)
		return;
	holes_forget(disk);
	if (file_is_ours(disk))
		close(disk->fd);
	slu_lock_deinit(&disk->lock);
	memset(disk, 0, sizeof(*disk));
	disk->fd = -1;
}

void slu_disk_forked(struct slu_disk *disk)
{
	if (disk->calls && file_is_ours(disk))
		close(disk->fd);
	memset(disk, 0, sizeof(*disk));
	disk->fd = -1;
}

void slu_disk_set_folder(struct slu_disk *disk, const char *folder)
{
	slu_lock_take(&disk->lock);
	snprintf(disk->folder, sizeof(disk->folder), "%s", folder);
	slu_lock_give(&disk->lock);
}

/* -- ranges: with the lock ---------------------------------------------------------------------
 */

/* The first hole that is large enough, or the end. */
static int range_find(struct slu_disk *disk, uint64_t bytes, uint64_t *ret_offset)
{
	struct slu_disk_hole **at = &disk->holes;

	while (*at && (*at)->bytes < bytes)
		at = &(*at)->next;
	if (!*at) {
		if (bytes > (uint64_t)INT64_MAX - disk->end_bytes)
			return slu_error(-EFBIG);
		*ret_offset = disk->end_bytes;
		disk->end_bytes += bytes;
		return 0;
	}
	*ret_offset = (*at)->offset;
	(*at)->offset += bytes;
	(*at)->bytes -= bytes;
	if (!(*at)->bytes) {
		struct slu_disk_hole *hole = *at;

		*at = hole->next;
		free(hole);
	}
	return 0;
}

/* A hole that ends where the file ends is no hole. */
static void file_trim(struct slu_disk *disk)
{
	struct slu_disk_hole **at = &disk->holes;

	while (*at && (*at)->next)
		at = &(*at)->next;
	if (*at && (*at)->offset + (*at)->bytes == disk->end_bytes) {
		disk->end_bytes = (*at)->offset;
		free(*at);
		*at = NULL;
	}
}

static void range_put(struct slu_disk *disk, uint64_t offset, uint64_t bytes)
{
	struct slu_disk_hole *before = NULL, *after = disk->holes, *hole;

	while (after && after->offset < offset) {
		before = after;
		after = after->next;
	}
	if (before && before->offset + before->bytes == offset) {
		before->bytes += bytes;
		hole = before;
	} else {
		hole = malloc(sizeof(*hole));
		/* without memory to note it the range is not used again; its bytes are free */
		if (!hole)
			return;
		*hole = (struct slu_disk_hole){ after, offset, bytes };
		if (before)
			before->next = hole;
		else
			disk->holes = hole;
	}
	if (after && hole->offset + hole->bytes == after->offset) {
		hole->bytes += after->bytes;
		hole->next = after->next;
		free(after);
	}
	file_trim(disk);
}

/* -- extents ------------------------------------------------------------------------------------
 */

static int file_open_locked(struct slu_disk *disk)
{
	struct stat s;
	int fd;

	if (disk->fd >= 0)
		return file_is_ours(disk) ? 0 : slu_error(-EBADF);
	if (!disk->folder[0])
		return slu_error(-ENOENT);
	fd = disk->calls->open(disk->folder);
	if (fd < 0)
		return slu_error(fd);
	if (fstat(fd, &s)) {
		int r = -errno;

		close(fd);
		return slu_error(r);
	}
	disk->fd = fd;
	disk->device = s.st_dev;
	disk->inode = s.st_ino;
	return 0;
}

int slu_disk_take(struct slu_disk *disk, uint64_t bytes, struct slu_disk_extent *ret_extent)
{
	uint64_t size = slu_round_up(bytes, SLU_DISK_ALIGN), offset = 0;
	int r, fd;

	slu_lock_assert_none();
	slu_lock_take(&disk->lock);
	r = file_open_locked(disk);
	if (!r)
		r = range_find(disk, size, &offset);
	fd = disk->fd;
	slu_lock_give(&disk->lock);
	if (r)
		return slu_fold(r);

	if (disk->calls->allocate(fd, (off_t)offset, (off_t)size)) {
		r = errno ? -errno : -EIO;
		(void)disk->calls->punch(fd, (off_t)offset, (off_t)size);
		slu_lock_take(&disk->lock);
		range_put(disk, offset, size);
		slu_lock_give(&disk->lock);
		return slu_error(r);
	}
	slu_lock_take(&disk->lock);
	disk->n_bytes += size;
	slu_lock_give(&disk->lock);
	*ret_extent = (struct slu_disk_extent){ offset, size };
	return 0;
}

void slu_disk_give(struct slu_disk *disk, struct slu_disk_extent *extent)
{
	int saved = errno;

	if (!extent->bytes)
		return;
	/* if the file system has no holes, the range stays allocated until it is used again */
	if (file_is_ours(disk))
		(void)disk->calls->punch(disk->fd, (off_t)extent->offset, (off_t)extent->bytes);
	slu_lock_take(&disk->lock);
	assert(disk->n_bytes >= extent->bytes);
	disk->n_bytes -= extent->bytes;
	range_put(disk, extent->offset, extent->bytes);
	slu_lock_give(&disk->lock);
	*extent = (struct slu_disk_extent){ 0 };
	errno = saved;
}

uint64_t slu_disk_bytes(struct slu_disk *disk)
{
	uint64_t bytes;

	slu_lock_take(&disk->lock);
	bytes = disk->n_bytes;
	slu_lock_give(&disk->lock);
	return bytes;
}

/* -- bytes ------------------------------------------------------------------------------------ */

static int disk_check(const struct slu_disk *disk, const struct slu_disk_extent *extent,
		      uint64_t offset, uint64_t bytes)
{
	assert(offset <= extent->bytes && bytes <= extent->bytes - offset);
	slu_lock_assert_none();
	return file_is_ours(disk) ? 0 : slu_error(-EBADF);
}

int slu_disk_write(struct slu_disk *disk, const struct slu_disk_extent *extent, uint64_t offset,
		   const void *data, uint64_t bytes)
{
	const char *from = data;
	int r = disk_check(disk, extent, offset, bytes);

	while (!r && bytes) {
		ssize_t n = disk->calls->write(disk->fd, from,
					       SLU_MIN(bytes, SLU_SIZES_DISK_CALL_BYTES),
					       (off_t)(extent->offset + offset));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return slu_error(n < 0 && errno ? -errno : -EIO);
		from += n;
		offset += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return r;
}

int slu_disk_read(struct slu_disk *disk, const struct slu_disk_extent *extent, uint64_t offset,
		  void *data, uint64_t bytes)
{
	char *to = data;
	int r = disk_check(disk, extent, offset, bytes);

	while (!r && bytes) {
		ssize_t n =
			disk->calls->read(disk->fd, to, SLU_MIN(bytes, SLU_SIZES_DISK_CALL_BYTES),
					  (off_t)(extent->offset + offset));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return slu_error(n < 0 && errno ? -errno : -EIO);
		to += n;
		offset += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return r;
}

int slu_disk_sync(struct slu_disk *disk, const struct slu_disk_extent *extent)
{
	int r = disk_check(disk, extent, 0, 0);

	if (!r && disk->calls->sync(disk->fd, (off_t)extent->offset, (off_t)extent->bytes))
		r = slu_error(errno ? -errno : -EIO);
	return r;
}

const char *slu_disk_reason(int r)
{
	switch (-r) {
	case EMEDIUMTYPE:
		return "the folder's files are memory";
	case ENOSPC:
	case EDQUOT:
		return "the disk is full";
	case EFBIG:
		return "the program may not have so large a file";
	case EBADF:
		return "the program closed our file";
	default:
		return strerror(-r);
	}
}
