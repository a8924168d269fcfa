/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The inside of libsluice-client.so: one instance a process, one lock. The rules of the protocol
 * are in peer/. This folder has the threads, the back ends and the calls in which a program waits.
 *
 *   client.c      the instance; carries out the actions of the peer
 *   connection.c  the socket to the daemon
 *   boundary.c    where the program meets the device: the ends of its iterations
 *   hint.c        what the program tells by itself (sluice.h)
 *   device.c      adds and removes devices
 *   helper.c      the thread that talks to the daemon and watches the devices
 *   mover.c       the threads that move units, for each direction and device
 *   ring.c        the host memory that their pieces go through
 *   gauge.c       how many threads copy, by a measurement
 *   contents.c    the copies of a unit before and after a move
 *   shift.c       the thread that shifts backing between memory and disk
 *   pager.c       the thread that has the driver page managed memory
 *   unit.c        the release of units, their state, access to their contents off turn
 *   alloc.c       the allocation of units
 *   wait.c        how threads of the program wait
 *   enter.c       the slow path of the gate
 *   early.c       calls that pass before all units of the turn are present
 *   command.c     mode LAUNCH: commands that name their units
 *   fork.c        the child of a fork starts anew
 *   serial.c      lets one process at a time make mapping calls
 *   torture.c     a daemon in the process that evicts everything between two calls
 *
 * Below them, without threads or protocol: move.c, pipe.c, bulk.c, staging.c, tiers.c, disk.c,
 * checksum.c and gate.c; sizes.h has the sizes of their copies.
 *
 * Every event goes to the peer under the lock. slu_client_pump() follows and carries out the
 * actions on the same thread: it sends messages, opens and shuts gates, and queues moves. So a gate
 * is shut before the call that made it necessary returns. Calls of the back end take time and need
 * the lock released: the helper (drains, progress) and the movers make them.
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
#include "client/disk.h"
#include "client/mover.h"
#include "client/speed.h"
#include "client/unit.h"
#include "peer/peer.h"

/*
 *   LOOSE     no daemon, or none that answered: gates are open, nothing moves
 *   JOINING   there is a socket and no answer yet; the first calls wait a moment
 *   JOINED    welcomed
 *   LOST      the connection ended; the setting decides: wait or run on
 *
 * client.h has the picture.
 */
enum slu_client_stage {
	SLU_CLIENT_LOOSE,
	SLU_CLIENT_JOINING,
	SLU_CLIENT_JOINED,
	SLU_CLIENT_LOST,
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
	bool is_closing; /* the gate is shut, the drain has not ended */
	bool is_early;	 /* calls pass, and the gate is not open yet */
	bool is_crowded; /* mode LAUNCH: as of the last command; read without the lock */
	bool is_blocked; /* commands that wait for the host remain from the last drain */
	bool is_dead; /* the context is lost: everything passes and meets the driver's own error */
	bool is_spoilt;	     /* contents were lost: nothing passes any more */
	unsigned n_commands; /* mode LAUNCH: between begin and end */
	unsigned n_visits; /* calls of helper and pager into the back end that have not returned */
	bool page_is_due;  /* an order for the pager */
	bool page_is_in;   /* … brings memory in */
	uint64_t page_bytes; /* … up to so much */
	bool has_begun;	     /* thread_begin was called on the helper */
	uint64_t owned_bytes;
	uint64_t reserved_bytes;		  /* not yet owned: reserved for new units */
	uint64_t paged_bytes;			  /* of the program, paged by the driver */
	uint64_t n_submitted;			  /* mode LAUNCH: commands so far */
	uint64_t n_seen;			  /* entries and commands at the last look */
	uint64_t n_at_open;			  /* entries when the gate was opened */
	uint64_t n_vouched_at_open;		  /* of these, vouched for */
	uint64_t look_ns;			  /* when to look at its progress next */
	unsigned n_idle_looks;			  /* looks in a row that found the device idle */
	uint64_t moved_in_bytes, moved_out_bytes; /* really copied, for FACTS */
	int move_error;				  /* errno of the last move if it failed, or 0 */
	_Atomic uint64_t unused_bytes;		  /* of owned_bytes; no lock */
	uint64_t hinted_bytes;	    /* called dead since the last end of an iteration */
	struct slu_speed out_speed; /* of copies out, of whole units */
	uint64_t drain_pause_ns;    /* between two looks at a drain */
	uint64_t drain_ns;	    /* when to look at it next */
};

struct slu_torture;

/*
 * What no call wrote leaves without a copy. The first units that do are copied nevertheless, and
 * the checksums of their copies compared: a program that writes past its calls, in a way that
 * nobody thought of, is found out before its bytes depend on it.
 */
struct slu_client_audit {
	unsigned n_passed; /* units whose bytes were the same */
	bool has_failed;   /* others were not: nothing is believed any more */
};

#define SLU_CLIENT_AUDITS 16

struct slu_client {
	struct slu_lock lock;
	bool is_started;	/* guarded by lock: conditions, log and peer exist */
	pthread_cond_t changed; /* threads that wait in a call ask again */
	int wake_fd;		/* an eventfd: the helper looks again */

	/* All guarded by lock. */
	struct slu_peer *peer;
	struct slu_connection connection;
	struct slu_torture *torture; /* NULL: none */
	enum slu_client_stage stage;
	bool is_alone;		/* slu_peer_alone_run() is in effect */
	uint64_t first_gate_ns; /* JOINING: when the first call began to wait; 0: none */
	uint64_t lost_ns;	/* LOST: since when */
	bool has_helper;
	pthread_t helper;
	uint64_t helper_ns;    /* when the helper wakes by itself; 0: it is awake */
	unsigned n_waiting;    /* threads of the program in slu_client_wait() */
	uint64_t n_wakes;      /* how often the peer had them ask again */
	uint64_t staged_bytes; /* pinned chunks of all movers, as the peer knows */
	struct slu_disk disk;  /* has a lock of its own */
	bool disk_is_bad;      /* a write to it failed, and that was logged */
	bool has_shifter;
	pthread_cond_t shift_wake;	  /* a unit is to be shifted */
	struct slu_client_unit *shifting; /* for the shifter to take; NULL: none */
	bool has_pager;
	pthread_cond_t page_wake; /* an order of a device is due */
	bool gauge_has_begun;
	unsigned n_copy_threads; /* a direction, as measured; 0: not known yet */
	struct slu_client_counts counts;
	struct slu_client_audit audit;

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

/* First use: peer, connection and log; the helper if there is a daemon. 0 or -errno. */
int slu_client_start(struct slu_client *client);

/* After every event: steps the peer and carries out its actions. */
void slu_client_pump(struct slu_client *client, uint64_t now_ns);

/* Wakes the helper. */
void slu_client_poke(struct slu_client *client);

void slu_client_run_alone(struct slu_client *client, uint64_t now_ns);

/* Drops the connection and reports that to the peer. */
void slu_client_lose(struct slu_client *client, uint64_t now_ns);

/* A message came in from the daemon or the torturer. */
void slu_client_hear(struct slu_client *client, uint64_t now_ns, const struct slu_message *m);

/* Starts a thread with all signals blocked. 0 or -errno. */
int slu_client_thread(pthread_t *ret_thread, void *(*run)(void *), void *data, const char *name);

/* helper.c */
void *slu_helper_run(void *client);

/* fork.c */
void slu_fork_watch(void);
