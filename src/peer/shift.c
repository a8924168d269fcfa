/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Backing shifts between pageable memory and disk, one unit at a time, as the daemon's limits say:
 * down while more pageable memory is held than allowed, up when the daemon raised the limit ahead
 * of our turn (pace AHEAD). Both accounts hold the bytes until the shift ends, so neither limit is
 * exceeded.
 *
 * The same thread pins and unpins host copies (pinning.c).
 *
 * A unit that is away and about to come in is not shifted, and a shift of such a unit is cancelled:
 * the unit comes in from where its bytes are.
 */

#include <assert.h>

#include "peer/internal.h"
#include "place/place.h"

bool slu_peer_shift_has_credit(const struct slu_peer *peer, uint64_t bytes)
{
	return !peer->disk_is_bad && !peer->is_alone &&
	       peer->disk.held_bytes + bytes <= peer->disk.limit_bytes;
}

static struct slu_unit *disk_choose(const struct slu_peer *peer, enum slu_shift shift,
				    uint64_t free_bytes)
{
	for (unsigned i = 0; i < peer->n_devices && free_bytes; i++) {
		const struct slu_peer_device *d = &peer->devices[i];
		bool is_filling = slu_peer_move_may_fill(peer, d);
		struct slu_unit *u;

		if (d->owned_bytes == 0)
			continue;
		slu_peer_tally_note_scan(d);
		u = shift == SLU_SHIFT_DOWN ? slu_place_next_down(&d->units, free_bytes, is_filling)
					    : slu_place_next_up(&d->units, free_bytes, is_filling);
		if (u)
			return u;
	}
	return NULL;
}

static struct slu_unit *shift_choose_down(const struct slu_peer *peer)
{
	uint64_t free_bytes = slu_sub_floor(peer->disk.limit_bytes, peer->disk.held_bytes);

	if (peer->disk_is_bad || peer->pageable.held_bytes <= peer->pageable.limit_bytes)
		return NULL;
	return disk_choose(peer, SLU_SHIFT_DOWN, free_bytes);
}

static struct slu_unit *shift_choose_up(const struct slu_peer *peer)
{
	uint64_t free_bytes = slu_sub_floor(peer->pageable.limit_bytes, peer->pageable.held_bytes);

	if (peer->pageable.pace != SLU_PACE_AHEAD || peer->disk.held_bytes == peer->reserved_bytes)
		return NULL;
	return disk_choose(peer, SLU_SHIFT_UP, free_bytes);
}

bool slu_peer_shift_lacks_pageable(const struct slu_peer *peer)
{
	return !peer->disk_is_bad && peer->pageable.held_bytes > peer->pageable.limit_bytes &&
	       peer->disk.held_bytes < peer->disk.limit_bytes && !shift_choose_down(peer);
}

bool slu_peer_shift_gives(const struct slu_peer *peer)
{
	if (peer->shifting && peer->shifting->shift == SLU_SHIFT_DOWN)
		return true;
	return peer->shift_retry_ns || shift_choose_down(peer) ||
	       (slu_peer_shift_lacks_pageable(peer) && peer->copies_bytes);
}

static bool shift_is_void(const struct slu_peer *peer, const struct slu_unit *u)
{
	if (u->shift == SLU_SHIFT_PIN || u->shift == SLU_SHIFT_UNPIN)
		return slu_peer_pinning_is_void(peer, u);
	if (!slu_unit_is_present(u) && slu_peer_move_may_fill(peer, &peer->devices[u->device]))
		return true;
	return (peer->pageable.held_bytes > peer->pageable.limit_bytes) !=
	       (u->shift == SLU_SHIFT_DOWN);
}

static struct slu_unit *shift_choose(const struct slu_peer *peer, enum slu_shift *ret_shift)
{
	struct slu_unit *u = slu_peer_pinning_next_out(peer);

	*ret_shift = SLU_SHIFT_UNPIN;
	if (!u) {
		*ret_shift = SLU_SHIFT_DOWN;
		u = shift_choose_down(peer);
	}
	if (!u) {
		*ret_shift = SLU_SHIFT_UP;
		u = shift_choose_up(peer);
	}
	if (!u) {
		*ret_shift = SLU_SHIFT_PIN;
		u = slu_peer_pinning_next(peer);
	}
	return u;
}

static void shift_hold(struct slu_peer *peer, const struct slu_unit *u)
{
	switch (u->shift) {
	case SLU_SHIFT_DOWN:
		slu_peer_account_hold(&peer->disk, u->bytes);
		break;
	case SLU_SHIFT_UP:
		slu_peer_account_hold(&peer->pageable, u->bytes);
		break;
	case SLU_SHIFT_PIN:
		slu_peer_pinning_hold(peer, u->bytes);
		break;
	default:
		break;
	}
}

void slu_peer_shift_step(struct slu_peer *peer)
{
	struct slu_unit *u = peer->shifting;
	enum slu_shift shift;

	if (u) {
		u->cancel |= shift_is_void(peer, u);
		return;
	}
	if (!peer->is_joined || peer->shift_retry_ns)
		return;
	u = shift_choose(peer, &shift);
	if (!u)
		return;
	u->shift = (uint8_t)shift;
	u->cancel = false;
	peer->shifting = u;
	shift_hold(peer, u);
	slu_peer_push(peer, SLU_PEER_SHIFT, u->device)->unit = u;
}

static void shift_apply(struct slu_peer *peer, struct slu_unit *u, bool on_disk)
{
	struct slu_peer_device *d = &peer->devices[u->device];

	slu_peer_account_release(u->on_disk ? &peer->disk : &peer->pageable, u->bytes);
	u->on_disk = on_disk;
	if (!slu_unit_is_present(u) && u->moving == SLU_MOVING_NO)
		slu_peer_tally_set_place(d, u, on_disk ? SLU_PLACE_DISK : SLU_PLACE_RAM,
					 SLU_MOVING_NO);
}

static void backing_ended(struct slu_peer *peer, struct slu_unit *u, bool is_down,
			  enum slu_shift_result result)
{
	struct slu_peer_account *to = is_down ? &peer->disk : &peer->pageable;

	if (result == SLU_SHIFT_DONE) {
		shift_apply(peer, u, is_down);
		return;
	}
	slu_peer_account_release(to, u->bytes);
	if (result == SLU_SHIFT_REFUSED && is_down)
		slu_peer_account_refuse(to, u->bytes);
}

static void pin_ended(struct slu_peer *peer, struct slu_unit *u, enum slu_shift shift,
		      enum slu_shift_result result)
{
	if (result == SLU_SHIFT_DONE)
		u->pinned = shift == SLU_SHIFT_PIN;
	if (!u->pinned)
		slu_peer_pinning_release(peer, u->bytes);
	/* the driver has no more: the daemon gives the rest to others */
	if (result == SLU_SHIFT_REFUSED)
		slu_peer_account_refuse(&peer->pinned, u->bytes);
	peer->pinned.is_due = true;
}

void slu_peer_shift_done(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u,
			 enum slu_shift_result result)
{
	enum slu_shift shift = u->shift;

	assert(peer->shifting == u);
	peer->shifting = NULL;
	u->shift = SLU_SHIFT_NO;
	u->cancel = false;
	if (shift == SLU_SHIFT_PIN || shift == SLU_SHIFT_UNPIN)
		pin_ended(peer, u, shift, result);
	else
		backing_ended(peer, u, shift == SLU_SHIFT_DOWN, result);
	if (result == SLU_SHIFT_REFUSED || result == SLU_SHIFT_FAILED)
		peer->shift_retry_ns = now_ns + SLU_PEER_SHIFT_PAUSE_NS;
	peer->devices[u->device].account.final_is_reported = false;
	slu_peer_wake_all(peer);
	slu_peer_reports_touch(peer, now_ns);
}

static void shift_return_to_ram(struct slu_peer *peer, struct slu_unit *u)
{
	slu_peer_account_release(&peer->disk, u->bytes);
	slu_peer_account_hold(&peer->pageable, u->bytes);
	u->on_disk = false;
	__atomic_store_n(&u->host_version, 0, __ATOMIC_RELAXED);
}

void slu_peer_shift_disk_failed(struct slu_peer *peer, uint64_t now_ns)
{
	struct slu_unit *u;

	peer->disk_is_bad = true;
	for (unsigned i = 0; i < peer->n_devices; i++)
		TAILQ_FOREACH (u, &peer->devices[i].units, link)
			if (u->on_disk && u->shift == SLU_SHIFT_NO && slu_unit_is_present(u))
				shift_return_to_ram(peer, u);
	slu_peer_account_refuse(&peer->disk, 1);
	if (peer->pageable.held_bytes > peer->pageable.limit_bytes)
		peer->pageable.is_due = true;
	slu_peer_reports_touch(peer, now_ns);
}
