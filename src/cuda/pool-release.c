/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/pool-release.h"

#include <errno.h>

#include "base/util.h"
#include "cuda/capture.h"
#include "cuda/contexts.h"
#include "cuda/deferred.h"
#include "cuda/range.h"
#include "cuda/pool-space.h"
#include "cuda/pool-stream.h"

/* A segment that @pool does not need. While others make or give back extents, none is. */
static struct slu_range *pool_take_out_locked(struct slu_cuda_pool *pool, uint64_t keep_bytes)
{
	struct slu_range *range;
	bool was;

	if (!slu_cuda_pool_list_change_locked(pool, &was))
		return NULL;
	range = slu_pool_space_take_out(
		pool->space,
		keep_bytes ? slu_sub_floor(slu_cuda_pool_list_reserved_locked(pool), keep_bytes)
			   : UINT64_MAX);
	if (range) {
		range->pool = NULL; /* no thread looks for blocks there any more */
		pool->absent_bytes -=
			slu_cuda_range_absent_locked(range, range->address, range->bytes);
	}
	slu_cuda_pool_list_changed_locked(pool, was);
	return range;
}

/* One that some pool does not need, or NULL. Pools that were destroyed go with their last one. */
static struct slu_range *pools_take_out_locked(const struct slu_cuda_device *device, bool takes_all)
{
	struct slu_cuda_pool *pool, *next;
	struct slu_range *range = NULL;

	for (pool = LIST_FIRST(&slu_cuda_pools); pool && !range; pool = next) {
		next = LIST_NEXT(pool, link);
		if (device && pool->device != device)
			continue;
		range = pool_take_out_locked(
			pool, takes_all || !pool->handle ? 0 : pool->threshold_bytes);
		if (pool->handle || pool->changer || range ||
		    slu_pool_space_stats(pool->space)->reserved_bytes)
			continue;
		slu_cuda_pool_list_discard_locked(pool);
	}
	return range;
}

static void segment_free(struct slu_range *range)
{
	CUstreamCaptureMode before = slu_cuda_capture_relax();

	slu_cuda_range_free(range);
	slu_cuda_capture_restore(before);
}

/* In a capture nothing is unmapped: some later call does it. */
static void pools_release(const struct slu_cuda_device *device, bool takes_all)
{
	struct slu_range *range;
	int saved = errno;

	if (slu_pool_stream_is_capturing())
		return;
	slu_cuda_deferred_finish();
	do {
		slu_lock_take(&slu_cuda.lock);
		range = pools_take_out_locked(device, takes_all);
		slu_lock_give(&slu_cuda.lock);
		if (range)
			segment_free(range);
	} while (range);
	errno = saved;
}

void slu_cuda_pool_release_excess(const struct slu_cuda_device *device)
{
	pools_release(device, false);
}

static void pools_prove_locked(const struct slu_pool_stream *stream)
{
	struct slu_cuda_pool *pool;

	LIST_FOREACH (pool, &slu_cuda_pools, link)
		slu_pool_space_prove(pool->space, stream->id, stream->past);
}

static void stream_set_past_locked(struct slu_pool_stream *stream, uint64_t position)
{
	stream->past = SLU_MAX(stream->past, position);
	pools_prove_locked(stream);
}

struct slu_cuda_pool_sight slu_cuda_pool_release_look_locked(const struct slu_cuda_device *device)
{
	struct slu_pool_stream *s;
	struct slu_cuda_pool_sight sight = { 0 };
	uint64_t id = 0;

	while ((s = slu_pool_stream_next_locked(id))) {
		id = s->id;
		if ((device && s->device != device) || !slu_pool_stream_is_pending(s))
			continue;
		switch (slu_pool_stream_look_locked(s)) {
		case SLU_POOL_LOOK_MORE:
			pools_prove_locked(s);
			sight.is_more = true;
			break;
		case SLU_POOL_LOOK_BUSY:
			sight.is_busy = true;
			break;
		case SLU_POOL_LOOK_UNSEEN:
			sight.is_unseen = true;
			break;
		}
	}
	return sight;
}

static void streams_look(const struct slu_cuda_device *device)
{
	slu_lock_take(&slu_cuda.lock);
	slu_cuda_pool_release_look_locked(device);
	slu_lock_give(&slu_cuda.lock);
}

/* -- extents of segments that are in use elsewhere ------------------------------------------------
 */

/* The unit of an extent in a READY block, whose memory the caller gives back; or NULL. */
static struct slu_unit *pool_hollow_locked(struct slu_cuda_pool *pool)
{
	uint64_t next = 0, address, bytes;

	while (slu_pool_space_next_ready(pool->space, next, &address, &bytes)) {
		struct slu_range *range = slu_ledger_find_range(slu_cuda.ledger, address);

		next = address + bytes;
		for (size_t i = 0; i < range->n_extents; i++) {
			struct slu_extent *e = &range->extents[i];
			struct slu_unit *unit = e->unit;

			if (!unit || e->address < address || e->address + e->bytes > next)
				continue;
			e->unit = NULL;
			range->n_absent++;
			pool->absent_bytes += e->bytes;
			return unit;
		}
	}
	return NULL;
}

static struct slu_cuda_pool *pool_next_locked(const struct slu_cuda_device *device,
					      const struct slu_cuda_pool *last)
{
	struct slu_cuda_pool *pool = last ? LIST_NEXT(last, link) : LIST_FIRST(&slu_cuda_pools);

	while (pool && pool->device != device)
		pool = LIST_NEXT(pool, link);
	return pool;
}

/*
 * What is free in a segment that is partly used goes by the extent, and its addresses stay. So
 * memory is never short for want of a row of addresses.
 */
static void pools_hollow(const struct slu_cuda_device *device)
{
	struct slu_cuda_pool *pool = NULL, *next;
	struct slu_unit *unit;
	bool was;

	slu_lock_take(&slu_cuda.lock);
	for (pool = pool_next_locked(device, NULL); pool; pool = next) {
		bool is_mine = slu_cuda_pool_list_change_locked(pool, &was);

		while (is_mine && (unit = pool_hollow_locked(pool))) {
			slu_lock_give(&slu_cuda.lock);
			slu_client_unit_free(unit);
			slu_lock_take(&slu_cuda.lock);
		}
		/* it stays as long as this thread changes it */
		next = pool_next_locked(device, pool);
		if (is_mine)
			slu_cuda_pool_list_changed_locked(pool, was);
	}
	slu_lock_give(&slu_cuda.lock);
}

void slu_cuda_pool_release_unused(struct slu_cuda_device *device)
{
	streams_look(device);
	pools_release(device, true);
	if (!slu_pool_stream_is_capturing())
		pools_hollow(device);
}

void slu_cuda_pool_release_trim(struct slu_cuda_pool *pool, uint64_t keep_bytes)
{
	struct slu_range *range;

	streams_look(pool->device);
	do {
		slu_lock_take(&slu_cuda.lock);
		range = pool_take_out_locked(pool, keep_bytes);
		slu_lock_give(&slu_cuda.lock);
		if (range)
			segment_free(range);
	} while (range);
}

void slu_cuda_pool_release_stream(CUstream stream, uint64_t position)
{
	CUcontext context = slu_pool_stream_is_special(stream) ? slu_cuda_contexts_current() : NULL;
	struct slu_pool_stream *s;

	slu_lock_take(&slu_cuda.lock);
	s = slu_pool_stream_here_locked(context, stream);
	if (s)
		stream_set_past_locked(s, position);
	slu_lock_give(&slu_cuda.lock);
	slu_cuda_pool_release_excess(NULL);
}

void slu_cuda_pool_release_stream_end(CUstream stream)
{
	struct slu_pool_stream *s;
	int saved = errno;

	slu_lock_take(&slu_cuda.lock);
	s = slu_pool_stream_end_locked(stream);
	if (s)
		pools_prove_locked(s);
	slu_lock_give(&slu_cuda.lock);
	errno = saved;
}

void slu_cuda_pool_release_pass_locked(CUcontext context, uint64_t position)
{
	struct slu_pool_stream *s;
	uint64_t id = 0;

	while ((s = slu_pool_stream_next_locked(id))) {
		id = s->id;
		if (s->context == context)
			stream_set_past_locked(s, position);
	}
}

void slu_cuda_pool_release_context(CUcontext context, uint64_t position)
{
	slu_lock_take(&slu_cuda.lock);
	slu_cuda_pool_release_pass_locked(context, position);
	slu_lock_give(&slu_cuda.lock);
	slu_cuda_pool_release_excess(NULL);
}

/* Whether some pool would give back memory if its frees were passed. */
static bool pools_have_excess_locked(void)
{
	const struct slu_cuda_pool *pool;

	LIST_FOREACH (pool, &slu_cuda_pools, link)
		if (slu_cuda_pool_list_reserved_locked(pool) >
		    (pool->handle ? pool->threshold_bytes : 0))
			return true;
	return false;
}

void slu_cuda_pool_release_event(void)
{
	slu_lock_take(&slu_cuda.lock);
	if (pools_have_excess_locked())
		slu_cuda_pool_release_look_locked(NULL);
	slu_lock_give(&slu_cuda.lock);
	slu_cuda_pool_release_excess(NULL);
}
