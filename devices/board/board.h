/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The board of a stand-in device: what all processes that use it must agree on, in one mapped
 * file. Capacity and who holds how much of it; the engines' timelines; the identity. The software
 * GPU and the limiter are built on it, and the daemon looks at it as it would ask NVML.
 *
 * A process takes a *slot*. A slot belongs to an open file description (an OFD lock on one byte of
 * the file), not to a pid: it is free again the instant its process is gone, however it went, and
 * what it held is given back by whoever looks next. A forked child closes its copy and must attach
 * by itself.
 *
 * Accounts are kept under one lock, which is a lock on the file as well; every change is a single
 * store that makes the books true, so a holder that dies in the middle leaves books that can be
 * checked again. Nothing depends on a pid: processes of several pid namespaces may have the same.
 *
 * Times are those of the caller's CLOCK_MONOTONIC, also in a time namespace of its own.
 *
 * Two kinds of bytes: `bytes` are what anybody may see of a process; `hidden_bytes` (context
 * overhead, rounding, frees that come late) count against capacity, but are told of no process.
 * What contexts and rounding take is told of all together, as NVML has it in what is used of a
 * card.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DEV_BOARD_SLOTS_MAX 256

enum dev_board_engine {
	DEV_BOARD_ENGINE_IN,  /* host to device */
	DEV_BOARD_ENGINE_OUT, /* device to host */
	DEV_BOARD_ENGINE_COMPUTE,
	_DEV_BOARD_ENGINE_MAX,
};

enum {
	_DEV_BOARD_E_SUCCESS,
	DEV_BOARD_E_FULL,    /* not so many bytes are free */
	DEV_BOARD_E_NO_SLOT, /* DEV_BOARD_SLOTS_MAX processes are there already */
	DEV_BOARD_E_ABSENT,  /* no such board */
	DEV_BOARD_E_BUSY,    /* somebody keeps the board locked; look again later */
};

struct dev_board_identity {
	uint8_t uuid[16];
	char name[48];
	uint64_t capacity_bytes;
	uint64_t granule_bytes;
};

struct dev_board;

/*
 * Opens the board file @path; creates it (mode 0600) with @identity where it is absent and
 * @identity is not NULL. An existing board keeps its own identity. Any number of processes may do
 * this at once: all get the same board.
 *
 * Return: 0; DEV_BOARD_E_ABSENT; -EBADMSG where the file is no board or is damaged,
 * -EPROTONOSUPPORT where it is a board of another version, -EBUSY where somebody has kept its lock
 * for ten seconds, -EFBIG where this process may not make so large a file, -EXDEV where this
 * process's clock cannot be compared with that of others. With
 * @identity, one of another version that nobody has is replaced; else what is refused is not
 * touched.
 */
int dev_board_open(const char *path, const struct dev_board_identity *identity,
		   struct dev_board **ret_board);

/*
 * Opens the board file @path to look at it, if it is the board of @uuid. Waits for nobody: the
 * accounts of a board that is locked now are not checked.
 *
 * Return: 0; DEV_BOARD_E_ABSENT where there is no such file, or it is another board; -errno.
 */
int dev_board_open_to_look(const char *path, const uint8_t uuid[16], struct dev_board **ret_board);
void dev_board_close(struct dev_board *board);

const struct dev_board_identity *dev_board_identity(const struct dev_board *board);

/* For the arbiter's flock. -1 in a forked child, whose copy was closed. */
int dev_board_fd(const struct dev_board *board);

/*
 * Space for the user of the board in the same file, shared by all; the first opener sees it zeroed.
 * The lock is the board's own: it may be taken again by its holder, and every function of the board
 * may be called with it held. Where a holder dies, its slot is swept before the next one gets it.
 */
#define DEV_BOARD_USER_BYTES 262144
void *dev_board_user(struct dev_board *board);
void dev_board_user_lock(struct dev_board *board);
void dev_board_user_unlock(struct dev_board *board);

/* -- slots and bytes ------------------------------------------------------------------------ */

/* Return: 0; DEV_BOARD_E_NO_SLOT; -EALREADY where this handle has a slot. */
int dev_board_attach(struct dev_board *board, const char *program);

/* Gives back everything that the slot holds, late frees too. */
void dev_board_detach(struct dev_board *board);
int dev_board_slot(const struct dev_board *board); /* -1 when not attached */

/* A number that no other attachment to this board has or had; 0 when not attached. */
uint32_t dev_board_who(const struct dev_board *board);

/* Whether the process of @slot is alive (its lock is held). */
bool dev_board_slot_is_alive(struct dev_board *board, unsigned slot);

/* The process of @slot as this process's /proc names it; 0 where it cannot be seen from here. */
pid_t dev_board_slot_pid(struct dev_board *board, unsigned slot);

/*
 * A board whose user keeps things by slot (the software GPU's granules) names a function that
 * gives back what a dead slot held; called with the board's lock held, also for the own slot at
 * detach, and again where a sweep was cut short. From then on this board's dead slots are swept
 * by handles with such a function only; others do not count them, and leave them.
 */
void dev_board_on_death(struct dev_board *board,
			void (*reclaim)(struct dev_board *board, unsigned slot, void *data),
			void *data);

/*
 * Takes bytes for this process's slot. Dead slots are swept first if it does not fit.
 * Return: 0; DEV_BOARD_E_FULL; -ENOTCONN without a slot.
 */
int dev_board_take(struct dev_board *board, uint64_t bytes, uint64_t hidden_bytes);

/*
 * Gives them back. Until @visible_ns (0: at once) they still count against capacity, hidden, unless
 * the process goes before. Without a slot (a forked child) nothing happens.
 */
void dev_board_give(struct dev_board *board, uint64_t bytes, uint64_t hidden_bytes,
		    uint64_t visible_ns);

/*
 * Bytes that slot @from holds are from now on held by slot @to; both are used. Called with the
 * user's lock held, by a user whose own tables say so already.
 */
void dev_board_shift(struct dev_board *board, unsigned from, unsigned to, uint64_t bytes);

struct dev_board_slot_view {
	pid_t pid;    /* in the looker's pid namespace; 0 where it cannot be seen from there */
	uint32_t who; /* as in the process's jobs */
	char program[32];
	uint64_t bytes;
};

struct dev_board_view {
	uint64_t capacity_bytes;
	uint64_t used_bytes;	 /* by what the slots below hold */
	uint64_t overhead_bytes; /* beside it by contexts and rounding, of all slots */
	unsigned n_slots;
	struct dev_board_slot_view slots[DEV_BOARD_SLOTS_MAX];
};

/*
 * What an NVML would tell: visible bytes by process. Sweeps dead slots. Works without a slot.
 * Gives up after a moment (DEV_BOARD_E_BUSY): whoever was stopped with the lock in its hand must
 * not stop those who only look.
 */
int dev_board_look(struct dev_board *board, struct dev_board_view *ret_view);

/* The same with a patience of the caller's; with 0 it waits for no living holder. */
int dev_board_look_within(struct dev_board *board, uint64_t patience_ns,
			  struct dev_board_view *ret_view);

/* Everything that counts, hidden bytes too. For tests and the device's own arithmetic. */
uint64_t dev_board_true_used(struct dev_board *board);

/* -- engines -------------------------------------------------------------------------------- */

/*
 * Books @duration_ns of work on an engine that begins not before @earliest_ns and not before what
 * is booked already; @bytes is what it moves, for the books. Return: when it ends. The caller makes
 * the work take until then.
 */
uint64_t dev_board_book(struct dev_board *board, enum dev_board_engine engine, uint64_t earliest_ns,
			uint64_t duration_ns, uint64_t bytes);

struct dev_board_engine_view {
	uint64_t busy_ns; /* booked so far */
	uint64_t free_at_ns;
	uint64_t n_jobs;
	uint64_t bytes;
};

void dev_board_look_engine(struct dev_board *board, enum dev_board_engine engine,
			   struct dev_board_engine_view *ret_view);

/* The last jobs of all engines, for pictures and measurements. */
#define DEV_BOARD_JOBS_MAX 8192

struct dev_board_job {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC, as the caller sees it */
	uint64_t bytes;
	int32_t pid; /* as the process sees itself */
	uint32_t engine;
	uint32_t who; /* dev_board_who() of the process; 0 where it was not attached */
};

/* Copies the jobs that are still known, the oldest first. Return: how many, at most @n. */
size_t dev_board_look_jobs(struct dev_board *board, struct dev_board_job *ret_jobs, size_t n);

/* The folder of boards: SLUICE_BOARDS, else /dev/shm/sluice-<uid>. */
int dev_board_folder(char *ret_path, size_t size);
