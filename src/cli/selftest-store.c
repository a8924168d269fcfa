/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/selftest-store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/path.h"

#define NAME "selftest.json"

/* Identifies the driver: its file and the file's state. NULL if it cannot be read. */
static json_t *driver_describe(const char *driver)
{
	struct stat st;

	if (stat(driver, &st))
		return NULL;
	return json_pack("{s:s, s:I, s:I}", "driver", driver, "driver_bytes",
			 (json_int_t)st.st_size, "driver_mtime", (json_int_t)st.st_mtime);
}

static int store_path(bool make, char *ret_path, size_t size)
{
	char folder[PATH_MAX];
	int r = slu_path_state(SLU_PATH_USER, make, folder, sizeof(folder));

	if (snprintf(ret_path, size, "%s/" NAME, folder) >= (int)size)
		return -ENAMETOOLONG;
	return r;
}

int slu_selftest_store_write(const char *driver, json_t *findings, char *ret_path, size_t size)
{
	json_t *all = driver_describe(driver);
	char draft[PATH_MAX];
	int r = store_path(true, ret_path, size);

	if (!r && (!all || json_object_set(all, "findings", findings)))
		r = -ENOMEM;
	if (!r && snprintf(draft, sizeof(draft), "%s.new", ret_path) >= (int)sizeof(draft))
		r = -ENAMETOOLONG;
	/* a reader sees the old file or the new one, never a part of one */
	if (!r && (json_dump_file(all, draft, JSON_INDENT(1) | JSON_SORT_KEYS) ||
		   rename(draft, ret_path))) {
		r = errno ? -errno : -EIO;
		unlink(draft);
	}
	json_decref(all);
	return r;
}

json_t *slu_selftest_store_read(const char *driver)
{
	static const char *const keys[] = { "driver", "driver_bytes", "driver_mtime" };
	json_t *now = driver_describe(driver), *all = NULL, *findings = NULL;
	char path[PATH_MAX];

	if (now && !store_path(false, path, sizeof(path)))
		all = json_load_file(path, 0, NULL);
	if (json_is_array(json_object_get(all, "findings")))
		findings = json_incref(json_object_get(all, "findings"));
	for (size_t i = 0; findings && i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (json_equal(json_object_get(all, keys[i]), json_object_get(now, keys[i])))
			continue;
		json_decref(findings);
		findings = NULL;
	}
	json_decref(all);
	json_decref(now);
	return findings;
}
