/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sums over the units of a device, kept as the units change. A program may have tens of thousands
 * of units, and a step follows each of its allocations: a step looks at single units only when it
 * chooses one to move, or in a rare state (frozen, blocked). Code that goes through the list calls
 * slu_peer_tally_note_scan(), which the tests count.
 *
 * A unit counts from its allocation to its release. Its place, its move and its reason to be frozen
 * change only through the functions here.
 */

#include <assert.h>

#include "peer/internal.h"

void slu_peer_tally_add(struct slu_peer_device *d, const struct slu_unit *u)
{
	d->owned_bytes += u->bytes;
	d->place_bytes[u->place] += u->bytes;
	d->frozen_bytes[u->frozen] += u->bytes;
	d->n_absent += !slu_unit_is_present(u);
	d->n_unwatched_absent += !slu_unit_is_present(u) && !u->watched;
	d->largest_bytes = SLU_MAX(d->largest_bytes, u->bytes);
}

void slu_peer_tally_remove(struct slu_peer_device *d, struct slu_unit *u)
{
	d->owned_bytes -= u->bytes;
	d->place_bytes[u->place] -= u->bytes;
	d->frozen_bytes[u->frozen] -= u->bytes;
	d->n_absent -= !slu_unit_is_present(u);
	d->n_unwatched_absent -= !slu_unit_is_present(u) && !u->watched;
	if (u->bytes == d->largest_bytes)
		d->largest_is_stale = true;
	slu_shadow_remove(&d->shadow, u);
}

void slu_peer_tally_set_place(struct slu_peer_device *d, struct slu_unit *u, enum slu_place place,
			      enum slu_moving moving)
{
	bool was_absent = !slu_unit_is_present(u), is_absent;

	d->place_bytes[u->place] -= u->bytes;
	d->place_bytes[place] += u->bytes;
	u->place = (uint8_t)place;
	u->moving = (uint8_t)moving;
	is_absent = !slu_unit_is_present(u);
	d->n_absent = d->n_absent - was_absent + is_absent;
	if (!u->watched)
		d->n_unwatched_absent = d->n_unwatched_absent - was_absent + is_absent;
	if (!u->working || was_absent == is_absent)
		return;
	d->n_working_absent += is_absent ? 1 : -1;
	d->working_absent_bytes += is_absent ? u->bytes : -u->bytes;
}

void slu_peer_tally_set_frozen(struct slu_peer_device *d, struct slu_unit *u, enum slu_frozen why)
{
	d->frozen_bytes[u->frozen] -= u->bytes;
	d->frozen_bytes[why] += u->bytes;
	u->frozen = (uint8_t)why;
}

bool slu_peer_tally_has_frozen(const struct slu_peer_device *d)
{
	return d->frozen_bytes[SLU_FROZEN_NO] != d->owned_bytes;
}

uint64_t slu_peer_tally_unbacked_bytes(const struct slu_peer *peer)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < peer->n_devices; i++)
		bytes += peer->devices[i].frozen_bytes[SLU_FROZEN_NO_BACKING];
	return bytes;
}

uint64_t slu_peer_tally_largest_bytes(struct slu_peer_device *d)
{
	const struct slu_unit *u;

	if (!d->largest_is_stale)
		return d->largest_bytes;
	slu_peer_tally_note_scan(d);
	d->largest_bytes = 0;
	d->largest_is_stale = false;
	TAILQ_FOREACH (u, &d->units, link)
		d->largest_bytes = SLU_MAX(d->largest_bytes, u->bytes);
	return d->largest_bytes;
}

uint64_t slu_peer_tally_fixed_bytes(const struct slu_peer_device *d)
{
	uint64_t frozen = d->owned_bytes - d->frozen_bytes[SLU_FROZEN_NO];

	/* headroom without backing is frozen, too */
	return SLU_MIN(frozen + d->device_only_bytes, d->owned_bytes);
}

void slu_peer_tally_check(const struct slu_peer_device *d)
{
	uint64_t places[_SLU_PLACE_MAX] = { 0 }, frozen[_SLU_FROZEN_MAX] = { 0 };
	uint64_t owned = 0, working = 0, working_absent = 0, largest = 0;
	size_t n_absent = 0, n_unwatched_absent = 0, n_working_absent = 0;
	const struct slu_unit *u;

	TAILQ_FOREACH (u, &d->units, link) {
		owned += u->bytes;
		places[u->place] += u->bytes;
		frozen[u->frozen] += u->bytes;
		largest = SLU_MAX(largest, u->bytes);
		n_absent += !slu_unit_is_present(u);
		n_unwatched_absent += !slu_unit_is_present(u) && !u->watched;
		if (u->working) {
			working += u->bytes;
			n_working_absent += !slu_unit_is_present(u);
			working_absent += slu_unit_is_present(u) ? 0 : u->bytes;
		}
		assert(!u->blocked || d->has_blocked || d->gate == SLU_PEER_GATE_DRAINING);
	}
	assert(owned == d->owned_bytes);
	assert(working == d->working_bytes);
	assert(n_absent == d->n_absent);
	assert(n_unwatched_absent == d->n_unwatched_absent);
	assert(n_working_absent == d->n_working_absent);
	assert(working_absent == d->working_absent_bytes);
	assert(d->largest_is_stale || largest == d->largest_bytes);
	for (unsigned i = 0; i < _SLU_PLACE_MAX; i++)
		assert(places[i] == d->place_bytes[i]);
	for (unsigned i = 0; i < _SLU_FROZEN_MAX; i++)
		assert(frozen[i] == d->frozen_bytes[i]);
}
