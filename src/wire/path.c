/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/util.h"
#include "wire/path.h"

#define FOLDER_MAX 4096

static int path_print(char *ret_path, size_t size, const char *a, const char *b)
{
	int n = snprintf(ret_path, size, "%s%s", a, b);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int slu_path_private_folder(const char *path, bool make)
{
	slu_cleanup(slu_closep) int fd = -1;
	struct stat st;

	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP ? -ENOTDIR : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return -EPERM;
	return 0;
}

/* Whether @folder exists, is ours, and we may create files in it. */
static bool is_usable_parent(const char *folder)
{
	struct stat st;

	return stat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       access(folder, W_OK | X_OK) == 0;
}

static int user_runtime(bool make, char *ret_path, size_t size)
{
	const char *xdg = secure_getenv("XDG_RUNTIME_DIR");
	char parent[FOLDER_MAX];
	int r;

	if (!xdg || xdg[0] != '/' || path_print(parent, sizeof(parent), xdg, "") ||
	    !is_usable_parent(parent)) {
		snprintf(parent, sizeof(parent), "/run/user/%u", (unsigned)geteuid());
		if (!is_usable_parent(parent))
			parent[0] = '\0';
	}
	if (parent[0]) {
		r = path_print(ret_path, size, parent, "/sluice");
	} else {
		snprintf(parent, sizeof(parent), "/dev/shm/sluice-%u", (unsigned)geteuid());
		r = path_print(ret_path, size, parent, "");
	}
	if (r)
		return slu_error(r);
	r = slu_path_private_folder(ret_path, make);
	return r == -ENOENT && !make ? 0 : slu_fold(r);
}

int slu_path_socket(enum slu_path_mode mode, bool make, char *ret_path, size_t size)
{
	const char *given = secure_getenv("SLUICE_SOCKET");
	char folder[FOLDER_MAX] = "";
	int r;

	if (given && given[0])
		return slu_fold(path_print(ret_path, size, given, ""));
	if (mode == SLU_PATH_SYSTEM)
		return slu_fold(path_print(ret_path, size, SLU_PATH_SYSTEM_FOLDER "/",
					   SLU_PATH_SOCKET_NAME));
	r = user_runtime(make, folder, sizeof(folder));
	if (r) {
		path_print(ret_path, size, folder, "");
		return slu_fold(r);
	}
	return slu_fold(path_print(ret_path, size, folder, "/" SLU_PATH_SOCKET_NAME));
}

int slu_path_state(enum slu_path_mode mode, bool make, char *ret_path, size_t size)
{
	const char *given = secure_getenv("SLUICE_STATE");
	const char *xdg = secure_getenv("XDG_STATE_HOME");
	int r;

	if (given && given[0])
		return slu_fold(path_print(ret_path, size, given, ""));
	if (mode == SLU_PATH_SYSTEM)
		return slu_fold(path_print(ret_path, size, SLU_PATH_SYSTEM_FOLDER, ""));
	if (!xdg || xdg[0] != '/' || !is_usable_parent(xdg))
		return user_runtime(make, ret_path, size);
	r = path_print(ret_path, size, xdg, "/sluice");
	if (r)
		return slu_error(r);
	r = slu_path_private_folder(ret_path, make);
	return r == -ENOENT && !make ? 0 : slu_fold(r);
}

int slu_path_linked_socket(char *ret_path, size_t size)
{
	const char *given = secure_getenv("SLUICE_SOCKET");
	char folder[FOLDER_MAX], link[FOLDER_MAX + 16];
	ssize_t n;
	int r;

	if (given && given[0])
		return -ENOENT;
	r = slu_path_state(SLU_PATH_USER, false, folder, sizeof(folder));
	if (!r)
		r = path_print(link, sizeof(link), folder, "/" SLU_PATH_LINK_NAME);
	if (r)
		return slu_fold(r);
	n = readlink(link, ret_path, size);
	if (n < 0)
		return -errno;
	if ((size_t)n >= size)
		return -ENAMETOOLONG;
	ret_path[n] = '\0';
	return 0;
}

int slu_path_disk(enum slu_path_mode mode, unsigned i, char *ret_path, size_t size)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *user_folder = getenv("HOME");
	unsigned n_own = mode == SLU_PATH_USER; /* before the one that all users share */
	int n = -1;

	if (i == n_own)
		n = snprintf(ret_path, size, "/var/tmp");
	else if (i < n_own && cache && cache[0] == '/')
		n = snprintf(ret_path, size, "%s", cache);
	else if (i < n_own && user_folder && user_folder[0] == '/')
		n = snprintf(ret_path, size, "%s/.cache", user_folder);
	return n > 0 && (size_t)n < size ? 0 : -ENOENT;
}
