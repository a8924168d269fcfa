/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Work in flight, bounded. A program may queue a second of work in a millisecond; its turn could
 * then not end before all of it has. So a command waits, before it asks for its turn and with
 * nothing held, while too much of its queue is in flight.
 *
 * The commands that have an event of ours (command.h) are the marks: each *carries* the launches
 * of the fast path before it, and itself. Whoever waits sees them end, and so learns how long a
 * launch takes, and how many may be in flight (client/backlog.h). The fast path does not look at
 * all of this: it ends where its run has the length `run_max`, a part of the limit, and what comes
 * then looks.
 *
 * Long launches may follow short ones. So a queue that was idle for that long begins with few, and
 * twice as many as have ended since come on top; and whatever is in flight, nothing is added while
 * the oldest of it is older than TARGET.
 *
 * It is counted by the queue. Queues that share a device slow each other down, which each of them
 * sees in its own launches: together they hold about as much as one.
 *
 * Nobody waits for what cannot run before the host does something (a user event), and nobody for
 * ever: there are ways of waiting for the host that we do not see (native kernels, shared memory).
 * Where nothing ends for long, beyond what its launches were seen to take, one more is let
 * through. Without a daemon there are no turns, and no bound.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/backlog.h"

struct slu_queue;
struct slu_command;

struct slu_flight {
	_Atomic uint32_t run_max; /* launches that may follow each other on the fast path */
	_Atomic uint32_t
		n_closed; /* of runs that came to their end; the next command carries them */

	/* guarded by the layer's lock */
	uint32_t limit;
	uint32_t n_in_flight; /* carried by the queue's commands */
	uint64_t n_ended;
	uint64_t n_at_begin;	    /* had ended when the queue was last found idle */
	uint64_t added_ns;	    /* when the last command was noted */
	uint64_t came_ns;	    /* when an end was last learned from */
	struct slu_backlog backlog; /* what launches take */
};

void slu_flight_init(struct slu_flight *flight, bool is_managed);

/* A command is noted, or has ended; its carried launches with it. */
void slu_flight_add_locked(struct slu_command *command);
void slu_flight_end_locked(struct slu_command *command);

/*
 * @n launches have ended within @took_ns of the device's time; @is_exact: they were waited for, so
 * it was not less. Sets the limit by what that tells.
 */
void slu_flight_learn(struct slu_flight *flight, uint64_t n, uint64_t took_ns, bool is_exact);

/*
 * Waits until @queue may take a command. The caller is not inside the gate and holds no lock.
 * @before runs once, before the first wait.
 */
void slu_flight_wait(struct slu_queue *queue, void (*before)(void *data), void *data);
