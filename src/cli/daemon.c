/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/daemon.h"
#include "cli/install.h"

#define PINGS_MAX   6
#define RETURNS_MAX 30
#define RETURN_NS   (100 * (long)SLU_NS_PER_MS)

/*
 * Starts the daemon in a session of its own, so that the terminal's signals do not reach it. It
 * reports on the inherited pipe: closed without a message means that it serves.
 *
 * Return: 0, or -errno; @said has what it wrote on stderr.
 */
static int start(const char *path, const char *socket, char *said, size_t size)
{
	int ends[2], status;
	size_t n = 0;
	cpu_set_t all;
	pid_t child;

	memset(&all, 0xff, sizeof(all));
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	child = fork();
	if (child < 0) {
		int r = -errno;

		close(ends[0]);
		close(ends[1]);
		return r;
	}
	if (!child) {
		int null = open("/dev/null", O_RDWR);

		setsid();
		/* its log goes to us until it serves: --daemonize closes stderr then */
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		/*
		 * no files of the first program's caller: pipes, locks and folders are not the
		 * daemon's
		 */
		closefrom(STDERR_FILENO + 1);
		sched_setaffinity(0, sizeof(all), &all);
		execl(path, path, "--user", "--daemonize", "--socket", socket, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	while (n + 1 < size) {
		ssize_t got = read(ends[0], said + n, size - 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	said[n] = '\0';
	close(ends[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ECHILD;
}

/* There is no daemon, or it has just ended. */
static bool is_gone(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED || r == -ECONNRESET || r == -EPIPE;
}

/* A daemon that ended during the request may be back in a moment, if a supervisor restarts it. */
static int await_return(const struct slu_cli_where *where, struct slu_cli_peer *ret_peer)
{
	const struct timespec pause = { .tv_nsec = RETURN_NS };
	int r = -ECONNRESET;

	for (unsigned i = 0; i < RETURNS_MAX && is_gone(r); i++) {
		nanosleep(&pause, NULL);
		r = slu_cli_ping(where, ret_peer);
	}
	return r;
}

/* A daemon that is not stopped gets as much time as the library in the program would give it. */
static int ping_patiently(const struct slu_cli_where *where, struct slu_cli_peer *ret_peer)
{
	int r = slu_cli_ping(where, ret_peer);

	for (unsigned i = 1; i < PINGS_MAX && r == -ETIMEDOUT && !ret_peer->is_stopped; i++) {
		if (i == 1)
			fprintf(stderr, "sluice: waiting for the daemon at %s (pid %d) …\n",
				ret_peer->path, (int)ret_peer->pid);
		r = slu_cli_ping(where, ret_peer);
	}
	if ((r == -ECONNRESET || r == -EPIPE) && (where->is_system || where->socket))
		r = await_return(where, ret_peer);
	return r;
}

static int use(const struct slu_cli_peer *peer, char *ret_socket, size_t size)
{
	snprintf(ret_socket, size, "%s", peer->path);
	return 0;
}

/* @said: the message of the daemon, "sluiced: WHAT; ADVICE", or empty. */
static void complain(char *said, const char *otherwise)
{
	static const char *const name = "sluiced: ";
	char *what = said + (strncmp(said, name, strlen(name)) ? 0 : strlen(name)), *advice;

	what[strcspn(what, "\n")] = '\0';
	advice = strstr(what, "; ");
	if (advice) {
		*advice = '\0';
		advice += 2;
		*advice = (char)toupper((unsigned char)*advice);
	}
	slu_cli_complain(NULL, "the daemon did not start: %s.", *what ? what : otherwise);
	fprintf(stderr, "%s%s'sluice doctor' looks for the cause.\n", advice ? advice : "",
		advice ? ". " : "");
}

int slu_daemon_ensure(const struct slu_cli_where *where, char *ret_socket, size_t size)
{
	struct slu_install install;
	struct slu_cli_peer peer;
	char said[1024] = "";
	int started, r;

	r = ping_patiently(where, &peer);
	if (!r)
		return use(&peer, ret_socket, size);
	if (where->is_system || where->socket || !is_gone(r))
		return slu_cli_no_daemon(where, &peer, r);
	slu_install_find(&install);
	if (!install.daemon[0]) {
		slu_cli_complain("Reinstall Sluice.",
				 "the daemon 'sluiced' is not beside this command.");
		return SLU_CLI_FAILED;
	}
	started = start(install.daemon, peer.path, said, sizeof(said));
	/* with two `sluice run` at once the other's daemon may have won, and serves both */
	r = slu_cli_ping(where, &peer);
	if (!r)
		return use(&peer, ret_socket, size);
	complain(said, strerror(started ? -started : -r));
	return SLU_CLI_NO_DAEMON;
}
