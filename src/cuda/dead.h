/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory whose contents nobody will read. Sluice keeps its addresses, but copies nothing when it
 * leaves or comes (struct slu_backend's is_dead):
 *
 *   - an extent of a pool in which nothing is allocated. The work before a free has ended, because
 *     the program is at rest when memory leaves;
 *   - a slab without an allocation;
 *   - an allocation that the program has freed in a stream, and that is given back later;
 *   - an extent that the program called dead as a whole, as long as it has submitted nothing since.
 *
 * The question and the program's next allocation there have the front lock: what is allocated after
 * the answer has undefined contents, and what was allocated before makes the answer no.
 */

#include <stdbool.h>
#include <stdint.h>

struct slu_cuda_device;
struct slu_unit;

/* struct slu_backend's is_dead(), on a mover's thread. */
bool slu_cuda_dead_is(const struct slu_cuda_device *device, struct slu_unit *unit);

/* struct slu_backend's hint_dead(). */
uint64_t slu_cuda_dead_hint(const struct slu_cuda_device *device, uint64_t address, uint64_t bytes);
