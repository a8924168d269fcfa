/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Headroom: device memory that the driver needs besides the program's own allocations, for the code
 * of a module at the first launch of one of its kernels, or for the stacks of a kernel that needs
 * deeper ones than all before. A program that runs alone has that memory. A device that several
 * programs fill has none, and the driver refuses a call that it would not have refused alone.
 *
 * So the shim makes such a call again with headroom: an extent of ours comes to the device as every
 * other extent does, by the turns and the credit of all programs, and leaves it inside the gate,
 * just before the call. Either other programs have freed that memory by then, or the daemon has
 * denied it and logged the reason. The driver does not say how much it needs: the extent is twice
 * as large at each try.
 *
 * In mode MAPPED, extents of the program itself become MAPPED to make headroom
 * (docs/decisions/0034-headroom-of-larger-programs.md).
 */

#include "cuda/device.h"
#include "cuda/gate.h"

/*
 * Frees device memory for a call of the program that the driver refused, and enters the gate.
 * @bytes: what the call is known to take, or 0. @n_tries: 0 at the first call, then kept.
 *
 * Return: whether the caller makes its call again, inside the gate, and leaves.
 */
bool slu_cuda_headroom_enter(struct slu_cuda_device *device, uint64_t bytes, unsigned *n_tries);

/*
 * A loop whose body makes the call again that gave @result, as long as the driver refuses it.
 * @device may be NULL: then the refusal is final.
 */
#define SLU_CUDA_HEADROOM_RETRY(device, bytes, result)                                           \
	for (unsigned n_tries_ = 0; __builtin_expect((result) == CUDA_ERROR_OUT_OF_MEMORY, 0) && \
				    slu_cuda_headroom_enter(device, bytes, &n_tries_);           \
	     slu_cuda_gate_leave(device))
