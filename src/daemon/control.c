/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/util.h"
#include "daemon/answer.h"
#include "daemon/control.h"
#include "daemon/server.h"
#include "daemon/session.h"

bool slu_control_may_see(const struct slu_control_view *view, uid_t uid)
{
	return view->is_master || view->uid == uid;
}

/* -- verbs ------------------------------------------------------------------------------------ */

enum users { ANYONE, MASTERS };

static const struct verb {
	const char *name;
	void (*run)(struct slu_answer *answer);
	enum users users;
} verbs[] = {
#define SLU_VERB_LOCAL(name, users)
#define SLU_VERB_DAEMON(name, users)		      { #name, slu_verb_##name, users },
#define SLU_COMMAND(name, rank, asks, users, summary) SLU_VERB_##asks(name, users)
#define SLU_REQUEST(name, users)		      SLU_VERB_DAEMON(name, users)
#include "wire/commands.def"
#undef SLU_COMMAND
#undef SLU_REQUEST
};

static void run_verb(struct slu_answer *answer)
{
	const char *name = json_string_value(json_object_get(answer->request, "verb"));
	const struct verb *verb = verbs, *end = verbs + SLU_ARRAY_SIZE(verbs);

	if (!name) {
		slu_answer_no(answer, EINVAL, NULL, "expected a \"verb\"");
		return;
	}
	while (verb < end && strcmp(verb->name, name))
		verb++;
	if (verb == end)
		slu_answer_no(answer, ENOSYS, "Command and daemon may be of different versions.",
			      "the daemon does not know the verb '%.32s'", name);
	else if (verb->users == MASTERS && !answer->view.is_master)
		slu_answer_no(answer, EPERM, "Ask root or a member of the group sluice.",
			      "you may not use 'sluice %s' on the machine's daemon", name);
	else
		verb->run(answer);
}

/* -- the answer's file ------------------------------------------------------------------------ */

/* In one piece: jansson would write it word by word while all clients wait for this thread. */
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

/* Whether the socket holds an answer that the peer has not read. */
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

int slu_control_answer(struct slu_session *session, const struct slu_msg_ask *ask)
{
	struct slu_server *server = session->server;
	struct slu_answer answer = {
		.view = {
			.server = server,
			.uid = session->uid,
			.pid = session->pid,
			.is_master = slu_server_user_is_master(server, session->uid, session->gid,
							       slu_channel_fd(session->channel)),
		},
		.reply = json_object(),
	};
	int r;

	/* each answer is a file in flight: a peer that asks without reading would hold them all */
	if (last_answer_is_unread(session)) {
		json_decref(answer.reply);
		return slu_error(-EBUSY);
	}
	parse_and_run(&answer, ask->text, ask->size);
	r = answer.reply ? send_answer(session, &answer) : slu_error(-ENOMEM);
	json_decref(answer.reply);
	return slu_fold(r);
}
