/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/backing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/filesystem.h"
#include "base/util.h"
#include "daemon/cgroup.h"
#include "daemon/process.h"
#include "wire/path.h"

#define DISK_PARTS   4 /* this part of the free disk space, if the settings do not say */
#define USER_ID_BIT  (UINT64_C(1) << 63) /* keeps users apart from inodes of groups */
#define GROUP_ID_BIT (UINT64_C(1) << 62) /* likewise Unix groups */

/* Return: NULL, or the reason why the folder cannot be used. */
static const char *folder_fault(const char *folder, bool is_asked_for, bool is_system,
				struct slu_filesystem *ret_fs)
{
	struct stat st;

	if (stat(folder, &st) || slu_filesystem_look(folder, ret_fs))
		return errno == ENOENT ? "the folder does not exist" : "it cannot be looked at";
	if (!S_ISDIR(st.st_mode))
		return "it is not a folder";
	/* another user's permissions show only when that user tries */
	if (!is_system && access(folder, W_OK | X_OK))
		return "the user may not create files there";
	return slu_filesystem_fault(ret_fs, is_asked_for);
}

static bool folder_choose(struct slu_backing *backing, const char *folder, bool is_asked_for,
			  bool is_system, struct slu_filesystem *ret_fs)
{
	const char *fault = folder_fault(folder, is_asked_for, is_system, ret_fs);

	if (fault) {
		snprintf(backing->why, sizeof(backing->why), "%.*s: %s", 120, folder, fault);
		return false;
	}
	snprintf(backing->folder, sizeof(backing->folder), "%s", folder);
	backing->why[0] = '\0';
	return true;
}

static bool choose_usual(struct slu_backing *backing, bool is_system, struct slu_filesystem *ret_fs)
{
	enum slu_path_mode mode = is_system ? SLU_PATH_SYSTEM : SLU_PATH_USER;
	char folder[SLU_CONFIG_PATH_MAX];

	for (unsigned i = 0; i < 2; i++)
		if (!slu_path_disk(mode, i, folder, sizeof(folder)) &&
		    folder_choose(backing, folder, false, is_system, ret_fs))
			return true;
	return false;
}

static void choose_folder(struct slu_backing *backing, const struct slu_config *config,
			  bool is_system, uint64_t used_bytes)
{
	struct slu_filesystem fs = { 0 };

	if (!strcmp(config->disk, "off")) {
		snprintf(backing->why, sizeof(backing->why), "the setting disk is off");
		return;
	}
	if (config->disk_folder[0]
		    ? !folder_choose(backing, config->disk_folder, true, is_system, &fs)
		    : !choose_usual(backing, is_system, &fs))
		return;
	backing->disk_bytes = config->disk_max_bytes ? config->disk_max_bytes
						     : (fs.free_bytes + used_bytes) / DISK_PARTS;
}

const char *slu_backing_folder_fault(const char *folder, bool is_system)
{
	struct slu_filesystem fs;

	return folder[0] ? folder_fault(folder, true, is_system, &fs) : NULL;
}

/* What one user may have of @bytes: by default half on a daemon of several users. */
static uint64_t user_share(uint64_t asked, uint64_t bytes, bool is_system)
{
	return asked ? SLU_MIN(asked, bytes) : is_system ? bytes / 2 : bytes;
}

void slu_backing_init(struct slu_backing *backing, const struct slu_config *config, bool is_system,
		      uint64_t ram_bytes, uint64_t used_bytes)
{
	*backing = (struct slu_backing){
		.backing_bytes = config->backing_bytes ? config->backing_bytes : ram_bytes / 4 * 3,
		.cgroup_percent = (unsigned)config->cgroup_percent,
	};
	backing->quotas[SLU_CORE_QUOTA_USER] = (struct slu_core_quota){
		.bytes = config->quota_user_bytes,
		.time_ns = config->quota_user_ns,
		.period_ns = config->quota_period_ns,
	};
	backing->quotas[SLU_CORE_QUOTA_UNIX_GROUP] = (struct slu_core_quota){
		.bytes = config->quota_group_bytes,
		.time_ns = config->quota_group_ns,
		.period_ns = config->quota_period_ns,
	};
	choose_folder(backing, config, is_system, used_bytes);
	backing->user_backing_bytes =
		user_share(config->user_backing_bytes, backing->backing_bytes, is_system);
	backing->user_disk_bytes =
		user_share(config->user_disk_bytes, backing->disk_bytes, is_system);
}

void slu_backing_bounds(const struct slu_backing *backing, pid_t pid, uid_t uid,
			struct slu_core_bounds *ret_bounds)
{
	uint64_t user = USER_ID_BIT | uid;
	gid_t gid;

	*ret_bounds = (struct slu_core_bounds){
		.n_pageable = 1,
		.n_disk = 1,
		.pageable = { { user, backing->user_backing_bytes } },
		.disk = { { user, backing->user_disk_bytes } },
	};
	memcpy(ret_bounds->quotas, backing->quotas, sizeof(backing->quotas));
	ret_bounds->quotas[SLU_CORE_QUOTA_USER].id = user;
	if (!slu_process_gid(pid, &gid))
		ret_bounds->quotas[SLU_CORE_QUOTA_UNIX_GROUP].id = GROUP_ID_BIT | gid;
	slu_cgroup_add_process(pid, backing->cgroup_percent, ret_bounds);
}
