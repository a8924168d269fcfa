/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"
#include "daemon/control.h"
#include "daemon/group.h"
#include "daemon/program.h"
#include "daemon/server.h"
#include "daemon/session.h"
#include "daemon/text.h"

#define WORDS_MAX 1100

/* What is being answered: @reply gets the result, or the error and what to do. */
struct answer {
	struct slu_control_view view;
	const json_t *request;
	json_t *reply;
	uint32_t status;
};

bool slu_control_may_see(const struct slu_control_view *view, uid_t uid)
{
	return view->is_master || view->uid == uid;
}

static void say_no(struct answer *answer, int status, const char *hint, const char *format, ...)
	__attribute__((__format__(__printf__, 4, 5)));

static void say_no(struct answer *answer, int status, const char *hint, const char *format, ...)
{
	char words[WORDS_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(words, sizeof(words), format, ap);
	va_end(ap);
	slu_text_clean(words);
	answer->status = (uint32_t)status;
	json_decref(answer->reply);
	answer->reply = json_pack("{s:s, s:s*}", "error", words, "hint", hint);
}

static void say(struct answer *answer, const char *words)
{
	json_object_set_new(answer->reply, "message", json_string(words));
}

/* -- verbs ------------------------------------------------------------------------------------ */

static void replace(struct answer *answer, json_t *reply)
{
	json_decref(answer->reply);
	answer->reply = reply;
}

static void verb_status(struct answer *answer)
{
	slu_server_look(answer->view.server);
	replace(answer, slu_status_make(&answer->view));
}

/* Whether we are there at all, without a look at anything. */
static void verb_ping(struct answer *answer)
{
	json_object_set_new(answer->reply, "pid", json_integer(getpid()));
}

static void verb_history(struct answer *answer)
{
	const json_t *last = json_object_get(answer->request, "last");

	if (last && (!json_is_integer(last) || json_integer_value(last) < 0)) {
		say_no(answer, EINVAL, NULL, "last: expected a number of records");
		return;
	}
	replace(answer, slu_history_make(&answer->view,
					 last ? (size_t)json_integer_value(last) : SIZE_MAX));
}

static void verb_settings(struct answer *answer)
{
	const char *program = json_string_value(json_object_get(answer->request, "program"));

	if (program && strlen(program) >= SLU_WIRE_NAME_MAX) {
		say_no(answer, EINVAL, NULL, "program: expected a name of at most %d characters",
		       SLU_WIRE_NAME_MAX - 1);
		return;
	}
	replace(answer, slu_settings_make(&answer->view, program));
}

static bool is_meant(const struct slu_program *program, const char *who)
{
	char *end;
	unsigned long long number;

	if (!strcmp(program->name, who))
		return true;
	number = strtoull(who, &end, 10);
	if (who[0] && !*end && number == (unsigned long long)program->pid)
		return true;
	number = strtoull(who, &end, 16);
	return strlen(who) == 16 && !*end && number &&
	       (number == program->group->id || number == program->group->wire);
}

/* Calls @act for each program that is meant and may be steered. Return: how many. */
static unsigned each_meant(struct answer *answer,
			   int (*act)(struct answer *answer, struct slu_program *program))
{
	const char *who = json_string_value(json_object_get(answer->request, "program"));
	bool all = json_is_true(json_object_get(answer->request, "all"));
	struct slu_server *server = answer->view.server;
	json_t *done = json_array();
	struct slu_program *program;
	unsigned n = 0;

	if (!who && !all) {
		json_decref(done);
		say_no(answer, EINVAL, NULL,
		       "expected \"program\" (a name, a pid or a group) or \"all\"");
		return 0;
	}
	LIST_FOREACH (program, &server->programs, entry) {
		int r;

		if (!slu_control_may_see(&answer->view, program->uid) ||
		    (!all && !is_meant(program, who)))
			continue;
		r = act(answer, program);
		if (r) {
			json_decref(done);
			say_no(answer, -r, NULL, "%s (pid %d): %s", program->name,
			       (int)program->pid, strerror(-r));
			return 0;
		}
		json_array_append_new(done, json_pack("{s:s, s:i}", "name", program->name, "pid",
						      (int)program->pid));
		n++;
	}
	if (!n && !all) {
		json_decref(done);
		say_no(answer, ENOENT, "'sluice status' lists your programs.",
		       "no program of yours is called '%.64s', nor has that pid", who);
		return 0;
	}
	json_object_set_new(answer->reply, "programs", done);
	return n;
}

static void say_done(struct answer *answer, const char *what, unsigned n)
{
	const json_t *first = json_array_get(json_object_get(answer->reply, "programs"), 0);
	char words[WORDS_MAX];

	if (answer->status)
		return;
	if (n == 1)
		snprintf(words, sizeof(words), "%s %s (pid %d).", what,
			 json_string_value(json_object_get(first, "name")),
			 (int)json_integer_value(json_object_get(first, "pid")));
	else
		snprintf(words, sizeof(words), "%s %u programs.", what, n);
	say(answer, words);
}

static int park(struct answer *answer, struct slu_program *program)
{
	int r = slu_core_park(answer->view.server->core, slu_clock_now_ns(), program->group->id,
			      true);

	slu_server_wake(answer->view.server);
	return r < 0 ? slu_fold(r) : 0;
}

static int unpark(struct answer *answer, struct slu_program *program)
{
	int r = slu_core_park(answer->view.server->core, slu_clock_now_ns(), program->group->id,
			      false);

	slu_server_wake(answer->view.server);
	return r < 0 ? slu_fold(r) : 0;
}

static int kick(struct answer *answer, struct slu_program *program)
{
	(void)answer;
	if (syscall(SYS_pidfd_send_signal, program->pidfd, SIGKILL, NULL, 0) < 0)
		return slu_error(-errno);
	slu_log(NOTICE, "kicked program=%s pid=%d", program->name, (int)program->pid);
	return 0;
}

static void verb_park(struct answer *answer)
{
	say_done(answer, "Parked", each_meant(answer, park));
}

static void verb_unpark(struct answer *answer)
{
	say_done(answer, "Let go on:", each_meant(answer, unpark));
}

static void verb_kick(struct answer *answer)
{
	say_done(answer, "Ended", each_meant(answer, kick));
}

struct search {
	const char *name;
	char section[SLU_WIRE_NAME_MAX + 16];
	enum slu_config_counts counts;
};

static void match_name(void *data, const struct slu_config_view *view)
{
	struct search *search = data;

	if (view->is_own || strcmp(view->name, search->name) != 0)
		return;
	if (!search->section[0])
		snprintf(search->section, sizeof(search->section), "%s", view->section);
	search->counts = view->counts;
}

/* "slice", "scheduler.slice" or "program ollama.chunk" -> section and name. */
static void split_setting(struct slu_server *server, const char *setting, struct search *ret)
{
	const char *dot = strrchr(setting, '.');

	*ret = (struct search){ .name = dot ? dot + 1 : setting };
	if (dot)
		snprintf(ret->section, sizeof(ret->section), "%.*s", (int)(dot - setting), setting);
	slu_config_each(&server->config, match_name, ret);
}

static void verb_set(struct answer *answer)
{
	static const char *const from_when[] = {
		[SLU_CONFIG_AT_ONCE] = "",
		[SLU_CONFIG_AT_DEVICE] = ", for devices that no program has used yet",
		[SLU_CONFIG_AT_JOIN] = ", for programs that start from now on",
	};
	const char *setting = json_string_value(json_object_get(answer->request, "setting"));
	const char *value = json_string_value(json_object_get(answer->request, "value"));
	struct slu_server *server = answer->view.server;
	char why[1024], words[WORDS_MAX];
	struct slu_config config;
	struct search search;
	int r;

	if (!answer->view.is_master) {
		say_no(answer, EPERM, "Ask a member of the group sluice.",
		       "you may not change the settings of the machine's daemon");
		return;
	}
	if (!setting || !value) {
		say_no(answer, EINVAL, NULL, "expected \"setting\" and \"value\"");
		return;
	}
	split_setting(server, setting, &search);
	if (!search.section[0]) {
		say_no(answer, EINVAL, "'man sluiced.conf' lists the settings.",
		       "there is no setting '%.64s'", setting);
		return;
	}
	if (slu_config_copy(&server->config, &config)) {
		say_no(answer, ENOMEM, NULL, "memory is short");
		return;
	}
	r = slu_config_set(&config, search.section, search.name, value, why, sizeof(why));
	if (!r) {
		r = slu_server_apply(server, &config);
		if (r)
			snprintf(why, sizeof(why), "%s: the scheduler refuses it", search.name);
	}
	if (r) {
		slu_config_deinit(&config);
		say_no(answer, EINVAL, "'man sluiced.conf' lists the settings.", "%s", why);
		return;
	}
	slu_log(NOTICE, "set [%s] %s = %s", search.section, search.name, value);
	snprintf(words, sizeof(words), "[%s] %s = %s, until the daemon ends%s.", search.section,
		 search.name, value, from_when[search.counts]);
	slu_text_clean(words);
	say(answer, words);
}

static const struct {
	const char *name;
	void (*run)(struct answer *answer);
} verbs[] = {
	{ "status", verb_status }, { "history", verb_history }, { "settings", verb_settings },
	{ "set", verb_set },	   { "park", verb_park },	{ "unpark", verb_unpark },
	{ "kick", verb_kick },	   { "ping", verb_ping },
};

static void run_verb(struct answer *answer)
{
	const char *name = json_string_value(json_object_get(answer->request, "verb"));

	for (size_t i = 0; name && i < SLU_ARRAY_SIZE(verbs); i++) {
		if (!strcmp(verbs[i].name, name)) {
			verbs[i].run(answer);
			return;
		}
	}
	if (name)
		say_no(answer, ENOSYS, "Command and daemon may be of different versions.",
		       "the daemon does not know the verb '%.32s'", name);
	else
		say_no(answer, EINVAL, NULL, "expected a \"verb\"");
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

static int send_answer(struct slu_session *session, const struct answer *answer)
{
	slu_cleanup(slu_closep) int fd =
		memfd_create("sluice-answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct slu_message m = { .answer = { .status = answer->status } };
	struct stat st;

	if (fd < 0)
		return slu_error(-errno);
	if (json_dumpfd(answer->reply, fd, JSON_COMPACT | JSON_SORT_KEYS))
		return slu_error(-ENOMEM);
	if (fstat(fd, &st) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return slu_error(-errno);
	m.answer.size = (uint64_t)st.st_size;
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

static void parse_and_run(struct answer *answer, const char *text, size_t size)
{
	slu_cleanup(json_decrefp) json_t *request = NULL;
	json_error_t error;

	request = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	if (!request || !json_is_object(request)) {
		say_no(answer, EINVAL, NULL, "the request is not a JSON object: %s",
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
	struct answer answer = {
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
		say_no(&answer, r, NULL, "the request cannot be read: %s", strerror(r));
	else
		parse_and_run(&answer, text, ask->size);
	slu_charge_give(&charge);
	r = answer.reply ? send_answer(session, &answer) : slu_error(-ENOMEM);
	json_decref(answer.reply);
	return slu_fold(r);
}
