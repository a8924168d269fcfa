/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory of the program that the shim cannot move: pools and handles that it leaves to the driver
 * (pool.h, foreign.h), and managed memory. The driver serves it as ever, and `status` shows it with
 * its reason. It is charged against the device, since others lack its bytes. Managed memory of a
 * device that can fault is not charged: the driver evicts it for any allocation
 * (docs/decisions/0013-paged-bytes-yield.md).
 *
 * visible_memory bounds what is charged as it bounds memory that moves: each call sets its bytes
 * aside before it asks the driver, and fails where the program may not own so much.
 */

#include "cuda/device.h"

/*
 * Notes @bytes under @key (an address or a handle), and charges them unless the driver pages them.
 * What cannot be noted is left out. @reserved_bytes: what is set aside for it, less afterwards by
 * what has been used up.
 */
void slu_cuda_frozen_add(struct slu_cuda_device *device, uint64_t key, uint64_t bytes,
			 enum slu_frozen why, uint64_t *reserved_bytes);

/* Ends what was noted under @key. Return: whether there was anything. */
bool slu_cuda_frozen_remove(uint64_t key);

/* A range of managed memory that the driver pages. */
struct slu_cuda_paged {
	uint64_t address, bytes;
};

/*
 * All of them on @device, in no order. Return: how many; then the caller frees *ret_ranges. 0 also
 * without memory.
 */
size_t slu_cuda_frozen_list_paged(struct slu_cuda_device *device,
				  struct slu_cuda_paged **ret_ranges);

/* Ends all that was noted on @device: its service context ends. */
void slu_cuda_frozen_forget(struct slu_cuda_device *device);
