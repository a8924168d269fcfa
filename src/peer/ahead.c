/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Mode LAUNCH: units come in before the command that names them is submitted, while the commands
 * before it run. Commands that wait for their queue make the next units certain; the past makes
 * them a guess (place/foresight.h).
 *
 * All this stays inside the window, behind the command in front. A unit leaves for it only if it is
 * needed later, and not if the last command named it, because that may still run. A unit that came
 * early takes bytes in which others could stay, so that those must come again: that is the price.
 * Certain units take an eighth of the window at most, or one unit. Guessed units take 1/16 of what
 * does not fit, which adds as much to the bytes that come in, or 1/64 of the window, which is
 * little in any case. So a program of few large units brings in what it must, and a program of many
 * keeps the bus busy while its kernels run.
 *
 * A wrong guess moves a unit in and out for nothing. One wrong guess is allowed for every two right
 * ones, and a few at the beginning; beyond that no guessed unit comes in until the guesses are
 * better.
 */

#include "peer/internal.h"
#include "place/place.h"

#define CERTAIN_PARTS 8	 /* of the window */
#define GUESSED_PARTS 64 /* of the window, or … */
#define LACKING_PARTS 16 /* … of what does not fit */
#define HITS_A_MISS   2
#define MISSES_FREE   4
#define COUNT_MAX     64 /* then all counts are halved: the past counts less */

bool slu_peer_ahead_is_crowded(const struct slu_peer *peer, unsigned index)
{
	const struct slu_peer_device *d = &peer->devices[index];

	return d->mode == SLU_MODE_LAUNCH && !peer->is_alone && d->n_working_absent > 0;
}

bool slu_peer_ahead_is_active(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	return d->mode == SLU_MODE_LAUNCH && peer->is_joined && !peer->is_alone &&
	       d->gate == SLU_PEER_GATE_OPEN && slu_peer_turn_may_run(peer, d) &&
	       !d->grows_until_ns &&
	       d->account.held_bytes - d->leaving_bytes <= d->account.limit_bytes &&
	       d->n_missed * HITS_A_MISS <= d->n_hit + MISSES_FREE * HITS_A_MISS;
}

struct slu_unit *slu_peer_ahead_next(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	uint64_t limit = d->account.limit_bytes, certain = limit, guessed;

	if (!d->n_working_absent || !slu_peer_ahead_is_active(peer, d))
		return NULL;
	if (d->ahead_bytes)
		certain = slu_sub_floor(limit / CERTAIN_PARTS, d->ahead_bytes);
	guessed = SLU_MAX(limit / GUESSED_PARTS, d->working_absent_bytes / LACKING_PARTS);
	guessed = slu_sub_floor(guessed, d->ahead_bytes);
	if (!certain && !guessed)
		return NULL;
	slu_peer_tally_note_scan(d);
	return slu_place_next_ahead(&d->units, certain, guessed, &d->foresight);
}

struct slu_unit *slu_peer_ahead_next_out(const struct slu_peer *peer,
					 const struct slu_peer_device *d)
{
	const struct slu_unit *coming = slu_peer_ahead_next(peer, d);
	uint64_t held = d->account.held_bytes - d->leaving_bytes;

	if (!coming)
		return NULL;
	slu_peer_tally_note_scan(d);
	return slu_place_next_out_for(&d->units, coming,
				      slu_sub_floor(held + coming->bytes, d->account.limit_bytes),
				      &d->foresight);
}

/* -- how good the guesses are ----------------------------------------------------------------- */

void slu_peer_ahead_named(struct slu_peer_device *d, struct slu_unit *u)
{
	slu_foresight_named(&d->foresight, u);
	slu_peer_ahead_end(d, u, SLU_AHEAD_HIT);
}

void slu_peer_ahead_judge(struct slu_peer_device *d, struct slu_unit *u)
{
	/* while the working set fits no unit can be missing, and there may be many */
	if (d->working_bytes > d->account.limit_bytes || !slu_shadow_holds(u))
		slu_shadow_named(&d->shadow, &d->foresight, &d->units, u, d->account.limit_bytes);
}

void slu_peer_ahead_begin(struct slu_peer_device *d, struct slu_unit *u)
{
	if (d->mode != SLU_MODE_LAUNCH || d->gate != SLU_PEER_GATE_OPEN || u->wanted || u->ahead)
		return;
	u->ahead = true;
	d->ahead_bytes += u->bytes;
}

void slu_peer_ahead_end(struct slu_peer_device *d, struct slu_unit *u, enum slu_ahead_end how)
{
	if (!u->ahead)
		return;
	u->ahead = false;
	d->ahead_bytes -= u->bytes;
	d->n_hit += how == SLU_AHEAD_HIT;
	d->n_missed += how == SLU_AHEAD_MISSED && d->gate == SLU_PEER_GATE_OPEN;
	if (d->n_hit + d->n_missed > COUNT_MAX) {
		d->n_hit /= 2;
		d->n_missed /= 2;
	}
}

void slu_peer_ahead_expect(struct slu_peer *peer, unsigned device, struct slu_unit *const *units,
			   size_t n_units)
{
	struct slu_peer_device *d = &peer->devices[device];

	for (size_t i = 0; i < n_units; i++)
		if (units[i]->device == device)
			slu_foresight_expect(&d->foresight, units[i]);
}
