/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each direction of each device has a queue and threads of its own, so that both directions of the
 * bus are used at once. A thread takes the next unit, moves it (move.h), and tells the peer what
 * came of it.
 *
 * Two threads a direction (lanes): between the last chunk of a unit and the first of the next one
 * lie the processor's copy, the driver's calls and the protocol. With a second unit under way the
 * bus does not stand still meanwhile, also where a unit is one chunk. How many moves there are at
 * once is the peer's decision; a lane without one sleeps.
 *
 * What is copied is decided when the move starts: a unit whose host copy is current is only given
 * up. While bytes go into a host copy it counts as unwritten (version 0), for it is neither the
 * old nor the new one.
 */

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "client/checksum.h"
#include "client/instance.h"
#include "client/log.h"
#include "client/move.h"
#include "client/tiers.h"

#define CHUNK_BYTES	(2 * SLU_MIB) /* where the daemon says nothing */
#define CHUNK_MIN_BYTES (4 * SLU_KIB)

static uint64_t chunk_bytes(const struct slu_client *c)
{
	uint64_t bytes = slu_peer_settings(c->peer)->chunk_bytes;

	return bytes ? slu_round_up(SLU_MAX(bytes, CHUNK_MIN_BYTES), CHUNK_MIN_BYTES) : CHUNK_BYTES;
}

/* -- pinned chunks ---------------------------------------------------------------------------- */

static bool wants_staging(const struct slu_client *c, const struct slu_mover_lane *l)
{
	const struct slu_backend *b = l->mover->device->backend;

	return b->wants_staging && b->pin && b->unpin && !l->staging.chunks[0] &&
	       c->stage == SLU_CLIENT_JOINED;
}

/* Gives back the credit of a lane's chunks. */
static void unstage(struct slu_client *c, uint64_t bytes)
{
	c->staged_bytes -= bytes;
	slu_peer_stage(c->peer, slu_clock_now_ns(), c->staged_bytes);
}

/*
 * Pins the chunks if there is credit for them now; with the lock, which is left meanwhile. The
 * lanes share what a direction has.
 */
static void stage(struct slu_client *c, struct slu_mover_lane *l)
{
	const struct slu_client_device *d = l->mover->device;
	uint64_t chunk = slu_round_up(chunk_bytes(c) / SLU_MOVER_LANES, CHUNK_MIN_BYTES);
	uint64_t bytes = chunk * SLU_STAGING_CHUNKS;
	int r;

	if (slu_peer_stage(c->peer, slu_clock_now_ns(), c->staged_bytes + bytes))
		return;
	c->staged_bytes += bytes;
	slu_client_pump(c, slu_clock_now_ns());
	slu_lock_give(&c->lock);
	r = slu_staging_init(&l->staging, d->backend, d->data, chunk);
	slu_lock_take(&c->lock);
	if (r)
		unstage(c, bytes);
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

static void prepare(struct slu_client *c, struct slu_mover_lane *l, struct slu_client_unit *w,
		    struct slu_move *ret_move)
{
	const struct slu_client_device *d = w->device;
	struct slu_unit *u = &w->unit;
	bool is_out = u->moving == SLU_MOVING_OUT;

	/* The device's copy died with its context; what the host has is the truth that is left. */
	if (d->is_dead)
		u->device_version = u->host_version;
	*ret_move = (struct slu_move){
		.backend = d->backend,
		.data = d->data,
		.unit = u,
		.staging = l->staging.chunks[0] ? &l->staging : NULL,
		.chunk_bytes = chunk_bytes(c),
		.has_contents = is_out ? !slu_unit_is_clean(u) : u->host_version > 0,
		.wants_settle = d->mode == SLU_MODE_LAUNCH && !d->is_dead,
		.wants_sum = slu_peer_settings(c->peer)->checksum_moves,
		.is_cancelled = is_cancelled,
		.cancel_data = w,
		.host = u->host,
		.mapped = w->mapped,
		.sum = w->sum,
		.has_sum = w->has_sum,
	};
	if (is_out && ret_move->has_contents)
		u->host_version = 0;
}

static int run(struct slu_move *move, enum slu_moving moving)
{
	switch (moving) {
	case SLU_MOVING_OUT:
		return slu_move_out(move);
	case SLU_MOVING_MAP:
		return move->backend->map ? slu_move_map(move) : slu_error(-ENOTSUP);
	default:
		return slu_move_in(move);
	}
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
	default:
		return SLU_MOVE_FAILED;
	}
}

static void count(struct slu_client *c, struct slu_client_device *d, const struct slu_move *move,
		  enum slu_moving moving)
{
	uint64_t bytes = move->has_contents ? move->unit->bytes : 0;

	if (moving == SLU_MOVING_OUT) {
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
static void note_fault(struct slu_client *c, struct slu_client_unit *w, int r)
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
	} else if (r == SLU_MOVE_E_BLOCKED) {
		d->is_blocked = true;
		d->look_ns = 0;
	} else if (r < 0 && !d->is_spoilt && !d->is_dead) {
		slu_client_log("device %u: a move failed: %s, trying again", d->index,
			       strerror(-r));
	}
}

/* After the peer knows: what the tiers keep of the unit now. */
static void settle_copies(struct slu_client_unit *w, const struct slu_move *move,
			  enum slu_moving moving, bool is_done)
{
	struct slu_unit *u = &w->unit;

	u->host = move->host;
	w->mapped = move->mapped;
	w->sum = move->sum;
	w->has_sum = move->has_sum;
	if (!is_done)
		return;
	if (moving == SLU_MOVING_IN)
		w->is_made = true;
	if (moving == SLU_MOVING_MAP) {
		/* The mapped bytes are the host copy now; two would be one too many. */
		slu_tiers_put(u->host, u->bytes);
		u->host = NULL;
		u->host_version = 0;
		w->has_sum = false;
	}
}

static void move_one(struct slu_client *c, struct slu_mover_lane *l, struct slu_client_unit *w)
{
	struct slu_client_device *d = w->device;
	enum slu_moving moving = w->unit.moving;
	struct slu_move move;
	bool is_hopeless;
	uint64_t now_ns;
	int r;

	/* An access of the program to the host copy comes to its end first. */
	while (w->n_pins)
		slu_client_wait(c, SLU_PEER_NEVER);
	prepare(c, l, w, &move);
	is_hopeless = (d->is_spoilt || d->is_dead) && moving != SLU_MOVING_OUT;
	slu_lock_give(&c->lock);
	r = is_hopeless ? -EIO : run(&move, moving);
	if (!r && d->backend->placed)
		d->backend->placed(d->data, &w->unit);
	slu_lock_take(&c->lock);

	now_ns = slu_clock_now_ns();
	c->counts.n_refusals += move.n_refusals;
	if (r)
		note_fault(c, w, r);
	else
		count(c, d, &move, moving);
	slu_peer_moved(c->peer, now_ns, &w->unit, result_of(r));
	settle_copies(w, &move, moving, !r);
	if (w->is_dying)
		slu_client_unit_retire(c, w);
	pthread_cond_broadcast(&c->changed);
	slu_client_pump(c, now_ns);
}

/* -- the thread ---------------------------------------------------------------------------------
 */

static void *work(void *data)
{
	struct slu_client *c = &slu_client_global;
	struct slu_mover_lane *l = data;
	struct slu_mover *m = l->mover;
	struct slu_client_device *d = m->device;

	if (d->backend->thread_begin)
		d->backend->thread_begin(d->data);
	slu_lock_take(&c->lock);
	while (!m->is_stopping) {
		struct slu_client_unit *w;

		if (wants_staging(c, l))
			stage(c, l);
		w = STAILQ_FIRST(&m->queue);
		if (w) {
			STAILQ_REMOVE_HEAD(&m->queue, link);
			move_one(c, l, w);
		} else if (!m->is_stopping) {
			slu_lock_wait(&c->lock, &m->wake, NULL);
		}
	}
	slu_lock_give(&c->lock);
	if (l->staging.chunks[0]) {
		uint64_t bytes = l->staging.chunk_bytes * SLU_STAGING_CHUNKS;

		slu_staging_deinit(&l->staging, d->backend, d->data);
		slu_lock_take(&c->lock);
		unstage(c, bytes);
		slu_lock_give(&c->lock);
	}
	return NULL;
}

static void stop_lanes(struct slu_mover *m, unsigned n_lanes)
{
	slu_lock_take(&slu_client_global.lock);
	m->is_stopping = true;
	pthread_cond_broadcast(&m->wake);
	slu_lock_give(&slu_client_global.lock);
	for (unsigned i = 0; i < n_lanes; i++)
		pthread_join(m->lanes[i].thread, NULL);
	pthread_cond_destroy(&m->wake);
}

int slu_mover_start(struct slu_mover *m, struct slu_client_device *device,
		    enum slu_direction direction)
{
	const char *way = direction == SLU_DIRECTION_IN ? "in" : "out";

	m->device = device;
	m->direction = direction;
	STAILQ_INIT(&m->queue);
	pthread_cond_init(&m->wake, NULL);
	for (unsigned i = 0; i < SLU_MOVER_LANES; i++) {
		struct slu_mover_lane *l = &m->lanes[i];
		char name[16];
		int r;

		l->mover = m;
		snprintf(name, sizeof(name), "sluice-%s-%u%c", way, device->index % 10,
			 (char)('a' + i));
		r = slu_client_thread(&l->thread, work, l, name);
		if (r) {
			stop_lanes(m, i);
			return slu_fold(r);
		}
	}
	return 0;
}

void slu_mover_stop(struct slu_mover *m)
{
	stop_lanes(m, SLU_MOVER_LANES);
	assert(STAILQ_EMPTY(&m->queue));
}

void slu_mover_push(struct slu_mover *m, struct slu_client_unit *w)
{
	STAILQ_INSERT_TAIL(&m->queue, w, link);
	pthread_cond_signal(&m->wake);
}
