/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/flight.h"

#include "base/clock.h"
#include "base/util.h"
#include "cuda/device.h"
#include "cuda/real.h"

#define TARGET_NS (10 * SLU_NS_PER_MS)
/* long kernels may follow short ones, and so many of them are queued before we know */
#define LIMIT_MAX 64
/* of the tiniest, which cost more by waiting for them than they take */
#define LIMIT_TINY    256
#define TINY_NS	      (10 * SLU_NS_PER_US)
#define LIMIT_UNKNOWN 2
#define N_SPREAD      16
/* what was longer ago than this counts half */
#define N_CARRIED_MAX 32
#define BUSY_MAX_NS   (8 * TARGET_NS)

void slu_cuda_flight_init(struct slu_cuda_flight *f)
{
	*f = (struct slu_cuda_flight){ .limit = LIMIT_UNKNOWN };
	slu_lock_init(&f->lock, SLU_LOCK_LEAF);
	while (f->n_spare < SLU_FLIGHT_MARKS &&
	       SLU_REAL(cuEventCreate)(&f->spare[f->n_spare],
				       CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC) ==
		       CUDA_SUCCESS)
		f->n_spare++;
	if (!f->n_spare)
		f->limit = UINT32_MAX;
}

void slu_cuda_flight_deinit(struct slu_cuda_flight *f)
{
	for (unsigned i = 0; i < f->n_spare; i++)
		SLU_REAL(cuEventDestroy_v2)(f->spare[i]);
	for (unsigned i = 0; i < f->n_marks; i++)
		SLU_REAL(cuEventDestroy_v2)(f->marks[(f->first + i) % SLU_FLIGHT_MARKS].event);
	slu_lock_deinit(&f->lock);
}

void slu_cuda_flight_mark(struct slu_cuda_device *device, CUstream stream)
{
	struct slu_cuda_flight *f = &device->flight;
	struct slu_cuda_mark mark = { .stream = stream };
	uint64_t now_ns = slu_clock_now_ns();
	CUstreamCaptureMode before;
	CUresult r;

	/* in a capture a record would become a node of the program's graph */
	if (atomic_load(&device->n_capturing))
		return;
	slu_lock_take(&f->lock);
	mark.n_launches = atomic_load(&f->n_launched);
	mark.since_ns = f->marked_ns;
	f->marked_ns = now_ns;
	f->n_spread = f->stream == stream ? slu_sub_floor(f->n_spread, 1) : N_SPREAD;
	f->stream = stream;
	atomic_store(&f->n_marked, mark.n_launches);
	if (f->n_spare)
		mark.event = f->spare[--f->n_spare];
	slu_lock_give(&f->lock);
	if (!mark.event)
		return;
	before = slu_cuda_relax();
	r = SLU_REAL(cuEventRecord)(mark.event, stream);
	slu_cuda_unrelax(before);
	slu_lock_take(&f->lock);
	if (r == CUDA_SUCCESS)
		f->marks[(f->first + f->n_marks++) % SLU_FLIGHT_MARKS] = mark;
	else
		f->spare[f->n_spare++] = mark.event;
	slu_lock_give(&f->lock);
}

static uint32_t limit_of(const struct slu_cuda_flight *f)
{
	uint64_t n = f->cost_ns ? TARGET_NS / f->cost_ns : LIMIT_MAX;

	n = SLU_MAX(n, f->n_spread ? UINT64_C(2) : UINT64_C(1));
	return (uint32_t)SLU_MIN(n, f->cost_ns && f->cost_ns <= TINY_NS ? (uint64_t)LIMIT_TINY
									: (uint64_t)LIMIT_MAX);
}

void slu_cuda_flight_learn(struct slu_cuda_flight *f, const struct slu_cuda_mark *mark,
			   uint64_t came_ns, bool is_exact)
{
	uint64_t n_ended = atomic_load(&f->n_ended), n, took_ns;

	/* marks of several streams may come in another order: this one tells nothing new */
	if (mark->n_launches <= n_ended)
		return;
	n = mark->n_launches - n_ended;
	took_ns = slu_sub_floor(came_ns, SLU_MAX(f->came_ns, mark->since_ns));
	/* one that had come before we looked may have come long before */
	if (is_exact || !f->n_carried || took_ns <= n * f->cost_ns) {
		f->busy_ns += took_ns;
		f->n_carried += n;
		f->cost_ns = f->busy_ns / f->n_carried;
	}
	if (f->n_carried > N_CARRIED_MAX || f->busy_ns > BUSY_MAX_NS) {
		f->busy_ns /= 2;
		f->n_carried = (f->n_carried + 1) / 2;
	}
	f->came_ns = came_ns;
	atomic_store(&f->n_ended, mark->n_launches);
	atomic_store(&f->limit, limit_of(f));
}

/* The mark has come; @waited tells whether it was still under way when we looked. */
static void retire(struct slu_cuda_flight *f, const struct slu_cuda_mark *mark, bool waited)
{
	slu_lock_take(&f->lock);
	f->spare[f->n_spare++] = mark->event;
	slu_cuda_flight_learn(f, mark, slu_clock_now_ns(), waited);
	slu_lock_give(&f->lock);
}

static bool take_oldest(struct slu_cuda_flight *f, struct slu_cuda_mark *ret_mark)
{
	bool has_mark;

	slu_lock_take(&f->lock);
	has_mark = f->n_marks > 0;
	if (has_mark) {
		*ret_mark = f->marks[f->first];
		f->first = (f->first + 1) % SLU_FLIGHT_MARKS;
		f->n_marks--;
	}
	slu_lock_give(&f->lock);
	return has_mark;
}

static void wait_for(struct slu_cuda_flight *f, struct slu_cuda_mark mark)
{
	CUstreamCaptureMode before = slu_cuda_relax();
	bool waited;

	waited = SLU_REAL(cuEventQuery)(mark.event) == CUDA_ERROR_NOT_READY;
	if (waited)
		SLU_REAL(cuEventSynchronize)(mark.event);
	slu_cuda_unrelax(before);
	retire(f, &mark, waited);
}

void slu_cuda_flight_wait(struct slu_cuda_device *device)
{
	struct slu_cuda_flight *f = &device->flight;
	struct slu_cuda_mark mark;

	if (atomic_load(&device->n_capturing))
		return;
	/* without a mark: other threads wait for them, or none could be recorded */
	while (slu_cuda_flight_is_full(f) && take_oldest(f, &mark))
		wait_for(f, mark);
}

bool slu_cuda_flight_look(struct slu_cuda_device *device)
{
	struct slu_cuda_flight *f = &device->flight;
	struct slu_cuda_mark mark;
	CUstreamCaptureMode before;
	bool is_under_way;

	if (atomic_load(&device->n_capturing) || !take_oldest(f, &mark))
		return false;
	before = slu_cuda_relax();
	is_under_way = SLU_REAL(cuEventQuery)(mark.event) == CUDA_ERROR_NOT_READY;
	slu_cuda_unrelax(before);
	if (!is_under_way) {
		retire(f, &mark, false);
		return false;
	}
	slu_lock_take(&f->lock);
	f->first = (f->first + SLU_FLIGHT_MARKS - 1) % SLU_FLIGHT_MARKS;
	f->marks[f->first] = mark;
	f->n_marks++;
	slu_lock_give(&f->lock);
	return true;
}
