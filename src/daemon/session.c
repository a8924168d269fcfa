/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"
#include "daemon/control.h"
#include "daemon/process.h"
#include "daemon/program.h"
#include "daemon/quarantine.h"
#include "daemon/serial.h"
#include "daemon/server.h"
#include "daemon/session.h"
#include "daemon/text.h"

#define DRAIN_TURNS_MAX	 64 /* more than a socket holds */
#define MESSAGES_AT_ONCE 16 /* read from one peer before the others are looked at */

static void session_describe(const struct slu_session *session, char *ret_text, size_t size)
{
	if (session->program)
		snprintf(ret_text, size, "program=%s pid=%d", session->program->name,
			 (int)session->pid);
	else
		snprintf(ret_text, size, "pid=%d uid=%u", (int)session->pid,
			 (unsigned)session->uid);
}

/* Users of one daemon must not fill its log and its history for the others. */
static bool session_may_speak(const struct slu_session *session)
{
	struct slu_server *server = session->server;

	return !server->options.is_system ||
	       slu_meter_may_speak(&server->meter, session->uid, slu_clock_now_ns());
}

/* Logs what a peer did wrong. Not above info: a bad peer could fill the log of all users. */
static void session_complain(const struct slu_session *session, const char *what,
			     const char *detail)
{
	char who[128];

	if (!session_may_speak(session))
		return;
	session_describe(session, who, sizeof(who));
	slu_log(INFO, "closing a connection: %s %s%s", who, what, detail);
}

void slu_session_close(struct slu_session *session)
{
	struct slu_program *program = session->program;

	if (session->state == SLU_SESSION_CLOSED)
		return;
	session->state = SLU_SESSION_CLOSED;
	session->program = NULL;
	sd_event_source_disable_unref(session->io);
	sd_event_source_disable_unref(session->timeout);
	session->io = session->timeout = NULL;
	slu_quarantine_close(session->server->quarantine, slu_channel_release(session->channel),
			     &session->charge);
	session->channel = NULL;
	slu_charge_give(&session->charge);
	slu_charge_give(&session->queue_charge);
	LIST_REMOVE(session, entry);
	LIST_INSERT_HEAD(&session->server->closed, session, entry);
	if (program)
		slu_program_lost(program);
	slu_server_wake(session->server);
	slu_server_population_changed(session->server);
}

void slu_session_free(struct slu_session *session)
{
	assert(session->state == SLU_SESSION_CLOSED);
	LIST_REMOVE(session, entry);
	free(session);
}

/* After each send and flush: charges the queued bytes, and waits for writing if needed. */
static void look_after_queue(struct slu_session *session)
{
	bool wants = slu_channel_wants_write(session->channel);

	if (slu_charge_change(&session->queue_charge, slu_channel_queued_bytes(session->channel))) {
		session_complain(session, "does not read its messages", "");
		slu_session_close(session);
		return;
	}
	sd_event_source_set_io_events(session->io, EPOLLIN | (wants ? (uint32_t)EPOLLOUT : 0));
}

void slu_session_send(struct slu_session *session, const struct slu_message *m, int fd)
{
	int r;

	if (session->state == SLU_SESSION_CLOSED)
		return;
	r = slu_channel_send(session->channel, m, fd);
	/* the peer has gone; its earlier messages are read first, and then the end */
	if (r == SLU_CHANNEL_E_EOF)
		return;
	if (r) {
		session_complain(session, "cannot be sent to: ",
				 r == SLU_CHANNEL_E_FULL ? "it does not read" : strerror(-r));
		slu_session_close(session);
		return;
	}
	look_after_queue(session);
}

/* With visible_memory a user sets how much the program may own. */
static uint64_t own_beyond_bytes(const struct slu_server *server,
				 const struct slu_config_program *own)
{
	return slu_config_may_map(own) && !own->visible_bytes
		       ? slu_core_view_beyond_bytes(server->core)
		       : 0;
}

static enum slu_hashing hashing_of(const char *word)
{
	if (!strcmp(word, "off"))
		return SLU_HASHING_OFF;
	return strcmp(word, "always") ? SLU_HASHING_AUTO : SLU_HASHING_ALWAYS;
}

static enum slu_predicting predicting_of(const char *word)
{
	if (!strcmp(word, "off"))
		return SLU_PREDICTING_OFF;
	return strcmp(word, "auto") ? SLU_PREDICTING_WRITES : SLU_PREDICTING_EARLY;
}

static void session_welcome(struct slu_session *session, int status, const char *why)
{
	struct slu_server *server = session->server;
	struct slu_message m = {
		.welcome = {
			.version = SLU_WIRE_VERSION,
			.status = (uint32_t)status,
			.generation = slu_roster_generation(server->roster),
		},
	};

	if (!status) {
		struct slu_config_program own;

		slu_program_settings(session->program, &own);
		m.welcome.visible_bytes = own.visible_bytes;
		m.welcome.chunk_bytes = own.chunk_bytes;
		m.welcome.loss_grace_ns = own.loss_grace_ns;
		m.welcome.run_without_daemon = !strcmp(own.on_daemon_loss, "run");
		m.welcome.checksum_moves = own.checksum_moves;
		m.welcome.hash_clean = (uint8_t)hashing_of(own.hash_clean);
		m.welcome.predict = (uint8_t)predicting_of(own.predict);
		m.welcome.exportable = own.exportable;
		m.welcome.allow_mapped = slu_config_may_map(&own);
		m.welcome.beyond_bytes = own_beyond_bytes(server, &own);
		m.welcome.hears = SLU_HEARS_EXCESS | SLU_HEARS_EXPORT;
		m.welcome.vmm_serial = (uint8_t)slu_serial_of(server->config.vmm_serial);
	}
	snprintf(m.welcome.detail, sizeof(m.welcome.detail), "%s", why);
	slu_message_stamp(&m, SLU_MSG_WELCOME);
	slu_session_send(session, &m, -1);
}

void slu_session_tell_disk(struct slu_session *session)
{
	struct slu_message m = { 0 };

	if (!session->knows_disk)
		return;
	memcpy(m.disk.folder, session->server->backing.folder, sizeof(m.disk.folder));
	slu_message_stamp(&m, SLU_MSG_DISK);
	slu_session_send(session, &m, -1);
}

void slu_session_send_present(struct slu_session *session)
{
	struct slu_program *program = session->program;

	for (unsigned d = 0; program && d < program->n_devices; d++) {
		struct slu_program_device *own = &program->devices[d];
		struct slu_message m = { .present = { .device = (uint8_t)d } };

		m.present.bytes = slu_sub_floor(
			own->device->total_bytes,
			slu_core_view_elsewhere_bytes(session->server->core, own->device->number));
		if (!own->hears_present || own->present_bytes == m.present.bytes)
			continue;
		own->present_bytes = m.present.bytes;
		slu_message_stamp(&m, SLU_MSG_PRESENT);
		slu_session_send(session, &m, -1);
		program = session->program; /* NULL if it does not read */
	}
}

static void session_refuse(struct slu_session *session, const struct slu_msg_hello *hello,
			   int status, const char *why)
{
	struct slu_timeline_who who = {
		.group = hello->group,
		.pid = session->pid,
		.uid = session->uid,
	};
	bool may_speak = session_may_speak(session);

	if (may_speak)
		slu_log(NOTICE, "refusing pid=%d: %s", (int)session->pid, why);
	session->state = SLU_SESSION_OUTSIDE;
	snprintf(session->name, sizeof(session->name), "%.*s", (int)sizeof(session->name) - 1,
		 hello->program);
	if (!session->name[0])
		slu_process_name(session->pid, session->name, sizeof(session->name));
	slu_text_clean(session->name);
	snprintf(session->why, sizeof(session->why), "%s", why);
	memcpy(who.name, session->name, sizeof(who.name));
	if (may_speak)
		slu_timeline_refused(session->server->timeline, slu_clock_now_ns(), &who, why);
	session_welcome(session, status, why);
}

bool slu_session_serves_version(uint32_t version, char *ret_why, size_t size)
{
	if (version && version <= SLU_WIRE_VERSION && version + 1 >= SLU_WIRE_VERSION)
		return true;
	snprintf(ret_why, size,
		 "this program speaks protocol %u, the daemon %u: install the same version of "
		 "both, and restart the older one.",
		 version, SLU_WIRE_VERSION);
	return false;
}

static int take_hello(struct slu_session *session, const struct slu_msg_hello *hello)
{
	struct slu_timeline_who who;
	int r, status = 0;
	char why[SLU_WIRE_DETAIL_MAX] = "";

	if (!slu_session_serves_version(hello->version, why, sizeof(why))) {
		session_refuse(session, hello, EPROTONOSUPPORT, why);
		return 0;
	}
	r = slu_program_join(session, hello, &status, why, sizeof(why));
	if (r == SLU_PROGRAM_E_REFUSED) {
		session_refuse(session, hello, status, why);
		return 0;
	}
	if (r)
		return slu_fold(r);
	session->state = SLU_SESSION_JOINED;
	slu_program_who(session->program, &who);
	slu_timeline_joined(session->server->timeline, slu_clock_now_ns(), &who);
	slu_log(INFO, "joined program=%s pid=%d group=%016llx", session->program->name,
		(int)session->pid, (unsigned long long)hello->group);
	if (slu_serial_of(session->server->config.vmm_serial) != SLU_SERIAL_OFF)
		slu_serial_offer(slu_channel_fd(session->channel), hello,
				 session->server->options.is_system);
	/* its context is new, and all programs hear of it, the new one before it is admitted */
	slu_server_look(session->server);
	if (session->state == SLU_SESSION_CLOSED)
		return 0;
	session_welcome(session, 0, "");
	session->knows_disk = hello->version >= 2;
	slu_session_tell_disk(session);
	return 0;
}

/* Checks what message.h cannot: how many devices this program has, and how large a sum may be. */
static const char *message_fault(const struct slu_session *session, const struct slu_message *m)
{
	unsigned n = session->program->n_devices, device = 0;
	uint64_t most = 0;

	switch (m->header.type) {
	case SLU_MSG_SUMS:
		device = m->sums.account.device;
		most = SLU_MAX(m->sums.ceiling_bytes, m->sums.refused_bytes);
		break;
	case SLU_MSG_WANT:
		device = m->want.account.device;
		most = SLU_MAX(m->want.all_bytes, m->want.min_bytes);
		most = m->want.largest_bytes > most ? m->want.largest_bytes : most;
		break;
	case SLU_MSG_READY:
	case SLU_MSG_IDLE:
		device = m->turn.device;
		break;
	case SLU_MSG_REST:
		device = m->rest.device;
		most = m->rest.floor_bytes;
		break;
	case SLU_MSG_FACTS:
		device = m->facts.device;
		break;
	case SLU_MSG_EXCESS: /* a program may ask for more than any device has */
		device = m->excess.device;
		break;
	case SLU_MSG_EXPORT:
		device = m->export.device;
		break;
	default:
		return "a message that a joined program does not send";
	}
	if (device >= n)
		return "a device that it did not name";
	return most > SLU_SERVER_BYTES_MAX ? "more bytes than a device can have" : NULL;
}

static void take_message(struct slu_session *session, const struct slu_message *m)
{
	uint64_t now_ns = slu_clock_now_ns();
	const char *fault = message_fault(session, m);

	if (fault) {
		session_complain(session, "sent ", fault);
		slu_session_close(session);
		return;
	}
	slu_program_note(session->program, now_ns, m, NULL);
	if (m->header.type == SLU_MSG_EXCESS || m->header.type == SLU_MSG_EXPORT)
		return;
	/* a message that crossed ours on its way is not an error */
	(void)slu_core_message(session->server->core, now_ns, session->program->id, m);
	slu_server_wake(session->server);
}

/* The next message must come before the timeout. */
static void session_expect(struct slu_session *session)
{
	sd_event_source_set_time_relative(session->timeout,
					  session->server->config.handshake_ns / SLU_NS_PER_US);
}

/* Return: 0, or -errno when this session cannot go on. */
static int message_take(struct slu_session *session, const struct slu_message *m)
{
	if (session->state == SLU_SESSION_NEW && m->header.type != SLU_MSG_ASK)
		session->timeout = sd_event_source_disable_unref(session->timeout);
	else if (session->timeout)
		session_expect(session);
	if (session->state == SLU_SESSION_NEW && m->header.type == SLU_MSG_HELLO)
		return slu_fold(take_hello(session, &m->hello));
	if (session->state == SLU_SESSION_NEW && m->header.type == SLU_MSG_ASK)
		session->state = SLU_SESSION_ASKING;
	switch (session->state) {
	case SLU_SESSION_ASKING:
		if (m->header.type != SLU_MSG_ASK)
			return slu_error(-EPROTO);
		return slu_fold(slu_control_answer(session, &m->ask));
	case SLU_SESSION_JOINED:
		take_message(session, m);
		return 0;
	case SLU_SESSION_OUTSIDE:
		return 0;
	default:
		return slu_error(-EPROTO);
	}
}

static void take_bad(struct slu_session *session, const struct slu_message *m, const char *fault)
{
	char why[SLU_WIRE_DETAIL_MAX];

	if (session->state == SLU_SESSION_OUTSIDE)
		return;
	if (session->state == SLU_SESSION_NEW && m->header.type == SLU_MSG_HELLO &&
	    !slu_session_serves_version(m->hello.version, why, sizeof(why))) {
		session->timeout = sd_event_source_disable_unref(session->timeout);
		session_refuse(session, &m->hello, EPROTONOSUPPORT, why);
		return;
	}
	session_complain(session, "sent ", fault);
	if (session->state == SLU_SESSION_NEW) {
		snprintf(why, sizeof(why), "not a message of the protocol: %s.", fault);
		session_welcome(session, EPROTO, why);
	}
	slu_session_close(session);
}

static void session_receive(struct slu_session *session)
{
	for (int i = 0; i < MESSAGES_AT_ONCE && session->state != SLU_SESSION_CLOSED; i++) {
		struct slu_message m;
		const char *fault = "";
		int r = slu_channel_receive(session->channel, &m, NULL, &fault);

		if (r == SLU_CHANNEL_E_AGAIN)
			return;
		if (r == SLU_CHANNEL_E_BAD) {
			take_bad(session, &m, fault);
			continue;
		}
		if (!r)
			r = message_take(session, &m);
		if (r == SLU_CHANNEL_E_FILES)
			session_complain(session, "passed a file", "");
		if (r) {
			if (r < 0)
				session_complain(session, "cannot be served: ", strerror(-r));
			slu_session_close(session);
		}
	}
}

void slu_session_drain(struct slu_session *session)
{
	for (int i = 0; i < DRAIN_TURNS_MAX && session->state == SLU_SESSION_JOINED; i++)
		session_receive(session);
}

/* Return: whether the peer has to wait for those whose users had less of our time. */
static bool session_yields(struct slu_session *session, uint64_t now_ns)
{
	struct slu_server *server = session->server;
	unsigned level = 0, before = session->level;

	/* a user's own daemon has nobody to put before the user, and would accept and not read */
	if (server->options.is_system)
		level = slu_meter_level(&server->meter, session->uid, now_ns);
	if (level != before)
		sd_event_source_set_priority(session->io, SD_EVENT_PRIORITY_NORMAL + level);
	session->level = level;
	return level > before;
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct slu_session *session = data;
	struct slu_server *server = session->server;
	uint64_t now_ns = slu_clock_now_ns();

	(void)source;
	(void)fd;
	if (session_yields(session, now_ns))
		return 0;
	if (events & EPOLLOUT) {
		int r = slu_channel_flush(session->channel);

		if (r < 0)
			slu_session_close(session);
		else if (r != SLU_CHANNEL_E_EOF)
			look_after_queue(session);
	}
	if (session->state != SLU_SESSION_CLOSED && (events & ~(uint32_t)EPOLLOUT))
		session_receive(session);
	server->payer = session->uid;
	slu_meter_spend(&server->meter, session->uid, now_ns, slu_clock_now_ns() - now_ns);
	return 0;
}

static int on_silence(sd_event_source *source, uint64_t usec, void *data)
{
	(void)source;
	(void)usec;
	session_complain(data, "has said nothing", "");
	slu_session_close(data);
	return 0;
}

/* A program of the last daemon returns by a connection that is charged already. */
static int charge_connection(struct slu_session *session)
{
	struct slu_server *server = session->server;
	struct slu_program *program = slu_program_find_pid(server, session->pid);

	if (program && program->uid == session->uid && program->return_charge.limits) {
		session->charge = program->return_charge;
		program->return_charge = (struct slu_charge){};
		return 0;
	}
	return slu_charge_take(server->limits, session->uid, SLU_LIMITS_SESSIONS, 1,
			       &session->charge);
}

/* Return: 0, or the errno for which this peer is rejected, with the reason. */
static int session_admit(struct slu_session *session, char *ret_why, size_t size)
{
	struct slu_server *server = session->server;
	int r;

	if (!server->options.is_system && session->uid != server->uid) {
		snprintf(ret_why, size, "this daemon serves user %u alone.", (unsigned)server->uid);
		return EACCES;
	}
	r = charge_connection(session);
	if (!r)
		r = slu_charge_take(server->limits, session->uid, SLU_LIMITS_QUEUE_BYTES, 0,
				    &session->queue_charge);
	if (r) {
		snprintf(ret_why, size, "%s too many connections to the daemon.",
			 r == SLU_LIMITS_E_USER ? "you have" : "there are");
		return r < 0 ? -r : EUSERS;
	}
	return 0;
}

int slu_session_new(struct slu_server *server, int fd)
{
	struct slu_session *session = calloc(1, sizeof(*session));
	struct slu_charge none = {};
	char why[128];
	int r;

	if (!session) {
		slu_quarantine_close(server->quarantine, fd, &none);
		return slu_error(-ENOMEM);
	}
	session->server = server;
	r = slu_channel_new(fd, SLU_MESSAGE_FROM_CLIENT, &session->channel);
	if (r) {
		slu_quarantine_close(server->quarantine, fd, &none);
		free(session);
		return slu_fold(r);
	}
	r = slu_channel_peer(session->channel, &session->pid, &session->uid, &session->gid);
	if (r)
		goto fail;
	r = session_admit(session, why, sizeof(why));
	if (r) {
		struct slu_message m = {
			.welcome = { .version = SLU_WIRE_VERSION, .status = (uint32_t)r },
		};

		strcpy(m.welcome.detail, why);
		slu_message_stamp(&m, SLU_MSG_WELCOME);
		(void)slu_channel_send(session->channel, &m, -1);
		r = 0;
		goto fail;
	}
	r = sd_event_add_io(server->event, &session->io, slu_channel_fd(session->channel), EPOLLIN,
			    on_io, session);
	if (r < 0)
		goto fail;
	r = sd_event_add_time_relative(server->event, &session->timeout, CLOCK_MONOTONIC,
				       server->config.handshake_ns / SLU_NS_PER_US, 0, on_silence,
				       session);
	if (r < 0)
		goto fail;
	LIST_INSERT_HEAD(&server->sessions, session, entry);
	slu_server_population_changed(server);
	return 0;

fail:
	sd_event_source_disable_unref(session->io);
	slu_quarantine_close(server->quarantine, slu_channel_release(session->channel),
			     &session->charge);
	slu_charge_give(&session->charge);
	slu_charge_give(&session->queue_charge);
	free(session);
	return slu_fold(r);
}
