/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory whose contents nobody will read. Sluice keeps its addresses, but copies nothing when it
 * leaves or comes (struct slu_backend's is_dead):
 *
 *   - an extent of a pool in which nothing is allocated. The work before a free has ended, because
 *     the program is at rest when memory leaves;
 *   - a slab without an allocation;
 *   - an allocation that the program has freed in a stream, and that is given back later.
 *
 * The question and the program's next allocation there have the front lock: what is allocated after
 * the answer has undefined contents, and what was allocated before makes the answer no.
 */

#include <stdbool.h>

struct slu_unit;

/* struct slu_backend's is_dead(), on a mover's thread. */
bool slu_cuda_dead_is(struct slu_unit *unit);
