/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The end of a move: the unit is where it should go, or still where it was, and something was
 * learned for the next move. A refusal by the driver is retried a few times and then reported
 * (rule 13). Part of move.c.
 */

#include <assert.h>

#include "peer/internal.h"

#define FAILED_DOUBLINGS 7 /* of the pause after a failed move, at most */

static void move_forget(struct slu_peer_device *d, struct slu_unit *u, unsigned way)
{
	for (unsigned k = 0; k < SLU_PEER_MOVES_MAX; k++)
		if (d->moving[way][k] == u)
			d->moving[way][k] = NULL;
	d->n_moving[way]--;
	d->moving_bytes[way] -= u->bytes;
}

/* The cause is unknown and may be permanent: try again, less and less often. */
static void move_failed(struct slu_peer *peer, uint64_t now_ns, struct slu_peer_device *d,
			unsigned way)
{
	/* as with refusals, moves that fail together have failed once */
	if (d->retry_ns[way])
		return;
	d->retry_ns[way] = now_ns + (peer->config.refusal_pause_ns << d->n_failed[way]);
	d->n_failed[way] = SLU_MIN(d->n_failed[way] + 1, (unsigned)FAILED_DOUBLINGS);
}

static void move_refused(struct slu_peer *peer, uint64_t now_ns, struct slu_peer_device *d,
			 struct slu_peer_account *a, uint64_t bytes)
{
	/* moves that were under way together are refused together: this counts as one refusal */
	if (d->retry_ns[IN])
		return;
	d->retry_ns[IN] = now_ns + peer->config.refusal_pause_ns;
	if (++d->n_refused <= peer->config.refusal_retries)
		return;
	d->n_refused = 0;
	if (peer->is_alone) {
		if (!d->alone_gives)
			d->alone_bytes = d->account.held_bytes;
		return;
	}
	slu_peer_account_refuse(a, bytes);
	d->want_is_current = false;
}

static void move_in_ended(struct slu_peer *peer, uint64_t now_ns, struct slu_peer_device *d,
			  struct slu_unit *u, enum slu_move_result result)
{
	bool is_map = u->moving == SLU_MOVING_MAP;
	struct slu_peer_account *a = is_map ? &peer->pinned : &d->account;

	if (result == SLU_MOVE_DONE) {
		slu_peer_tally_set_place(d, u, is_map ? SLU_PLACE_MAPPED : SLU_PLACE_DEVICE,
					 SLU_MOVING_NO);
		u->device_version = u->host_version;
		/* pinned memory has nothing to do with a refusal by the device */
		if (!is_map) {
			d->n_refused = 0;
			d->moved_in_bytes += u->bytes - u->copied_bytes;
		}
		a->is_due = true;
		return;
	}
	slu_peer_tally_set_place(d, u, u->place, SLU_MOVING_NO);
	slu_peer_ahead_end(d, u, SLU_AHEAD_DROPPED);
	slu_peer_account_release(a, u->bytes);
	if (result == SLU_MOVE_REFUSED)
		move_refused(peer, now_ns, d, a, u->bytes);
	else if (result != SLU_MOVE_CANCELLED)
		move_failed(peer, now_ns, d, IN);
}

static void move_out_ended(struct slu_peer *peer, uint64_t now_ns, struct slu_peer_device *d,
			   struct slu_unit *u, enum slu_move_result result)
{
	bool is_map = u->place == SLU_PLACE_MAPPED;
	struct slu_peer_account *a = is_map ? &peer->pinned : &d->account;

	if (is_map)
		peer->unmapping_bytes -= u->bytes;
	else
		d->leaving_bytes -= u->bytes;
	if (result == SLU_MOVE_DONE) {
		slu_peer_tally_set_place(d, u, u->on_disk ? SLU_PLACE_DISK : SLU_PLACE_RAM,
					 SLU_MOVING_NO);
		slu_peer_ahead_end(d, u, SLU_AHEAD_MISSED);
		slu_peer_account_release(a, u->bytes);
		a->is_due = true;
		u->host_version = SLU_MAX(u->host_version, u->device_version);
		if (!is_map)
			d->moved_out_bytes += u->bytes - u->copied_bytes;
		return;
	}
	slu_peer_tally_set_place(d, u, u->place, SLU_MOVING_NO);
	a->final_is_reported = false;
	if (result == SLU_MOVE_RUNS) {
		u->ran_at = d->n_launches + 1;
	} else if (result == SLU_MOVE_BLOCKED) {
		u->blocked = d->has_blocked = true;
		a->is_due = true;
	} else if (result != SLU_MOVE_CANCELLED) {
		move_failed(peer, now_ns, d, OUT);
	}
}

void slu_peer_move_copied(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u,
			  uint64_t bytes)
{
	struct slu_peer_device *d = &peer->devices[u->device];

	assert(u->moving != SLU_MOVING_NO && bytes <= u->bytes - u->copied_bytes);
	u->copied_bytes += bytes;
	if (u->moving == SLU_MOVING_IN)
		d->moved_in_bytes += bytes;
	else if (u->moving == SLU_MOVING_OUT && u->place == SLU_PLACE_DEVICE)
		d->moved_out_bytes += bytes;
	slu_peer_reports_touch(peer, now_ns);
}

void slu_peer_move_unmake(struct slu_peer *peer, struct slu_unit *u)
{
	struct slu_peer_device *d = &peer->devices[u->device];

	assert(u->place == SLU_PLACE_DEVICE && u->moving == SLU_MOVING_NO && !u->n_named);
	assert(u->has_backing && !u->device_version && !u->host_version);
	slu_peer_tally_set_place(d, u, SLU_PLACE_DEVICE, SLU_MOVING_OUT);
	d->leaving_bytes += u->bytes;
	d->n_unmaking++;
}

void slu_peer_move_unmade(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u)
{
	struct slu_peer_device *d = &peer->devices[u->device];

	d->leaving_bytes -= u->bytes;
	d->n_unmaking--;
	slu_peer_tally_set_place(d, u, u->on_disk ? SLU_PLACE_DISK : SLU_PLACE_RAM, SLU_MOVING_NO);
	slu_peer_account_release(&d->account, u->bytes);
	move_refused(peer, now_ns, d, &d->account, u->bytes);
	d->wake_is_due = true;
	slu_peer_reports_touch(peer, now_ns);
}

void slu_peer_move_done(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u,
			enum slu_move_result result)
{
	struct slu_peer_device *d = &peer->devices[u->device];
	unsigned way = u->moving == SLU_MOVING_OUT ? OUT : IN;

	assert(u->moving != SLU_MOVING_NO);
	move_forget(d, u, way);
	if (result == SLU_MOVE_DONE)
		d->n_failed[way] = 0;
	if (way == OUT)
		move_out_ended(peer, now_ns, d, u, result);
	else
		move_in_ended(peer, now_ns, d, u, result);
	u->cancel = false;
	d->wake_is_due = true;
	slu_peer_crossing_step(peer, now_ns);
	slu_peer_reports_touch(peer, now_ns);
}
