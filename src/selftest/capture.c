/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Moves while a thread of the program captures a graph. In the strictest mode of capture the driver
 * refuses many calls of every thread; threads in relaxed mode, as those of Sluice, are exempt.
 */

#include <pthread.h>

#include "selftest/selftest.h"

#define WHAT "memory comes and goes while the program captures a graph"
#define THEN "A switch waits until the program has finished its capture."

struct mover {
	struct slu_selftest *test;
	CUstream stream;
	CUresult result;
};

/* As a thread of Sluice: relaxed, with the program's context. */
static void *mover_run(void *data)
{
	struct mover *m = data;
	const struct slu_selftest_driver *d = &m->test->driver;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	struct slu_selftest_memory memory = { 0 };
	CUresult r = d->cuCtxSetCurrent(m->test->context);

	if (r == CUDA_SUCCESS)
		r = d->cuThreadExchangeStreamCaptureMode(&mode);
	if (r == CUDA_SUCCESS)
		r = slu_selftest_memory_make(m->test, m->test->granule_bytes, &memory);
	if (r == CUDA_SUCCESS)
		r = d->cuMemsetD32Async(memory.address, 1, memory.bytes / sizeof(uint32_t),
					m->stream);
	if (r == CUDA_SUCCESS)
		r = d->cuStreamSynchronize(m->stream);
	if (memory.address)
		slu_selftest_memory_free(m->test, &memory);
	m->result = r;
	return NULL;
}

static CUresult capture_try(struct slu_selftest *t, CUstream captured, struct mover *m)
{
	const struct slu_selftest_driver *d = &t->driver;
	CUresult r = d->cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
	CUgraph graph = NULL;
	pthread_t thread;

	if (r != CUDA_SUCCESS)
		return r;
	if (pthread_create(&thread, NULL, mover_run, m)) {
		d->cuStreamEndCapture(captured, &graph);
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	pthread_join(thread, NULL);
	r = d->cuStreamEndCapture(captured, &graph);
	if (graph)
		d->cuGraphDestroy(graph);
	slu_selftest_judge(t, "capture", r == CUDA_SUCCESS && m->result == CUDA_SUCCESS, WHAT,
			   THEN);
	return CUDA_SUCCESS;
}

void slu_selftest_capture(struct slu_selftest *t)
{
	struct mover m = { .test = t };
	CUstream captured;
	CUresult r;

	if (!slu_selftest_open(t, "capture"))
		return;
	r = t->driver.cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING);
	if (r == CUDA_SUCCESS)
		r = t->driver.cuStreamCreate(&m.stream, CU_STREAM_NON_BLOCKING);
	if (r == CUDA_SUCCESS)
		r = capture_try(t, captured, &m);
	if (r != CUDA_SUCCESS)
		slu_selftest_fail(t, "capture", r, WHAT, THEN);
}
