/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where bytes go that left a device, and how many: pageable memory and disk, as the settings have
 * it, for the machine, for each user, and for the groups of processes that a program is in.
 *
 * The programs themselves make their files, each with its own user's rights, in a folder that we
 * name: so the bytes belong to whom they came from, and count against that user's quota. A folder
 * whose files are memory is never named; a remote one only if the settings ask for it.
 *
 * Where the settings name none it is the first fit one of slu_path_disk().
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/core.h"
#include "daemon/config.h"

struct slu_backing {
	uint64_t backing_bytes, user_backing_bytes;
	uint64_t disk_bytes, user_disk_bytes;
	unsigned cgroup_percent;
	char folder[SLU_CONFIG_PATH_MAX]; /* empty: nothing goes to disk */
	char why[192];			  /* … because of this, in words */
};

/* @ram_bytes: what the machine has; @used_bytes: what is on disk already. */
void slu_backing_init(struct slu_backing *backing, const struct slu_config *config, bool is_system,
		      uint64_t ram_bytes, uint64_t used_bytes);

/*
 * Why bytes cannot go to @folder, which a person named, in words; NULL if they can, or where it is
 * empty.
 */
const char *slu_backing_folder_fault(const char *folder, bool is_system);

void slu_backing_bounds(const struct slu_backing *backing, pid_t pid, uid_t uid,
			struct slu_core_bounds *ret_bounds);
