/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/flight.h"

#include "base/clock.h"
#include "base/util.h"
#include "cuda/device.h"
#include "cuda/real.h"

#define TARGET_NS (20 * SLU_NS_PER_MS)
#define LIMIT_MIN 2
/* long kernels may follow short ones, and so many of them are queued before we know */
#define LIMIT_MAX 64

void slu_cuda_flight_init(struct slu_cuda_flight *f)
{
	*f = (struct slu_cuda_flight){ .limit = LIMIT_MIN };
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
	struct slu_cuda_mark mark = { .ns = slu_clock_now_ns() };
	CUstreamCaptureMode before;
	CUresult r;

	/* in a capture a record would become a node of the program's graph */
	if (atomic_load(&device->n_capturing))
		return;
	slu_lock_take(&f->lock);
	mark.n_launches = atomic_load(&f->n_launched);
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

/* The mark has come; @waited tells whether it was still under way when we looked. */
static void retire(struct slu_cuda_flight *f, const struct slu_cuda_mark *mark, bool waited)
{
	uint64_t span = slu_clock_now_ns() - mark->ns;
	uint32_t limit = atomic_load(&f->limit);

	slu_lock_take(&f->lock);
	f->spare[f->n_spare++] = mark->event;
	if (mark->n_launches > atomic_load(&f->n_ended))
		atomic_store(&f->n_ended, mark->n_launches);
	if (waited && span > TARGET_NS)
		limit = SLU_MAX(limit / 2, (uint32_t)LIMIT_MIN);
	else if (span < TARGET_NS / 2) /* an old mark that has come tells nothing about the queue */
		limit = SLU_MIN(limit * 2, (uint32_t)LIMIT_MAX);
	atomic_store(&f->limit, limit);
	slu_lock_give(&f->lock);
}

void slu_cuda_flight_wait(struct slu_cuda_device *device)
{
	struct slu_cuda_flight *f = &device->flight;
	struct slu_cuda_mark mark;
	CUstreamCaptureMode before;
	bool waited;

	if (atomic_load(&device->n_capturing))
		return;
	slu_lock_take(&f->lock);
	if (!f->n_marks) {
		/* other threads wait for them, or none could be recorded: nothing to wait for */
		slu_lock_give(&f->lock);
		return;
	}
	mark = f->marks[f->first];
	f->first = (f->first + 1) % SLU_FLIGHT_MARKS;
	f->n_marks--;
	slu_lock_give(&f->lock);
	before = slu_cuda_relax();
	waited = SLU_REAL(cuEventQuery)(mark.event) == CUDA_ERROR_NOT_READY;
	if (waited)
		SLU_REAL(cuEventSynchronize)(mark.event);
	slu_cuda_unrelax(before);
	retire(f, &mark, waited);
}
