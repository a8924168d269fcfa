/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A granule that small allocations share, in steps of 512 bytes. Guarded by the driver's lock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/driver/card.h"

struct dev_slab;

/* Makes a slab of the granule mapped at @address. Return: false without memory. */
bool dev_slab_new(struct dev_card *card, uint64_t address);

/* Finds free bytes in the card's slabs. Return: the slab and the place in it, or NULL. */
struct dev_slab *dev_slab_take(struct dev_card *card, uint64_t bytes, uint64_t *ret_address);

/*
 * Gives bytes back. Return: true when the slab was empty after it and is gone; then *ret_address
 * says whose granule it was.
 */
bool dev_slab_give(struct dev_slab *slab, uint64_t address, uint64_t bytes, uint64_t *ret_address);
