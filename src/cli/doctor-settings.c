/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings, as the daemon would read them: the daemon prints them and ends, and each line that
 * it complains of is a finding.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/doctor.h"

/* A fault in a line has its number; the others are about the file as a whole. */
static const char *advice(const char *said)
{
	if (strstr(said, strerror(EACCES)))
		return "Let whoever starts the daemon read it: 'ls -l' shows whose it is.";
	if (said[strcspn(said, ":")] && isdigit((unsigned char)said[strcspn(said, ":") + 1]))
		return "Mend that line (sluiced.conf(5)): a new daemon does not start with it.";
	return "Mend that (sluiced.conf(5)).";
}

/* In a child: what @daemon reports about its settings. */
static void look(struct slu_doctor *d, const char *daemon)
{
	slu_cleanup(slu_freep) char *line = NULL;
	int ends[2], status = 0;
	size_t size = 0;
	pid_t child;
	FILE *in;

	if (pipe(ends) || (child = fork()) < 0)
		return;
	if (!child) {
		dup2(ends[1], STDERR_FILENO);
		closefrom(STDERR_FILENO + 1);
		execl(daemon, daemon, d->where.is_system ? "--system" : "--user",
		      "--print-settings", (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	in = fdopen(ends[0], "r");
	while (in && getline(&line, &size, in) > 0) {
		const char *said = !strncmp(line, "sluiced: ", 9) ? line + 9 : line;

		line[strcspn(line, "\n")] = '\0';
		slu_doctor_say(d, SLU_VERDICT_BAD, "settings", advice(said), "%s", said);
	}
	if (waitpid(child, &status, 0) == child && !status)
		slu_doctor_say(d, SLU_VERDICT_FINE, "settings", NULL,
			       "'%s %s--print-settings' shows them", daemon,
			       d->where.is_system ? "--system " : "");
}

void slu_doctor_settings(struct slu_doctor *d)
{
	if (d->install.daemon[0])
		slu_doctor_try(d, "settings", d->install.daemon, look);
}
