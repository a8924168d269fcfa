/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/gate.h"

#include <errno.h>
#include <time.h>

#include "cuda/capture.h"
#include "cuda/real.h"

/* Under the depth at which calls block inside the driver, and the gate with them. */
#define DEPTH_MAX 768

#define LOOK_NS 200000

__thread uint32_t slu_cuda_gate_n_passing;

static bool gate_pass_by(struct slu_cuda_device *device)
{
	if (!atomic_load(&device->n_capturing))
		return false;
	atomic_fetch_add(&device->n_passing, 1);
	if (atomic_load(&device->n_capturing)) {
		slu_cuda_gate_n_passing++;
		return true;
	}
	atomic_fetch_sub(&device->n_passing, 1);
	return false;
}

CUresult slu_cuda_gate_enter_slow(struct slu_cuda_device *device)
{
	int r;

	if (gate_pass_by(device))
		return CUDA_SUCCESS;
	r = slu_client_enter_slow(device->client);
	if (r == SLU_CLIENT_E_NO_MEMORY && slu_cuda_hasher_yield(device))
		r = slu_client_enter_slow(device->client);
	if (!r)
		return CUDA_SUCCESS;
	/* lost contents are no lack of memory */
	return r == SLU_CLIENT_E_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
}

void slu_cuda_gate_leave_slow(struct slu_cuda_device *device)
{
	slu_cuda_gate_n_passing--;
	slu_gate_unvouch();
	atomic_fetch_add(&device->n_passed, 1);
	atomic_fetch_sub(&device->n_passing, 1);
}

void slu_cuda_gate_wait_for_flight(struct slu_cuda_device *device)
{
	struct slu_cuda_flight *f = &device->flight;
	const struct slu_cuda_streams *s = &device->stream_uses;
	struct timespec pause = { .tv_nsec = LOOK_NS };

	if ((!atomic_load(&s->n_host_calls) && !atomic_load(&s->has_nodes)) ||
	    atomic_load(&f->n_launched) - atomic_load(&f->n_ended) >= DEPTH_MAX) {
		slu_cuda_flight_wait(device);
		return;
	}
	while (slu_cuda_flight_is_full(f) && slu_cuda_flight_look(device) &&
	       !slu_cuda_waits_for_host(device))
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

/* The call that follows reports an error of the stream. */
void slu_cuda_gate_wait_outside(struct slu_cuda_device *device, CUstream stream)
{
	CUstreamCaptureMode before;

	if (atomic_load(&device->n_capturing) || slu_gate_is_inside())
		return;
	before = slu_cuda_capture_relax();
	SLU_REAL(cuStreamSynchronize)(stream);
	slu_cuda_capture_restore(before);
}
