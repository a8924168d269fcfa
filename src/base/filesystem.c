/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/statfs.h>

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
};

static void describe(const struct statfs *s, struct slu_filesystem *ret_filesystem)
{
	uint64_t block = s->f_frsize ? (uint64_t)s->f_frsize : (uint64_t)s->f_bsize;

	*ret_filesystem = (struct slu_filesystem){
		.name = "unknown",
		.total_bytes = (uint64_t)s->f_blocks * block,
		.free_bytes = (uint64_t)s->f_bavail * block,
	};
	for (unsigned i = 0; i < SLU_ARRAY_SIZE(kinds); i++) {
		if ((uint32_t)s->f_type != kinds[i].type)
			continue;
		ret_filesystem->name = kinds[i].name;
		ret_filesystem->is_memory = kinds[i].kind == MEMORY;
		ret_filesystem->is_remote = kinds[i].kind == REMOTE;
	}
}

int slu_filesystem_look(const char *path, struct slu_filesystem *ret_filesystem)
{
	struct statfs s;

	if (statfs(path, &s))
		return slu_error(-errno);
	describe(&s, ret_filesystem);
	return 0;
}

int slu_filesystem_look_fd(int fd, struct slu_filesystem *ret_filesystem)
{
	struct statfs s;

	if (fstatfs(fd, &s))
		return slu_error(-errno);
	describe(&s, ret_filesystem);
	return 0;
}

const char *slu_filesystem_fault(const struct slu_filesystem *filesystem, bool is_asked_for)
{
	if (filesystem->is_memory)
		return "its files are memory, which is what shall be spared";
	return filesystem->is_remote && !is_asked_for ? "it is on another machine" : NULL;
}
