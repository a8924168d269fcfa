/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The fast path: while nothing is absent, a launch goes to the driver without a lock, a message,
 * or an event of ours, and so do other commands, but for mappings. It rests on two ideas.
 *
 * A *lease*: a bracket that has named a root (bracket.h) may leave word there that it is on the
 * device, and whether it counts as written, or suspect, already. A launch enters the gate of its
 * device (the turn), and takes the fast path if every root that it names has a lease of the
 * device's present number for what the launch may do to it.
 *
 *   (none) -> LEASED   [slu_fastpath_lease]   in a bracket, the root named
 *   LEASED -> (none)   [slu_fastpath_break_lease]   the root is to leave: taken away, then those
 * who are inside the gate are waited for LEASED -> STALE    [slu_fastpath_tick]    every tenth of a
 * second the device's number goes on, so that the client hears of every root in use: its next
 *                                         launch takes the slow path and renews the lease
 *
 * A *run*: launches without events of their own are known by their queue's stamp. A command that
 * has an event and comes behind them covers them: the stamp is counted up before it is submitted,
 * and is read by the others after they were submitted; so whatever read the old one comes before
 * it in the queue. Only when somebody must know the end of a run that nothing covers, a marker is
 * put behind it.
 *
 *   stamp        5    5    5 |  6    6 |  7        a launch's stamp, read afterwards
 *   queue     ...K    K    K   [W]   K   [M]       W a write with an event, M a marker
 *   covers                     <=5       <=6       their ends are the ends of all these
 *
 * An out-of-order queue has no fast path. While not everything that the program works with is on
 * the device (it is *crowded*), the client must know the order of all commands: then the fast path
 * ends with a word to it, which takes its lock for a moment.
 */

#include "opencl/command.h"
#include "opencl/layer.h"
#include "opencl/proxy.h"

/*
 * The most launches of a queue that end with one event: a unit may have to wait for that many. Work
 * in flight is bounded by time (flight.h), and this number must not be what bounds it: a program
 * whose launches take 40 µs would wake up every millisecond to submit the next few.
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

/* @root is named by the caller, and marked as suspect or written if @access says so. */
void slu_fastpath_lease(struct slu_proxy *root, struct slu_device *device, enum slu_access access);

/* Return: true when no launch that relied on the lease is on its way to the driver any more. */
bool slu_fastpath_break_lease(struct slu_proxy *root, struct slu_device *device);

/* Notes whether @device is crowded; after each command of the slow path. */
void slu_fastpath_note_crowd(struct slu_device *device);

/*
 * Called now and then, without a lock: leases grow stale, the client hears how many went by and
 * tells whether we are managed.
 */
void slu_fastpath_tick(struct slu_device *device);

/* -- runs ------------------------------------------------------------------------------------- */

/* A queue gets one of the few slots, if there is one, and gives it back. */
void slu_fastpath_open_locked(struct slu_queue *queue);
void slu_fastpath_shut_locked(struct slu_queue *queue);

/* Before a command with an event is submitted. Return: what it will cover; 0: nothing. */
uint64_t slu_fastpath_close_run(struct slu_queue *queue);

/* Everything that @covers tells has ended. */
void slu_fastpath_end_runs_locked(struct slu_queue *queue, uint64_t covers);

/*
 * Sees to it that a command with an event covers what is in @queue now. Return: 0, or -EBUSY
 * where the driver could not do it now.
 */
int slu_fastpath_cover(struct slu_queue *queue);
void slu_fastpath_cover_all(void);

/* The runs that name @root become commands that name it (command.h). Return: as above. */
int slu_fastpath_gather(struct slu_proxy *root);
