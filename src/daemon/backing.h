/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The backing budgets: how many bytes of pageable memory and disk the settings allow for the
 * machine, for each user, and for the control groups of a program. With them come the quotas of
 * device memory and device time.
 *
 * The programs create their files themselves, with the rights of their user, in a folder that the
 * daemon names. So the bytes belong to their user and count against that user's quota. The daemon
 * never names a folder whose files are memory, and a remote one only if the settings ask for it.
 *
 * Without a setting it is the first suitable folder of slu_path_disk().
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/core.h"
#include "daemon/config.h"

struct slu_backing {
	uint64_t backing_bytes, user_backing_bytes;
	uint64_t disk_bytes, user_disk_bytes;
	struct slu_core_quota quotas[_SLU_CORE_QUOTA_MAX]; /* without ids */
	unsigned cgroup_percent;
	char folder[SLU_CONFIG_PATH_MAX]; /* empty: nothing goes to disk */
	char why[192];			  /* … because of this, in words */
};

/* @ram_bytes: the memory of the machine; @used_bytes: bytes on disk already. */
void slu_backing_init(struct slu_backing *backing, const struct slu_config *config, bool is_system,
		      uint64_t ram_bytes, uint64_t used_bytes);

/*
 * Why files cannot be in @folder, which the settings name, in words; NULL if they can, or if it is
 * empty.
 */
const char *slu_backing_folder_fault(const char *folder, bool is_system);

void slu_backing_bounds(const struct slu_backing *backing, pid_t pid, uid_t uid,
			struct slu_core_bounds *ret_bounds);
