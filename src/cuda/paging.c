/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/paging.h"

#include <stdlib.h>

#include "base/util.h"
#include "cuda/frozen.h"
#include "cuda/real.h"

static int by_address(const void *a, const void *b)
{
	const struct slu_cuda_paged *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static bool is_kept_on_host(const struct slu_cuda_paged *range)
{
	int32_t place = 0;

	return SLU_REAL(cuMemRangeGetAttribute)(&place, sizeof(place),
						CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
						range->address, range->bytes) == CUDA_SUCCESS &&
	       place == CU_DEVICE_CPU;
}

/* The program may free a range meanwhile: then the driver refuses it. */
static void range_move(const struct slu_cuda_paged *range, uint64_t begin, uint64_t end,
		       CUdevice where, CUstream stream)
{
	if (begin < end && !is_kept_on_host(range))
		SLU_REAL(cuMemPrefetchAsync)
	(range->address + begin, end - begin, where, stream);
}

void slu_cuda_paging_move(struct slu_cuda_device *d, uint64_t bytes, bool is_in)
{
	CUstream stream = d->streams[is_in ? SLU_DIRECTION_IN : SLU_DIRECTION_OUT];
	struct slu_cuda_paged *ranges;
	size_t n = slu_cuda_frozen_list_paged(d, &ranges);
	CUevent event;

	if (!n)
		return;
	qsort(ranges, n, sizeof(*ranges), by_address);
	for (size_t i = 0; i < n; i++) {
		uint64_t part = SLU_MIN(ranges[i].bytes, bytes);

		bytes -= part;
		/* the driver moves whole blocks: one of which we want a part stays or comes */
		part = SLU_MIN(slu_round_up(part, d->granule_bytes), ranges[i].bytes);
		if (is_in)
			range_move(&ranges[i], 0, part, d->ordinal, stream);
		else
			range_move(&ranges[i], part, ranges[i].bytes, CU_DEVICE_CPU, stream);
	}
	free(ranges);
	/* copies of units may follow in the stream: wait for no more than this */
	if (slu_cuda_events_take(&d->events, &event) != CUDA_SUCCESS)
		return;
	if (SLU_REAL(cuEventRecord)(event, stream) == CUDA_SUCCESS)
		SLU_REAL(cuEventSynchronize)(event);
	slu_cuda_events_put(&d->events, event);
}
