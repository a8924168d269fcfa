/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Room for what the driver takes by itself. It needs memory of the device that no allocation of the
 * program stands for: the code of a module at the first launch of a kernel in it, the stacks of a
 * kernel that wants deeper ones than all before. Alone there is room for that; beside others the
 * device is full, and the driver refuses a call that it would not have refused alone.
 *
 * So such a call is made again with room: an extent of ours comes to the device as every other one
 * does, by the turns and the credit of all programs, and leaves it inside the gate, just before the
 * call. Others have made room for it then, or the daemon has said why there is none, and to people
 * as well. How much the driver wants it does not say: each time the extent is twice as large.
 *
 * In mode MAPPED extents of the program itself become MAPPED for it.
 */

#include "cuda/device.h"
#include "cuda/enter.h"

/*
 * Makes room for a call of the program that was refused, and enters the gate for the next try.
 * @bytes: what the call is known to take, or 0. @n_tries: 0 at first, then as it was left.
 *
 * Return: whether the call is to be made again; inside the gate then.
 */
bool slu_cuda_room_enter(struct slu_cuda_device *device, uint64_t bytes, unsigned *n_tries);

/*
 * A loop, whose body makes the call of @result again as long as the driver refuses it. @device may
 * be NULL: then the driver's word is final.
 */
#define SLU_CUDA_AGAIN(device, bytes, result)                                                    \
	for (unsigned n_tries_ = 0; __builtin_expect((result) == CUDA_ERROR_OUT_OF_MEMORY, 0) && \
				    slu_cuda_room_enter(device, bytes, &n_tries_);               \
	     slu_cuda_leave(device))
