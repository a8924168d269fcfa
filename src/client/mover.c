/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One thread a direction and device, so that both directions of the bus are used at once. It takes
 * units from its queue in order, moves each (move.h), and tells the peer what came of it.
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

static bool wants_staging(const struct slu_client *c, const struct slu_mover *m)
{
	const struct slu_backend *b = m->device->backend;

	return b->wants_staging && b->pin && b->unpin && !m->staging.chunks[0] &&
	       c->stage == SLU_CLIENT_JOINED;
}

/* Gives back the credit of this mover's chunks. */
static void unstage(struct slu_client *c, uint64_t bytes)
{
	c->staged_bytes -= bytes;
	slu_peer_stage(c->peer, slu_clock_now_ns(), c->staged_bytes);
}

/* Pins the chunks if there is credit for them now; with the lock, which is left meanwhile. */
static void stage(struct slu_client *c, struct slu_mover *m)
{
	uint64_t chunk = chunk_bytes(c);
	uint64_t bytes = chunk * SLU_STAGING_CHUNKS;
	int r;

	if (slu_peer_stage(c->peer, slu_clock_now_ns(), c->staged_bytes + bytes))
		return;
	c->staged_bytes += bytes;
	slu_client_pump(c, slu_clock_now_ns());
	slu_lock_give(&c->lock);
	r = slu_staging_init(&m->staging, m->device->backend, m->device->data, chunk);
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

static void prepare(struct slu_client *c, struct slu_mover *m, struct slu_client_unit *w,
		    struct slu_move *ret_move)
{
	const struct slu_client_device *d = m->device;
	struct slu_unit *u = &w->unit;
	bool is_out = u->moving == SLU_MOVING_OUT;

	/* The device's copy died with its context; what the host has is the truth that is left. */
	if (d->is_dead)
		u->device_version = u->host_version;
	*ret_move = (struct slu_move){
		.backend = d->backend,
		.data = d->data,
		.unit = u,
		.staging = m->staging.chunks[0] ? &m->staging : NULL,
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

static void count(struct slu_client *c, const struct slu_move *move, enum slu_moving moving)
{
	uint64_t bytes = move->has_contents ? move->unit->bytes : 0;

	if (moving == SLU_MOVING_OUT) {
		c->counts.n_moves_out++;
		c->counts.n_clean_out += !move->has_contents;
		c->counts.moved_out_bytes += bytes;
	} else {
		c->counts.n_moves_in++;
		c->counts.moved_in_bytes += bytes;
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

static void move_one(struct slu_client *c, struct slu_mover *m, struct slu_client_unit *w)
{
	enum slu_moving moving = w->unit.moving;
	struct slu_move move;
	bool is_hopeless;
	uint64_t now_ns;
	int r;

	/* An access of the program to the host copy comes to its end first. */
	while (w->n_pins)
		slu_client_wait(c, SLU_PEER_NEVER);
	prepare(c, m, w, &move);
	is_hopeless = (m->device->is_spoilt || m->device->is_dead) && moving != SLU_MOVING_OUT;
	slu_lock_give(&c->lock);
	r = is_hopeless ? -EIO : run(&move, moving);
	if (!r && m->device->backend->placed)
		m->device->backend->placed(m->device->data, &w->unit);
	slu_lock_take(&c->lock);

	now_ns = slu_clock_now_ns();
	c->counts.n_refusals += move.n_refusals;
	if (r)
		note_fault(c, w, r);
	else
		count(c, &move, moving);
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
	struct slu_mover *m = data;

	if (m->device->backend->thread_begin)
		m->device->backend->thread_begin(m->device->data);
	slu_lock_take(&c->lock);
	while (!m->is_stopping) {
		struct slu_client_unit *w;

		if (wants_staging(c, m))
			stage(c, m);
		w = STAILQ_FIRST(&m->queue);
		if (w) {
			STAILQ_REMOVE_HEAD(&m->queue, link);
			move_one(c, m, w);
		} else if (!m->is_stopping) {
			slu_lock_wait(&c->lock, &m->wake, NULL);
		}
	}
	slu_lock_give(&c->lock);
	if (m->staging.chunks[0]) {
		uint64_t bytes = m->staging.chunk_bytes * SLU_STAGING_CHUNKS;

		slu_staging_deinit(&m->staging, m->device->backend, m->device->data);
		slu_lock_take(&c->lock);
		unstage(c, bytes);
		slu_lock_give(&c->lock);
	}
	return NULL;
}

int slu_mover_start(struct slu_mover *m, struct slu_client_device *device,
		    enum slu_direction direction)
{
	char name[16];
	int r;

	m->device = device;
	m->direction = direction;
	STAILQ_INIT(&m->queue);
	pthread_cond_init(&m->wake, NULL);
	snprintf(name, sizeof(name), "sluice-%s-%u", direction == SLU_DIRECTION_IN ? "in" : "out",
		 device->index % 10);
	r = slu_client_thread(&m->thread, work, m, name);
	if (r)
		pthread_cond_destroy(&m->wake);
	return slu_fold(r);
}

void slu_mover_stop(struct slu_mover *m)
{
	slu_lock_take(&slu_client_global.lock);
	m->is_stopping = true;
	pthread_cond_signal(&m->wake);
	slu_lock_give(&slu_client_global.lock);
	pthread_join(m->thread, NULL);
	assert(STAILQ_EMPTY(&m->queue));
	pthread_cond_destroy(&m->wake);
}

void slu_mover_push(struct slu_mover *m, struct slu_client_unit *w)
{
	STAILQ_INSERT_TAIL(&m->queue, w, link);
	pthread_cond_signal(&m->wake);
}
