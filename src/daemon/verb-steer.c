/* SPDX-License-Identifier: Apache-2.0 */
/* A part of answer.h: the verbs that control programs: park, unpark, kick. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "daemon/answer.h"
#include "daemon/group.h"
#include "daemon/process.h"
#include "daemon/program.h"
#include "daemon/server.h"
#include "daemon/session.h"
#include "daemon/text.h"

#define PIDS_MAX 16 /* that an answer names */

static bool is_called(const char *name, pid_t pid, const char *who)
{
	unsigned long long number;
	char *end;

	if (!strcmp(name, who))
		return true;
	number = strtoull(who, &end, 10);
	return who[0] && !*end && number == (unsigned long long)pid;
}

static bool is_meant(const struct slu_program *program, const char *who)
{
	unsigned long long number;
	char *end;

	if (is_called(program->name, program->pid, who))
		return true;
	number = strtoull(who, &end, 16);
	return strlen(who) == 16 && !*end && number &&
	       (number == program->group->id || number == program->group->wire);
}

/*
 * What a verb does. The programs are listed first and changed afterwards: parking one parks the
 * others of its run, and these were not parked before.
 */
struct steering {
	const char *done;   /* "Parked" */
	const char *same;   /* of a program that does not change: "was parked already" */
	const char *nobody; /* of all of them if none does: "No program was left to park." */
	bool (*is_needed)(const struct slu_program *program);
	int (*act)(struct slu_server *server, struct slu_program *program);
	int (*act_refused)(struct slu_session *session); /* NULL: not possible */
	bool is_lasting;  /* it cannot be undone: not of several programs unless all are meant */
	bool brings_back; /* the answer lists programs that the driver suspended */
};

static void list_program(json_t *list, const char *name, pid_t pid)
{
	json_array_append_new(list, json_pack("{s:s, s:i}", "name", name, "pid", (int)pid));
}

static void steer_complain(struct slu_answer *answer, const char *name, pid_t pid, int error)
{
	slu_answer_no(answer, error, NULL, "%s (pid %d): %s", name, (int)pid, strerror(error));
}

/*
 * Whether the asking user could send the process a signal: a process that has executed a set-uid
 * program, or has other rights in reserve, does not count as theirs, whoever connected.
 */
static bool may_steer(const struct slu_answer *answer, uid_t uid, pid_t pid)
{
	return answer->view.is_master || (answer->view.uid == uid && slu_process_obeys(pid, uid));
}

bool slu_verb_means(const struct slu_answer *answer, const struct slu_program *program,
		    const char *who)
{
	return (!who || is_meant(program, who)) && may_steer(answer, program->uid, program->pid);
}

static bool is_refused(const struct slu_answer *answer, const struct slu_session *session,
		       const char *who)
{
	return session->state == SLU_SESSION_OUTSIDE && who &&
	       is_called(session->name, session->pid, who) &&
	       may_steer(answer, session->uid, session->pid);
}

/* Return: how many programs match; @changes gets those that the verb changes. */
static unsigned list_meant(const struct slu_answer *answer, const struct steering *verb,
			   const char *who, json_t *changes, json_t *others)
{
	const struct slu_program *program;
	unsigned n = 0;

	LIST_FOREACH (program, &answer->view.server->programs, entry) {
		if (!slu_verb_means(answer, program, who))
			continue;
		list_program(verb->is_needed(program) ? changes : others, program->name,
			     program->pid);
		n++;
	}
	return n;
}

static void act_on_meant(struct slu_answer *answer, const struct steering *verb, const char *who)
{
	struct slu_program *program;
	int r;

	LIST_FOREACH (program, &answer->view.server->programs, entry) {
		r = slu_verb_means(answer, program, who) ? verb->act(answer->view.server, program)
							 : 0;
		if (r < 0) {
			steer_complain(answer, program->name, program->pid, -r);
			return;
		}
	}
}

/* Programs that run without us can only be ended. Return: how many match. */
static unsigned act_on_refused(struct slu_answer *answer, const struct steering *verb,
			       const char *who, json_t *changes, json_t *others)
{
	struct slu_session *session;
	unsigned n = 0;
	int r;

	LIST_FOREACH (session, &answer->view.server->sessions, entry) {
		if (!is_refused(answer, session, who) || answer->status)
			continue;
		n++;
		if (session->is_kicked) {
			list_program(others, session->name, session->pid);
			continue;
		}
		r = verb->act_refused ? verb->act_refused(session) : 0;
		if (!verb->act_refused)
			slu_answer_no(answer, EOPNOTSUPP,
				      "'sluice kick' ends it; to let it share, start it again.",
				      "%s (pid %d) runs without Sluice: %s", session->name,
				      (int)session->pid, session->why);
		else if (r)
			steer_complain(answer, session->name, session->pid, -r);
		else
			list_program(changes, session->name, session->pid);
	}
	return n;
}

static void say_unknown(struct slu_answer *answer, const char *who)
{
	struct slu_suggest suggest = { .word = who };
	char hint[SLU_WIRE_NAME_MAX + 80];
	const struct slu_program *program;

	LIST_FOREACH (program, &answer->view.server->programs, entry)
		if (slu_control_may_see(&answer->view, program->uid))
			slu_suggest_offer(&suggest, program->name);
	snprintf(hint, sizeof(hint), "%s%s%s'sluice status' lists your programs.",
		 suggest.best ? "Did you mean '" : "", suggest.best ? suggest.best : "",
		 suggest.best ? "'? " : "");
	slu_answer_no(answer, ENOENT, hint,
		      "no program of yours is called '%.64s', nor has that pid", who);
}

static bool is_group(const char *who)
{
	char *end;

	return strlen(who) == 16 && strtoull(who, &end, 16) && !*end;
}

static void pid_add(char *list, size_t size, unsigned n, pid_t pid)
{
	size_t used = strlen(list);

	if (n < PIDS_MAX)
		snprintf(list + used, size - used, "%s%d", n ? ", " : "", (int)pid);
	else if (n == PIDS_MAX)
		snprintf(list + used, size - used, ", …");
}

/* Whether @who is the name of several programs; then the answer says which. */
static bool is_ambiguous(struct slu_answer *answer, const struct steering *verb, const char *who)
{
	const struct slu_program *program;
	const struct slu_session *session;
	char pids[PIDS_MAX * 12 + 8] = "";
	unsigned n = 0;

	LIST_FOREACH (program, &answer->view.server->programs, entry)
		if (slu_verb_means(answer, program, who) && verb->is_needed(program))
			pid_add(pids, sizeof(pids), n++, program->pid);
	LIST_FOREACH (session, &answer->view.server->sessions, entry)
		if (is_refused(answer, session, who) && !session->is_kicked)
			pid_add(pids, sizeof(pids), n++, session->pid);
	if (n > 1)
		slu_answer_no(answer, EEXIST, "Give one of the pids, or --all to mean all of them.",
			      "%u programs are called '%s': pid %s", n, who, pids);
	return n > 1;
}

/* "Parked chat.py (pid 12)., "chat.py (pid 12) was parked already.", "Parked 3 programs." */
static void say_done(struct slu_answer *answer, const struct steering *verb, const json_t *changes,
		     const json_t *others)
{
	size_t n = json_array_size(changes);
	const json_t *first = json_array_get(n ? changes : others, 0);
	const char *name = json_string_value(json_object_get(first, "name"));
	int pid = (int)json_integer_value(json_object_get(first, "pid"));
	char words[SLU_ANSWER_WORDS_MAX];

	if (n == 1)
		snprintf(words, sizeof(words), "%s %s (pid %d).", verb->done, name, pid);
	else if (!n && json_array_size(others) == 1)
		snprintf(words, sizeof(words), "%s (pid %d) %s.", name, pid, verb->same);
	else if (!n)
		snprintf(words, sizeof(words), "%s", verb->nobody);
	else
		snprintf(words, sizeof(words), "%s %zu programs.", verb->done, n);
	slu_answer_say(answer, words);
}

static void programs_steer(struct slu_answer *answer, const struct steering *verb)
{
	const char *said = json_string_value(json_object_get(answer->request, "program"));
	/* longer than any name, so that a cut word matches no name */
	char word[SLU_WIRE_NAME_MAX + 8], *who = said ? word : NULL;
	bool is_all = json_is_true(json_object_get(answer->request, "all"));
	json_t *changes, *others;
	unsigned n;

	if (!who && !is_all) {
		slu_answer_no(answer, EINVAL, NULL,
			      "expected \"program\" (a name, a pid or a group) or \"all\"");
		return;
	}
	/* names are stored in this form, also those with control characters */
	slu_utf8_copy(word, sizeof(word), said ? said : "");
	slu_text_clean(word);
	if (verb->is_lasting && who && !is_all && !is_group(who) && is_ambiguous(answer, verb, who))
		return;
	changes = json_array();
	others = json_array();
	n = list_meant(answer, verb, who, changes, others);
	act_on_meant(answer, verb, who);
	/*
	 * if both have the name, the verb applies to joined programs and the others stay as they
	 * are
	 */
	if (!answer->status && (!n || verb->act_refused))
		n += act_on_refused(answer, verb, who, changes, others);
	if (!n && who)
		say_unknown(answer, who);
	if (!answer->status) {
		say_done(answer, verb, changes, others);
		json_object_set(answer->reply, "programs", changes);
		if (verb->brings_back)
			slu_verb_list_suspended(answer, who);
	}
	json_decref(changes);
	json_decref(others);
}

/* One that the driver suspended comes back by other requests: see verb-suspend.c. */
static bool is_parked(const struct slu_program *program)
{
	return program->group->is_parked && !program->suspension;
}

static bool is_not_parked(const struct slu_program *program)
{
	return !program->group->is_parked;
}

static int set_parked(struct slu_server *server, struct slu_program *program, bool parked)
{
	int r = slu_group_park(server, program->group, parked);

	slu_server_wake(server);
	return r < 0 ? slu_fold(r) : 0;
}

static int program_park(struct slu_server *server, struct slu_program *program)
{
	return slu_fold(set_parked(server, program, true));
}

static int program_unpark(struct slu_server *server, struct slu_program *program)
{
	return program->suspension ? 0 : slu_fold(set_parked(server, program, false));
}

static int kick_process(int pidfd, const char *name, pid_t pid)
{
	if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) < 0)
		return slu_error(-errno);
	slu_log(NOTICE, "kicked program=%s pid=%d", name, (int)pid);
	return 0;
}

/* The kernel takes a while to end a process with much memory: until then it is listed. */
static bool is_not_kicked(const struct slu_program *program)
{
	return !program->is_kicked;
}

static int program_kick(struct slu_server *server, struct slu_program *program)
{
	int r = kick_process(program->pidfd, program->name, program->pid);

	(void)server;
	program->is_kicked |= !r;
	return slu_fold(r);
}

static int kick_refused(struct slu_session *session)
{
	slu_cleanup(slu_closep) int pidfd =
		slu_process_open_peer(slu_channel_fd(session->channel), session->pid);
	int r;

	if (pidfd < 0)
		return slu_fold(pidfd);
	r = kick_process(pidfd, session->name, session->pid);
	session->is_kicked = !r;
	return slu_fold(r);
}

void slu_verb_park(struct slu_answer *answer)
{
	static const struct steering verb = { "Parked",
					      "was parked already",
					      "No program was left to park.",
					      is_not_parked,
					      program_park,
					      NULL,
					      false,
					      false };

	programs_steer(answer, &verb);
}

void slu_verb_unpark(struct slu_answer *answer)
{
	static const struct steering verb = { "Unparked",
					      "was not parked",
					      "No program was parked.",
					      is_parked,
					      program_unpark,
					      NULL,
					      false,
					      true };

	programs_steer(answer, &verb);
}

void slu_verb_kick(struct slu_answer *answer)
{
	static const struct steering verb = { "Ended",
					      "was ended already",
					      "There was no program to end.",
					      is_not_kicked,
					      program_kick,
					      kick_refused,
					      true,
					      false };

	programs_steer(answer, &verb);
}
