/* SPDX-License-Identifier: Apache-2.0 */
/* A part of suspend.h: asking the restore thread of a process, which may be our own. */

#include "softgpu/driver/suspend.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"

/* The pid of @pid as that process sees itself. Return: 0 where there is none. */
static long find_own_pid(pid_t pid)
{
	char path[64], line[256];
	long own = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		const char *last = strrchr(line, '\t');

		if (!strncmp(line, "NSpid:", 6) && last)
			own = strtol(last, NULL, 10);
	}
	fclose(file);
	return own;
}

int dev_suspend_name(pid_t pid, char ret_name[static DEV_SUSPEND_NAME_MAX])
{
	long own = find_own_pid(pid);
	struct stat st;
	char path[64];

	if (!own)
		return slu_error(-ESRCH);
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	if (stat(path, &st) < 0)
		return slu_error(-errno);
	return snprintf(ret_name, DEV_SUSPEND_NAME_MAX, "sluice-softgpu-%llu-%ld",
			(unsigned long long)st.st_ino, own);
}

/* Whether the other end of @fd is @pid: anybody can take a name that is free. */
static bool is_process(int fd, pid_t pid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.pid == pid;
}

static int process_connect(pid_t pid)
{
	slu_cleanup(slu_closep) int fd =
		slu_fd_lift(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int length = dev_suspend_name(pid, address.sun_path + 1);

	if (fd < 0 || length < 0 ||
	    connect(fd, (const struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) < 0 ||
	    !is_process(fd, pid))
		return -1;
	return slu_steal_fd(&fd);
}

/* Waits for an answer, or for the end of the process. */
static bool receive(int fd, int pidfd, struct dev_suspend_reply *ret_reply)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN }, { .fd = pidfd, .events = POLLIN } };

	while (poll(fds, 2, -1) < 0)
		if (errno != EINTR)
			return false;
	return fds[0].revents & POLLIN &&
	       recv(fd, ret_reply, sizeof(*ret_reply), 0) == sizeof(*ret_reply);
}

CUresult dev_suspend_ask(int pid, const struct dev_suspend_request *request,
			 struct dev_suspend_reply *ret_reply)
{
	slu_cleanup(slu_closep) int pidfd = -1, fd = -1;

	if (pid <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	pidfd = slu_fd_lift((int)syscall(SYS_pidfd_open, pid, 0));
	if (pidfd < 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (kill(pid, 0) < 0)
		return errno == EPERM ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_ERROR_INVALID_VALUE;
	fd = process_connect(pid);
	if (fd < 0 || send(fd, request, sizeof(*request), MSG_NOSIGNAL) != sizeof(*request) ||
	    !receive(fd, pidfd, ret_reply))
		return CUDA_ERROR_INVALID_VALUE;
	return (CUresult)ret_reply->result;
}
