/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "base/error.h"
#include "base/filesystem.h"
#include "base/util.h"

enum { LOCAL, MEMORY, REMOTE };

/* The numbers are the kernel's (statfs(2)); several of its headers would be needed for them. */
static const struct {
	uint32_t type;
	const char *name;
	int kind;
} kinds[] = {
	{ 0x01021994, "tmpfs", MEMORY },     { 0x858458f6, "ramfs", MEMORY },
	{ 0x958458f6, "hugetlbfs", MEMORY }, { 0x00006969, "nfs", REMOTE },
	{ 0xff534d42, "cifs", REMOTE },	     { 0xfe534d42, "smb2", REMOTE },
	{ 0x00c36400, "ceph", REMOTE },	     { 0x01021997, "9p", REMOTE },
	{ 0x0000ef53, "ext4", LOCAL },	     { 0x58465342, "xfs", LOCAL },
	{ 0x9123683e, "btrfs", LOCAL },	     { 0x2fc12fc1, "zfs", LOCAL },
	{ 0xf2f52010, "f2fs", LOCAL },	     { 0x794c7630, "overlay", LOCAL },
	{ 0xca451a4e, "bcachefs", LOCAL },   { 0x65735546, "fuse", LOCAL },
	{ 0x00009fa0, "proc", LOCAL },	     { 0x62656572, "sysfs", LOCAL },
	{ 0x63677270, "cgroup2", LOCAL },    { 0x73717368, "squashfs", LOCAL },
};

#define OVERLAY 0x794c7630

static void describe(const struct statfs *s, struct slu_filesystem *ret_filesystem)
{
	uint64_t block = s->f_frsize ? (uint64_t)s->f_frsize : (uint64_t)s->f_bsize;

	*ret_filesystem = (struct slu_filesystem){
		.name = "unknown",
		.total_bytes = (uint64_t)s->f_blocks * block,
		.free_bytes = (uint64_t)s->f_bavail * block,
		.is_read_only = s->f_flags & ST_RDONLY,
	};
	for (unsigned i = 0; i < SLU_ARRAY_SIZE(kinds); i++) {
		if ((uint32_t)s->f_type != kinds[i].type)
			continue;
		ret_filesystem->name = kinds[i].name;
		ret_filesystem->is_memory = kinds[i].kind == MEMORY;
		ret_filesystem->is_remote = kinds[i].kind == REMOTE;
	}
}

/*
 * The folder that an overlay's new files go to, as /proc/self/mountinfo has it for the device
 * @device. Return: whether there is one.
 */
static bool find_upper(dev_t device, char ret_path[static PATH_MAX])
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	bool is_found = false;
	char *line = NULL;
	size_t size = 0;

	while (f && !is_found && getline(&line, &size, f) > 0) {
		const char *upper = strstr(line, "upperdir=");
		unsigned major, minor;

		if (!upper || sscanf(line, "%*u %*u %u:%u", &major, &minor) != 2 ||
		    makedev(major, minor) != device)
			continue;
		upper += strlen("upperdir=");
		is_found = (size_t)snprintf(ret_path, PATH_MAX, "%.*s", (int)strcspn(upper, ", \n"),
					    upper) < PATH_MAX;
	}
	free(line);
	if (f)
		fclose(f);
	return is_found;
}

/* An overlay is what it lies over; that cannot be seen from within every container. */
static void look_below(const struct statfs *s, dev_t device, struct slu_filesystem *filesystem)
{
	struct slu_filesystem below;
	char upper[PATH_MAX];
	struct statfs upper_s;

	if ((uint32_t)s->f_type != OVERLAY || !find_upper(device, upper) ||
	    statfs(upper, &upper_s) || (uint32_t)upper_s.f_type == OVERLAY)
		return;
	describe(&upper_s, &below);
	filesystem->is_memory = below.is_memory;
	filesystem->is_remote = below.is_remote;
}

int slu_filesystem_look(const char *path, struct slu_filesystem *ret_filesystem)
{
	struct statfs s;
	struct stat st;

	if (statfs(path, &s) || stat(path, &st))
		return slu_error(-errno);
	describe(&s, ret_filesystem);
	look_below(&s, st.st_dev, ret_filesystem);
	return 0;
}

int slu_filesystem_look_fd(int fd, struct slu_filesystem *ret_filesystem)
{
	struct statfs s;
	struct stat st;

	if (fstatfs(fd, &s) || fstat(fd, &st))
		return slu_error(-errno);
	describe(&s, ret_filesystem);
	look_below(&s, st.st_dev, ret_filesystem);
	return 0;
}

const char *slu_filesystem_fault(const struct slu_filesystem *filesystem, bool is_asked_for)
{
	if (filesystem->is_memory)
		return "its files are memory, which is what shall be spared";
	if (!filesystem->total_bytes)
		return "its filesystem cannot keep files";
	if (filesystem->is_read_only)
		return "it can only be read";
	return filesystem->is_remote && !is_asked_for ? "it is on another machine" : NULL;
}
