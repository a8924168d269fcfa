/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Addresses of a card that get their memory later, and may lose it in between: those of graphs.
 * Large ones are whole granules of their own; small ones share a granule, and with it the memory.
 *
 *   EMPTY ──first use──▶ USED ◀──use, last use ends──▶ IDLE ──trim──▶ EMPTY
 *
 *  EMPTY:  no memory.                                       * n_uses == 0
 *  USED:   memory with contents.                            * n_uses != 0
 *  IDLE:   memory without contents, kept for the next use.  * n_uses == 0
 *
 * Guarded by the driver's lock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/driver/card.h"

struct dev_arena;

/* Takes @bytes of addresses. Return: 0, -errno. */
int dev_arena_take(struct dev_card *card, uint64_t bytes, struct dev_arena **ret_arena,
		   uint64_t *ret_address);
/* Gives them back. With the last ones the arena ends, and its memory with it. */
void dev_arena_give(struct dev_arena *arena);

/* Begins a use. Return: 0, DEV_CARD_E_FULL, -errno. */
int dev_arena_use(struct dev_arena *arena);
void dev_arena_unuse(struct dev_arena *arena);

/* IDLE -> EMPTY for all arenas of @card. Return: whether there was one. */
bool dev_arena_trim(const struct dev_card *card);

/* How much memory arenas of @card have. */
uint64_t dev_arena_bytes(const struct dev_card *card);
