/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The helper: the one thread that reads the daemon's messages and watches the devices: whether a
 * shut gate is empty and its device at rest, whether blocked commands have gone on, whether
 * anything runs. It sleeps until a message, a poke or the next look.
 *
 * It calls the back end without the lock. The removal of a device waits for the end of such a
 * visit, and no other begins.
 */

#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "client/instance.h"
#include "client/log.h"

#define DRAIN_MIN_NS (20 * SLU_NS_PER_US)
#define DRAIN_MAX_NS SLU_NS_PER_MS
#define LOOK_NS	     (8 * SLU_NS_PER_MS)
#define N_LOOKS_IDLE 125 /* after this many idle looks the next ones are rarer */
#define LOOK_IDLE_NS (50 * SLU_NS_PER_MS)
#define LOOK_GONE_NS (100 * SLU_NS_PER_MS)
#define SLACK_NS     1000 /* of the kernel's timers: a drain is polled finely */

/* -- visits to the back end ------------------------------------------------------------------- */

static void visit_begin(struct slu_client *c, struct slu_client_device *d)
{
	bool is_first = !d->has_begun;

	d->has_begun = true;
	d->n_visits++;
	slu_lock_give(&c->lock);
	slu_lock_assert_none();
	if (is_first && d->backend->thread_begin)
		d->backend->thread_begin(d->data);
}

/* Return: whether the device still exists. */
static bool visit_end(struct slu_client *c, struct slu_client_device *d)
{
	unsigned index = d->index;
	bool is_there;

	slu_lock_take(&c->lock);
	is_there = c->devices[index] == d;
	if (--d->n_visits == 0 && !is_there)
		pthread_cond_broadcast(&c->changed);
	return is_there;
}

/* -- questions about units -------------------------------------------------------------------- */

struct look {
	struct slu_client_unit *w;
	int answer;
};

struct question {
	bool (*concerns)(struct slu_unit *unit);			      /* NULL: all */
	int (*ask)(const struct slu_client_device *d, struct slu_unit *unit); /* without the lock */
};

/*
 * Asks the back end about each unit there that the question concerns. The units are pinned
 * meanwhile, so that they are not released.
 *
 * Return: 1 with the answers, 0 without units, device or memory.
 */
static int units_look(struct slu_client *c, struct slu_client_device *d, const struct question *q,
		      struct look **ret_looks, size_t *ret_n)
{
	const struct slu_unit_list *units = slu_peer_view_units(c->peer, d->index);
	struct slu_unit *u;
	struct look *looks;
	bool is_there;
	size_t n = 0;

	TAILQ_FOREACH (u, units, link)
		n++;
	looks = n ? calloc(n, sizeof(*looks)) : NULL;
	if (!looks)
		return 0;
	n = 0;
	TAILQ_FOREACH (u, units, link) {
		if (u->place == SLU_PLACE_RAM || u->place == SLU_PLACE_DISK ||
		    (q->concerns && !q->concerns(u)))
			continue;
		looks[n].w = slu_client_unit_of(u);
		looks[n++].w->n_pins++;
	}
	visit_begin(c, d);
	for (size_t i = 0; i < n; i++)
		looks[i].answer = q->ask(d, &looks[i].w->unit);
	is_there = visit_end(c, d);
	for (size_t i = 0; i < n; i++)
		looks[i].w->n_pins--;
	pthread_cond_broadcast(&c->changed);
	if (!is_there || !n) {
		free(looks);
		return 0;
	}
	*ret_looks = looks;
	*ret_n = n;
	return 1;
}

/* -- commands behind a host event ------------------------------------------------------------- */

static bool unit_is_blocked(struct slu_unit *u)
{
	return u->blocked;
}

static int unit_ask_drain(const struct slu_client_device *d, struct slu_unit *u)
{
	return d->backend->drain_unit(d->data, u);
}

/* Return: 0 when the blocked units are known and marked, SLU_BACKEND_E_BUSY when some still run. */
static int units_mark_blocked(struct slu_client *c, struct slu_client_device *d)
{
	const struct question q = { NULL, unit_ask_drain };
	struct look *looks;
	int r = 0;
	size_t n;

	if (units_look(c, d, &q, &looks, &n) <= 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (looks[i].answer == SLU_BACKEND_E_BUSY)
			r = SLU_BACKEND_E_BUSY;
	for (size_t i = 0; i < n && !r; i++)
		looks[i].w->unit.blocked = looks[i].answer == SLU_BACKEND_E_BLOCKED;
	free(looks);
	return r;
}

static void blocked_serve_units(struct slu_client *c, struct slu_client_device *d, uint64_t now_ns)
{
	const struct question q = { unit_is_blocked, unit_ask_drain };
	struct look *looks;
	size_t n_still = 0;
	size_t n;

	if (units_look(c, d, &q, &looks, &n) <= 0)
		return;
	for (size_t i = 0; i < n; i++)
		n_still += looks[i].answer == SLU_BACKEND_E_BLOCKED;
	if (n_still < n) {
		slu_peer_turn_unblocked(c->peer, now_ns, d->index);
		for (size_t i = 0; i < n; i++)
			looks[i].w->unit.blocked = looks[i].answer == SLU_BACKEND_E_BLOCKED;
		d->is_blocked = n_still > 0;
	}
	free(looks);
}

static void blocked_serve(struct slu_client *c, struct slu_client_device *d, uint64_t now_ns)
{
	int r;

	if (d->backend->drain_unit) {
		blocked_serve_units(c, d, now_ns);
		return;
	}
	visit_begin(c, d);
	r = d->backend->drain(d->data);
	if (!visit_end(c, d) || r == SLU_BACKEND_E_BUSY || r == SLU_BACKEND_E_BLOCKED)
		return;
	slu_client_unit_touch_all(c, d);
	d->is_blocked = false;
	slu_peer_turn_unblocked(c->peer, now_ns, d->index);
}

/* -- dead contents -------------------------------------------------------------------------------
 */

/*
 * What cannot move need not be asked about, and is no memory that the back end made. A unit that is
 * being freed waits no longer for those who look at it.
 */
static bool unit_may_be_dead(struct slu_unit *u)
{
	return u->frozen == SLU_FROZEN_NO && (u->host_version || u->device_version) &&
	       !slu_client_unit_of(u)->is_dying;
}

static int unit_ask_dead(const struct slu_client_device *d, struct slu_unit *u)
{
	return d->backend->is_dead(d->data, u);
}

/*
 * The program is at rest. What is dead there costs nothing to move, and the peer should know before
 * it chooses. Nobody can write a unit before the gate opens again.
 */
static void units_mark_dead(struct slu_client *c, struct slu_client_device *d)
{
	const struct question q = { unit_may_be_dead, unit_ask_dead };
	struct look *looks;
	size_t n;

	if (!d->backend->is_dead || units_look(c, d, &q, &looks, &n) <= 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (looks[i].answer)
			slu_client_unit_die(c, looks[i].w);
	free(looks);
}

/* -- draining -----------------------------------------------------------------------------------
 */

static void drain_postpone(struct slu_client_device *d, uint64_t now_ns)
{
	d->drain_pause_ns =
		d->drain_pause_ns ? SLU_MIN(d->drain_pause_ns * 2, DRAIN_MAX_NS) : DRAIN_MIN_NS;
	d->drain_ns = now_ns + d->drain_pause_ns;
}

static void drain_serve(struct slu_client *c, struct slu_client_device *d)
{
	uint64_t now_ns = slu_clock_now_ns();
	bool is_blocked = false;
	int r;

	if (now_ns < d->drain_ns)
		return;
	if (!slu_gate_is_empty(d->index) || d->n_commands) {
		drain_postpone(d, now_ns);
		return;
	}
	visit_begin(c, d);
	r = d->backend->drain(d->data);
	if (!visit_end(c, d))
		return;
	if (r == SLU_BACKEND_E_BLOCKED) {
		is_blocked = true;
		r = d->backend->drain_unit ? units_mark_blocked(c, d) : 0;
		if (c->devices[d->index] != d)
			return;
	}
	now_ns = slu_clock_now_ns();
	if (r == SLU_BACKEND_E_LOST) {
		slu_client_log("device %u: its context is lost", d->index);
		d->is_dead = true;
	} else if (r) {
		drain_postpone(d, now_ns);
		return;
	}
	d->is_blocked = is_blocked;
	slu_client_unit_touch_all(c, d);
	if (!is_blocked && !d->is_dead && d->mode != SLU_MODE_LAUNCH) {
		units_mark_dead(c, d);
		if (c->devices[d->index] != d)
			return;
	}
	d->is_closing = false;
	slu_client_log("device %u: %s", d->index, is_blocked ? "blocked" : "at rest");
	slu_peer_turn_drained(c->peer, now_ns, d->index, is_blocked);
}

/* -- progress -----------------------------------------------------------------------------------
 */

static void progress_serve(struct slu_client *c, struct slu_client_device *d)
{
	uint64_t n = d->mode == SLU_MODE_LAUNCH ? d->n_submitted : slu_gate_n_entries();
	uint64_t now_ns = slu_clock_now_ns();
	bool is_busy = n != d->n_seen;
	int r;

	if (now_ns < d->look_ns)
		return;
	if (is_busy && d->mode != SLU_MODE_LAUNCH)
		slu_peer_reports_count_launches(c->peer, now_ns, d->index, n - d->n_seen);
	d->n_seen = n;
	if (!is_busy && d->backend->progress) {
		visit_begin(c, d);
		r = d->backend->progress(d->data);
		if (!visit_end(c, d))
			return;
		is_busy = r == SLU_BACKEND_E_BUSY;
	}
	d->n_idle_looks = is_busy ? 0 : d->n_idle_looks + 1;
	d->look_ns = now_ns + (d->n_idle_looks < N_LOOKS_IDLE ? LOOK_NS : LOOK_IDLE_NS);
	slu_peer_turn_progress(c->peer, now_ns, d->index, is_busy);
}

static bool device_is_watched(const struct slu_client *c, unsigned index)
{
	return c->stage == SLU_CLIENT_JOINED && slu_peer_view_gate_is_open(c->peer, index);
}

static void devices_serve(struct slu_client *c)
{
	for (unsigned i = 0; i < c->n_places; i++) {
		struct slu_client_device *d = c->devices[i];
		uint64_t now_ns = slu_clock_now_ns();

		if (!d) {
			if (device_is_watched(c, i))
				slu_peer_turn_progress(c->peer, now_ns, i, false);
			continue;
		}
		if (d->is_closing)
			drain_serve(c, d);
		else if (d->is_blocked && now_ns >= d->look_ns)
			blocked_serve(c, d, now_ns);
		d = c->devices[i];
		if (d && device_is_watched(c, i))
			progress_serve(c, d);
		else if (d && now_ns >= d->look_ns)
			d->look_ns = d->is_blocked ? now_ns + LOOK_NS : SLU_PEER_NEVER;
		slu_client_pump(c, slu_clock_now_ns());
	}
}

/* -- the connection -------------------------------------------------------------------------------
 */

static void connection_serve(struct slu_client *c, uint64_t now_ns)
{
	struct slu_message m;

	if (c->n_places && slu_connection_try(&c->connection, now_ns) == 0) {
		c->is_alone = false;
		slu_peer_connection_made(c->peer, now_ns);
		slu_client_pump(c, now_ns);
	}
	slu_connection_flush(&c->connection);
	while (slu_connection_receive(&c->connection, &m) == 0) {
		slu_client_hear(c, now_ns, &m);
		slu_client_pump(c, now_ns);
	}
	if (c->connection.is_broken)
		slu_client_lose(c, now_ns);
}

/* LOST: when the grace of on_daemon_loss = run ends, or never. */
static uint64_t loss_grace_ends_ns(const struct slu_client *c)
{
	const struct slu_msg_welcome *settings = slu_peer_connection_settings(c->peer);

	if (c->stage != SLU_CLIENT_LOST || c->is_alone || c->connection.channel ||
	    !settings->run_without_daemon)
		return SLU_PEER_NEVER;
	return c->lost_ns + settings->loss_grace_ns;
}

static void loss_serve(struct slu_client *c, uint64_t now_ns)
{
	if (now_ns < loss_grace_ends_ns(c))
		return;
	slu_client_log("the daemon did not come back, running without it");
	slu_client_run_alone(c, now_ns);
}

/* -- the loop --------------------------------------------------------------------------------- */

/*
 * `sluice run` cannot ask the program whether it reached the daemon, but sees the names of its
 * threads. A program that lost the daemon had joined, and follows the setting.
 */
static void name_show_bond(const struct slu_client *c, bool *is_shown_alone)
{
	bool is_alone = c->stage == SLU_CLIENT_LOOSE && !c->torture;

	if (is_alone == *is_shown_alone)
		return;
	*is_shown_alone = is_alone;
	prctl(PR_SET_NAME, is_alone ? SLU_WIRE_HELPER_ALONE : SLU_WIRE_HELPER);
}

static uint64_t helper_next_look_ns(const struct slu_client *c, uint64_t now_ns)
{
	uint64_t at = SLU_MIN(slu_peer_deadline_ns(c->peer), loss_grace_ends_ns(c));

	if (!c->connection.channel && c->connection.path && c->n_places)
		at = SLU_MIN(at, c->connection.next_ns);
	for (unsigned i = 0; i < c->n_places; i++) {
		const struct slu_client_device *d = c->devices[i];

		if (!d) {
			if (device_is_watched(c, i))
				at = SLU_MIN(at, now_ns + LOOK_GONE_NS);
			continue;
		}
		at = SLU_MIN(at, d->look_ns);
		if (d->is_closing)
			at = SLU_MIN(at, d->drain_ns);
	}
	return at;
}

static void helper_sleep_until(struct slu_client *c, uint64_t until_ns)
{
	uint64_t now_ns = slu_clock_now_ns();
	struct timespec timeout = slu_clock_timespec(slu_sub_floor(until_ns, now_ns));
	struct pollfd fds[2] = {
		{ .fd = c->wake_fd, .events = POLLIN },
		{ .fd = slu_connection_fd(&c->connection), .events = POLLIN },
	};
	uint64_t n_pokes;

	if (slu_connection_wants_write(&c->connection))
		fds[1].events |= POLLOUT;
	c->helper_ns = SLU_MAX(until_ns, UINT64_C(1));
	slu_lock_give(&c->lock);
	ppoll(fds, SLU_ARRAY_SIZE(fds), until_ns == SLU_PEER_NEVER ? NULL : &timeout, NULL);
	if (fds[0].revents && read(c->wake_fd, &n_pokes, sizeof(n_pokes)) < 0)
		n_pokes = 0;
	slu_lock_take(&c->lock);
	c->helper_ns = 0;
}

void *slu_helper_run(void *data)
{
	struct slu_client *c = data;
	bool is_shown_alone = false;

	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	prctl(PR_SET_NAME, SLU_WIRE_HELPER); /* before the daemon looks for it */
	slu_lock_take(&c->lock);
	for (;;) {
		uint64_t now_ns = slu_clock_now_ns();

		connection_serve(c, now_ns);
		loss_serve(c, now_ns);
		devices_serve(c);
		now_ns = slu_clock_now_ns();
		slu_client_pump(c, now_ns);
		name_show_bond(c, &is_shown_alone);
		helper_sleep_until(c, helper_next_look_ns(c, now_ns));
	}
	return NULL;
}
