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
 *             mutex, engines, slots (guarded by the mutex)
 *             the user's space (guarded by the mutex as well)
 * and, beyond its last byte, one lock byte a slot (SLOT_LOCK_OFFSET + slot).
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "board/board.h"

#define BOARD_MAGIC	 UINT64_C(0x3164726f42756c73) /* the bytes "sluBord1" */
#define BOARD_VERSION	 3
#define SLOT_LOCK_OFFSET (INT64_C(1) << 32)
#define SLOT_LATE_MAX	 16

/* Constant after creation. */
struct board_head {
	uint64_t magic;
	uint32_t version;
	uint32_t reserved;
	uint64_t file_bytes;
	struct slu_board_identity identity;
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

struct board_slot {
	uint32_t is_used; /* written last by attach, cleared last by the sweep */
	int32_t pid;
	char program[32];
	struct board_late late[SLOT_LATE_MAX];
};

struct board_file {
	struct board_head head;

	pthread_mutex_t mutex;	/* robust, shared, recursive: the user's lock is the same one */
	uint32_t wants_reclaim; /* somebody keeps things by slot: only a handle with a hook may
				   sweep */
	uint16_t holder;	/* who has the mutex: its slot + 1, or 0 */
	uint16_t dead_holder;	/* who died with it and is not swept yet, as @holder */
	struct slu_board_engine_view engines[_SLU_BOARD_ENGINE_MAX];
	uint64_t n_jobs; /* ever; the last of them are in the ring */
	struct slu_board_job jobs[SLU_BOARD_JOBS_MAX];
	struct board_account accounts[SLU_BOARD_SLOTS_MAX];
	struct board_slot slots[SLU_BOARD_SLOTS_MAX];

	uint8_t user[SLU_BOARD_USER_BYTES] __attribute__((aligned(4096)));
};

struct slu_board {
	LIST_ENTRY(slu_board) link; /* all boards of the process; guarded by boards_mutex, */
	bool is_listed;		    /* as this */

	struct board_file *file; /* constant after open */
	char *path;		 /* constant after open */
	uint64_t device, inode;	 /* of the file; constant after open */
	int64_t ahead_ns;	 /* our clock's, of the file's times; constant after open */

	/*
	 * The open file description that holds the slot's lock. The mapping is made through
	 * another one: a mapping keeps its description, and with it every lock, alive in a forked
	 * child. -1 in a forked child until it is needed. Guarded by the file's mutex, as @slot.
	 */
	int fd;
	int slot; /* -1: not attached */

	void (*reclaim)(struct slu_board *board, unsigned slot, void *data);
	void *reclaim_data;
};

/*
 * Takes and gives the file's mutex. Where its holder died, that one's slot is swept before the next
 * handle that may sweep gets the mutex.
 */
void slu_board_lock(struct slu_board *board);

/* As slu_board_lock(), but gives up after a moment. Return: whether the lock is held. */
bool slu_board_lock_soon(struct slu_board *board);
void slu_board_unlock(struct slu_board *board);

/* Gets @board->fd back after a fork. */
int slu_board_reopen_locked(struct slu_board *board);

/* Gives back what dead slots held. */
void slu_board_sweep_locked(struct slu_board *board);

/* Sweeps the slot of whoever died with the mutex, if this handle may. */
void slu_board_sweep_holder_locked(struct slu_board *board);

/* Whether the accounts can be true; false for a damaged file. */
bool slu_board_accounts_are_sane(const struct board_file *file);
