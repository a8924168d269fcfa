/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The client's half of the protocol. Pure: the client library adds threads, a socket and a back
 * end; the tests and the simulator add virtual time. docs/protocol.md has the rules by number.
 *
 * Safety of bytes is decided here, not at the daemon: the gate of a device opens only when this
 * client's own units are in place, and units leave only at this client's own rest. Whatever the
 * daemon wrongly believes, a kernel never meets a missing unit.
 *
 * Like the core it takes events and gives actions: call any event, then slu_peer_step(), then
 * take actions until there is none. Not thread-safe: the client holds one lock around it.
 *
 * One device:
 *
 *   SHUT    -> OPEN      [step]             epoch, not closing, every unit present, none moving
 *   OPEN    -> CLOSING   [message CLOSE]    action SHUT; the caller shuts the gate, waits for its
 *                                           slots and for the device, then calls
 * slu_peer_turn_drained() CLOSING -> SHUT      [slu_peer_turn_drained] REST is sent OPEN    -> SHUT
 * [step]             a unit was allocated that is not in place: same way as CLOSING, but the epoch
 * stays and no REST is sent
 *
 * In mode LAUNCH "every unit present" is left out: each command waits for its own units.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "place/unit.h"
#include "wire/message.h"

struct slu_peer;

#define SLU_PEER_NEVER UINT64_MAX

/* Moves under way at most, for each direction and device. */
#define SLU_PEER_MOVES_MAX 64

/* The size of one staged copy where no daemon has set it. */
#define SLU_PEER_CHUNK_BYTES (UINT64_C(2) << 20)

struct slu_peer_config {
	char program[SLU_WIRE_NAME_MAX];
	uint64_t group;
	unsigned refusal_retries;  /* tries on the mover's thread before SUMS(refused), rule 13 */
	uint64_t refusal_pause_ns; /* between two of them: late frees */
	uint64_t idle_ns;	   /* no device progress for so long: IDLE (100 ms) */
	uint64_t answer_ns; /* so long an answer to WANT may take before units leave inside our own
			       window */
	uint64_t seed;	    /* of pauses: no two programs shall keep step without a daemon */
};

int slu_peer_new(const struct slu_peer_config *config, struct slu_peer **ret_peer);

/* Asserts that no unit is left. */
void slu_peer_free(struct slu_peer *peer);

/*
 * Before the first slu_peer_connection_made(), or after slu_peer_connection_lost(): the HELLO names
 * all devices. Return: the place in HELLO, or -ENOSPC.
 */
int slu_peer_device_add(struct slu_peer *peer, const struct slu_hello_device *identity,
			enum slu_mode mode);

/* -- the connection ------------------------------------------------------------------------- */

void slu_peer_connection_made(struct slu_peer *peer, uint64_t now_ns); /* HELLO becomes an action */
void slu_peer_connection_lost(struct slu_peer *peer, uint64_t now_ns);
void slu_peer_connection_receive(struct slu_peer *peer, uint64_t now_ns,
				 const struct slu_message *m);
/*
 * Without a daemon (never there, or lost under on_daemon_loss = run): gates open without a turn as
 * soon as the units are in place, and the driver alone says what fits on the device; pinned and
 * backing stay as they were. A program that waits for memory gives up what it has now and then, for
 * another one may wait for that. A device whose gate was opened so joins with an epoch of
 * generation 0.
 */
void slu_peer_alone_run(struct slu_peer *peer, uint64_t now_ns, bool alone);
bool slu_peer_connection_is_joined(const struct slu_peer *peer); /* WELCOME seen with status 0 */
/* Messages so far that nobody asked for and nobody waits for: told now and then (reports.c). */
uint64_t slu_peer_reports_sent(const struct slu_peer *peer);
/* The size of one staged copy: as the daemon set it, or SLU_PEER_CHUNK_BYTES. */
uint64_t slu_peer_connection_chunk_bytes(const struct slu_peer *peer);
/* Settings that came with the last WELCOME. */
const struct slu_msg_welcome *slu_peer_connection_settings(const struct slu_peer *peer);

/* -- the program ---------------------------------------------------------------------------- */

enum {
	_SLU_PEER_E_SUCCESS,
	SLU_PEER_E_WAIT,    /* not now: ask again after the next action WAKE */
	SLU_PEER_E_DENIED,  /* never: the API's out-of-memory */
	SLU_PEER_E_IN_RAM,  /* slu_peer_alloc: allocated without device memory */
	SLU_PEER_E_RESERVE, /* slu_peer_alloc: take an extent of the disk file first, and ask again
			     */
};

/*
 * A new unit. @unit->bytes, ->device, ->owner and ->frozen are set, the rest is zero and is filled
 * in here.
 *
 *   0                   allocated on the device: the caller creates it there now, and calls
 *                       slu_peer_alloc_refused() if the driver has no memory, or
 *                       slu_peer_alloc_failed() if it failed
 *   SLU_PEER_E_IN_RAM   allocated off turn (or in LAUNCH), nothing to create
 *   SLU_PEER_E_RESERVE  its backing will be on disk: the caller takes an extent, calls
 *                       slu_peer_alloc_no_extent() if there is none, and asks again
 *   SLU_PEER_E_WAIT     no credit for backing or device, or the gate is being shut; ask again with
 *                       the same unit. Until then the gate does not open again
 *   SLU_PEER_E_DENIED   never
 *
 * A frozen unit is allocated on the device always and held against the device's account whatever
 * the limit: it exists already, all we can do is say so.
 *
 * A thread that stops asking after SLU_PEER_E_WAIT calls slu_peer_alloc_cancel().
 */
int slu_peer_alloc(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);
void slu_peer_alloc_refused(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);
/* The driver failed otherwise, which says nothing about free memory: cancelled; who asks waits a
 * bit.
 */
void slu_peer_alloc_failed(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);
void slu_peer_alloc_no_extent(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);
void slu_peer_alloc_cancel(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);

/*
 * A unit that was allocated on the device and never used has no memory there after all, as the
 * driver said only now. It goes to its backing, which is empty, and counts as refused. It must not
 * be moving nor named when that begins, and moves out meanwhile: the caller destroys it between the
 * two.
 */
void slu_peer_move_unmake(struct slu_peer *peer, struct slu_unit *unit);
void slu_peer_move_unmade(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);

/* The unit is gone, its device memory released. It must not be moving nor named. */
void slu_peer_alloc_released(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);

/* A unit stops or begins to be movable. */
void slu_peer_alloc_freeze(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit,
			   enum slu_frozen why);

/*
 * A thread found the gate of @device shut, or is about to wait for it.
 * Return: 0 if it is open now, SLU_PEER_E_WAIT, SLU_PEER_E_DENIED.
 */
int slu_peer_turn_want_open(struct slu_peer *peer, uint64_t now_ns, unsigned device);

/*
 * Mode LAUNCH: a command names these units. 0: all are present and now named (n_named was
 * raised: call slu_peer_command_unname() after submission); else SLU_PEER_E_WAIT or
 * SLU_PEER_E_DENIED. A command that will not ask again calls slu_peer_command_forget(). Units of
 * other devices come over to @device for it: unit->device changes in here and in
 * slu_peer_move_done().
 */
int slu_peer_command_name(struct slu_peer *peer, uint64_t now_ns, unsigned device,
			  struct slu_unit *const *units, size_t n_units);
void slu_peer_command_unname(struct slu_peer *peer, struct slu_unit *const *units, size_t n_units);

/*
 * Mode LAUNCH: a command that names these units, which are on the device and were named before,
 * went to the driver without asking. For what comes next only.
 */
void slu_peer_command_passed(struct slu_peer *peer, uint64_t now_ns, unsigned device,
			     struct slu_unit *const *units, size_t n_units);

/* Mode LAUNCH: a command that is not ready to be submitted will name these units. */
void slu_peer_ahead_expect(struct slu_peer *peer, unsigned device, struct slu_unit *const *units,
			   size_t n_units);

/* Mode LAUNCH: not all of the working set is on the device, so each command should be told of. */
bool slu_peer_ahead_is_crowded(const struct slu_peer *peer, unsigned device);
void slu_peer_command_forget(struct slu_peer *peer, uint64_t now_ns, unsigned device,
			     struct slu_unit *const *units, size_t n_units);

/*
 * The caller looked at the device: @busy when anything of this program runs or can run there.
 * Called every few ms while the gate is open and nothing was launched since.
 */
void slu_peer_turn_progress(struct slu_peer *peer, uint64_t now_ns, unsigned device, bool busy);

/*
 * Memory of the program that the driver pages by itself, in all. It is no unit and in no account:
 * it yields to whoever allocates. The daemon hears of it as bytes that the turn should have.
 */
void slu_peer_reports_set_paged(struct slu_peer *peer, uint64_t now_ns, unsigned device,
				uint64_t bytes);

/*
 * An allocation of @bytes fails, since the program owns @owned_bytes, with what other threads are
 * about to get, and may own @visible_bytes. The daemon hears of it if it can; an allocation says so
 * by itself.
 */
void slu_peer_alloc_exceeds(struct slu_peer *peer, uint64_t now_ns, unsigned device, uint64_t bytes,
			    uint64_t owned_bytes, uint64_t visible_bytes);

/* @n calls went through the gate, and were not named, since the last time. For FACTS only. */
void slu_peer_reports_count_launches(struct slu_peer *peer, uint64_t now_ns, unsigned device,
				     uint64_t n);

/*
 * The gate is shut, its slots are empty, and the device has ended what was queued, or (@blocked)
 * the rest of it waits for the host. @blocked without proof means that everything on the device
 * is floor; with proof (LAUNCH) the units with `blocked` set are.
 */
void slu_peer_turn_drained(struct slu_peer *peer, uint64_t now_ns, unsigned device, bool blocked);

/* What was blocked at the last drain has ended. */
void slu_peer_turn_unblocked(struct slu_peer *peer, uint64_t now_ns, unsigned device);
/* The same of one unit, while others may still be. */
void slu_peer_turn_unblocked_unit(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);

/*
 * Holds @bytes (0: none any more) of pinned memory for staging.
 * Return: 0, or SLU_PEER_E_WAIT while the budget has none: copy through pageable memory.
 */
int slu_peer_account_stage(struct slu_peer *peer, uint64_t now_ns, uint64_t bytes);

/* More is pinned than allowed: chunks that hold nothing should be given up. */
bool slu_peer_account_must_unstage(const struct slu_peer *peer);

/* -- the mover ------------------------------------------------------------------------------ */

enum slu_move_result {
	SLU_MOVE_DONE,
	SLU_MOVE_CANCELLED, /* stopped at a chunk; the unit is where it was */
	SLU_MOVE_REFUSED,   /* the driver had no memory; nothing changed */
	SLU_MOVE_BLOCKED,   /* out: commands behind a host event name it */
	SLU_MOVE_RUNS,	    /* out, and not patient: commands that name it run; perhaps another? */
	SLU_MOVE_FAILED,    /* anything else; nothing changed; tried again later */
};

void slu_peer_move_done(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit,
			enum slu_move_result result);

enum slu_shift_result {
	SLU_SHIFT_DONE,	     /* the backing is where it was to go */
	SLU_SHIFT_CANCELLED, /* stopped; it is where it was */
	SLU_SHIFT_REFUSED,   /* the disk is full, or there is no memory */
	SLU_SHIFT_FAILED,    /* the bytes did not arrive; it is where it was */
};

void slu_peer_shift_done(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit,
			 enum slu_shift_result result);

/*
 * The disk does not take what is written to it. No unit gets its backing there any more, and those
 * that are present have it in pageable memory from now on, whatever the limit says: an eviction
 * must not fail.
 */
void slu_peer_shift_disk_failed(struct slu_peer *peer, uint64_t now_ns);

/* -- actions -------------------------------------------------------------------------------- */

enum slu_peer_action_kind {
	SLU_PEER_SEND,	/* send message */
	SLU_PEER_SHIFT, /* start moving the unit's backing as unit->shift says;
			 * slu_peer_shift_done() ends it
			 */
	SLU_PEER_MOVE,	/* start moving the unit as unit->moving says; slu_peer_move_done() ends it
			 */
	SLU_PEER_OPEN,	/* open the gate of device */
	SLU_PEER_SHUT,	/* shut it, wait for slots and device, then slu_peer_turn_drained() */
	SLU_PEER_WAKE,	/* threads that wait for device (or for memory) ask again */
};

struct slu_peer_action {
	enum slu_peer_action_kind kind;
	unsigned device;
	struct slu_unit *unit;
	struct slu_message message; /* of SEND alone */
};

void slu_peer_step(struct slu_peer *peer, uint64_t now_ns);

/* Return: 1 with an action, 0 when there is none. */
int slu_peer_take_action(struct slu_peer *peer, struct slu_peer_action *ret_action);

uint64_t slu_peer_deadline_ns(const struct slu_peer *peer);

/* -- looking -------------------------------------------------------------------------------- */

struct slu_peer_account_view {
	uint64_t limit_bytes, held_bytes, goal_bytes, seq;
	enum slu_pace pace;
};

void slu_peer_view_account(const struct slu_peer *peer, struct slu_account account,
			   struct slu_peer_account_view *ret_view);
bool slu_peer_view_gate_is_open(const struct slu_peer *peer, unsigned device);
struct slu_epoch slu_peer_view_epoch(const struct slu_peer *peer, unsigned device);
/* Mode LAUNCH: bytes of the working set as it is now. */
uint64_t slu_peer_view_working(const struct slu_peer *peer, unsigned device);
/* Mode LAUNCH: the unit that is to come in before it is asked for, or NULL. */
const struct slu_unit *slu_peer_view_ahead(const struct slu_peer *peer, unsigned device);
/* How often all units of a device were gone through since the start. For tests. */
uint64_t slu_peer_view_n_scans(const struct slu_peer *peer);
const struct slu_unit_list *slu_peer_view_units(const struct slu_peer *peer, unsigned device);

/* Asserts that held equals the units' sums, and that an open gate has every unit present. */
void slu_peer_check(const struct slu_peer *peer);
