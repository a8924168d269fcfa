/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Programs whose work does not come by the gate: through the driver's private tables, which are the
 * driver's own business and which we pass on unseen, or launched by the device itself. A kernel
 * that comes so at any time must never meet memory that is away. Such a program is recognised
 *
 *   - by its streams: everything that we know of was submitted and has ended, nobody is on the way,
 *     and still the driver calls a stream busy. Asked whenever the device seems to be at rest;
 *   - by a graph that it instantiates for launches from the device.
 *
 * From then on its memory stays on the device, frozen with that reason, charged and shown. Memory
 * that was away at that moment comes back with the program's next turn, and a later allocation
 * waits for a turn, so that it is made on the device.
 *
 * Work in the per-thread streams of other threads cannot be seen so: nobody can ask about them.
 * Kernels that kernels launch end before those do, and are waited for with them.
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

/* The program is one of those. */
void slu_cuda_bypass_met(struct slu_cuda_device *device);

/* If it is: whatever of it is on the device stays there. */
void slu_cuda_bypass_keep(struct slu_cuda_device *device);

/* If it is: waits for a turn. Not inside the gate. */
void slu_cuda_bypass_wait(struct slu_cuda_device *device);
