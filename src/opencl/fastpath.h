/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The fast path: while every object that a command names is on the device, the command goes to the
 * driver without a lock, a message or an event of the layer. Mappings never take it, and neither do
 * commands of an out-of-order queue. Everything else takes the slow path (bracket.h).
 *
 * A command takes the fast path if the gate of its device is open and each root that it names has a
 * *lease*. A bracket on the slow path that has named a root leaves a lease there: the root is on
 * the device, and it counts as written, or suspect, already. A lease is valid while it has the
 * present number of the device.
 *
 *   (none) -> LEASED   [slu_fastpath_lease]        in a bracket that names the root
 *   LEASED -> (none)   [slu_fastpath_break_lease]  before the root leaves: the lease is taken away,
 *                                                  then the mover waits for the threads inside the
 *                                                  gate
 *   LEASED -> STALE    [slu_fastpath_tick]         each tenth of a second the device gets a new
 *                                                  number: the next command takes the slow path
 *                                                  and renews the lease, so the client learns
 *                                                  which roots are in use
 *
 * Submissions on the fast path form runs (queue.h). If a thread must know the end of a run that no
 * command covers, the layer submits a marker behind it.
 *
 * A device is *crowded* while a part of the program's working set is absent. The client must know
 * the order of all commands then, so the fast path ends with a report to it, which takes the
 * client's lock for a moment.
 */

#include "opencl/layer.h"
#include "opencl/proxy.h"
#include "opencl/queue.h"

/*
 * The most launches in a run: a unit may have to wait for that many. The bound on work in flight is
 * a time (flight.h), and this number must be above it: otherwise a program whose launches take 40
 * µs would wake up every millisecond to submit the next few.
 */
#define SLU_FASTPATH_RUN_MAX 128

/*
 * The most roots that a launch on the fast path may name: more than the specification's minimum for
 * the size of all arguments has space for.
 */
#define SLU_FASTPATH_ROOTS_MAX 160

/* -- the path --------------------------------------------------------------------------------- */

/*
 * Enters the gate of the device. Return: true if the fast path of @queue is open; then the caller
 * checks the lease of each root, and leaves by slu_fastpath_leave().
 */
bool slu_fastpath_enter(struct slu_queue *queue);

/* The number that a lease must have now, for a caller inside the gate of @device. */
static inline uint64_t slu_fastpath_number(struct slu_device *device)
{
	return atomic_load(&device->lease);
}

/* Whether a command may have that @access to @root, which is on the device then. */
static inline bool slu_fastpath_is_leased(const struct slu_proxy *root, uint64_t number,
					  enum slu_access access)
{
	return atomic_load(&root->leases[access]) == number;
}

/* Stamps the roots of a command that was submitted, and leaves the gate. */
void slu_fastpath_leave(struct slu_queue *queue, struct slu_proxy *const *roots, size_t n_roots,
			bool was_submitted);

/* -- leases ----------------------------------------------------------------------------------- */

/* The caller names @root, and has marked it as suspect or written if @access says so. */
void slu_fastpath_lease(struct slu_proxy *root, struct slu_device *device, enum slu_access access);

/* Return: true when no command that relied on the lease is inside the gate any more. */
bool slu_fastpath_break_lease(struct slu_proxy *root, struct slu_device *device);

/* Notes whether @device is crowded. Called after each command on the slow path. */
void slu_fastpath_note_crowd(struct slu_device *device);

/*
 * Called from time to time, without a lock. Makes leases stale, reports to the client how many
 * launches took the fast path, and asks it whether a daemon manages the device.
 */
void slu_fastpath_tick(struct slu_device *device);

/* -- runs ------------------------------------------------------------------------------------- */

/* A queue gets one of the few slots with a fast path, if one is free, and gives it back. */
void slu_fastpath_open_locked(struct slu_queue *queue);
void slu_fastpath_shut_locked(struct slu_queue *queue);

/* Called before a command is submitted. Return: the stamp up to which it covers; 0: nothing. */
uint64_t slu_fastpath_close_run(struct slu_queue *queue);

/* All submissions with a stamp up to @covers have ended. */
void slu_fastpath_end_runs_locked(struct slu_queue *queue, uint64_t covers);

/*
 * Submits a marker, unless a command covers all that is in @queue now. Return: 0, or -EBUSY if the
 * driver could not take the marker now.
 */
int slu_fastpath_cover(struct slu_queue *queue);
void slu_fastpath_cover_all(void);

/* Notes the commands that cover the runs with @root at @root (command.h). Return: as above. */
int slu_fastpath_gather(struct slu_proxy *root);
