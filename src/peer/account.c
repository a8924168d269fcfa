/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An account: the limit that the daemon set, and what is held. Bytes are held from before the
 * driver is asked until after it has released them (rule 3). SUMS answers every LIMIT at once and
 * follows each unit that moved. It says `final` when more is held than allowed and nothing can
 * leave now (rule 8).
 */

#include <assert.h>

#include "peer/internal.h"
#include "place/place.h"

struct slu_peer_account *slu_peer_account_find(struct slu_peer *peer, struct slu_account name)
{
	switch (name.tier) {
	case SLU_TIER_DEVICE:
		return name.device < peer->n_devices ? &peer->devices[name.device].account : NULL;
	case SLU_TIER_PINNED:
		return &peer->pinned;
	case SLU_TIER_PAGEABLE:
		return &peer->pageable;
	case SLU_TIER_DISK:
		return &peer->disk;
	default:
		return NULL;
	}
}

void slu_peer_account_void(struct slu_peer_account *a)
{
	a->limit_bytes = a->goal_bytes = a->held_bytes;
	a->goal_is_past = true;
	a->seq = 0;
	a->pace = SLU_PACE_NONE;
	a->refused_bytes = 0;
	a->is_due = false;
	a->final_is_reported = false;
}

void slu_peer_account_refuse(struct slu_peer_account *a, uint64_t bytes)
{
	a->limit_bytes = SLU_MIN(a->limit_bytes, a->held_bytes);
	a->refused_bytes = bytes;
	a->is_due = true;
}

void slu_peer_account_hold(struct slu_peer_account *a, uint64_t bytes)
{
	a->held_bytes += bytes;
	a->final_is_reported = false;
}

void slu_peer_account_release(struct slu_peer_account *a, uint64_t bytes)
{
	assert(a->held_bytes >= bytes);
	/* others wait for these bytes: report that they are free */
	if (a->held_bytes > a->limit_bytes)
		a->is_due = true;
	a->held_bytes -= bytes;
	a->final_is_reported = false;
}

/* The bytes on the device that cannot leave now; never more than is held. */
uint64_t slu_peer_account_floor(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	const struct slu_unit *u;
	uint64_t bytes = 0;

	(void)peer;
	if (d->mode != SLU_MODE_LAUNCH && !slu_peer_turn_at_rest(d))
		return d->place_bytes[SLU_PLACE_DEVICE] - d->leaving_bytes;
	if (d->place_bytes[SLU_PLACE_DEVICE] == 0)
		return 0;
	slu_peer_tally_note_scan(d);
	TAILQ_FOREACH (u, &d->units, link) {
		if (u->place != SLU_PLACE_DEVICE || u->moving == SLU_MOVING_OUT)
			continue;
		if (u->frozen != SLU_FROZEN_NO || u->n_named || u->blocked)
			bytes += u->bytes;
	}
	return bytes;
}

/*
 * At rest, bytes that were reported as floor can leave now. The daemon asks for nothing that it
 * believes to be floor, so no other event would lead to a report. In a turn the REST reports it.
 */
bool slu_peer_account_floor_fell(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	return d->account.reported_floor_bytes && d->gate == SLU_PEER_GATE_SHUT &&
	       slu_peer_account_floor(peer, d) < d->account.reported_floor_bytes;
}

static uint64_t pinned_floor(const struct slu_peer *peer)
{
	uint64_t bytes = peer->staged_bytes;

	for (unsigned i = 0; i < peer->n_devices; i++) {
		const struct slu_peer_device *d = &peer->devices[i];

		if (d->mode != SLU_MODE_LAUNCH && !slu_peer_turn_at_rest(d))
			bytes += d->place_bytes[SLU_PLACE_MAPPED];
	}
	return bytes;
}

/* A unit on the device waits for its new backing and may leave a moment later. */
static bool device_shifts_unit(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	return peer->shifting && &peer->devices[peer->shifting->device] == d &&
	       slu_unit_is_present(peer->shifting);
}

/* Whether a unit in @place leaves now, or will without any further event. */
static bool device_gives(const struct slu_peer *peer, const struct slu_peer_device *d,
			 enum slu_place place)
{
	if (d->retry_ns[OUT] || device_shifts_unit(peer, d))
		return true;
	for (unsigned k = 0; k < SLU_PEER_MOVES_MAX && d->n_moving[OUT]; k++)
		if (d->moving[OUT][k] && d->moving[OUT][k]->place == place)
			return true;
	if (d->mode != SLU_MODE_LAUNCH && !slu_peer_turn_at_rest(d))
		return false;
	if (d->place_bytes[place] == 0)
		return false;
	slu_peer_tally_note_scan(d);
	return slu_place_next_out(&d->units, place, 1, &d->foresight) != NULL;
}

static bool pinned_gives(const struct slu_peer *peer)
{
	if (peer->copies_bytes)
		return true;
	for (unsigned i = 0; i < peer->n_devices; i++)
		if (device_gives(peer, &peer->devices[i], SLU_PLACE_MAPPED))
			return true;
	return false;
}

static void sums_push(struct slu_peer *peer, struct slu_account name, struct slu_peer_account *a,
		      uint64_t floor_bytes, bool is_final)
{
	struct slu_peer_record *r = slu_peer_push_message(peer, SLU_MSG_SUMS, name.device);

	a->is_due = false;
	a->final_is_reported = is_final;
	if (!r)
		return;
	r->sums = (struct slu_msg_sums){
		.account = name,
		.is_final = is_final,
		.seq = a->seq,
		.ceiling_bytes = SLU_MAX(a->limit_bytes, a->held_bytes),
		.held_bytes = a->held_bytes,
		.floor_bytes = SLU_MIN(floor_bytes, a->held_bytes),
		.refused_bytes = a->refused_bytes,
	};
	a->refused_bytes = 0;
	a->reported_held_bytes = a->held_bytes;
	a->reported_floor_bytes = r->sums.floor_bytes;
}

void slu_peer_account_step(struct slu_peer *peer)
{
	struct slu_peer_account *a;
	bool is_final;

	for (unsigned i = 0; i < peer->n_devices; i++) {
		struct slu_peer_device *d = &peer->devices[i];

		a = &d->account;
		is_final =
			a->held_bytes > a->limit_bytes && !device_gives(peer, d, SLU_PLACE_DEVICE);
		if (a->is_due || (is_final && !a->final_is_reported))
			sums_push(peer, (struct slu_account){ SLU_TIER_DEVICE, (uint8_t)i }, a,
				  slu_peer_account_floor(peer, d), is_final);
	}

	a = &peer->pinned;
	is_final = a->held_bytes > a->limit_bytes && !pinned_gives(peer);
	if (a->is_due || (is_final && !a->final_is_reported))
		sums_push(peer, (struct slu_account){ SLU_TIER_PINNED, 0 }, a, pinned_floor(peer),
			  is_final);

	/* backing is held until its unit is released, or shifts to disk */
	a = &peer->pageable;
	is_final = a->held_bytes > a->limit_bytes && !slu_peer_shift_gives(peer);
	if (a->is_due || (is_final && !a->final_is_reported))
		sums_push(peer, (struct slu_account){ SLU_TIER_PAGEABLE, 0 }, a, a->held_bytes,
			  is_final);

	a = &peer->disk;
	is_final = a->held_bytes > a->limit_bytes;
	if (a->is_due || (is_final && !a->final_is_reported))
		sums_push(peer, (struct slu_account){ SLU_TIER_DISK, 0 }, a, a->held_bytes,
			  is_final);
}

int slu_peer_account_stage(struct slu_peer *peer, uint64_t now_ns, uint64_t bytes)
{
	struct slu_peer_account *a = &peer->pinned;

	if (bytes > peer->staged_bytes &&
	    a->held_bytes + (bytes - peer->staged_bytes) > a->limit_bytes)
		return SLU_PEER_E_WAIT;
	slu_peer_account_release(a, peer->staged_bytes);
	slu_peer_account_hold(a, bytes);
	peer->staged_bytes = bytes;
	slu_peer_reports_touch(peer, now_ns);
	return 0;
}

bool slu_peer_account_must_unstage(const struct slu_peer *peer)
{
	return peer->is_joined && peer->staged_bytes &&
	       peer->pinned.held_bytes - peer->copies_bytes > peer->pinned.limit_bytes;
}
