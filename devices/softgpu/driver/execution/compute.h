/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The compute engine: kernels of one context at a time, as on a card. A context that others wait
 * for, in this process or in another, gives it up once it has had it for a slice (about a
 * millisecond), also amid its kernels, which go on when it has it again. Processes follow each
 * other in the order of their slots. A process that is dead or stopped holds nobody up: on a card
 * its kernel would have run to its end.
 *
 * Contexts are named by their id, which is not 0.
 */

#include "softgpu/driver/card.h"

/* Waits for the engine. Each begin is followed by one end, by any thread of the process. */
void dev_compute_begin(struct dev_card *card, uint64_t context);

/*
 * Whether a kernel that began shall yield: end, and begin again. Cheap where nobody waits;
 * called by all threads that compute.
 */
bool dev_compute_is_asked_for(struct dev_card *card, uint64_t context);

/* The kernel ran from @start_ns until now: booked on the engine's timeline. */
void dev_compute_end(struct dev_card *card, uint64_t context, uint64_t start_ns);
