/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Adds and removes devices. HELLO names all devices of a process, so a new one means a new
 * connection. The peer never forgets a device: when it is added again it takes its old place.
 */

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "client/instance.h"
#include "client/log.h"
#include "client/ring.h"
#include "client/tiers.h"
#include "client/wait.h"

#define MARGIN_BYTES (256 * SLU_MIB)
#define MARGIN_SHARE 16 /* of a small device: so many-th part */

/* -- adding -------------------------------------------------------------------------------------
 */

static int place_find(const struct slu_client *c, const struct slu_hello_device *identity,
		      enum slu_mode mode)
{
	for (unsigned i = 0; i < c->n_places; i++)
		if (!c->devices[i] && c->modes[i] == mode &&
		    !memcmp(c->identities[i].uuid, identity->uuid, sizeof(identity->uuid)))
			return (int)i;
	return -1;
}

/* Joins with all devices; an existing connection is replaced. */
static void daemon_join_again(struct slu_client *c, uint64_t now_ns)
{
	if (c->torture) {
		slu_peer_connection_made(c->peer, now_ns);
	} else if (c->connection.path) {
		slu_connection_hurry(&c->connection);
		slu_client_poke(c);
	} else {
		slu_client_run_alone(c, now_ns);
	}
	slu_client_pump(c, now_ns);
}

static int place_take(struct slu_client *c, const struct slu_hello_device *identity,
		      enum slu_mode mode)
{
	uint64_t now_ns = slu_clock_now_ns();
	int place = place_find(c, identity, mode);

	if (place >= 0)
		return place;
	if (c->n_places == SLU_WIRE_DEVICES_MAX)
		return slu_error(-ENOSPC);
	if (c->torture)
		slu_peer_connection_lost(c->peer, now_ns);
	else if (c->connection.channel)
		slu_client_lose(c, now_ns);
	place = slu_peer_device_add(c->peer, identity, mode);
	if (place < 0)
		return slu_fold(place);
	c->identities[place] = *identity;
	c->modes[place] = mode;
	c->n_places = (unsigned)place + 1;
	return place;
}

static int movers_start(struct slu_client_device *d)
{
	int r;

	r = slu_mover_start(&d->movers[SLU_DIRECTION_IN], d, SLU_DIRECTION_IN);
	if (r)
		return slu_fold(r);
	r = slu_mover_start(&d->movers[SLU_DIRECTION_OUT], d, SLU_DIRECTION_OUT);
	if (r)
		slu_mover_stop(&d->movers[SLU_DIRECTION_IN]);
	return slu_fold(r);
}

static int helper_start(struct slu_client *c)
{
	int r;

	if (c->has_helper)
		return 0;
	r = slu_client_thread(&c->helper, slu_helper_run, c, SLU_WIRE_HELPER);
	if (r)
		return slu_fold(r);
	c->has_helper = true;
	return 0;
}

static int device_prepare(struct slu_client *c, const struct slu_hello_device *asked,
			  enum slu_mode mode, const struct slu_backend *backend)
{
	struct slu_hello_device identity = *asked;
	int r;

	r = slu_client_start(c);
	if (!r)
		r = helper_start(c);
	identity.never_pins = !slu_ring_is_wanted(backend) && !backend->map;
	identity.hears_present = 1;
	identity.pins_copies = backend->pin_copy && backend->unpin_copy;
	return r ? slu_fold(r) : place_take(c, &identity, mode);
}

int slu_client_device_add(const struct slu_hello_device *identity, enum slu_mode mode,
			  const struct slu_backend *backend, void *data,
			  struct slu_client_device **ret_device)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	struct slu_client_device *d;
	int place;
	int r;

	if (mode >= _SLU_MODE_MAX ||
	    (mode == SLU_MODE_MAPPED && (!backend->map || !backend->unmap)))
		return slu_error(-EINVAL);
	d = calloc(1, sizeof(*d));
	if (!d)
		return slu_error(-ENOMEM);
	slu_lock_take(&c->lock);
	place = device_prepare(c, identity, mode, backend);
	slu_lock_give(&c->lock);
	if (place < 0) {
		free(d);
		return slu_fold(place);
	}
	d->index = (unsigned)place;
	d->mode = mode;
	d->backend = backend;
	d->data = data;
	d->total_bytes = identity->total_bytes;
	d->look_ns = SLU_PEER_NEVER;
	r = movers_start(d);
	if (r) {
		free(d);
		return slu_fold(r);
	}
	slu_lock_take(&c->lock);
	/* Another thread may have added the same device meanwhile; a place has one owner. */
	if (c->devices[place])
		r = -EEXIST;
	else
		c->devices[place] = d;
	if (!r)
		daemon_join_again(c, slu_clock_now_ns());
	slu_lock_give(&c->lock);
	if (r) {
		slu_mover_stop(&d->movers[SLU_DIRECTION_IN]);
		slu_mover_stop(&d->movers[SLU_DIRECTION_OUT]);
		free(d);
		return slu_error(r);
	}
	slu_client_log("device %u: %s, mode %s, %s", d->index, identity->name, slu_mode_name(mode),
		       backend->name);
	*ret_device = d;
	return 0;
}

/* -- removing ------------------------------------------------------------------------------------
 */

/* Forgets the units that the program did not free; their memory goes with the context. */
static void units_forget(struct slu_client *c, struct slu_client_device *d)
{
	const struct slu_unit_list *units = slu_peer_view_units(c->peer, d->index);

	while (!TAILQ_EMPTY(units)) {
		struct slu_client_unit *w = slu_client_unit_of(TAILQ_FIRST(units));

		w->unit.cancel = true;
		w->is_dying = true;
		while (w->n_pins || w->unit.moving != SLU_MOVING_NO ||
		       w->unit.shift != SLU_SHIFT_NO)
			slu_client_wait(c, SLU_PEER_NEVER);
		if (!w->is_gone) {
			w->unit.n_named = 0;
			slu_peer_alloc_released(c->peer, slu_clock_now_ns(), &w->unit);
		}
		slu_client_unit_drop_copy(c, w);
		free(w);
	}
}

void slu_client_device_remove(struct slu_client_device *d)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	uint64_t now_ns = slu_clock_now_ns();

	if (!d)
		return;
	slu_lock_take(&c->lock);
	if (d->is_orphan) {
		slu_lock_give(&c->lock);
		free(d);
		return;
	}
	c->devices[d->index] = NULL;
	if (d->is_closing) {
		d->is_closing = false;
		slu_peer_turn_drained(c->peer, now_ns, d->index, false);
	}
	if (d->is_blocked)
		slu_peer_turn_unblocked(c->peer, now_ns, d->index);
	slu_client_pump(c, now_ns);
	units_forget(c, d);
	slu_peer_reports_set_paged(c->peer, now_ns, d->index, 0);
	while (d->n_visits)
		slu_client_wait(c, SLU_PEER_NEVER);
	slu_client_pump(c, slu_clock_now_ns());
	slu_lock_give(&c->lock);

	slu_mover_stop(&d->movers[SLU_DIRECTION_IN]);
	slu_mover_stop(&d->movers[SLU_DIRECTION_OUT]);
	slu_client_log("device %u: removed", d->index);
	free(d);
}

void slu_client_device_pages(struct slu_client_device *d, uint64_t bytes, bool more)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	uint64_t now_ns = slu_clock_now_ns();

	slu_lock_take(&c->lock);
	if (!d->is_orphan) {
		d->paged_bytes =
			more ? d->paged_bytes + bytes : slu_sub_floor(d->paged_bytes, bytes);
		slu_peer_reports_set_paged(c->peer, now_ns, d->index, d->paged_bytes);
		slu_client_pump(c, now_ns);
	}
	slu_lock_give(&c->lock);
}

/* -- reading --------------------------------------------------------------------------------------
 */

unsigned slu_client_device_index(const struct slu_client_device *d)
{
	return d->index;
}

bool slu_client_device_is_crowded(const struct slu_client_device *d)
{
	return __atomic_load_n(&d->is_crowded, __ATOMIC_RELAXED);
}

static bool device_has_daemon(const struct slu_client *c, const struct slu_client_device *d)
{
	return !d->is_orphan && c->stage != SLU_CLIENT_LOOSE;
}

bool slu_client_device_has_daemon(const struct slu_client_device *d)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	bool is;

	slu_lock_take(&c->lock);
	is = device_has_daemon(c, d);
	slu_lock_give(&c->lock);
	return is;
}

/* The bytes that the program may own there. */
static uint64_t device_most_owned(const struct slu_client *c, const struct slu_client_device *d)
{
	uint64_t bytes =
		device_has_daemon(c, d) ? slu_peer_connection_settings(c->peer)->visible_bytes : 0;

	return bytes ? bytes : d->total_bytes;
}

/* The bytes that the program sees: even if it takes all of them, its context must fit. */
static uint64_t device_visible(const struct slu_client *c, const struct slu_client_device *d)
{
	if (!device_has_daemon(c, d) || slu_peer_connection_settings(c->peer)->visible_bytes)
		return device_most_owned(c, d);
	return d->total_bytes - SLU_MIN(MARGIN_BYTES, d->total_bytes / MARGIN_SHARE);
}

/* The same, and no more than the contexts of all programs and outsiders leave. */
static uint64_t device_offered(const struct slu_client *c, const struct slu_client_device *d)
{
	uint64_t bytes = device_visible(c, d), present = c->present_bytes[d->index];

	return device_has_daemon(c, d) && present ? SLU_MIN(bytes, present) : bytes;
}

/* One of the figures above, which the daemon may set. */
static uint64_t device_figure(const struct slu_client_device *d,
			      uint64_t (*of)(const struct slu_client *c,
					     const struct slu_client_device *d))
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	uint64_t bytes;

	slu_lock_take(&c->lock);
	if (device_has_daemon(c, d))
		slu_client_wait_joined(c);
	bytes = of(c, d);
	slu_lock_give(&c->lock);
	return bytes;
}

uint64_t slu_client_device_most(const struct slu_client_device *d)
{
	return device_figure(d, device_most_owned);
}

uint64_t slu_client_device_visible(const struct slu_client_device *d)
{
	return device_figure(d, device_visible);
}

uint64_t slu_client_device_offered(const struct slu_client_device *d)
{
	return device_figure(d, device_offered);
}

void slu_client_device_export_refused(struct slu_client_device *d)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;

	slu_lock_take(&c->lock);
	if (device_has_daemon(c, d)) {
		slu_peer_reports_export(c->peer, d->index);
		slu_client_pump(c, slu_clock_now_ns());
	}
	slu_lock_give(&c->lock);
}

bool slu_client_device_is_exportable(const struct slu_client_device *d)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	bool is = false;

	slu_lock_take(&c->lock);
	if (device_has_daemon(c, d)) {
		slu_client_wait_joined(c);
		is = slu_peer_connection_settings(c->peer)->exportable;
	}
	slu_lock_give(&c->lock);
	return is;
}

/* In mode LAUNCH units come in as commands name them: together they may exceed the device. */
static uint64_t device_most_reserved(const struct slu_client *c, const struct slu_client_device *d)
{
	uint64_t beyond = 0;
	bool is_bounded =
		d->mode != SLU_MODE_LAUNCH ||
		(device_has_daemon(c, d) && slu_peer_connection_settings(c->peer)->visible_bytes);

	/* mapped memory is on no device, so it does not add to what the program sees as free */
	if (d->mode == SLU_MODE_MAPPED && device_has_daemon(c, d))
		beyond = slu_peer_connection_settings(c->peer)->beyond_bytes;
	return is_bounded ? device_most_owned(c, d) + beyond : UINT64_MAX;
}

bool slu_client_device_reserve(struct slu_client_device *d, uint64_t bytes, uint64_t asked_bytes)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	uint64_t now_ns, most;
	bool may;

	slu_lock_take(&c->lock);
	if (device_has_daemon(c, d))
		slu_client_wait_joined(c); /* the daemon may set the bound */
	most = device_most_reserved(c, d);
	may = bytes <= slu_sub_floor(most, d->owned_bytes + d->reserved_bytes);
	if (may)
		d->reserved_bytes += bytes;
	if (!may && asked_bytes && device_has_daemon(c, d)) {
		now_ns = slu_clock_now_ns();
		slu_peer_alloc_exceeds(c->peer, now_ns, d->index, asked_bytes,
				       d->owned_bytes + d->reserved_bytes, most);
		slu_client_pump(c, now_ns);
	}
	slu_lock_give(&c->lock);
	return may;
}

void slu_client_device_unreserve(struct slu_client_device *d, uint64_t bytes)
{
	SLU_CLIENT_KEEP_ERRNO();

	if (!bytes)
		return;
	slu_lock_take(&slu_client_global.lock);
	d->reserved_bytes -= bytes;
	slu_lock_give(&slu_client_global.lock);
}

bool slu_client_device_is_unfit(const struct slu_client_device *d)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	bool is;

	slu_lock_take(&c->lock);
	is = device_has_daemon(c, d) &&
	     slu_peer_alloc_is_unfit(c->peer, slu_clock_now_ns(), d->index, 0);
	slu_lock_give(&c->lock);
	return is;
}

uint64_t slu_client_device_owned(const struct slu_client_device *d)
{
	SLU_CLIENT_KEEP_ERRNO();
	uint64_t bytes;

	slu_lock_take(&slu_client_global.lock);
	bytes = d->owned_bytes + d->reserved_bytes;
	slu_lock_give(&slu_client_global.lock);
	return bytes;
}
