/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The copies of a unit's contents before and after a move.
 *
 * What to copy is decided when the move starts: a unit whose host copy is current is only released
 * on the device. While bytes go into a host copy it counts as unwritten (version 0), because it is
 * neither the old nor the new one.
 */

#include <string.h>

#include "client/contents.h"
#include "client/instance.h"
#include "client/log.h"
#include "client/tiers.h"

static bool client_is_auditing(const struct slu_client *c)
{
	return slu_peer_connection_settings(c->peer)->predict && !c->audit.has_failed &&
	       c->audit.n_passed < SLU_CLIENT_AUDITS;
}

/* Whether the unit is clean by a proof that is not believed, or not yet. */
static bool unit_is_audited(const struct slu_client *c, const struct slu_client_unit *w)
{
	return w->unit.proven && slu_unit_is_clean(&w->unit) && !w->device->is_dead &&
	       (c->audit.has_failed || client_is_auditing(c));
}

void slu_contents_prepare(struct slu_client *c, struct slu_client_unit *w,
			  struct slu_move *ret_move)
{
	const struct slu_client_device *d = w->device;
	struct slu_unit *u = &w->unit;
	bool is_out = u->moving == SLU_MOVING_OUT;
	bool is_audited = is_out && unit_is_audited(c, w);
	enum slu_hashing hashing = slu_peer_connection_settings(c->peer)->hash_clean;

	/* The device's copy is lost with its context; the host copy is the truth now. */
	if (d->is_dead)
		u->device_version = u->host_version;
	/* Without a host copy, or without permission to compare, a suspect unit counts as written.
	 */
	if (is_out && u->suspect && !d->is_dead &&
	    (!u->host_version || !slu_client_unit_may_compare(c, d)))
		slu_client_unit_clear_suspect(u, false);
	*ret_move = (struct slu_move){
		.backend = d->backend,
		.data = d->data,
		.unit = u,
		.moving = u->moving,
		.has_contents = is_out ? !slu_unit_is_clean(u) || is_audited : u->host_version > 0,
		.is_suspect =
			is_out && u->suspect && slu_unit_is_clean(u) && !d->is_dead && !is_audited,
		.always_compares = hashing == SLU_HASHING_ALWAYS,
		.may_compare = slu_client_unit_may_compare(c, d),
		.wants_drain = d->mode == SLU_MODE_LAUNCH && !d->is_dead,
		.wants_sum = slu_peer_connection_settings(c->peer)->checksum_moves || u->on_disk ||
			     (is_out && client_is_auditing(c)),
		.is_cancelled = slu_client_unit_is_cancelled,
		.cancel_data = w,
		.host = u->host,
		.host_is_pinned = u->pinned,
		.disk = u->on_disk ? &c->disk : NULL,
		.extent = w->extent,
		.mapped = w->mapped,
		.sum = w->sum,
		.has_sum = w->has_sum,
		.sum_before = w->sum,
		.has_sum_before = is_audited && !u->suspect && w->has_sum,
	};
	if (is_out && ret_move->has_contents) {
		u->host_version = 0;
		slu_client_unit_clear_suspect(u, false);
	}
}

void slu_contents_note_compared(struct slu_client *c, struct slu_client_unit *w,
				const struct slu_move *move)
{
	c->counts.n_compared++;
	c->counts.n_differed += move->has_contents;
	slu_client_unit_clear_suspect(&w->unit, !move->has_contents);
	if (move->has_contents)
		w->unit.host_version = 0;
}

enum slu_move_result slu_contents_result(int r)
{
	switch (r) {
	case 0:
		return SLU_MOVE_DONE;
	case SLU_MOVE_E_CANCELLED:
		return SLU_MOVE_CANCELLED;
	case SLU_MOVE_E_REFUSED:
		return SLU_MOVE_REFUSED;
	case SLU_MOVE_E_BLOCKED:
		return SLU_MOVE_BLOCKED;
	case SLU_MOVE_E_BUSY:
		return SLU_MOVE_RUNS;
	default:
		return SLU_MOVE_FAILED;
	}
}

/* The bytes of a move, or a part of them. */
static void bytes_count(struct slu_client *c, struct slu_client_device *d,
			const struct slu_move *move, uint64_t bytes)
{
	if (move->moving == SLU_MOVING_OUT) {
		c->counts.moved_out_bytes += bytes;
		d->moved_out_bytes += bytes;
	} else {
		c->counts.moved_in_bytes += bytes;
		d->moved_in_bytes += bytes;
	}
}

static void contents_count(struct slu_client *c, struct slu_client_device *d,
			   const struct slu_move *move)
{
	bytes_count(c, d, move,
		    move->has_contents ? move->unit->bytes - move->unit->copied_bytes : 0);
	if (move->moving == SLU_MOVING_MAP)
		slu_client_log("device %u: %llu bytes mapped", d->index,
			       (unsigned long long)move->unit->bytes);
	if (move->moving == SLU_MOVING_OUT) {
		c->counts.n_moves_out++;
		c->counts.n_clean_out += !move->has_contents;
	} else {
		c->counts.n_moves_in++;
	}
}

/* Permanent faults. Contents that changed on the way must not reach the program. */
static void contents_note_fault(struct slu_client *c, struct slu_client_unit *w, int r,
				int disk_error)
{
	struct slu_client_device *d = w->device;

	if (r == SLU_MOVE_E_LOST && !d->is_dead) {
		slu_client_log("device %u: its context is lost", d->index);
		d->is_dead = true;
	} else if (r == SLU_MOVE_E_CORRUPT && !d->is_spoilt) {
		slu_client_log("device %u: a host copy of %llu bytes is corrupt; all further work "
			       "there fails with an error",
			       d->index, (unsigned long long)w->unit.bytes);
		d->is_spoilt = true;
	} else if (r == SLU_MOVE_E_UNREAD && !d->is_spoilt) {
		slu_client_log(
			"device %u: %llu bytes cannot be read from disk: %s; all further work "
			"there fails with an error",
			d->index, (unsigned long long)w->unit.bytes, strerror(disk_error));
		d->is_spoilt = true;
	} else if (r == SLU_MOVE_E_BLOCKED) {
		d->is_blocked = true;
		d->look_ns = 0;
	} else if (r < 0) {
		/* logged once for all retries */
		if (d->move_error != -r)
			slu_client_log("device %u: a move failed: %s, trying again", d->index,
				       strerror(-r));
		d->move_error = -r;
	}
}

void slu_contents_apply(struct slu_client_unit *w, const struct slu_move *move, bool is_done)
{
	struct slu_unit *u = &w->unit;

	u->host = move->host;
	w->mapped = move->mapped;
	w->sum = move->sum;
	w->has_sum = move->has_sum;
	if (!is_done)
		return;
	if (move->is_dead)
		slu_client_unit_die(&slu_client_global, w);
	if (move->moving == SLU_MOVING_IN)
		w->is_made = true;
	if (move->moving == SLU_MOVING_OUT) {
		u->unproven = false; /* it comes in again with a proof */
		u->proven = false;
	}
	if (move->moving == SLU_MOVING_MAP) {
		/* The mapped bytes are the host copy now; a second one is not needed. */
		slu_tiers_put(u->host, u->bytes);
		u->host = NULL;
		u->host_version = 0;
		w->has_sum = false;
	}
}

/* A unit that no call wrote was copied. */
static void contents_judge(struct slu_client *c, const struct slu_move *move)
{
	if (!move->has_sum_before || !move->has_sum || move->is_dead || c->audit.has_failed)
		return;
	if (move->sum == move->sum_before) {
		c->audit.n_passed++;
		return;
	}
	c->audit.has_failed = true;
	slu_client_log("%llu bytes were written that no call writes; the program has its own way "
		       "to the device: everything counts as written from now on",
		       (unsigned long long)move->unit->bytes);
}

void slu_contents_note_part(struct slu_client *c, struct slu_client_unit *w,
			    const struct slu_move *move, uint64_t bytes)
{
	bytes_count(c, w->device, move, bytes);
}

void slu_contents_note_end(struct slu_client *c, struct slu_client_unit *w,
			   const struct slu_move *move, int r)
{
	c->counts.n_refusals += move->n_refusals;
	if (r) {
		contents_note_fault(c, w, r, move->disk_error);
	} else {
		contents_count(c, w->device, move);
		contents_judge(c, move);
		w->device->move_error = 0;
	}
}
