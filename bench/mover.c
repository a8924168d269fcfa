/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The host's side of a move, beside the best copy that the machine's processors can make: one
 * device's units go out while another's come in, as at a switch, by way of pinned rings, on devices
 * whose own copies take no time. So what is measured is what our threads, their lock and their
 * copies leave of the memory's speed.
 *
 *   mover.gb_s.N    with N copy threads a direction, both directions together
 *   mover.copy      the best copy of as many bytes by any number of threads: with memcpy() or past
 *                   the caches, between large regions, or half of it into and half of it out of
 *                   rings as large as the mover's
 *   mover.threads   the number that the measurement at the start takes on this machine
 *   mover.share     with that number, over mover.copy
 *
 * The benchmark plays the daemon: it gives one device no bytes, and the other one all, ahead of a
 * turn.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "client/bulk.h"
#include "client/gauge.h"
#include "client/instance.h"
#include "client/wait.h"

#define UNIT_BYTES (4 * SLU_MIB)
#define N_UNITS	   64
#define EACH_BYTES (UNIT_BYTES * N_UNITS) /* of a device */
#define N_ROUNDS   9
#define RING_BYTES (8 * SLU_MIB)
#define PLENTY	   (UINT64_C(1) << 50)

/* -- a device whose copies take no time ----------------------------------------------------------
 */

static int create(void *data, struct slu_unit *unit)
{
	return 0;
}

static void destroy(void *data, struct slu_unit *unit)
{
}

static int copy(void *data, struct slu_unit *unit, enum slu_direction direction, uint64_t offset,
		void *host, uint64_t bytes, struct slu_ticket *ret_ticket)
{
	*ret_ticket = (struct slu_ticket){ 0 };
	return 0;
}

static int poll_ticket(void *data, struct slu_ticket *ticket, bool wait)
{
	return 0;
}

static int drain(void *data)
{
	return 0;
}

static void *pin(void *data, uint64_t bytes)
{
	void *host = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return host == MAP_FAILED ? NULL : host;
}

static void unpin(void *data, void *host, uint64_t bytes)
{
	munmap(host, bytes);
}

static const struct slu_backend backend = {
	.name = "mover",
	.wants_staging = true,
	.create = create,
	.destroy = destroy,
	.copy = copy,
	.poll = poll_ticket,
	.drain = drain,
	.progress = drain,
	.pin = pin,
	.unpin = unpin,
};

/* -- the daemon's part ---------------------------------------------------------------------------
 */

static uint64_t seqs[_SLU_TIER_MAX][2];

static void hear(struct slu_message *m, enum slu_message_type type)
{
	uint64_t now_ns = slu_clock_now_ns();

	slu_message_stamp(m, type);
	slu_client_hear(&slu_client_global, now_ns, m);
	slu_client_pump(&slu_client_global, now_ns);
}

static void limit(enum slu_tier tier, unsigned device, uint64_t bytes)
{
	struct slu_message m = { 0 };

	m.limit = (struct slu_msg_limit){
		.account = { (uint8_t)tier, (uint8_t)device },
		.pace = SLU_PACE_AHEAD,
		.seq = ++seqs[tier][device],
		.limit_bytes = bytes,
		.goal_bytes = bytes,
	};
	hear(&m, SLU_MSG_LIMIT);
}

static void join(void)
{
	struct slu_client *c = &slu_client_global;
	struct slu_message m = { 0 };

	slu_peer_connection_made(c->peer, slu_clock_now_ns());
	m.welcome = (struct slu_msg_welcome){
		.version = SLU_WIRE_VERSION,
		.generation = 1,
		.chunk_bytes = 4 * SLU_MIB,
	};
	hear(&m, SLU_MSG_WELCOME);
	limit(SLU_TIER_PAGEABLE, 0, PLENTY);
	limit(SLU_TIER_PINNED, 0, PLENTY);
	for (unsigned d = 0; d < 2; d++) {
		struct slu_message close = { 0 };

		limit(SLU_TIER_DEVICE, d, PLENTY);
		close.close = (struct slu_msg_close){
			.device = (uint8_t)d,
			.epoch = { 0,
				   1 }, /* the turn that a program without a daemon gives itself */
		};
		hear(&close, SLU_MSG_CLOSE);
	}
}

static bool is_there(unsigned device, bool is_in)
{
	const struct slu_unit *u;

	TAILQ_FOREACH (u, slu_peer_view_units(slu_client_global.peer, device), link)
		if (u->moving != SLU_MOVING_NO || (u->place == SLU_PLACE_DEVICE) != is_in)
			return false;
	return true;
}

static void write_all(unsigned device)
{
	struct slu_unit *u;

	TAILQ_FOREACH (u, slu_peer_view_units(slu_client_global.peer, device), link)
		u->device_version = u->host_version + 1;
}

/* Device @out gives everything up while the other one gets everything. GB/s of both together. */
static double exchange(unsigned out)
{
	struct slu_client *c = &slu_client_global;
	uint64_t begin_ns, end_ns, bytes;

	slu_lock_take(&c->lock);
	write_all(out);
	bytes = c->counts.moved_in_bytes + c->counts.moved_out_bytes;
	begin_ns = slu_clock_now_ns();
	limit(SLU_TIER_DEVICE, out, 0);
	limit(SLU_TIER_DEVICE, !out, PLENTY);
	while (!is_there(out, false) || !is_there(!out, true))
		slu_client_wait(c, SLU_PEER_NEVER);
	end_ns = slu_clock_now_ns();
	bytes = c->counts.moved_in_bytes + c->counts.moved_out_bytes - bytes;
	slu_lock_give(&c->lock);
	return (double)bytes / (double)(end_ns - begin_ns);
}

/* -- the machine's part --------------------------------------------------------------------------
 */

enum way { BY_MEMCPY, PAST_CACHES, BY_RINGS, _WAY_MAX };

static const char *const way_names[] = { "memcpy", "past the caches", "by rings" };

struct part {
	pthread_t thread;
	char *to;
	const char *from;
	size_t bytes;
	size_t to_bytes, from_bytes; /* so much of each region is used, again and again */
	enum way way;
};

static void *part_run(void *data)
{
	const struct part *p = data;

	for (size_t at = 0; at < p->bytes; at += SLU_MIB) {
		char *to = p->to + at % p->to_bytes;
		const char *from = p->from + at % p->from_bytes;

		if (p->way == BY_MEMCPY)
			memcpy(to, from, SLU_MIB);
		else
			slu_bulk_copy(to, from, SLU_MIB);
	}
	return NULL;
}

static double machine_copies(char *to, const char *from, unsigned n, enum way way)
{
	uint64_t begin_ns = slu_clock_now_ns();
	struct part parts[64];
	size_t bytes = 2 * EACH_BYTES / n / SLU_MIB * SLU_MIB;

	for (unsigned i = 0; i < n; i++) {
		parts[i] = (struct part){
			.to = to + i * bytes,
			.from = from + i * bytes,
			.bytes = bytes,
			.to_bytes = way == BY_RINGS && i % 2 ? RING_BYTES : bytes,
			.from_bytes = way == BY_RINGS && i % 2 == 0 ? RING_BYTES : bytes,
			.way = way,
		};
		pthread_create(&parts[i].thread, NULL, part_run, &parts[i]);
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(parts[i].thread, NULL);
	return (double)(bytes * n) / (double)(slu_clock_now_ns() - begin_ns);
}

/* ------------------------------------------------------------------------------------------------
 */

/* Whoever else runs takes away from a round, and nothing adds to it. */
static double best_of(const double *rounds)
{
	double best = 0;

	for (unsigned r = 0; r < N_ROUNDS; r++)
		best = SLU_MAX(best, rounds[r]);
	return best;
}

static void figure(const char *name, double value, const char *unit, const char *goal)
{
	printf("{\"name\": \"mover.%s\", \"value\": %.3g, \"unit\": \"%s\", \"bound\": null, "
	       "\"goal\": %s, \"valid\": true}\n",
	       name, value, unit, goal);
}

static void devices_fill(void)
{
	struct slu_client_device *devices[2];
	struct slu_unit *unit;

	for (unsigned d = 0; d < 2; d++) {
		const struct slu_hello_device identity = {
			.uuid = { (uint8_t)(d + 1) },
			.name = "mover",
			.total_bytes = 2 * EACH_BYTES,
		};

		if (slu_client_device_add(&identity, SLU_MODE_ALL, &backend, NULL, &devices[d]))
			exit(1);
	}
	slu_lock_take(&slu_client_global.lock);
	join();
	slu_lock_give(&slu_client_global.lock);
	for (unsigned d = 0; d < 2; d++)
		for (unsigned i = 0; i < N_UNITS; i++)
			if (slu_client_unit_new(devices[d], UNIT_BYTES, SLU_FROZEN_NO, NULL, &unit))
				exit(1);
}

static void threads_set(unsigned n)
{
	slu_lock_take(&slu_client_global.lock);
	slu_client_global.gauge_has_begun = true;
	slu_client_global.n_copy_threads = n;
	slu_lock_give(&slu_client_global.lock);
}

int main(void)
{
	static double moves[SLU_GAUGE_THREADS_MAX + 1][N_ROUNDS], copies[_WAY_MAX * 8][N_ROUNDS];
	unsigned n_cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN), chosen, out = 0;
	unsigned most = SLU_MIN(n_cpus, (unsigned)SLU_GAUGE_THREADS_MAX);
	unsigned n_most = SLU_MIN(2 * most, 8u);
	char *to = malloc(2 * EACH_BYTES), *from = malloc(2 * EACH_BYTES);
	double best = 0;

	unsetenv("SLUICE_SOCKET");
	if (!to || !from)
		return 1;
	memset(to, 1, 2 * EACH_BYTES);
	memset(from, 1, 2 * EACH_BYTES);
	chosen = slu_gauge_measure();
	devices_fill();
	/* threads are added and never taken away: each number in its turn */
	for (unsigned n = 1; n <= most; n++) {
		threads_set(n);
		for (unsigned i = 0; i < 3; i++, out = !out)
			exchange(out); /* host copies, threads */
		for (unsigned r = 0; r < N_ROUNDS; r++, out = !out) {
			moves[n][r] = exchange(out);
			for (unsigned k = 0; n == chosen && k < _WAY_MAX * n_most; k++)
				copies[k][r] =
					machine_copies(to, from, k / _WAY_MAX + 1, k % _WAY_MAX);
		}
	}
	for (unsigned k = 0; k < _WAY_MAX * n_most; k++) {
		double rate = best_of(copies[k]);

		printf("%u threads, %s: %.2f GB/s\n", k / _WAY_MAX + 1, way_names[k % _WAY_MAX],
		       rate);
		best = SLU_MAX(best, rate);
	}
	for (unsigned n = 1; n <= most; n++) {
		char name[16];

		snprintf(name, sizeof(name), "gb_s.%u", n);
		figure(name, best_of(moves[n]), "GB/s", "null");
	}
	figure("copy", best, "GB/s", "null");
	figure("threads", chosen, "threads", "null");
	figure("share", best_of(moves[chosen]) / best, "share", "0.8");
	return 0;
}
