/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Faults on order, and the count of operations that tells a test which n to try next.
 *
 *   create   a buffer, image, pipe or SVM is made      CL_MEM_OBJECT_ALLOCATION_FAILURE (SVM: NULL)
 *   write    host to device: write, unmap after writing  CL_OUT_OF_RESOURCES
 *   read     device to host: read, map                 CL_OUT_OF_RESOURCES
 *   enqueue  kernels, copies and fills on the device   CL_OUT_OF_RESOURCES
 *
 * The n of an order counts the calls of this process. What all processes did together stands in the
 * user's space of the board. Each fault that was met is a line KIND:N in the file that
 * SLUICE_LIMITER_FAULT_LOG names, if it names one.
 */

#include <stdbool.h>
#include <stdint.h>

enum dev_limiter_fault {
	DEV_LIMITER_FAULT_CREATE,
	DEV_LIMITER_FAULT_WRITE,
	DEV_LIMITER_FAULT_READ,
	DEV_LIMITER_FAULT_ENQUEUE,
	_DEV_LIMITER_FAULT_MAX,
};

/* At the start of the board's user space. */
struct dev_limiter_counts {
	uint64_t n_calls[_DEV_LIMITER_FAULT_MAX];
	uint64_t n_faults[_DEV_LIMITER_FAULT_MAX];
};

struct dev_limiter_device;

/* Reads "create:3,write:2". Return: 0, or -EINVAL, and then @ret_at is untouched. */
int dev_limiter_fault_parse(const char *text, uint64_t ret_at[static _DEV_LIMITER_FAULT_MAX]);

/* Counts a call. Return: whether it has to fail. */
bool dev_limiter_fault_meet(struct dev_limiter_device *device, enum dev_limiter_fault kind);
