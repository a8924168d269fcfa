/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "wire/channel.h"
#include "wire/path.h"

/* The daemon answers at once; longer than this it hangs, and a person wants to know. */
#define ANSWER_TIMEOUT_MS 5000

enum { OPTION_SYSTEM = 1024, OPTION_SOCKET };

static const struct argp_option where_options[] = {
	{ "system", OPTION_SYSTEM, NULL, 0, "the machine's daemon, not one of your own", 0 },
	{ "socket", OPTION_SOCKET, "PATH", 0, "the daemon at PATH", 0 },
	{ 0 },
};

static error_t parse_where(int key, char *arg, struct argp_state *state)
{
	struct slu_cli_where *where = state->input;

	switch (key) {
	case OPTION_SYSTEM:
		where->is_system = 1;
		return 0;
	case OPTION_SOCKET:
		if (!*arg)
			argp_error(state, "--socket: expected the path of a daemon's socket");
		where->socket = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp slu_cli_where_argp = { .options = where_options, .parser = parse_where };

static void channel_freep(struct slu_channel **channel)
{
	slu_channel_free(*channel);
}

int slu_cli_connect(const struct slu_cli_where *where, char *ret_path, size_t size)
{
	int r;

	if (where->socket)
		r = (size_t)snprintf(ret_path, size, "%s", where->socket) < size ? 0
										 : -ENAMETOOLONG;
	else
		r = slu_path_socket(where->is_system ? SLU_PATH_SYSTEM : SLU_PATH_USER, false,
				    ret_path, size);
	if (r)
		return slu_fold(r);
	return slu_channel_connect(ret_path);
}

static int no_daemon(const struct slu_cli_where *where, const char *path, int error)
{
	const char *then = "Start one with 'sluice run -- PROGRAM', or 'sluiced --user'.";

	if (where->is_system)
		then = "Start it with 'systemctl start sluiced', or leave --system out to use your "
		       "own.";
	if (error == -ENAMETOOLONG)
		then = "The path of a socket has at most 107 characters.";
	if (error == -EACCES || error == -EPERM)
		then = "It belongs to somebody else. Leave --socket or --system out to use your "
		       "own.";
	slu_cli_complain(then, "nobody manages the GPU: the daemon at %s does not answer (%s).",
			 path, strerror(-error));
	return SLU_CLI_NO_DAEMON;
}

static int send_request(struct slu_channel *channel, json_t *request)
{
	slu_cleanup(slu_closep) int fd = memfd_create("sluice-ask", MFD_CLOEXEC);
	struct slu_message m = { 0 };
	off_t size;
	int r;

	if (fd < 0)
		return slu_error(-errno);
	if (json_dumpfd(request, fd, JSON_COMPACT))
		return slu_error(-EIO);
	size = lseek(fd, 0, SEEK_CUR);
	if (size < 0)
		return slu_error(-errno);
	m.ask.size = (uint64_t)size;
	slu_message_stamp(&m, SLU_MSG_ASK);
	r = slu_channel_send(channel, &m, fd);
	return r > 0 ? slu_error(-ECONNRESET) : slu_fold(r);
}

/* Return: 0, or -errno; *ret_status is the daemon's own verdict. */
static int receive_reply(struct slu_channel *channel, json_t **ret_reply, uint32_t *ret_status)
{
	slu_cleanup(slu_closep) int fd = -1;
	struct pollfd poll_fd = { .fd = slu_channel_fd(channel), .events = POLLIN };
	struct slu_message m;
	const char *fault;
	json_t *reply;
	int r;

	for (;;) {
		r = poll(&poll_fd, 1, ANSWER_TIMEOUT_MS);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r ? slu_error(-errno) : slu_error(-ETIMEDOUT);
		r = slu_channel_receive(channel, &m, &fd, &fault);
		if (r == SLU_CHANNEL_E_AGAIN)
			continue;
		if (r)
			return r < 0 ? slu_fold(r) : slu_error(-ECONNRESET);
		if (m.header.type == SLU_MSG_ANSWER && fd >= 0)
			break;
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return slu_error(-errno);
	reply = json_loadfd(fd, 0, NULL);
	if (!reply)
		return slu_error(-EPROTO);
	*ret_reply = reply;
	*ret_status = m.answer.status;
	return 0;
}

static int ask(const struct slu_cli_where *where, json_t *request, char *ret_path, size_t size,
	       json_t **ret_reply)
{
	slu_cleanup(channel_freep) struct slu_channel *channel = NULL;
	uint32_t status = 0;
	int fd, r;

	fd = slu_cli_connect(where, ret_path, size);
	r = fd < 0 ? fd : slu_channel_new(fd, SLU_MESSAGE_FROM_DAEMON, &channel);
	if (!r)
		r = send_request(channel, request);
	json_decref(request);
	if (!r)
		r = receive_reply(channel, ret_reply, &status);
	if (r)
		return r;
	return status ? SLU_CLI_E_REFUSED : 0;
}

int slu_cli_try(const struct slu_cli_where *where, json_t *request, json_t **ret_reply)
{
	char path[PATH_MAX] = "";

	return ask(where, request, path, sizeof(path), ret_reply);
}

int slu_cli_ask(const struct slu_cli_where *where, json_t *request, json_t **ret_reply)
{
	char path[PATH_MAX] = "";
	const char *what, *then;
	json_t *reply = NULL;
	int r;

	r = ask(where, request, path, sizeof(path), &reply);
	if (r < 0)
		return no_daemon(where, path, r);
	if (r == SLU_CLI_E_REFUSED) {
		what = json_string_value(json_object_get(reply, "error"));
		then = json_string_value(json_object_get(reply, "hint"));
		slu_cli_complain(then, "%s", what ? what : "the daemon said no.");
		json_decref(reply);
		return SLU_CLI_REFUSED;
	}
	*ret_reply = reply;
	return 0;
}
