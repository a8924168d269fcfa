/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
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
#include "daemon/quarantine.h"
#include "daemon/serial.h"
#include "daemon/server.h"
#include "daemon/session.h"

#define ACCEPTS_A_TURN 64
#define PAUSE_USEC     100000

struct slu_listener {
	struct slu_server *server;
	int fd;
	int reserve_fd;
	char *path;	   /* NULL: systemd's */
	struct stat bound; /* the file that @path names while it is ours */
	char *lock_path;
	int lock_fd;
	bool is_lost;
	sd_event_source *io;
	sd_event_source *resume;
	sd_event_source *watch; /* of the folder; NULL: systemd's, or it cannot be watched */
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

static void listener_rest(struct slu_listener *listener)
{
	sd_event_source_set_enabled(listener->io, SD_EVENT_OFF);
	sd_event_source_set_time_relative(listener->resume, PAUSE_USEC);
	sd_event_source_set_enabled(listener->resume, SD_EVENT_ONESHOT);
}

static void turn_one_away(struct slu_listener *listener)
{
	struct slu_charge none = {};
	int fd;

	slu_log(WARNING, "no file descriptor is free, closing new connections");
	if (listener->reserve_fd >= 0)
		close(listener->reserve_fd);
	fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		slu_quarantine_close(listener->server->quarantine, fd, &none);
	listener->reserve_fd = open_reserve();
}

/*
 * Connections that nobody accepted go with the socket, and their packets may have files: the
 * quarantine closes them. A socket of systemd's stays with systemd, and they with it.
 */
static void socket_close(struct slu_listener *listener)
{
	struct slu_charge none = {};
	int fd;

	if (listener->path && shutdown(listener->fd, SHUT_RD) == 0)
		while ((fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
			slu_quarantine_close(listener->server->quarantine, fd, &none);
	close(listener->fd);
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
				listener_rest(listener);
				return 0;
			default:
				slu_log(WARNING, "cannot accept a connection: %m, ignoring");
				listener_rest(listener);
				return 0;
			}
		}
		r = slu_session_new(listener->server, peer);
		if (r < 0) {
			slu_log(WARNING, "cannot serve a connection: %s, ignoring", strerror(-r));
			listener_rest(listener);
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
	slu_channel_refuse_files(listener->fd);
	/* systemd leaves it blocking; accept would wait for a second connection after the first */
	flags = fcntl(listener->fd, F_GETFL);
	if (flags < 0 || fcntl(listener->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return slu_error(-errno);
	return 0;
}

static bool is_same(const struct stat *a, const char *path)
{
	struct stat b;

	return stat(path, &b) == 0 && a->st_ino == b.st_ino && a->st_dev == b.st_dev;
}

static bool has_socket(const struct slu_listener *listener)
{
	return listener->path && is_same(&listener->bound, listener->path);
}

static bool has_lock(const struct slu_listener *listener)
{
	struct stat ours;

	return listener->lock_fd >= 0 && fstat(listener->lock_fd, &ours) == 0 &&
	       is_same(&ours, listener->lock_path);
}

/* Return: 0 with the lock, or -errno after logging the reason. */
static int take_lock(struct slu_listener *listener, const char *path)
{
	pid_t holder;
	int fd, r;

	r = slu_lockfile_take(listener->lock_path, &fd, &holder);
	if (r == SLU_LOCKFILE_E_HELD) {
		char who[96] = "another daemon";

		if (holder)
			slu_process_describe(holder, who, sizeof(who));
		slu_log(ERR, "%s is served by %s already; use that one, or end it first", path,
			who);
		return slu_error(-EADDRINUSE);
	}
	if (r) {
		slu_log(ERR,
			"cannot lock %s: %s; give --socket a path in a folder that exists and is "
			"yours",
			listener->lock_path, strerror(-r));
		return slu_fold(r);
	}
	if (listener->lock_fd >= 0)
		close(listener->lock_fd);
	listener->lock_fd = fd;
	return 0;
}

/* Creates the socket at our path, whose lock we have. Return: its descriptor, or -errno. */
static int make_socket(struct slu_listener *listener)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	slu_cleanup(slu_closep) int fd = -1;
	struct stat there;
	mode_t mask;
	int r;

	strcpy(addr.sun_path, listener->path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return slu_error(-errno);
	slu_channel_refuse_files(fd);
	/* we hold the lock, so the owner of this socket is gone; any other file is not ours */
	if (lstat(listener->path, &there) == 0 && !S_ISSOCK(there.st_mode)) {
		slu_log(ERR, "%s is not a socket; remove it, or give --socket another path",
			listener->path);
		return slu_error(-ENOTSOCK);
	}
	unlink(listener->path);
	mask = umask(listener->server->options.is_system ? 0111 : 0177);
	r = bind(fd, (struct sockaddr *)&addr, sizeof(addr));
	umask(mask);
	if (r == 0)
		r = stat(listener->path, &listener->bound);
	if (r == 0)
		r = listen(fd, SOMAXCONN);
	if (r < 0) {
		r = -errno;
		slu_log(ERR,
			"cannot listen at %s: %s; give --socket a path in a folder that is yours",
			listener->path, strerror(-r));
		return slu_error(r);
	}
	return slu_steal_fd(&fd);
}

static int bind_path(struct slu_listener *listener, const char *path)
{
	int r;

	if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path)) {
		slu_log(ERR,
			"%s is too long for a socket's name; give --socket one of at most 107 "
			"characters",
			path);
		return slu_error(-ENAMETOOLONG);
	}
	listener->path = strdup(path);
	if (!listener->path || asprintf(&listener->lock_path, "%s.lock", path) < 0) {
		listener->lock_path = NULL;
		return slu_error(-ENOMEM);
	}
	r = take_lock(listener, path);
	if (r)
		return slu_fold(r);
	slu_serial_clean(path);
	r = make_socket(listener);
	if (r < 0)
		return slu_fold(r);
	listener->fd = r;
	return 0;
}

static int hear_connections(struct slu_listener *listener)
{
	return sd_event_add_io(listener->server->event, &listener->io, listener->fd, EPOLLIN,
			       on_connection, listener);
}

/* -- what was removed under our feet ---------------------------------------------------------- */

static int on_removal(sd_event_source *source, const struct inotify_event *event, void *data);

/* The folder of the socket into @ret_folder, which is large enough for the path of a socket. */
static void folder_of(const struct slu_listener *listener, char *ret_folder)
{
	char *slash;

	strcpy(ret_folder, listener->path);
	slash = strrchr(ret_folder, '/');
	if (slash == ret_folder)
		slash++;
	strcpy(slash ? slash : ret_folder, slash ? "" : ".");
}

/* Without a watch, removed files are not created again. */
static void watch_folder(struct slu_listener *listener)
{
	char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];

	folder_of(listener, folder);
	listener->watch = sd_event_source_disable_unref(listener->watch);
	sd_event_add_inotify(listener->server->event, &listener->watch, folder,
			     IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR,
			     on_removal, listener);
}

/* Creates lock and socket again. Return: 0, or -errno. */
static int socket_restore(struct slu_listener *listener)
{
	char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];
	int r = 0, fd;

	folder_of(listener, folder);
	if (mkdir(folder, 0700) == 0)
		watch_folder(listener);
	if (!has_lock(listener))
		r = take_lock(listener, listener->path);
	if (r)
		return slu_fold(r);
	fd = make_socket(listener);
	if (fd < 0)
		return slu_fold(fd);
	listener->io = sd_event_source_disable_unref(listener->io);
	socket_close(listener);
	listener->fd = fd;
	r = hear_connections(listener);
	return r < 0 ? slu_error(r) : 0;
}

static int on_removal(sd_event_source *source, const struct inotify_event *event, void *data)
{
	struct slu_listener *listener = data;

	(void)source;
	(void)event;
	if (listener->is_lost || (has_socket(listener) && has_lock(listener)))
		return 0;
	if (!socket_restore(listener)) {
		slu_log(NOTICE, "%s was removed; created it again", listener->path);
		return 0;
	}
	slu_log(ERR,
		"somebody removed %s and it cannot be made again: programs that are here stay "
		"served, and the daemon leaves with the last of them",
		listener->path);
	listener->is_lost = true;
	slu_server_population_changed(listener->server);
	return 0;
}

bool slu_listener_is_lost(const struct slu_listener *listener)
{
	return listener && listener->is_lost;
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
		r = hear_connections(listener);
	if (r >= 0)
		r = sd_event_add_time_relative(server->event, &listener->resume, CLOCK_MONOTONIC,
					       PAUSE_USEC, 0, on_resume, listener);
	if (r >= 0)
		r = sd_event_source_set_enabled(listener->resume, SD_EVENT_OFF);
	if (r < 0) {
		slu_listener_free(listener);
		return slu_fold(r);
	}
	if (listener->path)
		watch_folder(listener);
	*ret_listener = listener;
	return 0;
}

/* Only while the path is still ours: the files of the next daemon stay. */
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
	if (!listener->is_lost)
		withdraw_serial_files(listener);
	sd_event_source_disable_unref(listener->io);
	sd_event_source_disable_unref(listener->resume);
	sd_event_source_disable_unref(listener->watch);
	if (has_socket(listener))
		unlink(listener->path);
	if (listener->fd >= 0)
		socket_close(listener);
	if (listener->reserve_fd >= 0)
		close(listener->reserve_fd);
	if (has_lock(listener))
		unlink(listener->lock_path);
	if (listener->lock_fd >= 0)
		close(listener->lock_fd);
	free(listener->path);
	free(listener->lock_path);
	free(listener);
}
