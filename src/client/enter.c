/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The slow path of the gate, modes ALL and MAPPED: a thread of the program waits until the peer has
 * opened the gate, or learns that it never will. Part of client.h.
 */

#include "base/error.h"
#include "client/instance.h"
#include "client/torture.h"
#include "client/wait.h"

/* Enters the gate if it is open. The word changes under the lock only. */
static bool gate_pass(struct slu_client *c, struct slu_client_device *d)
{
	if (!c->torture)
		return slu_gate_try_enter(d->index);
	/* A tortured program never finds the word open: each of its calls comes here. */
	if (!slu_peer_view_gate_is_open(c->peer, d->index))
		return false;
	slu_gate_force_enter(d->index);
	return true;
}

static int gate_enter(struct slu_client *c, struct slu_client_device *d)
{
	for (;;) {
		uint64_t now_ns = slu_clock_now_ns();
		int r;

		if (d->is_orphan || d->is_dead) {
			slu_gate_force_enter(d->index);
			return 0;
		}
		if (d->is_spoilt)
			return slu_error(-EIO);
		r = slu_peer_turn_want_open(c->peer, now_ns, d->index);
		slu_client_pump(c, now_ns);
		if (gate_pass(c, d))
			return 0;
		if (r == SLU_PEER_E_DENIED)
			return SLU_CLIENT_E_NO_MEMORY;
		slu_client_wait(c, SLU_PEER_NEVER);
	}
}

int slu_client_enter_slow(struct slu_client_device *d)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	int r;

	slu_lock_take(&c->lock);
	c->counts.n_slow_entries++;
	if (!d->is_orphan)
		slu_client_wait_joined(c);
	r = gate_enter(c, d);
	if (!r && c->torture) {
		slu_torture_turn(c->torture, d->index);
		slu_client_pump(c, slu_clock_now_ns());
	}
	slu_lock_give(&c->lock);
	return r;
}
