/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The bytes that are under way in one direction: pieces of units, one behind the other, across the
 * borders of units. The device always has several of them before it, so the bus does not stand
 * still between two units, nor when our threads wake up late.
 *
 *   put       space in the pinned ring (or below the bound, without one) is taken for the next
 * piece is_ready  its copy was started, or could not be: the piece has a result drop      its copy
 * has ended: the oldest piece goes, and its space is free again
 *
 * One thread puts, one drops; what follows is guarded by their lock. Neither ring comes or goes
 * while a piece is under way.
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
 * Whether pieces of @move need a ring of their own that is not there yet: the caller makes `bounce`
 * first, which takes as much memory as may be under way.
 */
bool slu_pipe_needs_bounce(const struct slu_pipe *pipe, const struct slu_move *move);

/* The next piece of @move, which has some left. Return: NULL while the ring is full. */
struct slu_piece *slu_pipe_put(struct slu_pipe *pipe, struct slu_move *move);

/* Return: NULL while nothing is under way. */
struct slu_piece *slu_pipe_oldest(struct slu_pipe *pipe);
void slu_pipe_drop(struct slu_pipe *pipe);
