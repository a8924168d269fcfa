/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/deferred.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/pool-stream.h"

struct deferred {
	LIST_ENTRY(deferred) link;
	struct slu_cuda_device *device;
	uint64_t address, stream, position;
};

/* guarded by the front lock */
static LIST_HEAD(, deferred) all = LIST_HEAD_INITIALIZER(all);

bool slu_cuda_deferred_add_locked(struct slu_cuda_device *device, uint64_t address, uint64_t stream,
				  uint64_t position)
{
	int saved = errno;
	struct deferred *d = malloc(sizeof(*d));

	errno = saved;
	if (!d)
		return false;
	*d = (struct deferred){
		.device = device,
		.address = address,
		.stream = stream,
		.position = position,
	};
	LIST_INSERT_HEAD(&all, d, link);
	return true;
}

void slu_cuda_deferred_finish(void)
{
	struct deferred *d;

	do {
		slu_lock_take(&slu_cuda.lock);
		LIST_FOREACH (d, &all, link)
			if (slu_pool_stream_is_past_locked(d->stream, d->position))
				break;
		if (d)
			LIST_REMOVE(d, link);
		slu_lock_give(&slu_cuda.lock);
		if (d)
			slu_cuda_memory_end(d->address);
		free(d);
	} while (d);
}

static bool deferred_is_of_locked(const struct deferred *d, CUcontext context)
{
	const struct slu_allocation *a = slu_ledger_find(slu_cuda.ledger, d->address);

	return !context || !a || a->range->context == context;
}

void slu_cuda_deferred_forget(const struct slu_cuda_device *device, CUcontext context)
{
	struct deferred *d, *next;

	slu_lock_take(&slu_cuda.lock);
	for (d = LIST_FIRST(&all); d; d = next) {
		next = LIST_NEXT(d, link);
		if (d->device != device || !deferred_is_of_locked(d, context))
			continue;
		LIST_REMOVE(d, link);
		free(d);
	}
	slu_lock_give(&slu_cuda.lock);
}
