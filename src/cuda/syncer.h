/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A thread that waits for a device, so that the client's helper can ask without blocking.
 *
 * cuCtxSynchronize() is the only call that covers everything: streams that the program made, the
 * legacy stream, the per-thread streams of other threads (which only these can name), streams of
 * libraries. It blocks as long as a kernel runs or a host function waits; only this thread does.
 * A program may have several contexts on a device, and each may touch what others allocated: all
 * of them are waited for, one after the other.
 *
 * A wait covers what had been submitted when it began. Submissions are counted by the gate
 * (slu_gate_n_entries): a wait that began at that count and has ended covers it, and nothing newer.
 *
 *   RESTED  -> WAITING  [slu_cuda_syncer_poll]  the count asked for is not covered
 *   WAITING -> RESTED   [its thread]            the device had ended it: the count is covered
 *   LOST                                        the service context is dead
 */

#include <stdint.h>

#include "cuabi/cuda-min.h"

struct slu_cuda_device;
struct slu_cuda_syncer;

int slu_cuda_syncer_new(struct slu_cuda_device *device, CUcontext service,
			struct slu_cuda_syncer **ret_syncer);

/* Ends the thread, waiting for the driver's call it is in. */
void slu_cuda_syncer_free(struct slu_cuda_syncer *syncer);

/*
 * Whether everything that was submitted up to the gate's count @entries has ended.
 * Return: 0, SLU_BACKEND_E_BUSY, SLU_BACKEND_E_LOST. Never blocks.
 */
int slu_cuda_syncer_poll(struct slu_cuda_syncer *syncer, uint64_t entries);

/* @context is no longer among the device's and is about to be destroyed: waits until this thread is
 * not in it. */
void slu_cuda_syncer_leave(struct slu_cuda_syncer *syncer, CUcontext context);
