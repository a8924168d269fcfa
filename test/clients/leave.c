/* SPDX-License-Identifier: Apache-2.0 */

#include "leave.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

static const struct leave_calls *api;
static uint64_t mib = 1, n_rounds = 3;
static bool waits;
static uint32_t n_added;

static void set_up(bool is_given_up)
{
	n_added = 0;
	api->set_up(mib << 20, is_given_up);
}

static void queue(void)
{
	api->queue();
	n_added += LEAVE_LAUNCHES;
}

static void check(void)
{
	for (unsigned i = 0; i < LEAVE_BUFFERS; i++) {
		uint32_t n_words;
		const uint32_t *words = api->read(i, &n_words);

		for (uint32_t w = 0; w < n_words; w++)
			if (words[w] != w * n_added) {
				fprintf(stderr, "buffer %u, word %u: %08x instead of %08x\n", i, w,
					words[w], w * n_added);
				exit(CLIENT_EXIT_WRONG);
			}
	}
}

static void wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status)) {
		fprintf(stderr, "a child did not end as it should\n");
		exit(CLIENT_EXIT_WRONG);
	}
}

/* The driver is not the child's: it only ends, in both of the ways in which children do. */
static void fork_children(void)
{
	pid_t ends, becomes;

	queue();
	ends = fork();
	if (!ends)
		api->end_child(0);
	becomes = fork();
	if (!becomes) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	queue();
	wait_for(ends);
	wait_for(becomes);
	check();
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void wait_for_line(void)
{
	int c;

	puts("queued");
	fflush(stdout);
	do
		c = getchar();
	while (c != '\n' && c != EOF);
}

/* Becomes another program: one that waits for the end of standard input, or this one once more. */
static void become(const char *self, bool is_again)
{
	queue();
	check();
	wait_for_line();
	if (is_again)
		execl(self, self, "exit", (char *)NULL);
	else
		execl("/bin/cat", "cat", (char *)NULL);
	exit(CLIENT_EXIT_WRONG);
}

static void destroy(uint64_t round)
{
	uint64_t begin_ns;

	set_up(true);
	queue();
	if (round % 2)
		check();
	queue();
	if (waits)
		wait_for_line();
	begin_ns = now_ns();
	api->tear_down();
	if (waits)
		printf("%llu %llu\n", (unsigned long long)begin_ns, (unsigned long long)now_ns());
}

int leave_main(int argc, char **argv, const struct leave_calls *calls)
{
	const struct client_option options[] = {
		CLIENT_NUMBER('m', "mib", mib, 1, 1 << 12),
		CLIENT_NUMBER('r', "rounds", n_rounds, 1, 1 << 20),
		CLIENT_FLAG('w', "wait", waits),
		{ 0 },
	};
	const char *how = client_options(argc, argv, options, calls->usage);

	api = calls;
	if (!how)
		client_misused(calls->usage);
	if (!strcmp(how, "destroy")) {
		for (uint64_t r = 0; r < n_rounds; r++)
			destroy(r);
		return CLIENT_EXIT_RIGHT;
	}
	if (strcmp(how, "fork") && strcmp(how, "quit") && strcmp(how, "exit") &&
	    strcmp(how, "exec") && strcmp(how, "exec-again"))
		client_misused(calls->usage);
	set_up(false);
	if (!strncmp(how, "exec", 4))
		become(argv[0], strcmp(how, "exec"));
	for (uint64_t r = 0; r < n_rounds; r++) {
		if (!strcmp(how, "fork"))
			fork_children();
		else
			queue();
	}
	if (!strcmp(how, "quit"))
		_exit(CLIENT_EXIT_RIGHT);
	return CLIENT_EXIT_RIGHT;
}
