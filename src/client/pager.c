/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pager.h"

#include "client/instance.h"
#include "client/log.h"

static struct slu_client_device *pager_next(const struct slu_client *c)
{
	for (unsigned i = 0; i < c->n_places; i++)
		if (c->devices[i] && c->devices[i]->page_is_due)
			return c->devices[i];
	return NULL;
}

/* Needs the lock and releases it meanwhile. As a visit of the helper it keeps the device there. */
static void pager_serve(struct slu_client *c, struct slu_client_device *d)
{
	uint64_t bytes = d->page_bytes;
	unsigned index = d->index;
	bool is_in = d->page_is_in;

	d->page_is_due = false;
	d->n_visits++;
	slu_lock_give(&c->lock);
	slu_lock_assert_none();
	if (d->backend->thread_begin)
		d->backend->thread_begin(d->data);
	d->backend->page(d->data, bytes, is_in);
	slu_lock_take(&c->lock);
	slu_client_log("device %u: %llu bytes of managed memory there", index,
		       (unsigned long long)bytes);
	if (c->devices[index] != d) {
		if (--d->n_visits == 0)
			pthread_cond_broadcast(&c->changed);
		return;
	}
	d->n_visits--;
	if (d->page_is_due)
		return;
	slu_peer_paging_done(c->peer, index);
	slu_client_pump(c, slu_clock_now_ns());
}

static void *pager_run(void *data)
{
	struct slu_client *c = data;
	struct slu_client_device *d;

	slu_lock_take(&c->lock);
	for (;;) {
		d = pager_next(c);
		if (d)
			pager_serve(c, d);
		else
			slu_lock_wait(&c->lock, &c->page_wake, NULL);
	}
	return NULL;
}

bool slu_pager_order(struct slu_client *c, unsigned index, uint64_t bytes, bool is_in)
{
	struct slu_client_device *d = c->devices[index];
	pthread_t thread;

	if (d && d->backend->page && !c->has_pager &&
	    !slu_client_thread(&thread, pager_run, c, "sluice-page")) {
		pthread_detach(thread);
		c->has_pager = true;
	}
	if (!d || !d->backend->page || !c->has_pager) {
		slu_peer_paging_done(c->peer, index);
		return false;
	}
	d->page_bytes = bytes;
	d->page_is_in = is_in;
	d->page_is_due = true;
	pthread_cond_broadcast(&c->page_wake);
	return true;
}
