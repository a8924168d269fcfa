/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/early.h"

#include <stdlib.h>

#include "base/util.h"
#include "cuda/device.h"

#define FIRST_UNITS 64

/* The units of the call that is being looked at. Guarded by slu_cuda.lock. */
static struct {
	struct slu_unit **units;
	size_t n, n_allocated;
} touched;

/* Return: false if the call cannot pass early after all. */
static bool unit_add(void *data, const struct slu_cuda_device *device, struct slu_unit *unit)
{
	if (device != data)
		return false;
	if (touched.n == touched.n_allocated) {
		size_t n = SLU_MAX(2 * touched.n, (size_t)FIRST_UNITS);
		struct slu_unit **units = realloc(touched.units, n * sizeof(struct slu_unit *));

		if (!units)
			return false;
		touched.units = units;
		touched.n_allocated = n;
	}
	touched.units[touched.n++] = unit;
	return true;
}

static bool launch_add_locked(struct slu_cuda_device *device, const struct slu_cuda_launch *launch)
{
	const struct slu_predict_set *set = slu_cuda_kernels_evaluate_locked(launch);

	if (!set || set->why_reads.reason != SLU_PREDICT_REASON_NONE ||
	    set->why_writes.reason != SLU_PREDICT_REASON_NONE)
		return false;
	for (size_t i = 0; i < set->n_ranges; i++) {
		const struct slu_predict_range *r = &set->ranges[i];

		if (r->to > r->from &&
		    !slu_cuda_touch_units_locked((struct slu_cuda_span){ r->from, r->to - r->from },
						 unit_add, device))
			return false;
	}
	return true;
}

/* Return: whether the units of the call are known, each of them at least once. */
static bool units_find_locked(struct slu_cuda_device *device, const struct slu_cuda_touch *touch)
{
	touched.n = 0;
	switch (touch->kind) {
	case SLU_CUDA_TOUCH_BYTES:
		return slu_cuda_touch_units_locked(touch->written, unit_add, device) &&
		       slu_cuda_touch_units_locked(touch->read, unit_add, device);
	case SLU_CUDA_TOUCH_LAUNCH:
		return launch_add_locked(device, &touch->launch);
	default:
		return false;
	}
}

static int early_try(struct slu_cuda_device *device, const struct slu_cuda_touch *touch,
		     uint64_t *ret_ticket)
{
	int r = SLU_CLIENT_E_LATE;

	slu_lock_take(&slu_cuda.lock);
	if (units_find_locked(device, touch))
		r = slu_client_early_enter(device->client, touched.units, touched.n, ret_ticket);
	slu_lock_give(&slu_cuda.lock);
	return r;
}

CUresult slu_cuda_early_enter(struct slu_cuda_device *device, const struct slu_cuda_touch *touch)
{
	uint64_t ticket;
	int r = SLU_CLIENT_E_ABSENT;

	/* what passes by the gate may use any memory; what a capture sees is not run now */
	while (r == SLU_CLIENT_E_ABSENT && slu_client_early_is_possible(device->client) &&
	       !atomic_load(&device->passes_by) && !atomic_load(&device->n_capturing)) {
		r = early_try(device, touch, &ticket);
		if (r == SLU_CLIENT_E_ABSENT)
			slu_client_early_wait(device->client, ticket);
	}
	return r ? slu_cuda_gate_enter_slow(device) : CUDA_SUCCESS;
}
