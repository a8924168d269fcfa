/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "daemon/listener.h"
#include "daemon/lockfile.h"
#include "daemon/process.h"
#include "daemon/serial.h"
#include "daemon/server.h"
#include "daemon/session.h"

#define ACCEPTS_A_TURN 64
#define PAUSE_USEC     100000

struct slu_listener {
	struct slu_server *server;
	int fd;
	int reserve_fd;
	char *path; /* NULL: systemd's */
	char *lock_path;
	int lock_fd;
	sd_event_source *io;
	sd_event_source *resume;
};

static int open_reserve(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int on_resume(sd_event_source *source, uint64_t usec, void *data)
{
	struct slu_listener *listener = data;

	(void)source;
	(void)usec;
	if (listener->reserve_fd < 0)
		listener->reserve_fd = open_reserve();
	sd_event_source_set_enabled(listener->io, SD_EVENT_ON);
	return 0;
}

static void rest(struct slu_listener *listener)
{
	sd_event_source_set_enabled(listener->io, SD_EVENT_OFF);
	sd_event_source_set_time_relative(listener->resume, PAUSE_USEC);
	sd_event_source_set_enabled(listener->resume, SD_EVENT_ONESHOT);
}

static void turn_one_away(struct slu_listener *listener)
{
	int fd;

	slu_log(WARNING, "no file descriptor is left, turning connections away");
	if (listener->reserve_fd >= 0)
		close(listener->reserve_fd);
	fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		close(fd);
	listener->reserve_fd = open_reserve();
}

static int on_connection(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct slu_listener *listener = data;

	(void)source;
	(void)events;
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		int r, peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (peer < 0) {
			switch (errno) {
			case EAGAIN:
				return 0;
			case EINTR:
			case ECONNABORTED:
				continue;
			case EMFILE:
			case ENFILE:
				turn_one_away(listener);
				rest(listener);
				return 0;
			default:
				slu_log(WARNING, "cannot accept a connection: %m, ignoring");
				rest(listener);
				return 0;
			}
		}
		r = slu_session_new(listener->server, peer);
		if (r < 0) {
			slu_log(WARNING, "cannot serve a connection: %s, ignoring", strerror(-r));
			rest(listener);
			return 0;
		}
	}
	return 0;
}

static int take_inherited(struct slu_listener *listener)
{
	int flags, n = sd_listen_fds(1);

	if (n != 1 || sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_SEQPACKET, 1, NULL, 0) <= 0) {
		slu_log(ERR,
			"expected one listening unix socket of sequential packets from systemd, "
			"got %d files; sluiced.socket has one ListenSequentialPacket=",
			n);
		return slu_error(-EINVAL);
	}
	listener->fd = SD_LISTEN_FDS_START;
	/* systemd leaves it blocking; accept would wait for the second one after the first */
	flags = fcntl(listener->fd, F_GETFL);
	if (flags < 0 || fcntl(listener->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return slu_error(-errno);
	return 0;
}

static int take_path(struct slu_listener *listener, const char *path)
{
	pid_t holder;
	int r;

	if (asprintf(&listener->lock_path, "%s.lock", path) < 0) {
		listener->lock_path = NULL;
		return slu_error(-ENOMEM);
	}
	r = slu_lockfile_take(listener->lock_path, &listener->lock_fd, &holder);
	if (r == SLU_LOCKFILE_E_HELD) {
		char who[96] = "another daemon";

		if (holder)
			slu_process_describe(holder, who, sizeof(who));
		slu_log(ERR, "%s is served by %s already; use that one, or end it first", path,
			who);
		return slu_error(-EADDRINUSE);
	}
	if (r)
		slu_log(ERR,
			"cannot lock %s: %s; give --socket a path in a folder that is there and "
			"yours",
			listener->lock_path, strerror(-r));
	return slu_fold(r);
}

static int bind_path(struct slu_listener *listener, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	mode_t mask;
	int r;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		slu_log(ERR,
			"%s is too long for a socket's name; give --socket one of at most 107 "
			"characters",
			path);
		return slu_error(-ENAMETOOLONG);
	}
	r = take_path(listener, path);
	if (r)
		return slu_fold(r);
	strcpy(addr.sun_path, path);
	listener->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0)
		return slu_error(-errno);
	/* we hold the lock, so whoever made this one is gone */
	unlink(path);
	mask = umask(listener->server->options.is_system ? 0111 : 0177);
	r = bind(listener->fd, (struct sockaddr *)&addr, sizeof(addr));
	umask(mask);
	if (r == 0) {
		listener->path = strdup(path);
		r = listener->path ? listen(listener->fd, SOMAXCONN) : -1;
	}
	if (r < 0) {
		r = -errno;
		slu_log(ERR,
			"cannot listen at %s: %s; give --socket a path in a folder that is yours",
			path, strerror(-r));
		return slu_error(r);
	}
	return 0;
}

int slu_listener_new(struct slu_server *server, const char *path,
		     struct slu_listener **ret_listener)
{
	struct slu_listener *listener = calloc(1, sizeof(*listener));
	int r;

	if (!listener)
		return slu_error(-ENOMEM);
	listener->server = server;
	listener->fd = listener->lock_fd = -1;
	listener->reserve_fd = open_reserve();
	r = path ? bind_path(listener, path) : take_inherited(listener);
	if (!r)
		r = sd_event_add_io(server->event, &listener->io, listener->fd, EPOLLIN,
				    on_connection, listener);
	if (r >= 0)
		r = sd_event_add_time_relative(server->event, &listener->resume, CLOCK_MONOTONIC,
					       PAUSE_USEC, 0, on_resume, listener);
	if (r >= 0)
		r = sd_event_source_set_enabled(listener->resume, SD_EVENT_OFF);
	if (r < 0) {
		slu_listener_free(listener);
		return slu_fold(r);
	}
	*ret_listener = listener;
	return 0;
}

/* While the path is still ours: the next daemon's files stay. */
static void withdraw_serial_files(const struct slu_listener *listener)
{
	struct slu_devices *devices = listener->server->devices;

	for (unsigned i = 0; devices && i < slu_devices_n(devices); i++)
		slu_serial_withdraw(listener->fd, slu_devices_get(devices, i)->uuid);
}

void slu_listener_free(struct slu_listener *listener)
{
	if (!listener)
		return;
	withdraw_serial_files(listener);
	sd_event_source_disable_unref(listener->io);
	sd_event_source_disable_unref(listener->resume);
	if (listener->path)
		unlink(listener->path);
	if (listener->fd >= 0)
		close(listener->fd);
	if (listener->reserve_fd >= 0)
		close(listener->reserve_fd);
	if (listener->lock_fd >= 0) {
		unlink(listener->lock_path);
		close(listener->lock_fd);
	}
	free(listener->path);
	free(listener->lock_path);
	free(listener);
}
