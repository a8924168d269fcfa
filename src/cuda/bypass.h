/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Programs that submit work past the gate: through the driver's private tables, which the shim
 * passes on unseen, or by launches from the device itself. Such a kernel can start at any time and
 * must never find its memory away. The shim recognises such a program
 *
 *   - by its streams: all work that the shim knows has ended, no call is under way, and still the
 *     driver reports a busy stream. The shim asks whenever the device seems to be at rest;
 *   - by a graph that it instantiates for launches from the device.
 *
 * From then on its memory stays on the device, frozen with that reason, charged and shown. Memory
 * that was away at that moment comes back with the program's next turn, and a later allocation
 * waits for a turn, so that it is made on the device.
 *
 * Work in the per-thread streams of other threads stays unseen: no thread can ask about the streams
 * of another one. Kernels that a kernel launches end before it, and are waited for with it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct slu_cuda_device;

/*
 * Calls that leave something in a stream without the gate are counted when they begin and when they
 * have returned. While one is under way a stream may be busy with it; and a wait for the device
 * that began before it returned does not cover it, for the sum of both is another one since.
 */
extern _Atomic uint64_t slu_cuda_bypass_n_begun, slu_cuda_bypass_n_ended;

static inline void slu_cuda_bypass_begin(void)
{
	atomic_fetch_add(&slu_cuda_bypass_n_begun, 1);
}

static inline void slu_cuda_bypass_end(void)
{
	atomic_fetch_add(&slu_cuda_bypass_n_ended, 1);
}

static inline uint64_t slu_cuda_bypass_n_counted(void)
{
	return atomic_load(&slu_cuda_bypass_n_begun) + atomic_load(&slu_cuda_bypass_n_ended);
}

static inline bool slu_cuda_bypass_is_under_way(void)
{
	return atomic_load(&slu_cuda_bypass_n_ended) != atomic_load(&slu_cuda_bypass_n_begun);
}

/* The program submits work past the gate. */
void slu_cuda_bypass_met(struct slu_cuda_device *device);

/* If the program does so: its memory on the device stays there. */
void slu_cuda_bypass_keep(struct slu_cuda_device *device);

/* If the program does so: waits for a turn. Not inside the gate. */
void slu_cuda_bypass_wait(struct slu_cuda_device *device);
