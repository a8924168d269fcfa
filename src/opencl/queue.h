/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The layer's note about a queue of the program, and the words for the work in it, on which
 * command.h, fastpath.h, flight.h and sweep.h build.
 *
 *   command   a submission whose event the layer keeps: it can ask the driver for its end
 *   run       the submissions on the fast path between two commands; the layer keeps no event
 *   stamp     a number of the queue; a command counts it up before it is submitted, and each
 *             submission on the fast path reads it after it was submitted
 *   covers    a command of an in-order queue covers all submissions that read an older stamp:
 *             they are before it in the queue, so its end is their end
 *   carries   a command carries the run before it and itself, as work in flight
 *
 *   stamp        5    5    5 |  6    6 |  7        a launch's stamp, read afterwards
 *   queue     ...K    K    K   [W]   K   [M]       W a write with an event, M a marker
 *   covers                     <=5       <=6       their ends are the ends of all these
 *
 * The note exists from the creation of the queue, or from its first command if the layer did not
 * see the creation, to the program's last reference and the end of the last command.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "opencl/blockers.h"
#include "opencl/device.h"
#include "opencl/flight.h"
#include "opencl/layer.h"
#include "opencl/table.h"

struct slu_command;

TAILQ_HEAD(slu_command_list, slu_command);

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
	unsigned n_marking; /* threads that submit a marker or flush: keep the handle */
	uint64_t ended;	    /* all with a stamp up to this have ended */
	struct slu_command_list commands;
	struct slu_blockers blockers; /* every later command waits for them too */

	/* the fast path (fastpath.h) */
	unsigned slot;		/* of the fast path, or SLU_FASTPATH_NONE; constant */
	_Atomic uint64_t stamp; /* of submissions now */
	_Atomic uint64_t run;	/* the last stamp of a submission on the fast path */
	_Atomic unsigned n_run; /* submissions in the run, about */

	struct slu_flight flight;
};

#define SLU_FASTPATH_NONE (~0u)

/* The note of @handle, with a reference; NULL if the driver does not know it or memory is out. */
struct slu_queue *slu_queue_get(cl_command_queue handle);

/* The note of @handle if it was used lately, without a reference; for the length of one call. */
struct slu_queue *slu_queue_peek(cl_command_queue handle);
void slu_queue_ref(struct slu_queue *queue);
void slu_queue_unref(struct slu_queue *queue);
void slu_queue_unref_locked(struct slu_queue *queue);

/* Everything on @device: 0 if nothing is in flight, SLU_BACKEND_E_BUSY, SLU_BACKEND_E_BLOCKED. */
int slu_queue_progress(struct slu_device *device, bool flush);

/* Flushes all queues of the program: a driver may keep commands back. */
void slu_queue_flush_all(void);

/* The command in flight whose event is @event, or NULL. Walks over all of them. */
struct slu_command *slu_queue_command_locked(cl_event event);

/* Adds to @set what any command in @queue waits for. */
void slu_queue_gather_locked(struct slu_queue *queue, struct slu_blockers *set);

/* Whether the layer has a reference of @event. */
bool slu_queue_hides_event(cl_event event);
