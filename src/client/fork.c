/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The child of a fork starts anew: it has none of our threads, its GPU contexts are dead or
 * useless, its host copies are not mapped, and the connection belongs to the parent. Devices of the
 * parent become orphans, which pass everything; a device that the child adds starts as in a new
 * process.
 *
 * The parent's list of units stays in the child, unused: objects of the front end still refer to
 * the units, and the child may free them.
 */

#include <string.h>
#include <unistd.h>

#include "client/instance.h"
#include "client/tiers.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fork_before(void)
{
	slu_lock_take(&slu_client_global.lock);
}

static void fork_after_in_parent(void)
{
	slu_lock_give(&slu_client_global.lock);
}

static void device_make_orphan(struct slu_client *c, struct slu_client_device *d)
{
	struct slu_unit *u;

	d->is_orphan = true;
	d->is_closing = false;
	TAILQ_FOREACH (u, slu_peer_view_units(c->peer, d->index), link) {
		struct slu_client_unit *w = slu_client_unit_of(u);

		u->host = NULL; /* MADV_DONTFORK: the address may have other pages by now */
		u->moving = SLU_MOVING_NO;
		u->shift = SLU_SHIFT_NO;
		u->pinned = false;
		w->extent = (struct slu_disk_extent){ 0 };
		u->n_named = 0;
		w->n_pins = 0;
	}
}

static void fork_after_in_child(void)
{
	struct slu_client *c = &slu_client_global;
	unsigned n_places = c->n_places;

	if (c->is_started) {
		for (unsigned i = 0; i < n_places; i++)
			if (c->devices[i])
				device_make_orphan(c, c->devices[i]);
		slu_connection_deinit(&c->connection);
		slu_disk_forked(&c->disk);
		close(c->wake_fd);
	}
	slu_lock_give(&c->lock);
	memset(c, 0, sizeof(*c));
	slu_lock_init(&c->lock, SLU_LOCK_CLIENT);
	c->wake_fd = -1;
	slu_tiers_forked();
	slu_gate_forked();
	for (unsigned i = 0; i < n_places; i++)
		slu_gate_open(i);
}

static void fork_register(void)
{
	pthread_atfork(fork_before, fork_after_in_parent, fork_after_in_child);
}

void slu_fork_watch(void)
{
	pthread_once(&once, fork_register);
}
