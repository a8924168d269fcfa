/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void child_run(const struct slu_probe *probe, int out)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	FILE *parent = fdopen(out, "w");

	if (!parent || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
		_exit(1);
	alarm(probe->patience_s);
	probe->run(probe->data, parent);
	fflush(parent);
	/* without the drivers' destructors: some of them do not survive being unloaded */
	_exit(0);
}

static void lines_take(const struct slu_probe *probe, FILE *in)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, in) > 0) {
		line[strcspn(line, "\n")] = '\0';
		probe->take(probe->data, line);
	}
	free(line);
}

int slu_probe_run(const struct slu_probe *probe, int *ret_signal)
{
	int ends[2], status = 0;
	pid_t child;
	FILE *in;

	fflush(stdout);
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	child = fork();
	if (!child)
		child_run(probe, ends[1]);
	close(ends[1]);
	in = child > 0 ? fdopen(ends[0], "r") : NULL;
	if (!in) {
		int r = -errno;

		close(ends[0]);
		if (child > 0)
			waitpid(child, NULL, 0);
		return r;
	}
	lines_take(probe, in);
	fclose(in);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	*ret_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	if (*ret_signal == SIGALRM)
		return SLU_PROBE_E_HANGS;
	return status ? SLU_PROBE_E_CRASHED : 0;
}
