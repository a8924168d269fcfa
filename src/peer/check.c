/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The check: what holds between any two steps, computed anew from the units. Tests and the
 * simulator call it.
 */

#include <assert.h>

#include "peer/internal.h"

static bool unit_is_in_front(const struct slu_peer_device *d, const struct slu_unit *u)
{
	for (size_t i = 0; i < d->n_command; i++)
		if (d->command[i] == u)
			return true;
	return false;
}

static bool unit_is_held(const struct slu_unit *u)
{
	return u->place == SLU_PLACE_DEVICE || u->moving == SLU_MOVING_IN;
}

/* While backing is on its way it counts on both sides. */
static bool unit_has_backing_in(const struct slu_unit *u, bool on_disk)
{
	return u->on_disk == on_disk || u->shift == SLU_SHIFT_DOWN || u->shift == SLU_SHIFT_UP;
}

void slu_peer_check(const struct slu_peer *peer)
{
	uint64_t pinned = peer->staged_bytes, unmapping = 0, copies = 0, backing = 0;
	uint64_t disk = peer->reserved_bytes;

	for (unsigned i = 0; i < peer->n_devices; i++) {
		const struct slu_peer_device *d = &peer->devices[i];
		uint64_t held = 0, leaving = 0;
		size_t n_moving = 0, n_slots = 0;
		const struct slu_unit *u;

		TAILQ_FOREACH (u, &d->units, link) {
			assert(u->device == i);
			assert(u->wanted == unit_is_in_front(d, u));
			held += unit_is_held(u) ? u->bytes : 0;
			if (u->place == SLU_PLACE_MAPPED || u->moving == SLU_MOVING_MAP)
				pinned += u->bytes;
			copies += u->pinned || u->shift == SLU_SHIFT_PIN ? u->bytes : 0;
			assert(!u->pinned || (!u->on_disk && u->has_backing));
			backing += u->has_backing && unit_has_backing_in(u, false) ? u->bytes : 0;
			disk += u->has_backing && unit_has_backing_in(u, true) ? u->bytes : 0;
			assert((u->shift != SLU_SHIFT_NO) == (peer->shifting == u));
			assert(u->shift == SLU_SHIFT_NO || u->moving == SLU_MOVING_NO);
			assert(u->place != (u->on_disk ? SLU_PLACE_RAM : SLU_PLACE_DISK));
			if (u->place == SLU_PLACE_DEVICE && u->moving == SLU_MOVING_OUT)
				leaving += u->bytes;
			if (u->place == SLU_PLACE_MAPPED && u->moving == SLU_MOVING_OUT)
				unmapping += u->bytes;
			n_moving += u->moving != SLU_MOVING_NO;
			assert(u->n_named == 0 || slu_unit_is_present(u));
			assert(u->has_backing || u->frozen != SLU_FROZEN_NO);
			assert(u->frozen == SLU_FROZEN_NO || slu_unit_is_present(u));
		}
		for (unsigned k = 0; k < SLU_PEER_MOVES_MAX; k++)
			n_slots += (d->moving[IN][k] != NULL) + (d->moving[OUT][k] != NULL);
		slu_peer_tally_check(d);
		assert(!d->crossing || d->n_command);
		assert(held == d->account.held_bytes);
		assert(leaving == d->leaving_bytes);
		assert(n_moving == n_slots + d->n_unmaking);
		assert(n_slots == d->n_moving[IN] + d->n_moving[OUT]);
		if (d->mode != SLU_MODE_LAUNCH &&
		    (d->gate == SLU_PEER_GATE_OPEN ||
		     (d->gate == SLU_PEER_GATE_DRAINING && !d->is_early)))
			assert(d->n_absent == 0);
		if (d->gate == SLU_PEER_GATE_PARTIAL)
			assert(d->is_early && !d->is_blocked);
	}
	/* copies of released units are unpinned a moment later */
	assert(copies <= peer->copies_bytes);
	assert(pinned + peer->copies_bytes == peer->pinned.held_bytes);
	assert(unmapping == peer->unmapping_bytes);
	assert(backing == peer->pageable.held_bytes);
	assert(disk == peer->disk.held_bytes);
}
