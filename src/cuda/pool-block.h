/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The blocks of a pool's memory (pool-space.h has the states): each is in use, or among the *frees*
 * of a stream, or among those that are READY. A segment is a row of blocks, neighbour by neighbour.
 * Records that are not needed are kept as spares, so that a free needs no memory.
 */

#include <sys/queue.h>

#include <bsd/sys/tree.h>

#include "cuda/pool-space.h"

struct slu_pool_block {
	union {
		RB_ENTRY(slu_pool_block) by_address; /* in use: among those of the space */
		RB_ENTRY(slu_pool_block) by_bytes;   /* in its frees; then by address */
	};
	TAILQ_ENTRY(slu_pool_block) link;     /* in its frees, or in spares */
	struct slu_pool_block *neighbours[2]; /* in its segment, below and above; or NULL */
	struct slu_pool_segment *segment;
	struct slu_pool_frees *frees; /* NULL: in use */
	uint64_t address, bytes;
	uint64_t position;    /* PENDING: of the last free in it */
	uint64_t asked_bytes; /* in use */
	uint64_t id;	      /* in use */
};

TAILQ_HEAD(slu_pool_blocks, slu_pool_block);
RB_HEAD(slu_pool_used, slu_pool_block);
RB_HEAD(slu_pool_sizes, slu_pool_block);

/* What is free: in one stream, or proven. */
struct slu_pool_frees {
	LIST_ENTRY(slu_pool_frees) link; /* PENDING ones that there are, or spares */
	uint64_t stream;		 /* SLU_POOL_SPACE_NO_STREAM: READY */
	struct slu_pool_sizes by_bytes;
	struct slu_pool_blocks blocks; /* PENDING: by position */
};

LIST_HEAD(slu_pool_frees_list, slu_pool_frees);

struct slu_pool_segment {
	TAILQ_ENTRY(slu_pool_segment) link;
	struct slu_pool_block *whole; /* READY as a whole, in this block; or NULL */
	uint64_t bytes;
	void *owner;
};

TAILQ_HEAD(slu_pool_segments, slu_pool_segment);

struct slu_pool_space {
	struct slu_pool_used used; /* by address */
	struct slu_pool_frees ready;
	struct slu_pool_frees_list pending, spare_frees;
	struct slu_pool_blocks spare_blocks;
	struct slu_pool_segments whole, other;
	struct slu_pool_space_stats stats;
};

/* There is a spare block afterwards. Return: 0 or -ENOMEM. */
int slu_pool_block_reserve(struct slu_pool_space *space);

/* A block that is neither in use nor free yet. One must have been reserved. */
struct slu_pool_block *slu_pool_block_add(struct slu_pool_space *space,
					  struct slu_pool_segment *segment, uint64_t address,
					  uint64_t bytes);

/* It is neither in use nor free; its neighbours know it. */
void slu_pool_block_remove(struct slu_pool_space *space, struct slu_pool_block *block);

/* Into the blocks in use, and out of them. */
void slu_pool_block_enter_used(struct slu_pool_space *space, struct slu_pool_block *block);
void slu_pool_block_leave_used(struct slu_pool_space *space, struct slu_pool_block *block);

/* The block in use that begins at @address, or last before it; or NULL. */
struct slu_pool_block *slu_pool_block_find_used(struct slu_pool_space *space, uint64_t address);

/* Out of what is free. Frees of a stream that are empty are kept for the next one. */
void slu_pool_block_leave_frees(struct slu_pool_space *space, struct slu_pool_block *block);

/* Into what is free, as one with neighbours of the same kind. */
void slu_pool_block_enter_frees(struct slu_pool_space *space, struct slu_pool_block *block,
				struct slu_pool_frees *frees);

/* Takes @bytes off the lower end of a free block that has more. */
void slu_pool_block_shorten(struct slu_pool_space *space, struct slu_pool_block *block,
			    uint64_t bytes);

/* The smallest block of @frees that has @bytes or more, the lowest of its size; or NULL. */
struct slu_pool_block *slu_pool_block_find_bytes(struct slu_pool_frees *frees, uint64_t bytes);

/* The frees of @stream, or NULL: there are none, or, if they are needed, there is no memory. */
struct slu_pool_frees *slu_pool_block_frees_find(struct slu_pool_space *space, uint64_t stream);
struct slu_pool_frees *slu_pool_block_frees_need(struct slu_pool_space *space, uint64_t stream);

/* Frees all records of the space, also the spares and the segments. */
void slu_pool_block_clear(struct slu_pool_space *space);
