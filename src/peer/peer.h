/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The client's half of the protocol. Pure: the client library adds threads, a socket and a back
 * end; the tests and the simulator add virtual time. docs/protocol.md has the rules by number,
 * docs/glossary.md the words.
 *
 * The peer, not the daemon, decides about the safety of bytes: the gate of a device opens only when
 * this client's own units are in place, and units leave only while this client is at rest. Whatever
 * the daemon wrongly believes, a kernel never meets a missing unit.
 *
 * Like the core it takes events and gives actions: call any event, then slu_peer_step(), then
 * take actions until there is none. Not thread-safe: the client holds one lock around it.
 *
 * A function is named after its file: slu_peer_turn_drained() is in turn.c.
 *
 * The gate of one device (enum slu_peer_gate):
 *
 *   SHUT     -> OPEN      [slu_peer_turn_step]     the turn is ours and not closing, every unit is
 *                                                  present, none moves; action OPEN
 *   OPEN     -> DRAINING  [slu_peer_turn_step]     the turn is closing (CLOSE came, and no boundary
 *                                                  is near), or the program must rest for an
 *                                                  allocation or a mapped unit; action SHUT: the
 *                                                  caller shuts the gate, waits for its slots and
 *                                                  for the device
 *   DRAINING -> SHUT      [slu_peer_turn_drained]  the device has finished; REST answers a CLOSE,
 *                                                  without one the turn goes on
 *   SHUT     -> PARTIAL   [slu_peer_early_enter]   the turn is ours, units still come in, and a
 *                                                  call whose units are all known and present
 *                                                  passes; action START
 *   PARTIAL  -> OPEN      [slu_peer_turn_step]     every unit is present, none moves; action OPEN
 *   PARTIAL  -> DRAINING  [slu_peer_turn_step]     as from OPEN, or a unit must leave
 *
 * In mode LAUNCH the gate opens without the units: each command waits for its own.
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
	unsigned refusal_retries;  /* tries before SUMS reports the refusal (rule 13) */
	uint64_t refusal_pause_ns; /* between two of these tries: memory may be freed late */
	uint64_t idle_ns;	   /* without progress of the device for so long: IDLE (100 ms) */
	uint64_t answer_ns; /* how long units wait for the answer to WANT before they leave for each
			       other */
	uint64_t seed;	    /* of pauses: without a daemon no two programs shall keep in step */
};

int slu_peer_new(const struct slu_peer_config *config, struct slu_peer **ret_peer);

/* Asserts that every unit was released. */
void slu_peer_free(struct slu_peer *peer);

/*
 * Only while there is no connection, because HELLO names all devices.
 *
 * Return: the place in HELLO, -EBUSY or -ENOSPC.
 */
int slu_peer_device_add(struct slu_peer *peer, const struct slu_hello_device *identity,
			enum slu_mode mode);

/* -- the connection ------------------------------------------------------------------------- */

void slu_peer_connection_made(struct slu_peer *peer, uint64_t now_ns); /* HELLO becomes an action */
void slu_peer_connection_lost(struct slu_peer *peer, uint64_t now_ns);
void slu_peer_connection_receive(struct slu_peer *peer, uint64_t now_ns,
				 const struct slu_message *m);
/*
 * Without a daemon (it never answered, or was lost under on_daemon_loss = run) gates open without a
 * turn as soon as the units are in place, and the driver alone decides what fits on the device. The
 * limits of pinned memory and backing stay as they are. A program that waits for memory gives up
 * its own from time to time, because another program may wait for that. A device whose gate was
 * opened this way joins with an epoch of generation 0.
 */
void slu_peer_alone_run(struct slu_peer *peer, uint64_t now_ns, bool alone);
bool slu_peer_connection_is_joined(const struct slu_peer *peer); /* WELCOME seen with status 0 */
/* Messages so far that no one waits for, sent at most once per interval (reports.c). */
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
	SLU_PEER_E_RESERVE, /* slu_peer_alloc: take an extent first, then ask again */
};

/*
 * Allocates a unit. The caller sets @unit->bytes, ->device, ->owner and ->frozen and clears the
 * rest.
 *
 *   0                   on the device: the caller creates it there now. It calls
 *                       slu_peer_alloc_refused() if the driver has no memory, and
 *                       slu_peer_alloc_failed() if the driver fails otherwise
 *   SLU_PEER_E_IN_RAM   off turn (or in mode LAUNCH): there is nothing to create
 *   SLU_PEER_E_RESERVE  its backing will be on disk: the caller takes an extent and asks again. It
 *                       calls slu_peer_alloc_no_extent() before that if the disk is full
 *   SLU_PEER_E_WAIT     no credit for backing or device, or the gate is being shut: the caller asks
 *                       again with the same unit. The gate does not open before that
 *   SLU_PEER_E_DENIED   never
 *
 * A frozen unit exists on the device already. Its bytes are held whatever the limit is.
 *
 * A thread that stops asking after SLU_PEER_E_WAIT calls slu_peer_alloc_cancel().
 */
int slu_peer_alloc(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);
void slu_peer_alloc_refused(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);
/* Not for want of memory: the allocation is undone, and the next try waits for a moment. */
void slu_peer_alloc_failed(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);
void slu_peer_alloc_no_extent(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);
void slu_peer_alloc_cancel(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);

/*
 * The driver refuses the memory of a unit only at its first use. The unit goes to its backing,
 * which is empty, and counts as refused. It must be neither moving nor named at the first call; it
 * moves out between the two calls, and the caller destroys it there.
 */
void slu_peer_move_unmake(struct slu_peer *peer, struct slu_unit *unit);
void slu_peer_move_unmade(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);

/* The unit is released, and so is its device memory. It must be neither moving nor named. */
void slu_peer_alloc_released(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);

/* The unit becomes frozen for the reason @why, or movable again (SLU_FROZEN_NO). */
void slu_peer_alloc_freeze(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit,
			   enum slu_frozen why);

/*
 * A thread found the gate of @device shut, or is about to wait for it.
 * Return: 0 if it is open now, SLU_PEER_E_WAIT, SLU_PEER_E_DENIED.
 */
int slu_peer_turn_want_open(struct slu_peer *peer, uint64_t now_ns, unsigned device);

/*
 * Modes ALL and MAPPED: a call may touch @units and nothing else, and wants to pass, also before
 * the gate is open (early.c). Units that are away come in first.
 *
 * Return: 0: it may pass now, if the gate is still PARTIAL or OPEN after the next step;
 * SLU_PEER_E_WAIT or SLU_PEER_E_DENIED.
 */
int slu_peer_early_enter(struct slu_peer *peer, uint64_t now_ns, unsigned device,
			 struct slu_unit *const *units, size_t n_units);

/* The front end finds @unit by every address at which the program can use it. */
void slu_peer_alloc_watch(struct slu_peer *peer, struct slu_unit *unit);

/*
 * Mode LAUNCH: a command names these units. A unit of another device comes over to @device:
 * unit->device changes in this call and in slu_peer_move_done(). A command that will not ask again
 * calls slu_peer_command_forget().
 *
 * Return: 0: all are present and now named (call slu_peer_command_unname() after the submission),
 * SLU_PEER_E_WAIT or SLU_PEER_E_DENIED.
 */
int slu_peer_command_name(struct slu_peer *peer, uint64_t now_ns, unsigned device,
			  struct slu_unit *const *units, size_t n_units);
void slu_peer_command_unname(struct slu_peer *peer, struct slu_unit *const *units, size_t n_units);

/*
 * Mode LAUNCH: a command went to the driver without a call of slu_peer_command_name(). Its units
 * are on the device and were named before. This serves foresight only.
 */
void slu_peer_command_passed(struct slu_peer *peer, uint64_t now_ns, unsigned device,
			     struct slu_unit *const *units, size_t n_units);

/* Mode LAUNCH: a command that is not submitted yet will name these units. */
void slu_peer_ahead_expect(struct slu_peer *peer, unsigned device, struct slu_unit *const *units,
			   size_t n_units);

/* Mode LAUNCH: part of the working set is absent, so that each command should be reported. */
bool slu_peer_ahead_is_crowded(const struct slu_peer *peer, unsigned device);
void slu_peer_command_forget(struct slu_peer *peer, uint64_t now_ns, unsigned device,
			     struct slu_unit *const *units, size_t n_units);

/*
 * The caller looked at the device; @busy: something of this program runs or can run there. To be
 * called every few milliseconds while the gate is open and nothing is launched.
 */
void slu_peer_turn_progress(struct slu_peer *peer, uint64_t now_ns, unsigned device, bool busy);

/*
 * The sum of the program's memory that the driver pages by itself. It is no unit and in no account,
 * and yields to every allocation. WANT asks for it as bytes that the turn should have.
 */
void slu_peer_reports_set_paged(struct slu_peer *peer, uint64_t now_ns, unsigned device,
				uint64_t bytes);

/* The last order of PAGE for @device has been carried out, as far as that was possible. */
void slu_peer_paging_done(struct slu_peer *peer, unsigned device);

/*
 * Whether with @bytes more the program would own more than a DENY just called possible. With 0:
 * whether it does already, so that it cannot run as it is. slu_peer_alloc() asks by itself.
 */
bool slu_peer_alloc_is_unfit(const struct slu_peer *peer, uint64_t now_ns, unsigned device,
			     uint64_t bytes);

/*
 * An allocation of @bytes fails because the program may own @visible_bytes and owns @owned_bytes,
 * reservations of other threads included. Sends EXCESS if the daemon knows the message.
 * slu_peer_alloc() does this by itself.
 */
void slu_peer_alloc_exceeds(struct slu_peer *peer, uint64_t now_ns, unsigned device, uint64_t bytes,
			    uint64_t owned_bytes, uint64_t visible_bytes);

/* The program was refused a handle by which another process opens memory that moves. Sends EXPORT,
 * once. */
void slu_peer_reports_export(struct slu_peer *peer, unsigned device);

/* @n calls went through the gate without being named, since the last time. For FACTS only. */
void slu_peer_reports_count_launches(struct slu_peer *peer, uint64_t now_ns, unsigned device,
				     uint64_t n);

/*
 * Modes ALL and MAPPED: the program meets the device: it waited for it, copied something to the
 * host, or freed memory. @key: of what it submitted since the last such point. Ends of iterations
 * are found from these points; a turn that is to end waits for one that is near (boundary.c).
 */
void slu_peer_boundary_meet(struct slu_peer *peer, uint64_t now_ns, unsigned device, uint64_t key);

/*
 * The program says that an iteration ends here, and that @dead_bytes of its units are dead until it
 * submits something. From the first time on no other point counts.
 */
void slu_peer_boundary_tell(struct slu_peer *peer, uint64_t now_ns, unsigned device,
			    uint64_t dead_bytes);

/* Whether a CLOSE waited for a boundary, and does no longer: the next step shuts the gate. */
bool slu_peer_boundary_is_due(const struct slu_peer *peer, uint64_t now_ns, unsigned device);

/* Of the bytes of the units so many are in no allocation of the program now. */
void slu_peer_boundary_set_unused(struct slu_peer *peer, unsigned device, uint64_t bytes);

/* How long copies out take. Until this is known, no turn waits. */
void slu_peer_boundary_set_speed(struct slu_peer *peer, unsigned device, uint64_t ns_per_mib);

/*
 * The gate is shut, its slots are empty, and the device has finished its queue, or (@blocked) the
 * rest of the queue waits for the host. When blocked, all bytes on the device are floor; in mode
 * LAUNCH only the units with `blocked` set.
 */
void slu_peer_turn_drained(struct slu_peer *peer, uint64_t now_ns, unsigned device, bool blocked);

/* The commands that were blocked at the last drain have ended. */
void slu_peer_turn_unblocked(struct slu_peer *peer, uint64_t now_ns, unsigned device);
/* The same for one unit; others may still be blocked. */
void slu_peer_turn_unblocked_unit(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit);

/*
 * Holds @bytes of pinned memory for staging; 0 gives all of it up.
 *
 * Return: 0, or SLU_PEER_E_WAIT without credit: copy through pageable memory.
 */
int slu_peer_account_stage(struct slu_peer *peer, uint64_t now_ns, uint64_t bytes);

/* More is pinned than the limit allows: give up chunks that are empty. */
bool slu_peer_account_must_unstage(const struct slu_peer *peer);

/* -- the mover ------------------------------------------------------------------------------ */

enum slu_move_result {
	SLU_MOVE_DONE,
	SLU_MOVE_CANCELLED, /* stopped at a chunk; the unit is where it was */
	SLU_MOVE_REFUSED,   /* the driver had no memory; nothing changed */
	SLU_MOVE_BLOCKED,   /* out: commands behind a host event name it */
	SLU_MOVE_RUNS,	    /* out, and not patient: commands that name it still run */
	SLU_MOVE_FAILED,    /* anything else; nothing changed; the peer tries again later */
};

void slu_peer_move_done(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit,
			enum slu_move_result result);

/*
 * @bytes of a unit have been copied, and its move goes on. The daemon hears of it, so that a move
 * that takes longer than `fill_deadline` does not look stuck. A move that ends soon need not call
 * it.
 */
void slu_peer_move_copied(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit,
			  uint64_t bytes);

enum slu_shift_result {
	SLU_SHIFT_DONE,	     /* the backing has shifted */
	SLU_SHIFT_CANCELLED, /* stopped; nothing changed */
	SLU_SHIFT_REFUSED,   /* the disk is full, or there is no memory */
	SLU_SHIFT_FAILED,    /* the copy failed; nothing changed */
};

/*
 * The host copy of a unit that was released while it was pinned is not pinned any more: @bytes of
 * it.
 */
void slu_peer_pinning_released(struct slu_peer *peer, uint64_t now_ns, uint64_t bytes);

void slu_peer_shift_done(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *unit,
			 enum slu_shift_result result);

/*
 * A write to the disk failed. No unit gets backing there any more, and units that are present have
 * theirs in pageable memory from now on, whatever the limit is: an eviction must not fail.
 */
void slu_peer_shift_disk_failed(struct slu_peer *peer, uint64_t now_ns);

/* -- actions -------------------------------------------------------------------------------- */

enum slu_peer_action_kind {
	SLU_PEER_SEND,	/* send message */
	SLU_PEER_SHIFT, /* shift as unit->shift says, then slu_peer_shift_done() */
	SLU_PEER_MOVE,	/* move as unit->moving says, then slu_peer_move_done() */
	SLU_PEER_OPEN,	/* open the gate of device */
	SLU_PEER_START, /* calls of slu_peer_early_enter() pass from now on, the gate stays shut */
	SLU_PEER_SHUT,	/* shut it, wait for slots and device, then slu_peer_turn_drained() */
	SLU_PEER_WAKE,	/* threads that wait for device or memory ask again */
	SLU_PEER_PAGE,	/* page as page says, then slu_peer_paging_done() for the last one */
};

/* Of the memory that the driver pages, @bytes are to be on the device. */
struct slu_peer_page {
	uint64_t bytes;
	bool is_in; /* more than before: bring in what is missing; else send out the rest */
};

struct slu_peer_action {
	enum slu_peer_action_kind kind;
	unsigned device;
	struct slu_unit *unit;
	struct slu_message message; /* only with SEND */
	struct slu_peer_page page;  /* only with PAGE */
};

void slu_peer_step(struct slu_peer *peer, uint64_t now_ns);

/* Return: 1 with an action, 0 when there is none. */
int slu_peer_take_action(struct slu_peer *peer, struct slu_peer_action *ret_action);

uint64_t slu_peer_deadline_ns(const struct slu_peer *peer);

/* -- reading -------------------------------------------------------------------------------- */

struct slu_peer_account_view {
	uint64_t limit_bytes, held_bytes, goal_bytes, seq;
	enum slu_pace pace;
};

void slu_peer_view_account(const struct slu_peer *peer, struct slu_account account,
			   struct slu_peer_account_view *ret_view);
bool slu_peer_view_gate_is_open(const struct slu_peer *peer, unsigned device);
bool slu_peer_view_gate_is_partial(const struct slu_peer *peer, unsigned device);
/* Units of the device that are not present. */
size_t slu_peer_view_n_absent(const struct slu_peer *peer, unsigned device);
struct slu_epoch slu_peer_view_epoch(const struct slu_peer *peer, unsigned device);
/* Mode LAUNCH: the bytes of the working set. */
uint64_t slu_peer_view_working(const struct slu_peer *peer, unsigned device);
/* Mode LAUNCH: the next unit to bring in ahead, or NULL. */
const struct slu_unit *slu_peer_view_ahead(const struct slu_peer *peer, unsigned device);
/* How often the peer went through all units of a device. For tests. */
uint64_t slu_peer_view_n_scans(const struct slu_peer *peer);
const struct slu_unit_list *slu_peer_view_units(const struct slu_peer *peer, unsigned device);

/* Asserts that held equals the units' sums, and that an open gate has every unit present. */
void slu_peer_check(const struct slu_peer *peer);
