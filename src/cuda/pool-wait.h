/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Waits for streams to come past the frees that are before them (pool-stream.h). Not with a lock.
 */

#include "cuda/device.h"

/*
 * Waits until some stream of @device has come past frees. Return: whether one has. Does not wait
 * for a device that waits for the host: that may be this thread.
 */
bool slu_cuda_pool_wait_device(struct slu_cuda_device *device);

/*
 * Waits for all frees in @context, before others get its memory: what still runs there must not use
 * it. In a context that is dead nothing runs.
 */
void slu_cuda_pool_wait_context(CUcontext context);
