/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The gate (client/gate.h) as calls of the program enter and leave it, with the slow paths.
 *
 * A capture begins inside the gate, and a program that captures is not drained: every unit stays in
 * place until the capture ends. So a thread that finds the gate shut during a capture passes by it:
 * if it waited, neither the capture nor the turn could end. The thread first counts itself in
 * n_passing, then checks that the capture still goes on; the drain reads the number of captures
 * first and n_passing second. No capture can begin between the two, because it needs the gate.
 */

#include "client/client.h"
#include "cuda/device.h"

extern __thread uint32_t slu_cuda_gate_n_passing __attribute__((__tls_model__("initial-exec")));

/* Waits for the turn. Return: CUDA_SUCCESS inside the gate, else the result of the caller's call.
 */
CUresult slu_cuda_gate_enter_slow(struct slu_cuda_device *device);

static inline CUresult slu_cuda_gate_enter(struct slu_cuda_device *device)
{
	return slu_gate_try_enter(device->index) ? CUDA_SUCCESS : slu_cuda_gate_enter_slow(device);
}

void slu_cuda_gate_leave_slow(struct slu_cuda_device *device);

static inline void slu_cuda_gate_leave(struct slu_cuda_device *device)
{
	if (__builtin_expect(slu_cuda_gate_n_passing, 0))
		slu_cuda_gate_leave_slow(device);
	else
		slu_client_leave();
}

/*
 * Waits, outside the gate, until less is in flight. It stops waiting for work behind a host
 * function, or behind a wait of its stream, that has lasted for a while: these may wait for this
 * thread, which the driver alone would let go on.
 */
void slu_cuda_gate_wait_for_flight(struct slu_cuda_device *device);

/* Waits outside the gate until everything in @stream has ended. */
void slu_cuda_gate_wait_outside(struct slu_cuda_device *device, CUstream stream);
