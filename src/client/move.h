/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One move of one unit from place to place. It knows neither locks nor the protocol: what to do is
 * written into the struct before, what came of it is read after.
 *
 *   out   DEVICE -> RAM     copy what is newer to the host, then give up the device memory
 *         MAPPED -> RAM     the same, from the mapped bytes
 *   in    RAM -> DEVICE     make device memory, copy the host's bytes in
 *   map   RAM -> MAPPED     make mapped memory, copy the host's bytes in
 *
 * A unit whose backing is on disk goes the same ways, and its host copy is an extent of the disk's
 * file: the pieces are written and read from their buffers, and always checksummed.
 *
 * The old copy is given up only when the new one is whole. So a move that fails, is cancelled or
 * refused leaves the unit where it was, with the copy that it had.
 *
 * A move goes in steps, so that the pieces of many moves can be under way at once (pipe.h):
 *
 *   begin   rest, memory; a copy between two places that the processor sees is made here as well
 *   cut     the next piece is named; repeated until none is left
 *   feed    in: the processor fills the piece's buffer; then the device is told to copy
 *   reap    waits for the device; out: the processor takes the bytes from the buffer
 *   end     gives up the old copy, or what was made for the new one
 *
 * Begin and feed are one thread's, reap and end may be another's. Pieces are fed and reaped in the
 * order in which they were cut, each of them once, and all that were cut before end.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/backend.h"
#include "client/checksum.h"
#include "client/disk.h"
#include "place/unit.h"

enum {
	_SLU_MOVE_E_SUCCESS,
	SLU_MOVE_E_CANCELLED,
	SLU_MOVE_E_REFUSED,   /* the driver has no memory, tried again as often as asked */
	SLU_MOVE_E_BUSY,      /* begin: commands that name the unit still run; ask again */
	SLU_MOVE_E_BLOCKED,   /* commands behind a host event name the unit */
	SLU_MOVE_E_LOST,      /* the context is dead, and the device's copy with it */
	SLU_MOVE_E_CORRUPT,   /* the host copy is not what was moved out; there is no other */
	SLU_MOVE_E_UNREAD,    /* the disk does not give the host copy back; there is no other */
	SLU_MOVE_E_UNWRITTEN, /* the disk does not take the host copy; nothing changed */
};

struct slu_move {
	const struct slu_backend *backend;
	void *data;
	struct slu_unit *unit; /* only read */
	enum slu_moving moving;

	bool has_contents;    /* there is something to copy */
	bool is_suspect;      /* out: has contents only if the two copies differ */
	bool always_compares; /* whatever it costs */
	bool may_compare;     /* later on, when it leaves again */
	bool wants_drain;     /* ask the back end for the unit's own rest first */
	bool wants_sum;	      /* out: take the checksum; in, map: compare it, if there is one */
	unsigned n_retries;   /* of a refused create */
	uint64_t pause_ns;    /* before the first retry; doubled each time, at most 20 ms */

	/* Asked at the beginning, at each pause, and often in a copy that the processor makes. */
	bool (*is_cancelled)(void *cancel_data);
	void *cancel_data;

	/* In and out. out: made if NULL; stays the caller's also after a failure. */
	void *host;
	struct slu_disk *disk; /* the host copy is an extent of it; NULL: it is in memory */
	struct slu_disk_extent extent;
	void *mapped; /* the mapped bytes as the processor sees them, while MAPPED */
	uint64_t sum; /* of the host copy, if has_sum */
	bool has_sum;

	/* Out. */
	uint64_t n_refusals;
	bool has_compared; /* it was compared: has_contents is the result */

	/* Its own, zero at first. */
	bool is_obtained; /* the new place's memory is there */
	int disk_error;	  /* the errno with which the disk failed; 0: it did not */
	uint64_t cut_bytes;
	struct slu_checksum running;
};

/* A part of a move: @bytes at @offset of its unit, by way of @buffer. */
struct slu_piece {
	struct slu_move *move;
	uint64_t offset, bytes;
	void *buffer; /* pinned, or in the host copy itself */
	struct slu_ticket ticket;
	bool is_ready; /* fed: it may be reaped. Set by whoever fed it, guarded by their lock */
	int r;	       /* what became of feed */
};

/* Return: 0; BUSY: nothing was done; one of the other conditions, or -errno: nothing changed. */
int slu_move_begin(struct slu_move *m);

/* What is still to be cut. */
uint64_t slu_move_remaining_bytes(const struct slu_move *m);

/*
 * Cuts off the next piece. All but the last are multiples of SLU_CHECKSUM_BLOCK. @buffer NULL: the
 * device copies from or to the host copy itself, which is in memory.
 */
void slu_move_cut(struct slu_move *m, uint64_t bytes, void *buffer, struct slu_piece *ret_piece);

/* What went wrong is told by reap. */
void slu_piece_feed(struct slu_piece *piece);

/* Return: 0, LOST, or -errno. */
int slu_piece_reap(struct slu_piece *piece);

/*
 * @r: what begin said, or the first piece that failed, or CANCELLED. Whatever was cut was reaped.
 * Return: @r, or what went wrong here.
 */
int slu_move_end(struct slu_move *m, int r);
