/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/program.h"

static int check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return SLU_PROGRAM_E_ABSENT;
	if (!S_ISREG(st.st_mode) || access(path, X_OK))
		return SLU_PROGRAM_E_FORBIDDEN;
	return 0;
}

int slu_program_find(const char *name, char *ret_path, size_t size)
{
	const char *folders = getenv("PATH");
	int found = SLU_PROGRAM_E_ABSENT;

	if (strchr(name, '/')) {
		int r = check_file(name);

		if (!r && (size_t)snprintf(ret_path, size, "%s", name) >= size)
			return -ENAMETOOLONG;
		return r;
	}
	if (!folders)
		folders = "/bin:/usr/bin";
	while (*name) {
		size_t length = strcspn(folders, ":");
		char path[PATH_MAX];

		if (length)
			snprintf(path, sizeof(path), "%.*s/%s", (int)length, folders, name);
		else
			snprintf(path, sizeof(path), "./%s", name);
		switch (check_file(path)) {
		case 0:
			if ((size_t)snprintf(ret_path, size, "%s", path) >= size)
				return -ENAMETOOLONG;
			return 0;
		case SLU_PROGRAM_E_FORBIDDEN:
			found = SLU_PROGRAM_E_FORBIDDEN;
			break;
		default:
			break;
		}
		if (!folders[length])
			break;
		folders += length + 1;
	}
	return found;
}

/* Return: whether @fd is a binary; of a 32-bit one only the identification can be read. */
static bool read_header(int fd, Elf64_Ehdr *ret_header)
{
	return pread(fd, ret_header, sizeof(*ret_header), 0) == (ssize_t)sizeof(*ret_header) &&
	       !memcmp(ret_header->e_ident, ELFMAG, SELFMAG);
}

enum { _LOADER_E_SUCCESS, LOADER_E_NONE };

/* The segment that names the loader. Return: 0, LOADER_E_NONE, or -EIO: it cannot be seen. */
static int find_loader(int fd, const Elf64_Ehdr *header, Elf64_Phdr *ret_segment)
{
	for (unsigned i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment;
		off_t at = (off_t)(header->e_phoff + (uint64_t)i * header->e_phentsize);

		if (pread(fd, &segment, sizeof(segment), at) != (ssize_t)sizeof(segment))
			return -EIO;
		if (segment.p_type == PT_INTERP) {
			*ret_segment = segment;
			return 0;
		}
	}
	return LOADER_E_NONE;
}

static const char *elf_obstacle(int fd, const Elf64_Ehdr *header)
{
	Elf64_Phdr segment;

	if (header->e_ident[EI_CLASS] != ELFCLASS64)
		return "it is a 32-bit program, and our libraries are 64-bit";
	return find_loader(fd, header, &segment) == LOADER_E_NONE
		       ? "it is statically linked, so no library of ours can be loaded into it"
		       : NULL;
}

/*
 * The program that a script's first line names into @ret_path; false if it is no script. To the
 * kernel a carriage return is a part of its name.
 */
static bool find_interpreter(const char *start, size_t size, char ret_path[static PATH_MAX])
{
	const char *from = start + 2, *end = start + size;
	size_t n = 0;

	if (size < 2 || memcmp(start, "#!", 2))
		return false;
	while (from < end && (*from == ' ' || *from == '\t'))
		from++;
	while (from + n < end && n < PATH_MAX - 1 && !strchr(" \t\n", from[n]))
		n++;
	memcpy(ret_path, from, n);
	ret_path[n] = '\0';
	return n > 0;
}

static const char *obstacle(const char *path, bool is_interpreter)
{
	slu_cleanup(slu_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char start[256], interpreter[PATH_MAX];
	Elf64_Ehdr header;
	ssize_t n;
	struct stat st;

	/* an unreadable file may still run, and then there is nothing to say about it */
	if (fd < 0 || fstat(fd, &st))
		return NULL;
	if ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	    (st.st_mode & S_ISGID && st.st_gid != getegid()))
		return "it is set-uid or set-gid, and the loader then ignores preloaded libraries";
	if (fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return "its file has capabilities, and the loader then ignores preloaded libraries";
	n = pread(fd, start, sizeof(start), 0);
	if (!is_interpreter && n > 0 && find_interpreter(start, (size_t)n, interpreter))
		return obstacle(interpreter, true);
	return read_header(fd, &header) ? elf_obstacle(fd, &header) : NULL;
}

const char *slu_program_obstacle(const char *path)
{
	return obstacle(path, false);
}

bool slu_program_lacks_interpreter(const char *path, char *ret_path)
{
	slu_cleanup(slu_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char start[256], named[PATH_MAX] = "";
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	ssize_t n;

	if (fd < 0)
		return false;
	n = pread(fd, start, sizeof(start), 0);
	if (n > 0 && !find_interpreter(start, (size_t)n, named) && read_header(fd, &header) &&
	    header.e_ident[EI_CLASS] == ELFCLASS64 && !find_loader(fd, &header, &segment) &&
	    segment.p_filesz < sizeof(named) &&
	    pread(fd, named, segment.p_filesz, (off_t)segment.p_offset) !=
		    (ssize_t)segment.p_filesz)
		return false;
	if (!named[0] || !access(named, F_OK))
		return false;
	strcpy(ret_path, named);
	return true;
}
