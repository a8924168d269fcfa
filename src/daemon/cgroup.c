/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/cgroup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

static bool read_text(const char *path, char *ret_text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, ret_text, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	ret_text[n] = '\0';
	return true;
}

/* Return: UINT64_MAX for "max", and if it cannot be read. */
static uint64_t read_limit(const char *folder, const char *name)
{
	char path[PATH_MAX], text[32], *end;
	uint64_t bytes;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path) ||
	    !read_text(path, text, sizeof(text)))
		return UINT64_MAX;
	bytes = strtoull(text, &end, 10);
	return end == text ? UINT64_MAX : bytes;
}

/* Above "high" the kernel slows programs down until they crawl, above the others it ends them. */
static const char *const files_v2[] = { "memory.max", "memory.high", NULL };
static const char *const files_v1[] = { "memory.limit_in_bytes", NULL };

/* Without a limit version 1 has the largest number of whole pages. */
#define NO_LIMIT (UINT64_C(1) << 62)

static void bound_add(const char *folder, const char *const *files, unsigned percent,
		      struct slu_core_bounds *bounds)
{
	uint64_t bytes = UINT64_MAX;
	struct stat s;

	for (; *files; files++)
		bytes = SLU_MIN(bytes, read_limit(folder, *files));
	if (bytes >= NO_LIMIT || bounds->n_pageable == SLU_CORE_BOUNDS_MAX || stat(folder, &s))
		return;
	bounds->pageable[bounds->n_pageable++] = (struct slu_core_bound){
		.id = (uint64_t)s.st_ino,
		.bytes = bytes / 100 * percent,
	};
}

/* The groups from @path, of @length, up to but not including @root. */
static void add_path(const char *root, const char *path, size_t length, const char *const *files,
		     unsigned percent, struct slu_core_bounds *bounds)
{
	char folder[PATH_MAX];
	size_t n = strlen(root);

	/* we cannot see a path that leads out of our own root */
	if (n + length >= sizeof(folder) || path[0] != '/' || memmem(path, length, "..", 2))
		return;
	snprintf(folder, sizeof(folder), "%s%.*s", root, (int)length, path);
	while (strlen(folder) > n) {
		char *slash = strrchr(folder, '/');

		if (slash[1])
			bound_add(folder, files, percent, bounds);
		*slash = '\0';
	}
}

/* Whether @word is in the list of @length, separated by commas. */
static bool is_listed(const char *list, size_t length, const char *word)
{
	size_t n = strlen(word);

	while (length) {
		const char *comma = memchr(list, ',', length);
		size_t part = comma ? (size_t)(comma - list) : length;

		if (part == n && !memcmp(list, word, n))
			return true;
		list += part + (comma != NULL);
		length -= part + (comma != NULL);
	}
	return false;
}

void slu_cgroup_add(const char *root, const char *text, unsigned percent,
		    struct slu_core_bounds *bounds)
{
	char memory[PATH_MAX];

	snprintf(memory, sizeof(memory), "%s/memory", root);
	while (*text) {
		size_t length = strcspn(text, "\n");
		const char *list = memchr(text, ':', length);
		const char *path =
			list ? memchr(list + 1, ':', length - (size_t)(list + 1 - text)) : NULL;

		if (path) {
			size_t rest = length - (size_t)(path + 1 - text);

			if (path == list + 1 && text[0] == '0')
				add_path(root, path + 1, rest, files_v2, percent, bounds);
			else if (is_listed(list + 1, (size_t)(path - list - 1), "memory"))
				add_path(memory, path + 1, rest, files_v1, percent, bounds);
		}
		text += length + (text[length] == '\n');
	}
}

/* The contents of /proc/PID/cgroup. */
static bool read_process(pid_t pid, char *ret_text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	return read_text(path, ret_text, size);
}

void slu_cgroup_path(pid_t pid, char *ret_path, size_t size)
{
	char text[PATH_MAX], *line, *rest = text;

	ret_path[0] = '\0';
	if (!read_process(pid, text, sizeof(text)))
		return;
	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, "0::/", 4) && strlen(line + 3) < size)
			strcpy(ret_path, line + 3);
}

void slu_cgroup_add_process(pid_t pid, unsigned percent, struct slu_core_bounds *bounds)
{
	char text[PATH_MAX];

	if (read_process(pid, text, sizeof(text)))
		slu_cgroup_add(SLU_CGROUP_ROOT, text, percent, bounds);
}
