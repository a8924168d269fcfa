/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet is read straight into a struct slu_message: the kernel cuts a longer one and says so,
 * and it is rejected. Of the files that a daemon sent with it one is kept, the others are closed at
 * once.
 *
 * Messages that the socket does not take wait in a ring of small heap blocks, each of its message's
 * own size, because nearly all of them are a few dozen bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "wire/channel.h"

#define FDS_MAX 253 /* SCM_MAX_FD: the most that one packet can carry */

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* since Linux 6.16 */
#endif

struct parcel {
	int fd; /* passed with the message, or -1; ours */
	size_t size;
	_Alignas(struct slu_message) char bytes[];
};

struct slu_channel {
	int fd;
	enum slu_message_side side;
	bool may_have_files; /* of a client, which may pass none */

	/* ring of waiting messages, the oldest at first */
	struct parcel *queue[SLU_CHANNEL_QUEUE_MAX];
	unsigned first;
	unsigned n_queued;
	size_t queued_bytes;
};

void slu_channel_refuse_files(int fd)
{
	int off = 0;

	/* an older kernel does not know the option; then every packet is checked */
	(void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
}

/* A connection has the option as the listening socket had it when the peer connected. */
static bool may_have_files(int fd)
{
	socklen_t size = sizeof(int);
	int on = 1;

	return getsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &on, &size) < 0 || on;
}

/*
 * A peer that closed with packets unread makes the next call fail with ECONNRESET, before the
 * packets that it had sent: that is its last word only if it comes twice.
 *
 * Return: 0 with the size, AGAIN, EOF, or -errno.
 */
static int packet_get(int fd, struct msghdr *msg, int flags, size_t *ret_size)
{
	bool was_reset = false, tries_again;
	ssize_t n;

	do {
		n = recvmsg(fd, msg, MSG_DONTWAIT | flags);
		tries_again = n < 0 && (errno == EINTR || (errno == ECONNRESET && !was_reset));
		was_reset |= n < 0 && errno == ECONNRESET;
	} while (tries_again);
	if (n >= 0) {
		*ret_size = (size_t)n;
		return 0;
	}
	if (errno == EAGAIN)
		return SLU_CHANNEL_E_AGAIN;
	if (errno == ECONNRESET || errno == EPIPE || errno == ENOTCONN)
		return SLU_CHANNEL_E_EOF;
	return slu_error(-errno);
}

/*
 * Looks at the next packet without taking it. Its files exceed the space for control data, which is
 * empty or holds only the credentials that come before them (SO_PASSCRED). The credentials tell an
 * empty packet from the end.
 *
 * Return: 0, EOF, FILES, AGAIN, or -errno.
 */
static int packet_look(int fd, bool with_credentials)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = with_credentials ? &control : NULL,
		.msg_controllen = with_credentials ? sizeof(control) : 0,
	};
	size_t n = 0;
	int r = packet_get(fd, &msg, MSG_PEEK, &n);

	if (r)
		return r;
	if (msg.msg_flags & MSG_CTRUNC)
		return SLU_CHANNEL_E_FILES;
	return n || (with_credentials && msg.msg_controllen) ? 0 : SLU_CHANNEL_E_EOF;
}

bool slu_channel_dry(int fd)
{
	int on = 1;
	char byte;

	if (!may_have_files(fd))
		return true;
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
	    (shutdown(fd, SHUT_RD) < 0 && errno != ENOTCONN))
		return false;
	for (;;) {
		int r = packet_look(fd, true);

		if (r == SLU_CHANNEL_E_EOF || r == SLU_CHANNEL_E_AGAIN)
			return true;
		if (r || (recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno != EINTR))
			return false;
	}
}

int slu_channel_new(int fd, enum slu_message_side side, struct slu_channel **ret_channel)
{
	struct slu_channel *channel;
	int flags, type;
	socklen_t size = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
		return slu_error(-errno);
	if (type != SOCK_SEQPACKET)
		return slu_error(-EPROTOTYPE);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return slu_error(-errno);

	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return slu_error(-ENOMEM);
	channel->fd = fd;
	channel->side = side;
	channel->may_have_files = side == SLU_MESSAGE_FROM_CLIENT && may_have_files(fd);
	*ret_channel = channel;
	return 0;
}

static void parcel_free(struct parcel *parcel)
{
	if (parcel->fd >= 0)
		close(parcel->fd);
	free(parcel);
}

static void drop_first(struct slu_channel *channel)
{
	struct parcel *parcel = channel->queue[channel->first];

	channel->queued_bytes -= parcel->size;
	channel->first = (channel->first + 1) % SLU_CHANNEL_QUEUE_MAX;
	channel->n_queued--;
	parcel_free(parcel);
}

int slu_channel_release(struct slu_channel *channel)
{
	int fd = channel->fd;

	while (channel->n_queued)
		drop_first(channel);
	free(channel);
	return fd;
}

void slu_channel_free(struct slu_channel *channel)
{
	if (channel)
		close(slu_channel_release(channel));
}

int slu_channel_fd(const struct slu_channel *channel)
{
	return channel->fd;
}

bool slu_channel_wants_write(const struct slu_channel *channel)
{
	return channel->n_queued > 0;
}

size_t slu_channel_queued_bytes(const struct slu_channel *channel)
{
	return channel->queued_bytes;
}

/* Return: 0, AGAIN, EOF or -errno. */
static int packet_put(int socket_fd, const void *bytes, size_t size, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec iov = { .iov_base = (void *)bytes, .iov_len = size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		struct cmsghdr *cmsg;

		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	}
	do {
		n = sendmsg(socket_fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 0;
	switch (errno) {
	case EAGAIN:
	case ENOBUFS:
		return SLU_CHANNEL_E_AGAIN;
	case EPIPE:
	case ECONNRESET:
	case ENOTCONN:
		return SLU_CHANNEL_E_EOF;
	default:
		return slu_error(-errno);
	}
}

/* Removes messages that @newest supersedes. */
static void drop_superseded(struct slu_channel *channel, struct slu_message *newest)
{
	unsigned n_kept = 0;

	for (unsigned i = 0; i < channel->n_queued; i++) {
		unsigned from = (channel->first + i) % SLU_CHANNEL_QUEUE_MAX;
		unsigned to = (channel->first + n_kept) % SLU_CHANNEL_QUEUE_MAX;
		struct parcel *parcel = channel->queue[from];

		if (slu_message_supersede(newest, (const void *)parcel->bytes)) {
			channel->queued_bytes -= parcel->size;
			parcel_free(parcel);
			continue;
		}
		channel->queue[to] = parcel;
		n_kept++;
	}
	channel->n_queued = n_kept;
}

static int message_enqueue(struct slu_channel *channel, const void *bytes, size_t size, int fd)
{
	struct parcel *parcel;

	if (channel->n_queued == SLU_CHANNEL_QUEUE_MAX)
		return SLU_CHANNEL_E_FULL;
	parcel = malloc(sizeof(*parcel) + size);
	if (!parcel)
		return slu_error(-ENOMEM);
	parcel->fd = -1;
	if (fd >= 0) {
		parcel->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (parcel->fd < 0) {
			int r = -errno;

			free(parcel);
			return slu_error(r);
		}
	}
	parcel->size = size;
	memcpy(parcel->bytes, bytes, size);
	channel->queue[(channel->first + channel->n_queued) % SLU_CHANNEL_QUEUE_MAX] = parcel;
	channel->n_queued++;
	channel->queued_bytes += size;
	return 0;
}

int slu_channel_send(struct slu_channel *channel, const struct slu_message *m, int fd)
{
	size_t size = sizeof(m->header) + m->header.size;
	struct slu_message newest;
	int r;

	r = slu_channel_flush(channel);
	if (!r) {
		r = packet_put(channel->fd, m, size, fd);
		if (!r)
			return 0;
	}
	if (r != SLU_CHANNEL_E_AGAIN)
		return r;
	memcpy(&newest, m, size);
	drop_superseded(channel, &newest);
	return message_enqueue(channel, &newest, size, fd);
}

int slu_channel_flush(struct slu_channel *channel)
{
	while (channel->n_queued) {
		struct parcel *parcel = channel->queue[channel->first];
		int r = packet_put(channel->fd, parcel->bytes, parcel->size, parcel->fd);

		if (r)
			return r;
		drop_first(channel);
	}
	return 0;
}

/* Keeps the first file of the packet in *ret_fd, if wanted, and closes all others. */
static void sort_files(struct msghdr *msg, int *ret_fd)
{
	int kept = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (ret_fd && kept < 0)
				kept = fd;
			else
				close(fd);
		}
	}
	if (ret_fd)
		*ret_fd = kept;
}

int slu_channel_receive(struct slu_channel *channel, struct slu_message *ret_message, int *ret_fd,
			const char **ret_fault)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = ret_message, .iov_len = sizeof(*ret_message) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	const char *fault;
	int fd = -1, r;
	size_t n = 0;

	if (ret_fd)
		*ret_fd = -1;
	if (channel->may_have_files) {
		r = packet_look(channel->fd, false);
		if (r)
			return r;
	}
	r = packet_get(channel->fd, &msg, MSG_CMSG_CLOEXEC, &n);
	if (r)
		return r;

	sort_files(&msg, ret_fd ? &fd : NULL);
	if (n == 0) {
		/* an empty packet looks the same, and no peer has a reason to send one */
		if (fd >= 0)
			close(fd);
		return SLU_CHANNEL_E_EOF;
	}
	memset((char *)ret_message + n, 0, sizeof(*ret_message) - n);
	if (msg.msg_flags & MSG_TRUNC)
		fault = "longer than any message";
	else
		fault = slu_message_fault(ret_message, n, channel->side);
	if (fault) {
		if (fd >= 0)
			close(fd);
		if (ret_fault)
			*ret_fault = fault;
		return SLU_CHANNEL_E_BAD;
	}
	if (ret_fd)
		*ret_fd = fd;
	return 0;
}

int slu_channel_peer(const struct slu_channel *channel, pid_t *ret_pid, uid_t *ret_uid,
		     gid_t *ret_gid)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);

	if (getsockopt(channel->fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
		return slu_error(-errno);
	if (ret_pid)
		*ret_pid = cred.pid;
	if (ret_uid)
		*ret_uid = cred.uid;
	if (ret_gid)
		*ret_gid = cred.gid;
	return 0;
}

int slu_channel_connect(const char *path)
{
	slu_cleanup(slu_closep) int fd = -1;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(addr.sun_path))
		return slu_error(-ENAMETOOLONG);
	strcpy(addr.sun_path, path);
	fd = slu_fd_lift(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return slu_error(-errno);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return slu_error(-errno);
	return slu_steal_fd(&fd);
}
