/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Early start, modes ALL and MAPPED: a thread of the program whose call touches known units passes
 * the gate as soon as these are present (peer/early.c). The word of the gate stays shut: the thread
 * publishes itself in its slot under the lock, under which the peer decides as well. Part of
 * client.h.
 */

#include "client/instance.h"
#include "client/torture.h"
#include "client/wait.h"

/*
 * Whether calls may pass early, as far as the program goes. Something must have left the device
 * before: nothing is predicted while nothing is short. A program whose own way to the device was
 * found by an audit, or may still be found, could use units that no call names.
 */
static bool early_is_possible(const struct slu_client *c, const struct slu_client_device *d)
{
	return c->stage == SLU_CLIENT_JOINED && !d->is_orphan && !d->is_dead && !d->is_spoilt &&
	       d->mode != SLU_MODE_LAUNCH && c->counts.n_moves_out &&
	       slu_peer_connection_settings(c->peer)->predict == SLU_PREDICTING_EARLY &&
	       !c->audit.has_failed && c->audit.n_passed >= SLU_CLIENT_AUDITS;
}

bool slu_client_early_is_possible(const struct slu_client_device *d)
{
	struct slu_client *c = &slu_client_global;
	bool is_possible;

	slu_lock_take(&c->lock);
	is_possible = early_is_possible(c, d);
	slu_lock_give(&c->lock);
	return is_possible;
}

static int early_enter(struct slu_client *c, struct slu_client_device *d,
		       struct slu_unit *const *units, size_t n_units)
{
	uint64_t now_ns = slu_clock_now_ns();
	int r;

	if (!early_is_possible(c, d))
		return SLU_CLIENT_E_LATE;
	r = slu_peer_early_enter(c->peer, now_ns, d->index, units, n_units);
	slu_client_pump(c, now_ns);
	if (r == SLU_PEER_E_DENIED)
		return SLU_CLIENT_E_LATE;
	/* in that step the turn may have ended */
	if (r || (!slu_peer_view_gate_is_partial(c->peer, d->index) &&
		  !slu_peer_view_gate_is_open(c->peer, d->index)))
		return SLU_CLIENT_E_ABSENT;
	slu_gate_force_enter(d->index);
	c->counts.n_slow_entries++;
	c->counts.n_early_entries += slu_peer_view_gate_is_partial(c->peer, d->index);
	return 0;
}

int slu_client_early_enter(struct slu_client_device *d, struct slu_unit *const *units,
			   size_t n_units, uint64_t *ret_ticket)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	int r;

	slu_lock_take(&c->lock);
	r = early_enter(c, d, units, n_units);
	if (!r && c->torture) {
		slu_torture_turn(c->torture, d->index);
		slu_client_pump(c, slu_clock_now_ns());
	}
	if (r == SLU_CLIENT_E_ABSENT)
		*ret_ticket = c->n_wakes;
	slu_lock_give(&c->lock);
	return r;
}

void slu_client_early_wait(struct slu_client_device *d, uint64_t ticket)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;

	slu_lock_take(&c->lock);
	if (c->n_wakes == ticket && early_is_possible(c, d))
		slu_client_wait(c, SLU_PEER_NEVER);
	slu_lock_give(&c->lock);
}
