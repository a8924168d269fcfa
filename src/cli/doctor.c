/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/doctor.h"
#include "cli/terminal.h"

#define INDENT	   16 /* where what was found begins */
#define PATIENCE_S 20 /* a driver that has not answered by then hangs */

static const char *const words[] = {
	[SLU_VERDICT_FINE] = "ok",
	[SLU_VERDICT_DEVICE] = "ok",
	[SLU_VERDICT_NOTE] = "note",
	[SLU_VERDICT_BAD] = "BAD",
};

/* Tabs part the fields of a line to the parent. */
static void clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ')
			*text = ' ';
}

static void print_wrapped(const char *text)
{
	size_t inner = INDENT + strspn(text, " ");

	slu_terminal_wrap(stdout, text, slu_sub_floor(slu_terminal_width(), INDENT), inner);
	putchar('\n');
}

void slu_doctor_say(struct slu_doctor *d, enum slu_verdict verdict, const char *about,
		    const char *then, const char *format, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	clean(line);
	if (d->parent) {
		fprintf(d->parent, "%d\t%s\t%s\t%s\n", (int)verdict, about, line, then ? then : "");
		return;
	}
	d->n_bad += verdict == SLU_VERDICT_BAD;
	d->n_devices += verdict == SLU_VERDICT_DEVICE;
	if (d->where.is_json) {
		json_array_append_new(d->findings,
				      json_pack("{s:s, s:s, s:s, s:s*}", "about", about, "verdict",
						words[verdict], "found", line, "do", then));
		return;
	}
	if (verdict == SLU_VERDICT_BAD && slu_terminal_has_colour())
		printf("\033[31m%-5s\033[0m %-9s ", words[verdict], about);
	else
		printf("%-5s %-9s ", words[verdict], about);
	print_wrapped(line);
	if (then) {
		printf("%*s", INDENT, "");
		print_wrapped(then);
	}
}

static void take_line(struct slu_doctor *d, char *line)
{
	char *fields[4] = { 0 };

	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < SLU_ARRAY_SIZE(fields); i++)
		fields[i] = strsep(&line, "\t");
	if (!fields[3])
		return;
	slu_doctor_say(d, (enum slu_verdict)(fields[0][0] - '0'), fields[1],
		       fields[3][0] ? fields[3] : NULL, "%s", fields[2]);
}

static void run_child(struct slu_doctor *d, int out, const char *what,
		      void (*look)(struct slu_doctor *d, const char *what))
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	/* drivers talk: only what we write counts */
	d->parent = fdopen(out, "w");
	if (!d->parent || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
		_exit(1);
	alarm(PATIENCE_S);
	look(d, what);
	fflush(d->parent);
	/* without the drivers' farewells: some of them do not survive being unloaded */
	_exit(0);
}

void slu_doctor_try(struct slu_doctor *d, const char *about, const char *what,
		    void (*look)(struct slu_doctor *d, const char *what))
{
	int ends[2], status = 0;
	char *line = NULL;
	size_t size = 0;
	FILE *in;
	pid_t child;

	fflush(stdout);
	if (pipe2(ends, O_CLOEXEC)) {
		slu_doctor_say(d, SLU_VERDICT_BAD, about, NULL, "%s: %s", what, strerror(errno));
		return;
	}
	child = fork();
	if (!child)
		run_child(d, ends[1], what, look);
	close(ends[1]);
	in = fdopen(ends[0], "r");
	while (child > 0 && in && getline(&line, &size, in) > 0)
		take_line(d, line);
	free(line);
	if (in)
		fclose(in);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child < 0)
		slu_doctor_say(d, SLU_VERDICT_BAD, about, NULL, "%s: %s", what, strerror(errno));
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		slu_doctor_say(d, SLU_VERDICT_BAD, about,
			       "Programs that use it will hang as well: repair the driver first.",
			       "%s has not answered for %d s", what, PATIENCE_S);
	else if (WIFSIGNALED(status))
		slu_doctor_say(d, SLU_VERDICT_BAD, about,
			       "Programs that use it will crash as well: repair the driver first.",
			       "%s crashed when it was asked for its devices (%s)", what,
			       strsignal(WTERMSIG(status)));
}
