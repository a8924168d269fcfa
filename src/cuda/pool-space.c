/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/pool-space.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/error.h"
#include "base/util.h"
#include "cuda/tree.h"

struct block {
	union {
		struct slu_tree_node by_address; /* in use: among those of the space */
		struct slu_tree_node by_bytes;	 /* in its frees; the tie is the address */
	};
	TAILQ_ENTRY(block) link;     /* in its frees, or in spares */
	struct block *neighbours[2]; /* in its segment, below and above; or NULL */
	struct segment *segment;
	struct frees *frees; /* NULL: in use */
	uint64_t address, bytes;
	uint64_t position;    /* PENDING: of the last free in it */
	uint64_t asked_bytes; /* in use */
	uint64_t id;	      /* in use */
};

TAILQ_HEAD(blocks, block);

/* What is free: in one stream, or proven. */
struct frees {
	LIST_ENTRY(frees) link; /* PENDING ones that there are, or spares */
	uint64_t stream;	/* SLU_POOL_SPACE_NO_STREAM: READY */
	struct slu_tree by_bytes;
	struct blocks blocks; /* PENDING: by position */
};

LIST_HEAD(frees_list, frees);

struct segment {
	TAILQ_ENTRY(segment) link;
	struct block *whole; /* READY as a whole, in this block; or NULL */
	uint64_t bytes;
	void *owner;
};

TAILQ_HEAD(segments, segment);

struct slu_pool_space {
	struct slu_tree used; /* by address */
	struct frees ready;
	struct frees_list pending, spare_frees;
	struct blocks spare_blocks;
	struct segments whole, other;
	struct slu_pool_space_stats stats;
};

#define BLOCK_OF(node, member) \
	((node) ? (struct block *)(void *)((char *)(node)-offsetof(struct block, member)) : NULL)

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

static void blocks_free(struct blocks *list)
{
	struct block *block;

	while ((block = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, block, link);
		free(block);
	}
}

static void frees_free(struct frees_list *list)
{
	struct frees *frees;

	while ((frees = LIST_FIRST(list))) {
		LIST_REMOVE(frees, link);
		free(frees);
	}
}

static void segments_free(struct segments *list)
{
	struct segment *segment;

	while ((segment = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, segment, link);
		free(segment);
	}
}

void slu_pool_space_clear(struct slu_pool_space *space)
{
	struct frees *frees;
	struct block *block;

	while (space->used.root) {
		block = BLOCK_OF(space->used.root, by_address);
		slu_tree_remove(&space->used, &block->by_address);
		free(block);
	}
	blocks_free(&space->spare_blocks);
	blocks_free(&space->ready.blocks);
	LIST_FOREACH (frees, &space->pending, link)
		blocks_free(&frees->blocks);
	frees_free(&space->pending);
	frees_free(&space->spare_frees);
	segments_free(&space->whole);
	segments_free(&space->other);
	space->ready.by_bytes.root = NULL;
	space->stats.used_bytes = space->stats.reserved_bytes = 0;
}

void slu_pool_space_free(struct slu_pool_space *space)
{
	if (!space)
		return;
	slu_pool_space_clear(space);
	free(space);
}

/* -- blocks ---------------------------------------------------------------------------------------
 */

/* There is a spare one afterwards. */
static int block_reserve(struct slu_pool_space *s)
{
	struct block *block;

	if (!TAILQ_EMPTY(&s->spare_blocks))
		return 0;
	block = calloc(1, sizeof(*block));
	if (!block)
		return slu_error(-ENOMEM);
	TAILQ_INSERT_HEAD(&s->spare_blocks, block, link);
	return 0;
}

/* A block that is neither in use nor free yet. One must have been reserved. */
static struct block *block_add(struct slu_pool_space *s, struct segment *segment, uint64_t address,
			       uint64_t bytes)
{
	struct block *block = TAILQ_FIRST(&s->spare_blocks);

	TAILQ_REMOVE(&s->spare_blocks, block, link);
	*block = (struct block){ .segment = segment, .address = address, .bytes = bytes };
	return block;
}

/* It is neither in use nor free; its neighbours know it. */
static void block_remove(struct slu_pool_space *s, struct block *block)
{
	for (int side = 0; side < 2; side++)
		if (block->neighbours[side])
			block->neighbours[side]->neighbours[!side] = block->neighbours[!side];
	TAILQ_INSERT_HEAD(&s->spare_blocks, block, link);
}

static bool block_is_whole(const struct block *block)
{
	return block->bytes == block->segment->bytes;
}

static void segment_set_whole(struct slu_pool_space *s, struct segment *segment,
			      struct block *whole)
{
	TAILQ_REMOVE(segment->whole ? &s->whole : &s->other, segment, link);
	segment->whole = whole;
	TAILQ_INSERT_TAIL(whole ? &s->whole : &s->other, segment, link);
}

/* Out of what is free. Frees of a stream that are empty are kept for the next one. */
static void block_leave_frees(struct slu_pool_space *s, struct block *block)
{
	struct frees *frees = block->frees;

	if (frees == &s->ready && block_is_whole(block))
		segment_set_whole(s, block->segment, NULL);
	slu_tree_remove(&frees->by_bytes, &block->by_bytes);
	TAILQ_REMOVE(&frees->blocks, block, link);
	block->frees = NULL;
	if (frees != &s->ready && TAILQ_EMPTY(&frees->blocks)) {
		LIST_REMOVE(frees, link);
		LIST_INSERT_HEAD(&s->spare_frees, frees, link);
	}
}

/* Into what is free, as one with neighbours of the same kind. */
static void block_enter_frees(struct slu_pool_space *s, struct block *block, struct frees *frees)
{
	for (int side = 0; side < 2; side++) {
		struct block *other = block->neighbours[side];

		if (!other || other->frees != frees)
			continue;
		/* @frees may be without blocks for a moment: it must not go */
		slu_tree_remove(&frees->by_bytes, &other->by_bytes);
		TAILQ_REMOVE(&frees->blocks, other, link);
		other->frees = NULL;
		if (side == 0) {
			other->position = SLU_MAX(other->position, block->position);
			other->bytes += block->bytes;
			block_remove(s, block);
			block = other;
		} else {
			block->position = SLU_MAX(other->position, block->position);
			block->bytes += other->bytes;
			block_remove(s, other);
		}
	}
	block->frees = frees;
	slu_tree_add(&frees->by_bytes, &block->by_bytes, block->bytes, block->address);
	/* what was freed last is last, also as part of a larger block */
	TAILQ_INSERT_TAIL(&frees->blocks, block, link);
	if (frees == &s->ready && block_is_whole(block))
		segment_set_whole(s, block->segment, block);
}

/* Takes @bytes off the lower end of a free block that has more. */
static void block_shorten(struct slu_pool_space *s, struct block *block, uint64_t bytes)
{
	if (block->frees == &s->ready && block_is_whole(block))
		segment_set_whole(s, block->segment, NULL);
	slu_tree_remove(&block->frees->by_bytes, &block->by_bytes);
	block->address += bytes;
	block->bytes -= bytes;
	slu_tree_add(&block->frees->by_bytes, &block->by_bytes, block->bytes, block->address);
}

/* -- frees of streams -----------------------------------------------------------------------------
 */

/* Those that are used are in front: programs free in few streams at a time. */
static struct frees *frees_find(struct slu_pool_space *s, uint64_t stream)
{
	struct frees *frees = LIST_FIRST(&s->pending);

	if (!frees || frees->stream == stream)
		return frees;
	LIST_FOREACH (frees, &s->pending, link)
		if (frees->stream == stream)
			break;
	if (frees) {
		LIST_REMOVE(frees, link);
		LIST_INSERT_HEAD(&s->pending, frees, link);
	}
	return frees;
}

/* Return: NULL without memory. */
static struct frees *frees_need(struct slu_pool_space *s, uint64_t stream)
{
	struct frees *frees = frees_find(s, stream);

	if (frees)
		return frees;
	frees = LIST_FIRST(&s->spare_frees);
	if (frees)
		LIST_REMOVE(frees, link);
	else
		frees = malloc(sizeof(*frees));
	if (!frees)
		return NULL;
	*frees = (struct frees){ .stream = stream };
	TAILQ_INIT(&frees->blocks);
	LIST_INSERT_HEAD(&s->pending, frees, link);
	return frees;
}

/* -- allocation -----------------------------------------------------------------------------------
 */

static bool block_is_usable(const struct slu_pool_space *s, const struct block *block,
			    const struct frees *own)
{
	return block && block->frees && (block->frees == &s->ready || block->frees == own);
}

/*
 * The first of a row of neighbours that @own's stream may have and that are large enough together.
 * READY neighbours are one block, so each such row has a block of the stream in it.
 */
static struct block *blocks_find_row(const struct slu_pool_space *s, const struct frees *own,
				     uint64_t bytes)
{
	struct block *block, *first, *next;
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

static struct block *block_find_fit(const struct slu_pool_space *s, const struct frees *own,
				    uint64_t bytes)
{
	struct block *mine, *ready;

	ready = BLOCK_OF(slu_tree_at_or_above(&s->ready.by_bytes, bytes), by_bytes);
	if (!own)
		return ready;
	mine = BLOCK_OF(slu_tree_at_or_above(&own->by_bytes, bytes), by_bytes);
	if (mine && (!ready || mine->bytes <= ready->bytes))
		return mine;
	return ready ? ready : blocks_find_row(s, own, bytes);
}

/* Makes the first @bytes from @first on one block that is not free. One must have been reserved. */
static struct block *block_cut(struct slu_pool_space *s, struct block *first, uint64_t bytes)
{
	struct block *used, *next;

	if (first->bytes > bytes) {
		uint64_t address = first->address;

		block_shorten(s, first, bytes);
		used = block_add(s, first->segment, address, bytes);
		used->neighbours[0] = first->neighbours[0];
		used->neighbours[1] = first;
		if (used->neighbours[0])
			used->neighbours[0]->neighbours[1] = used;
		first->neighbours[0] = used;
		return used;
	}
	used = first;
	block_leave_frees(s, used);
	while (used->bytes < bytes) {
		uint64_t missing = bytes - used->bytes;

		next = used->neighbours[1];
		if (next->bytes > missing) {
			block_shorten(s, next, missing);
			used->bytes += missing;
		} else {
			block_leave_frees(s, next);
			used->bytes += next->bytes;
			block_remove(s, next);
		}
	}
	return used;
}

int slu_pool_space_take(struct slu_pool_space *s, uint64_t bytes, uint64_t stream, uint64_t id,
			uint64_t *ret_address)
{
	uint64_t whole = slu_round_up(bytes, SLU_POOL_SPACE_ALIGN);
	struct block *block;

	if (whole < bytes || !whole)
		return SLU_POOL_SPACE_E_FULL;
	block = block_find_fit(s, frees_find(s, stream), whole);
	if (!block)
		return SLU_POOL_SPACE_E_FULL;
	if (block_reserve(s))
		return slu_error(-ENOMEM);
	block = block_cut(s, block, whole);
	slu_tree_add(&s->used, &block->by_address, block->address, 0);
	block->asked_bytes = bytes;
	block->id = id;
	s->stats.used_bytes += whole;
	s->stats.used_bytes_high = SLU_MAX(s->stats.used_bytes_high, s->stats.used_bytes);
	*ret_address = block->address;
	return 0;
}

/* The block in use that begins at @address, or last before it. */
static struct block *block_find_used(const struct slu_pool_space *s, uint64_t address)
{
	return BLOCK_OF(slu_tree_at_or_below(&s->used, address), by_address);
}

int slu_pool_space_end(struct slu_pool_space *s, uint64_t address, uint64_t stream,
		       uint64_t position)
{
	struct block *block = block_find_used(s, address);
	struct frees *frees = &s->ready;

	if (!block || block->address != address)
		return SLU_POOL_SPACE_E_UNKNOWN;
	if (stream != SLU_POOL_SPACE_NO_STREAM)
		frees = frees_need(s, stream);
	if (!frees)
		return slu_error(-ENOMEM);
	slu_tree_remove(&s->used, &block->by_address);
	s->stats.used_bytes -= block->bytes;
	block->position = position;
	block_enter_frees(s, block, frees);
	return 0;
}

void slu_pool_space_prove(struct slu_pool_space *s, uint64_t stream, uint64_t position)
{
	struct frees *frees = frees_find(s, stream);
	struct block *block;

	while (frees && (block = TAILQ_FIRST(&frees->blocks)) && block->position <= position) {
		/* with its last block it goes among the spares */
		if (TAILQ_NEXT(block, link) == NULL)
			frees = NULL;
		block_leave_frees(s, block);
		block_enter_frees(s, block, &s->ready);
	}
}

bool slu_pool_space_is_pending(const struct slu_pool_space *s, uint64_t stream)
{
	const struct frees *frees;

	LIST_FOREACH (frees, &s->pending, link)
		if (frees->stream == stream || stream == SLU_POOL_SPACE_NO_STREAM)
			return true;
	return false;
}

/* -- segments -------------------------------------------------------------------------------------
 */

int slu_pool_space_add(struct slu_pool_space *s, uint64_t address, uint64_t bytes, void *owner)
{
	struct segment *segment;

	if (block_reserve(s))
		return slu_error(-ENOMEM);
	segment = calloc(1, sizeof(*segment));
	if (!segment)
		return slu_error(-ENOMEM);
	segment->bytes = bytes;
	segment->owner = owner;
	TAILQ_INSERT_TAIL(&s->other, segment, link);
	block_enter_frees(s, block_add(s, segment, address, bytes), &s->ready);
	s->stats.reserved_bytes += bytes;
	return 0;
}

void *slu_pool_space_take_out(struct slu_pool_space *s, uint64_t bytes_max)
{
	struct segment *segment;
	struct block *block;
	void *owner;

	TAILQ_FOREACH (segment, &s->whole, link)
		if (segment->bytes <= bytes_max)
			break;
	if (!segment)
		return NULL;
	block = segment->whole;
	block_leave_frees(s, block);
	block_remove(s, block);
	TAILQ_REMOVE(&s->other, segment, link);
	s->stats.reserved_bytes -= segment->bytes;
	owner = segment->owner;
	free(segment);
	return owner;
}

bool slu_pool_space_next_ready(const struct slu_pool_space *s, uint64_t address,
			       uint64_t *ret_address, uint64_t *ret_bytes)
{
	const struct block *block, *found = NULL;

	TAILQ_FOREACH (block, &s->ready.blocks, link)
		if (block->address >= address && (!found || block->address < found->address))
			found = block;
	if (!found)
		return false;
	*ret_address = found->address;
	*ret_bytes = found->bytes;
	return true;
}

bool slu_pool_space_find(const struct slu_pool_space *s, uint64_t address,
			 struct slu_pool_space_block *ret_block)
{
	const struct block *block = block_find_used(s, address);

	if (!block || address - block->address >= block->asked_bytes)
		return false;
	*ret_block = (struct slu_pool_space_block){
		.address = block->address,
		.bytes = block->asked_bytes,
		.id = block->id,
	};
	return true;
}

const struct slu_pool_space_stats *slu_pool_space_stats(const struct slu_pool_space *s)
{
	return &s->stats;
}

void slu_pool_space_reset_used_high(struct slu_pool_space *s)
{
	s->stats.used_bytes_high = s->stats.used_bytes;
}
