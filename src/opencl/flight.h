/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A bound on work in flight. A program may queue a second of work in a millisecond, and its turn
 * cannot end before the device has finished it. So a command waits, before it asks for its turn and
 * without a lock, while too much of its queue is in flight.
 *
 * Commands are the marks: each carries the run before it, and itself (queue.h). A thread that waits
 * sees them end. So it learns how long a launch takes, and how many may be in flight
 * (client/backlog.h). The fast path reads nothing of this: its run ends at the length `run_max`, a
 * part of the limit, and the next command waits here.
 *
 * Long launches may follow short ones. So a queue that was idle for SLU_BACKLOG_TARGET_NS begins
 * with few launches, and gets two more for each one that has ended since. No command is added while
 * the oldest work in flight is older than that time.
 *
 * Each queue has its own bound. Queues that share a device slow each other down, which each of them
 * sees in its own launches: together they hold about as much as one.
 *
 * No command waits for blocked ones (blockers.h), and none waits forever: there are ways of waiting
 * for the host that the layer does not see (native kernels, shared memory). If nothing ends for
 * long, compared with what the launches took before, one more command goes through. Without a
 * daemon there are no turns, and no bound.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/backlog.h"

struct slu_queue;
struct slu_command;

struct slu_flight {
	_Atomic uint32_t run_max;  /* launches in a run */
	_Atomic uint32_t n_closed; /* launches of closed runs; the next command carries them */

	/* guarded by the layer's lock */
	uint32_t limit;
	uint32_t n_in_flight; /* carried by the queue's commands */
	uint64_t n_ended;
	uint64_t n_at_begin;	    /* n_ended when the queue was last idle */
	uint64_t added_ns;	    /* when the last command was noted */
	uint64_t came_ns;	    /* when an end was last learned from */
	struct slu_backlog backlog; /* what launches take */
};

void slu_flight_init(struct slu_flight *flight, bool is_managed);

/* Counts the launches that @command carries, when it is noted and when it has ended. */
void slu_flight_add_locked(struct slu_command *command);
void slu_flight_end_locked(struct slu_command *command);

/*
 * Sets the limit after @n launches have ended within @took_ns of the device's time. @is_exact: a
 * thread waited for them, so they did not take less.
 */
void slu_flight_learn(struct slu_flight *flight, uint64_t n, uint64_t took_ns, bool is_exact);

/*
 * Waits until @queue may take a command. The caller is not inside the gate and holds no lock.
 * @before runs once, before the first wait.
 */
void slu_flight_wait(struct slu_queue *queue, void (*before)(void *data), void *data);
