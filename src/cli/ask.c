/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/reply.h"
#include "wire/channel.h"
#include "wire/path.h"

/* The daemon answers at once; after this time it hangs, and a person wants to know. */
#define ANSWER_TIMEOUT_MS 5000
#define LOOK_MS		  250

static void channel_freep(struct slu_channel **channel)
{
	slu_channel_free(*channel);
}

/* A refused connection means a socket without a listener, or another kind of file. */
static int connect_path(const char *path)
{
	struct stat there;
	int fd = slu_channel_connect(path);

	if (fd == -ECONNREFUSED && !stat(path, &there) && !S_ISSOCK(there.st_mode))
		return slu_error(-ENOTSOCK);
	return fd;
}

/* Return: fd, or -errno. */
static int connect_to(const struct slu_cli_where *where, struct slu_cli_peer *peer)
{
	struct ucred listener;
	socklen_t length = sizeof(listener);
	char linked[PATH_MAX];
	int fd, r;

	if (where->socket)
		r = (size_t)snprintf(peer->path, sizeof(peer->path), "%s", where->socket) <
				    sizeof(peer->path)
			    ? 0
			    : -ENAMETOOLONG;
	else
		r = slu_path_socket(where->is_system ? SLU_PATH_SYSTEM : SLU_PATH_USER, false,
				    peer->path, sizeof(peer->path));
	if (r)
		return slu_fold(r);
	fd = connect_path(peer->path);
	if ((fd == -ENOENT || fd == -ECONNREFUSED) && !where->socket && !where->is_system &&
	    !slu_path_linked_socket(linked, sizeof(linked))) {
		r = connect_path(linked);
		if (r >= 0) {
			fd = r;
			strcpy(peer->path, linked);
		}
	}
	if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &listener, &length) == 0)
		peer->pid = listener.pid;
	return fd;
}

bool slu_cli_is_stopped(pid_t pid)
{
	char path[64], line[512];
	const char *end;
	bool is_stopped;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = pid > 0 ? fopen(path, "re") : NULL;
	if (!f)
		return false;
	/* behind the name in brackets, which may contain anything */
	end = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	is_stopped = end && (end[2] == 'T' || end[2] == 't');
	fclose(f);
	return is_stopped;
}

void slu_cli_explain_silence(const struct slu_cli_peer *peer, char ret_why[SLU_CLI_WORDS_MAX],
			     char ret_then[SLU_CLI_WORDS_MAX])
{
	char who[32] = "it";

	if (peer->pid)
		snprintf(who, sizeof(who), "pid %d", (int)peer->pid);
	if (peer->is_stopped) {
		snprintf(ret_why, SLU_CLI_WORDS_MAX, "%s is stopped", who);
		snprintf(ret_then, SLU_CLI_WORDS_MAX,
			 "Let it go on with 'kill -CONT %d', or end it with 'kill -KILL %d'.",
			 (int)peer->pid, (int)peer->pid);
	} else {
		snprintf(ret_why, SLU_CLI_WORDS_MAX, "%s has been silent for %d s", who,
			 ANSWER_TIMEOUT_MS / 1000);
		snprintf(ret_then, SLU_CLI_WORDS_MAX,
			 "Is the machine very busy? Try again; if it stays so, end the daemon: "
			 "programs join the next one.");
	}
}

const char *slu_cli_refusal_advice(int error)
{
	if (error == -EUSERS)
		return "End programs that you no longer need, or raise user_sessions_max or "
		       "sessions_max (sluiced.conf(5)) and send the daemon SIGHUP.";
	return error == -EACCES ? "Leave --socket out to use your own." : NULL;
}

int slu_cli_no_daemon(const struct slu_cli_where *where, const struct slu_cli_peer *peer, int error)
{
	const char *then = "Start one with 'sluice run -- PROGRAM', or 'sluiced --user'.";
	char why[SLU_CLI_WORDS_MAX], what_to_do[SLU_CLI_WORDS_MAX];

	snprintf(why, sizeof(why), "%s", strerror(-error));
	if (where->is_system)
		then = "Start it with 'systemctl start sluiced', or leave --system out to use your "
		       "own.";
	else if (where->socket)
		then = "Start one there with 'sluiced --socket', or leave --socket out.";
	if (error == -ENAMETOOLONG)
		then = "The path of a socket has at most 107 characters.";
	if (error == -EACCES)
		then = "It belongs to somebody else. Leave --socket or --system out to use your "
		       "own.";
	if (peer->refusal[0]) {
		slu_cli_complain(slu_cli_refusal_advice(error),
				 "the daemon at %s refuses the connection: %s", peer->path,
				 peer->refusal);
		return SLU_CLI_REFUSED;
	}
	if (error == -EPERM || error == -ENOTDIR) {
		slu_cli_complain("Remove it, or set XDG_RUNTIME_DIR to a folder of your own.",
				 "%s, where the daemon's socket should be, is %s.", peer->path,
				 error == -EPERM ? "somebody else's, or open to others"
						 : "not a folder");
		return SLU_CLI_NO_DAEMON;
	}
	if (error == -ENOTSOCK) {
		slu_cli_complain(where->socket ? "Give --socket the path of a daemon's socket, or "
						 "leave it out."
					       : "Remove it, or set SLUICE_SOCKET or "
						 "XDG_RUNTIME_DIR right.",
				 "nobody manages the GPU: %s is not a socket.", peer->path);
		return SLU_CLI_NO_DAEMON;
	}
	if (error == -ETIMEDOUT) {
		slu_cli_explain_silence(peer, why, what_to_do);
		then = what_to_do;
	}
	slu_cli_complain(then, "nobody manages the GPU: the daemon at %s does not answer (%s).",
			 peer->path, why);
	return SLU_CLI_NO_DAEMON;
}

static int send_request(struct slu_channel *channel, json_t *request)
{
	struct slu_message m = { 0 };
	size_t size = json_dumpb(request, m.ask.text, sizeof(m.ask.text), JSON_COMPACT);
	int r;

	if (!size || size > sizeof(m.ask.text))
		return slu_error(-E2BIG);
	m.ask.size = (uint32_t)size;
	slu_message_stamp(&m, SLU_MSG_ASK);
	r = slu_channel_send(channel, &m, -1);
	return r > 0 ? slu_error(-ECONNRESET) : slu_fold(r);
}

/* Waits until the daemon has answered. Return: 0, -ETIMEDOUT, or -errno. */
static int await(int fd, struct slu_cli_peer *peer)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	for (int waited_ms = 0; waited_ms < ANSWER_TIMEOUT_MS; waited_ms += LOOK_MS) {
		int r = poll(&poll_fd, 1, LOOK_MS);

		if (r < 0 && errno != EINTR)
			return slu_error(-errno);
		if (r > 0)
			return 0;
		/* a daemon that only pauses, perhaps in a debugger, may still answer */
		peer->is_stopped = slu_cli_is_stopped(peer->pid);
		if (peer->is_stopped && waited_ms)
			break;
	}
	return slu_error(-ETIMEDOUT);
}

/* Return: 0, or -errno; *ret_status is the daemon's own verdict. */
static int receive_reply(struct slu_channel *channel, struct slu_cli_peer *peer, json_t **ret_reply,
			 uint32_t *ret_status)
{
	slu_cleanup(slu_closep) int fd = -1;
	struct slu_message m;
	const char *fault;
	json_t *reply;
	int r;

	for (;;) {
		r = await(slu_channel_fd(channel), peer);
		if (r)
			return slu_fold(r);
		r = slu_channel_receive(channel, &m, &fd, &fault);
		if (r == SLU_CHANNEL_E_AGAIN)
			continue;
		if (r)
			return r < 0 ? slu_fold(r) : slu_error(-ECONNRESET);
		if (m.header.type == SLU_MSG_ANSWER && fd >= 0)
			break;
		if (m.header.type == SLU_MSG_WELCOME && m.welcome.status) {
			snprintf(peer->refusal, sizeof(peer->refusal), "%.*s",
				 (int)sizeof(m.welcome.detail) - 1, m.welcome.detail);
			slu_reply_clean_text(peer->refusal);
			return slu_error(-(int)m.welcome.status);
		}
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return slu_error(-errno);
	reply = json_loadfd(fd, 0, NULL);
	if (!reply)
		return slu_error(-EPROTO);
	slu_reply_clean(reply);
	*ret_reply = reply;
	*ret_status = m.answer.status;
	return 0;
}

int slu_cli_try(const struct slu_cli_where *where, json_t *request, struct slu_cli_peer *ret_peer,
		json_t **ret_reply)
{
	slu_cleanup(channel_freep) struct slu_channel *channel = NULL;
	uint32_t status = 0;
	int fd, r;

	*ret_peer = (struct slu_cli_peer){ 0 };
	fd = connect_to(where, ret_peer);
	r = fd < 0 ? fd : slu_channel_new(fd, SLU_MESSAGE_FROM_DAEMON, &channel);
	if (!r)
		r = send_request(channel, request);
	json_decref(request);
	/* a daemon that closes the connection may have said why */
	if (!r || r == -ECONNRESET || r == -EPIPE)
		r = receive_reply(channel, ret_peer, ret_reply, &status);
	if (r)
		return r;
	return status ? SLU_CLI_E_REFUSED : 0;
}

int slu_cli_ping(const struct slu_cli_where *where, struct slu_cli_peer *ret_peer)
{
	json_t *reply;
	int r = slu_cli_try(where, json_pack("{s:s}", "verb", "ping"), ret_peer, &reply);

	if (r < 0)
		return slu_fold(r);
	/* an older daemon does not know the verb: that is an answer, too */
	json_decref(reply);
	return 0;
}

int slu_cli_refused(json_t *reply)
{
	const char *what = json_string_value(json_object_get(reply, "error"));

	slu_cli_complain(json_string_value(json_object_get(reply, "hint")), "%s",
			 what ? what : "the daemon said no.");
	json_decref(reply);
	return SLU_CLI_REFUSED;
}

int slu_cli_ask(const struct slu_cli_where *where, json_t *request, json_t **ret_reply)
{
	struct slu_cli_peer peer;
	json_t *reply = NULL;
	int r;

	if (!request) {
		slu_cli_complain(NULL, "a word of the command is not valid UTF-8.");
		return SLU_CLI_USAGE;
	}
	r = slu_cli_try(where, request, &peer, &reply);
	if (r < 0)
		return slu_cli_no_daemon(where, &peer, r);
	if (r == SLU_CLI_E_REFUSED)
		return slu_cli_refused(reply);
	*ret_reply = reply;
	return 0;
}
