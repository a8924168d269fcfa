/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Modes ALL and MAPPED: calls pass before all units of the turn are present (rule 49). A call whose
 * touch set is proven names all units that it may touch. When these are present it passes, while
 * the others still come in.
 *
 * Why that is safe: from the first such call to the next rest no unit leaves, so a unit that was
 * present stays so for as long as the call may run. A unit that comes in meanwhile was absent, so
 * no call that passed may touch it. Units that calls may use at addresses which the front end does
 * not see are in no touch set: nothing passes while one of them is absent.
 *
 * Where a unit must leave or be mapped for others of the same turn, that needs a rest, and nothing
 * passes early. So it is without a daemon, where programs give up their memory for each other, and
 * on several devices, whose units commands of one device may use on another.
 */

#include "peer/internal.h"

bool slu_peer_early_is_possible(const struct slu_peer *peer, unsigned index)
{
	const struct slu_peer_device *d = &peer->devices[index];

	return d->mode != SLU_MODE_LAUNCH && peer->n_devices == 1 && peer->is_joined &&
	       !peer->is_alone && d->account.held_bytes <= d->account.limit_bytes &&
	       slu_peer_move_maps_none(peer, d);
}

static bool early_may_pass(const struct slu_peer *peer, unsigned index)
{
	const struct slu_peer_device *d = &peer->devices[index];

	return (d->gate == SLU_PEER_GATE_PARTIAL || slu_peer_turn_at_rest(d)) &&
	       slu_peer_turn_may_run(peer, d) && slu_peer_early_is_possible(peer, index) &&
	       d->n_unwatched_absent == 0;
}

static bool units_are_present(struct slu_unit *const *units, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!slu_unit_is_present(units[i]))
			return false;
	return true;
}

static void early_start(struct slu_peer *peer, uint64_t now_ns, unsigned index)
{
	struct slu_peer_device *d = &peer->devices[index];

	d->gate = SLU_PEER_GATE_PARTIAL;
	d->is_early = true;
	slu_peer_working_opened(d, now_ns);
	slu_peer_push(peer, SLU_PEER_START, index);
}

int slu_peer_early_enter(struct slu_peer *peer, uint64_t now_ns, unsigned device,
			 struct slu_unit *const *units, size_t n_units)
{
	struct slu_peer_device *d = &peer->devices[device];
	int r = slu_peer_turn_want_open(peer, now_ns, device);

	if (r != SLU_PEER_E_WAIT)
		return r;
	if (!early_may_pass(peer, device) || !units_are_present(units, n_units)) {
		slu_peer_ahead_expect(peer, device, units, n_units);
		return SLU_PEER_E_WAIT;
	}
	if (d->gate == SLU_PEER_GATE_SHUT)
		early_start(peer, now_ns, device);
	/* threads that still wait say so when they are woken */
	d->is_wanted = false;
	return 0;
}
