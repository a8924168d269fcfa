/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Where the program meets the device: the peer finds the ends of its iterations there, and a turn
 * that waits for one ends inside the call, before the program submits anything more. Part of
 * client.h.
 */

#include "client/boundary.h"

#include <stdatomic.h>

#include "client/instance.h"

void slu_client_boundary_set_unused(struct slu_client_device *d, uint64_t bytes)
{
	atomic_store_explicit(&d->unused_bytes, bytes, memory_order_relaxed);
}

void slu_client_boundary_refresh(struct slu_client *c, unsigned index)
{
	const struct slu_client_device *d = index < c->n_places ? c->devices[index] : NULL;

	if (d)
		slu_peer_boundary_set_unused(
			c->peer, index,
			atomic_load_explicit(&d->unused_bytes, memory_order_relaxed));
}

void slu_client_boundary_meet(struct slu_client_device *d, uint64_t key)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	uint64_t now_ns;

	slu_lock_take(&c->lock);
	if (!d->is_orphan && c->stage == SLU_CLIENT_JOINED) {
		now_ns = slu_clock_now_ns();
		slu_client_boundary_refresh(c, d->index);
		slu_peer_boundary_meet(c->peer, now_ns, d->index, key);
		if (slu_peer_boundary_is_due(c->peer, now_ns, d->index))
			slu_client_pump(c, now_ns);
	}
	slu_lock_give(&c->lock);
}
