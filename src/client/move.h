/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One move of one unit from place to place, done by the calling thread from beginning to end. It
 * knows neither locks nor the protocol: what to do is written into the struct before, what came of
 * it is read after.
 *
 *   out   DEVICE -> RAM     copy what is newer to the host, then give up the device memory
 *         MAPPED -> RAM     the same, from the mapped bytes
 *   in    RAM -> DEVICE     make device memory, copy the host's bytes in
 *   map   RAM -> MAPPED     make mapped memory, copy the host's bytes in
 *
 * The old copy is given up only when the new one is whole. So a move that fails, is cancelled or
 * refused leaves the unit where it was, with the copy that it had.
 *
 * A copy goes in chunks, two at a time:
 *
 *   out   device:  |copy 0 |copy 1 |copy 2 |        in   host:    |fill 0 |fill 1 |fill 2 |
 *         host:            |take 0 |take 1 |take 2|      device:          |copy 0 |copy 1 |copy 2|
 *
 * where take and fill are the processor's copies between the pinned chunk and the host copy, and
 * the checksum of what passes. Without pinned chunks the device copies from and to the host copy
 * itself, still two chunks at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/backend.h"
#include "client/staging.h"
#include "place/unit.h"

enum {
	_SLU_MOVE_E_SUCCESS,
	SLU_MOVE_E_CANCELLED,
	SLU_MOVE_E_REFUSED, /* the driver has no memory, tried again as often as asked */
	SLU_MOVE_E_BLOCKED, /* commands behind a host event name the unit */
	SLU_MOVE_E_LOST,    /* the context is dead, and the device's copy with it */
	SLU_MOVE_E_CORRUPT, /* the host copy is not what was moved out; there is no other */
};

struct slu_move {
	const struct slu_backend *backend;
	void *data;
	struct slu_unit *unit;		   /* only read */
	const struct slu_staging *staging; /* NULL: no pinned chunks */
	uint64_t chunk_bytes;		   /* without staging; a multiple of SLU_CHECKSUM_BLOCK */

	bool has_contents;  /* there is something to copy */
	bool wants_settle;  /* ask the back end for the unit's own rest first */
	bool wants_sum;	    /* out: take the checksum; in, map: compare it, if there is one */
	unsigned n_retries; /* of a refused create */
	uint64_t pause_ns;  /* before the first retry; doubled each time, at most 20 ms */

	/* Asked at each chunk and pause. */
	bool (*is_cancelled)(void *cancel_data);
	void *cancel_data;

	/* In and out. out: made if NULL; stays the caller's also after a failure. */
	void *host;
	void *mapped; /* the mapped bytes as the processor sees them, while MAPPED */
	uint64_t sum; /* of the host copy, if has_sum */
	bool has_sum;

	/* Out. */
	uint64_t n_refusals;
};

/* Each returns 0, one of the conditions above, or -errno: the back end failed, nothing changed. */
int slu_move_out(struct slu_move *m);
int slu_move_in(struct slu_move *m);
int slu_move_map(struct slu_move *m);
