/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

bool slu_library_in_folders(const char *name, const char *folders,
			    bool (*offer)(void *data, const char *path), void *data)
{
	while (folders && *folders) {
		size_t length = strcspn(folders, ":");
		char path[PATH_MAX];

		if (length &&
		    (size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)length, folders, name) <
			    sizeof(path) &&
		    offer(data, path))
			return true;
		folders += length + (folders[length] == ':');
	}
	return false;
}

/* An absolute path whose last part is @name. */
static bool has_name(const char *path, const char *name)
{
	const char *last = strrchr(path, '/');

	return path[0] == '/' && last != path && !strcmp(last + 1, name);
}

/*
 * The cache's format is glibc's own business; `ldconfig -p` would be a process in somebody's
 * program. So ask for the strings in the file.
 */
bool slu_library_in_cache(const char *name, bool (*offer)(void *data, const char *path), void *data)
{
	FILE *cache = fopen("/etc/ld.so.cache", "re");
	char path[PATH_MAX];
	size_t n = 0;
	bool found = false;
	int c;

	if (!cache)
		return false;
	while (!found && (c = getc(cache)) != EOF) {
		if (c != '\0') {
			if (n + 1 < sizeof(path))
				path[n] = (char)c;
			n++;
			continue;
		}
		if (n && n + 1 < sizeof(path)) {
			path[n] = '\0';
			found = has_name(path, name) && offer(data, path);
		}
		n = 0;
	}
	fclose(cache);
	return found;
}
