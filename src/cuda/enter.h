/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The way into the gate for calls of the program, where it is not simply open.
 *
 * A capture is begun inside the gate, and a program that captures is not drained: as long as one is
 * under way every unit stays in place. So a thread that finds the gate shut during a capture goes
 * by it: were it to wait, the capture could not end, nor the turn. It publishes itself in n_passing
 * first, then looks whether the capture is still there; the drain looks at the captures first and
 * at n_passing then. No capture can begin between the two, because that takes the gate.
 */

#include "client/client.h"
#include "cuda/device.h"

extern __thread uint32_t slu_cuda_n_by_the_gate __attribute__((__tls_model__("initial-exec")));

/* Waits for the turn. Return: CUDA_SUCCESS inside, else what the call answers. */
CUresult slu_cuda_enter_slow(struct slu_cuda_device *device);

static inline CUresult slu_cuda_enter(struct slu_cuda_device *device)
{
	return slu_gate_try_enter(device->index) ? CUDA_SUCCESS : slu_cuda_enter_slow(device);
}

void slu_cuda_leave_slow(struct slu_cuda_device *device);

static inline void slu_cuda_leave(struct slu_cuda_device *device)
{
	if (__builtin_expect(slu_cuda_n_by_the_gate, 0))
		slu_cuda_leave_slow(device);
	else
		slu_client_leave();
}

/*
 * Waits, outside the gate, until less is in flight. It stops waiting for work behind a host
 * function, or behind a wait of its stream, that has lasted for a while: these may wait for this
 * thread, which the driver alone would let go on.
 */
void slu_cuda_wait_for_flight(struct slu_cuda_device *device);

/* Waits until everything in @stream has ended, without being inside. */
void slu_cuda_wait_outside(struct slu_cuda_device *device, CUstream stream);
