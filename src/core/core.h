/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The core decides which programs run, and how many bytes each may hold. Pure: no I/O, no clock, no
 * thread.
 *
 * Events go in, each with a time; slu_core_step() then decides, and actions come out, each with an
 * id and a reason in words. An action is a request: the answer may come late, in part or never. The
 * daemon drives the core with real time, the simulator and the tests with virtual time.
 *
 *   slu_core_hello(core, now, …);               any number of events
 *   slu_core_step(core, now);                   decide
 *   while (slu_core_take_action(core, &a) > 0)  carry out, in this order: a roster line comes
 *           …                                   before the raise that it covers
 *   slu_core_deadline_ns(core)                  step again then, even if nothing happens
 *
 * Inside, sched/ (which group has its turn) asks fit/ (which groups fit, with how many bytes),
 * which uses credit/ (accounts and capacities); core.c runs the step. docs/protocol.md has the
 * rules by number; comments in the code refer to them. docs/glossary.md explains the words.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/message.h"

struct slu_core;

#define SLU_CORE_REASON_MAX 128
#define SLU_CORE_NEVER	    UINT64_MAX

/* Times in ns, sizes in bytes. slu_core_config_default() fills it; the daemon's settings change it.
 */
struct slu_core_config {
	const char *policy;	     /* a name of the array in sched/policy.c */
	uint64_t generation;	     /* > every generation before it */
	uint64_t slice_ns;	     /* how long a turn lasts while another program waits */
	uint64_t slice_min_switches; /* … at least this many times its switch (rule 19) */
	uint64_t allotment_ns;	     /* mlfq: device time after which a program sinks by a level */
	uint64_t wait_percent;	     /* mlfq: the part of the waiting time that counts as rest */
	unsigned levels;	     /* mlfq */
	uint64_t age_ns; /* a program that waited so long goes first, for a slice (sched/age.h) */
	uint64_t close_deadline_ns; /* a program that drains longer is stuck */
	uint64_t limit_deadline_ns; /* a client that leaves a LIMIT unanswered longer is silent */
	uint64_t fill_deadline_ns;  /* a fill without progress is closed (rule 34) */
	uint64_t rise_period_ns; /* between two rises of the estimate; refusals double it (rule 16)
				  */
	uint64_t patience_ns;	 /* a group that cannot fit is denied after this (rule 7) */
	uint64_t grace_ns;	 /* after a start: no new turns while orphans remain */
	uint64_t idle_ns;	 /* a client sends IDLE after this time without device progress */
	uint64_t need_window_ns; /* need is the maximum of this window (rule 21) */
	uint64_t round_trip_ns;	 /* a grant younger than this is not taken back (rule 10) */
	uint64_t pinned_bytes;	 /* budget of the machine */
	uint64_t backing_bytes;	 /* budget of the machine: pageable memory */
	uint64_t disk_bytes;	 /* budget of the machine; 0: nothing goes to disk */
	uint64_t staging_bytes;	 /* pinned credit that each client gets when it joins (rule 30) */
	unsigned share_percent;	 /* programs share the device below this (90), and take turns above
				    100 */
};

void slu_core_config_default(struct slu_core_config *config);

int slu_core_new(const struct slu_core_config *config, uint64_t now_ns, struct slu_core **ret_core);
void slu_core_free(struct slu_core *core);

/* Changes policy, times and budgets of a running core; -EINVAL for an unknown policy. */
int slu_core_configure(struct slu_core *core, uint64_t now_ns,
		       const struct slu_core_config *config);

/* -- devices ------------------------------------------------------------------------------- */

/*
 * @usable_bytes: total less reserve; the most that is handed out, except for needed bytes.
 * @reserve_bytes: the rest, kept free except for bytes without which a running program cannot go
 * on.
 *
 * The estimate of the device falls with refusals and outsiders, and rises again slowly.
 *
 * Return: the device's number, or -errno.
 */
int slu_core_device_add(struct slu_core *core, uint64_t now_ns, const char *name,
			uint64_t usable_bytes, uint64_t reserve_bytes);

/* Replaces the device of @number, which no client uses, by another one. */
void slu_core_device_renew(struct slu_core *core, uint64_t now_ns, unsigned number,
			   const char *name, uint64_t usable_bytes, uint64_t reserve_bytes);

/* The device of @number, which may be in use, is of another size than was said. */
void slu_core_device_resize(struct slu_core *core, uint64_t now_ns, unsigned number,
			    uint64_t usable_bytes, uint64_t reserve_bytes);

/* The bytes that outsiders were seen to hold. */
void slu_core_outsiders(struct slu_core *core, uint64_t now_ns, unsigned device, uint64_t bytes);

/* The bytes that contexts and drivers hold in addition to the programs' memory. */
void slu_core_overhead(struct slu_core *core, uint64_t now_ns, unsigned device, uint64_t bytes);

/* -- clients: events ------------------------------------------------------------------------ */

/*
 * The caller names a client by an id, and never uses it again for another process. Its devices are
 * the numbers of slu_core_device_add() in the order of its HELLO; messages name a device by its
 * place in HELLO.
 */
struct slu_core_bound {
	uint64_t id; /* clients with the same id share the bound: of a user, of a control group */
	uint64_t bytes;
};

#define SLU_CORE_BOUNDS_MAX 8

enum slu_core_quota_kind {
	SLU_CORE_QUOTA_USER,
	SLU_CORE_QUOTA_UNIX_GROUP,
	_SLU_CORE_QUOTA_MAX,
};

/* What programs of one user, or of one Unix group, may have of the devices together. */
struct slu_core_quota {
	uint64_t id;		     /* clients with the same id share it; 0: none */
	uint64_t bytes;		     /* of device memory, wherever it is; 0: no bound */
	uint64_t time_ns, period_ns; /* of device time in a period; 0: no bound */
};

/* Bounds that several clients share, in addition to the budgets of the machine. */
struct slu_core_bounds {
	struct slu_core_quota quotas[_SLU_CORE_QUOTA_MAX];
	unsigned n_pageable, n_disk;
	struct slu_core_bound pageable[SLU_CORE_BOUNDS_MAX], disk[SLU_CORE_BOUNDS_MAX];
};

/* Set by a person; policies rr and fifo ignore it. */
enum slu_core_priority {
	SLU_CORE_PRIORITY_NORMAL, /* begins at the top */
	SLU_CORE_PRIORITY_HIGH,	  /* stays at the top */
	SLU_CORE_PRIORITY_LOW,	  /* begins at the bottom */
};

struct slu_core_join {
	uint64_t client;
	uint64_t user;	/* its owner: turns and bytes are shared between users first */
	uint64_t group; /* never 0: the caller makes one up for a program without a group */
	const char *name;
	const struct slu_msg_hello *hello;
	struct slu_core_bounds bounds;
	enum slu_core_priority
		priority;    /* of the program; a group has the highest of its members' */
	uint64_t expect_ns;  /* device time that it will use, as a person says; 0: unknown */
	bool is_checked;     /* it may lie, to the harm of other users (rule 41) */
	bool maps_if_larger; /* mode MAPPED only where it is larger than the device (rule 43) */
	unsigned devices[SLU_WIRE_DEVICES_MAX]; /* place in HELLO -> the core's number */
};

/*
 * A client joins, or joins again with the id that it had. Credit of the last connection is void,
 * and so are actions not yet taken. Return: 0, -EINVAL for a device that was never added or appears
 * twice, or -ENOMEM, which leaves the core unchanged.
 */
int slu_core_hello(struct slu_core *core, uint64_t now_ns, const struct slu_core_join *join);

/* Whether the client has a turn on the device at @place of its HELLO: given, or adopted. */
bool slu_core_has_turn(const struct slu_core *core, uint64_t client, unsigned place);

/*
 * The device at @place of its HELLO says that the client has @bytes there. Bytes that a checked
 * client claims beyond that and its limits do not count, nor does its credit if it does not answer.
 */
void slu_core_confirm(struct slu_core *core, uint64_t now_ns, uint64_t client, unsigned place,
		      uint64_t bytes);

/* A line of the roster: at the start a client is charged with it until HELLO or death. */
struct slu_core_orphan {
	uint64_t client;
	uint64_t user;
	uint64_t group;
	const char *name;
	unsigned n_devices;
	unsigned devices[SLU_WIRE_DEVICES_MAX];
	uint64_t device_bytes[SLU_WIRE_DEVICES_MAX];
	uint64_t pinned_bytes;
	uint64_t backing_bytes;
	uint64_t disk_bytes;
	struct slu_core_bounds bounds;
};

int slu_core_orphan(struct slu_core *core, uint64_t now_ns, const struct slu_core_orphan *orphan);

/*
 * The connection ended but the process lives: its charges stay (credit is void, held bytes are
 * not), it is no victim, and it keeps its turn until HELLO, death, or a drain that is stuck.
 */
void slu_core_lost(struct slu_core *core, uint64_t now_ns, uint64_t client);

/* The process ended: its charges and its roster line are removed. */
void slu_core_dead(struct slu_core *core, uint64_t now_ns, uint64_t client);

/*
 * SUMS, WANT, READY, IDLE, REST, FACTS of a joined client.
 *
 * Return: 0, or SLU_CORE_E_UNKNOWN for a client or a device that never joined (a late message:
 * ignore it).
 */
enum { _SLU_CORE_E_SUCCESS, SLU_CORE_E_UNKNOWN, SLU_CORE_E_ALONE };

int slu_core_message(struct slu_core *core, uint64_t now_ns, uint64_t client,
		     const struct slu_message *m);

/* Sets the bounds on the backing of a client; it keeps what it has already. */
void slu_core_bound(struct slu_core *core, uint64_t now_ns, uint64_t client,
		    const struct slu_core_bounds *bounds);

/* What a person says about a program from now on; an unknown client is ignored. */
void slu_core_steer(struct slu_core *core, uint64_t now_ns, uint64_t client,
		    enum slu_core_priority priority, uint64_t expect_ns);

/* Parked: gets no turn and gives up its device bytes when another group needs them.
 */
int slu_core_park(struct slu_core *core, uint64_t now_ns, uint64_t group, bool parked);

/*
 * The driver suspended the program, or brought it back: meanwhile nothing that it is charged for is
 * on a device. An unknown client is ignored.
 */
void slu_core_suspend(struct slu_core *core, uint64_t now_ns, uint64_t client, bool is_away);

/*
 * Splits the client from its group into one of its own, which the action SPLIT names, and closes
 * its turn. The core does so by itself with members of a group that together exceed the device.
 *
 * Return: 0, SLU_CORE_E_ALONE if it is alone in its group already, or -ENOENT.
 */
int slu_core_split(struct slu_core *core, uint64_t now_ns, uint64_t client);

/* -- deciding ------------------------------------------------------------------------------- */

enum slu_core_action_kind {
	SLU_CORE_SEND,	      /* send message to client */
	SLU_CORE_ROSTER_PUT,  /* write this line before any later action */
	SLU_CORE_ROSTER_DROP, /* remove this line */
	SLU_CORE_SPLIT,	 /* move client to another group: one of its own, or back to its run's */
	SLU_CORE_REPORT, /* write the reason to the log */
};

struct slu_core_action {
	uint64_t id; /* counts up from 1 */
	enum slu_core_action_kind kind;
	uint64_t client;
	struct slu_message message;  /* SEND: LIMIT, TURN, CLOSE or DENY, stamped */
	struct slu_core_orphan line; /* ROSTER_PUT: its charges; name points into the core */
	uint64_t group;		     /* SPLIT: a new number, or that of the group it returns to */
	char reason[SLU_CORE_REASON_MAX];
};

void slu_core_step(struct slu_core *core, uint64_t now_ns);

/* Return: 1 with an action, 0 without one, -ENOMEM if one was lost: the core cannot go on.
 */
int slu_core_take_action(struct slu_core *core, struct slu_core_action *ret_action);

/* When to step again even if nothing happens; SLU_CORE_NEVER if nothing is due. */
uint64_t slu_core_deadline_ns(const struct slu_core *core);

/* -- looking -------------------------------------------------------------------------------- */

enum slu_core_state {
	SLU_CORE_IDLE,
	SLU_CORE_WAITING,
	SLU_CORE_FILLING,
	SLU_CORE_RUNNING,
	SLU_CORE_DRAINING,
	_SLU_CORE_STATE_MAX,
};

const char *slu_core_state_name(enum slu_core_state state);

struct slu_core_account_view {
	uint64_t limit_bytes, charge_bytes, held_bytes, floor_bytes, goal_bytes;
	bool is_pending;
};

struct slu_core_client_view {
	uint64_t client, group;
	const char *name;
	bool is_orphan, is_lost, is_silent;
	unsigned n_devices;
	unsigned devices[SLU_WIRE_DEVICES_MAX];
	enum slu_mode modes[SLU_WIRE_DEVICES_MAX];
	struct slu_core_account_view device_accounts[SLU_WIRE_DEVICES_MAX];
	struct slu_core_account_view pinned, pageable, disk;
	struct slu_msg_want wants[SLU_WIRE_DEVICES_MAX];
	struct slu_msg_facts facts[SLU_WIRE_DEVICES_MAX];
};

struct slu_core_group_view {
	uint64_t group;
	const char *name; /* of its first member */
	enum slu_core_state state;
	struct slu_epoch epoch;
	uint64_t since_ns; /* in this state */
	bool is_stuck;	   /* it does not come to rest, or its copies do not end */
	bool is_idle, is_parked;
	bool is_over_quota; /* of device time */
	unsigned level;	    /* of the policy: 0 is the top */
	uint64_t n_turns;
	uint64_t ran_ns;    /* in RUNNING, all together */
	uint64_t used_ns;   /* … less the time in which it rested or lacked its bytes */
	uint64_t waited_ns; /* in WAITING and FILLING, all together */
	uint64_t expect_ns; /* device time that it will use, as a person says; 0: unknown */
	char reason[2 * SLU_CORE_REASON_MAX]; /* why it waits, in words */
};

struct slu_core_device_view {
	const char *name;
	uint64_t usable_bytes, estimate_bytes, outsider_bytes, overhead_bytes, charge_bytes;
	uint64_t n_refusals;
	uint64_t holder;		   /* the group in a turn there for longest, or 0 */
	bool has_turns;			   /* its programs take turns; else they share it */
	char sharing[SLU_CORE_REASON_MAX]; /* how they share it, in words; may be empty */
};

struct slu_core_budget_view {
	uint64_t usable_bytes, charge_bytes;
};

/* What the pinned budget could map of one program: it may own so much beyond a device (rule 43). */
uint64_t slu_core_view_beyond_bytes(const struct slu_core *core);

void slu_core_view_backing(const struct slu_core *core, struct slu_core_budget_view *ret_memory,
			   struct slu_core_budget_view *ret_disk);
void slu_core_view_device(const struct slu_core *core, unsigned device,
			  struct slu_core_device_view *ret_view);

/* What outsiders and contexts have of a device. Costs less than a view. */
uint64_t slu_core_view_elsewhere_bytes(const struct slu_core *core, unsigned device);

/* Return: false if there is none of that id. */
bool slu_core_view_client_of(const struct slu_core *core, uint64_t client,
			     struct slu_core_client_view *ret_view);
bool slu_core_view_group_of(const struct slu_core *core, uint64_t group,
			    struct slu_core_group_view *ret_view);

/* A group whose state changed since it was taken last. Return: false if there is none. */
bool slu_core_take_changed(struct slu_core *core, uint64_t *ret_group,
			   enum slu_core_state *ret_state);

/* Iterate: *cursor starts at 0, and nobody comes or goes meanwhile. Return: false at the end. */
bool slu_core_view_client(const struct slu_core *core, size_t *cursor,
			  struct slu_core_client_view *ret_view);
bool slu_core_view_group(const struct slu_core *core, size_t *cursor,
			 struct slu_core_group_view *ret_view);

/* An expected turn, or one that is under way. */
struct slu_core_turn_view {
	uint64_t group;
	const char *name; /* of its first member */
	enum slu_core_state state;
	bool is_next;	   /* its bytes come ahead */
	uint64_t start_ns; /* SLU_CORE_NEVER: not foreseeable */
	uint64_t length_ns;
	unsigned sure_percent; /* 0: not foreseeable, or it cannot fit now */
};

/*
 * The timeline of a device as the last step made it: groups that have a turn, then those that wait
 * in the order of their turns, then the others, the longest idle last. Iterates like the views.
 */
bool slu_core_timeline(struct slu_core *core, unsigned device, size_t *cursor,
		       struct slu_core_turn_view *ret_turn);

/*
 * Asserts invariants I1, I2, I5–I8 of docs/protocol.md on the core's own state. Each step ends with
 * it in builds with assertions; release builds never call it.
 */
void slu_core_check(const struct slu_core *core);
