/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/pool-block.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"

static int compare_address(const struct slu_pool_block *a, const struct slu_pool_block *b)
{
	return (a->address > b->address) - (a->address < b->address);
}

static int compare_bytes(const struct slu_pool_block *a, const struct slu_pool_block *b)
{
	return a->bytes != b->bytes ? (a->bytes > b->bytes) - (a->bytes < b->bytes)
				    : compare_address(a, b);
}

/* RB_GENERATE_STATIC needs __unused, which libbsd does not define */
#define TREE __attribute__((unused)) static
RB_GENERATE_INTERNAL(slu_pool_used, slu_pool_block, by_address, compare_address, TREE)
RB_GENERATE_INTERNAL(slu_pool_sizes, slu_pool_block, by_bytes, compare_bytes, TREE)

/* -- blocks --------------------------------------------------------------------------------- */

int slu_pool_block_reserve(struct slu_pool_space *s)
{
	struct slu_pool_block *block;

	if (!TAILQ_EMPTY(&s->spare_blocks))
		return 0;
	block = calloc(1, sizeof(*block));
	if (!block)
		return slu_error(-ENOMEM);
	TAILQ_INSERT_HEAD(&s->spare_blocks, block, link);
	return 0;
}

struct slu_pool_block *slu_pool_block_add(struct slu_pool_space *s,
					  struct slu_pool_segment *segment, uint64_t address,
					  uint64_t bytes)
{
	struct slu_pool_block *block = TAILQ_FIRST(&s->spare_blocks);

	TAILQ_REMOVE(&s->spare_blocks, block, link);
	*block = (struct slu_pool_block){ .segment = segment, .address = address, .bytes = bytes };
	return block;
}

void slu_pool_block_remove(struct slu_pool_space *s, struct slu_pool_block *block)
{
	for (int side = 0; side < 2; side++)
		if (block->neighbours[side])
			block->neighbours[side]->neighbours[!side] = block->neighbours[!side];
	TAILQ_INSERT_HEAD(&s->spare_blocks, block, link);
}

static bool block_is_whole(const struct slu_pool_block *block)
{
	return block->bytes == block->segment->bytes;
}

static void segment_set_whole(struct slu_pool_space *s, struct slu_pool_segment *segment,
			      struct slu_pool_block *whole)
{
	TAILQ_REMOVE(segment->whole ? &s->whole : &s->other, segment, link);
	segment->whole = whole;
	TAILQ_INSERT_TAIL(whole ? &s->whole : &s->other, segment, link);
}

void slu_pool_block_leave_frees(struct slu_pool_space *s, struct slu_pool_block *block)
{
	struct slu_pool_frees *frees = block->frees;

	if (frees == &s->ready && block_is_whole(block))
		segment_set_whole(s, block->segment, NULL);
	RB_REMOVE(slu_pool_sizes, &frees->by_bytes, block);
	TAILQ_REMOVE(&frees->blocks, block, link);
	block->frees = NULL;
	if (frees != &s->ready && TAILQ_EMPTY(&frees->blocks)) {
		LIST_REMOVE(frees, link);
		LIST_INSERT_HEAD(&s->spare_frees, frees, link);
	}
}

void slu_pool_block_enter_frees(struct slu_pool_space *s, struct slu_pool_block *block,
				struct slu_pool_frees *frees)
{
	for (int side = 0; side < 2; side++) {
		struct slu_pool_block *other = block->neighbours[side];

		if (!other || other->frees != frees)
			continue;
		/* @frees may be without blocks for a moment: it must not go */
		RB_REMOVE(slu_pool_sizes, &frees->by_bytes, other);
		TAILQ_REMOVE(&frees->blocks, other, link);
		other->frees = NULL;
		if (side == 0) {
			other->position = SLU_MAX(other->position, block->position);
			other->bytes += block->bytes;
			slu_pool_block_remove(s, block);
			block = other;
		} else {
			block->position = SLU_MAX(other->position, block->position);
			block->bytes += other->bytes;
			slu_pool_block_remove(s, other);
		}
	}
	block->frees = frees;
	RB_INSERT(slu_pool_sizes, &frees->by_bytes, block);
	/* what was freed last is last, also as part of a larger block */
	TAILQ_INSERT_TAIL(&frees->blocks, block, link);
	if (frees == &s->ready && block_is_whole(block))
		segment_set_whole(s, block->segment, block);
}

void slu_pool_block_shorten(struct slu_pool_space *s, struct slu_pool_block *block, uint64_t bytes)
{
	if (block->frees == &s->ready && block_is_whole(block))
		segment_set_whole(s, block->segment, NULL);
	RB_REMOVE(slu_pool_sizes, &block->frees->by_bytes, block);
	block->address += bytes;
	block->bytes -= bytes;
	RB_INSERT(slu_pool_sizes, &block->frees->by_bytes, block);
}

void slu_pool_block_enter_used(struct slu_pool_space *s, struct slu_pool_block *block)
{
	RB_INSERT(slu_pool_used, &s->used, block);
	s->stats.used_bytes += block->bytes;
	s->stats.used_bytes_high = SLU_MAX(s->stats.used_bytes_high, s->stats.used_bytes);
}

void slu_pool_block_leave_used(struct slu_pool_space *s, struct slu_pool_block *block)
{
	RB_REMOVE(slu_pool_used, &s->used, block);
	s->stats.used_bytes -= block->bytes;
}

struct slu_pool_block *slu_pool_block_find_used(struct slu_pool_space *s, uint64_t address)
{
	struct slu_pool_block key = { .address = address };
	struct slu_pool_block *above = RB_NFIND(slu_pool_used, &s->used, &key);

	if (!above)
		return RB_MAX(slu_pool_used, &s->used);
	return above->address == address ? above : RB_PREV(slu_pool_used, &s->used, above);
}

struct slu_pool_block *slu_pool_block_find_bytes(struct slu_pool_frees *frees, uint64_t bytes)
{
	struct slu_pool_block least;

	least.bytes = bytes;
	least.address = 0;
	return RB_NFIND(slu_pool_sizes, &frees->by_bytes, &least);
}

/* -- frees of streams ------------------------------------------------------------------------- */

/* Those that are used are in front: programs free in few streams at a time. */
struct slu_pool_frees *slu_pool_block_frees_find(struct slu_pool_space *s, uint64_t stream)
{
	struct slu_pool_frees *frees = LIST_FIRST(&s->pending);

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

struct slu_pool_frees *slu_pool_block_frees_need(struct slu_pool_space *s, uint64_t stream)
{
	struct slu_pool_frees *frees = slu_pool_block_frees_find(s, stream);

	if (frees)
		return frees;
	frees = LIST_FIRST(&s->spare_frees);
	if (frees)
		LIST_REMOVE(frees, link);
	else
		frees = malloc(sizeof(*frees));
	if (!frees)
		return NULL;
	*frees = (struct slu_pool_frees){ .stream = stream };
	TAILQ_INIT(&frees->blocks);
	LIST_INSERT_HEAD(&s->pending, frees, link);
	return frees;
}

/* -- the end ---------------------------------------------------------------------------------- */

static void blocks_free(struct slu_pool_blocks *list)
{
	struct slu_pool_block *block;

	while ((block = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, block, link);
		free(block);
	}
}

static void frees_free(struct slu_pool_frees_list *list)
{
	struct slu_pool_frees *frees;

	while ((frees = LIST_FIRST(list))) {
		LIST_REMOVE(frees, link);
		free(frees);
	}
}

static void segments_free(struct slu_pool_segments *list)
{
	struct slu_pool_segment *segment;

	while ((segment = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, segment, link);
		free(segment);
	}
}

void slu_pool_block_clear(struct slu_pool_space *space)
{
	struct slu_pool_frees *frees;
	struct slu_pool_block *block;

	while ((block = RB_ROOT(&space->used))) {
		RB_REMOVE(slu_pool_used, &space->used, block);
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
	RB_INIT(&space->ready.by_bytes);
}
