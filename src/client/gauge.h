/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How many threads copy in each direction, by a measurement: once a process, when the first bytes
 * go through pinned memory, on a thread of its own. Until it has ended one thread copies.
 *
 *   (none) -> MEASURING   [slu_gauge_begin]   the first move with staging
 *   MEASURING -> known    [its thread]
 *
 * It copies with one thread a direction, then with two, and so on, both directions at once, and
 * takes the smallest number that comes near the best: more threads would only take processors from
 * the program.
 */

struct slu_client;

/* Copy threads of a direction at most: four fill the memory bus of a desktop machine. */
#define SLU_GAUGE_THREADS_MAX 4

/* Both need the client's lock. */
void slu_gauge_begin(struct slu_client *client);
unsigned slu_gauge_threads(const struct slu_client *client);

/* The measurement itself: the threads that a direction should have. Takes some 20 ms. */
unsigned slu_gauge_measure(void);
