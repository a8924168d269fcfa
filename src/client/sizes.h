/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The sizes of copies, in one place. The daemon's setting memory.chunk gives the size of a chunk;
 * without a daemon it is SLU_PEER_CHUNK_BYTES (slu_peer_connection_chunk_bytes()). How many bytes
 * the daemon lets a client pin is its own setting, memory.staging.
 */

#include "base/util.h"

/* Chunks of one direction's ring: the bytes that are under way at most. */
#define SLU_SIZES_RING_CHUNKS 2

/* A chunk is a multiple of this, and not less. */
#define SLU_SIZES_CHUNK_MIN_BYTES (4 * SLU_KIB)

/* A copy by the processor or by the shifter checks for a cancel after so many bytes. */
#define SLU_SIZES_CANCEL_BYTES SLU_MIB

/* One read or write of the disk file: a signal or a cancel waits for no more than this. */
#define SLU_SIZES_DISK_CALL_BYTES (8 * SLU_MIB)

/* Freed host copies that the pool keeps for the next ones (tiers.h). */
#define SLU_SIZES_POOL_BYTES (64 * SLU_MIB)
