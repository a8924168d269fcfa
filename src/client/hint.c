/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the program tells by itself, by the functions of include/sluice/sluice.h. These find the two
 * functions here by their names, if the library is in the process. The program may call them at any
 * time, from any thread.
 */

#include "client/hint.h"

#include "client/boundary.h"
#include "client/instance.h"

/* Asks the front end of the device at @place without the lock. A visit keeps the device there. */
static void device_hint_dead(struct slu_client *c, unsigned place, uint64_t address, uint64_t bytes)
{
	struct slu_client_device *d = c->devices[place];
	uint64_t dead_bytes;

	if (!d || d->is_orphan || d->is_dead || !d->backend->hint_dead)
		return;
	d->n_visits++;
	slu_lock_give(&c->lock);
	dead_bytes = d->backend->hint_dead(d->data, address, bytes);
	slu_lock_take(&c->lock);
	d->hinted_bytes += dead_bytes;
	if (--d->n_visits == 0 && c->devices[place] != d)
		pthread_cond_broadcast(&c->changed);
}

void sluice_hint_dead(const void *address, size_t bytes)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;

	slu_lock_take(&c->lock);
	for (unsigned i = 0; c->is_started && i < c->n_places; i++)
		device_hint_dead(c, i, (uint64_t)(uintptr_t)address, bytes);
	slu_lock_give(&c->lock);
}

void sluice_hint_iteration(void)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;

	slu_lock_take(&c->lock);
	for (unsigned i = 0; c->stage == SLU_CLIENT_JOINED && i < c->n_places; i++) {
		struct slu_client_device *d = c->devices[i];
		uint64_t now_ns = slu_clock_now_ns();

		if (!d || d->is_orphan)
			continue;
		slu_client_boundary_refresh(c, i);
		slu_peer_boundary_tell(c->peer, now_ns, i, d->hinted_bytes);
		d->hinted_bytes = 0;
		if (slu_peer_boundary_is_due(c->peer, now_ns, i))
			slu_client_pump(c, now_ns);
	}
	slu_lock_give(&c->lock);
}
