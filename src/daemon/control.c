/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/util.h"
#include "daemon/answer.h"
#include "daemon/control.h"
#include "daemon/program.h"
#include "daemon/server.h"
#include "daemon/session.h"

bool slu_control_may_see(const struct slu_control_view *view, uid_t uid)
{
	return view->is_master || view->uid == uid;
}

/* -- verbs ------------------------------------------------------------------------------------ */

static void verb_status(struct slu_answer *answer)
{
	slu_server_look(answer->view.server);
	slu_answer_with(answer, slu_status_make(&answer->view));
}

/*
 * Whether we are there at all, without a look at anything. With a protocol "version" also whether a
 * program that speaks it and is started now would be let in.
 */
static void verb_ping(struct slu_answer *answer)
{
	const json_t *version = json_object_get(answer->request, "version");
	char why[192];
	int r, status;

	json_object_set_new(answer->reply, "pid", json_integer(getpid()));
	if (!version)
		return;
	if (!slu_session_serves_version((uint32_t)json_integer_value(version), why, sizeof(why))) {
		slu_answer_no(answer, EPROTONOSUPPORT, NULL, "%s", why);
		return;
	}
	r = slu_program_may_join(answer->view.server, answer->view.uid, &status, why, sizeof(why));
	if (r == SLU_PROGRAM_E_REFUSED)
		slu_answer_no(answer, status,
			      "'sluice status' lists them; end one, or raise the "
			      "limit in sluiced.conf(5).",
			      "%s", why);
	else if (r)
		slu_answer_no(answer, -r, NULL, "%s", strerror(-r));
}

static void verb_history(struct slu_answer *answer)
{
	const json_t *last = json_object_get(answer->request, "last");

	if (last && (!json_is_integer(last) || json_integer_value(last) < 0)) {
		slu_answer_no(answer, EINVAL, NULL, "last: expected a number of records");
		return;
	}
	slu_answer_with(answer,
			slu_history_make(&answer->view,
					 last ? (size_t)json_integer_value(last) : SIZE_MAX));
}

static void verb_settings(struct slu_answer *answer)
{
	const char *program = json_string_value(json_object_get(answer->request, "program"));

	if (program && strlen(program) >= SLU_WIRE_NAME_MAX) {
		slu_answer_no(answer, EINVAL, NULL,
			      "program: expected a name of at most %d characters",
			      SLU_WIRE_NAME_MAX - 1);
		return;
	}
	slu_answer_with(answer, slu_settings_make(&answer->view, program));
}

static const struct {
	const char *name;
	void (*run)(struct slu_answer *answer);
} verbs[] = {
	{ "status", verb_status }, { "history", verb_history }, { "settings", verb_settings },
	{ "set", slu_verb_set },   { "park", slu_verb_park },	{ "unpark", slu_verb_unpark },
	{ "kick", slu_verb_kick }, { "ping", verb_ping },
};

static void run_verb(struct slu_answer *answer)
{
	const char *name = json_string_value(json_object_get(answer->request, "verb"));

	for (size_t i = 0; name && i < SLU_ARRAY_SIZE(verbs); i++) {
		if (!strcmp(verbs[i].name, name)) {
			verbs[i].run(answer);
			return;
		}
	}
	if (name)
		slu_answer_no(answer, ENOSYS, "Command and daemon may be of different versions.",
			      "the daemon does not know the verb '%.32s'", name);
	else
		slu_answer_no(answer, EINVAL, NULL, "expected a \"verb\"");
}

/* -- files ------------------------------------------------------------------------------------ */

/*
 * Copies the request out of the passed file. Only memory files are read: anything else could make
 * us wait. Return: 0, or the errno of what is wrong with it.
 */
static int read_request(int fd, uint64_t size, uint64_t max, char *ret_text)
{
	struct stat st;
	size_t used = 0;

	if (fd < 0 || fcntl(fd, F_GET_SEALS) < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return EINVAL;
	if (!size || size > max)
		return E2BIG;
	while (used < size) {
		ssize_t n = pread(fd, ret_text + used, size - used, (off_t)used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return EINVAL;
		used += (size_t)n;
	}
	return 0;
}

/* In one piece: jansson would write it word by word, and everybody waits for this thread. */
static int write_reply(int fd, const json_t *reply, uint64_t *ret_bytes)
{
	slu_cleanup(slu_freep) char *text = json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS);
	size_t used = 0, bytes;

	if (!text)
		return slu_error(-ENOMEM);
	bytes = strlen(text);
	while (used < bytes) {
		ssize_t n = write(fd, text + used, bytes - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return slu_error(n < 0 ? -errno : -EIO);
		used += (size_t)n;
	}
	*ret_bytes = bytes;
	return 0;
}

static int send_answer(struct slu_session *session, const struct slu_answer *answer)
{
	slu_cleanup(slu_closep) int fd =
		memfd_create("sluice-answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct slu_message m = { .answer = { .status = answer->status } };
	int r;

	if (fd < 0)
		return slu_error(-errno);
	r = write_reply(fd, answer->reply, &m.answer.size);
	if (r)
		return slu_fold(r);
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return slu_error(-errno);
	slu_message_stamp(&m, SLU_MSG_ANSWER);
	slu_session_send(session, &m, fd);
	return 0;
}

/* Whether an answer lies in the socket that the peer has not read. */
static bool last_answer_is_unread(const struct slu_session *session)
{
	int bytes = 0;

	if (slu_channel_wants_write(session->channel))
		return true;
	return ioctl(slu_channel_fd(session->channel), SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

static void parse_and_run(struct slu_answer *answer, const char *text, size_t size)
{
	slu_cleanup(json_decrefp) json_t *request = NULL;
	json_error_t error;

	request = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	if (!request || !json_is_object(request)) {
		slu_answer_no(answer, EINVAL, NULL, "the request is not a JSON object: %s",
			      request ? "it is something else" : error.text);
		return;
	}
	answer->request = request;
	run_verb(answer);
	answer->request = NULL;
}

int slu_control_answer(struct slu_session *session, const struct slu_msg_ask *ask, int fd)
{
	struct slu_server *server = session->server;
	slu_cleanup(slu_freep) char *text = NULL;
	struct slu_answer answer = {
		.view = {
			.server = server,
			.uid = session->uid,
			.is_master = slu_server_user_is_master(server, session->uid, session->gid,
							       slu_channel_fd(session->channel)),
		},
		.reply = json_object(),
	};
	struct slu_charge charge;
	int r;

	/* each answer is a file in flight: one who asks without reading would hold them all */
	if (last_answer_is_unread(session)) {
		json_decref(answer.reply);
		return slu_error(-EBUSY);
	}
	r = slu_charge_take(server->limits, session->uid, SLU_LIMITS_ASK_BYTES, ask->size, &charge);
	text = r ? NULL : malloc(ask->size + 1);
	r = r	    ? E2BIG
	    : !text ? ENOMEM
		    : read_request(fd, ask->size, server->config.ask_max_bytes, text);
	if (r)
		slu_answer_no(&answer, r, NULL, "the request cannot be read: %s", strerror(r));
	else
		parse_and_run(&answer, text, ask->size);
	slu_charge_give(&charge);
	r = answer.reply ? send_answer(session, &answer) : slu_error(-ENOMEM);
	json_decref(answer.reply);
	return slu_fold(r);
}
