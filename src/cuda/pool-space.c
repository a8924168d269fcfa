/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/pool-space.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
#include "cuda/pool-block.h"

int slu_pool_space_new(struct slu_pool_space **ret_space)
{
	struct slu_pool_space *space = calloc(1, sizeof(*space));

	if (!space)
		return slu_error(-ENOMEM);
	TAILQ_INIT(&space->ready.blocks);
	TAILQ_INIT(&space->spare_blocks);
	TAILQ_INIT(&space->whole);
	TAILQ_INIT(&space->other);
	*ret_space = space;
	return 0;
}

void slu_pool_space_clear(struct slu_pool_space *space)
{
	slu_pool_block_clear(space);
	space->stats.used_bytes = space->stats.reserved_bytes = 0;
}

void slu_pool_space_free(struct slu_pool_space *space)
{
	if (!space)
		return;
	slu_pool_space_clear(space);
	free(space);
}

/* -- allocation ------------------------------------------------------------------------------- */

static bool block_is_usable(const struct slu_pool_space *s, const struct slu_pool_block *block,
			    const struct slu_pool_frees *own)
{
	return block && block->frees && (block->frees == &s->ready || block->frees == own);
}

/*
 * The first of a row of neighbours that @own's stream may have and that are large enough together.
 * READY neighbours are one block, so each such row has a block of the stream in it.
 */
static struct slu_pool_block *blocks_find_row(const struct slu_pool_space *s,
					      const struct slu_pool_frees *own, uint64_t bytes)
{
	struct slu_pool_block *block, *first, *next;
	uint64_t sum;

	TAILQ_FOREACH (block, &own->blocks, link) {
		first = block;
		if (block_is_usable(s, block->neighbours[0], own)) {
			first = block->neighbours[0];
			/* the row begins further down: with another block of the stream */
			if (block_is_usable(s, first->neighbours[0], own))
				continue;
		}
		for (sum = 0, next = first; block_is_usable(s, next, own) && sum < bytes;
		     next = next->neighbours[1])
			sum += next->bytes;
		if (sum >= bytes)
			return first;
	}
	return NULL;
}

static struct slu_pool_block *block_find_fit(struct slu_pool_space *s, struct slu_pool_frees *own,
					     uint64_t bytes)
{
	struct slu_pool_block *mine, *ready;

	ready = slu_pool_block_find_bytes(&s->ready, bytes);
	if (!own)
		return ready;
	mine = slu_pool_block_find_bytes(own, bytes);
	if (mine && (!ready || mine->bytes <= ready->bytes))
		return mine;
	return ready ? ready : blocks_find_row(s, own, bytes);
}

/* Makes the first @bytes from @first on one block that is not free. One must have been reserved. */
static struct slu_pool_block *block_cut(struct slu_pool_space *s, struct slu_pool_block *first,
					uint64_t bytes)
{
	struct slu_pool_block *used, *next;

	if (first->bytes > bytes) {
		uint64_t address = first->address;

		slu_pool_block_shorten(s, first, bytes);
		used = slu_pool_block_add(s, first->segment, address, bytes);
		used->neighbours[0] = first->neighbours[0];
		used->neighbours[1] = first;
		if (used->neighbours[0])
			used->neighbours[0]->neighbours[1] = used;
		first->neighbours[0] = used;
		return used;
	}
	used = first;
	slu_pool_block_leave_frees(s, used);
	while (used->bytes < bytes) {
		uint64_t missing = bytes - used->bytes;

		next = used->neighbours[1];
		if (next->bytes > missing) {
			slu_pool_block_shorten(s, next, missing);
			used->bytes += missing;
		} else {
			slu_pool_block_leave_frees(s, next);
			used->bytes += next->bytes;
			slu_pool_block_remove(s, next);
		}
	}
	return used;
}

int slu_pool_space_take(struct slu_pool_space *s, uint64_t bytes, uint64_t stream, uint64_t id,
			uint64_t *ret_address)
{
	uint64_t whole = slu_round_up(bytes, SLU_POOL_SPACE_ALIGN);
	struct slu_pool_block *block;

	if (whole < bytes || !whole)
		return SLU_POOL_SPACE_E_FULL;
	block = block_find_fit(s, slu_pool_block_frees_find(s, stream), whole);
	if (!block)
		return SLU_POOL_SPACE_E_FULL;
	if (slu_pool_block_reserve(s))
		return slu_error(-ENOMEM);
	block = block_cut(s, block, whole);
	slu_pool_block_enter_used(s, block);
	block->asked_bytes = bytes;
	block->id = id;
	*ret_address = block->address;
	return 0;
}

int slu_pool_space_end(struct slu_pool_space *s, uint64_t address, uint64_t stream,
		       uint64_t position)
{
	struct slu_pool_block *block = slu_pool_block_find_used(s, address);
	struct slu_pool_frees *frees = &s->ready;

	if (!block || block->address != address)
		return SLU_POOL_SPACE_E_UNKNOWN;
	if (stream != SLU_POOL_SPACE_NO_STREAM)
		frees = slu_pool_block_frees_need(s, stream);
	if (!frees)
		return slu_error(-ENOMEM);
	slu_pool_block_leave_used(s, block);
	block->position = position;
	slu_pool_block_enter_frees(s, block, frees);
	return 0;
}

void slu_pool_space_prove(struct slu_pool_space *s, uint64_t stream, uint64_t position)
{
	struct slu_pool_frees *frees = slu_pool_block_frees_find(s, stream);
	struct slu_pool_block *block;

	while (frees && (block = TAILQ_FIRST(&frees->blocks)) && block->position <= position) {
		/* with its last block it goes among the spares */
		if (TAILQ_NEXT(block, link) == NULL)
			frees = NULL;
		slu_pool_block_leave_frees(s, block);
		slu_pool_block_enter_frees(s, block, &s->ready);
	}
}

bool slu_pool_space_is_pending(const struct slu_pool_space *s, uint64_t stream)
{
	const struct slu_pool_frees *frees;

	LIST_FOREACH (frees, &s->pending, link)
		if (frees->stream == stream || stream == SLU_POOL_SPACE_NO_STREAM)
			return true;
	return false;
}

/* -- segments --------------------------------------------------------------------------------- */

int slu_pool_space_add(struct slu_pool_space *s, uint64_t address, uint64_t bytes, void *owner)
{
	struct slu_pool_segment *segment;

	if (slu_pool_block_reserve(s))
		return slu_error(-ENOMEM);
	segment = calloc(1, sizeof(*segment));
	if (!segment)
		return slu_error(-ENOMEM);
	segment->bytes = bytes;
	segment->owner = owner;
	TAILQ_INSERT_TAIL(&s->other, segment, link);
	slu_pool_block_enter_frees(s, slu_pool_block_add(s, segment, address, bytes), &s->ready);
	s->stats.reserved_bytes += bytes;
	return 0;
}

void *slu_pool_space_take_out(struct slu_pool_space *s, uint64_t bytes_max)
{
	struct slu_pool_segment *segment;
	struct slu_pool_block *block;
	void *owner;

	TAILQ_FOREACH (segment, &s->whole, link)
		if (segment->bytes <= bytes_max)
			break;
	if (!segment)
		return NULL;
	block = segment->whole;
	slu_pool_block_leave_frees(s, block);
	slu_pool_block_remove(s, block);
	TAILQ_REMOVE(&s->other, segment, link);
	s->stats.reserved_bytes -= segment->bytes;
	owner = segment->owner;
	free(segment);
	return owner;
}

bool slu_pool_space_next_ready(const struct slu_pool_space *s, uint64_t address,
			       uint64_t *ret_address, uint64_t *ret_bytes)
{
	const struct slu_pool_block *block, *found = NULL;

	TAILQ_FOREACH (block, &s->ready.blocks, link)
		if (block->address >= address && (!found || block->address < found->address))
			found = block;
	if (!found)
		return false;
	*ret_address = found->address;
	*ret_bytes = found->bytes;
	return true;
}

bool slu_pool_space_find(struct slu_pool_space *s, uint64_t address,
			 struct slu_pool_space_block *ret_block)
{
	const struct slu_pool_block *block = slu_pool_block_find_used(s, address);

	if (!block || address - block->address >= block->asked_bytes)
		return false;
	*ret_block = (struct slu_pool_space_block){
		.address = block->address,
		.bytes = block->asked_bytes,
		.id = block->id,
	};
	return true;
}

bool slu_pool_space_is_used(struct slu_pool_space *s, uint64_t address, uint64_t bytes)
{
	const struct slu_pool_block *block = slu_pool_block_find_used(s, address + bytes - 1);

	return block && block->address + block->bytes > address;
}

const struct slu_pool_space_stats *slu_pool_space_stats(const struct slu_pool_space *s)
{
	return &s->stats;
}

void slu_pool_space_reset_used_high(struct slu_pool_space *s)
{
	s->stats.used_bytes_high = s->stats.used_bytes;
}
