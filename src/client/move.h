/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One move of one unit from place to place. It knows neither locks nor the protocol: the caller
 * fills in the struct before the move and reads the results after it.
 *
 *   out   DEVICE -> RAM     copy the newer bytes to the host, then release the device memory
 *         MAPPED -> RAM     the same, from the mapped bytes
 *   in    RAM -> DEVICE     make device memory, copy the host's bytes in
 *   map   RAM -> MAPPED     make mapped memory, copy the host's bytes in
 *
 * A unit whose backing is on disk moves in the same way; its host copy is an extent of the disk
 * file. Its pieces are written and read from their buffers, and always checksummed.
 *
 * Where the back end says that the contents are dead, nothing is copied: the unit changes its place
 * only.
 *
 * The old copy is released only when the new one is complete. So a move that fails, is cancelled or
 * refused leaves the unit where it was, with the copy that it had.
 *
 * A move goes in steps, so that the pieces of many moves can be under way at once (pipe.h):
 *
 *   begin   rest, memory; also copies that the processor makes between two places that it sees
 *   cut     names the next piece; repeated until no bytes remain
 *   feed    in: the processor fills the piece's buffer; then the device starts the copy
 *   reap    waits for the device; out: the processor takes the bytes from the buffer
 *   end     releases the old copy, or what was made for the new one
 *
 * Any thread may feed or reap a piece, several of them at once and in any order, but of a move with
 * a checksum one after the other in the order of the cuts. Each piece is fed and reaped once, and
 * all of them before end.
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
	SLU_MOVE_E_REFUSED,   /* the driver has no memory, also after n_retries */
	SLU_MOVE_E_BUSY,      /* begin: commands that name the unit still run; ask again */
	SLU_MOVE_E_BLOCKED,   /* commands behind a host event name the unit */
	SLU_MOVE_E_LOST,      /* the context is dead, and the device's copy with it */
	SLU_MOVE_E_CORRUPT,   /* the host copy differs from what was moved out; there is no other */
	SLU_MOVE_E_UNREAD,    /* the host copy cannot be read from disk; there is no other */
	SLU_MOVE_E_UNWRITTEN, /* the host copy cannot be written to disk; nothing changed */
};

struct slu_move {
	const struct slu_backend *backend;
	void *data;
	struct slu_unit *unit; /* only read */
	enum slu_moving moving;

	bool has_contents;    /* there is something to copy */
	bool is_suspect;      /* out: has contents only if the two copies differ */
	bool always_compares; /* also if a comparison takes longer than a copy */
	bool may_compare;     /* the unit may be compared when it leaves again */
	bool wants_drain;     /* wait for the commands of the unit first (drain_unit) */
	bool wants_sum;	      /* out: take the checksum; in, map: compare it, if there is one */
	unsigned n_retries;   /* of a refused create */
	uint64_t pause_ns;    /* before the first retry; doubled each time, at most 20 ms */

	/* Asked at the beginning, at each pause, and often during copies by the processor. */
	bool (*is_cancelled)(void *cancel_data);
	void *cancel_data;

	/* In and out. out: made if NULL; belongs to the caller also after a failure. */
	void *host;
	bool host_is_pinned;   /* the device copies from and to it without staging */
	struct slu_disk *disk; /* the host copy is an extent of it; NULL: it is in memory */
	struct slu_disk_extent extent;
	void *mapped; /* the mapped bytes as the processor sees them, while MAPPED */
	uint64_t sum; /* of the host copy, if has_sum */
	bool has_sum;
	uint64_t sum_before; /* out: what it was, if has_sum_before */
	bool has_sum_before; /* the bytes should be the same */

	/* Out. */
	uint64_t n_refusals;
	bool has_compared; /* it was compared: has_contents is the result */
	bool is_dead;	   /* nobody will read the contents: nothing is copied */

	/* Its own, zero at first. */
	bool is_obtained; /* the new place's memory is there */
	int disk_error;	  /* the errno with which the disk failed; 0: it did not */
	uint64_t cut_bytes;
	struct slu_checksum running;
};

/* Each but the last one is followed by the next. */
enum slu_piece_stage {
	SLU_PIECE_CUT,
	SLU_PIECE_FEEDING, /* a thread is in slu_move_piece_feed() */
	SLU_PIECE_FED,
	SLU_PIECE_REAPING, /* a thread is in slu_move_piece_reap() */
	SLU_PIECE_REAPED,
};

/* A part of a move: @bytes at @offset of its unit, by way of @buffer. */
struct slu_piece {
	struct slu_move *move;
	uint64_t offset, bytes;
	void *buffer; /* pinned, or in the host copy itself */
	struct slu_ticket ticket;
	enum slu_piece_stage stage; /* kept by pipe.h */
	int r;			    /* the result of feed, then of reap */
};

/* Return: 0; BUSY: nothing was done; one of the other conditions, or -errno: nothing changed. */
int slu_move_begin(struct slu_move *m);

/* The bytes that are not cut yet. */
uint64_t slu_move_remaining_bytes(const struct slu_move *m);

/*
 * Cuts off the next piece. All but the last are multiples of SLU_CHECKSUM_BLOCK. Without @buffer
 * the device copies from or to the host copy itself, which is in memory.
 */
void slu_move_cut(struct slu_move *m, uint64_t bytes, void *buffer, struct slu_piece *ret_piece);

/* Errors are returned by reap. */
void slu_move_piece_feed(struct slu_piece *piece);

/* Return: 0, LOST, or -errno. */
int slu_move_piece_reap(struct slu_piece *piece);

/*
 * @r: the result of begin, or of the first piece that failed, or CANCELLED. Every piece that was
 * cut has been reaped.
 *
 * Return: @r, or an error of its own.
 */
int slu_move_end(struct slu_move *m, int r);
