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
 * with KIND one of create, map, access, unmap, copy, set, launch, host (pinning); only copy, set
 * and launch can hang or be slow. A failed operation has done nothing, and the next one of its kind
 * is well again: the error is not sticky, so that a caller can be watched trying again. Each fault
 * that was met is a line KIND:N in the file that SLUICE_SOFTGPU_FAULT_LOG names, if it names one.
 *
 * SLUICE_SOFTGPU_FAULT_FILE names a file with such a list. Whenever it has changed, its orders take
 * the place of all others, and operations are counted from then on; a list that is not understood
 * counts as an empty one.
 */

#include <stdbool.h>
#include <stdint.h>

enum slu_fault_kind {
	SLU_FAULT_CREATE,
	SLU_FAULT_MAP,
	SLU_FAULT_ACCESS,
	SLU_FAULT_UNMAP,
	SLU_FAULT_COPY,
	SLU_FAULT_SET,
	SLU_FAULT_LAUNCH,
	SLU_FAULT_HOST,
	_SLU_FAULT_MAX,
};

enum slu_fault_action {
	SLU_FAULT_NONE,
	SLU_FAULT_FAIL,
	SLU_FAULT_HANG,
	SLU_FAULT_SLOW,
};

/* Reads the list. Return: 0, or -EINVAL where it is not understood. */
int slu_fault_init(const char *list);

/* Counts an operation of @kind. Return: what shall happen to it; SLOW also says how long. */
enum slu_fault_action slu_fault_next(enum slu_fault_kind kind, uint64_t *ret_extra_ns);

/* Counts an allocation of @bytes of device memory. Return: whether it shall be refused. */
bool slu_fault_refuses(uint64_t bytes);
