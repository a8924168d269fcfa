/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Faults on order. SLUICE_SOFTGPU_FAULT is a list, separated by commas, of
 *
 *   KIND:N             the N-th operation of that kind in this process fails
 *   hang:KIND:N        it never comes to an end (its context's destruction ends it)
 *   slow:KIND:N:TIME   it takes that much longer ("slow:copy:4:250ms")
 *   memory:SIZE        device memory beyond so many bytes, asked for since then, is refused
 *
 * with KIND one of create, map, access, unmap, copy, set, launch, host (pinning), suspend (a step
 * of saving or restoring the process); only copy, set and launch can hang or be slow. A failed
 * operation has done nothing, and the next one of its kind is well again: the error is not sticky,
 * so that a caller can be watched trying again. Each fault that was met is a line KIND:N in the
 * file that SLUICE_SOFTGPU_FAULT_LOG names, if it names one.
 *
 * SLUICE_SOFTGPU_FAULT_FILE names a file with such a list. Whenever it has changed, its orders take
 * the place of all others, and operations are counted from then on; a list that is not understood
 * counts as an empty one.
 */

#include <stdbool.h>
#include <stdint.h>

enum dev_fault_kind {
	DEV_FAULT_CREATE,
	DEV_FAULT_MAP,
	DEV_FAULT_ACCESS,
	DEV_FAULT_UNMAP,
	DEV_FAULT_COPY,
	DEV_FAULT_SET,
	DEV_FAULT_LAUNCH,
	DEV_FAULT_HOST,
	DEV_FAULT_SUSPEND,
	_DEV_FAULT_MAX,
};

enum dev_fault_action {
	DEV_FAULT_NONE,
	DEV_FAULT_FAIL,
	DEV_FAULT_HANG,
	DEV_FAULT_SLOW,
};

/* Reads the list. Return: 0, or -EINVAL where it is not understood. */
int dev_fault_init(const char *list);

/* Counts an operation of @kind. Return: what shall happen to it; SLOW also says how long. */
enum dev_fault_action dev_fault_next(enum dev_fault_kind kind, uint64_t *ret_extra_ns);

/*
 * Counts an allocation of @bytes of device memory; 0: of host memory. Return: whether it shall be
 * refused.
 */
bool dev_fault_refuses(uint64_t bytes);
