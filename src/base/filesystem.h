/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a folder lies on. Bytes that are put away to spare memory must not go to a file system that
 * keeps them in memory, and people want to know where they go and how much is free there.
 */

#include <stdbool.h>
#include <stdint.h>

struct slu_filesystem {
	const char *name; /* "ext4", "tmpfs", …; "unknown" for one that we have no word for */
	bool is_memory;	  /* its files are memory: tmpfs, ramfs, hugetlbfs, or layers over these */
	bool is_remote;	  /* its files are another machine's */
	bool is_read_only;
	uint64_t total_bytes; /* 0: it keeps no files, as proc and sysfs */
	uint64_t free_bytes;  /* for a user without privileges */
};

/* Return: 0, or -errno: there is no such folder, or it cannot be looked at. */
int slu_filesystem_look(const char *path, struct slu_filesystem *ret_filesystem);
int slu_filesystem_look_fd(int fd, struct slu_filesystem *ret_filesystem);

/*
 * Why bytes must not be put away there, in words; NULL if they may. @is_asked_for: a person named
 * the folder.
 */
const char *slu_filesystem_fault(const struct slu_filesystem *filesystem, bool is_asked_for);
