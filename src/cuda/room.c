/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/room.h"

#include <errno.h>

#include "base/util.h"
#include "cuda/memory.h"

/* Doubled so often, an extent is larger than what any kernel's stacks take. */
#define TRIES_MAX 16

static bool enter(struct slu_cuda_device *d, uint64_t bytes)
{
	struct slu_range *range;
	bool is_inside;

	if (slu_cuda_range_new_spare(d, bytes, &range) != CUDA_SUCCESS)
		return false;
	/* it opens when all that we own is there, the room as well */
	is_inside = slu_cuda_enter(d) == CUDA_SUCCESS;
	slu_cuda_range_free(range);
	return is_inside;
}

bool slu_cuda_room_enter(struct slu_cuda_device *d, uint64_t bytes, unsigned *n_tries)
{
	CUstreamCaptureMode before;
	int saved = errno;
	bool is_inside;

	/* without a daemon nobody makes room: the driver's word is final */
	if (!d || slu_gate_is_inside() || *n_tries == TRIES_MAX ||
	    !slu_client_device_is_managed(d->client))
		return false;
	/* what the device has no space for beside a context can never come */
	if (bytes > slu_client_device_visible(d->client))
		return false;
	before = slu_cuda_relax();
	is_inside = enter(d, SLU_MAX(bytes, d->slab_bytes) << *n_tries);
	slu_cuda_unrelax(before);
	++*n_tries;
	errno = saved;
	return is_inside;
}
