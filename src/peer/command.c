/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Mode LAUNCH: a command names its units and runs when all of them are present. One command a
 * device is *in front*: its units come in, and others leave for them (rule 29). Two commands served
 * at once could each hold what the other one waits for. Another command passes if all of its units
 * happen to be present.
 */

#include <stdlib.h>
#include <string.h>

#include "peer/internal.h"

static bool command_is_front(const struct slu_peer_device *d, struct slu_unit *const *units,
			     size_t n)
{
	return d->n_command == n && memcmp(d->command, units, n * sizeof(*units)) == 0;
}

void slu_peer_command_drop(struct slu_peer *peer, struct slu_peer_device *d)
{
	for (size_t i = 0; i < d->n_command; i++)
		if (&peer->devices[d->command[i]->device] == d)
			d->command[i]->wanted = false;
	free(d->command);
	d->command = NULL;
	d->n_command = 0;
	d->wake_is_due = true;
	slu_peer_crossing_end(peer, d);
}

/* Its units join the working set now: the daemon must know what the window has to hold. */
static bool command_put_in_front(struct slu_peer *peer, struct slu_peer_device *d, uint64_t now_ns,
				 struct slu_unit *const *units, size_t n)
{
	d->command = malloc(n * sizeof(*units));
	if (!d->command)
		return false;
	memcpy(d->command, units, n * sizeof(*units));
	d->n_command = n;
	d->command_bytes = 0;
	for (size_t i = 0; i < n; i++) {
		d->command_bytes += units[i]->bytes;
		if (&peer->devices[units[i]->device] != d)
			continue;
		units[i]->wanted = true;
		slu_peer_ahead_end(d, units[i], SLU_AHEAD_HIT);
		/* a unit that leaves for a guess can stay */
		if (units[i]->moving == SLU_MOVING_OUT &&
		    d->account.held_bytes <= d->account.limit_bytes &&
		    !slu_peer_crossing_claims(peer, units[i]))
			units[i]->cancel = true;
		slu_peer_working_add(d, now_ns, units[i]);
	}
	return true;
}

/* The bytes that the device must hold for the command in front: its units and the floor. */
uint64_t slu_peer_command_need(const struct slu_peer_device *d)
{
	uint64_t bytes = d->command_bytes;
	const struct slu_unit *u;

	if (!d->has_blocked && !slu_peer_tally_has_frozen(d))
		return bytes;
	slu_peer_tally_note_scan(d);
	TAILQ_FOREACH (u, &d->units, link)
		if (!u->wanted && u->place == SLU_PLACE_DEVICE &&
		    (u->frozen != SLU_FROZEN_NO || u->blocked))
			bytes += u->bytes;
	return bytes;
}

static bool units_are_at_hand(const struct slu_peer *peer, unsigned device,
			      struct slu_unit *const *units, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!slu_peer_crossing_is_at_hand(peer, device, units[i]))
			return false;
	return true;
}

static void unit_named(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u)
{
	struct slu_peer_device *d = &peer->devices[u->device];

	u->n_named++;
	slu_peer_ahead_named(d, u);
	slu_peer_working_add(d, now_ns, u);
}

int slu_peer_command_name(struct slu_peer *peer, uint64_t now_ns, unsigned device,
			  struct slu_unit *const *units, size_t n_units)
{
	struct slu_peer_device *d = &peer->devices[device];

	if (d->gate == SLU_PEER_GATE_OPEN && slu_peer_turn_may_run(peer, d) &&
	    units_are_at_hand(peer, device, units, n_units)) {
		if (d->n_command && command_is_front(d, units, n_units))
			slu_peer_command_drop(peer, d);
		slu_peer_command_advance(d, 1);
		for (size_t i = 0; i < n_units; i++)
			unit_named(peer, now_ns, units[i]);
		for (size_t i = 0; i < n_units; i++)
			slu_peer_ahead_judge(&peer->devices[units[i]->device], units[i]);
		slu_peer_turn_progress(peer, now_ns, device, true);
		slu_peer_reports_touch(peer, now_ns);
		return 0;
	}
	if (now_ns < d->denied_until_ns) {
		slu_peer_command_forget(peer, now_ns, device, units, n_units);
		return SLU_PEER_E_DENIED;
	}
	if (n_units == 0)
		d->is_wanted = true;
	else if (d->n_command == 0 && !command_put_in_front(peer, d, now_ns, units, n_units))
		return SLU_PEER_E_DENIED;
	slu_peer_crossing_ask(peer, now_ns, d);
	return SLU_PEER_E_WAIT;
}

void slu_peer_command_passed(struct slu_peer *peer, uint64_t now_ns, unsigned device,
			     struct slu_unit *const *units, size_t n_units)
{
	struct slu_peer_device *d = &peer->devices[device];

	slu_peer_command_advance(d, 1);
	for (size_t i = 0; i < n_units; i++)
		if (units[i]->device == device) {
			slu_peer_ahead_named(d, units[i]);
			slu_peer_working_add(d, now_ns, units[i]);
		}
	for (size_t i = 0; i < n_units; i++)
		if (units[i]->device == device)
			slu_peer_ahead_judge(d, units[i]);
	slu_peer_reports_touch(peer, now_ns);
}

void slu_peer_command_unname(struct slu_peer *peer, struct slu_unit *const *units, size_t n_units)
{
	for (size_t i = 0; i < n_units; i++) {
		struct slu_peer_device *d = &peer->devices[units[i]->device];

		units[i]->n_named--;
		/* a unit that could not leave may be able to now */
		d->account.final_is_reported = false;
		d->wake_is_due = d->wake_is_due || d->n_command;
		/* a command of another device used it here, where everything is at rest already */
		if (slu_peer_account_floor_fell(peer, d))
			peer->reports_ns = 0;
	}
}

void slu_peer_command_forget(struct slu_peer *peer, uint64_t now_ns, unsigned device,
			     struct slu_unit *const *units, size_t n_units)
{
	struct slu_peer_device *d = &peer->devices[device];

	(void)now_ns;
	if (n_units && command_is_front(d, units, n_units))
		slu_peer_command_drop(peer, d);
	d->is_wanted = false;
}
