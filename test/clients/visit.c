/* SPDX-License-Identifier: Apache-2.0 */

#include "visit.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Waits for the time. Return: false if standard input has ended before. */
static bool wait_until(uint64_t ms)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	for (;;) {
		uint64_t now = now_ms();

		if (poll(&input, 1, now < ms ? (int)(ms - now) : 0) > 0)
			return false;
		if (now_ms() >= ms)
			return true;
	}
}

/* The next one that is not over yet. */
static uint64_t tick_after(uint64_t ms, uint64_t period_ms)
{
	uint64_t now = now_ms();

	return ms + period_ms * (now > ms ? (now - ms) / period_ms + 1 : 1);
}

static void say(const char *what)
{
	puts(what);
	fflush(stdout);
}

static void leave(const struct visit_calls *calls, const uint8_t *pattern)
{
	uint8_t first[VISIT_BYTES], last[VISIT_BYTES];

	calls->give(first, last);
	if (memcmp(first, pattern, VISIT_BYTES) || memcmp(last, pattern, VISIT_BYTES)) {
		fprintf(stderr, "the memory was not left alone\n");
		exit(CLIENT_EXIT_WRONG);
	}
	say("out");
}

int visit_main(int argc, char **argv, const struct visit_calls *calls)
{
	uint64_t mib = 16, ms = 1000, next_ms;
	const struct client_option options[] = {
		CLIENT_NUMBER('m', "mib", mib, 1, 1 << 20),
		CLIENT_NUMBER('p', "ms", ms, 1, 1 << 20),
		{ 0 },
	};
	uint8_t pattern[VISIT_BYTES];
	bool is_in = false;

	if (client_options(argc, argv, options, calls->usage))
		client_misused(calls->usage);
	calls->open();
	next_ms = now_ms();
	for (uint8_t round = 1; wait_until(next_ms); next_ms = tick_after(next_ms, ms)) {
		if (is_in) {
			leave(calls, pattern);
			is_in = false;
			continue;
		}
		memset(pattern, round++, sizeof(pattern));
		is_in = calls->take(mib << 20, pattern);
		say(is_in ? "in" : "refused");
	}
	if (is_in)
		leave(calls, pattern);
	calls->close();
	return CLIENT_EXIT_RIGHT;
}
