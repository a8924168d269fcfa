/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The host memory that a mover's pieces go through. The functions need the client's lock and
 * release it while they allocate or free memory.
 */

#include <stdbool.h>

struct slu_backend;
struct slu_client;
struct slu_mover;

/* Whether copies of this back end go through pinned memory at all. */
bool slu_ring_is_wanted(const struct slu_backend *backend);

/* Makes or frees the pinned ring as the daemon's limit asks, if no piece is under way. */
void slu_ring_adjust(struct slu_client *client, struct slu_mover *mover);
void slu_ring_unstage(struct slu_client *client, struct slu_mover *mover);

/* Makes pageable memory for pieces between device and disk, where none is pinned. */
int slu_ring_make_bounce(struct slu_client *client, struct slu_mover *mover);
