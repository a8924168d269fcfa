/* SPDX-License-Identifier: Apache-2.0 */
/* A part of suspend.h: the thread that carries out what other processes ask. */

#include "softgpu/driver/suspend.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/util.h"

#define BACKLOG 16

static int listen_fd = -1; /* constant after start, but for a forked child */

/* A lock that somebody asked for. */
struct wait {
	int fd; /* where the asker waits */
	uint64_t until_ns;
};

static bool serve_next(int patience_ms, bool is_waiting);

/* While one waits for a lock, others hear the state, and the asker may have gone. */
static bool wait_goes_on(void *data)
{
	const struct wait *wait = data;
	struct pollfd asker = { .fd = wait->fd, .events = POLLRDHUP };

	while (serve_next(0, true))
		;
	if (poll(&asker, 1, 0) > 0)
		return false;
	return !wait->until_ns || slu_clock_now_ns() < wait->until_ns;
}

static CUresult verb_run(int fd, const struct dev_suspend_request *request, bool is_waiting)
{
	struct wait wait = { .fd = fd };

	if (is_waiting && request->verb > DEV_SUSPEND_THREAD)
		return CUDA_ERROR_NOT_READY;
	switch (request->verb) {
	case DEV_SUSPEND_STATE:
	case DEV_SUSPEND_THREAD:
		return CUDA_SUCCESS;
	case DEV_SUSPEND_LOCK:
		if (request->timeout_ms)
			wait.until_ns = slu_clock_now_ns() + request->timeout_ms * SLU_NS_PER_MS;
		return dev_suspend_lock(wait_goes_on, &wait);
	case DEV_SUSPEND_CHECKPOINT:
		return dev_suspend_checkpoint();
	case DEV_SUSPEND_RESTORE:
		return request->n_pairs > DEV_SUSPEND_PAIRS_MAX
			       ? CUDA_ERROR_INVALID_VALUE
			       : dev_suspend_restore(request->pairs, request->n_pairs);
	case DEV_SUSPEND_UNLOCK:
		return dev_suspend_unlock();
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* As the kernel decides about signals: see kill(2). */
static bool may_ask(int fd)
{
	struct ucred asker;
	socklen_t size = sizeof(asker);
	uid_t real, effective, saved;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &asker, &size) < 0 ||
	    getresuid(&real, &effective, &saved) < 0)
		return false;
	return !asker.uid || asker.uid == real || asker.uid == saved;
}

static void asker_serve(int fd, bool is_waiting)
{
	/* whoever connects and says nothing does not keep others from asking */
	const struct timeval patience = { .tv_sec = 1 };
	struct dev_suspend_request request;
	struct dev_suspend_reply reply;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (!may_ask(fd) || recv(fd, &request, sizeof(request), 0) != sizeof(request))
		return;
	reply = (struct dev_suspend_reply){ .result = verb_run(fd, &request, is_waiting),
					    .state = dev_suspend_state(),
					    .thread = (int32_t)syscall(SYS_gettid) };
	send(fd, &reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Return: whether somebody asked. */
static bool serve_next(int patience_ms, bool is_waiting)
{
	struct pollfd listener = { .fd = listen_fd, .events = POLLIN };
	slu_cleanup(slu_closep) int fd = -1;

	if (poll(&listener, 1, patience_ms) <= 0)
		return false;
	fd = slu_fd_lift(accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC));
	if (fd >= 0)
		asker_serve(fd, is_waiting);
	return fd >= 0;
}

static void *thread_main(void *data)
{
	(void)data;
	prctl(PR_SET_NAME, "softgpu-restore");
	for (;;)
		serve_next(-1, false);
	return NULL;
}

static int socket_open(void)
{
	slu_cleanup(slu_closep) int fd =
		slu_fd_lift(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int length = dev_suspend_name(getpid(), address.sun_path + 1);

	if (fd < 0 || length < 0 ||
	    bind(fd, (const struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return -1;
	return slu_steal_fd(&fd);
}

void dev_suspend_thread_start(void)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;

	listen_fd = socket_open();
	if (listen_fd < 0)
		return;
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, &attr, thread_main, NULL))
		dev_suspend_thread_forget();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

void dev_suspend_thread_forget(void)
{
	if (listen_fd >= 0)
		close(listen_fd);
	listen_fd = -1;
}
