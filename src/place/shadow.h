/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decides whether foresight is worth following. Two shadow caches simulate the device's window,
 * without moving any byte: one evicts the least recently named unit, the other the unit that
 * foresight expects last. Each counts the bytes it would have brought in; older bytes count less.
 * The peer stops following foresight when its cache brings in clearly more, and follows it again
 * when it no longer does: both caches run in either case. Mode LAUNCH; pure.
 *
 * The real window shrinks and grows as other programs come and go. Both caches follow its size in
 * the same way: a unit that a small window evicted is missed once, also if it would fit by then.
 */

#include "place/foresight.h"

struct slu_shadow {
	uint64_t held_bytes[_SLU_SHADOW_MAX];
	uint64_t came_bytes[_SLU_SHADOW_MAX]; /* brought in, had the cache been real */
};

/*
 * A command names @unit; all of its units are noted in @foresight already. @units: all of the
 * device. Sets foresight->is_blind.
 */
void slu_shadow_named(struct slu_shadow *shadow, struct slu_foresight *foresight,
		      const struct slu_unit_list *units, struct slu_unit *unit,
		      uint64_t window_bytes);

/* Both caches hold @unit: in a window that holds everything, naming it changes nothing. */
bool slu_shadow_holds(const struct slu_unit *unit);

/* @unit has left the device's list. */
void slu_shadow_remove(struct slu_shadow *shadow, struct slu_unit *unit);
