/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/ask.h"
#include "cli/attach.h"
#include "cli/cli.h"
#include "cli/install.h"
#include "cli/reply.h"
#include "cli/watch.h"

#define FIRST_LOOK_MS 250
#define LAST_LOOK_MS  8000
#define FAMILY_MAX    256
/* records of each kind that we read from the daemon's history */
#define RECORDS_LOOKED_AT 256
/* a program that only looks for drivers soon stops: blame one that stays in this state */
#define LOOKS_TO_BLAME 4
/* a client that gave up may still find a daemon that starts a moment later */
#define LOOKS_ALONE 2

struct watcher {
	const struct slu_watch *watch;
	struct slu_install install;
	pid_t program;
	int pidfd;
	pid_t blamed; /* uses a GPU without us, for this many looks */
	unsigned n_blamed;
	bool is_alone;		 /* the blamed process did not reach the daemon */
	bool has_seen_helper;	 /* a process used a device through us, or tried to */
	bool has_told;		 /* told: it shares the GPU */
	bool has_told_refusal;	 /* told: the daemon refused it */
	bool is_answered;	 /* it shares, or the person was told why not */
	pid_t ended[FAMILY_MAX]; /* told and ended, because they must join */
	size_t n_ended;
};

/*
 * Whether the daemon's pids are ours too: in another pid namespace they belong to other processes.
 * They are if the daemon has the pid that it reports, or if the process with that pid has its name:
 * the peer of systemd's socket is systemd.
 */
static bool knows_pids(const struct slu_cli_peer *peer, const json_t *reply)
{
	int pid = (int)json_integer_value(json_object_get(json_object_get(reply, "daemon"), "pid"));
	char name[32];

	if (pid <= 0 || pid == peer->pid)
		return pid > 0;
	slu_attach_name(pid, name, sizeof(name));
	return !strcmp(name, "sluiced");
}

static bool is_ended(const struct watcher *w, pid_t pid)
{
	for (size_t i = 0; i < w->n_ended; i++)
		if (w->ended[i] == pid)
			return true;
	return false;
}

/*
 * @pid is the daemon's number of the process, and ours if @pid_is_known; otherwise the whole
 * program is ended.
 */
static void end(struct watcher *w, pid_t pid, bool pid_is_known)
{
	long r = pid_is_known ? kill(pid, SIGTERM)
			      : syscall(SYS_pidfd_send_signal, w->pidfd, SIGTERM, NULL, 0);

	if (w->n_ended < SLU_ARRAY_SIZE(w->ended))
		w->ended[w->n_ended++] = pid;
	if (r)
		fprintf(stderr, "It cannot be ended, though --require asks for that: %s.\n",
			strerror(errno));
	else
		fputs("It is ended, as --require asks for.\n", stderr);
}

static void tell_refusal(struct watcher *w, pid_t pid, bool pid_is_known, const char *reason)
{
	slu_cli_complain(
		w->watch->must_join
			? NULL
			: "It runs as if there were no Sluice; others see it as an outsider.",
		"the daemon refused '%s' (pid %d): %s", w->watch->name, (int)pid, reason);
	w->has_told_refusal = true;
	if (w->watch->must_join)
		end(w, pid, pid_is_known);
}

/* Return: whether no further look is needed. */
static bool look_at_daemon(struct watcher *w, const pid_t *family, size_t n)
{
	const struct slu_cli_where where = { .socket = w->watch->socket };
	struct slu_cli_peer peer;
	json_t *reply, *program;
	bool is_done = false, pids_are_known;
	size_t i;

	if (slu_cli_try(&where, json_pack("{s:s}", "verb", "status"), &peer, &reply))
		return false;
	pids_are_known = knows_pids(&peer, reply);
	json_array_foreach (json_object_get(reply, "programs"), i, program) {
		pid_t pid = (pid_t)json_integer_value(json_object_get(program, "pid"));
		bool is_ours = !strcmp(slu_reply_text(program, "group"), w->watch->group);

		for (size_t k = 0; pids_are_known && k < n && !is_ours; k++)
			is_ours = family[k] == pid;
		if (!is_ours || is_done || is_ended(w, pid))
			continue;
		if (!strcmp(slu_reply_text(program, "connection"), "refused")) {
			tell_refusal(w, pid, pids_are_known, slu_reply_text(program, "reason"));
			is_done = !w->watch->must_join;
			continue;
		}
		if (w->watch->is_verbose && !w->has_told)
			fprintf(stderr, "sluice: '%s' (pid %d) shares the GPU as '%s'.\n",
				w->watch->name, (int)pid, slu_reply_text(program, "name"));
		w->has_told = true;
		/* if it must join, all its children must, whenever they start */
		is_done = !w->watch->must_join;
	}
	json_decref(reply);
	return is_done;
}

static bool is_of_this_run(const struct watcher *w, const json_t *record)
{
	return !strcmp(slu_reply_text(record, "group"), w->watch->group) ||
	       json_integer_value(json_object_get(record, "pid")) == w->program;
}

/* The last join of this run, by the process @pid unless that is 0; or NULL. */
static const json_t *find_join(const struct watcher *w, const json_t *history, json_int_t pid)
{
	const json_t *join, *found = NULL;
	size_t i;

	json_array_foreach (json_object_get(history, "joins"), i, join)
		if (is_of_this_run(w, join) &&
		    (!pid || json_integer_value(json_object_get(join, "pid")) == pid))
			found = join;
	return found;
}

/* A process too short-lived to be seen: the daemon remembers. Return: whether it had joined. */
static bool tell_join(const struct watcher *w, const json_t *history)
{
	const json_t *found = find_join(w, history, 0);

	if (found)
		fprintf(stderr, "sluice: '%s' (pid %d) shared the GPU as '%s' and has ended.\n",
			w->watch->name, (int)json_integer_value(json_object_get(found, "pid")),
			slu_reply_text(found, "name"));
	return found;
}

/*
 * A process too short-lived to be seen; there is nothing left to end.
 *
 * Return: whether the daemon had refused it.
 */
static bool tell_late_refusal(const struct watcher *w, const json_t *history)
{
	const json_t *refusal, *found = NULL;
	size_t i;

	json_array_foreach (json_object_get(history, "refusals"), i, refusal)
		if (is_of_this_run(w, refusal))
			found = refusal;
	if (found && !w->has_told_refusal)
		slu_cli_complain("It ran as if there were no Sluice.",
				 "the daemon refused '%s' (pid %d): %s", w->watch->name,
				 (int)json_integer_value(json_object_get(found, "pid")),
				 slu_reply_text(found, "reason"));
	return found;
}

/*
 * A program reports "out of memory" as if the device had refused. Only the program knows whether it
 * ended because of that; we print the last reason, once.
 */
static void tell_denial(const struct watcher *w, const json_t *history)
{
	const json_t *denial, *last = NULL;
	char often[64] = "";
	unsigned n = 0;
	size_t i;

	json_array_foreach (json_object_get(history, "denials"), i, denial) {
		/* a process that was split from its run has another group by now */
		if (!is_of_this_run(w, denial) &&
		    !find_join(w, history, json_integer_value(json_object_get(denial, "pid"))))
			continue;
		last = denial;
		n++;
	}
	if (!last)
		return;
	if (n > 1)
		snprintf(often, sizeof(often), " (%u times, see 'sluice history')", n);
	slu_cli_complain(*slu_reply_text(last, "hint") ? slu_reply_text(last, "hint") : NULL,
			 "'%s' (pid %d) was denied %s%s: %s.", slu_reply_text(last, "name"),
			 (int)json_integer_value(json_object_get(last, "pid")),
			 strcmp(slu_reply_text(last, "what"), "export")
				 ? "GPU memory"
				 : "the export of GPU memory",
			 often, slu_reply_text(last, "reason"));
}

static void tell_blame(const struct watcher *w, struct slu_attach_view *view)
{
	if (!w->is_alone) {
		slu_cli_complain(view->then, "'%s' (pid %d) uses %s without Sluice: %s.",
				 view->name, (int)w->blamed, view->api, view->why);
		return;
	}
	slu_attach_explain_alone(w->blamed, w->watch->socket, view);
	slu_cli_complain(view->then,
			 "'%s' (pid %d) has Sluice's library but did not reach the daemon at %s: "
			 "%s.",
			 view->name, (int)w->blamed, w->watch->socket, view->why);
}

static bool look_at_family(struct watcher *w, const pid_t *family, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct slu_attach_view view;
		bool is_alone;

		slu_attach_look(family[i], &w->install, &view);
		is_alone = view.state == SLU_ATTACH_ALONE;
		w->has_seen_helper |= view.has_helper;
		if ((view.state != SLU_ATTACH_BESIDE && !is_alone) || is_ended(w, family[i]))
			continue;
		w->n_blamed =
			w->blamed == family[i] && w->is_alone == is_alone ? w->n_blamed + 1 : 1;
		w->blamed = family[i];
		w->is_alone = is_alone;
		if (w->n_blamed < (is_alone ? LOOKS_ALONE : LOOKS_TO_BLAME))
			return false;
		tell_blame(w, &view);
		if (!w->watch->must_join)
			return true;
		end(w, family[i], true);
		w->n_blamed = 0;
	}
	return false;
}

static void look_until_end(struct watcher *w)
{
	struct pollfd end = { .fd = w->pidfd, .events = POLLIN };
	int span_ms = FIRST_LOOK_MS;
	pid_t family[FAMILY_MAX];

	while (poll(&end, 1, w->is_answered ? -1 : span_ms) == 0) {
		size_t n = slu_attach_family(w->program, family, SLU_ARRAY_SIZE(family));

		w->is_answered =
			look_at_daemon(w, family, n) ||
			((!w->has_told || w->watch->must_join) && look_at_family(w, family, n));
		if (w->n_blamed == 0)
			span_ms = SLU_MIN(span_ms * 2, LAST_LOOK_MS);
	}
}

static void tell_absence(const struct watcher *w)
{
	if (w->has_seen_helper)
		fprintf(stderr, "sluice: '%s' has ended and did not reach the daemon at %s.\n",
			w->watch->name, w->watch->socket);
	else
		fprintf(stderr, "sluice: '%s' has ended and was not seen to use a GPU.\n",
			w->watch->name);
}

/* The program has ended: the daemon's history has what a person should know. */
static void look_back(const struct watcher *w)
{
	const struct slu_cli_where where = { .socket = w->watch->socket };
	bool asks = w->watch->is_verbose && !w->is_answered && !w->has_told && !w->n_ended;
	struct slu_cli_peer peer;
	json_t *reply = NULL;
	int r = slu_cli_try(&where,
			    json_pack("{s:s, s:i}", "verb", "history", "last", RECORDS_LOOKED_AT),
			    &peer, &reply);

	if (!r)
		tell_denial(w, reply);
	if ((r || !tell_late_refusal(w, reply)) && asks && (r || !tell_join(w, reply)))
		tell_absence(w);
	json_decref(reply);
}

/* Closes all files of the program except its stderr. */
static void leave_the_program(int pidfd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	/* the range has no end: numbers that are not open are no error */
	if (pidfd > STDERR_FILENO + 1)
		(void)syscall(SYS_close_range, STDERR_FILENO + 1, pidfd - 1, 0);
	(void)syscall(SYS_close_range, pidfd + 1, ~0U, 0);
	if (chdir("/"))
		errno = 0;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_NAME, "sluice-watch");
}

void slu_watch_start(const struct slu_watch *watch)
{
	struct watcher w = { .watch = watch, .program = getpid() };
	pid_t child;

	w.pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (w.pidfd < 0)
		return;
	slu_install_find(&w.install);
	child = fork();
	if (!child) {
		setsid();
		/*
		 * before its parent ends: files that the program's caller waits for must not stay
		 * open
		 */
		leave_the_program(w.pidfd);
		/*
		 * its parent ends at once, so that the program does not find a child that it never
		 * made
		 */
		if (!fork()) {
			look_until_end(&w);
			look_back(&w);
		}
		_exit(0);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	close(w.pidfd);
}
