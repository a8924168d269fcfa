/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A world in virtual time: the real core, real peers, and models of everything between and around
 * them: a daemon that keeps a roster and may die between any two of its actions, connections, a
 * board with hidden overhead and frees that come late, programs that allocate, launch and free by
 * a script, movers that take their time, are refused and fail, and outsiders.
 *
 * One step is one of: the daemon handles one message or deadline; one client handles one message,
 * does one thing of its program, moves one chunk, or ends a piece of a kernel; a fault. Which one
 * is drawn from the seed, so every interleaving can occur and each can be repeated. After each
 * step the invariants I1–I12 of docs/protocol.md are checked (invariant.c).
 *
 * The knobs of enum slu_sim_mutation break a rule in the world, not in the product: each must be
 * caught by the invariants or by a world that does not end, else the harness is blind.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "peer/peer.h"
#include "wire/message.h"

#define SLU_SIM_STEP_NS	     UINT64_C(1000000)	 /* one step of the world */
#define SLU_SIM_IDLE_STEPS   30			 /* without device progress: IDLE */
#define SLU_SIM_UNIT	     (UINT64_C(1) << 20) /* sizes in a world are multiples of this */
#define SLU_SIM_CLIENTS_MAX  6
#define SLU_SIM_DEVICES_MAX  2
#define SLU_SIM_ACCOUNTS_MAX (SLU_SIM_DEVICES_MAX + 3)
#define SLU_SIM_OPS_MAX	     192
#define SLU_SIM_KERNELS_MAX  2
#define SLU_SIM_MOVES_MAX    (2 * SLU_SIM_DEVICES_MAX * SLU_PEER_MOVES_MAX)
#define SLU_SIM_UNITS_MAX    128 /* of one client on one device */
#define SLU_SIM_QUEUE_MAX    512
#define SLU_SIM_FAULT_MAX    8192

/* In steps: a turn, the deadlines of its ends, and what a client is stopped for at most. */
#define SLU_SIM_SLICE	  250
#define SLU_SIM_AGE	  1000
#define SLU_SIM_CLOSE_MAX 500
#define SLU_SIM_FILL_MAX  900
#define SLU_SIM_STOP_MAX  3000

enum slu_sim_mutation {
	SLU_SIM_FAITHFUL,
	SLU_SIM_DROP_REST,     /* REST is lost on the way */
	SLU_SIM_DROP_WANT,     /* after a rejoin no client repeats its need */
	SLU_SIM_KEEP_CREDIT,   /* a client keeps its old limits over a new connection */
	SLU_SIM_IGNORE_ROSTER, /* a new daemon starts from nothing */
	SLU_SIM_ANY_REPORT,    /* every report looks like the answer to the last LIMIT */
	SLU_SIM_IGNORE_GATE,   /* threads launch without asking the gate */
	SLU_SIM_EARLY_DRAIN,   /* the drain does not wait for the device */
	SLU_SIM_FORGET_DEATH,  /* the daemon does not learn that a client died */
	SLU_SIM_FORGET_UNIT,   /* an early launch does not name one of its units */
	_SLU_SIM_MUTATION_MAX,
};

const char *slu_sim_world_mutation_name(enum slu_sim_mutation mutation);

/* Probabilities are per million steps, and hold until fault_steps. */
struct slu_sim_faults {
	uint64_t until_step;
	unsigned kill, stop, cut, outsider;
	unsigned part;	      /* a client gets a group of its own, fit or not, in whatever state */
	unsigned restart;     /* and once more before each action of the daemon */
	unsigned move_fails;  /* per million chunks */
	unsigned alloc_fails; /* per million allocations on the device */
	unsigned disk_full;   /* per million extents, and host copies to pin, that are asked for */
	unsigned budget;      /* the pinned budget becomes another, at most what it was at first */
};

struct slu_sim_config {
	uint64_t seed;
	unsigned n_devices;
	uint64_t total_bytes[SLU_SIM_DEVICES_MAX];  /* what the driver says */
	uint64_t hidden_bytes[SLU_SIM_DEVICES_MAX]; /* of it, bytes that no client can have */
	unsigned reserve_parts; /* one in so many is not handed out; 0: all is */
	bool sees_outsiders;	/* the daemon looks for them now and then */
	unsigned late_steps;	/* a free is seen up to so much later */
	uint64_t pinned_bytes, backing_bytes;
	uint64_t disk_bytes;	 /* 0: there is none */
	uint64_t staging_bytes;	 /* of pinned, for each client's mover */
	unsigned slice_steps;	 /* 0: SLU_SIM_SLICE */
	unsigned socket_packets; /* so many reach the daemon's socket unread; 0: all do */
	const char *policy;
	struct slu_sim_faults faults;
	enum slu_sim_mutation mutation;
	uint64_t steps_max; /* a world that is not done by then is stuck */
	uint64_t wait_max;  /* steps that a launch waits at most, faults apart; 0: no bound */
};

enum slu_sim_op_kind {
	SLU_SIM_ALLOC,
	SLU_SIM_FREE,
	SLU_SIM_LAUNCH, /* @amount: pieces of work */
	SLU_SIM_PAUSE,	/* @amount: steps of its own */
	SLU_SIM_PAGE,	/* from now on the driver pages @amount there */
	SLU_SIM_SYNC,
	SLU_SIM_FREEZE,	  /* from now on, what is present there cannot move */
	SLU_SIM_THAW,	  /* … and can again */
	SLU_SIM_HEADROOM, /* a call for which @amount must be free, inside the gate */
	SLU_SIM_AWAIT, /* a launch that waits on the device until @client has launched @amount times
			*/
};

struct slu_sim_op {
	enum slu_sim_op_kind kind;
	unsigned device; /* place in the client's list */
	uint64_t amount;
	unsigned client;
};

struct slu_sim_kernel {
	unsigned remaining;
	bool waits; /* for another client's launches */
	unsigned client;
	uint64_t n_launches;
	size_t n_units;
	struct slu_unit *units[SLU_SIM_UNITS_MAX];
};

struct slu_sim_move {
	struct slu_unit *unit;
	unsigned remaining;
	bool is_begun; /* the driver gave the memory, or the commands have ended */
	bool is_ahead; /* it began while the client had no turn */
};

/* A message under way, or the end of a connection. */
struct slu_sim_packet {
	bool is_end;
	struct slu_message message;
};

struct slu_sim_queue {
	struct slu_sim_packet *packets; /* SLU_SIM_QUEUE_MAX of them */
	unsigned first, n;
};

struct slu_sim_client {
	struct slu_sim_world *world;
	unsigned index;
	uint64_t group;
	unsigned n_devices;
	unsigned devices[SLU_SIM_DEVICES_MAX]; /* place in HELLO -> the world's number */
	enum slu_mode modes[SLU_SIM_DEVICES_MAX];
	bool runs_without_daemon;
	struct slu_peer *peer;

	bool is_alive, is_connected, death_is_reported;
	bool maps_if_larger; /* its MAPPED devices (rule 43) */
	bool was_alone;	     /* took device bytes without a daemon since its last HELLO */
	unsigned connection; /* counts up */
	uint64_t stopped_until_step, lost_step;
	struct slu_sim_queue inbox;

	struct slu_sim_op ops[SLU_SIM_OPS_MAX];
	unsigned n_ops, next_op;
	uint64_t pause;
	struct slu_unit *alloc;	   /* an allocation that waits */
	struct slu_unit *headroom; /* keeps memory free for a call that waits */
	struct slu_unit *command[SLU_SIM_UNITS_MAX];
	size_t n_command; /* mode LAUNCH: what the waiting launch names; 0: not chosen yet */
	unsigned working_percent; /* of its units, the ones that its commands choose from */
	unsigned command_percent; /* of these, what one command names */
	unsigned early; /* modes ALL and MAPPED: of a million launches, those that name their units
			   and may pass before all are present */

	bool gate[SLU_SIM_DEVICES_MAX];	    /* the word that threads test */
	bool shutting[SLU_SIM_DEVICES_MAX]; /* the helper is about to shut it */
	bool blocked[SLU_SIM_DEVICES_MAX];  /* rested with commands behind an event */
	struct slu_sim_kernel kernels[SLU_SIM_DEVICES_MAX][SLU_SIM_KERNELS_MAX];
	unsigned n_kernels[SLU_SIM_DEVICES_MAX];
	struct slu_sim_move moves[SLU_SIM_MOVES_MAX];
	struct slu_sim_move shift;	      /* of backing; unit NULL: none */
	unsigned paging[SLU_SIM_DEVICES_MAX]; /* chunks of an order to page; 0: none */
	unsigned n_moves;
	unsigned slowness; /* its moves take so many times as many steps */
	uint64_t staged_bytes;
	uint64_t ahead_bytes[SLU_SIM_DEVICES_MAX]; /* came ahead since the last turn there */
	uint64_t moved_in_bytes, moved_out_bytes, mapped_bytes;
	uint64_t exchanged_bytes;   /* in use, and left although the limit did not ask for it */
	uint64_t last_mapped_bytes; /* at its last launch */

	uint64_t n_launches, n_denied;
	uint64_t ended_step;
	uint64_t wait_from_step, longest_wait_steps; /* of a launch; from 0: does not wait */
};

/* The daemon's view of one client's connection, and the wire as seen from outside. */
struct slu_sim_session {
	bool is_joined;
	unsigned connection;
	struct slu_sim_queue inbox; /* from the client */
	uint64_t group;		    /* the client's, until the core parts it; the roster keeps it */
	bool on_roster;
	struct slu_core_orphan line;
	uint64_t seq_sent[SLU_SIM_ACCOUNTS_MAX], seq_answered[SLU_SIM_ACCOUNTS_MAX];
	uint64_t limit_sent[SLU_SIM_ACCOUNTS_MAX];
	struct slu_epoch turn[SLU_SIM_DEVICES_MAX]; /* TURN sent or adopted, not yet at REST */
	bool is_closing[SLU_SIM_DEVICES_MAX];	    /* CLOSE was sent for it */
};

struct slu_sim_free {
	uint64_t step;
	unsigned device;
	uint64_t bytes;
};

struct slu_sim_board {
	uint64_t capacity_bytes[SLU_SIM_DEVICES_MAX];
	uint64_t used_bytes[SLU_SIM_DEVICES_MAX];
	uint64_t outsider_bytes[SLU_SIM_DEVICES_MAX];
	unsigned late_steps;
	struct slu_sim_free *frees; /* not seen yet */
	size_t n_frees, n_allocated;
};

struct slu_sim_counts {
	uint64_t n_steps, n_messages, n_launches, n_denied, n_refused, n_unmade, n_switches;
	uint64_t n_early; /* launches before all units were present */
	uint64_t n_kills, n_stops, n_restarts, n_cuts, n_outsiders;
	uint64_t n_parts, n_asked_parts; /* all of them, and of these the ones drawn at random */
	uint64_t n_unions;
	uint64_t n_budgets, n_unstaged, n_failed_allocs;
	uint64_t n_shifts[2]; /* of backing: down, up */
	uint64_t n_pinned;    /* host copies that became pinned */
	uint64_t n_headroom;  /* calls that found memory free */
	uint64_t longest_wait_steps;
	uint64_t longest_calm_wait_steps; /* the same without what was waited before the last fault
					   */
	uint64_t moved_out_bytes;
	uint64_t ahead_bytes, wrong_bytes; /* came ahead; of them, for a group that was not next */
};

struct slu_sim_world {
	struct slu_sim_config config;
	uint64_t random;
	uint64_t step;
	struct slu_core *core; /* NULL while the daemon is down */
	uint64_t generation;
	uint64_t up_at_step;
	uint64_t look_at_step; /* for outsiders, if the daemon sees them */
	struct slu_sim_session sessions[SLU_SIM_CLIENTS_MAX];
	struct slu_sim_client clients[SLU_SIM_CLIENTS_MAX];
	unsigned n_clients;
	struct slu_sim_board board;
	struct slu_sim_counts counts;
	uint64_t pinned_bytes;	    /* the budget as it is now */
	uint64_t pinned_most_bytes; /* that, or what was given out when it fell, while it is */
	uint64_t charge_bytes[SLU_SIM_ACCOUNTS_MAX]; /* sums before the daemon's step, for I2 */
	struct slu_epoch last_turn[SLU_SIM_DEVICES_MAX];
	uint64_t n_turns[SLU_SIM_DEVICES_MAX];
	uint64_t wrong_bytes[SLU_SIM_DEVICES_MAX]; /* came ahead for nothing (guess.c) */
	bool alone_joined; /* in this step of the daemon: device charges may rise above all (rule
			      32) */

	/* A test may look at each action of the daemon before it is carried out; true: die now. */
	bool (*dies_before)(struct slu_sim_world *world, const struct slu_core_action *action);
	void *test_data;

	char fault[SLU_SIM_FAULT_MAX]; /* what is broken, in words; empty: nothing */
};

enum {
	_SLU_SIM_E_SUCCESS,
	SLU_SIM_E_BROKEN, /* an invariant does not hold, or no end: world->fault says which */
};

/* -- world.c --------------------------------------------------------------------------------- */

int slu_sim_world_new(const struct slu_sim_config *config, struct slu_sim_world **ret_world);
void slu_sim_world_free(struct slu_sim_world *world);

/* Steps until every program has ended. Return: 0, or SLU_SIM_E_BROKEN. */
int slu_sim_world_run(struct slu_sim_world *world);

/* One step. Return: 0, or SLU_SIM_E_BROKEN. */
int slu_sim_world_step(struct slu_sim_world *world);

uint64_t slu_sim_world_now_ns(const struct slu_sim_world *world);
void slu_sim_world_break(struct slu_sim_world *world, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/* -- scenario.c ------------------------------------------------------------------------------ */

/* A world drawn from @seed: 2–6 clients, 1–2 devices, groups, modes, sizes, faults. */
int slu_sim_scenario(uint64_t seed, bool tight, enum slu_sim_mutation mutation,
		     struct slu_sim_world **ret_world);

/* -- client.c -------------------------------------------------------------------------------- */

/* Return: the client's number, or -errno. */
int slu_sim_client_add(struct slu_sim_world *world, uint64_t group, unsigned n_devices,
		       const unsigned *devices, const enum slu_mode *modes);
void slu_sim_client_do(struct slu_sim_world *world, unsigned client, enum slu_sim_op_kind kind,
		       unsigned device, uint64_t amount);
void slu_sim_client_free(struct slu_sim_client *client);
void slu_sim_client_step(struct slu_sim_client *client);
void slu_sim_client_kill(struct slu_sim_client *client);
void slu_sim_client_end_connection(struct slu_sim_client *client);
bool slu_sim_client_hears(struct slu_sim_client *client, const struct slu_message *m);

/* -- program.c ------------------------------------------------------------------------------- */

void slu_sim_program_step(struct slu_sim_client *client);
void slu_sim_program_work(struct slu_sim_client *client, unsigned device);
bool slu_sim_program_is_blocked(const struct slu_sim_client *client, unsigned device);

/* -- mover.c --------------------------------------------------------------------------------- */

void slu_sim_mover_take(struct slu_sim_client *client, struct slu_unit *unit);
void slu_sim_mover_shift(struct slu_sim_client *client, struct slu_unit *unit);
void slu_sim_mover_page(struct slu_sim_client *client, unsigned device);
void slu_sim_mover_step(struct slu_sim_client *client);

/* -- daemon.c -------------------------------------------------------------------------------- */

int slu_sim_daemon_start(struct slu_sim_world *world);
void slu_sim_daemon_die(struct slu_sim_world *world);
void slu_sim_daemon_step(struct slu_sim_world *world);
void slu_sim_daemon_hears(struct slu_sim_world *world, unsigned client,
			  const struct slu_message *m);
void slu_sim_daemon_cut(struct slu_sim_world *world, unsigned client);
void slu_sim_daemon_part(struct slu_sim_world *world, unsigned client);
void slu_sim_daemon_budget(struct slu_sim_world *world, uint64_t pinned_bytes);

/* -- board.c --------------------------------------------------------------------------------- */

bool slu_sim_board_create(struct slu_sim_board *board, unsigned device, uint64_t bytes);
void slu_sim_board_free(struct slu_sim_world *world, unsigned device, uint64_t bytes);
void slu_sim_board_tick(struct slu_sim_board *board, uint64_t step);
void slu_sim_board_outsider(struct slu_sim_world *world);

/* -- queue.c --------------------------------------------------------------------------------- */

int slu_sim_queue_init(struct slu_sim_queue *queue);
void slu_sim_queue_deinit(struct slu_sim_queue *queue);
/* @m NULL: the end of the connection. Return: false when it is full. */
bool slu_sim_queue_put(struct slu_sim_queue *queue, const struct slu_message *m);
/* The first @n_sent are in the socket, the others in their channel: what @m says better goes. */
bool slu_sim_queue_put_newest(struct slu_sim_queue *queue, const struct slu_message *m,
			      unsigned n_sent);
bool slu_sim_queue_take(struct slu_sim_queue *queue, struct slu_sim_packet *ret_packet);
void slu_sim_queue_clear(struct slu_sim_queue *queue);

/* -- guess.c --------------------------------------------------------------------------------- */

/* Whether the unit begins to come in ahead of a turn. */
bool slu_sim_guess_is_ahead(const struct slu_sim_client *client, const struct slu_unit *unit);
void slu_sim_guess_arrived(struct slu_sim_client *client, const struct slu_unit *unit);
/* A TURN is sent: I12. */
void slu_sim_guess_turn(struct slu_sim_world *world, unsigned client,
			const struct slu_msg_turn *turn);

/* -- dump.c ---------------------------------------------------------------------------------- */

/* The state of everything in words, behind what is in world->fault already. */
void slu_sim_dump(struct slu_sim_world *world);

/* -- invariant.c ----------------------------------------------------------------------------- */

/* Accounts by number: the devices, then pinned, backing and disk. */
unsigned slu_sim_invariant_account_number(struct slu_account account);

/* The core's @group. Return: whether there is one. */
bool slu_sim_invariant_find_group(const struct slu_sim_world *world, uint64_t group,
				  struct slu_core_group_view *ret_view);

/* After a client's step: I3, I4, and I1 for this client. */
void slu_sim_invariant_client(struct slu_sim_world *world, struct slu_sim_client *client);

/* Before and after a step of the daemon: I1, I2, I6, I8. */
void slu_sim_invariant_before_daemon(struct slu_sim_world *world);
void slu_sim_invariant_daemon(struct slu_sim_world *world);

/* Everybody has gone: I9. */
void slu_sim_invariant_end(struct slu_sim_world *world);

/* I11: a move out begins only while something is still short. */
void slu_sim_invariant_move(struct slu_sim_client *client, const struct slu_unit *unit);

/* -- traffic.c ------------------------------------------------------------------------------- */

/* I5 on the wire: with each message as the daemon sends it, or takes it up. */
void slu_sim_traffic_sent(struct slu_sim_world *world, unsigned client,
			  const struct slu_message *m);
void slu_sim_traffic_heard(struct slu_sim_world *world, unsigned client,
			   const struct slu_message *m);

/* I7: hands the message to the core; a REST or READY of another epoch must change nothing. */
void slu_sim_traffic_message(struct slu_sim_world *world, unsigned client,
			     const struct slu_message *m);
