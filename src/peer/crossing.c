/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Mode LAUNCH: units that more than one device uses. A unit is on one device at a time and counts
 * in that device's account alone. A command on another device makes it leave, takes it over when it
 * is away, and brings it in like any other: from then on it belongs to that device.
 *
 *   on A -> leaving A    a command in front at B names it, and B crosses
 *        -> away, B's    [unit_take_over]   B brings it in like its own
 *        -> on B
 *
 * One device at a time *crosses*: the first one that asked among those whose command is served and
 * fits. Its units are not taken away before its command has run, so two commands that need the same
 * units on two devices run one after the other. A command that is not served, because its turn is
 * over or its window too small, keeps no other from crossing.
 *
 * A unit that cannot leave (mapped by the host, or named by commands that wait for the host) is
 * used where it is: the program may be about to do what those wait for as soon as its call returns.
 * Then the driver brings the bytes to the other device, as it does without a daemon.
 */

#include "peer/internal.h"
#include "place/place.h"

static bool unit_stays(const struct slu_peer *peer, const struct slu_unit *u)
{
	return slu_unit_is_present(u) &&
	       (peer->is_alone || u->frozen != SLU_FROZEN_NO || u->blocked);
}

bool slu_peer_crossing_is_at_hand(const struct slu_peer *peer, unsigned index,
				  const struct slu_unit *u)
{
	return slu_unit_is_present(u) && (u->device == index || unit_stays(peer, u));
}

bool slu_peer_crossing_is_elsewhere(const struct slu_peer *peer, const struct slu_peer_device *d,
				    const struct slu_unit *u)
{
	return &peer->devices[u->device] != d && !unit_stays(peer, u);
}

uint64_t slu_peer_crossing_elsewhere_bytes(const struct slu_peer *peer,
					   const struct slu_peer_device *d)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < d->n_command; i++)
		if (&peer->devices[d->command[i]->device] != d)
			bytes += d->command[i]->bytes;
	return bytes;
}

static bool device_may_cross(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	return d->crossing && slu_peer_move_serves_command(peer, d) &&
	       slu_peer_command_need(d) <= slu_peer_move_limit(peer, d);
}

/* The device that crosses, or NULL. */
static struct slu_peer_device *crossing_device(const struct slu_peer *peer)
{
	const struct slu_peer_device *first = NULL;

	for (unsigned i = 0; i < peer->n_devices; i++) {
		const struct slu_peer_device *d = &peer->devices[i];

		if (d->crossing && (!first || d->crossing < first->crossing) &&
		    device_may_cross(peer, d))
			first = d;
	}
	return (struct slu_peer_device *)first;
}

static bool command_names(const struct slu_peer_device *d, const struct slu_unit *u)
{
	for (size_t i = 0; i < d->n_command; i++)
		if (d->command[i] == u)
			return true;
	return false;
}

bool slu_peer_crossing_claims(const struct slu_peer *peer, const struct slu_unit *u)
{
	const struct slu_peer_device *d = crossing_device(peer);

	return d && command_names(d, u) && slu_peer_crossing_is_elsewhere(peer, d, u);
}

struct slu_unit *slu_peer_crossing_next_claimed(const struct slu_peer *peer,
						const struct slu_peer_device *from)
{
	const struct slu_peer_device *d = crossing_device(peer);

	for (size_t i = 0; d && d != from && i < d->n_command; i++) {
		struct slu_unit *u = d->command[i];

		if (&peer->devices[u->device] == from && slu_place_may_leave(u))
			return u;
	}
	return NULL;
}

static void unit_take_over(struct slu_peer *peer, uint64_t now_ns, struct slu_peer_device *d,
			   struct slu_unit *u)
{
	struct slu_peer_device *from = &peer->devices[u->device];

	TAILQ_REMOVE(&from->units, u, link);
	slu_peer_working_drop(from, u);
	slu_peer_ahead_end(from, u, SLU_AHEAD_DROPPED);
	slu_peer_tally_remove(from, u);
	__atomic_store_n(&u->device, (uint8_t)(d - peer->devices), __ATOMIC_RELAXED);
	u->last_use = d->n_launches;
	slu_foresight_forget(u);
	u->blocked = false;
	u->wanted = true;
	TAILQ_INSERT_TAIL(&d->units, u, link);
	slu_peer_tally_add(d, u);
	slu_peer_working_add(d, now_ns, u);
	d->wake_is_due = true;
	slu_peer_reports_touch(peer, now_ns);
}

void slu_peer_crossing_step(struct slu_peer *peer, uint64_t now_ns)
{
	struct slu_peer_device *d = crossing_device(peer);

	for (size_t i = 0; d && i < d->n_command; i++)
		if (slu_peer_crossing_is_elsewhere(peer, d, d->command[i]) &&
		    slu_unit_is_away(d->command[i]))
			unit_take_over(peer, now_ns, d, d->command[i]);
}

void slu_peer_crossing_ask(struct slu_peer *peer, uint64_t now_ns, struct slu_peer_device *d)
{
	for (size_t i = 0; i < d->n_command && !d->crossing; i++)
		if (slu_peer_crossing_is_elsewhere(peer, d, d->command[i]))
			d->crossing = ++peer->n_crossings;
	if (d->crossing)
		slu_peer_crossing_step(peer, now_ns);
}

void slu_peer_crossing_end(struct slu_peer *peer, struct slu_peer_device *d)
{
	if (!d->crossing)
		return;
	d->crossing = 0;
	slu_peer_wake_all(peer);
}
