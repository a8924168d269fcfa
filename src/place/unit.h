/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A unit: what moves as a whole. For CUDA it is a run of granules at an address that never changes,
 * for OpenCL an object. It is in exactly one place. Pure.
 *
 *   (new)  -> RAM       off turn: no bytes yet, no device memory
 *   (new)  -> DEVICE    in a turn, while credit lasts
 *   RAM    -> DEVICE    [move in]    create, copy the host version in
 *   DEVICE -> RAM       [move out]   copy the newer bytes out, then release
 *   RAM    -> MAPPED    [map]        the host bytes become reachable at the unit's address
 *   MAPPED -> RAM       [unmap]
 *
 * Its backing is kept for the time when it leaves the device: pageable memory, or an extent of the
 * disk file. For a unit whose backing is on disk, read DISK for RAM above. The backing may shift
 * while the unit is away, with its bytes, or while it is present, without bytes:
 *
 *   RAM    -> DISK      [shift down]   a program that runs sooner needs the pageable memory
 *   DISK   -> RAM       [shift up]     its program runs soon
 *
 * In memory it may also become pinned, and pageable again, in place: a pinned copy needs no staging
 * (peer/pinning.c).
 *
 * While `moving` is set, the place is the old one, both sides' bytes are charged, and no command
 * may name the unit. A move that fails leaves the unit where it was.
 *
 * Copies have versions; the highest one is the truth. host_version == device_version means clean:
 * a move out copies nothing. Version 0 means that no byte was ever written there. A clean unit is
 * *suspect* if a command may have written it: one that promised not to (mode LAUNCH), or any in a
 * turn in which the unit was present (the other modes). When the unit leaves, its two copies are
 * compared, and if they differ the device's copy is the truth. A *watched* unit stays clean without
 * a comparison through a turn in which all calls told what they write and none told this unit.
 * Contents that nobody will read are *dead*: a move does not copy them, and both versions are 0
 * after it.
 *
 * The words are those of docs/glossary.md.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "wire/message.h"

enum slu_place {
	SLU_PLACE_DEVICE,
	SLU_PLACE_MAPPED,
	SLU_PLACE_RAM,
	SLU_PLACE_DISK,
	_SLU_PLACE_MAX,
};

enum slu_moving {
	SLU_MOVING_NO,
	SLU_MOVING_IN,	/* to DEVICE */
	SLU_MOVING_OUT, /* to RAM, from DEVICE or MAPPED */
	SLU_MOVING_MAP, /* to MAPPED, from RAM */
};

/* The direction of a shift. Place and copies are the old ones until the shift ends. */
enum slu_shift {
	SLU_SHIFT_NO,
	SLU_SHIFT_DOWN, /* from pageable memory to disk */
	SLU_SHIFT_UP,
	SLU_SHIFT_PIN, /* from pageable to pinned memory, in place */
	SLU_SHIFT_UNPIN,
};

/* What an allocation waits for. */
enum slu_alloc_wait {
	SLU_ALLOC_WAIT_NONE,
	SLU_ALLOC_WAIT_BACKING, /* backing credit */
	SLU_ALLOC_WAIT_DEVICE,	/* device credit, in a turn */
};

/* The shadow caches that judge foresight (shadow.h), by the unit that each evicts first. */
enum slu_shadow_cache {
	SLU_SHADOW_RECENT,   /* the least recently named */
	SLU_SHADOW_FORESEEN, /* the one that foresight expects last */
	_SLU_SHADOW_MAX,
};

/* Of the gaps between two namings, the last one of each power of two is kept. */
enum { SLU_GAP_CLASSES = 16 };

struct slu_gap {
	uint32_t launches; /* its length; 0: there was none */
	uint16_t n;	   /* gaps of this class since the last longer one … */
	uint16_t n_before; /* … and between that one and the longer one before it */
};

struct slu_unit {
	TAILQ_ENTRY(slu_unit) link; /* the list of its device, or of the allocations that wait */
	uint64_t bytes;		    /* constant after allocation; as charged, rounded up */
	uint8_t device;		    /* place in HELLO; mode LAUNCH: may change while it is away */
	uint8_t place;		    /* enum slu_place */
	uint8_t moving;		    /* enum slu_moving */
	uint8_t frozen;		    /* enum slu_frozen: cannot move, charged as floor */
	bool cancel;		    /* asks the mover to stop at the next chunk and go back */
	bool wanted;		    /* the command in front at its device names it (mode LAUNCH) */
	bool blocked;		    /* at the last look, commands behind a host event named it */
	bool has_backing;	    /* backing credit is held for it, wherever it is (rule 4) */
	bool on_disk;		    /* its backing is on disk; else in pageable memory */
	bool pinned;		    /* its host copy is pinned, and counts in that account too */
	uint8_t shift;		    /* enum slu_shift */
	bool working;		    /* named lately: on the list of its device's working set */
	bool denied;		    /* the daemon denied its allocation: the next answer is no */
	bool suspect;		    /* clean only if no command wrote it */
	bool watched;		    /* the front end knows all addresses at which it is written */
	bool written;	/* a call of this turn may have written it; stored inside the gate */
	bool proven;	/* clean, because no call wrote it since it came in */
	bool ahead;	/* brought in before a command asked for it, and not named since */
	bool was_named; /* some command has named it */
	bool in_shadow[_SLU_SHADOW_MAX]; /* in these shadow caches of its device */
	bool was_in_shadow;		 /* ever */
	bool patient;	       /* out: the mover waits for its commands instead of giving up */
	bool unproven;	       /* the driver may still refuse its memory at the first use */
	bool device_only;      /* keeps memory free for the driver: MAPPED is of no use */
	uint8_t alloc_wait;    /* enum slu_alloc_wait */
	uint8_t n_refused;     /* times in a row that the driver refused its allocation */
	uint32_t n_named;      /* commands that name it and are being submitted */
	uint64_t copied_bytes; /* of the present move, as reported so far; kept by the peer */
	uint64_t device_version;
	uint64_t host_version;
	uint64_t last_use; /* the launch counter of its device when last named */
	struct slu_gap gaps[SLU_GAP_CLASSES];
	uint64_t expected; /* a known command will name it, from this launch on */
	uint64_t ran_at;   /* launch counter + 1 when its commands were last seen to run */
	TAILQ_ENTRY(slu_unit) working_link; /* in the order of the last naming */
	uint64_t named_ns;		    /* when last named, in running time of its device */
	uint64_t named_turn;		    /* the turn in which it was last named */
	void *owner;			    /* the front end's object; constant after allocation */
	void *host; /* the host copy; belongs to the mover, NULL in pure tests */
};

TAILQ_HEAD(slu_unit_list, slu_unit);

static inline bool slu_unit_is_clean(const struct slu_unit *u)
{
	return u->host_version >= u->device_version;
}

/* A command may use it: the device reaches it, and it does not move. */
static inline bool slu_unit_is_present(const struct slu_unit *u)
{
	return (u->place == SLU_PLACE_DEVICE || u->place == SLU_PLACE_MAPPED) &&
	       u->moving == SLU_MOVING_NO;
}

/* In host memory or on disk, and neither moving nor shifting. */
static inline bool slu_unit_is_away(const struct slu_unit *u)
{
	return (u->place == SLU_PLACE_RAM || u->place == SLU_PLACE_DISK) &&
	       u->moving == SLU_MOVING_NO && u->shift == SLU_SHIFT_NO;
}
