/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory of the program that we cannot move: pools, handles of its own virtual memory, managed
 * memory. The driver serves it as ever, and it is shown with its reason. It is charged against the
 * device, since it takes room from others; but for managed memory, which the driver takes off a
 * device that can fault for anybody who allocates (docs/decisions/0013-paged-bytes-yield.md).
 */

#include "cuda/device.h"

/*
 * Notes @bytes under @key (an address or a handle), and charges them unless the driver pages them.
 * What cannot be noted is left out.
 */
void slu_cuda_freeze(struct slu_cuda_device *device, uint64_t key, uint64_t bytes,
		     enum slu_frozen why);

/* Ends what was noted under @key. Return: whether there was anything. */
bool slu_cuda_thaw(uint64_t key);

/* Ends all that was noted on @device: its home context ends. */
void slu_cuda_frozen_forget(struct slu_cuda_device *device);
