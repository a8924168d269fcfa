/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <string.h>

#include "base/util.h"
#include "cli/doctor.h"
#include "cli/terminal.h"
#include "cli/probe.h"

#define INDENT	   16 /* the column where findings begin */
#define PATIENCE_S 20 /* a driver that has not answered by then hangs */

static const char *const words[] = {
	[SLU_VERDICT_FINE] = "ok",
	[SLU_VERDICT_DEVICE] = "ok",
	[SLU_VERDICT_NOTE] = "note",
	[SLU_VERDICT_BAD] = "BAD",
};

/* Tabs separate the fields of a line to the parent. */
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

/* A trial in a child, for both sides of it. */
struct look {
	struct slu_doctor *doctor;
	const char *what;
	void (*run)(struct slu_doctor *d, const char *what);
};

static void look_run(void *data, FILE *parent)
{
	struct look *l = data;

	l->doctor->parent = parent;
	l->run(l->doctor, l->what);
}

static void look_take(void *data, char *line)
{
	struct look *l = data;
	char *fields[4] = { 0 };

	for (size_t i = 0; i < SLU_ARRAY_SIZE(fields); i++)
		fields[i] = strsep(&line, "\t");
	if (!fields[3])
		return;
	slu_doctor_say(l->doctor, (enum slu_verdict)(fields[0][0] - '0'), fields[1],
		       fields[3][0] ? fields[3] : NULL, "%s", fields[2]);
}

void slu_doctor_try(struct slu_doctor *d, const char *about, const char *what,
		    void (*look)(struct slu_doctor *d, const char *what))
{
	struct look l = { d, what, look };
	const struct slu_probe probe = { PATIENCE_S, look_run, look_take, &l };
	int signal = 0, r = slu_probe_run(&probe, &signal);

	if (r < 0)
		slu_doctor_say(d, SLU_VERDICT_BAD, about, NULL, "%s: %s", what, strerror(-r));
	else if (r == SLU_PROBE_E_HANGS)
		slu_doctor_say(d, SLU_VERDICT_BAD, about,
			       "Programs that use it will hang as well: repair the driver first.",
			       "%s has not answered for %d s", what, PATIENCE_S);
	else if (r == SLU_PROBE_E_CRASHED && signal)
		slu_doctor_say(d, SLU_VERDICT_BAD, about,
			       "Programs that use it will crash as well: repair the driver first.",
			       "%s crashed when it was asked for its devices (%s)", what,
			       strsignal(signal));
}
