/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The disk tier: one file a process, for the units whose backing is on disk.
 *
 * The file has no name: no other process can open it, and it vanishes with the process however that
 * ends. It belongs to the program's user, so only that user can read the bytes, and they count
 * against that user's quota. It is made with the first extent, in the folder that the daemon named.
 *
 * An *extent* is a range of the file that the file system has allocated before any unit relies on
 * it. So a full disk fails an allocation of the program and never an eviction. An extent that is
 * given back becomes a hole again.
 *
 *   ┌────────┬────────┬────────┬────────────┐
 *   │ extent │  hole  │ extent │   extent   │    ranges are multiples of SLU_DISK_ALIGN
 *   └────────┴────────┴────────┴────────────┘
 *
 * Bytes go through read and write, not through a mapping: an error of the disk is then an error of
 * a call and not a signal in somebody else's program. A write counts as done when the disk has the
 * bytes (sync). They are then dropped from the kernel's cache, or the disk tier would take the
 * memory that it should spare.
 *
 * The program may close descriptors that are not its own, and reuse the number for a file of its
 * own. So the file is recognised before each use.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/lock.h"

#define SLU_DISK_ALIGN	    4096
#define SLU_DISK_FOLDER_MAX 256
#define SLU_DISK_KEEP_PARTS 20 /* this part of a file system stays free for others */

/* The system calls, as a table, so that tests let each of them fail. All as the real ones. */
struct slu_disk_calls {
	int (*open)(const char *folder); /* a file without a name; -errno */
	int (*allocate)(int fd, off_t offset, off_t bytes);
	int (*punch)(int fd, off_t offset, off_t bytes);
	ssize_t (*write)(int fd, const void *data, size_t bytes, off_t offset);
	ssize_t (*read)(int fd, void *data, size_t bytes, off_t offset);
	int (*sync)(int fd, off_t offset, off_t bytes); /* 0 when the device has them */
};

extern const struct slu_disk_calls slu_disk_calls_real;

struct slu_disk_hole;

struct slu_disk {
	const struct slu_disk_calls *calls; /* constant after init */
	struct slu_lock lock;

	/* All guarded by lock. */
	char folder[SLU_DISK_FOLDER_MAX]; /* empty: no disk may be used */
	int fd;				  /* -1: no file yet */
	dev_t device;			  /* identifies the file, together with inode */
	ino_t inode;
	uint64_t end_bytes;	     /* behind the last range */
	uint64_t n_bytes;	     /* in extents */
	struct slu_disk_hole *holes; /* by offset; none touches another, nor the end */
};

struct slu_disk_extent {
	uint64_t offset;
	uint64_t bytes; /* 0: there is none */
};

void slu_disk_init(struct slu_disk *disk, const struct slu_disk_calls *calls);

/* Every extent was given back, or never will be. Accepts a zeroed one. */
void slu_disk_deinit(struct slu_disk *disk);

/* New extents lie in @folder. A file that exists already stays where it is. */
void slu_disk_set_folder(struct slu_disk *disk, const char *folder);

/*
 * Takes an extent of @bytes, whose contents are undefined.
 *
 * Return: 0, or -errno: the folder is unsuitable (-EMEDIUMTYPE: its files are in memory), the disk
 * is full or nearly full, or the program may not have a file of that size. Then nothing is held.
 */
int slu_disk_take(struct slu_disk *disk, uint64_t bytes, struct slu_disk_extent *ret_extent);

/* Gives the extent back and clears it. An extent of no bytes is allowed. */
void slu_disk_give(struct slu_disk *disk, struct slu_disk_extent *extent);

/* Return: 0 when all of it was written, or -errno. */
int slu_disk_write(struct slu_disk *disk, const struct slu_disk_extent *extent, uint64_t offset,
		   const void *data, uint64_t bytes);
int slu_disk_read(struct slu_disk *disk, const struct slu_disk_extent *extent, uint64_t offset,
		  void *data, uint64_t bytes);

/* Return: 0 when what was written to @extent is on the device, or -errno. */
int slu_disk_sync(struct slu_disk *disk, const struct slu_disk_extent *extent);

uint64_t slu_disk_bytes(struct slu_disk *disk);

/*
 * In the child of a fork: the file belongs to the parent. The list of holes may be half changed and
 * is abandoned.
 */
void slu_disk_forked(struct slu_disk *disk);

/* The error of slu_disk_take() in words. */
const char *slu_disk_reason(int r);
