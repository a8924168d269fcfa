/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The bytes under way in one direction: pieces of units, one behind the other, across the borders
 * of units. The device always has more than one of them queued, so the bus is busy between two
 * units and also when our threads wake up late.
 *
 *   (put)   -> CUT      takes space in the pinned ring (without a ring, below the bound)
 *   CUT     -> FEEDING  [slu_pipe_begin]  by the thread that feeds it
 *   FEEDING -> FED                        its copy was started or failed to start
 *   FED     -> REAPING  [slu_pipe_begin]  by the thread that reaps it
 *   REAPING -> REAPED                     its copy has ended: the piece has a result
 *   REAPED  -> (drop)                     the oldest piece: frees its space
 *
 * One thread puts, one drops, any number of them feeds or reaps, under one lock. A ring is made or
 * freed only while no piece is under way.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/move.h"
#include "client/staging.h"

#define SLU_PIPE_PIECES 64
#define SLU_PIPE_PARTS	8 /* a piece is at most this part of what may be under way */

struct slu_pipe {
	struct slu_staging staging; /* empty: without pinned memory */
	struct slu_staging bounce; /* pageable: for moves from and to disk, without pinned memory */
	uint64_t most_bytes;	   /* under way at once; a multiple of SLU_PIPE_PARTS × ALIGN */
	uint64_t n_bytes;	   /* under way now */
	struct slu_piece pieces[SLU_PIPE_PIECES]; /* a queue */
	unsigned first, n_pieces;
};

/*
 * Whether pieces of @move need a ring that does not exist yet: the caller makes `bounce` first, of
 * as many bytes as may be under way.
 */
bool slu_pipe_needs_bounce(const struct slu_pipe *pipe, const struct slu_move *move);

/* The next piece of @move, of which bytes remain. Return: NULL while the ring is full. */
struct slu_piece *slu_pipe_put(struct slu_pipe *pipe, struct slu_move *move);

/*
 * The oldest piece at @stage, CUT or FED, whose next step may begin: the caller makes it. The piece
 * is at the stage of that step then.
 *
 * Return: NULL while there is none. Of a move with a checksum only the first piece counts.
 */
struct slu_piece *slu_pipe_begin(struct slu_pipe *pipe, enum slu_piece_stage stage);

/* Return: NULL while nothing is under way. */
struct slu_piece *slu_pipe_oldest(struct slu_pipe *pipe);
void slu_pipe_drop(struct slu_pipe *pipe);
