/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Threads that help with launches. They are made when they are first wanted, one for each pair of
 * hands that a launch could use at that time, and then wait for the next one for as long as the
 * process lives. Whoever has work does not wait for them: it begins at once, they join in when
 * they wake up, and who comes too late finds nothing.
 *
 *   (none) -> IDLE  [dev_interp_pool_run]     IDLE  waits for a job that wants it
 *   IDLE   -> BUSY  [a job wants it]          BUSY  is in the job's function
 *   BUSY   -> IDLE  [the function returned]
 *
 * A child of fork() has none of its parent's threads and begins anew.
 */

/*
 * Calls @work(@userdata, index) on this thread with 0 and, at the same time, on up to @n_helpers
 * others with 1, 2, …; returns when all calls have.
 */
void dev_interp_pool_run(unsigned n_helpers, void (*work)(void *userdata, unsigned index),
			 void *userdata);
