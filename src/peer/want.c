/* SPDX-License-Identifier: Apache-2.0 */

/*
 * WANT states a need, not a change. It is sent when the need changed, and again after each event
 * that might have made the daemon forget or pass over it (a LIMIT, a REST, a new connection, a
 * refusal), as long as it is unmet.
 *
 * Backing credit is requested ahead, for some units at a time, so that most allocations send
 * nothing. The daemon may deny a request ahead where it would grant the allocation itself: then the
 * first allocation is requested alone, and fails only if that is denied too.
 */

#include <string.h>

#include "peer/internal.h"

bool slu_peer_want_is_runnable(const struct slu_peer *peer, unsigned index)
{
	const struct slu_peer_device *d = &peer->devices[index];

	if (d->is_wanted || d->n_command || slu_peer_alloc_waiting(peer, index))
		return true;
	if (d->gate == SLU_PEER_GATE_OPEN)
		return !d->idle_is_reported;
	return slu_peer_turn_may_run(peer, d) && d->mode != SLU_MODE_LAUNCH && d->n_absent > 0;
}

/* The program waits for something that only the daemon can give. */
bool slu_peer_want_is_unmet(const struct slu_peer *peer, unsigned index)
{
	const struct slu_peer_device *d = &peer->devices[index];
	const struct slu_unit *waiting;

	if (d->gate != SLU_PEER_GATE_OPEN)
		return d->is_wanted || d->n_command ||
		       (slu_peer_turn_may_run(peer, d) && d->n_absent > 0 &&
			d->mode != SLU_MODE_LAUNCH);
	if (d->n_command && slu_peer_command_need(d) > slu_peer_move_limit(peer, d))
		return true;
	waiting = slu_peer_alloc_waiting(peer, index);
	return waiting && d->account.held_bytes + waiting->bytes > d->account.limit_bytes;
}

void slu_peer_want_fill(struct slu_peer *peer, unsigned index, struct slu_msg_want *ret_want)
{
	struct slu_peer_device *d = &peer->devices[index];
	uint64_t units = d->owned_bytes + slu_peer_crossing_elsewhere_bytes(peer, d);
	uint64_t largest = slu_peer_tally_largest_bytes(d);
	uint64_t fixed = slu_peer_tally_fixed_bytes(d);
	const struct slu_unit *u;

	TAILQ_FOREACH (u, &peer->waiting_allocs, link) {
		if (u->device != index || u->alloc_wait != SLU_ALLOC_WAIT_DEVICE || u->denied)
			continue;
		units += u->bytes;
		largest = SLU_MAX(largest, u->bytes);
		fixed += u->device_only ? u->bytes : 0;
	}
	*ret_want = (struct slu_msg_want){
		.account = { SLU_TIER_DEVICE, (uint8_t)index },
		.is_runnable = slu_peer_want_is_runnable(peer, index),
		.min_bytes = d->mode == SLU_MODE_LAUNCH ? SLU_MIN(slu_peer_command_need(d), units)
							: units,
		.all_bytes = units + d->paged_bytes,
		.working_bytes =
			slu_peer_move_uses_map(peer, d) ? fixed : slu_peer_working_reported(d),
		.largest_bytes = largest,
	};
}

bool slu_peer_want_is_stale(struct slu_peer *peer, unsigned index)
{
	struct slu_msg_want want;

	slu_peer_want_fill(peer, index, &want);
	return memcmp(&want, &peer->devices[index].want, sizeof(want)) != 0;
}

uint64_t slu_peer_want_window_bytes(const struct slu_peer_device *d)
{
	return SLU_MAX(d->want.min_bytes, d->want.working_bytes);
}

static bool want_is_larger(const struct slu_msg_want *a, const struct slu_msg_want *b)
{
	return a->min_bytes > b->min_bytes || a->all_bytes > b->all_bytes ||
	       a->working_bytes > b->working_bytes;
}

bool slu_peer_want_grew(struct slu_peer *peer, unsigned index)
{
	struct slu_msg_want want;

	slu_peer_want_fill(peer, index, &want);
	return want_is_larger(&want, &peer->devices[index].want);
}

void slu_peer_want_step(struct slu_peer *peer, uint64_t now_ns, unsigned index)
{
	struct slu_peer_device *d = &peer->devices[index];
	struct slu_peer_record *r;
	struct slu_msg_want want;

	if (!peer->is_connected || (!d->want_is_due && !slu_peer_want_is_unmet(peer, index)))
		return;
	slu_peer_want_fill(peer, index, &want);
	if (!d->want_is_due && d->want_is_current && memcmp(&want, &d->want, sizeof(want)) == 0)
		return;
	if (want_is_larger(&want, &d->want))
		d->grows_until_ns = SLU_MAX(d->grows_until_ns, now_ns + peer->config.answer_ns);
	d->want = want;
	d->want_is_current = true;
	/* no thread waits for this one: it only takes a hint back */
	if (d->want_ends_idle && !slu_peer_want_is_unmet(peer, index))
		peer->n_reports++;
	d->want_is_due = d->want_ends_idle = false;
	r = slu_peer_push_message(peer, SLU_MSG_WANT, index);
	r->want = want;
}

/* -- backing ------------------------------------------------------------------------------------
 */

static const struct slu_unit *first_backing_alloc(const struct slu_peer *peer)
{
	const struct slu_unit *u;

	TAILQ_FOREACH (u, &peer->waiting_allocs, link)
		if (u->alloc_wait == SLU_ALLOC_WAIT_BACKING && !u->denied)
			return u;
	return NULL;
}

/* The total backing credit that is needed; 0: there is enough. */
static uint64_t backing_want(const struct slu_peer *peer, uint64_t *ret_min)
{
	const struct slu_unit *first = first_backing_alloc(peer), *u;
	uint64_t held = peer->pageable.held_bytes, waiting = 0, ahead;

	if (!first) {
		uint64_t unbacked = peer->thaw_is_denied ? 0 : slu_peer_tally_unbacked_bytes(peer);

		*ret_min = held + unbacked;
		return unbacked && *ret_min > peer->pageable.limit_bytes ? *ret_min : 0;
	}
	*ret_min = held + first->bytes;
	if (*ret_min <= peer->pageable.limit_bytes || slu_peer_shift_has_credit(peer, first->bytes))
		return 0;
	if (peer->backing_is_exact)
		return *ret_min;
	TAILQ_FOREACH (u, &peer->waiting_allocs, link)
		if (u->alloc_wait == SLU_ALLOC_WAIT_BACKING && !u->denied)
			waiting += u->bytes;
	ahead = SLU_MIN((SLU_PEER_BACKING_STEP - 1) * first->bytes, SLU_PEER_BACKING_STEP_MAX);
	return held + waiting + ahead;
}

void slu_peer_want_step_backing(struct slu_peer *peer)
{
	uint64_t min, want = backing_want(peer, &min);
	struct slu_peer_record *r;

	if (!peer->is_connected || want == 0 ||
	    (peer->backing_want_is_current && want == peer->backing_want_bytes))
		return;
	peer->backing_want_is_current = true;
	peer->backing_want_bytes = want;
	r = slu_peer_push_message(peer, SLU_MSG_WANT, 0);
	r->want = (struct slu_msg_want){
		.account = { SLU_TIER_PAGEABLE, 0 },
		.is_runnable = 1,
		.min_bytes = min,
		.all_bytes = want,
		.largest_bytes = peer->disk_is_bad
					 ? 0
					 : peer->disk.held_bytes + want - peer->pageable.held_bytes,
	};
}

void slu_peer_want_backing_denied(struct slu_peer *peer)
{
	const struct slu_unit *first = first_backing_alloc(peer);
	struct slu_unit *u;

	peer->backing_want_is_current = false;
	if (!first) {
		peer->thaw_is_denied = true;
		return;
	}
	if (!peer->backing_is_exact) {
		peer->backing_is_exact = true;
		return;
	}
	TAILQ_FOREACH (u, &peer->waiting_allocs, link)
		if (u == first)
			u->denied = true;
	peer->backing_is_exact = false;
	slu_peer_wake_all(peer);
}
