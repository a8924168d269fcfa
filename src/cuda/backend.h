/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The client's back end for a CUDA device: extents by the driver's virtual memory calls, copies on
 * our own streams, waits by the syncer. `data` is a struct slu_cuda_device.
 */

#include <stdbool.h>

#include "client/backend.h"
#include "cuabi/cuda-min.h"

struct slu_cuda_device;
struct slu_extent;

extern const struct slu_backend slu_cuda_backend;

/* The client's code for a result of the driver (client/backend.h). */
int slu_cuda_backend_translate(CUresult result);

/* All submissions: through the gate, past it in a capture, and by calls that need no gate. */
uint64_t slu_cuda_backend_n_submitted(const struct slu_cuda_device *device);

/* Gives up the memory of @extent, which has no unit any more, if it still has any. */
void slu_cuda_backend_displace(const struct slu_cuda_device *device, struct slu_extent *extent);

/* Tries the MAPPED place with one granule: only an allocation proves that it works. */
bool slu_cuda_backend_can_map(const struct slu_cuda_device *device);
