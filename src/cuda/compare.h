/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether an extent's bytes on the device are still those of its host copy. A launch may write any
 * memory of its program, so at the end of a turn every extent that was present is suspect; most of
 * them were only read. An extent that leaves is compared by digests: the device computes one
 * (hasher.h), and it is compared with that of the host copy.
 *
 * The digest of a host copy is the device's own from the move that made it, because the device
 * computes it many times faster than the processor:
 *
 *   NONE    -> FRESH    [compare, prepare]  a move out begins; the device is at rest
 *   FRESH   -> COPYING  [copies]            its first piece follows, with nothing submitted between
 *   COPYING -> NONE     [placed]            the copy is whole: the digest is the host copy's
 *
 * A draft of a move that fails never becomes the host copy's: the next move starts from NONE. If
 * there is none, the processor computes the digest when it is needed; of a host copy on disk it
 * computes none.
 *
 * The cost is bounded. A comparison is made where the device's digest is faster than a copy
 * (client/hash-cost.h). An extent that differed several times in a row is asked less and less
 * often.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "client/digest.h"
#include "client/hash-cost.h"
#include "cuda/hasher.h"

struct slu_cuda_device;
struct slu_unit;

/* Of a device. */
struct slu_cuda_comparer {
	struct slu_cuda_hasher hasher; /* used by the feeder of moves out */
	struct slu_lock lock;	       /* SLU_LOCK_LEAF, for what follows */
	struct slu_hash_cost cost;
};

enum slu_cuda_draft { SLU_CUDA_DRAFT_NONE, SLU_CUDA_DRAFT_FRESH, SLU_CUDA_DRAFT_COPYING };

/* Of an extent. Used by the movers, one after the other, or before the extent has a unit. */
struct slu_cuda_compared {
	struct slu_digest digest; /* of the host copy … */
	uint64_t version;	  /* … of this version; 0: of none */
	enum slu_cuda_draft draft_state;
	struct slu_digest draft;
	uint64_t draft_entries; /* of the gate, when the draft was made */
	unsigned n_different;	/* comparisons in a row that found a difference */
	unsigned n_skipped;	/* moves out since the last comparison */
};

/* In the current context, which becomes the service context. */
void slu_cuda_comparer_init(struct slu_cuda_comparer *comparer);
void slu_cuda_comparer_deinit(struct slu_cuda_comparer *comparer);

/*
 * struct slu_backend's compare(), on the feeder's thread.
 * Return: 0 if the copies are equal; SLU_BACKEND_E_DIFFERENT if not, or if it is unknown.
 */
int slu_cuda_compare(struct slu_cuda_device *device, struct slu_unit *unit, const void *host,
		     bool always);

/*
 * The bytes of @unit, which moves out, will be copied: the time to compute their digest. On the
 * feeder's thread, after slu_cuda_compare() if that was called.
 */
void slu_cuda_compare_prepare(struct slu_cuda_device *device, struct slu_unit *unit);

/* The first piece of @unit is about to be copied out: its host copy is not what it was. */
void slu_cuda_compare_copies(struct slu_unit *unit);

/* A move of @unit, which still counts as moving, succeeded. */
void slu_cuda_compare_placed(struct slu_unit *unit);

/* The contents of @unit, which moves, are dead: its versions begin again. */
void slu_cuda_compare_forget(struct slu_unit *unit);

/* A copy of @bytes out of the device begins or ends: its time is measured. */
void slu_cuda_comparer_copy_begins(struct slu_cuda_comparer *comparer);
void slu_cuda_comparer_copy_ends(struct slu_cuda_comparer *comparer, uint64_t bytes);
