/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "daemon/process.h"

#define LISTENS (1ul << 16) /* a flag in /proc/net/unix */

#ifndef PF_EXITING
#define PF_EXITING 0x4 /* of the kernel; in "stat" since the beginning */
#endif

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static int read_proc(pid_t pid, const char *what, char *ret_text, size_t size)
{
	slu_cleanup(slu_closep) int fd = -1;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ESRCH;
	n = read(fd, ret_text, size - 1);
	if (n <= 0)
		return -ESRCH;
	ret_text[n] = '\0';
	return 0;
}

enum { FIELD_STATE = 3, FIELD_FLAGS = 9, FIELD_START = 22 };

/* A field of @text, the file "stat"; NULL if it has none. */
static const char *find_field(const char *text, int wanted)
{
	/* the name, in parentheses, may contain anything: fields are counted from behind it */
	const char *at = strrchr(text, ')');

	if (!at)
		return NULL;
	at++;
	for (int field = FIELD_STATE; field <= wanted; field++) {
		at = strchr(at, ' ');
		if (!at)
			return NULL;
		at++;
	}
	return at;
}

static bool is_zombie(const char *stat)
{
	const char *state = find_field(stat, FIELD_STATE);

	return !state || *state == 'Z' || *state == 'X';
}

int slu_process_start(pid_t pid, uint64_t *ret_start)
{
	const char *start;
	char text[1024];

	if (pid <= 0 || read_proc(pid, "stat", text, sizeof(text)))
		return -ESRCH;
	start = find_field(text, FIELD_START);
	/* the memory of a zombie is free already, so it counts as gone */
	if (!start || is_zombie(text))
		return -ESRCH;
	*ret_start = strtoull(start, NULL, 10);
	return 0;
}

/* Whether it is exiting or a zombie: some of its threads and descriptors may be gone. */
static bool process_is_ending(pid_t pid)
{
	const char *flags;
	char text[1024];

	if (read_proc(pid, "stat", text, sizeof(text)) || is_zombie(text))
		return true;
	flags = find_field(text, FIELD_FLAGS);
	return !flags || strtoul(flags, NULL, 10) & PF_EXITING;
}

bool slu_process_is_stopped(pid_t pid)
{
	const char *state;
	char text[1024];

	if (pid <= 0 || read_proc(pid, "stat", text, sizeof(text)))
		return false;
	state = find_field(text, FIELD_STATE);
	return state && (*state == 'T' || *state == 't');
}

static bool is_called(pid_t pid, const char *thread, const char *const *names, size_t n)
{
	char what[64], text[64];

	snprintf(what, sizeof(what), "task/%.16s/comm", thread);
	if (read_proc(pid, what, text, sizeof(text)))
		return false;
	text[strcspn(text, "\n")] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!strcmp(text, names[i]))
			return true;
	return false;
}

pid_t slu_process_find_thread(pid_t pid, const char *const *names, size_t n)
{
	struct dirent *entry;
	pid_t found = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (!found && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && is_called(pid, entry->d_name, names, n))
			found = (pid_t)strtol(entry->d_name, NULL, 10);
	closedir(dir);
	return found;
}

bool slu_process_lacks_thread(pid_t pid, pid_t thread)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)thread);
	return access(path, F_OK) < 0 && errno == ENOENT && !process_is_ending(pid);
}

bool slu_process_is(pid_t pid, uint64_t start)
{
	uint64_t now;

	return slu_process_start(pid, &now) == 0 && now == start;
}

void slu_process_name(pid_t pid, char *ret_name, size_t size)
{
	char text[64];

	if (pid <= 0 || read_proc(pid, "comm", text, sizeof(text)))
		strcpy(text, "?");
	text[strcspn(text, "\n")] = '\0';
	snprintf(ret_name, size, "%s", text);
}

void slu_process_executable(pid_t pid, char *ret_path, size_t size)
{
	char link[32], path[PATH_MAX];
	struct stat there, here;
	ssize_t n;

	ret_path[0] = '\0';
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	n = readlink(link, path, sizeof(path) - 1);
	if (pid <= 0 || n <= 0 || (size_t)n >= size)
		return;
	path[n] = '\0';
	if (!stat(link, &there) && !lstat(path, &here) && there.st_dev == here.st_dev &&
	    there.st_ino == here.st_ino)
		strcpy(ret_path, path);
}

bool slu_process_obeys(pid_t pid, uid_t uid)
{
	unsigned real, effective, saved;
	const char *line;
	char text[2048];

	if (pid <= 0 || read_proc(pid, "status", text, sizeof(text)))
		return false;
	line = strstr(text, "\nUid:");
	/*
	 * kill(2) needs one of the two; a process that changed one of them is changing its rights
	 */
	return line && sscanf(line, "\nUid: %u %u %u", &real, &effective, &saved) == 3 &&
	       real == uid && saved == uid;
}

static int process_owner(pid_t pid, struct stat *ret_owner)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, ret_owner) < 0 ? -ESRCH : 0;
}

int slu_process_uid(pid_t pid, uid_t *ret_uid)
{
	struct stat owner;
	int r = process_owner(pid, &owner);

	if (!r)
		*ret_uid = owner.st_uid;
	return r;
}

int slu_process_gid(pid_t pid, gid_t *ret_gid)
{
	struct stat owner;
	int r = process_owner(pid, &owner);

	if (!r)
		*ret_gid = owner.st_gid;
	return r;
}

int slu_process_open(pid_t pid)
{
	int fd;

	if (pid <= 0)
		return slu_error(-ESRCH);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return fd < 0 ? slu_error(-errno) : fd;
}

int slu_process_open_peer(int socket_fd, pid_t pid)
{
	int fd = -1;
	socklen_t size = sizeof(fd);

	if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0)
		return fd;
	if (errno != ENOPROTOOPT)
		return slu_error(-errno);
	return slu_process_open(pid);
}

void slu_process_describe(pid_t pid, char *ret_text, size_t size)
{
	char name[32];
	uid_t uid;

	slu_process_name(pid, name, sizeof(name));
	if (slu_process_uid(pid, &uid)) {
		snprintf(ret_text, size, "%s (pid %d)", name, (int)pid);
		return;
	}
	/* by number: looking up the name may take long */
	snprintf(ret_text, size, "%s (pid %d, uid %u)", name, (int)pid, (unsigned)uid);
}

static bool has_socket(pid_t pid, unsigned long inode)
{
	char folder[32], wanted[48], link[48];
	bool is_found = false;
	struct dirent *file;
	DIR *files;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)pid);
	snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
	files = opendir(folder);
	while (!is_found && files && (file = readdir(files))) {
		ssize_t n = readlinkat(dirfd(files), file->d_name, link, sizeof(link) - 1);

		link[n > 0 ? n : 0] = '\0';
		is_found = !strcmp(link, wanted);
	}
	if (files)
		closedir(files);
	return is_found;
}

int slu_process_socket(pid_t pid, char *ret_path, size_t size)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char line[256];
	int r = -ENOENT;

	if (!f)
		return slu_error(-errno);
	while (r && fgets(line, sizeof(line), f)) {
		unsigned long flags, inode;
		int path = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%*s %*s %*s %lx %*s %*s %lu %n", &flags, &inode, &path) == 2 &&
		    flags & LISTENS && path && line[path] == '/' && strlen(line + path) < size &&
		    has_socket(pid, inode)) {
			strcpy(ret_path, line + path);
			r = 0;
		}
	}
	fclose(f);
	return r;
}
