/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/flight.h"

#include "base/clock.h"
#include "base/util.h"
#include "cuda/capture.h"
#include "cuda/device.h"
#include "cuda/real.h"

/* long kernels may follow short ones, and so many of them are queued before we know */
#define LIMIT_MAX 64
/* of the tiniest: to wait for fewer costs a good part of what they take */
#define LIMIT_TINY 512
#define TINY_NS	   (20 * SLU_NS_PER_US)
#define N_SPREAD   16

#define EVENT_FLAGS (CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC)

void slu_cuda_flight_init(struct slu_cuda_flight *f, CUcontext service)
{
	*f = (struct slu_cuda_flight){ .limit = SLU_BACKLOG_UNKNOWN, .service = service };
	slu_lock_init(&f->lock, SLU_LOCK_LEAF);
	pthread_cond_init(&f->returned, NULL);
	while (f->n_spare < SLU_FLIGHT_MARKS &&
	       SLU_REAL(cuEventCreate)(&f->spare[f->n_spare], EVENT_FLAGS) == CUDA_SUCCESS)
		f->n_spare++;
	if (!f->n_spare)
		f->limit = UINT32_MAX;
}

void slu_cuda_flight_deinit(struct slu_cuda_flight *f)
{
	for (unsigned i = 0; i < f->n_spare; i++)
		SLU_REAL(cuEventDestroy_v2)(f->spare[i]);
	for (unsigned i = 0; i < f->n_marks; i++) {
		struct slu_cuda_mark *mark = &f->marks[(f->first + i) % SLU_FLIGHT_MARKS];

		SLU_REAL(cuEventDestroy_v2)(mark->event);
		if (mark->own)
			SLU_REAL(cuEventDestroy_v2)(mark->own);
	}
	pthread_cond_destroy(&f->returned);
	slu_lock_deinit(&f->lock);
}

/* -- the queue of marks -------------------------------------------------------------------------
 */

static void flight_push_locked(struct slu_cuda_flight *f, const struct slu_cuda_mark *mark)
{
	f->marks[(f->first + f->n_marks++) % SLU_FLIGHT_MARKS] = *mark;
}

static struct slu_cuda_mark flight_pop_locked(struct slu_cuda_flight *f)
{
	struct slu_cuda_mark mark = f->marks[f->first];

	f->first = (f->first + 1) % SLU_FLIGHT_MARKS;
	f->n_marks--;
	return mark;
}

/* A thread has the mark in its hands: its context must not end meanwhile. */
static void flight_hold_locked(struct slu_cuda_flight *f, const struct slu_cuda_mark *mark)
{
	f->n_foreign += mark->context != NULL;
}

static void flight_release_locked(struct slu_cuda_flight *f, const struct slu_cuda_mark *mark)
{
	if (mark->context && !--f->n_foreign)
		pthread_cond_broadcast(&f->returned);
}

/* Gives the events of @n marks back, which threads had in their hands. */
static void flight_give_back(struct slu_cuda_flight *f, const struct slu_cuda_mark *marks,
			     unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (marks[i].own)
			SLU_REAL(cuEventDestroy_v2)(marks[i].own);
	slu_lock_take(&f->lock);
	for (unsigned i = 0; i < n; i++) {
		f->spare[f->n_spare++] = marks[i].event;
		flight_release_locked(f, &marks[i]);
	}
	slu_lock_give(&f->lock);
}

void slu_cuda_flight_forget(struct slu_cuda_flight *f, CUcontext context)
{
	struct slu_cuda_mark taken[SLU_FLIGHT_MARKS];
	unsigned n_taken = 0;

	slu_lock_take(&f->lock);
	while (f->n_foreign)
		slu_lock_wait(&f->lock, &f->returned, NULL);
	for (unsigned n = f->n_marks; n; n--) {
		struct slu_cuda_mark mark = flight_pop_locked(f);

		if (mark.context == context) {
			flight_hold_locked(f, &mark);
			taken[n_taken++] = mark;
		} else {
			flight_push_locked(f, &mark);
		}
	}
	slu_lock_give(&f->lock);
	flight_give_back(f, taken, n_taken);
}

/* -- learning -----------------------------------------------------------------------------------
 */

static uint32_t flight_limit_of(const struct slu_cuda_flight *f)
{
	uint32_t n = slu_backlog_limit(&f->backlog,
				       f->backlog.cost_ns <= TINY_NS ? LIMIT_TINY : LIMIT_MAX);

	return SLU_MAX(n, f->n_spread ? 2u : 1u);
}

static void flight_learn_locked(struct slu_cuda_flight *f, uint64_t n, uint64_t took_ns,
				bool is_exact)
{
	slu_backlog_learn(&f->backlog, n, took_ns, is_exact);
	atomic_store(&f->limit, flight_limit_of(f));
}

void slu_cuda_flight_learn(struct slu_cuda_flight *f, const struct slu_cuda_mark *mark,
			   uint64_t came_ns, bool is_exact)
{
	uint64_t n_ended = atomic_load(&f->n_ended);

	/* marks of several streams may come in another order: this one tells nothing new */
	if (mark->n_launches <= n_ended)
		return;
	flight_learn_locked(f, mark->n_launches - n_ended,
			    slu_sub_floor(came_ns, SLU_MAX(f->came_ns, mark->since_ns)), is_exact);
	f->came_ns = came_ns;
	atomic_store(&f->n_ended, mark->n_launches);
}

/* A mark is still under way: its launches have taken at least as long as they are out. */
static void flight_learn_late_locked(struct slu_cuda_flight *f, const struct slu_cuda_mark *mark,
				     uint64_t now_ns)
{
	uint64_t n_ended = atomic_load(&f->n_ended);
	uint64_t n = slu_sub_floor(mark->n_launches, n_ended);
	uint64_t took_ns = slu_sub_floor(now_ns, SLU_MAX(f->came_ns, mark->marked_ns));

	if (n && took_ns > SLU_MAX(SLU_BACKLOG_TARGET_NS, n * f->backlog.cost_ns))
		flight_learn_locked(f, n, took_ns, true);
}

/* -- marks --------------------------------------------------------------------------------------
 */

static CUresult flight_record(struct slu_cuda_flight *f, struct slu_cuda_mark *mark)
{
	CUcontext here = NULL;
	CUresult r = SLU_REAL(cuCtxGetCurrent)(&here);

	if (r != CUDA_SUCCESS)
		return r;
	if (here == f->service)
		return SLU_REAL(cuEventRecord)(mark->event, mark->stream);
	r = SLU_REAL(cuEventCreate)(&mark->own, EVENT_FLAGS);
	if (r != CUDA_SUCCESS)
		return r;
	mark->context = here;
	r = SLU_REAL(cuEventRecord)(mark->own, mark->stream);
	if (r == CUDA_SUCCESS)
		return r;
	SLU_REAL(cuEventDestroy_v2)(mark->own);
	mark->own = NULL;
	mark->context = NULL;
	return r;
}

void slu_cuda_flight_mark(struct slu_cuda_device *device, CUstream stream)
{
	struct slu_cuda_flight *f = &device->flight;
	struct slu_cuda_mark mark = { .stream = stream, .marked_ns = slu_clock_now_ns() };
	CUstreamCaptureMode before;
	bool is_late;
	CUresult r;

	/* in a capture a record would become a node of the program's graph */
	if (atomic_load(&device->n_capturing))
		return;
	slu_lock_take(&f->lock);
	mark.n_launches = atomic_load(&f->n_launched);
	/* a program that paused has launched them after its pause */
	mark.since_ns = mark.marked_ns > f->marked_ns + SLU_BACKLOG_TARGET_NS ? mark.marked_ns
									      : f->marked_ns;
	f->marked_ns = mark.marked_ns;
	f->n_spread = f->stream == stream ? slu_sub_floor(f->n_spread, 1) : N_SPREAD;
	f->stream = stream;
	atomic_store(&f->n_marked, mark.n_launches);
	is_late =
		f->n_marks && mark.marked_ns > f->marks[f->first].marked_ns + SLU_BACKLOG_TARGET_NS;
	if (f->n_spare)
		mark.event = f->spare[--f->n_spare];
	slu_lock_give(&f->lock);
	if (mark.event) {
		before = slu_cuda_capture_relax();
		r = flight_record(f, &mark);
		slu_cuda_capture_restore(before);
		slu_lock_take(&f->lock);
		if (r == CUDA_SUCCESS)
			flight_push_locked(f, &mark);
		else
			f->spare[f->n_spare++] = mark.event;
		slu_lock_give(&f->lock);
	}
	if (is_late)
		slu_cuda_flight_look(device);
}

static bool flight_is_under_way(const struct slu_cuda_mark *mark)
{
	return SLU_REAL(cuEventQuery)(mark->own ? mark->own : mark->event) == CUDA_ERROR_NOT_READY;
}

enum look { NO_MARK, HAS_COME, IS_UNDER_WAY };

/* Looks at the oldest mark, and takes it if it has come. */
static enum look flight_look(struct slu_cuda_flight *f)
{
	struct slu_cuda_mark mark;
	CUstreamCaptureMode before;
	bool is_under_way;

	slu_lock_take(&f->lock);
	if (!f->n_marks) {
		slu_lock_give(&f->lock);
		return NO_MARK;
	}
	mark = flight_pop_locked(f);
	flight_hold_locked(f, &mark);
	slu_lock_give(&f->lock);
	before = slu_cuda_capture_relax();
	is_under_way = flight_is_under_way(&mark);
	slu_lock_take(&f->lock);
	if (is_under_way) {
		flight_learn_late_locked(f, &mark, slu_clock_now_ns());
		f->first = (f->first + SLU_FLIGHT_MARKS - 1) % SLU_FLIGHT_MARKS;
		f->marks[f->first] = mark;
		f->n_marks++;
		flight_release_locked(f, &mark);
	} else {
		slu_cuda_flight_learn(f, &mark, slu_clock_now_ns(), false);
	}
	slu_lock_give(&f->lock);
	if (!is_under_way)
		flight_give_back(f, &mark, 1);
	slu_cuda_capture_restore(before);
	return is_under_way ? IS_UNDER_WAY : HAS_COME;
}

bool slu_cuda_flight_look(struct slu_cuda_device *device)
{
	return !atomic_load(&device->n_capturing) && flight_look(&device->flight) == IS_UNDER_WAY;
}

/* -- waiting ------------------------------------------------------------------------------------
 */

/* Takes the oldest marks, up to one behind which only half of the limit is in flight. */
static unsigned flight_take_half(struct slu_cuda_flight *f, struct slu_cuda_mark *ret_marks)
{
	uint64_t n_enough;
	unsigned n = 0;

	slu_lock_take(&f->lock);
	n_enough = slu_sub_floor(atomic_load(&f->n_launched), atomic_load(&f->limit) / 2);
	while (f->n_marks && (!n || ret_marks[n - 1].n_launches < n_enough)) {
		ret_marks[n] = flight_pop_locked(f);
		flight_hold_locked(f, &ret_marks[n++]);
	}
	slu_lock_give(&f->lock);
	return n;
}

/* Whether a later mark of the same stream has come, and thus this one. */
static bool flight_is_covered(const struct slu_cuda_mark *marks, unsigned n, unsigned i)
{
	/* each thread means another stream by this handle */
	if (marks[i].stream == SLU_STREAM_PER_THREAD)
		return false;
	for (unsigned k = i + 1; k < n; k++)
		if (marks[k].stream == marks[i].stream && marks[k].context == marks[i].context)
			return true;
	return false;
}

static void flight_wait_for(struct slu_cuda_flight *f, struct slu_cuda_mark *marks, unsigned n)
{
	CUstreamCaptureMode before = slu_cuda_capture_relax();
	bool has_waited = false;

	for (unsigned i = n; i--;)
		if (!flight_is_covered(marks, n, i) && flight_is_under_way(&marks[i])) {
			SLU_REAL(cuEventSynchronize)(marks[i].own ? marks[i].own : marks[i].event);
			has_waited = true;
		}
	/* the last mark now covers the launches of all of them */
	slu_lock_take(&f->lock);
	marks[n - 1].since_ns = marks[0].since_ns;
	slu_cuda_flight_learn(f, &marks[n - 1], slu_clock_now_ns(), has_waited);
	slu_lock_give(&f->lock);
	flight_give_back(f, marks, n);
	slu_cuda_capture_restore(before);
}

void slu_cuda_flight_wait(struct slu_cuda_device *device)
{
	struct slu_cuda_mark marks[SLU_FLIGHT_MARKS];
	struct slu_cuda_flight *f = &device->flight;
	unsigned n;

	if (atomic_load(&device->n_capturing))
		return;
	while (slu_cuda_flight_is_full(f)) {
		enum look seen = flight_look(f);

		/* other threads wait for them, or none could be recorded */
		if (seen == NO_MARK)
			return;
		if (seen == HAS_COME)
			continue;
		n = flight_take_half(f, marks);
		if (n)
			flight_wait_for(f, marks, n);
	}
}
