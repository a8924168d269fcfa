/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a front end does for the client with one device. The movers and the helper call these
 * functions, never with a lock of ours held. Threads of the program call only create(), destroy()
 * and unmap(), inside slu_client_unit_new() and slu_client_unit_free(). An operation that fails has
 * changed nothing.
 *
 * A front end has primitives, not whole moves: the mover has the pipeline of chunks, the staging,
 * the checksums and the order, once for all APIs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "place/unit.h"

enum {
	_SLU_BACKEND_E_SUCCESS,
	SLU_BACKEND_E_REFUSED,	 /* create: the driver has no memory now */
	SLU_BACKEND_E_BUSY,	 /* drain, drain_unit, poll: not yet */
	SLU_BACKEND_E_BLOCKED,	 /* drain, drain_unit: the queue waits for the host */
	SLU_BACKEND_E_LOST,	 /* the context is dead; its memory is gone with it */
	SLU_BACKEND_E_DIFFERENT, /* compare: the copies differ, or it is unknown */
};

enum slu_direction { SLU_DIRECTION_IN, SLU_DIRECTION_OUT, _SLU_DIRECTION_MAX };

/* A copy under way. Opaque to the mover; a back end keeps what it needs in `data`. */
struct slu_ticket {
	uint64_t data[2];
};

struct slu_backend {
	const char *name; /* "opencl", "cuda" */

	/* Copies are fast from and to pinned host memory only: stage them. */
	bool wants_staging;

	/* compare() takes device memory of its own: only with hash_clean = always. */
	bool compares_if_asked;

	/* Called first on each thread that calls the others. May be NULL. */
	void (*thread_begin)(void *data);

	/* Makes device memory for @unit, at its address; contents undefined. REFUSED, LOST. */
	int (*create)(void *data, struct slu_unit *unit);

	/* Gives up the device memory of @unit. Cannot fail. */
	void (*destroy)(void *data, struct slu_unit *unit);

	/* Starts copying @bytes at @offset of @unit from or to @host. LOST. */
	int (*copy)(void *data, struct slu_unit *unit, enum slu_direction direction,
		    uint64_t offset, void *host, uint64_t bytes, struct slu_ticket *ret_ticket);

	/*
	 * 0 when the copy is complete, BUSY, LOST, or -errno if it failed. With @wait it never
	 * answers BUSY.
	 */
	int (*poll)(void *data, struct slu_ticket *ticket, bool wait);

	/*
	 * Whether every command that might touch the device has ended. Called repeatedly after the
	 * gate is shut and empty. 0, BUSY, BLOCKED, LOST. Must not block.
	 */
	int (*drain)(void *data);

	/*
	 * Mode LAUNCH: whether every command that names @unit has ended. 0, BUSY, BLOCKED, LOST.
	 * Must not block. NULL in front ends that only drain whole devices.
	 */
	int (*drain_unit)(void *data, struct slu_unit *unit);

	/*
	 * Whether the bytes of @unit on the device, which is at rest, equal its host copy, whose
	 * version is unit->host_version. @host: where the processor sees that copy; NULL: it is on
	 * disk. 0, or DIFFERENT; also DIFFERENT where the answer is unknown or, without @always,
	 * takes longer than a copy. NULL in front ends that cannot compare.
	 */
	int (*compare)(void *data, struct slu_unit *unit, const void *host, bool always);

	/*
	 * The contents of @unit move, so that it may be compared when it leaves next: time to
	 * prepare. May be NULL.
	 */
	void (*will_compare)(void *data, struct slu_unit *unit);

	/*
	 * Whether nobody will read the contents of @unit, which is about to move: it is free in a
	 * pool of the program's. Then they are not copied, the unit is as if it had never been
	 * written, and the front end forgets what it knows of its versions. While the unit moves
	 * nobody can write it; what the program allocates there meanwhile is undefined anyway. NULL
	 * in front ends that cannot know.
	 */
	bool (*is_dead)(void *data, struct slu_unit *unit);

	/*
	 * The program says that nobody will read @bytes at @address before they are written again.
	 * On a thread of the program. Return: the bytes of units that are dead for that reason
	 * until the program submits something. NULL in front ends without addresses.
	 */
	uint64_t (*hint_dead)(void *data, uint64_t address, uint64_t bytes);

	/* Whether anything of this program runs or can run on the device: 0, BUSY, BLOCKED. */
	int (*progress)(void *data);

	/* Pinned host memory. NULL where the API has none. */
	void *(*pin)(void *data, uint64_t bytes);
	void (*unpin)(void *data, void *host, uint64_t bytes);

	/*
	 * Pins @bytes of host memory where they are, so that copies from and to them need no
	 * staging, and makes them pageable again. 0, REFUSED, or -errno: also unpin_copy(), where
	 * the memory may still be used by the device and is not ours to give back. NULL where the
	 * API cannot.
	 */
	int (*pin_copy)(void *data, void *host, uint64_t bytes);
	int (*unpin_copy)(void *data, void *host, uint64_t bytes);

	/*
	 * The MAPPED place: makes pinned memory reachable at the unit's address, and at *ret_host
	 * for the processor; REFUSED. NULL where the API cannot.
	 */
	int (*map)(void *data, struct slu_unit *unit, void **ret_host);
	void (*unmap)(void *data, struct slu_unit *unit);

	/*
	 * Has the driver bring the first @bytes of the memory that it pages to the device (@is_in),
	 * or send the rest to the host, and waits for that. What it refuses is left out: kernels
	 * fault. On a thread of its own. NULL where the driver pages nothing.
	 */
	void (*page)(void *data, uint64_t bytes, bool is_in);

	/*
	 * The unit changed its place: renew handles that the program has. The unit still counts as
	 * moving, so no command uses it before. May be NULL.
	 */
	void (*placed)(void *data, struct slu_unit *unit);
};
