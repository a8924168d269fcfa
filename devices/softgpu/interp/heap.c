/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/interp/heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"

#define GRANULE 16u

/* Every byte of the range lies in one piece; two that are free do not touch. */
struct piece {
	uint64_t at;
	uint64_t bytes;
	bool is_taken;
	struct piece *next; /* the one behind it */
};

struct dev_interp_heap {
	pthread_mutex_t lock;
	struct piece *first; /* guarded by lock */
};

int dev_interp_heap_new(uint64_t base, uint64_t bytes, struct dev_interp_heap **ret_heap)
{
	struct dev_interp_heap *heap = calloc(1, sizeof(*heap));
	struct piece *all = calloc(1, sizeof(*all));

	if (!heap || !all) {
		free(heap);
		free(all);
		return slu_error(-ENOMEM);
	}
	all->at = slu_round_up(base, GRANULE);
	all->bytes = bytes - (all->at - base);
	heap->first = all;
	pthread_mutex_init(&heap->lock, NULL);
	*ret_heap = heap;
	return 0;
}

void dev_interp_heap_free(struct dev_interp_heap *heap)
{
	if (!heap)
		return;
	while (heap->first) {
		struct piece *p = heap->first;

		heap->first = p->next;
		free(p);
	}
	pthread_mutex_destroy(&heap->lock);
	free(heap);
}

/* The first that is large enough; what is left of it stays free. */
static uint64_t take_locked(struct dev_interp_heap *heap, uint64_t bytes)
{
	struct piece *p = heap->first, *rest;

	while (p && (p->is_taken || p->bytes < bytes))
		p = p->next;
	if (!p)
		return 0;
	if (p->bytes > bytes) {
		rest = calloc(1, sizeof(*rest));
		if (!rest)
			return 0;
		*rest = (struct piece){ .at = p->at + bytes,
					.bytes = p->bytes - bytes,
					.next = p->next };
		p->next = rest;
		p->bytes = bytes;
	}
	p->is_taken = true;
	return p->at;
}

uint64_t dev_interp_heap_take(struct dev_interp_heap *heap, uint64_t bytes)
{
	uint64_t address;

	if (!bytes || bytes > UINT64_MAX - GRANULE)
		return 0;
	pthread_mutex_lock(&heap->lock);
	address = take_locked(heap, slu_round_up(bytes, GRANULE));
	pthread_mutex_unlock(&heap->lock);
	return address;
}

static void join_next(struct piece *p)
{
	struct piece *next = p->next;

	if (!next || p->is_taken || next->is_taken)
		return;
	p->bytes += next->bytes;
	p->next = next->next;
	free(next);
}

static bool give_locked(struct dev_interp_heap *heap, uint64_t address)
{
	struct piece *p = heap->first, *before = NULL;

	for (; p && p->at != address; p = p->next)
		before = p;
	if (!p || !p->is_taken)
		return false;
	p->is_taken = false;
	join_next(p);
	if (before)
		join_next(before);
	return true;
}

bool dev_interp_heap_give(struct dev_interp_heap *heap, uint64_t address)
{
	bool is_given;

	pthread_mutex_lock(&heap->lock);
	is_given = give_locked(heap, address);
	pthread_mutex_unlock(&heap->lock);
	return is_given;
}
