/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Commands in flight: what the rule of rest looks at. Each command that names a unit is noted
 * with the driver's event; a unit may move when all commands that name it have ended.
 *
 *   (none)    -> IN_FLIGHT  [slu_command_add]    its event is ours too
 *   IN_FLIGHT -> ENDED      [slu_command_look]   the driver says so: complete, or failed
 *
 * An in-order queue ends its commands in order, so a unit keeps only the last of each such
 * queue; of an out-of-order queue it keeps all. "Before" and "behind" are told by stamps
 * (fastpath.h), for several threads may submit to one queue.
 *
 * *Blocked* is a command that cannot run before the host does something: it waits, directly or
 * through others, for a user event that is not set. Each command carries the unset user events
 * upstream of it: those of its wait list, those of the commands in its wait list, and those that
 * its queue imposes (in-order: of everything before it; out-of-order: of the barriers before it).
 */

#include <stdbool.h>
#include <sys/queue.h>

#include "opencl/device.h"
#include "opencl/flight.h"
#include "opencl/layer.h"
#include "opencl/proxy.h"
#include "opencl/table.h"

struct slu_user_event;

/* A set of user events that were not set when it was made. Guarded by the layer's lock. */
struct slu_blockers {
	struct slu_user_event **items;
	unsigned n_items;
};

struct slu_command {
	TAILQ_ENTRY(slu_command)
	link;			 /* its queue's list, in order of submission, while in flight */
	struct slu_queue *queue; /* constant; kept alive by the command */
	cl_event event;		 /* ours while in flight or looked at */
	uint64_t stamp;		 /* constant: the queue's when it had been submitted (fastpath.h) */
	uint64_t covers;	 /* constant: its end is the end of all with a stamp up to this */
	uint64_t since_ns;	 /* constant: what it carries is no older than this */
	uint32_t n_carried;	 /* constant: launches that end with it, itself too (flight.h) */
	unsigned n_refs;	 /* the queue's list, and each unit that names it */
	unsigned n_looking;	 /* threads that ask the driver about the event now */
	bool is_ended;
	bool is_flushed;
	struct slu_blockers blockers;
};

TAILQ_HEAD(slu_command_list, slu_command);

/* Our note about a queue: from its creation to its last command's end. */
struct slu_queue {
	struct slu_table_node node;
	TAILQ_ENTRY(slu_queue) link; /* all queues; guarded by the layer's lock */
	cl_command_queue handle;     /* the driver's; NULL once the program gave it up */
	struct slu_device *device;   /* constant */

	/* guarded by the layer's lock */
	bool is_out_of_order;
	unsigned n_refs;    /* the table's, each command's, each bracket's */
	unsigned n_program; /* the program's own references */
	unsigned n_commands;
	unsigned n_marking; /* threads that put a marker or flush: the handle is not given up
			       meanwhile */
	uint64_t ended;	    /* all with a stamp up to this have ended */
	struct slu_command_list commands;
	struct slu_blockers blockers; /* what every later command waits for too */

	/* the fast path (fastpath.h) */
	unsigned slot;		/* its place there, or SLU_FASTPATH_NONE; constant */
	_Atomic uint64_t stamp; /* that commands have which are submitted now */
	_Atomic uint64_t run;	/* the last stamp of a launch that took the fast path */
	_Atomic unsigned n_run; /* about how many did so since the last command with an event */

	struct slu_flight flight;
};

#define SLU_FASTPATH_NONE (~0u)

/* -- queues (queue.c) ------------------------------------------------------------------------- */

/* The note of @handle, with a reference; NULL if the driver does not know it or memory is out. */
struct slu_queue *slu_queue_get(cl_command_queue handle);

/* The note of @handle if it was used lately, without a reference; for the length of one call. */
struct slu_queue *slu_queue_peek(cl_command_queue handle);
void slu_queue_ref(struct slu_queue *queue);
void slu_queue_unref(struct slu_queue *queue);
void slu_queue_unref_locked(struct slu_queue *queue);

/*
 * Asks about commands of @queue and forgets the ended ones. With @flush the driver is asked to
 * begin those that it may be keeping back.
 */
void slu_queue_sweep(struct slu_queue *queue, bool flush);

/*
 * In @queue, which is in order, everything with a stamp up to @covers is known to have ended, and
 * so is the command behind it whose event is @last, if there is one.
 */
void slu_queue_end_covered(struct slu_queue *queue, uint64_t covers, cl_event last);

/* Everything on @device: 0 if nothing is in flight, SLU_BACKEND_E_BUSY, SLU_BACKEND_E_BLOCKED. */
int slu_queue_progress(struct slu_device *device, bool flush);

/* Has the driver begin whatever it keeps back, in every queue that the program has. */
void slu_queue_flush_all(void);

/* The command in flight whose event is @event, or NULL. Walks over all of them. */
struct slu_command *slu_queue_command_locked(cl_event event);

/* Adds to @set what any command in @queue waits for. */
void slu_queue_gather_locked(struct slu_queue *queue, struct slu_blockers *set);

/* Whether one reference of @event is ours. */
bool slu_queue_hides_event(cl_event event);

/* -- commands (command.c) --------------------------------------------------------------------- */

/*
 * Notes a command that was just submitted. Takes over @event and the caller's reference of @queue.
 * @covers is what slu_fastpath_close_run() said before. @roots are noted to be named by it.
 * Where memory is out, waits for the command instead: then there is nothing to note.
 */
void slu_command_add(struct slu_queue *queue, cl_event event, uint64_t covers, cl_uint n_wait,
		     const cl_event *wait, struct slu_proxy *const *roots, size_t n_roots);

/* Notes that @command names @root too. Return: false where memory is out. */
bool slu_command_name_locked(struct slu_command *command, struct slu_proxy *root);

/* Asks the driver. Return: 0 when ended, SLU_BACKEND_E_BUSY, SLU_BACKEND_E_BLOCKED. */
int slu_command_look(struct slu_command *command, bool flush);

/* The same for all commands that name @root; forgets the ended ones. */
int slu_command_look_all(struct slu_proxy *root);

/* Notes an end that the caller knows of. */
void slu_command_end_locked(struct slu_command *command, cl_event *ret_release);

void slu_command_ref_locked(struct slu_command *command);
void slu_command_unref_locked(struct slu_command *command);

/*
 * Has @call called at the end of each command in flight that names @root, which is DYING; counts
 * them up in root->n_awaited before, @call counts down. Return: how many there are.
 */
unsigned slu_command_watch(struct slu_proxy *root,
			   void(CL_CALLBACK *call)(cl_event, cl_int, void *), void *data);

/* Forgets all that names @root. */
void slu_command_forget(struct slu_proxy *root);

/* -- user events (blocker.c) ------------------------------------------------------------------ */

/* Whether there is an unset user event at all; without one nothing is blocked. */
bool slu_blockers_exist(void);

/* Adds to @set the unset user events that @wait and @other bring. Where memory is out, fewer. */
void slu_blockers_add_locked(struct slu_blockers *set, cl_uint n_wait, const cl_event *wait,
			     const struct slu_blockers *other);

/* Whether any in @set is still unset. */
bool slu_blockers_hold_locked(const struct slu_blockers *set);

void slu_blockers_clear_locked(struct slu_blockers *set);
