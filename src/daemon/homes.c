/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/homes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/filesystem.h"
#include "base/util.h"
#include "daemon/cgroup.h"
#include "wire/path.h"

#define DISK_PARTS  4 /* so much of what is free on the disk, where the settings do not say */
#define USER_ID_BIT (UINT64_C(1) << 63) /* keeps users apart from inodes of groups */

/* Return: NULL, or why nothing can go there, in words. */
static const char *folder_fault(const char *folder, bool is_asked_for, bool is_system,
				struct slu_filesystem *ret_fs)
{
	struct stat st;

	if (stat(folder, &st) || slu_filesystem_look(folder, ret_fs))
		return errno == ENOENT ? "there is no such folder" : "it cannot be looked at";
	if (!S_ISDIR(st.st_mode))
		return "it is not a folder";
	/* whether another user may have files there is seen when one tries */
	if (!is_system && access(folder, W_OK | X_OK))
		return "you may not have files there";
	return slu_filesystem_fault(ret_fs, is_asked_for);
}

static bool choose(struct slu_homes *homes, const char *folder, bool is_asked_for, bool is_system,
		   struct slu_filesystem *ret_fs)
{
	const char *fault = folder_fault(folder, is_asked_for, is_system, ret_fs);

	if (fault) {
		snprintf(homes->why, sizeof(homes->why), "%.*s: %s", 120, folder, fault);
		return false;
	}
	snprintf(homes->folder, sizeof(homes->folder), "%s", folder);
	homes->why[0] = '\0';
	return true;
}

static bool choose_usual(struct slu_homes *homes, bool is_system, struct slu_filesystem *ret_fs)
{
	enum slu_path_mode mode = is_system ? SLU_PATH_SYSTEM : SLU_PATH_USER;
	char folder[SLU_CONFIG_PATH_MAX];

	for (unsigned i = 0; i < 2; i++)
		if (!slu_path_disk(mode, i, folder, sizeof(folder)) &&
		    choose(homes, folder, false, is_system, ret_fs))
			return true;
	return false;
}

static void choose_folder(struct slu_homes *homes, const struct slu_config *config, bool is_system,
			  uint64_t used_bytes)
{
	struct slu_filesystem fs = { 0 };

	if (!strcmp(config->disk, "off")) {
		snprintf(homes->why, sizeof(homes->why), "the setting disk is off");
		return;
	}
	if (config->disk_folder[0] ? !choose(homes, config->disk_folder, true, is_system, &fs)
				   : !choose_usual(homes, is_system, &fs))
		return;
	homes->disk_bytes = config->disk_max_bytes ? config->disk_max_bytes
						   : (fs.free_bytes + used_bytes) / DISK_PARTS;
}

const char *slu_homes_folder_fault(const char *folder, bool is_system)
{
	struct slu_filesystem fs;

	return folder[0] ? folder_fault(folder, true, is_system, &fs) : NULL;
}

/* What one user may have of @bytes: by default half, where there are others. */
static uint64_t share(uint64_t asked, uint64_t bytes, bool is_system)
{
	return asked ? SLU_MIN(asked, bytes) : is_system ? bytes / 2 : bytes;
}

void slu_homes_init(struct slu_homes *homes, const struct slu_config *config, bool is_system,
		    uint64_t ram_bytes, uint64_t used_bytes)
{
	*homes = (struct slu_homes){
		.home_bytes = config->home_bytes ? config->home_bytes : ram_bytes / 4 * 3,
		.cgroup_percent = (unsigned)config->cgroup_percent,
	};
	choose_folder(homes, config, is_system, used_bytes);
	homes->user_home_bytes = share(config->user_home_bytes, homes->home_bytes, is_system);
	homes->user_disk_bytes = share(config->user_disk_bytes, homes->disk_bytes, is_system);
}

void slu_homes_bounds(const struct slu_homes *homes, pid_t pid, uid_t uid,
		      struct slu_core_bounds *ret_bounds)
{
	uint64_t user = USER_ID_BIT | uid;

	*ret_bounds = (struct slu_core_bounds){
		.n_home = 1,
		.n_disk = 1,
		.home = { { user, homes->user_home_bytes } },
		.disk = { { user, homes->user_disk_bytes } },
	};
	slu_cgroup_add_process(pid, homes->cgroup_percent, ret_bounds);
}
