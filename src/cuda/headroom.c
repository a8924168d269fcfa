/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/headroom.h"

#include <errno.h>

#include "base/util.h"
#include "cuda/capture.h"
#include "cuda/range.h"

/* Doubled so often, an extent is larger than what any kernel's stacks take. */
#define TRIES_MAX 16

static bool headroom_try(struct slu_cuda_device *d, uint64_t bytes)
{
	struct slu_range *range;
	bool is_inside;

	if (slu_cuda_range_new_spare(d, bytes, &range) != CUDA_SUCCESS)
		return false;
	/* the gate opens when everything that we own is on the device, this range too */
	is_inside = slu_cuda_gate_enter(d) == CUDA_SUCCESS;
	slu_cuda_range_free(range);
	return is_inside;
}

bool slu_cuda_headroom_enter(struct slu_cuda_device *d, uint64_t bytes, unsigned *n_tries)
{
	CUstreamCaptureMode before;
	int saved = errno;
	bool is_inside;

	/* without a daemon no other program gives way: the refusal is final */
	if (!d || slu_gate_is_inside() || *n_tries == TRIES_MAX ||
	    !slu_client_device_has_daemon(d->client))
		return false;
	/* more than the device has next to a context never fits */
	if (bytes > slu_client_device_visible(d->client))
		return false;
	before = slu_cuda_capture_relax();
	is_inside = headroom_try(d, SLU_MAX(bytes, d->slab_bytes) << *n_tries);
	slu_cuda_capture_restore(before);
	++*n_tries;
	errno = saved;
	return is_inside;
}
