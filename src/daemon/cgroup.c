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

/* Return: UINT64_MAX for "max", and for what cannot be read. */
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

static void add(const char *folder, unsigned percent, struct slu_core_bounds *bounds)
{
	/* above "high" programs are slowed down until they crawl, above "max" they are ended */
	uint64_t max = read_limit(folder, "memory.max"), high = read_limit(folder, "memory.high");
	uint64_t bytes = SLU_MIN(max, high);
	struct stat s;

	if (bytes == UINT64_MAX || bounds->n_home == SLU_CORE_BOUNDS_MAX || stat(folder, &s))
		return;
	bounds->home[bounds->n_home++] = (struct slu_core_bound){
		.id = (uint64_t)s.st_ino,
		.bytes = bytes / 100 * percent,
	};
}

void slu_cgroup_add(const char *root, const char *text, unsigned percent,
		    struct slu_core_bounds *bounds)
{
	const char *line = strncmp(text, "0::", 3) ? strstr(text, "\n0::") : text;
	char folder[PATH_MAX];
	size_t n = strlen(root), end;

	if (!line)
		return;
	line += (line[0] == '\n') + 3;
	end = strcspn(line, "\n");
	/* a path that leads out of our own root is one that we cannot see */
	if (n + end >= sizeof(folder) || line[0] != '/' || memmem(line, end, "..", 2))
		return;
	snprintf(folder, sizeof(folder), "%s%.*s", root, (int)end, line);
	while (strlen(folder) > n) {
		char *slash = strrchr(folder, '/');

		if (slash[1])
			add(folder, percent, bounds);
		*slash = '\0';
	}
}

void slu_cgroup_add_process(pid_t pid, unsigned percent, struct slu_core_bounds *bounds)
{
	char path[64], text[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (read_text(path, text, sizeof(text)))
		slu_cgroup_add(SLU_CGROUP_ROOT, text, percent, bounds);
}
