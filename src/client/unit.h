/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A unit as the client keeps it: struct slu_unit, which the peer decides about, and what the back
 * end, the mover and the program's calls need.
 *
 * Two counts keep a unit in its place. `n_pins` delays its release and moves that the peer has
 * begun: the mover waits until it is zero. `unit.n_named` keeps the peer from choosing the unit.
 *
 * unit.c has the release, the state and the access off turn, alloc.c the allocation. The calls of
 * front ends are in client.h. All functions here need the client's lock unless they say otherwise.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/util.h"
#include "client/disk.h"
#include "place/unit.h"

struct slu_client;
struct slu_client_device;

/* Whether units of @device may be compared when they leave. */
bool slu_client_unit_may_compare(const struct slu_client *client,
				 const struct slu_client_device *device);

struct slu_client_unit {
	struct slu_unit unit; /* first: front ends hold its address. Guarded by the lock */
	struct slu_client_device *device;   /* as of its last move; guarded by the lock */
	STAILQ_ENTRY(slu_client_unit) link; /* in a mover's queue; guarded by the lock */

	/* All guarded by the lock. */
	unsigned n_pins; /* accesses and visits of the helper */
	bool is_made;	 /* backend->create() made its device memory: destroy it */
	bool is_dying;	 /* its release waits for the move; the peer gets it first */
	bool is_retired; /* no further move or shift begins */
	bool is_gone;	 /* the peer has forgotten it */
	bool has_sum;	 /* sum is the checksum of the host copy */
	uint64_t sum;
	struct slu_disk_extent extent; /* of a unit whose backing is, or is about to be, on disk */
	void *mapped;		       /* MAPPED: its bytes as the processor sees them */
};

static inline struct slu_client_unit *slu_client_unit_of(struct slu_unit *unit)
{
	return slu_container_of(unit, struct slu_client_unit, unit);
}

/* The bytes that count as the program's: none of a unit that keeps memory free for the driver. */
static inline uint64_t slu_client_unit_owned_bytes(const struct slu_unit *unit)
{
	return unit->device_only ? 0 : unit->bytes;
}

/*
 * Takes a unit that does not move from the peer, or names it until its device memory is released.
 * The caller releases what the unit still has.
 */
void slu_client_unit_retire(struct slu_client *client, struct slu_client_unit *w);

/*
 * Gives up the host copy of a unit that the peer has forgotten, in memory and on disk. Releases the
 * lock meanwhile.
 */
void slu_client_unit_drop_copy(struct slu_client *client, struct slu_client_unit *w);

/* The peer may have given the unit to another device: charges that device from now on. */
void slu_client_unit_follow(struct slu_client *client, struct slu_client_unit *w);

/* @unit is not suspect any more: its host copy is right, or the device's copy is newer. */
void slu_client_unit_clear_suspect(struct slu_unit *unit, bool is_right);

/* Nobody will read the contents: the unit is as if it had never been written. */
void slu_client_unit_die(struct slu_client *client, struct slu_client_unit *w);

/* Whether the peer wants the move or shift of @unit (a struct slu_client_unit) to stop. Takes the
 * lock itself. */
bool slu_client_unit_is_cancelled(void *unit);

/* Whether it is of use to know what the calls of the next turn write: some unit may stay clean. */
bool slu_client_unit_has_clean(const struct slu_client *client,
			       const struct slu_client_device *device);

/*
 * A turn ran: marks what is on the device as suspect, or as newer than the host copies where the
 * two cannot be compared. Leaves out watched units that no call wrote, where all calls told.
 */
void slu_client_unit_touch_all(struct slu_client *client, struct slu_client_device *device);
