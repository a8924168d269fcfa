/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each direction of each device has a queue and two threads, so that both directions of the bus are
 * used at once. The threads of a direction share the moves (move.h) and their pieces (pipe.h), in
 * the order of the queue:
 *
 *   queue ──▶ feeder: begin, cut, feed ──▶ under way on the device ──▶ reaper: reap, end ──▶ peer
 *
 * If the processor copies between pinned memory and host copies, hands help: threads that feed
 * (in) or reap (out) pieces besides the two. There are as many as the measurement found useful.
 *
 * The feeder goes on to the next unit while the device still copies earlier ones. So the copy
 * engine has work as long as there is a unit to move and space in the pinned ring, and neither
 * allocations nor the protocol delay a copy. The peer decides how many moves are under way.
 *
 * A unit whose commands still run (mode LAUNCH) goes back to the peer, which may choose another one
 * that is nearly as good. A patient unit goes to the end of the queue and is tried again.
 */

#include <stdio.h>

#include "base/error.h"
#include "client/contents.h"
#include "client/instance.h"
#include "client/ring.h"
#include "client/shift.h"
#include "client/tiers.h"
#include "client/wait.h"

#define BUSY_PAUSE_MIN_NS (20 * SLU_NS_PER_US)
#define BUSY_PAUSE_MAX_NS SLU_NS_PER_MS
#define REPORT_NS	  SLU_NS_PER_S /* below the smallest useful `fill_deadline` */

/* Return: the result of the move so far; 0 while nothing is wrong. */
static int job_state(const struct slu_mover_job *j)
{
	return !j->r && j->unit->unit.cancel ? SLU_MOVE_E_CANCELLED : j->r;
}

/* -- pieces, by any of the threads of a direction -------------------------------------------------
 */

static struct slu_mover_job *piece_job(const struct slu_piece *p)
{
	return slu_container_of(p->move, struct slu_mover_job, move);
}

/* Return: false while there is none to feed. */
static bool piece_feed(struct slu_client *c, struct slu_mover *m)
{
	struct slu_piece *p = slu_pipe_begin(&m->pipe, SLU_PIECE_CUT);
	struct slu_mover_job *j;

	if (!p)
		return false;
	j = piece_job(p);
	j->r = job_state(j);
	if (j->r) {
		p->stage = SLU_PIECE_REAPED; /* the move has failed: nothing to copy */
	} else {
		slu_lock_give(&c->lock);
		slu_move_piece_feed(p);
		slu_lock_take(&c->lock);
		p->stage = SLU_PIECE_FED;
	}
	pthread_cond_broadcast(&m->wake);
	return true;
}

/* Return: false while there is none to reap. */
static bool piece_reap(struct slu_client *c, struct slu_mover *m)
{
	struct slu_piece *p = slu_pipe_begin(&m->pipe, SLU_PIECE_FED);
	int r;

	if (!p)
		return false;
	slu_lock_give(&c->lock);
	r = slu_move_piece_reap(p);
	slu_lock_take(&c->lock);
	p->r = r;
	p->stage = SLU_PIECE_REAPED;
	pthread_cond_broadcast(&m->wake);
	return true;
}

static int mover_start_thread(pthread_t *ret_thread, void *(*run)(void *), struct slu_mover *m,
			      char what)
{
	char name[16];

	snprintf(name, sizeof(name), "sluice-%s-%u%c",
		 m->direction == SLU_DIRECTION_IN ? "in" : "out", m->device->index % 10, what);
	return slu_client_thread(ret_thread, run, m, name);
}

/* Copies on the side of the host: into the pieces' buffers, or out of them. */
static void *hand_run(void *data)
{
	struct slu_client *c = &slu_client_global;
	struct slu_mover *m = data;
	bool is_in = m->direction == SLU_DIRECTION_IN;

	if (m->device->backend->thread_begin)
		m->device->backend->thread_begin(m->device->data);
	slu_lock_take(&c->lock);
	while (!m->is_stopping)
		if (!(is_in ? piece_feed(c, m) : piece_reap(c, m)))
			slu_lock_wait(&c->lock, &m->wake, NULL);
	slu_lock_give(&c->lock);
	return NULL;
}

/* Only if the processor copies: without staging the device copies from and to the host copy. */
static void hands_adjust(struct slu_client *c, struct slu_mover *m)
{
	if (!m->pipe.staging.host)
		return;
	slu_gauge_begin(c);
	while (m->n_hands + 1 < slu_gauge_threads(c) &&
	       !mover_start_thread(&m->hands[m->n_hands], hand_run, m, (char)('c' + m->n_hands)))
		m->n_hands++;
}

/* -- the feeder ---------------------------------------------------------------------------------
 */

static void job_feed(struct slu_client *c, struct slu_mover *m, struct slu_mover_job *j)
{
	while (!(j->r = job_state(j)) && slu_move_remaining_bytes(&j->move)) {
		if (slu_pipe_put(&m->pipe, &j->move))
			pthread_cond_broadcast(&m->wake);
		else if (!piece_feed(c, m))
			slu_lock_wait(&c->lock, &m->wake, NULL);
	}
	while (piece_feed(c, m))
		;
}

/* -- the speed of copies out, of whole units ------------------------------------------------------
 */

static void job_time_begin(struct slu_mover *m, struct slu_mover_job *j)
{
	j->is_timed = m->direction == SLU_DIRECTION_OUT && !j->r && j->move.has_contents;
	if (j->is_timed)
		slu_speed_begin(&m->device->out_speed, slu_clock_now_ns());
}

static void job_time_end(struct slu_client *c, struct slu_mover *m, const struct slu_mover_job *j,
			 uint64_t now_ns)
{
	struct slu_speed *speed = &m->device->out_speed;

	if (!j->is_timed)
		return;
	slu_speed_end(speed, now_ns, j->move.unit->bytes);
	slu_peer_boundary_set_speed(c->peer, m->device->index, slu_speed_guess_ns(speed, SLU_MIB));
}

/* Return: false if the unit's commands still run. */
static bool job_begin(struct slu_client *c, struct slu_mover *m, struct slu_client_unit *w)
{
	struct slu_client_device *d = w->device;
	struct slu_mover_job *j;
	bool is_hopeless;
	int r = 0;

	/* An access of the program to the host copy ends first. */
	while (w->n_pins)
		slu_client_wait(c, SLU_PEER_NEVER);
	slu_ring_adjust(c, m);
	hands_adjust(c, m);
	j = STAILQ_FIRST(&m->spare);
	STAILQ_REMOVE_HEAD(&m->spare, link);
	j->unit = w;
	j->is_fed = false;
	j->copied_bytes = 0;
	j->told_ns = slu_clock_now_ns();
	slu_contents_prepare(c, w, &j->move);
	is_hopeless = (d->is_spoilt || d->is_dead) && j->move.moving != SLU_MOVING_OUT;
	if (slu_pipe_needs_bounce(&m->pipe, &j->move))
		r = slu_ring_make_bounce(c, m);
	slu_lock_give(&c->lock);
	if (!r)
		r = is_hopeless ? slu_error(-EIO) : slu_move_begin(&j->move);
	slu_lock_take(&c->lock);
	if (j->move.has_compared)
		slu_contents_note_compared(c, w, &j->move);
	if (r == SLU_MOVE_E_BUSY && w->unit.patient && !w->unit.cancel) {
		STAILQ_INSERT_HEAD(&m->spare, j, link);
		return false;
	}
	j->r = r == SLU_MOVE_E_BUSY && w->unit.cancel ? SLU_MOVE_E_CANCELLED : r;
	STAILQ_INSERT_TAIL(&m->under_way, j, link);
	job_time_begin(m, j);
	job_feed(c, m, j);
	j->is_fed = true;
	pthread_cond_broadcast(&m->wake);
	return true;
}

static void mover_pause(struct slu_client *c, struct slu_mover *m, uint64_t ns)
{
	struct timespec until = slu_clock_timespec(slu_clock_now_ns() + ns);

	slu_lock_wait(&c->lock, &m->wake, &until);
}

static void *feeder_run(void *data)
{
	struct slu_client *c = &slu_client_global;
	struct slu_mover *m = data;
	uint64_t pause_ns = BUSY_PAUSE_MIN_NS;
	unsigned n_busy = 0; /* units in a row that went back into the queue */

	if (m->device->backend->thread_begin)
		m->device->backend->thread_begin(m->device->data);
	slu_lock_take(&c->lock);
	while (!m->is_stopping) {
		struct slu_client_unit *w = STAILQ_FIRST(&m->queue);

		if (!w) {
			slu_ring_adjust(c, m);
			if (STAILQ_EMPTY(&m->queue) && !m->is_stopping)
				slu_lock_wait(&c->lock, &m->wake, NULL);
			continue;
		}
		STAILQ_REMOVE_HEAD(&m->queue, link);
		m->n_queued--;
		if (job_begin(c, m, w)) {
			n_busy = 0;
			pause_ns = BUSY_PAUSE_MIN_NS;
			continue;
		}
		slu_mover_push(m, w);
		if (++n_busy >= m->n_queued) {
			n_busy = 0;
			mover_pause(c, m, pause_ns);
			pause_ns = SLU_MIN(pause_ns * 2, BUSY_PAUSE_MAX_NS);
		}
	}
	if (m->pipe.staging.host)
		slu_ring_unstage(c, m);
	slu_lock_give(&c->lock);
	slu_tiers_put(m->pipe.bounce.host, m->pipe.bounce.bytes);
	return NULL;
}

/* -- the reaper ---------------------------------------------------------------------------------
 */

/* A long move reports its progress now and then; most moves end before that. */
static void job_report(struct slu_client *c, struct slu_mover_job *j)
{
	uint64_t now_ns = slu_clock_now_ns();

	if (now_ns - j->told_ns < REPORT_NS)
		return;
	slu_contents_note_part(c, j->unit, &j->move, j->copied_bytes);
	slu_peer_move_copied(c->peer, now_ns, &j->unit->unit, j->copied_bytes);
	j->copied_bytes = 0;
	j->told_ns = now_ns;
	slu_client_pump(c, now_ns);
}

/* The oldest piece has ended. */
static void piece_drop(struct slu_client *c, struct slu_mover *m, const struct slu_piece *p)
{
	struct slu_mover_job *j = piece_job(p);

	if (!j->r)
		j->r = p->r;
	if (!p->r)
		j->copied_bytes += p->bytes;
	slu_pipe_drop(&m->pipe);
	pthread_cond_broadcast(&m->wake);
	job_report(c, j);
}

/* The move has no piece under way and gets none. */
static void job_finish(struct slu_client *c, struct slu_mover *m, struct slu_mover_job *j)
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
	job_time_end(c, m, j, now_ns);
	slu_contents_note_end(c, w, &j->move, r);
	STAILQ_REMOVE_HEAD(&m->under_way, link);
	STAILQ_INSERT_HEAD(&m->spare, j, link);
	slu_peer_move_done(c->peer, now_ns, &w->unit, slu_contents_result(r));
	slu_contents_apply(w, &j->move, !r);
	if (r == SLU_MOVE_E_UNWRITTEN)
		slu_client_shift_disk_failed(c, j->move.disk_error);
	if (w->is_dying)
		slu_client_unit_retire(c, w);
	pthread_cond_broadcast(&c->changed);
	pthread_cond_broadcast(&m->wake);
	slu_client_pump(c, now_ns);
}

static void *reaper_run(void *data)
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

		if (has_piece && p->stage == SLU_PIECE_REAPED)
			piece_drop(c, m, p);
		else if (!has_piece && j && j->is_fed)
			job_finish(c, m, j);
		else if (!piece_reap(c, m))
			slu_lock_wait(&c->lock, &m->wake, NULL);
	}
	slu_lock_give(&c->lock);
	return NULL;
}

/* -- start and stop -----------------------------------------------------------------------------
 */

static void mover_stop(struct slu_client *c, struct slu_mover *m, unsigned n_threads)
{
	slu_lock_take(&c->lock);
	m->is_stopping = true;
	pthread_cond_broadcast(&m->wake);
	slu_lock_give(&c->lock);
	for (unsigned i = 0; i < n_threads; i++)
		pthread_join(m->threads[i], NULL);
	for (unsigned i = 0; i < m->n_hands; i++)
		pthread_join(m->hands[i], NULL);
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
	r = mover_start_thread(&m->threads[0], feeder_run, m, 'a');
	if (r) {
		mover_stop(&slu_client_global, m, 0);
		return slu_fold(r);
	}
	r = mover_start_thread(&m->threads[1], reaper_run, m, 'b');
	if (r)
		mover_stop(&slu_client_global, m, 1);
	return slu_fold(r);
}

void slu_mover_stop(struct slu_mover *m)
{
	mover_stop(&slu_client_global, m, SLU_ARRAY_SIZE(m->threads));
	assert(STAILQ_EMPTY(&m->queue) && STAILQ_EMPTY(&m->under_way));
}

void slu_mover_push(struct slu_mover *m, struct slu_client_unit *w)
{
	STAILQ_INSERT_TAIL(&m->queue, w, link);
	m->n_queued++;
	pthread_cond_broadcast(&m->wake);
}
