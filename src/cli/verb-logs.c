/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice logs`: the log of the daemon. A daemon that `sluice run` started keeps a file in its
 * state folder, which outlives it; one that systemd started logs to the journal. The daemon knows
 * where its log is; if none runs, the last one's file is where the next one's will be.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/reply.h"
#include "wire/path.h"

#define FOLLOW_MS 250

struct options {
	struct slu_cli_where where;
	bool follows;
	unsigned long n_lines; /* 0: all */
};

static const struct slu_cli_option option_table[] = {
	{ .name = "follow",
	  .key = 'f',
	  .doc = "go on with what is added until you press Ctrl-C",
	  .at = offsetof(struct options, follows) },
	{ .name = "lines",
	  .key = 'n',
	  .arg = "N",
	  .doc = "the last N lines alone",
	  .at = offsetof(struct options, n_lines),
	  .kind = SLU_CLI_COUNT },
	{ 0 },
};

/* Replaces this process. Return: the exit code after an error message. */
static int exec_journalctl(const struct options *o, const char *whose, const char *pid)
{
	const char *words[8] = { "journalctl", "--no-pager" };
	char n_lines[24];
	size_t n = 2;

	words[n++] = whose;
	if (pid)
		words[n++] = pid;
	if (o->follows)
		words[n++] = "--follow";
	if (o->n_lines) {
		snprintf(n_lines, sizeof(n_lines), "%lu", o->n_lines);
		words[n++] = "--lines";
		words[n++] = n_lines;
	}
	execvp(words[0], (char *const *)words);
	slu_cli_complain("The daemon writes into systemd's journal: read it with another tool.",
			 "cannot execute 'journalctl': %s.", strerror(errno));
	return SLU_CLI_FAILED;
}

/* Return: 0 with the path, or the exit code after an error message. */
static int find_file(const struct options *o, char ret_path[static PATH_MAX])
{
	char folder[PATH_MAX - sizeof(SLU_PATH_LOG_NAME) - 1];
	struct slu_cli_peer peer;
	json_t *reply = NULL;
	const json_t *daemon;
	int r;

	r = slu_cli_try(&o->where, json_pack("{s:s}", "verb", "status"), &peer, &reply);
	if (r < 0 && o->where.socket)
		return slu_cli_no_daemon(&o->where, &peer, r);
	daemon = json_object_get(reply, "daemon");
	snprintf(ret_path, PATH_MAX, "%s", slu_reply_text(daemon, "log"));
	if (!strcmp(ret_path, "journal")) {
		char pid[32];

		snprintf(pid, sizeof(pid), "_PID=%d", (int)slu_reply_number(daemon, "pid"));
		return exec_journalctl(o, pid, NULL);
	}
	if (!strcmp(ret_path, "stderr")) {
		slu_cli_complain("Look there; one that is started with --daemonize keeps a file.",
				 "the daemon (pid %d) writes its log to where it was started.",
				 (int)slu_reply_number(daemon, "pid"));
		json_decref(reply);
		return SLU_CLI_FAILED;
	}
	json_decref(reply);
	if (ret_path[0])
		return 0;
	r = slu_path_state(SLU_PATH_USER, false, folder, sizeof(folder));
	if (r) {
		slu_cli_complain(NULL, "the folder %s cannot be used: %s.", folder, strerror(-r));
		return SLU_CLI_FAILED;
	}
	snprintf(ret_path, PATH_MAX, "%s/" SLU_PATH_LOG_NAME, folder);
	return 0;
}

/* Prints the rest of @fd. Return: whether there was anything. */
static bool copy(int fd)
{
	char buf[4096];
	bool had = false;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		fwrite(buf, 1, (size_t)n, stdout);
		had = true;
	}
	fflush(stdout);
	return had;
}

/* Moves @fd to the start of its last lines. Return: how many of the wanted lines are missing. */
static unsigned long seek_lines(int fd, unsigned long n_lines)
{
	off_t at = lseek(fd, 0, SEEK_END);
	char c;

	/* the newline at the very end starts no line */
	for (at = at > 0 ? at - 1 : 0; at > 0; at--) {
		if (pread(fd, &c, 1, at - 1) != 1 || c != '\n')
			continue;
		if (!--n_lines)
			break;
	}
	lseek(fd, at, SEEK_SET);
	return at ? 0 : n_lines - 1;
}

static bool is_replaced(int fd, const char *path)
{
	struct stat ours, named;

	return fstat(fd, &ours) || stat(path, &named) || ours.st_ino != named.st_ino ||
	       ours.st_dev != named.st_dev;
}

static void follow(int fd, const char *path)
{
	do {
		bool is_old = is_replaced(fd, path);
		int next;

		/* lines added to the old file before it was renamed come first */
		copy(fd);
		next = is_old ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		if (next >= 0) {
			dup2(next, fd);
			close(next);
			copy(fd);
		}
	} while (!ferror(stdout) && poll(NULL, 0, FOLLOW_MS) == 0);
}

static int show(const struct options *o, const char *path)
{
	slu_cleanup(slu_closep) int fd = open(path, O_RDONLY | O_CLOEXEC), before = -1;
	char old[PATH_MAX + 2];
	unsigned long missing = 1;

	if (fd < 0) {
		slu_cli_complain("A daemon that 'sluice run' starts writes one.",
				 "there is no log at %s: %s.", path, strerror(errno));
		return SLU_CLI_FAILED;
	}
	if (o->n_lines)
		missing = seek_lines(fd, o->n_lines);
	snprintf(old, sizeof(old), "%s.1", path);
	before = missing ? open(old, O_RDONLY | O_CLOEXEC) : -1;
	if (before >= 0) {
		if (o->n_lines)
			seek_lines(before, missing);
		copy(before);
	}
	copy(fd);
	if (o->follows)
		follow(fd, path);
	return SLU_CLI_OK;
}

static int run(int argc, char **argv)
{
	struct options o = { 0 };
	char path[PATH_MAX];
	int r;

	slu_cli_parse(&slu_cli_logs, argc, argv, &o);
	if (o.where.is_system && !o.where.socket)
		return exec_journalctl(&o, "--unit", "sluiced");
	r = find_file(&o, path);
	return r ? r : show(&o, path);
}

const struct slu_cli_verb slu_cli_logs = {
	.options = option_table,
	.asks = SLU_CLI_ASKS_DAEMON,
	.doc = "Show what the daemon wrote into its log, also after its end.\v"
	       "How much it writes: 'sluice set log_level info'. Of a daemon that systemd started "
	       "this is what journalctl has.\n\n"
	       "For example: sluice logs --follow",
	.run = run,
};
