/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One connection. The first message says what it is for.
 *
 *   NEW     -> JOINED   [HELLO]   a program; its messages are the core's events
 *   NEW     -> OUTSIDE  [HELLO]   refused (version, device, limits): gets the reason, and later
 *                                 messages are ignored; kept for status
 *   NEW     -> ASKING   [ASK]     a command; one question at a time
 *   any     -> CLOSED   [slu_session_close]   end of file, bad packet, or it does not read
 *
 *  CLOSED: the socket is closed, the charges are given back; the pump frees the rest.
 *
 * A peer that sends nothing is closed after a while, and so is one that asked and asks nothing
 * more; one that does not read when its queue is full.
 *
 * Of several peers that sent something, the one is read first whose user has had least of the
 * daemon's time lately (meter.h): the priority of its event source is the level of its user.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "daemon/limits.h"
#include "wire/channel.h"

struct slu_program;
struct slu_server;

enum slu_session_state {
	SLU_SESSION_NEW,
	SLU_SESSION_JOINED,
	SLU_SESSION_OUTSIDE,
	SLU_SESSION_ASKING,
	SLU_SESSION_CLOSED,
};

struct slu_session {
	LIST_ENTRY(slu_session) entry; /* server->sessions, or server->closed */
	struct slu_server *server;
	enum slu_session_state state;
	struct slu_channel *channel; /* NULL when CLOSED */
	sd_event_source *io;
	sd_event_source *timeout; /* NEW, ASKING */
	pid_t pid;
	uid_t uid;
	gid_t gid;
	unsigned level; /* of its event source */
	struct slu_charge charge, queue_charge;
	struct slu_program *program; /* JOINED */
	bool knows_disk;	     /* JOINED: it speaks a version that has the disk tier */

	/* OUTSIDE */
	char name[SLU_WIRE_NAME_MAX];
	char why[SLU_WIRE_DETAIL_MAX];
	bool is_kicked; /* a user has ended its process */
};

/*
 * Takes over @fd, a new connection. A peer that cannot be served gets the reason, and @fd is
 * closed. Return: 0 also then, or -errno.
 */
int slu_session_new(struct slu_server *server, int fd);
void slu_session_close(struct slu_session *session);

/* Its process has ended: reads what it sent before, which may close it. */
void slu_session_drain(struct slu_session *session);

/* Whether a peer of this protocol version is served; if not, @ret_why says so in words. */
bool slu_session_serves_version(uint32_t version, char *ret_why, size_t size);

/* Sends the folder for bytes on disk to a peer that supports it. */
void slu_session_tell_disk(struct slu_session *session);

/* Sends the bytes that contexts and outsiders leave of its devices, if they changed. */
void slu_session_send_present(struct slu_session *session);

/* Frees a closed one. */
void slu_session_free(struct slu_session *session);

/* Closes the session of a peer that does not read; that of an ended one after its last message. */
void slu_session_send(struct slu_session *session, const struct slu_message *m, int fd);
