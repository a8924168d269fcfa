/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory of one pool: segments of addresses, cut into blocks for allocations that are made and
 * freed in the order of streams. Pure: it makes no driver call and knows no lock.
 *
 * A free has a stream and a position; positions rise. Until it is proven that the work in front of
 * the free has ended, only that stream may have the block again:
 *
 *   USED    -> PENDING  [slu_pool_space_end]    freed in a stream
 *   USED    -> READY    [slu_pool_space_end]    freed, and all that used it had ended
 *   PENDING -> READY    [slu_pool_space_prove]  the stream has come past the free
 *   PENDING -> USED     [slu_pool_space_take]   allocated in the same stream
 *   READY   -> USED     [slu_pool_space_take]   allocated in any stream
 *
 * Neighbours that are READY are one block, and so are neighbours that are PENDING in one stream, at
 * the later of both positions. A READY neighbour of a PENDING block stays READY, for other streams;
 * an allocation of the stream that fits in neither of them, but in both together, gets both.
 *
 * The smallest block that is large enough is taken. Sizes and addresses are multiples of 512 bytes,
 * as with the genuine driver.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLU_POOL_SPACE_ALIGN 512

/* No stream: everything in front of the free has ended. */
#define SLU_POOL_SPACE_NO_STREAM UINT64_C(0)

struct slu_pool_space;

struct slu_pool_space_stats {
	uint64_t used_bytes, used_bytes_high; /* as rounded */
	uint64_t reserved_bytes;	      /* of all segments */
};

/* What the program sees of a block in use. */
struct slu_pool_space_block {
	uint64_t address, bytes; /* as asked for */
	uint64_t id;		 /* as given when it was taken */
};

enum {
	_SLU_POOL_SPACE_E_SUCCESS,
	SLU_POOL_SPACE_E_FULL,	  /* nothing that the stream may have is large enough */
	SLU_POOL_SPACE_E_UNKNOWN, /* no block in use begins there */
};

int slu_pool_space_new(struct slu_pool_space **ret_space);

/* With all of its segments, whose owners the caller knows. */
void slu_pool_space_clear(struct slu_pool_space *space);
void slu_pool_space_free(struct slu_pool_space *space);

/* Adds a segment of READY memory. @owner is handed back with it. Return: 0 or -ENOMEM. */
int slu_pool_space_add(struct slu_pool_space *space, uint64_t address, uint64_t bytes, void *owner);

/* Return: 0, SLU_POOL_SPACE_E_FULL or -ENOMEM. */
int slu_pool_space_take(struct slu_pool_space *space, uint64_t bytes, uint64_t stream, uint64_t id,
			uint64_t *ret_address);

/*
 * Frees the block that begins at @address in @stream, at a @position above all before.
 * Return: 0, SLU_POOL_SPACE_E_UNKNOWN, or -ENOMEM, which SLU_POOL_SPACE_NO_STREAM never gives.
 */
int slu_pool_space_end(struct slu_pool_space *space, uint64_t address, uint64_t stream,
		       uint64_t position);

/* @stream has come past its frees up to @position. */
void slu_pool_space_prove(struct slu_pool_space *space, uint64_t stream, uint64_t position);

/* Whether a block of @stream is PENDING; SLU_POOL_SPACE_NO_STREAM: of any. */
bool slu_pool_space_is_pending(const struct slu_pool_space *space, uint64_t stream);

/*
 * Takes out a segment that is READY as a whole and not larger than @bytes_max.
 * Return: its owner, or NULL if there is none.
 */
void *slu_pool_space_take_out(struct slu_pool_space *space, uint64_t bytes_max);

/* The first READY block that begins at @address or above. Return: whether there is one. */
bool slu_pool_space_next_ready(const struct slu_pool_space *space, uint64_t address,
			       uint64_t *ret_address, uint64_t *ret_bytes);

/* The block in use that contains @address. Return: whether there is one. */
bool slu_pool_space_find(struct slu_pool_space *space, uint64_t address,
			 struct slu_pool_space_block *ret_block);

/* Whether a block in use has bytes among the @bytes at @address, which are in one segment. */
bool slu_pool_space_is_used(struct slu_pool_space *space, uint64_t address, uint64_t bytes);

const struct slu_pool_space_stats *slu_pool_space_stats(const struct slu_pool_space *space);

/* The highest value begins again with the present one. */
void slu_pool_space_reset_used_high(struct slu_pool_space *space);
