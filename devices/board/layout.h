/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What lies in a board's file, and a process's handle on it. Seen by the files of this folder only.
 *
 * All that counts lies in the slots: there are no sums that could disagree with their parts. A sum
 * is taken over one array of 256 lines when it is needed. So a process that dies anywhere, also
 * with the lock in its hand, leaves nothing to repair but its own slot, and that is swept as a
 * whole.
 *
 * Times in the file are the machine's (clock.h).
 *
 * The file:   head (constant after creation, guarded by its checksum)
 *             engines, slots (guarded by the lock)
 *             the user's space (guarded by the lock as well)
 * and, beyond its last byte, bytes that are only ever locked: one a slot (SLOT_LOCK_OFFSET + slot)
 * and one a handle's key (KEY_LOCK_OFFSET + key, see lock.c).
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "board/board.h"

#define BOARD_MAGIC	 UINT64_C(0x3164726f42756c73) /* the bytes "sluBord1" */
#define BOARD_VERSION	 4
#define SLOT_LOCK_OFFSET (INT64_C(1) << 32)
#define KEY_LOCK_OFFSET	 (SLOT_LOCK_OFFSET + DEV_BOARD_SLOTS_MAX)
#define BOARD_KEYS_MAX	 4096
#define SLOT_LATE_MAX	 16

/* Constant after creation. */
struct board_head {
	uint64_t magic;
	uint32_t version;
	uint32_t reserved;
	uint64_t file_bytes;
	struct dev_board_identity identity;
	uint64_t checksum; /* of everything above */
};

/* Bytes that were given back but may not be used before a time. */
struct board_late {
	uint64_t visible_ns;
	uint64_t bytes; /* 0: this line is free */
};

struct board_account {
	uint64_t bytes;
	uint64_t hidden_bytes;
};

/* Who a process is, in words that processes of other pid namespaces understand: see badge.c. */
struct board_badge {
	int32_t pid; /* as the process sees itself */
	uint32_t reserved;
	uint64_t namespace;	/* that this is a pid of; 0: unknown */
	uint64_t device, inode; /* of the file on which the process holds a flock */
};

struct board_slot {
	uint32_t is_used; /* written last by attach, cleared last by the sweep */
	uint32_t who;	  /* a number that no other attachment to this board has or had */
	struct board_badge badge;
	char program[32];
	struct board_late late[SLOT_LATE_MAX];
};

struct board_file {
	struct board_head head;

	uint64_t lock;		/* the word of lock.c */
	uint32_t wants_reclaim; /* somebody keeps things by slot: only a handle with a hook may
				   sweep */
	uint32_t last_who;	/* given to a slot */
	uint16_t holder;	/* who has the lock: its slot + 1; 0: nobody, or one without slot */
	uint16_t dead_holder;	/* who died with it and is not swept yet, as @holder */
	struct dev_board_engine_view engines[_DEV_BOARD_ENGINE_MAX];
	uint64_t n_jobs; /* ever; the last of them are in the ring */
	struct dev_board_job jobs[DEV_BOARD_JOBS_MAX];
	struct board_account accounts[DEV_BOARD_SLOTS_MAX];
	struct board_slot slots[DEV_BOARD_SLOTS_MAX];

	uint8_t user[DEV_BOARD_USER_BYTES] __attribute__((aligned(4096)));
};

struct dev_board {
	LIST_ENTRY(dev_board) link; /* all boards of the process; guarded by boards_mutex, */
	bool is_listed;		    /* as this */

	struct board_file *file; /* constant after open */
	char *path;		 /* constant after open */
	uint64_t device, inode;	 /* of the file; constant after open */
	int64_t ahead_ns;	 /* our clock's, of the file's times; constant after open */

	pthread_mutex_t mutex; /* the process's half of the lock: robust, recursive */
	unsigned depth;	       /* how often this handle has the lock; guarded by the mutex */
	unsigned key;	       /* of @fd; 0 without one; guarded by the mutex */

	/*
	 * The open file description that holds the locks. The mapping is made through another
	 * one: a mapping keeps its description, and with it every lock, alive in a forked child.
	 * -1 in a forked child until it is needed. Guarded by the mutex, as all below.
	 */
	int fd;
	int badge_fd;	    /* -1: not attached, or no badge could be had */
	uint64_t namespace; /* of this process's pid; 0: unknown */
	int slot;	    /* -1: not attached */

	void (*reclaim)(struct dev_board *board, unsigned slot, void *data);
	void *reclaim_data;
};

/* For a new handle, and for an old one in a forked child. Return: 0, or -errno. */
int dev_board_lock_init(struct dev_board *board);
void dev_board_lock_deinit(struct dev_board *board);

/*
 * Takes and gives the board's lock, any number of times. Where its holder died, that one's slot is
 * swept before the next handle that may sweep gets it.
 */
void dev_board_lock(struct dev_board *board);

/* As dev_board_lock(), but gives up in time. Return: whether the lock is held. */
bool dev_board_lock_within(struct dev_board *board, uint64_t patience_ns);
void dev_board_unlock(struct dev_board *board);

/* Gets a key through @fd, which keeps it while it is open. Return: 0, or -errno. */
int dev_board_lock_key(int fd, struct dev_board *board);

/*
 * Puts a badge on @slot. Return: the descriptor that keeps it there, or -1: then only processes of
 * the same namespace know whose the slot is.
 */
int dev_board_badge_take(uint64_t namespace, struct board_badge *ret_badge);

/* The namespace that this process's pid is of, as /proc tells; 0 where that is of another one. */
uint64_t dev_board_badge_namespace(void);

/*
 * The pids of @n processes as /proc names them to us, in the order of @badges; 0 for one that
 * cannot be seen from here. @namespace is our own.
 */
void dev_board_badge_pids(const struct board_badge *const *badges, size_t n, uint64_t namespace,
			  pid_t *ret_pids);

/* Gets @board->fd back after a fork. */
int dev_board_reopen_locked(struct dev_board *board);

/* Gives back what dead slots held. */
void dev_board_sweep_locked(struct dev_board *board);

/* Sweeps the slot of whoever died with the mutex, if this handle may. */
void dev_board_sweep_holder_locked(struct dev_board *board);

/* Whether the accounts can be true; false for a damaged file. */
bool dev_board_accounts_are_sane(const struct board_file *file);
