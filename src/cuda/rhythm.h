/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the program meets the device, for the client, which finds iterations there (client.h): it
 * has waited for the device, copied something to the host, or freed memory. The key of such a point
 * is made of the calls that the thread submitted since its last one, in their order: which call,
 * and which kernel or graph. Submitting costs a multiplication; only the points take a lock.
 */

#include <stdint.h>

#include "cuabi/cuda-min.h"

struct slu_cuda_device;

enum slu_cuda_rhythm_kind {
	SLU_CUDA_RHYTHM_WAIT, /* for a context, a stream or an event */
	SLU_CUDA_RHYTHM_COPY, /* a call that copies and waits */
	SLU_CUDA_RHYTHM_FREE,
};

extern __thread uint64_t slu_cuda_rhythm_key __attribute__((__tls_model__("initial-exec")));

/* This thread submits @what. */
static inline void slu_cuda_rhythm_submit(uintptr_t what)
{
	slu_cuda_rhythm_key = (slu_cuda_rhythm_key ^ what) * UINT64_C(0x9e3779b97f4a7c15);
}

/*
 * Not with a lock, nor inside the gate. In a program that uses several devices nothing is found:
 * the calls do not say which one they mean.
 */
void slu_cuda_rhythm_meet(enum slu_cuda_rhythm_kind kind);

/* The bytes of @device's pools that are in no allocation have changed. */
void slu_cuda_rhythm_note_unused_locked(const struct slu_cuda_device *device);
