/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Host copies that are pinned in place, so that the device copies from and to them without staging.
 * They are backing in memory as before, and count in the pinned account as well. The daemon gives
 * the bytes: below a limit of `pinned` with pace AHEAD, one unit at a time becomes pinned, while
 * nothing moves and nothing is about to. Pinning stops every CUDA process of the machine for a
 * moment, so it keeps out of the way of a switch.
 *
 * Pinned copies are the first to yield, because no command touches them: to a lower limit, to
 * staging, to units that must be MAPPED in this turn, and to backing that must go to disk. Then
 * they become pageable in place.
 *
 *   pageable -> PIN   -> pinned     [slu_peer_shift_step, slu_peer_shift_done]
 *   pinned   -> UNPIN -> pageable
 *   pinned   -> (released)          [slu_peer_pinning_released]
 */

#include <assert.h>

#include "peer/internal.h"
#include "place/place.h"

void slu_peer_pinning_hold(struct slu_peer *peer, uint64_t bytes)
{
	slu_peer_account_hold(&peer->pinned, bytes);
	peer->copies_bytes += bytes;
}

void slu_peer_pinning_release(struct slu_peer *peer, uint64_t bytes)
{
	assert(peer->copies_bytes >= bytes);
	slu_peer_account_release(&peer->pinned, bytes);
	peer->copies_bytes -= bytes;
}

void slu_peer_pinning_released(struct slu_peer *peer, uint64_t now_ns, uint64_t bytes)
{
	slu_peer_pinning_release(peer, bytes);
	slu_peer_wake_all(peer);
	slu_peer_reports_touch(peer, now_ns);
}

/* Nothing moves, and nothing is about to come in. */
static bool device_is_calm(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	if (d->n_moving[IN] || d->n_moving[OUT] || d->gate == SLU_PEER_GATE_DRAINING)
		return false;
	return !d->n_absent || !slu_peer_move_may_fill(peer, d);
}

static bool peer_is_calm(const struct slu_peer *peer)
{
	for (unsigned i = 0; i < peer->n_devices; i++)
		if (!device_is_calm(peer, &peer->devices[i]))
			return false;
	return true;
}

static bool device_pins(const struct slu_peer_device *d)
{
	return d->identity.pins_copies && d->mode != SLU_MODE_LAUNCH;
}

/* Most steps find that everything is pinned already. */
static uint64_t pinnable_bytes(const struct slu_peer *peer)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < peer->n_devices; i++)
		if (device_pins(&peer->devices[i]))
			bytes += peer->devices[i].owned_bytes;
	return bytes;
}

struct slu_unit *slu_peer_pinning_next(const struct slu_peer *peer)
{
	uint64_t free_bytes = slu_sub_floor(peer->pinned.limit_bytes, peer->pinned.held_bytes);

	if (peer->pinned.pace != SLU_PACE_AHEAD || !free_bytes ||
	    peer->copies_bytes >= pinnable_bytes(peer) || !peer_is_calm(peer))
		return NULL;
	for (unsigned i = 0; i < peer->n_devices; i++) {
		const struct slu_peer_device *d = &peer->devices[i];
		struct slu_unit *u;

		if (!device_pins(d))
			continue;
		slu_peer_tally_note_scan(d);
		u = slu_place_next_pin(&d->units, free_bytes);
		if (u)
			return u;
	}
	return NULL;
}

bool slu_peer_pinning_must_give(const struct slu_peer *peer)
{
	if (!peer->copies_bytes)
		return false;
	if (peer->pinned.held_bytes > peer->pinned.limit_bytes ||
	    slu_peer_shift_lacks_pageable(peer))
		return true;
	for (unsigned i = 0; i < peer->n_devices; i++)
		if (slu_peer_move_wants_map(peer, &peer->devices[i]))
			return true;
	return false;
}

struct slu_unit *slu_peer_pinning_next_out(const struct slu_peer *peer)
{
	if (!slu_peer_pinning_must_give(peer))
		return NULL;
	for (unsigned i = 0; i < peer->n_devices; i++) {
		const struct slu_peer_device *d = &peer->devices[i];
		struct slu_unit *u;

		slu_peer_tally_note_scan(d);
		u = slu_place_next_unpin(&d->units);
		if (u)
			return u;
	}
	return NULL;
}

bool slu_peer_pinning_is_void(const struct slu_peer *peer, const struct slu_unit *u)
{
	return u->shift == SLU_SHIFT_PIN && (slu_peer_pinning_must_give(peer) ||
					     (!slu_unit_is_present(u) && !peer_is_calm(peer)));
}
