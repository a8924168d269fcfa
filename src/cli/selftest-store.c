/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/selftest-store.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "wire/path.h"

#define NAME_BEGIN "selftest-"
#define NAME_END   ".json"

/* Identifies the driver: its file and the file's state. NULL if it cannot be read. */
static json_t *driver_describe(const char *driver)
{
	struct stat st;

	if (stat(driver, &st))
		return NULL;
	return json_pack("{s:s, s:I, s:I}", "driver", driver, "driver_bytes",
			 (json_int_t)st.st_size, "driver_mtime", (json_int_t)st.st_mtime);
}

int slu_selftest_store_write(const char *driver, int version, const char *gpu, json_t *findings,
			     char *ret_path, size_t size)
{
	json_t *all = driver_describe(driver);
	char folder[PATH_MAX], draft[PATH_MAX];
	int r = slu_path_state(SLU_PATH_USER, true, folder, sizeof(folder));

	if (snprintf(ret_path, size, "%s/" NAME_BEGIN "%d-%s" NAME_END, folder, version, gpu) >=
	    (int)size)
		r = -ENAMETOOLONG;
	if (!r && (!all || json_object_set(all, "findings", findings) ||
		   json_object_set_new(all, "driver_version", json_integer(version)) ||
		   json_object_set_new(all, "gpu", json_string(gpu))))
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

static bool is_of_driver(const json_t *all, const json_t *now)
{
	static const char *const keys[] = { "driver", "driver_bytes", "driver_mtime" };

	for (size_t i = 0; i < SLU_ARRAY_SIZE(keys); i++)
		if (!json_equal(json_object_get(all, keys[i]), json_object_get(now, keys[i])))
			return false;
	return json_is_array(json_object_get(all, "findings")) &&
	       json_is_string(json_object_get(all, "gpu"));
}

static int is_store(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name), n_end = strlen(NAME_END);

	return !strncmp(entry->d_name, NAME_BEGIN, strlen(NAME_BEGIN)) && n > n_end &&
	       !strcmp(entry->d_name + n - n_end, NAME_END);
}

unsigned slu_selftest_store_each(const char *driver,
				 void (*call)(void *data, const char *gpu, const json_t *findings),
				 void *data)
{
	json_t *now = driver_describe(driver), *all;
	char folder[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
	struct dirent **entries = NULL;
	unsigned n_found = 0;
	int n = -1;

	if (now && !slu_path_state(SLU_PATH_USER, false, folder, sizeof(folder)))
		n = scandir(folder, &entries, is_store, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		all = json_load_file(path, 0, NULL);
		if (is_of_driver(all, now)) {
			n_found++;
			call(data, json_string_value(json_object_get(all, "gpu")),
			     json_object_get(all, "findings"));
		}
		json_decref(all);
		free(entries[i]);
	}
	free(entries);
	json_decref(now);
	return n_found;
}
