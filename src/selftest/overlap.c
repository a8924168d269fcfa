/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Moves while the device works. A host function keeps a stream busy; meanwhile memory comes, is
 * copied and goes, and kernels queue up behind it. A call that waits for the stream would wait for
 * ever: a thread lets the host function return after a while, and the answer is no.
 */

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/util.h"
#include "selftest/selftest.h"

#define PATIENCE_S    5
#define LAUNCHES_MAX  4096
#define LAUNCHES_KEPT 512 /* as many are in flight at most (cuda/flight.h) */

#define MOVES_WHAT "memory comes and goes while a stream is busy"
#define MOVES_THEN "Memory moves only between turns: nothing arrives ahead of a switch."
#define QUEUE_WHAT "launches that can be queued before a call waits"
#define QUEUE_THEN "A program may wait in a launch while its turn ends, and delay the switch."

struct overlap {
	struct slu_selftest *test;
	CUstream busy, other;
	sem_t release, end;
	atomic_bool is_released; /* the stream goes on because a call took too long */
};

static void host_function(void *data)
{
	struct overlap *o = data;

	while (sem_wait(&o->release) && errno == EINTR)
		;
}

/* Ends the wait of a call that waits for the host function. */
static void *watch(void *data)
{
	struct overlap *o = data;
	struct timespec until;
	int r;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	while ((r = sem_timedwait(&o->end, &until)) && errno == EINTR)
		;
	if (r)
		atomic_store(&o->is_released, true);
	sem_post(&o->release);
	return NULL;
}

static CUresult moves_try(struct overlap *o, void *host)
{
	struct slu_selftest *t = o->test;
	struct slu_selftest_memory m = { 0 };
	CUresult r = slu_selftest_memory_make(t, t->granule_bytes, &m);

	if (r == CUDA_SUCCESS)
		r = t->driver.cuMemcpyHtoDAsync_v2(m.address, host, m.bytes, o->other);
	if (r == CUDA_SUCCESS)
		r = t->driver.cuStreamSynchronize(o->other);
	if (r == CUDA_SUCCESS)
		r = slu_selftest_memory_displace(t, &m);
	if (m.address)
		slu_selftest_memory_free(t, &m);
	return r;
}

static CUresult launches_try(struct overlap *o, CUfunction add, CUdeviceptr words)
{
	CUresult r = CUDA_SUCCESS;
	unsigned n = 0;

	while (n < LAUNCHES_MAX && r == CUDA_SUCCESS && !atomic_load(&o->is_released)) {
		r = slu_selftest_kernel_launch(o->test, add, words, 1, o->busy);
		n += r == CUDA_SUCCESS && !atomic_load(&o->is_released);
	}
	if (r != CUDA_SUCCESS)
		return r;
	slu_selftest_figure(o->test, "queue.depth", n, SLU_SELFTEST_COUNT,
			    n == LAUNCHES_MAX ? QUEUE_WHAT " (more were not tried)" : QUEUE_WHAT);
	slu_selftest_judge(o->test, "queue", n > LAUNCHES_KEPT,
			   "the launches that Sluice keeps in flight never wait", QUEUE_THEN);
	return CUDA_SUCCESS;
}

/* With the watch running. */
static void overlap_try(struct overlap *o, void *host, CUfunction add, CUdeviceptr words)
{
	CUresult r = moves_try(o, host);

	if (r != CUDA_SUCCESS)
		slu_selftest_fail(o->test, "overlap", r, MOVES_WHAT, MOVES_THEN);
	else
		slu_selftest_judge(o->test, "overlap", !atomic_load(&o->is_released), MOVES_WHAT,
				   MOVES_THEN);
	r = launches_try(o, add, words);
	if (r != CUDA_SUCCESS)
		slu_selftest_fail(o->test, "queue", r, QUEUE_WHAT, QUEUE_THEN);
}

/* What is wanted first, before the stream is busy: loading code may wait for the device. */
static CUresult overlap_prepare(struct overlap *o, struct slu_selftest_memory *m,
				CUfunction *ret_add)
{
	const struct slu_selftest_driver *d = &o->test->driver;
	CUresult r = slu_selftest_memory_make(o->test, o->test->granule_bytes, m);

	if (r == CUDA_SUCCESS)
		r = d->cuStreamCreate(&o->busy, CU_STREAM_NON_BLOCKING);
	if (r == CUDA_SUCCESS)
		r = d->cuStreamCreate(&o->other, CU_STREAM_NON_BLOCKING);
	if (r == CUDA_SUCCESS)
		r = slu_selftest_kernel_load(o->test, ret_add);
	if (r == CUDA_SUCCESS)
		r = slu_selftest_kernel_launch(o->test, *ret_add, m->address, 1, o->busy);
	if (r == CUDA_SUCCESS)
		r = d->cuStreamSynchronize(o->busy);
	return r == CUDA_SUCCESS ? d->cuLaunchHostFunc(o->busy, host_function, o) : r;
}

void slu_selftest_overlap(struct slu_selftest *t)
{
	struct overlap o = { .test = t };
	struct slu_selftest_memory m = { 0 };
	pthread_t watcher;
	CUfunction add;
	void *host;
	CUresult r;

	if (!slu_selftest_open(t, "overlap"))
		return;
	sem_init(&o.release, 0, 0);
	sem_init(&o.end, 0, 0);
	host = calloc(1, t->granule_bytes);
	r = host ? overlap_prepare(&o, &m, &add) : CUDA_ERROR_OUT_OF_MEMORY;
	if (r == CUDA_SUCCESS && pthread_create(&watcher, NULL, watch, &o)) {
		sem_post(&o.release);
		r = CUDA_ERROR_OPERATING_SYSTEM;
	}
	if (r != CUDA_SUCCESS) {
		slu_selftest_fail(t, "overlap", r, MOVES_WHAT, MOVES_THEN);
		return;
	}
	overlap_try(&o, host, add, m.address);
	sem_post(&o.end);
	pthread_join(watcher, NULL);
	t->driver.cuCtxSynchronize();
	free(host);
}
