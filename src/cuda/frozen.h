/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory of the program that cannot move: managed memory, pools, handles of its own virtual memory.
 * The driver serves it as ever; it is charged against the device and shown with its reason, since
 * it takes room from others.
 */

#include "cuda/device.h"

/* Charges @bytes under @key (an address or a handle). A charge that cannot be noted is left out. */
void slu_cuda_freeze(struct slu_cuda_device *device, uint64_t key, uint64_t bytes,
		     enum slu_frozen why);

/* Ends the charge under @key. Return: whether there was one. */
bool slu_cuda_thaw(uint64_t key);

/* Ends all charges on @device: its home context ends. */
void slu_cuda_frozen_forget(struct slu_cuda_device *device);
