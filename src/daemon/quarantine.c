/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"
#include "wire/channel.h"

#define PERIOD_USEC  1000000 /* at most one child in this time … */
#define HELD_MAX     256     /* … unless this many sockets are held */
#define CHILDREN_MAX 8

struct held {
	LIST_ENTRY(held) entry;
	int fd;
	struct slu_charge charge;
};

struct slu_quarantine {
	LIST_HEAD(, held) held;
	unsigned n_held;
	pid_t children[CHILDREN_MAX]; /* 0: none */
	sd_event_source *timer;	      /* on while a socket is held */
};

/* Return: a free slot for a child, after reaping the ended ones; NULL: all are in use. */
static pid_t *find_place(struct slu_quarantine *quarantine)
{
	pid_t *found = NULL;

	for (unsigned i = 0; i < CHILDREN_MAX; i++) {
		pid_t *child = &quarantine->children[i];

		if (*child && waitpid(*child, NULL, WNOHANG))
			*child = 0;
		if (!*child)
			found = child;
	}
	return found;
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/*
 * In the child: keeps nothing of the daemon's but what is held, and ends when the daemon has closed
 * its copies: the last copy must be the child's.
 */
static _Noreturn void child_run(int *fds, unsigned n, int parent)
{
	unsigned next = 0;
	char byte;

	qsort(fds, n, sizeof(*fds), compare);
	for (unsigned i = 0; i < n; i++) {
		if (next < (unsigned)fds[i])
			close_range(next, (unsigned)fds[i] - 1, 0);
		next = (unsigned)fds[i] + 1;
	}
	close_range(next, ~0U, 0);
	while (read(parent, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

static void release_all(struct slu_quarantine *quarantine, bool has_child)
{
	struct held *held;

	while ((held = LIST_FIRST(&quarantine->held))) {
		if (has_child)
			close(held->fd); /* not the last copy */
		slu_charge_give(&held->charge);
		LIST_REMOVE(held, entry);
		free(held);
	}
	quarantine->n_held = 0;
}

static void hand_over(struct slu_quarantine *quarantine)
{
	pid_t child, *place = find_place(quarantine);
	int *fds = place ? calloc(quarantine->n_held + 1, sizeof(*fds)) : NULL;
	const struct held *held;
	unsigned n = 0;
	int ends[2];

	if (!fds || pipe2(ends, O_CLOEXEC)) {
		free(fds);
		return;
	}
	LIST_FOREACH (held, &quarantine->held, entry)
		fds[n++] = held->fd;
	child = fork();
	if (!child) {
		fds[n++] = ends[0];
		child_run(fds, n, ends[0]);
	}
	free(fds);
	close(ends[0]);
	if (child > 0) {
		*place = child;
		slu_log(INFO, "closing %u connections whose peers passed files, in process %d", n,
			(int)child);
		release_all(quarantine, true);
	}
	/* the end of the pipe lets the child go */
	close(ends[1]);
}

static void arm(struct slu_quarantine *quarantine)
{
	bool is_needed = quarantine->n_held;

	/* also to reap */
	for (unsigned i = 0; i < CHILDREN_MAX; i++)
		is_needed |= quarantine->children[i] != 0;
	if (is_needed)
		sd_event_source_set_time_relative(quarantine->timer, PERIOD_USEC);
	sd_event_source_set_enabled(quarantine->timer, is_needed ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *data)
{
	struct slu_quarantine *quarantine = data;

	(void)source;
	(void)usec;
	if (quarantine->n_held)
		hand_over(quarantine);
	else
		find_place(quarantine);
	arm(quarantine);
	return 0;
}

int slu_quarantine_new(sd_event *event, struct slu_quarantine **ret_quarantine)
{
	struct slu_quarantine *quarantine = calloc(1, sizeof(*quarantine));
	int r;

	if (!quarantine)
		return slu_error(-ENOMEM);
	LIST_INIT(&quarantine->held);
	r = sd_event_add_time(event, &quarantine->timer, CLOCK_MONOTONIC, 0, 0, on_timer,
			      quarantine);
	if (r >= 0)
		r = sd_event_source_set_enabled(quarantine->timer, SD_EVENT_OFF);
	if (r < 0) {
		slu_quarantine_free(quarantine);
		return slu_error(r);
	}
	*ret_quarantine = quarantine;
	return 0;
}

void slu_quarantine_free(struct slu_quarantine *quarantine)
{
	if (!quarantine)
		return;
	release_all(quarantine, false);
	sd_event_source_disable_unref(quarantine->timer);
	free(quarantine);
}

void slu_quarantine_close(struct slu_quarantine *quarantine, int fd, struct slu_charge *charge)
{
	struct held *held;
	int enabled;

	if (slu_channel_dry(fd)) {
		close(fd);
		return;
	}
	held = calloc(1, sizeof(*held));
	if (!held)
		return; /* it stays open as long as the daemon runs: better than to wait */
	held->fd = fd;
	held->charge = *charge;
	*charge = (struct slu_charge){};
	LIST_INSERT_HEAD(&quarantine->held, held, entry);
	quarantine->n_held++;
	sd_event_source_get_enabled(quarantine->timer, &enabled);
	if (quarantine->n_held % HELD_MAX == 0)
		hand_over(quarantine);
	if (enabled == SD_EVENT_OFF)
		arm(quarantine);
}
