/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Mode LAUNCH: the working set, the units that recent commands named. Next to other programs it is
 * the need that counts (rule 20): the program may own much more, and the one command that waits may
 * need much less, and each command would empty and fill a window of that size.
 *
 * Recent means in the last two seconds or in the last turn. Only time with the gate open counts:
 * off turn nothing grows old, and a turn begins with the set that the last one ended with. A list
 * in the order of the last naming holds the set. A command moves its own units to the end, and the
 * old ones are at the front; no other unit is looked at.
 *
 * A change of at most an eighth is not reported to the daemon, unless a command waits.
 */

#include "peer/internal.h"

#define WINDOW_NS    (2 * SLU_NS_PER_S)
#define REPORT_PARTS 8

static uint64_t running_ns(const struct slu_peer_device *d, uint64_t now_ns)
{
	if (d->gate != SLU_PEER_GATE_OPEN)
		return d->ran_ns;
	return d->ran_ns + slu_sub_floor(now_ns, d->opened_ns);
}

void slu_peer_working_opened(struct slu_peer_device *d, uint64_t now_ns)
{
	d->opened_ns = now_ns;
}

void slu_peer_working_shut(struct slu_peer_device *d, uint64_t now_ns)
{
	d->ran_ns += slu_sub_floor(now_ns, d->opened_ns);
}

void slu_peer_working_drop(struct slu_peer_device *d, struct slu_unit *u)
{
	if (!u->working)
		return;
	TAILQ_REMOVE(&d->working, u, working_link);
	d->working_bytes -= u->bytes;
	if (!slu_unit_is_present(u)) {
		d->n_working_absent--;
		d->working_absent_bytes -= u->bytes;
	}
	u->working = false;
}

void slu_peer_working_add(struct slu_peer_device *d, uint64_t now_ns, struct slu_unit *u)
{
	if (u->working) {
		TAILQ_REMOVE(&d->working, u, working_link);
	} else {
		d->working_bytes += u->bytes;
		if (!slu_unit_is_present(u)) {
			d->n_working_absent++;
			d->working_absent_bytes += u->bytes;
		}
		u->working = true;
	}
	TAILQ_INSERT_TAIL(&d->working, u, working_link);
	u->named_ns = running_ns(d, now_ns);
	u->named_turn = d->n_turns;
}

void slu_peer_working_step(struct slu_peer_device *d, uint64_t now_ns)
{
	uint64_t ran_ns = running_ns(d, now_ns);
	struct slu_unit *u;

	while ((u = TAILQ_FIRST(&d->working)) && u->named_turn != d->n_turns &&
	       slu_sub_floor(ran_ns, u->named_ns) > WINDOW_NS)
		slu_peer_working_drop(d, u);
}

uint64_t slu_peer_working_reported(const struct slu_peer_device *d)
{
	uint64_t reported = d->want.working_bytes, now = d->working_bytes;
	uint64_t change = now > reported ? now - reported : reported - now;

	/* a window that lacks one unit causes as many exchanges as one that lacks many */
	if (d->n_command && now > reported)
		return now;
	return change > reported / REPORT_PARTS ? now : SLU_MIN(reported, d->owned_bytes);
}
