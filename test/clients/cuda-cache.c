/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-cache.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "sluice/sluice.h"

#define ALIGN	       512
#define RESERVED_BYTES ((size_t)64 << 20)

struct block {
	TAILQ_ENTRY(block) link; /* by address */
	CUdeviceptr address;
	size_t bytes;
	bool is_free;
	bool begins_segment; /* CACHING: the driver gave it as an allocation of its own */
};

static struct {
	enum cache_kind kind;
	size_t segment_bytes;
	CUstream stream;
	TAILQ_HEAD(blocks, block) blocks;
	CUdeviceptr reserved;
	size_t mapped_bytes; /* of the reservation, from its begin on */
	CUmemGenericAllocationHandle handles[4096];
	size_t n_handles;
	CUmemoryPool pool;
} cache;

enum cache_kind cache_kind_find(const char *name)
{
	static const char *const names[] = { "caching", "expandable", "stack", "async" };
	enum cache_kind kind = 0;

	while (kind < _CACHE_MAX && strcmp(names[kind], name))
		kind++;
	return kind;
}

static size_t round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

static struct block *block_new(CUdeviceptr address, size_t bytes)
{
	struct block *b = calloc(1, sizeof(*b));

	if (!b)
		exit(CUDA_EXIT_NO_MEMORY);
	b->address = address;
	b->bytes = bytes;
	b->is_free = true;
	return b;
}

static void block_insert(struct block *b)
{
	struct block *after = TAILQ_FIRST(&cache.blocks);

	while (after && after->address < b->address)
		after = TAILQ_NEXT(after, link);
	if (after)
		TAILQ_INSERT_BEFORE(after, b, link);
	else
		TAILQ_INSERT_TAIL(&cache.blocks, b, link);
}

/* Joins @b with its successor where both are free and of one segment. */
static void block_join_next(struct block *b)
{
	struct block *next = b ? TAILQ_NEXT(b, link) : NULL;

	if (!next || !b->is_free || !next->is_free || next->begins_segment ||
	    b->address + b->bytes != next->address)
		return;
	b->bytes += next->bytes;
	TAILQ_REMOVE(&cache.blocks, next, link);
	free(next);
}

/* -- growing ---------------------------------------------------------------------------------- */

static CUresult segment_make(size_t bytes)
{
	CUdeviceptr address;
	CUresult r = cu.cuMemAlloc_v2(&address, bytes);
	struct block *b;

	if (r != CUDA_SUCCESS)
		return r;
	b = block_new(address, bytes);
	b->begins_segment = true;
	block_insert(b);
	return CUDA_SUCCESS;
}

/* Maps one handle of a segment's size behind what is mapped. */
static CUresult step_map(void)
{
	const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
							 .id = cuda_device } };
	const CUmemAccessDesc access = { .location = prop.location,
					 .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUdeviceptr address = cache.reserved + cache.mapped_bytes;
	CUmemGenericAllocationHandle handle;
	CUresult r;

	if (cache.n_handles == sizeof(cache.handles) / sizeof(cache.handles[0]) ||
	    cache.mapped_bytes + cache.segment_bytes > RESERVED_BYTES)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = cu.cuMemCreate(&handle, cache.segment_bytes, &prop, 0);
	if (r != CUDA_SUCCESS)
		return r;
	CHECK(cuMemMap(address, cache.segment_bytes, 0, handle, 0));
	CHECK(cuMemSetAccess(address, cache.segment_bytes, &access, 1));
	cache.handles[cache.n_handles++] = handle;
	cache.mapped_bytes += cache.segment_bytes;
	return CUDA_SUCCESS;
}

static CUresult range_grow(size_t bytes)
{
	for (size_t at = 0; at < bytes; at += cache.segment_bytes) {
		CUresult r = step_map();
		struct block *b, *last;

		if (r != CUDA_SUCCESS)
			return r;
		b = block_new(cache.reserved + cache.mapped_bytes - cache.segment_bytes,
			      cache.segment_bytes);
		block_insert(b);
		last = TAILQ_PREV(b, blocks, link);
		block_join_next(last);
	}
	return CUDA_SUCCESS;
}

/* -- giving back ------------------------------------------------------------------------------- */

static bool segment_is_free(const struct block *b)
{
	const struct block *next = TAILQ_NEXT(b, link);

	return b->begins_segment && b->is_free && (!next || next->begins_segment);
}

static void segments_give_back(void)
{
	struct block *b = TAILQ_FIRST(&cache.blocks);

	while (b) {
		struct block *next = TAILQ_NEXT(b, link);

		if (segment_is_free(b)) {
			CHECK(cuMemFree_v2(b->address));
			TAILQ_REMOVE(&cache.blocks, b, link);
			free(b);
		}
		b = next;
	}
}

/* The last step of the reservation, which nothing uses any more. */
static void step_unmap(void)
{
	cache.mapped_bytes -= cache.segment_bytes;
	CHECK(cuMemUnmap(cache.reserved + cache.mapped_bytes, cache.segment_bytes));
	CHECK(cuMemRelease(cache.handles[--cache.n_handles]));
}

static void range_give_back(void)
{
	struct block *last = TAILQ_LAST(&cache.blocks, blocks);

	CHECK(cuStreamSynchronize(cache.stream));
	while (last && last->is_free && last->bytes >= cache.segment_bytes) {
		step_unmap();
		last->bytes -= cache.segment_bytes;
	}
	if (last && !last->bytes) {
		TAILQ_REMOVE(&cache.blocks, last, link);
		free(last);
	}
}

/* -- the interface ---------------------------------------------------------------------------- */

void cache_open(enum cache_kind kind, size_t segment_bytes, CUstream stream)
{
	const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				       .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
						     .id = cuda_device } };
	cuuint64_t all = UINT64_MAX;

	cache.kind = kind;
	cache.segment_bytes = segment_bytes;
	cache.stream = stream;
	TAILQ_INIT(&cache.blocks);
	if (kind == CACHE_EXPANDABLE || kind == CACHE_STACK)
		CHECK(cuMemAddressReserve(&cache.reserved, RESERVED_BYTES, 0, 0, 0));
	if (kind == CACHE_ASYNC) {
		CHECK(cuMemPoolCreate(&cache.pool, &props));
		CHECK(cuMemPoolSetAttribute(cache.pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
	}
}

void cache_close(void)
{
	struct block *b;

	CHECK(cuStreamSynchronize(cache.stream));
	segments_give_back();
	while ((b = TAILQ_FIRST(&cache.blocks))) {
		TAILQ_REMOVE(&cache.blocks, b, link);
		free(b);
	}
	while (cache.n_handles)
		step_unmap();
	if (cache.reserved)
		CHECK(cuMemAddressFree(cache.reserved, RESERVED_BYTES));
	if (cache.pool)
		CHECK(cuMemPoolDestroy(cache.pool));
}

static struct block *block_find(size_t bytes)
{
	struct block *b;

	TAILQ_FOREACH (b, &cache.blocks, link)
		if (b->is_free && b->bytes >= bytes)
			return b;
	return NULL;
}

/* At the end: what follows the last block in use. */
static struct block *block_find_on_top(size_t bytes)
{
	struct block *last = TAILQ_LAST(&cache.blocks, blocks);

	return last && last->is_free && last->bytes >= bytes ? last : NULL;
}

static struct block *block_find_or_grow(size_t bytes)
{
	bool is_caching = cache.kind == CACHE_CACHING;
	size_t growth = round_up(bytes, cache.segment_bytes);
	struct block *(*find)(size_t) = cache.kind == CACHE_STACK ? block_find_on_top : block_find;
	struct block *b = find(bytes);
	CUresult r;

	if (b)
		return b;
	r = is_caching ? segment_make(growth) : range_grow(growth);
	if (r == CUDA_ERROR_OUT_OF_MEMORY && cache.kind != CACHE_STACK) {
		if (is_caching)
			segments_give_back();
		else
			range_give_back();
		r = is_caching ? segment_make(growth) : range_grow(growth);
	}
	cuda_check(r, "an allocator that grows");
	return find(bytes);
}

void cache_hint(void)
{
	const struct block *b;

	TAILQ_FOREACH (b, &cache.blocks, link)
		if (b->is_free)
			sluice_dead((const void *)(uintptr_t)b->address, b->bytes);
}

CUdeviceptr cache_alloc(size_t bytes)
{
	struct block *b, *rest;
	CUdeviceptr address;

	if (cache.kind == CACHE_ASYNC) {
		CHECK(cuMemAllocFromPoolAsync(&address, bytes, cache.pool, cache.stream));
		return address;
	}
	bytes = round_up(bytes, ALIGN);
	b = block_find_or_grow(bytes);
	if (b->bytes > bytes) {
		rest = block_new(b->address + bytes, b->bytes - bytes);
		b->bytes = bytes;
		TAILQ_INSERT_AFTER(&cache.blocks, b, rest, link);
	}
	b->is_free = false;
	return b->address;
}

void cache_free(CUdeviceptr address)
{
	struct block *b;

	if (cache.kind == CACHE_ASYNC) {
		CHECK(cuMemFreeAsync(address, cache.stream));
		return;
	}
	TAILQ_FOREACH (b, &cache.blocks, link)
		if (b->address == address)
			break;
	b->is_free = true;
	block_join_next(b);
	if (!b->begins_segment)
		block_join_next(TAILQ_PREV(b, blocks, link));
}
