/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The compute engine: kernels of one process at a time, as contexts do not share it on a card.
 * A process that others wait for gives it up at the end of a kernel once it has had it for a slice
 * (about a millisecond); the others follow in the order of their slots. A process that is dead or
 * stopped holds nobody up: on a card its kernel would have run to its end.
 */

#include "softgpu/driver/card.h"

/* Waits for the engine. Each begin is followed by one end, by any thread of the process. */
void slu_compute_begin(struct slu_card *card);

/* The kernel ran from @start_ns until now: booked on the engine's timeline. */
void slu_compute_end(struct slu_card *card, uint64_t start_ns);
