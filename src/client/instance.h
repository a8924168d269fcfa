/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The inside of libsluice-client.so: one instance a process, one lock. What the protocol says is
 * decided in peer/; here are the threads, the back ends and the program's waiting calls.
 *
 *   client.c      the instance, and carrying out what the peer decides
 *   device.c      devices come and go
 *   helper.c      the thread that talks to the daemon and watches the devices
 *   mover.c       the threads that move units, for each direction and device
 *   ring.c        the host memory that their pieces go through
 *   contents.c    which copies of a unit a move finds, and which it leaves
 *   shift.c       the thread that brings backing from memory to disk and back
 *   units.c       units come and go; access to their contents off turn
 *   wait.c        the slow path of the gate; commands of mode LAUNCH
 *   fork.c        a child starts anew
 *   serial.c      mapping calls of one process at a time
 *   torture.c     a daemon in the process that evicts everything between two calls
 *
 * Every event goes to the peer under the lock and is followed by slu_client_pump(), which carries
 * out the actions on the same thread: sends, opens and shuts gates, hands moves to the movers. So
 * a gate is shut before the call that made it necessary returns. What needs the back end, thus time
 * and no lock, is left to the helper (draining, progress) and the movers.
 */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/util.h"
#include "client/client.h"
#include "client/connection.h"
#include "client/pipe.h"
#include "peer/peer.h"

/*
 *   LOOSE     nobody to join, or nobody answered: gates are open, nothing moves
 *   JOINING   there is a socket and nobody has answered yet; the first calls wait a moment
 *   JOINED    welcomed
 *   LOST      the connection ended; by the setting, wait or run on
 */
enum slu_client_stage {
	SLU_CLIENT_LOOSE,
	SLU_CLIENT_JOINING,
	SLU_CLIENT_JOINED,
	SLU_CLIENT_LOST,
};

/*
 * A unit and what the client keeps beside it.
 *
 * A unit may be kept where it is in two ways: `n_pins` holds back moves that were already begun
 * (the mover waits for zero before it starts) and its end; `unit.n_named` keeps the peer from
 * choosing it.
 */
struct slu_client_unit {
	struct slu_unit unit; /* first: front ends hold its address. Guarded by the lock */
	struct slu_client_device *device;   /* as of its last move; guarded by the lock */
	STAILQ_ENTRY(slu_client_unit) link; /* in a mover's queue; guarded by the lock */

	/* All guarded by the lock. */
	unsigned n_pins; /* accesses and looks under way */
	bool is_made;	 /* its device memory was made by backend->create(), so we destroy it */
	bool is_dying;	 /* its end waits for the move: the mover keeps it from the next one */
	bool is_gone;	 /* the peer has forgotten it */
	bool has_sum;	 /* sum is the checksum of the host copy */
	uint64_t sum;
	struct slu_disk_extent
		extent; /* on disk: of a unit whose backing is on disk, or is about to be */
	void *mapped;	/* MAPPED: its bytes as the processor sees them */
};

static inline struct slu_client_unit *slu_client_unit_of(struct slu_unit *unit)
{
	return slu_container_of(unit, struct slu_client_unit, unit);
}

/* What of it is the program's: nothing of a unit that only keeps memory free for the driver. */
static inline uint64_t slu_client_unit_owned_bytes(const struct slu_unit *unit)
{
	return unit->device_only ? 0 : unit->bytes;
}

/* A move from the moment that a feeder has begun it. */
struct slu_mover_job {
	STAILQ_ENTRY(slu_mover_job) link; /* guarded by the lock, as is the rest but move */
	struct slu_client_unit *unit;
	struct slu_move move;
	bool is_fed; /* no piece will follow */
	int r;	     /* what it has come to */
};

struct slu_mover {
	struct slu_client_device *device; /* constant, as is direction */
	enum slu_direction direction;
	pthread_t threads[2]; /* the feeder, the reaper */
	pthread_cond_t wake;  /* something in a queue, space in the pipe, or an end */

	/* All guarded by the lock. */
	STAILQ_HEAD(, slu_client_unit) queue; /* that nobody has begun to move */
	unsigned n_queued;
	STAILQ_HEAD(, slu_mover_job) under_way; /* in the order of their pieces */
	STAILQ_HEAD(, slu_mover_job) spare;
	struct slu_mover_job jobs[SLU_PEER_MOVES_MAX];
	struct slu_pipe pipe;
	uint64_t staged_bytes; /* what the pinned account holds for the pipe */
	bool is_stopping;
};

struct slu_client_device {
	/* Constant after init. */
	unsigned index; /* place in HELLO, and number of its gate */
	enum slu_mode mode;
	const struct slu_backend *backend;
	void *data;
	uint64_t total_bytes;

	struct slu_mover movers[_SLU_DIRECTION_MAX];

	/* All guarded by the lock. */
	bool is_orphan;	 /* made by our parent before the fork: passes everything */
	bool is_closing; /* SHUT was asked for; the drain is not over */
	bool is_crowded; /* mode LAUNCH: as of the last command; read without the lock */
	bool is_blocked; /* the last drain left commands that wait for the host */
	bool is_dead;	/* the context is lost: everything passes, to meet the driver's own error */
	bool is_spoilt; /* contents were lost on the way: nothing passes any more */
	unsigned n_commands; /* mode LAUNCH: between begin and end */
	unsigned n_visits;   /* calls of the helper into the back end, under way */
	bool has_begun;	     /* thread_begin was called on the helper */
	uint64_t owned_bytes;
	uint64_t reserved_bytes;		  /* beside these: set aside for new ones */
	uint64_t paged_bytes;			  /* of the program's, by the driver */
	uint64_t n_submitted;			  /* mode LAUNCH: commands so far */
	uint64_t n_seen;			  /* entries and commands at the last look */
	uint64_t n_at_open;			  /* entries when the gate was opened */
	uint64_t look_ns;			  /* when to look at its progress next */
	unsigned n_idle_looks;			  /* in a row that found nothing running */
	uint64_t moved_in_bytes, moved_out_bytes; /* really copied, for FACTS */
	int move_error;				  /* errno of the last move if it failed, or 0 */
	uint64_t drain_pause_ns;		  /* between two looks at a drain */
	uint64_t drain_ns;			  /* when to look at it next */
};

struct slu_torture;

struct slu_client {
	struct slu_lock lock;
	bool is_started;	/* guarded by lock: conditions, log and peer are there */
	pthread_cond_t changed; /* whoever waits in a call asks again */
	int wake_fd;		/* an eventfd: the helper looks again */

	/* All guarded by lock. */
	struct slu_peer *peer;
	struct slu_connection connection;
	struct slu_torture *torture; /* NULL: none */
	enum slu_client_stage stage;
	bool is_alone;		/* slu_peer_alone_run() holds */
	uint64_t first_gate_ns; /* JOINING: when the first call began to wait; 0: none */
	uint64_t lost_ns;	/* LOST: since when */
	bool has_helper;
	pthread_t helper;
	uint64_t helper_ns;    /* when the helper looks by itself; 0: it is looking */
	unsigned n_waiting;    /* threads of the program in slu_client_wait() */
	uint64_t staged_bytes; /* pinned chunks of all movers, as the peer knows */
	struct slu_disk disk;  /* has a lock of its own */
	bool disk_is_bad;      /* it did not take what was written, and that was said */
	bool has_shifter;
	pthread_cond_t shift_wake;	  /* there is backing to shift */
	struct slu_client_unit *shifting; /* that the shifter shall take; NULL: none */
	struct slu_client_counts counts;

	/* By place in HELLO. A NULL device with place < n_places was removed; it may come back. */
	unsigned n_places;
	struct slu_client_device *devices[SLU_WIRE_DEVICES_MAX];
	struct slu_hello_device identities[SLU_WIRE_DEVICES_MAX];
	uint64_t present_bytes[SLU_WIRE_DEVICES_MAX]; /* as PRESENT told last; 0: it did not */
	enum slu_mode modes[SLU_WIRE_DEVICES_MAX];
};

extern struct slu_client slu_client_global;

/* Keeps errno over an exported function. */
static inline void slu_client_restore_errno(int *saved)
{
	errno = *saved;
}

#define SLU_CLIENT_KEEP_ERRNO()                                                                 \
	slu_cleanup(slu_client_restore_errno) __attribute__((__unused__)) int slu_saved_errno = \
		errno

/* client.c: all with the lock held ------------------------------------------------------------ */

/* First use: peer, connection, log; the helper if there is somebody to talk to. 0 or -errno. */
int slu_client_start(struct slu_client *client);

/* After every event: steps the peer and carries out its actions. */
void slu_client_pump(struct slu_client *client, uint64_t now_ns);

/* The helper looks again at once. */
void slu_client_poke(struct slu_client *client);

/* Waits until something changed, at most until @until_ns (SLU_PEER_NEVER). May wake for nothing. */
void slu_client_wait(struct slu_client *client, uint64_t until_ns);

void slu_client_run_alone(struct slu_client *client, uint64_t now_ns);

/* Drops the connection and tells the peer. */
void slu_client_lose(struct slu_client *client, uint64_t now_ns);

/* The message came in; also from the torturer. */
void slu_client_hear(struct slu_client *client, uint64_t now_ns, const struct slu_message *m);

/* Starts a thread with all signals blocked. 0 or -errno. */
int slu_client_thread(pthread_t *ret_thread, void *(*run)(void *), void *data, const char *name);

/* helper.c */
void *slu_helper_run(void *client);

/* mover.c: with the lock held, but for start and stop -------------------------------------------
 */
int slu_mover_start(struct slu_mover *mover, struct slu_client_device *device,
		    enum slu_direction direction);
void slu_mover_stop(struct slu_mover *mover);
void slu_mover_push(struct slu_mover *mover, struct slu_client_unit *unit);

/* ring.c: with the lock held, which is left meanwhile --------------------------------------------
 */

/* Whether copies of this back end go through pinned memory at all. */
bool slu_ring_is_wanted(const struct slu_backend *backend);

/* With nothing under way: what the daemon allows and wants now. */
void slu_ring_adjust(struct slu_client *client, struct slu_mover *mover);
void slu_ring_unstage(struct slu_client *client, struct slu_mover *mover);

/* Pageable memory for pieces between the device and the disk, where none is pinned. */
int slu_ring_make_bounce(struct slu_client *client, struct slu_mover *mover);

/* contents.c: with the lock held ------------------------------------------------------------------
 */
void slu_contents_prepare(struct slu_client *client, struct slu_client_unit *w,
			  struct slu_move *ret_move);
/* The copies were compared, and nothing is under way yet. */
void slu_contents_note_compared(struct slu_client *client, struct slu_client_unit *w,
				const struct slu_move *move);
/* What the move has come to: @r of slu_move_end(). */
void slu_contents_note_end(struct slu_client *client, struct slu_client_unit *w,
			   const struct slu_move *move, int r);
enum slu_move_result slu_contents_result(int r);
/* After the peer knows: what the tiers keep of the unit now. */
void slu_contents_apply(struct slu_client_unit *w, const struct slu_move *move, bool is_done);

/* shift.c: with the lock held ---------------------------------------------------------------------
 */

/* The peer wants the backing of @unit shifted. */
void slu_client_shift(struct slu_client *client, struct slu_client_unit *unit);

/* The disk did not take what was written to it: said once, and no unit goes there any more. */
void slu_client_disk_failed(struct slu_client *client, int error);

/* units.c: with the lock held -------------------------------------------------------------------
 */

/*
 * Takes the unit from the peer when its move has ended; with the lock held. What it still has is
 * left to the caller.
 */
void slu_client_unit_retire(struct slu_client *client, struct slu_client_unit *w);

/* The peer may have given the unit to another device: that one's it is from now on. */
void slu_client_unit_follow(struct slu_client *client, struct slu_client_unit *w);

/* @unit is not suspect any more: its host copy is right, or the device's is newer. */
void slu_client_unit_clear_suspect(struct slu_unit *unit, bool is_right);

/* Whether the peer wants its move or shift to stop. @unit: a struct slu_client_unit; without the
 * lock, for those who copy. */
bool slu_client_unit_is_cancelled(void *unit);

/* Marks what is on the device as newer than the host copies: a turn ran there. */
void slu_client_units_touched(struct slu_client *client, struct slu_client_device *device);

/* The calls of the program that need a decision wait here for the daemon's first answer. */
void slu_client_wait_joined(struct slu_client *client);

/* fork.c */
void slu_fork_watch(void);

/* torture.c: with the lock held ------------------------------------------------------------------
 */

/* SLUICE_TORTURE is set: a daemon of our own instead of the real one. Return: NULL without memory.
 */
struct slu_torture *slu_torture_new(bool on_disk);

/* The peer says @m to it. */
void slu_torture_say(struct slu_torture *torture, const struct slu_message *m);

/* A call went through: take the turn away behind it. */
void slu_torture_turn(struct slu_torture *torture, unsigned device);

/* Return: 1 with its next message, 0 when it has none. */
int slu_torture_take(struct slu_torture *torture, struct slu_message *ret_message);
