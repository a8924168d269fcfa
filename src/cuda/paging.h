/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Managed memory in bulk. The driver brings its pages when kernels touch them, a fault each, and
 * evicts them when others need the memory. Between turns the shim has it move them ahead of that
 * with cuMemPrefetchAsync(): the ranges in the order of their addresses, so that the same ones come
 * back first. Ranges that the program prefers on the host stay there.
 */

#include "cuda/device.h"

/*
 * Brings the first @bytes of @device's managed memory there (@is_in), or sends the rest to the
 * host, and waits. What the driver refuses comes by faults.
 */
void slu_cuda_paging_move(struct slu_cuda_device *device, uint64_t bytes, bool is_in);
