/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to handles of ours when their device gets or loses its service context (vmm.h). */
#include "cuda/vmm.h"

#include "cuda/gate.h"
#include "cuda/ledger.h"

/* An extent of a handle on @d that has a unit, or has none. */
static struct slu_extent *extent_find_locked(const struct slu_cuda_device *d, bool has_unit)
{
	struct slu_range *range;
	size_t cursor = 0;

	while ((range = slu_ledger_next(slu_cuda.ledger, &cursor))) {
		if (range->device != d || !range->handle)
			continue;
		for (size_t i = 0; i < range->n_extents; i++)
			if (!range->extents[i].unit != has_unit)
				return &range->extents[i];
	}
	return NULL;
}

static bool extent_take_unit(const struct slu_cuda_device *d, struct slu_unit **ret_unit)
{
	struct slu_extent *e;

	slu_lock_take(&slu_cuda.lock);
	e = extent_find_locked(d, true);
	if (e) {
		*ret_unit = e->unit;
		e->unit = NULL;
		e->stays = e->handle != 0;
	}
	slu_lock_give(&slu_cuda.lock);
	return e != NULL;
}

void slu_cuda_vmm_hand_over(struct slu_cuda_device *device)
{
	struct slu_unit *unit;
	bool is_inside;

	slu_lock_take(&slu_cuda.lock);
	is_inside = extent_find_locked(device, true) != NULL;
	slu_lock_give(&slu_cuda.lock);
	if (!is_inside)
		return;
	/* inside the gate all of it is on the device */
	is_inside = slu_cuda_gate_enter(device) == CUDA_SUCCESS;
	while (extent_take_unit(device, &unit))
		slu_client_unit_free(unit);
	if (is_inside)
		slu_cuda_gate_leave(device);
}

/* What it holds is newer than any copy of it. */
static bool extent_give_unit(struct slu_cuda_device *d, struct slu_extent *e)
{
	struct slu_unit *unit;

	e->compared = (struct slu_cuda_compared){ 0 };
	if (slu_client_unit_new(d->client, e->bytes, e->stays ? SLU_FROZEN_OTHER : SLU_FROZEN_NO, e,
				&unit))
		return false;
	if (e->stays) {
		slu_client_unit_dirty(unit);
		slu_client_unit_freeze(unit, SLU_FROZEN_NO);
	}
	slu_lock_take(&slu_cuda.lock);
	e->unit = unit;
	e->stays = false;
	slu_lock_give(&slu_cuda.lock);
	return true;
}

void slu_cuda_vmm_take_back(struct slu_cuda_device *device)
{
	struct slu_extent *e;

	if (!device->client)
		return;
	do {
		slu_lock_take(&slu_cuda.lock);
		e = extent_find_locked(device, false);
		slu_lock_give(&slu_cuda.lock);
	} while (e && extent_give_unit(device, e));
}
