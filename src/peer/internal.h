/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The inside of a peer, shared by the files of this folder only. A function is named after its
 * file. Each file has one part:
 *
 *   peer.c        the object, the step, the queue of actions
 *   connection.c  join, loss, and the messages of the daemon
 *   account.c     limits, floors, SUMS
 *   turn.c        the gate of a device: TURN, CLOSE, READY, REST, IDLE
 *   boundary.c    a CLOSE that waits for the end of the program's iteration
 *   alloc.c       allocation and release of units
 *   early.c       calls that pass before all units of the turn are present
 *   command.c     mode LAUNCH: the command that waits for its units
 *   working.c     mode LAUNCH: the working set
 *   ahead.c       mode LAUNCH: units that come in before a command asks for them
 *   crossing.c    mode LAUNCH: units that go from one device to another
 *   alone.c       without a daemon: how much the driver gives
 *   tally.c       sums over the units, kept as they change
 *   shift.c       backing that goes between pageable memory and disk
 *   pinning.c     backing in memory that is pinned in place
 *   paging.c      memory that the driver pages
 *   move.c        which moves begin
 *   move-end.c    how moves end
 *   want.c        WANT, for devices and for backing
 *   reports.c     what is sent at most once per interval: FACTS, and sums that no one waits for
 *   view.c        reads for the client, the tests and the simulator
 *   check.c       the check of what holds between two steps
 *
 * A step goes through paging, turn, move (with alone), shift, account, want and reports in this
 * order. Events only change state and mark what is due.
 */

#include "base/util.h"
#include "peer/peer.h"
#include "place/iteration.h"
#include "place/shadow.h"

#define SLU_PEER_QUEUE_MAX	  2048 /* more than all moves and messages of a step */
#define SLU_PEER_REPORTS_NS	  (200 * SLU_NS_PER_MS)
#define SLU_PEER_GROWS_ANSWERS	  5 /* the next part of a raise may take so many answers */
#define SLU_PEER_DENIED_NS	  SLU_NS_PER_S /* requests within this time after a DENY fail too */
#define SLU_PEER_UNFIT_NS	  (10 * SLU_NS_PER_S) /* as long as the daemon is patient */
#define SLU_PEER_EXCESS_NS	  SLU_NS_PER_S /* EXCESS is sent at most once per this time */
#define SLU_PEER_BACKING_STEP	  16 /* a WANT asks backing credit for so many units … */
#define SLU_PEER_BACKING_STEP_MAX (256 * SLU_MIB)	/* … but for no more than this ahead */
#define SLU_PEER_SHIFT_PAUSE_NS	  (100 * SLU_NS_PER_MS) /* after a shift that failed */
#define SLU_PEER_ALONE_COUNTER	  1 /* the epoch {0, 1}: opened without a daemon */

enum { IN, OUT, _DIRECTION_MAX };

enum slu_peer_gate {
	SLU_PEER_GATE_SHUT,
	SLU_PEER_GATE_PARTIAL,
	SLU_PEER_GATE_OPEN,
	SLU_PEER_GATE_DRAINING,
};

struct slu_peer_account {
	uint64_t limit_bytes;
	uint64_t held_bytes;
	uint64_t goal_bytes;
	bool goal_is_past; /* it came with a lowering or a loss and says nothing about the next turn
			    */
	uint64_t seq;	   /* of the last LIMIT; 0: none on this connection */
	enum slu_pace pace;
	uint64_t reported_held_bytes;  /* in the last SUMS or HELLO */
	uint64_t reported_floor_bytes; /* a device's: in the last SUMS, REST or HELLO */
	uint64_t refused_bytes;	       /* for the next SUMS */
	bool is_due;		       /* the next step sends SUMS */
	bool final_is_reported; /* SUMS said that no more can leave, and nothing changed since */
};

struct slu_peer_device {
	struct slu_hello_device identity;
	enum slu_mode mode;
	struct slu_peer_account account;

	struct slu_unit_list units;
	uint64_t owned_bytes; /* Σ units, wherever they are */
	uint64_t place_bytes[_SLU_PLACE_MAX];
	uint64_t frozen_bytes[_SLU_FROZEN_MAX];
	uint64_t paged_bytes;	   /* not in units: memory that the driver pages */
	uint64_t here_bytes;	   /* of these, ordered to the device or never sent out */
	bool is_paging;		   /* an order is under way */
	uint64_t pages_until_ns;   /* the turn's credit for them is awaited until then; 0: it is not
				  */
	uint64_t largest_bytes;	   /* the largest unit, unless stale */
	bool largest_is_stale;	   /* a unit of that size was released */
	size_t n_absent;	   /* units that are not present */
	size_t n_unwatched_absent; /* of these, units that calls may use unseen */
	uint64_t device_only_bytes;    /* of units that are of no use where they are MAPPED */
	size_t n_working_absent;       /* of these, units of the working set … */
	uint64_t working_absent_bytes; /* … and their bytes */
	uint64_t n_scans;	       /* how often all units were gone through */
	struct slu_unit *moving[_DIRECTION_MAX][SLU_PEER_MOVES_MAX];
	unsigned n_moving[_DIRECTION_MAX];
	unsigned n_unmaking; /* units on their way out without the mover */
	uint64_t moving_bytes[_DIRECTION_MAX];
	uint64_t leaving_bytes;		   /* of units on their way out of DEVICE */
	uint64_t retry_ns[_DIRECTION_MAX]; /* no move begins before this; 0: at once */
	unsigned n_refused;		   /* moves in, in a row */
	unsigned n_failed[_DIRECTION_MAX]; /* moves, in a row */
	uint64_t grows_until_ns; /* the daemon knows a larger need or has begun to meet it: more
				    may come until then; 0: nothing is expected */
	uint64_t alone_bytes;	 /* without a daemon: what the driver gave */
	uint64_t alone_until_ns; /* when the driver is asked for more; 0: it gave enough */
	unsigned n_alone_asks;	 /* how often it was asked in vain */
	bool alone_gives;	 /* all units leave meanwhile: other programs may wait for memory */

	enum slu_peer_gate gate;
	struct slu_epoch epoch;	      /* our turn */
	struct slu_epoch close_epoch; /* the turn whose CLOSE waits for its REST */
	struct slu_epoch ready_epoch; /* the turn for which READY was sent */
	bool is_early;		      /* all work since the last rest passed early */
	struct slu_epoch late_epoch;  /* the turn whose CLOSE waits for a boundary … */
	uint64_t late_until_ns;	      /* … until then at most; 0: none does */
	struct slu_iteration iteration;
	uint64_t unused_bytes;	 /* of units that nothing is allocated in, as last told */
	uint64_t out_ns_per_mib; /* of copies out; 0: not known */
	bool is_blocked;	 /* commands behind a host event remain from the last drain */
	bool has_blocked;	 /* some unit may be marked as blocked */
	bool is_wanted;		 /* a thread waits at the gate */
	bool idle_is_reported;
	uint64_t busy_ns; /* when the device was last seen busy */
	uint64_t denied_until_ns;
	uint64_t unfit_bytes;	 /* by the last DENY the program may not need so much … */
	uint64_t unfit_until_ns; /* … which allocations off turn respect until then */

	/* mode LAUNCH: the command in front; the others wait for it */
	struct slu_unit **command;
	size_t n_command;
	uint64_t command_bytes; /* of the command in front, or of the last one */
	uint64_t crossing; /* its number among those that name units of other devices; 0: it does
			      not */
	uint64_t n_launches;
	uint32_t n_served; /* of these, while no command was in front, and those that had been */
	struct slu_unit_list working; /* by working_link: the least recently named first */
	uint64_t working_bytes;
	uint64_t ran_ns;    /* time with the gate open, until it was last shut */
	uint64_t opened_ns; /* when it was last opened */
	uint64_t n_turns;
	struct slu_foresight foresight; /* its now is n_launches */
	struct slu_shadow shadow;
	uint64_t ahead_bytes;	  /* of units that came, or come, in ahead */
	uint64_t n_hit, n_missed; /* of these: named in the end, evicted unused */

	struct slu_msg_want want; /* as last sent */
	bool want_is_current;	  /* nothing changed since then that asks for a repetition */
	bool want_is_due;	  /* sent even if nothing is unmet: it takes a hint back */
	bool want_ends_idle;	  /* the hint is that the device is idle */
	bool wake_is_due;
	uint64_t moved_in_bytes, moved_out_bytes;
	struct slu_msg_facts facts; /* as last sent */
	uint64_t excess_ns;	    /* when EXCESS was last sent; 0: never */
	bool export_is_reported;
};

/* An action before it is taken. HELLO and FACTS are filled in when they are taken. */
struct slu_peer_record {
	enum slu_peer_action_kind kind;
	enum slu_message_type type;
	unsigned device;
	struct slu_unit *unit;
	union {
		struct slu_msg_turn turn;
		struct slu_msg_rest rest;
		struct slu_msg_sums sums;
		struct slu_msg_want want;
		struct slu_msg_excess excess;
		struct slu_msg_export export;
		struct slu_peer_page page;
	};
};

struct slu_peer {
	struct slu_peer_config config; /* constant after init */
	bool is_connected;	       /* HELLO was or is being sent */
	bool is_joined;
	bool is_alone;
	struct slu_msg_welcome welcome;

	struct slu_peer_device devices[SLU_WIRE_DEVICES_MAX];
	unsigned n_devices;
	uint64_t n_crossings; /* commands so far that named units of other devices */
	struct slu_peer_account pinned, pageable, disk;
	uint64_t staged_bytes;	  /* of pinned: chunks of the movers */
	uint64_t copies_bytes;	  /* of pinned: host copies, those on their way included */
	uint64_t unmapping_bytes; /* of pinned: units on their way out of MAPPED */

	uint64_t reserved_bytes;   /* of disk: for units whose allocation has an extent already */
	struct slu_unit *shifting; /* its backing is shifting; NULL: none */
	uint64_t shift_retry_ns;   /* no shift begins before this; 0: at once */
	bool disk_is_bad;	   /* a write to it failed */

	struct slu_unit_list waiting_allocs; /* in order of arrival */
	uint64_t backing_want_bytes;	     /* as last sent */
	bool backing_want_is_current;
	bool backing_is_exact; /* a WANT that asked ahead was denied: ask for the first allocation
				  alone */
	bool thaw_is_denied;   /* the daemon denied backing for units that have none */
	uint64_t reports_ns;   /* when to send reports; SLU_PEER_NEVER: nothing changed */
	uint64_t n_reports;    /* reports so far */

	struct slu_peer_record queue[SLU_PEER_QUEUE_MAX];
	unsigned first, n_queued;
};

/* peer.c */
struct slu_peer_record *slu_peer_push(struct slu_peer *peer, enum slu_peer_action_kind kind,
				      unsigned device);
/* A message to the daemon; NULL without a connection. */
struct slu_peer_record *slu_peer_push_message(struct slu_peer *peer, enum slu_message_type type,
					      unsigned device);
void slu_peer_wake_all(struct slu_peer *peer);

/* connection.c */
void slu_peer_connection_fill_hello(struct slu_peer *peer, struct slu_msg_hello *ret_hello);

/* account.c */
struct slu_peer_account *slu_peer_account_find(struct slu_peer *peer, struct slu_account name);
uint64_t slu_peer_account_floor(const struct slu_peer *peer, const struct slu_peer_device *device);
bool slu_peer_account_floor_fell(const struct slu_peer *peer, const struct slu_peer_device *device);
/* Drops the credit: it ends with the connection (rule 31). */
void slu_peer_account_void(struct slu_peer_account *account);
/* The driver refused @bytes (rule 13). */
void slu_peer_account_refuse(struct slu_peer_account *account, uint64_t bytes);
void slu_peer_account_hold(struct slu_peer_account *account, uint64_t bytes);
void slu_peer_account_release(struct slu_peer_account *account, uint64_t bytes);
void slu_peer_account_step(struct slu_peer *peer);

/* turn.c */
bool slu_peer_turn_may_run(const struct slu_peer *peer, const struct slu_peer_device *device);
/* No command of ours can touch anything there: units may move (modes ALL and MAPPED). */
bool slu_peer_turn_at_rest(const struct slu_peer_device *device);
/* No command of ours can touch a unit that is away: it may come in (modes ALL and MAPPED). */
bool slu_peer_turn_may_bring_in(const struct slu_peer_device *device);
void slu_peer_turn_step(struct slu_peer *peer, uint64_t now_ns, unsigned index);
void slu_peer_turn_close(struct slu_peer *peer, uint64_t now_ns, const struct slu_msg_close *close);

/* boundary.c */
/* Whether the CLOSE of @epoch, with that deadline from now, waits for a boundary; then it counts
 * later. */
bool slu_peer_boundary_wait(struct slu_peer *peer, uint64_t now_ns, unsigned index,
			    struct slu_epoch epoch, uint64_t deadline_ns);
void slu_peer_boundary_step(struct slu_peer *peer, uint64_t now_ns, unsigned index);

/* paging.c */
/* The program has @bytes of paged memory from now on. */
void slu_peer_paging_set(struct slu_peer *peer, unsigned device, uint64_t bytes);
/* A turn begins. */
void slu_peer_paging_expect(const struct slu_peer *peer, uint64_t now_ns,
			    struct slu_peer_device *device);
void slu_peer_paging_step(struct slu_peer *peer, uint64_t now_ns, unsigned index);
/* Whether the gate need not wait for paged memory. */
bool slu_peer_paging_is_complete(const struct slu_peer *peer, const struct slu_peer_device *device);

/* shift.c */
void slu_peer_shift_step(struct slu_peer *peer);
/* Whether backing goes from memory to disk now, or will without any further event. */
bool slu_peer_shift_gives(const struct slu_peer *peer);
/* Whether backing must go to disk, and could if it were not pinned. */
bool slu_peer_shift_lacks_pageable(const struct slu_peer *peer);
/* Whether there is credit for an extent of @bytes. */
bool slu_peer_shift_has_credit(const struct slu_peer *peer, uint64_t bytes);

/* pinning.c */
void slu_peer_pinning_hold(struct slu_peer *peer, uint64_t bytes);
void slu_peer_pinning_release(struct slu_peer *peer, uint64_t bytes);
/* Whether pinned copies yield now. */
bool slu_peer_pinning_must_give(const struct slu_peer *peer);
/* The next unit whose copy becomes pinned, or pageable again; or NULL. */
struct slu_unit *slu_peer_pinning_next(const struct slu_peer *peer);
struct slu_unit *slu_peer_pinning_next_out(const struct slu_peer *peer);
/* Whether the pinning of @unit that is under way should stop. */
bool slu_peer_pinning_is_void(const struct slu_peer *peer, const struct slu_unit *unit);

/* alloc.c */
/* The first allocation that waits for device credit there, or NULL. */
const struct slu_unit *slu_peer_alloc_waiting(const struct slu_peer *peer, unsigned device);
/* Gives backing to units that were allocated without it. */
void slu_peer_alloc_thaw(struct slu_peer *peer);

/* early.c */
/* Whether calls may pass before all units are present, as far as the turn's bytes go. */
bool slu_peer_early_is_possible(const struct slu_peer *peer, unsigned index);

/* command.c */
/* Counts @n launches. */
static inline void slu_peer_command_advance(struct slu_peer_device *device, uint64_t n)
{
	device->n_launches += n;
	if (device->n_command == 0)
		device->n_served += (uint32_t)n;
	device->foresight.now = device->n_launches;
}

uint64_t slu_peer_command_need(const struct slu_peer_device *device);
void slu_peer_command_drop(struct slu_peer *peer, struct slu_peer_device *device);

/* crossing.c */
/* Whether a command on the device @index may use @unit now. */
bool slu_peer_crossing_is_at_hand(const struct slu_peer *peer, unsigned index,
				  const struct slu_unit *unit);
/* Whether @unit must come from another device before a command on @device may use it. */
bool slu_peer_crossing_is_elsewhere(const struct slu_peer *peer,
				    const struct slu_peer_device *device,
				    const struct slu_unit *unit);
/* Bytes of the command in front at @device that other devices have. */
uint64_t slu_peer_crossing_elsewhere_bytes(const struct slu_peer *peer,
					   const struct slu_peer_device *device);
/* The command in front at @device asks again: it may have to cross. */
void slu_peer_crossing_ask(struct slu_peer *peer, uint64_t now_ns, struct slu_peer_device *device);
void slu_peer_crossing_end(struct slu_peer *peer, struct slu_peer_device *device);
/* Units that are away and claimed go over to the device that claims them. */
void slu_peer_crossing_step(struct slu_peer *peer, uint64_t now_ns);
/* Whether the device that crosses needs @unit, which is on another one. */
bool slu_peer_crossing_claims(const struct slu_peer *peer, const struct slu_unit *unit);
/* A claimed unit that may leave @from now, or NULL. */
struct slu_unit *slu_peer_crossing_next_claimed(const struct slu_peer *peer,
						const struct slu_peer_device *from);

/* working.c */
void slu_peer_working_opened(struct slu_peer_device *device, uint64_t now_ns);
void slu_peer_working_shut(struct slu_peer_device *device, uint64_t now_ns);
/* A command names @unit now. */
void slu_peer_working_add(struct slu_peer_device *device, uint64_t now_ns, struct slu_unit *unit);
void slu_peer_working_drop(struct slu_peer_device *device, struct slu_unit *unit);
void slu_peer_working_step(struct slu_peer_device *device, uint64_t now_ns);
/* The figure for WANT: the last one sent, unless it is off by too much. */
uint64_t slu_peer_working_reported(const struct slu_peer_device *device);

/* ahead.c */
enum slu_ahead_end { SLU_AHEAD_HIT, SLU_AHEAD_MISSED, SLU_AHEAD_DROPPED };

/* Whether units may come in ahead at present. */
bool slu_peer_ahead_is_active(const struct slu_peer *peer, const struct slu_peer_device *device);
/* The next unit to bring in ahead, or NULL. It may not fit yet. */
struct slu_unit *slu_peer_ahead_next(const struct slu_peer *peer,
				     const struct slu_peer_device *device);
/* A unit that leaves so that this one fits, or NULL. */
struct slu_unit *slu_peer_ahead_next_out(const struct slu_peer *peer,
					 const struct slu_peer_device *device);
/* A command names @unit: foresight learns from it. */
void slu_peer_ahead_named(struct slu_peer_device *device, struct slu_unit *unit);
/* The same for the shadow caches, after all units of the command. */
void slu_peer_ahead_judge(struct slu_peer_device *device, struct slu_unit *unit);
/* @unit begins to come in. */
void slu_peer_ahead_begin(struct slu_peer_device *device, struct slu_unit *unit);
/* Ends the time of @unit as one that came in ahead, if it is one. */
void slu_peer_ahead_end(struct slu_peer_device *device, struct slu_unit *unit,
			enum slu_ahead_end how);

/* tally.c */
void slu_peer_tally_add(struct slu_peer_device *device, const struct slu_unit *unit);
void slu_peer_tally_remove(struct slu_peer_device *device, struct slu_unit *unit);
void slu_peer_tally_set_place(struct slu_peer_device *device, struct slu_unit *unit,
			      enum slu_place place, enum slu_moving moving);
void slu_peer_tally_set_frozen(struct slu_peer_device *device, struct slu_unit *unit,
			       enum slu_frozen why);
bool slu_peer_tally_has_frozen(const struct slu_peer_device *device);
uint64_t slu_peer_tally_unbacked_bytes(const struct slu_peer *peer);
uint64_t slu_peer_tally_largest_bytes(struct slu_peer_device *device);
/* The bytes that must be on the device itself: units that cannot move, and headroom. */
uint64_t slu_peer_tally_fixed_bytes(const struct slu_peer_device *device);
void slu_peer_tally_check(const struct slu_peer_device *device);

/* The count is the only change that a read makes, so const devices are taken too. */
static inline void slu_peer_tally_note_scan(const struct slu_peer_device *device)
{
	((struct slu_peer_device *)device)->n_scans++;
}

/* move.c */
/* Units that are away come in, or may at any moment. */
bool slu_peer_move_may_fill(const struct slu_peer *peer, const struct slu_peer_device *device);
/* Mode LAUNCH: whether the units of the command in front may come in. */
bool slu_peer_move_serves_command(const struct slu_peer *peer,
				  const struct slu_peer_device *device);
bool slu_peer_move_uses_map(const struct slu_peer *peer, const struct slu_peer_device *device);
uint64_t slu_peer_move_limit(const struct slu_peer *peer, const struct slu_peer_device *device);
/* Whether the turn has all units on the device itself, or will when the limit is at its goal. */
bool slu_peer_move_maps_none(const struct slu_peer *peer, const struct slu_peer_device *device);
/* Whether the turn waits for units that can only be mapped, and pinned memory is short. */
bool slu_peer_move_wants_map(const struct slu_peer *peer, const struct slu_peer_device *device);
/* A mapped unit that fits on the device now, or NULL. */
struct slu_unit *slu_peer_move_promotable(const struct slu_peer *peer,
					  const struct slu_peer_device *device);
void slu_peer_move_step(struct slu_peer *peer, uint64_t now_ns, unsigned index);

/* alone.c */
void slu_peer_alone_step(const struct slu_peer *peer, struct slu_peer_device *device,
			 uint64_t now_ns);

/* want.c */
bool slu_peer_want_is_runnable(const struct slu_peer *peer, unsigned index);
bool slu_peer_want_is_unmet(const struct slu_peer *peer, unsigned index);
void slu_peer_want_fill(struct slu_peer *peer, unsigned index, struct slu_msg_want *ret_want);
/* Whether the need differs from the last WANT. */
bool slu_peer_want_is_stale(struct slu_peer *peer, unsigned index);
/* Whether the need exceeds the last WANT. */
bool slu_peer_want_grew(struct slu_peer *peer, unsigned index);
void slu_peer_want_step(struct slu_peer *peer, uint64_t now_ns, unsigned index);
/* Mode LAUNCH: the window that the last WANT asked for. */
uint64_t slu_peer_want_window_bytes(const struct slu_peer_device *device);
void slu_peer_want_step_backing(struct slu_peer *peer);
void slu_peer_want_backing_denied(struct slu_peer *peer);

/* reports.c */
void slu_peer_reports_touch(struct slu_peer *peer, uint64_t now_ns);
void slu_peer_reports_fill_facts(const struct slu_peer *peer, unsigned index,
				 struct slu_msg_facts *ret_facts);
void slu_peer_reports_step(struct slu_peer *peer, uint64_t now_ns);
