/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each direction of each device has a queue and threads of its own, so that both directions of the
 * bus are used at once. Two threads a direction work hand in hand on the moves (move.h) and their
 * pieces (pipe.h), in the order of the queue:
 *
 *   queue ──▶ feeder: begin, cut, feed ──▶ under way on the device ──▶ reaper: reap, end ──▶ peer
 *
 * The feeder goes on to the next unit while the device still copies for the ones before. So the
 * engine has work for as long as there is a unit to move and room in the pinned ring, and neither
 * the making and giving up of memory nor the protocol lie between two copies. How many moves there
 * are at once is the peer's decision.
 *
 * A unit whose commands still run (mode LAUNCH) goes back to the peer, which may know another one
 * that is nearly as good; or, if it is waited for, to the end of the queue, to be asked again.
 *
 * What is copied is decided when the move starts: a unit whose host copy is current is only given
 * up. While bytes go into a host copy it counts as unwritten (version 0), for it is neither the
 * old nor the new one.
 */

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "client/instance.h"
#include "client/log.h"
#include "client/tiers.h"

#define CHUNK_BYTES	(2 * SLU_MIB) /* where the daemon says nothing */
#define CHUNK_MIN_BYTES (4 * SLU_KIB)
#define N_CHUNKS	2 /* of a direction: what is under way at most */
#define SETTLE_MIN_NS	(20 * SLU_NS_PER_US)
#define SETTLE_MAX_NS	SLU_NS_PER_MS

static uint64_t depth_bytes(const struct slu_client *c)
{
	uint64_t chunk = slu_peer_settings(c->peer)->chunk_bytes;

	if (!chunk)
		chunk = CHUNK_BYTES;
	return N_CHUNKS * slu_round_up(SLU_MAX(chunk, CHUNK_MIN_BYTES), CHUNK_MIN_BYTES);
}

/* -- pinned memory ---------------------------------------------------------------------------- */

/* The credit that a direction has for its ring. */
static void charge_staging(struct slu_client *c, struct slu_mover *m, uint64_t bytes)
{
	c->staged_bytes += bytes - m->staged_bytes;
	m->staged_bytes = bytes;
	slu_peer_stage(c->peer, slu_clock_now_ns(), c->staged_bytes);
	slu_client_pump(c, slu_clock_now_ns());
}

static void stage(struct slu_client *c, struct slu_mover *m)
{
	const struct slu_client_device *d = m->device;
	uint64_t bytes = depth_bytes(c);
	struct slu_staging staging;
	int r;

	if (slu_peer_stage(c->peer, slu_clock_now_ns(), c->staged_bytes + bytes))
		return;
	charge_staging(c, m, bytes);
	slu_lock_give(&c->lock);
	r = slu_staging_init(&staging, d->backend, d->data, bytes);
	slu_lock_take(&c->lock);
	if (r)
		charge_staging(c, m, 0);
	else
		m->pipe.staging = staging;
}

static void unstage(struct slu_client *c, struct slu_mover *m)
{
	const struct slu_client_device *d = m->device;
	struct slu_staging staging = m->pipe.staging;

	m->pipe.staging = (struct slu_staging){ 0 };
	slu_lock_give(&c->lock);
	slu_staging_deinit(&staging, d->backend, d->data);
	slu_lock_take(&c->lock);
	charge_staging(c, m, 0);
}

/* With nothing under way: what the daemon allows and wants now. Leaves the lock meanwhile. */
static void settle_staging(struct slu_client *c, struct slu_mover *m)
{
	const struct slu_backend *b = m->device->backend;

	if (m->pipe.n_pieces)
		return;
	if (m->pipe.staging.host && slu_peer_must_unstage(c->peer))
		unstage(c, m);
	else if (!m->pipe.staging.host && b->wants_staging && b->pin && b->unpin &&
		 c->stage == SLU_CLIENT_JOINED && !m->is_stopping)
		stage(c, m);
	m->pipe.most_bytes = m->pipe.staging.host ? m->pipe.staging.bytes : depth_bytes(c);
}

/* Pageable memory for pieces between the device and the disk, where none is pinned. */
static int make_bounce(struct slu_client *c, struct slu_mover *m)
{
	uint64_t bytes = depth_bytes(c);
	void *host;

	slu_lock_give(&c->lock);
	host = slu_tiers_get(bytes);
	slu_lock_take(&c->lock);
	if (!host)
		return slu_error(-ENOMEM);
	m->pipe.bounce = (struct slu_staging){ .host = host, .bytes = bytes };
	return 0;
}

/* -- one move -----------------------------------------------------------------------------------
 */

static bool is_cancelled(void *data)
{
	struct slu_client_unit *w = data;
	bool r;

	slu_lock_take(&slu_client_global.lock);
	r = w->unit.cancel;
	slu_lock_give(&slu_client_global.lock);
	return r;
}

static void prepare(struct slu_client *c, struct slu_client_unit *w, struct slu_move *ret_move)
{
	const struct slu_client_device *d = w->device;
	struct slu_unit *u = &w->unit;
	bool is_out = u->moving == SLU_MOVING_OUT;
	enum slu_hashing hashing = slu_peer_settings(c->peer)->hash_clean;

	/* The device's copy died with its context; what the host has is the truth that is left. */
	if (d->is_dead)
		u->device_version = u->host_version;
	/* Without a host copy, or without leave to compare, there is nothing but the doubt. */
	if (is_out && u->doubted && !d->is_dead &&
	    (!u->host_version || u->on_disk || hashing == SLU_HASHING_OFF))
		slu_client_unit_believe(u, false);
	*ret_move = (struct slu_move){
		.backend = d->backend,
		.data = d->data,
		.unit = u,
		.moving = u->moving,
		.has_contents = is_out ? !slu_unit_is_clean(u) : u->host_version > 0,
		.is_doubted = is_out && u->doubted && slu_unit_is_clean(u) && !d->is_dead,
		.always_compares = hashing == SLU_HASHING_ALWAYS,
		.may_compare = hashing != SLU_HASHING_OFF && d->mode == SLU_MODE_LAUNCH,
		.wants_settle = d->mode == SLU_MODE_LAUNCH && !d->is_dead,
		.wants_sum = slu_peer_settings(c->peer)->checksum_moves || u->on_disk,
		.is_cancelled = is_cancelled,
		.cancel_data = w,
		.host = u->host,
		.disk = u->on_disk ? &c->disk : NULL,
		.room = w->room,
		.mapped = w->mapped,
		.sum = w->sum,
		.has_sum = w->has_sum,
	};
	if (is_out && ret_move->has_contents) {
		u->host_version = 0;
		slu_client_unit_believe(u, false);
	}
}

/* The copies were compared, and nothing is under way yet. */
static void note_compared(struct slu_client *c, struct slu_client_unit *w,
			  const struct slu_move *move)
{
	c->counts.n_compared++;
	c->counts.n_differed += move->has_contents;
	slu_client_unit_believe(&w->unit, !move->has_contents);
	if (move->has_contents)
		w->unit.host_version = 0;
}

static enum slu_move_result result_of(int r)
{
	switch (r) {
	case 0:
		return SLU_MOVE_DONE;
	case SLU_MOVE_E_CANCELLED:
		return SLU_MOVE_CANCELLED;
	case SLU_MOVE_E_REFUSED:
		return SLU_MOVE_REFUSED;
	case SLU_MOVE_E_BLOCKED:
		return SLU_MOVE_BLOCKED;
	case SLU_MOVE_E_BUSY:
		return SLU_MOVE_RUNS;
	default:
		return SLU_MOVE_FAILED;
	}
}

static void count(struct slu_client *c, struct slu_client_device *d, const struct slu_move *move)
{
	uint64_t bytes = move->has_contents ? move->unit->bytes : 0;

	if (move->moving == SLU_MOVING_MAP)
		slu_client_log("device %u: %llu bytes mapped", d->index,
			       (unsigned long long)move->unit->bytes);
	if (move->moving == SLU_MOVING_OUT) {
		c->counts.n_moves_out++;
		c->counts.n_clean_out += !move->has_contents;
		c->counts.moved_out_bytes += bytes;
		d->moved_out_bytes += bytes;
	} else {
		c->counts.n_moves_in++;
		c->counts.moved_in_bytes += bytes;
		d->moved_in_bytes += bytes;
	}
}

/* What went wrong for good. Contents that are not what they were must not reach the program. */
static void note_fault(struct slu_client *c, struct slu_client_unit *w, int r, int disk_error)
{
	struct slu_client_device *d = w->device;

	if (r == SLU_MOVE_E_LOST && !d->is_dead) {
		slu_client_log("device %u: its context is lost", d->index);
		d->is_dead = true;
	} else if (r == SLU_MOVE_E_CORRUPT && !d->is_spoilt) {
		slu_client_log("device %u: a host copy of %llu bytes is not what was moved out; "
			       "the program gets an error for all further work there",
			       d->index, (unsigned long long)w->unit.bytes);
		d->is_spoilt = true;
	} else if (r == SLU_MOVE_E_UNREAD && !d->is_spoilt) {
		slu_client_log("device %u: %llu bytes cannot be read back from disk: %s; the "
			       "program gets an error for all further work there",
			       d->index, (unsigned long long)w->unit.bytes, strerror(disk_error));
		d->is_spoilt = true;
	} else if (r == SLU_MOVE_E_BLOCKED) {
		d->is_blocked = true;
		d->look_ns = 0;
	} else if (r < 0) {
		/* said once, however often it is tried */
		if (d->move_error != -r)
			slu_client_log("device %u: a move failed: %s, trying again", d->index,
				       strerror(-r));
		d->move_error = -r;
	}
}

/* After the peer knows: what the tiers keep of the unit now. */
static void settle_copies(struct slu_client_unit *w, const struct slu_move *move, bool is_done)
{
	struct slu_unit *u = &w->unit;

	u->host = move->host;
	w->mapped = move->mapped;
	w->sum = move->sum;
	w->has_sum = move->has_sum;
	if (!is_done)
		return;
	if (move->moving == SLU_MOVING_IN)
		w->is_made = true;
	if (move->moving == SLU_MOVING_MAP) {
		/* The mapped bytes are the host copy now; two would be one too many. */
		slu_tiers_put(u->host, u->bytes);
		u->host = NULL;
		u->host_version = 0;
		w->has_sum = false;
	}
}

/* The reaper's last step: the move has no piece under way and gets none. */
static void finish(struct slu_client *c, struct slu_mover *m, struct slu_mover_job *j)
{
	struct slu_client_unit *w = j->unit;
	struct slu_client_device *d = w->device;
	uint64_t now_ns;
	int r = j->r;

	slu_lock_give(&c->lock);
	r = slu_move_end(&j->move, r);
	if (!r && d->backend->placed)
		d->backend->placed(d->data, &w->unit);
	slu_lock_take(&c->lock);

	now_ns = slu_clock_now_ns();
	c->counts.n_refusals += j->move.n_refusals;
	if (r) {
		note_fault(c, w, r, j->move.disk_error);
	} else {
		count(c, d, &j->move);
		d->move_error = 0;
	}
	STAILQ_REMOVE_HEAD(&m->under_way, link);
	STAILQ_INSERT_HEAD(&m->spare, j, link);
	slu_peer_moved(c->peer, now_ns, &w->unit, result_of(r));
	settle_copies(w, &j->move, !r);
	if (r == SLU_MOVE_E_UNWRITTEN)
		slu_client_disk_failed(c, j->move.disk_error);
	if (w->is_dying)
		slu_client_unit_retire(c, w);
	pthread_cond_broadcast(&c->changed);
	pthread_cond_broadcast(&m->wake);
	slu_client_pump(c, now_ns);
}

/* -- the feeder ---------------------------------------------------------------------------------
 */

/* Return: what the move has come to: 0 while nothing is wrong. */
static int state_of(const struct slu_mover_job *j)
{
	return !j->r && j->unit->unit.cancel ? SLU_MOVE_E_CANCELLED : j->r;
}

static void feed(struct slu_client *c, struct slu_mover *m, struct slu_mover_job *j)
{
	while (!(j->r = state_of(j)) && slu_move_left_bytes(&j->move)) {
		struct slu_piece *p = slu_pipe_put(&m->pipe, &j->move);

		if (!p) {
			slu_lock_wait(&c->lock, &m->wake, NULL);
			continue;
		}
		slu_lock_give(&c->lock);
		slu_piece_feed(p);
		slu_lock_take(&c->lock);
		p->is_ready = true;
		pthread_cond_broadcast(&m->wake);
	}
}

/* Return: false if the unit's commands still run. */
static bool begin(struct slu_client *c, struct slu_mover *m, struct slu_client_unit *w)
{
	struct slu_client_device *d = w->device;
	struct slu_mover_job *j;
	bool is_hopeless;
	int r = 0;

	/* An access of the program to the host copy comes to its end first. */
	while (w->n_pins)
		slu_client_wait(c, SLU_PEER_NEVER);
	settle_staging(c, m);
	j = STAILQ_FIRST(&m->spare);
	STAILQ_REMOVE_HEAD(&m->spare, link);
	j->unit = w;
	j->is_fed = false;
	prepare(c, w, &j->move);
	is_hopeless = (d->is_spoilt || d->is_dead) && j->move.moving != SLU_MOVING_OUT;
	if (slu_pipe_needs_bounce(&m->pipe, &j->move))
		r = make_bounce(c, m);
	slu_lock_give(&c->lock);
	if (!r)
		r = is_hopeless ? slu_error(-EIO) : slu_move_begin(&j->move);
	slu_lock_take(&c->lock);
	if (j->move.has_compared)
		note_compared(c, w, &j->move);
	if (r == SLU_MOVE_E_BUSY && w->unit.patient && !w->unit.cancel) {
		STAILQ_INSERT_HEAD(&m->spare, j, link);
		return false;
	}
	j->r = r == SLU_MOVE_E_BUSY && w->unit.cancel ? SLU_MOVE_E_CANCELLED : r;
	STAILQ_INSERT_TAIL(&m->under_way, j, link);
	feed(c, m, j);
	j->is_fed = true;
	pthread_cond_broadcast(&m->wake);
	return true;
}

static void wait_a_moment(struct slu_client *c, struct slu_mover *m, uint64_t ns)
{
	struct timespec until = slu_clock_timespec(slu_clock_now_ns() + ns);

	slu_lock_wait(&c->lock, &m->wake, &until);
}

static void *run_feeder(void *data)
{
	struct slu_client *c = &slu_client_global;
	struct slu_mover *m = data;
	uint64_t pause_ns = SETTLE_MIN_NS;
	unsigned n_busy = 0; /* in a row, that had to go back into the queue */

	if (m->device->backend->thread_begin)
		m->device->backend->thread_begin(m->device->data);
	slu_lock_take(&c->lock);
	while (!m->is_stopping) {
		struct slu_client_unit *w = STAILQ_FIRST(&m->queue);

		if (!w) {
			settle_staging(c, m);
			if (STAILQ_EMPTY(&m->queue) && !m->is_stopping)
				slu_lock_wait(&c->lock, &m->wake, NULL);
			continue;
		}
		STAILQ_REMOVE_HEAD(&m->queue, link);
		m->n_queued--;
		if (begin(c, m, w)) {
			n_busy = 0;
			pause_ns = SETTLE_MIN_NS;
			continue;
		}
		slu_mover_push(m, w);
		if (++n_busy >= m->n_queued) {
			n_busy = 0;
			wait_a_moment(c, m, pause_ns);
			pause_ns = SLU_MIN(pause_ns * 2, SETTLE_MAX_NS);
		}
	}
	if (m->pipe.staging.host)
		unstage(c, m);
	slu_lock_give(&c->lock);
	slu_tiers_put(m->pipe.bounce.host, m->pipe.bounce.bytes);
	return NULL;
}

/* -- the reaper ---------------------------------------------------------------------------------
 */

static void reap(struct slu_client *c, struct slu_mover *m, struct slu_mover_job *j,
		 struct slu_piece *p)
{
	int r;

	slu_lock_give(&c->lock);
	r = slu_piece_reap(p);
	slu_lock_take(&c->lock);
	slu_pipe_drop(&m->pipe);
	if (!j->r)
		j->r = r;
	pthread_cond_broadcast(&m->wake);
}

static void *run_reaper(void *data)
{
	struct slu_client *c = &slu_client_global;
	struct slu_mover *m = data;

	if (m->device->backend->thread_begin)
		m->device->backend->thread_begin(m->device->data);
	slu_lock_take(&c->lock);
	while (!m->is_stopping) {
		struct slu_mover_job *j = STAILQ_FIRST(&m->under_way);
		struct slu_piece *p = slu_pipe_oldest(&m->pipe);
		/* the oldest piece is of the first move that has any */
		bool has_piece = p && p->move == &j->move;

		if (has_piece && p->is_ready)
			reap(c, m, j, p);
		else if (!has_piece && j && j->is_fed)
			finish(c, m, j);
		else
			slu_lock_wait(&c->lock, &m->wake, NULL);
	}
	slu_lock_give(&c->lock);
	return NULL;
}

/* -- start and stop -----------------------------------------------------------------------------
 */

static int start_thread(pthread_t *ret_thread, void *(*run)(void *), struct slu_mover *m, char what)
{
	char name[16];

	snprintf(name, sizeof(name), "sluice-%s-%u%c",
		 m->direction == SLU_DIRECTION_IN ? "in" : "out", m->device->index % 10, what);
	return slu_client_thread(ret_thread, run, m, name);
}

static void stop(struct slu_client *c, struct slu_mover *m, unsigned n_threads)
{
	slu_lock_take(&c->lock);
	m->is_stopping = true;
	pthread_cond_broadcast(&m->wake);
	slu_lock_give(&c->lock);
	for (unsigned i = 0; i < n_threads; i++)
		pthread_join(m->threads[i], NULL);
	pthread_cond_destroy(&m->wake);
}

int slu_mover_start(struct slu_mover *m, struct slu_client_device *device,
		    enum slu_direction direction)
{
	pthread_condattr_t attributes;
	int r;

	m->device = device;
	m->direction = direction;
	STAILQ_INIT(&m->queue);
	STAILQ_INIT(&m->under_way);
	STAILQ_INIT(&m->spare);
	for (unsigned i = 0; i < SLU_PEER_MOVES_MAX; i++)
		STAILQ_INSERT_TAIL(&m->spare, &m->jobs[i], link);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&m->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	r = start_thread(&m->threads[0], run_feeder, m, 'a');
	if (r) {
		stop(&slu_client_global, m, 0);
		return slu_fold(r);
	}
	r = start_thread(&m->threads[1], run_reaper, m, 'b');
	if (r)
		stop(&slu_client_global, m, 1);
	return slu_fold(r);
}

void slu_mover_stop(struct slu_mover *m)
{
	stop(&slu_client_global, m, SLU_ARRAY_SIZE(m->threads));
	assert(STAILQ_EMPTY(&m->queue) && STAILQ_EMPTY(&m->under_way));
}

void slu_mover_push(struct slu_mover *m, struct slu_client_unit *w)
{
	STAILQ_INSERT_TAIL(&m->queue, w, link);
	m->n_queued++;
	pthread_cond_broadcast(&m->wake);
}
