/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/flock.h"
#include "daemon/process.h"

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

int slu_process_start(pid_t pid, uint64_t *ret_start)
{
	char text[1024], *at;

	if (pid <= 0 || read_proc(pid, "stat", text, sizeof(text)))
		return -ESRCH;
	/* the name, in parentheses, may contain anything: fields are counted from behind it */
	at = strrchr(text, ')');
	if (!at)
		return -ESRCH;
	at++;
	for (int field = 3; field <= 22; field++) {
		at = strchr(at, ' ');
		if (!at)
			return -ESRCH;
		at++;
		/* a zombie's bytes are gone, so for us it is gone */
		if (field == 3 && (*at == 'Z' || *at == 'X'))
			return -ESRCH;
	}
	*ret_start = strtoull(at, NULL, 10);
	return 0;
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

int slu_process_uid(pid_t pid, uid_t *ret_uid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) < 0)
		return -ESRCH;
	*ret_uid = st.st_uid;
	return 0;
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
	char name[32], pw_space[1024];
	struct passwd pw, *found = NULL;
	uid_t uid;

	slu_process_name(pid, name, sizeof(name));
	if (slu_process_uid(pid, &uid)) {
		snprintf(ret_text, size, "%s (pid %d)", name, (int)pid);
		return;
	}
	if (getpwuid_r(uid, &pw, pw_space, sizeof(pw_space), &found) == 0 && found)
		snprintf(ret_text, size, "%s (pid %d, user %s)", name, (int)pid, found->pw_name);
	else
		snprintf(ret_text, size, "%s (pid %d, user %u)", name, (int)pid, (unsigned)uid);
}

int slu_process_of_flock(int fd, pid_t *ret_pid)
{
	char line[256];
	struct stat st;
	pid_t by_inode = 0;
	FILE *f;

	if (fstat(fd, &st) < 0)
		return slu_error(-errno);
	f = fopen("/proc/locks", "re");
	if (!f)
		return slu_error(-ENOENT);
	while (fgets(line, sizeof(line), f)) {
		struct slu_flock held;

		if (!slu_flock_parse(line, &held) || held.inode != st.st_ino || held.pid <= 0)
			continue;
		by_inode = held.pid;
		if (held.device == st.st_dev)
			break; /* else stat and the kernel name the file system differently */
	}
	fclose(f);
	if (!by_inode)
		return slu_error(-ENOENT);
	*ret_pid = by_inode;
	return 0;
}
