/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/syncer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/lock.h"
#include "client/backend.h"
#include "cuda/device.h"
#include "cuda/real.h"

struct slu_cuda_syncer {
	struct slu_lock lock;
	pthread_cond_t wake;
	pthread_t thread;
	struct slu_cuda_device *device; /* constant */
	CUcontext service;		/* constant */
	CUcontext now;			/* guarded by lock: the one that is being waited for */
	bool is_wanted;			/* guarded by lock: a wait is asked for or under way */
	uint64_t asked;			/* guarded by lock: the count that the wait covers */
	uint64_t covered;		/* guarded by lock: the count that the last one covered */
	bool is_lost;			/* guarded by lock */
	bool is_ending;			/* guarded by lock */
};

/* The next context of the device after @n of them, entered; NULL behind the last. */
static CUcontext syncer_enter_next(struct slu_cuda_syncer *s, unsigned n)
{
	CUcontext context = NULL;

	/* both locks: a context that leaves the list is either not taken or seen to be taken */
	slu_lock_take(&slu_cuda.lock);
	slu_lock_take(&s->lock);
	for (unsigned i = 0; i < slu_cuda.n_contexts && !context; i++)
		if (slu_cuda.contexts[i].ordinal == s->device->ordinal && !n--)
			context = slu_cuda.contexts[i].context;
	s->now = context;
	slu_lock_give(&s->lock);
	slu_lock_give(&slu_cuda.lock);
	return context;
}

/* Waits for every context. Return: whether the service context is alive. */
static bool syncer_wait_all(struct slu_cuda_syncer *s)
{
	CUresult r = CUDA_SUCCESS;
	CUcontext context;

	for (unsigned n = 0; (context = syncer_enter_next(s, n)); n++) {
		CUresult answer;

		SLU_REAL(cuCtxSetCurrent)(context);
		answer = SLU_REAL(cuCtxSynchronize)();
		/* nothing runs in a dead context, and we need only the service context */
		if (context == s->service)
			r = answer;
		slu_lock_take(&s->lock);
		s->now = NULL;
		pthread_cond_broadcast(&s->wake);
		slu_lock_give(&s->lock);
	}
	return r == CUDA_SUCCESS;
}

static void *syncer_run(void *data)
{
	struct slu_cuda_syncer *s = data;
	CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
	struct slu_cuda_streams *uses = &s->device->stream_uses;
	uint32_t n_services;
	uint64_t number;
	bool is_alive;

	pthread_setname_np(pthread_self(), "sluice-sync");
	SLU_REAL(cuCtxSetCurrent)(s->service);
	SLU_REAL(cuThreadExchangeStreamCaptureMode)(&relaxed);
	slu_lock_take(&s->lock);
	for (;;) {
		while (!s->is_wanted && !s->is_ending)
			slu_lock_wait(&s->lock, &s->wake, NULL);
		if (s->is_ending)
			break;
		slu_lock_give(&s->lock);
		n_services = atomic_load(&uses->n_services);
		number = atomic_load(&s->device->flight.n_launched);
		is_alive = syncer_wait_all(s);
		slu_cuda_streams_rest(uses, n_services, number);
		slu_lock_take(&s->lock);
		s->is_wanted = false;
		s->covered = s->asked;
		s->is_lost = !is_alive;
	}
	slu_lock_give(&s->lock);
	return NULL;
}

int slu_cuda_syncer_new(struct slu_cuda_device *device, CUcontext service,
			struct slu_cuda_syncer **ret_syncer)
{
	struct slu_cuda_syncer *s = calloc(1, sizeof(*s));
	sigset_t all, before;
	int r;

	if (!s)
		return slu_error(-ENOMEM);
	slu_lock_init(&s->lock, SLU_LOCK_BACKEND);
	pthread_cond_init(&s->wake, NULL);
	s->device = device;
	s->service = service;
	s->covered = UINT64_MAX;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&s->thread, NULL, syncer_run, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r) {
		slu_lock_deinit(&s->lock);
		pthread_cond_destroy(&s->wake);
		free(s);
		return slu_error(-r);
	}
	*ret_syncer = s;
	return 0;
}

void slu_cuda_syncer_free(struct slu_cuda_syncer *syncer)
{
	if (!syncer)
		return;
	slu_lock_take(&syncer->lock);
	syncer->is_ending = true;
	pthread_cond_broadcast(&syncer->wake);
	slu_lock_give(&syncer->lock);
	pthread_join(syncer->thread, NULL);
	slu_lock_deinit(&syncer->lock);
	pthread_cond_destroy(&syncer->wake);
	free(syncer);
}

int slu_cuda_syncer_poll(struct slu_cuda_syncer *syncer, uint64_t entries)
{
	int r = SLU_BACKEND_E_BUSY;

	slu_lock_take(&syncer->lock);
	if (syncer->is_lost) {
		r = SLU_BACKEND_E_LOST;
	} else if (syncer->covered == entries && !syncer->is_wanted) {
		r = 0;
	} else if (!syncer->is_wanted) {
		syncer->is_wanted = true;
		syncer->asked = entries;
		pthread_cond_broadcast(&syncer->wake);
	}
	slu_lock_give(&syncer->lock);
	return r;
}

void slu_cuda_syncer_leave(struct slu_cuda_syncer *syncer, CUcontext context)
{
	slu_lock_take(&syncer->lock);
	while (syncer->now == context)
		slu_lock_wait(&syncer->lock, &syncer->wake, NULL);
	slu_lock_give(&syncer->lock);
}
