/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The inside of a peer, shared by the files of this folder only. Each file has one part:
 *
 *   peer.c        the object, the step, the queue of actions
 *   connection.c  joining, losing, and what the daemon says
 *   account.c    limits, floors, SUMS
 *   turn.c        the gate of a device: TURN, CLOSE, READY, REST, IDLE
 *   alloc.c       units that come and go
 *   command.c     mode LAUNCH: the command that waits for its units
 *   working.c     mode LAUNCH: the working set
 *   ahead.c       mode LAUNCH: units that come before they are asked for
 *   crossing.c    mode LAUNCH: units that go from one device to another
 *   tally.c       sums over the units, kept as they change
 *   shift.c       whose backing changes between pageable memory and disk
 *   move.c       which move is begun, and what became of it
 *   want.c        WANT, for devices and for backing
 *   reports.c     what is told now and then: FACTS, and sums that nobody waits for
 *   view.c        looking, and the check
 *
 * A step goes through the parts in the order turn, moves, shift, accounts, want, reports. Events
 * only change state and mark what is due.
 */

#include "base/util.h"
#include "peer/peer.h"
#include "place/shadow.h"

#define SLU_PEER_QUEUE_MAX	  2048 /* more than all moves and messages of a step */
#define SLU_PEER_REPORTS_NS	  (200 * SLU_NS_PER_MS)
#define SLU_PEER_GROWS_ANSWERS	  5 /* so many answers the next part of a raise may take */
#define SLU_PEER_DENIED_NS	  SLU_NS_PER_S /* whoever asks within this after a DENY fails too */
#define SLU_PEER_EXCESS_NS	  SLU_NS_PER_S /* EXCESS is told so often at most */
#define SLU_PEER_BACKING_STEP	  16 /* backing credit is asked for so many units at once … */
#define SLU_PEER_BACKING_STEP_MAX (256 * SLU_MIB)	/* … but not for more than this ahead */
#define SLU_PEER_SHIFT_PAUSE_NS	  (100 * SLU_NS_PER_MS) /* after backing that could not change */
#define SLU_PEER_ALONE_COUNTER	  1 /* the epoch {0, 1}: opened without a daemon */

enum { IN, OUT, _DIRECTION_MAX };

enum slu_peer_gate { SLU_PEER_GATE_SHUT, SLU_PEER_GATE_OPEN, SLU_PEER_GATE_DRAINING };

struct slu_peer_account {
	uint64_t limit_bytes;
	uint64_t held_bytes;
	uint64_t goal_bytes;
	bool goal_is_past; /* it came with a lowering or a loss: of the next turn it says nothing */
	uint64_t seq;	   /* of the last LIMIT; 0: none on this connection */
	enum slu_pace pace;
	uint64_t reported_held_bytes;  /* in the last SUMS or HELLO */
	uint64_t reported_floor_bytes; /* a device's: in the last SUMS, REST or HELLO */
	uint64_t refused_bytes;	       /* goes into the next SUMS */
	bool is_due;		       /* a SUMS goes out with the next step */
	bool final_is_reported;	       /* "no more can leave" was said since something changed */
};

struct slu_peer_device {
	struct slu_hello_device identity;
	enum slu_mode mode;
	struct slu_peer_account account;

	struct slu_unit_list units;
	uint64_t owned_bytes; /* Σ units, wherever they are */
	uint64_t place_bytes[_SLU_PLACE_MAX];
	uint64_t frozen_bytes[_SLU_FROZEN_MAX];
	uint64_t paged_bytes;	       /* beside the units: what the driver pages */
	uint64_t largest_bytes;	       /* the largest unit, unless stale */
	bool largest_is_stale;	       /* one of that size has gone */
	size_t n_absent;	       /* units that are not present */
	uint64_t device_only_bytes;    /* units that are of no use where they are MAPPED */
	size_t n_working_absent;       /* of these, in the working set … */
	uint64_t working_absent_bytes; /* … and their bytes */
	uint64_t n_scans;	       /* times that somebody went through all units */
	struct slu_unit *moving[_DIRECTION_MAX][SLU_PEER_MOVES_MAX];
	unsigned n_moving[_DIRECTION_MAX];
	unsigned n_unmaking; /* on their way out without the mover */
	uint64_t moving_bytes[_DIRECTION_MAX];
	uint64_t leaving_bytes;		   /* of units on their way out of DEVICE */
	uint64_t retry_ns[_DIRECTION_MAX]; /* nothing is begun before this; 0: at once */
	unsigned n_refused;		   /* moves in, in a row */
	unsigned n_failed[_DIRECTION_MAX]; /* moves, in a row */
	uint64_t grows_until_ns; /* the daemon heard of a larger need, or has begun to meet it: more
				    may come until then; 0: nothing is expected */
	uint64_t alone_bytes;	 /* without a daemon: what the driver was seen to give */
	uint64_t alone_until_ns; /* then it is asked for more, if that is not enough; 0: it is */
	unsigned n_alone_asks;	 /* so often it was, in vain */
	bool alone_gives;	 /* all that may leaves meanwhile: others may wait for it */

	enum slu_peer_gate gate;
	struct slu_epoch epoch;	      /* the turn that we have */
	struct slu_epoch close_epoch; /* the turn whose CLOSE waits for its REST */
	struct slu_epoch ready_epoch; /* the turn for which the daemon knows our gate open */
	bool is_blocked;  /* commands behind a host event are left from the last drain */
	bool has_blocked; /* some unit may have its mark */
	bool is_wanted;	  /* a thread waits at the gate */
	bool idle_is_reported;
	uint64_t busy_ns; /* when the device was last seen busy */
	uint64_t denied_until_ns;

	/* mode LAUNCH: the command that is served next; the others wait for it */
	struct slu_unit **command;
	size_t n_command;
	uint64_t command_bytes; /* of the command that waits, or of the last one that did */
	uint64_t crossing; /* it names units of other devices: by whom the first asked; 0: not */
	uint64_t n_launches;
	uint32_t n_served; /* of these, while no command waited in front, and those that had */
	struct slu_unit_list working; /* by working_link: the least recently named first */
	uint64_t working_bytes;
	uint64_t ran_ns;    /* with the gate open, up to when it was last shut */
	uint64_t opened_ns; /* when it was last opened */
	uint64_t n_turns;
	struct slu_foresight foresight; /* its now is n_launches */
	struct slu_shadow shadow;
	uint64_t ahead_bytes;	  /* of units that came, or come, before they are asked for */
	uint64_t n_hit, n_missed; /* of these: that were named in the end, that left again */

	struct slu_msg_want want; /* as last told */
	bool want_is_current;	  /* nothing changed since then that would ask for a repetition */
	bool want_is_due;	  /* told even if nothing is unmet: a hint is taken back */
	bool want_ends_idle;	  /* so is the hint that we are idle */
	bool wake_is_due;
	uint64_t moved_in_bytes, moved_out_bytes;
	struct slu_msg_facts facts; /* as last told */
	uint64_t excess_ns;	    /* EXCESS was last told; 0: never */
};

/* An action before it is taken. HELLO and FACTS are filled in then, with what is true then. */
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
	struct slu_peer_account pinned, backing, disk;
	uint64_t staged_bytes;	  /* of pinned: chunks of the mover */
	uint64_t unmapping_bytes; /* of pinned: units on their way out of MAPPED */

	uint64_t reserved_bytes;   /* of disk: for units that are about to be allocated */
	struct slu_unit *shifting; /* its backing is on the way; NULL: none */
	uint64_t shift_retry_ns;   /* nothing is shifted before this; 0: at once */
	bool disk_is_bad;	   /* it did not take what was written */

	struct slu_unit_list waiting_allocs; /* that wait, in order of arrival */
	uint64_t backing_want_bytes;	     /* as last told */
	bool backing_want_is_current;
	bool backing_is_exact; /* asking ahead was denied: ask for the first allocation alone */
	bool thaw_is_denied;   /* units without backing will not get any now */
	uint64_t reports_ns;   /* when the reports are sent; SLU_PEER_NEVER: nothing changed */
	uint64_t n_reports;    /* reports so far */

	struct slu_peer_record queue[SLU_PEER_QUEUE_MAX];
	unsigned first, n_queued;
};

/* peer.c */
struct slu_peer_record *slu_peer_push(struct slu_peer *peer, enum slu_peer_action_kind kind,
				      unsigned device);
/* A message to the daemon; NULL when there is no connection. */
struct slu_peer_record *slu_peer_push_message(struct slu_peer *peer, enum slu_message_type type,
					      unsigned device);
void slu_peer_wake_all(struct slu_peer *peer);

/* connection.c */
void slu_peer_connection_fill_hello(struct slu_peer *peer, struct slu_msg_hello *ret_hello);

/* account.c */
struct slu_peer_account *slu_peer_account_find(struct slu_peer *peer, struct slu_account name);
uint64_t slu_peer_account_floor(const struct slu_peer *peer, const struct slu_peer_device *device);
bool slu_peer_account_floor_fell(const struct slu_peer *peer, const struct slu_peer_device *device);
/* Credit dies with the connection (rule 31). */
void slu_peer_account_void(struct slu_peer_account *account);
/* The driver would not give @bytes (rule 13). */
void slu_peer_account_refuse(struct slu_peer_account *account, uint64_t bytes);
void slu_peer_account_hold(struct slu_peer_account *account, uint64_t bytes);
void slu_peer_account_release(struct slu_peer_account *account, uint64_t bytes);
void slu_peer_account_step(struct slu_peer *peer);

/* turn.c */
bool slu_peer_turn_may_run(const struct slu_peer *peer, const struct slu_peer_device *device);
/* No command of ours can touch anything there: units may move (modes ALL and MAPPED). */
bool slu_peer_turn_at_rest(const struct slu_peer_device *device);
void slu_peer_turn_step(struct slu_peer *peer, uint64_t now_ns, unsigned index);
void slu_peer_turn_close(struct slu_peer *peer, unsigned index, struct slu_epoch epoch);

/* move.c */
/* What is away there is coming in, or may at any moment. */
bool slu_peer_move_may_fill(const struct slu_peer *peer, const struct slu_peer_device *device);

/* shift.c */
void slu_peer_shift_step(struct slu_peer *peer);
/* Whether some backing is going down, or will without any further event. */
bool slu_peer_shift_gives(const struct slu_peer *peer);
/* Whether there is credit for an extent of @bytes. */
bool slu_peer_shift_has_credit(const struct slu_peer *peer, uint64_t bytes);

/* alloc.c */
/* Whether an allocation waits for device credit there. */
const struct slu_unit *slu_peer_alloc_waiting(const struct slu_peer *peer, unsigned device);
/* Gives backing credit to units that were allocated without. */
void slu_peer_alloc_thaw(struct slu_peer *peer);

/* command.c */
/* So many launches more. */
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
/* Whether a command on the device of @index may use @unit now. */
bool slu_peer_crossing_is_at_hand(const struct slu_peer *peer, unsigned index,
				  const struct slu_unit *unit);
/* Whether @unit must come from another device before a command on @device may use it. */
bool slu_peer_crossing_is_elsewhere(const struct slu_peer *peer,
				    const struct slu_peer_device *device,
				    const struct slu_unit *unit);
/* Of the command in front at @device: bytes that other devices own. */
uint64_t slu_peer_crossing_elsewhere_bytes(const struct slu_peer *peer,
					   const struct slu_peer_device *device);
/* The command in front at @device is asked for. */
void slu_peer_crossing_ask(struct slu_peer *peer, uint64_t now_ns, struct slu_peer_device *device);
void slu_peer_crossing_end(struct slu_peer *peer, struct slu_peer_device *device);
/* What is away and claimed goes to the device that claims it. */
void slu_peer_crossing_step(struct slu_peer *peer, uint64_t now_ns);
/* Whether @unit is to leave its device because another one needs it. */
bool slu_peer_crossing_claims(const struct slu_peer *peer, const struct slu_unit *unit);
/* Such a unit that may leave @from now, or NULL. */
struct slu_unit *slu_peer_crossing_next_claimed(const struct slu_peer *peer,
						const struct slu_peer_device *from);

/* working.c */
void slu_peer_working_opened(struct slu_peer_device *device, uint64_t now_ns);
void slu_peer_working_shut(struct slu_peer_device *device, uint64_t now_ns);
/* A command names @unit now. */
void slu_peer_working_add(struct slu_peer_device *device, uint64_t now_ns, struct slu_unit *unit);
void slu_peer_working_drop(struct slu_peer_device *device, struct slu_unit *unit);
void slu_peer_working_step(struct slu_peer_device *device, uint64_t now_ns);
/* What the daemon is to know: the last figure told, unless it is off by too much. */
uint64_t slu_peer_working_reported(const struct slu_peer_device *device);

/* ahead.c */
enum slu_ahead_end { SLU_AHEAD_HIT, SLU_AHEAD_MISSED, SLU_AHEAD_DROPPED };

/* Whether units are brought in ahead at present, if there are any. */
bool slu_peer_ahead_is_active(const struct slu_peer *peer, const struct slu_peer_device *device);
/* The unit that should come next, or NULL; it may not fit yet. */
struct slu_unit *slu_peer_ahead_next(const struct slu_peer *peer,
				     const struct slu_peer_device *device);
/* A unit that leaves so that it fits, or NULL. */
struct slu_unit *slu_peer_ahead_next_out(const struct slu_peer *peer,
					 const struct slu_peer_device *device);
/* A command names @unit: what that tells about the next one, and about guesses. */
void slu_peer_ahead_named(struct slu_peer_device *device, struct slu_unit *unit);
/* The same for the shadow windows, when all units of the command have been through the above. */
void slu_peer_ahead_judge(struct slu_peer_device *device, struct slu_unit *unit);
/* @unit begins to come in. */
void slu_peer_ahead_begin(struct slu_peer_device *device, struct slu_unit *unit);
/* If it came ahead: what became of it. */
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
void slu_peer_tally_check(const struct slu_peer_device *device);

/* Looking changes nothing but this count, so it takes devices that are only looked at too. */
static inline void slu_peer_tally_note_scan(const struct slu_peer_device *device)
{
	((struct slu_peer_device *)device)->n_scans++;
}

/* move.c */
/* Mode LAUNCH: whether the units of the command in front are brought in. */
bool slu_peer_move_serves_command(const struct slu_peer *peer,
				  const struct slu_peer_device *device);
bool slu_peer_move_uses_map(const struct slu_peer *peer, const struct slu_peer_device *device);
uint64_t slu_peer_move_limit(const struct slu_peer *peer, const struct slu_peer_device *device);
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
/* Whether something else is true than what was told. */
bool slu_peer_want_is_stale(struct slu_peer *peer, unsigned index);
/* Whether more is needed than the daemon knows. */
bool slu_peer_want_grew(struct slu_peer *peer, unsigned index);
void slu_peer_want_step(struct slu_peer *peer, uint64_t now_ns, unsigned index);
/* Mode LAUNCH: the window that the daemon was asked for. */
uint64_t slu_peer_want_window_bytes(const struct slu_peer_device *device);
void slu_peer_want_step_backing(struct slu_peer *peer);
void slu_peer_want_backing_denied(struct slu_peer *peer);

/* reports.c */
void slu_peer_reports_touch(struct slu_peer *peer, uint64_t now_ns);
void slu_peer_reports_fill_facts(const struct slu_peer *peer, unsigned index,
				 struct slu_msg_facts *ret_facts);
void slu_peer_reports_step(struct slu_peer *peer, uint64_t now_ns);
