/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Commands in flight (queue.h). Each command that names a unit is noted with the driver's event; a
 * unit may move when all commands that name it have ended.
 *
 *   (none)    -> IN_FLIGHT  [slu_command_add]    the layer has a reference of its event
 *   IN_FLIGHT -> ENDED      [slu_command_look]   the driver answers: complete, or failed
 *
 * An in-order queue ends its commands in order, so a unit keeps only the last command of each such
 * queue. Of an out-of-order queue it keeps all.
 */

#include <stdbool.h>
#include <sys/queue.h>

#include "opencl/blockers.h"
#include "opencl/layer.h"
#include "opencl/proxy.h"
#include "opencl/queue.h"

struct slu_command {
	TAILQ_ENTRY(slu_command)
	link;			 /* its queue's list, in order of submission, while in flight */
	struct slu_queue *queue; /* constant; kept alive by the command */
	cl_event event;		 /* the layer's while in flight or looked at */
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
