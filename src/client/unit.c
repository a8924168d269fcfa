/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The release of units, their state, and access to their contents off turn. While its device memory
 * is being released a unit counts as named, so that no move of it begins.
 */

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "client/instance.h"
#include "client/tiers.h"
#include "client/wait.h"

/* -- release ------------------------------------------------------------------------------------
 */

void slu_client_unit_retire(struct slu_client *c, struct slu_client_unit *w)
{
	if (w->is_retired)
		return;
	w->is_retired = true;
	if (w->unit.place == SLU_PLACE_RAM || w->unit.place == SLU_PLACE_DISK) {
		w->unit.n_named = 0;
		slu_peer_alloc_released(c->peer, slu_clock_now_ns(), &w->unit);
		w->is_gone = true;
	} else {
		w->unit.n_named++; /* until its memory is released */
	}
}

void slu_client_unit_follow(struct slu_client *c, struct slu_client_unit *w)
{
	struct slu_client_device *d = c->devices[w->unit.device];

	if (!d || d == w->device)
		return;
	w->device->owned_bytes -= slu_client_unit_owned_bytes(&w->unit);
	d->owned_bytes += slu_client_unit_owned_bytes(&w->unit);
	w->device = d;
}

/* Releases the device or mapped memory; without the lock. */
static void unit_release(struct slu_client_unit *w)
{
	struct slu_client_device *d = w->device;

	slu_lock_assert_none();
	if (w->unit.place == SLU_PLACE_MAPPED)
		d->backend->unmap(d->data, &w->unit);
	else if (w->unit.place == SLU_PLACE_DEVICE && w->is_made)
		d->backend->destroy(d->data, &w->unit);
}

void slu_client_unit_drop_copy(struct slu_client *c, struct slu_client_unit *w)
{
	const struct slu_client_device *d = w->device;
	bool was_pinned = w->unit.pinned;
	int r = 0;

	slu_lock_give(&c->lock);
	if (was_pinned)
		r = d->backend->unpin_copy(d->data, w->unit.host, w->unit.bytes);
	if (!r)
		slu_tiers_put(w->unit.host, w->unit.bytes);
	slu_disk_give(&c->disk, &w->extent);
	slu_lock_take(&c->lock);
	if (was_pinned) {
		slu_peer_pinning_released(c->peer, slu_clock_now_ns(), w->unit.bytes);
		slu_client_pump(c, slu_clock_now_ns());
	}
}

void slu_client_unit_free(struct slu_unit *unit)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	struct slu_client_unit *w;

	if (!unit)
		return;
	w = slu_client_unit_of(unit);
	slu_lock_take(&c->lock);
	if (w->device->is_orphan) {
		slu_lock_give(&c->lock);
		unit_release(w);
		free(w);
		return;
	}
	slu_client_unit_follow(c, w);
	w->is_dying = true;
	w->unit.cancel = true;
	while (w->unit.shift != SLU_SHIFT_NO || w->unit.moving != SLU_MOVING_NO)
		slu_client_wait(c, SLU_PEER_NEVER);
	/* a move that came after the shift may have retired it already */
	slu_client_unit_retire(c, w);
	while (w->n_pins)
		slu_client_wait(c, SLU_PEER_NEVER);
	if (!w->is_gone) {
		slu_lock_give(&c->lock);
		unit_release(w);
		slu_lock_take(&c->lock);
		w->unit.n_named = 0;
		slu_peer_alloc_released(c->peer, slu_clock_now_ns(), &w->unit);
	}
	slu_client_unit_follow(c, w);
	w->device->owned_bytes -= slu_client_unit_owned_bytes(&w->unit);
	slu_client_pump(c, slu_clock_now_ns());
	slu_client_unit_drop_copy(c, w);
	slu_lock_give(&c->lock);
	free(w);
}

/* -- state ----------------------------------------------------------------------------------------
 */

int slu_client_unit_freeze(struct slu_unit *unit, enum slu_frozen why)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	struct slu_client_unit *w = slu_client_unit_of(unit);
	int r = 0;

	slu_lock_take(&c->lock);
	if (w->device->is_orphan) {
		slu_lock_give(&c->lock);
		return 0;
	}
	while (unit->moving != SLU_MOVING_NO)
		slu_client_wait(c, SLU_PEER_NEVER);
	if (why != SLU_FROZEN_NO && !slu_unit_is_present(unit)) {
		r = slu_error(-EBUSY);
	} else {
		slu_peer_alloc_freeze(c->peer, slu_clock_now_ns(), unit, why);
		slu_client_pump(c, slu_clock_now_ns());
	}
	slu_lock_give(&c->lock);
	return r;
}

void slu_client_device_freeze(struct slu_client_device *d, enum slu_frozen why)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	struct slu_unit *u;

	slu_lock_take(&c->lock);
	if (!d->is_orphan) {
		TAILQ_FOREACH (u, slu_peer_view_units(c->peer, d->index), link)
			if ((u->frozen == SLU_FROZEN_NO || u->frozen == SLU_FROZEN_NO_BACKING) &&
			    slu_unit_is_present(u))
				slu_peer_alloc_freeze(c->peer, slu_clock_now_ns(), u, why);
		slu_client_pump(c, slu_clock_now_ns());
	}
	slu_lock_give(&c->lock);
}

static void unit_touch(struct slu_unit *u)
{
	uint64_t version = SLU_MAX(u->host_version, u->device_version) + 1;

	__atomic_store_n(&u->device_version, version, __ATOMIC_RELAXED);
}

void slu_client_unit_dirty(struct slu_unit *unit)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;

	/* The caller keeps the unit in place, so only this function can change a version now. */
	if (__atomic_load_n(&unit->device_version, __ATOMIC_RELAXED) >
	    __atomic_load_n(&unit->host_version, __ATOMIC_RELAXED))
		return;
	slu_lock_take(&c->lock);
	if (slu_unit_is_clean(unit))
		unit_touch(unit);
	slu_lock_give(&c->lock);
}

void slu_client_unit_suspect(struct slu_unit *unit)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;

	if (__atomic_load_n(&unit->suspect, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&unit->device_version, __ATOMIC_RELAXED) >
		    __atomic_load_n(&unit->host_version, __ATOMIC_RELAXED))
		return;
	slu_lock_take(&c->lock);
	__atomic_store_n(&unit->suspect, true, __ATOMIC_RELAXED);
	slu_lock_give(&c->lock);
}

void slu_client_unit_clear_suspect(struct slu_unit *unit, bool is_right)
{
	__atomic_store_n(&unit->suspect, false, __ATOMIC_RELAXED);
	if (!is_right && slu_unit_is_clean(unit))
		unit_touch(unit);
}

void slu_client_unit_die(struct slu_client *c, struct slu_client_unit *w)
{
	slu_client_unit_clear_suspect(&w->unit, true);
	__atomic_store_n(&w->unit.host_version, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&w->unit.device_version, 0, __ATOMIC_RELAXED);
	w->unit.proven = false;
	w->has_sum = false;
	c->counts.n_dead++;
}

bool slu_client_unit_may_compare(const struct slu_client *c, const struct slu_client_device *d)
{
	enum slu_hashing hashing = slu_peer_connection_settings(c->peer)->hash_clean;

	return hashing == SLU_HASHING_ALWAYS ||
	       (hashing == SLU_HASHING_AUTO && !d->backend->compares_if_asked);
}

/*
 * Whether the device's copy can be compared when the unit leaves; otherwise it counts as written.
 */
static bool unit_is_comparable(struct slu_client *c, const struct slu_client_device *d,
			       const struct slu_unit *u)
{
	return d->backend->compare && u->place == SLU_PLACE_DEVICE && u->host_version &&
	       slu_client_unit_may_compare(c, d);
}

/* Whether a proof that no call wrote it keeps the unit clean. */
static bool unit_can_stay_clean(const struct slu_unit *u)
{
	return u->watched && u->place == SLU_PLACE_DEVICE && u->frozen == SLU_FROZEN_NO &&
	       u->host_version && slu_unit_is_clean(u);
}

/*
 * Counts of entries are the process's. Where it uses several devices, a call for another one may be
 * under way while they are read.
 */
static bool client_has_one_device(const struct slu_client *c)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n_places; i++)
		n += c->devices[i] != NULL;
	return n == 1;
}

bool slu_client_unit_has_clean(const struct slu_client *c, const struct slu_client_device *d)
{
	const struct slu_unit *u;

	if (d->mode == SLU_MODE_LAUNCH || !slu_peer_connection_settings(c->peer)->predict ||
	    c->audit.has_failed || !client_has_one_device(c))
		return false;
	TAILQ_FOREACH (u, slu_peer_view_units(c->peer, d->index), link)
		if (unit_can_stay_clean(u))
			return true;
	return false;
}

/* Whether every call since the gate was opened told what it writes. What is blocked runs later. */
static bool device_writes_are_known(const struct slu_client *c, const struct slu_client_device *d)
{
	return slu_gate_wants_writes(d->index) && !d->is_blocked && client_has_one_device(c) &&
	       slu_gate_n_entries() - d->n_at_open == slu_gate_n_vouched() - d->n_vouched_at_open;
}

void slu_client_unit_touch_all(struct slu_client *c, struct slu_client_device *d)
{
	bool is_known;
	struct slu_unit *u;

	if (d->mode == SLU_MODE_LAUNCH)
		return; /* its commands report what they write */
	if (slu_gate_n_entries() == d->n_at_open && !d->is_blocked)
		return;
	is_known = device_writes_are_known(c, d);
	TAILQ_FOREACH (u, slu_peer_view_units(c->peer, d->index), link) {
		bool was_written = __atomic_exchange_n(&u->written, false, __ATOMIC_RELAXED);

		if (!slu_unit_is_present(u) || !slu_unit_is_clean(u))
			continue;
		if (is_known && !was_written && unit_can_stay_clean(u)) {
			u->proven = true;
			continue;
		}
		u->proven = false;
		if (unit_is_comparable(c, d, u))
			__atomic_store_n(&u->suspect, true, __ATOMIC_RELAXED);
		else
			unit_touch(u);
	}
}

void slu_client_unit_watch(struct slu_unit *unit)
{
	struct slu_client *c = &slu_client_global;

	slu_lock_take(&c->lock);
	if (slu_client_unit_of(unit)->device->is_orphan)
		unit->watched = true;
	else
		slu_peer_alloc_watch(c->peer, unit);
	slu_lock_give(&c->lock);
}

bool slu_client_unit_is_cancelled(void *unit)
{
	const struct slu_client_unit *w = unit;
	bool r;

	slu_lock_take(&slu_client_global.lock);
	r = w->unit.cancel;
	slu_lock_give(&slu_client_global.lock);
	return r;
}

/* -- access ----------------------------------------------------------------------------------- */

/* Copies; without the lock, the unit is pinned. */
static int unit_copy(struct slu_client_unit *w, enum slu_direction direction, uint64_t offset,
		     void *host, uint64_t bytes)
{
	struct slu_unit *u = &w->unit;

	if (direction == SLU_DIRECTION_OUT) {
		/* Contents that were never written are undefined; zeros reveal nothing. */
		if (u->host_version)
			memcpy(host, (char *)u->host + offset, bytes);
		else
			memset(host, 0, bytes);
		return 0;
	}
	if (!u->host) {
		u->host = slu_tiers_get(u->bytes);
		if (!u->host)
			return slu_error(-ENOMEM);
	}
	if (!u->host_version && bytes < u->bytes)
		memset(u->host, 0, u->bytes);
	memcpy((char *)u->host + offset, host, bytes);
	return 0;
}

int slu_client_unit_access(struct slu_unit *unit, enum slu_direction direction, uint64_t offset,
			   void *host, uint64_t bytes)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	struct slu_client_unit *w = slu_client_unit_of(unit);
	int r;

	if (offset > unit->bytes || bytes > unit->bytes - offset)
		return slu_error(-EINVAL);
	slu_lock_take(&c->lock);
	/* One access at a time: the second may need what the first one allocates. */
	while (!w->device->is_orphan &&
	       (unit->moving != SLU_MOVING_NO || unit->shift != SLU_SHIFT_NO || w->n_pins))
		slu_client_wait(c, SLU_PEER_NEVER);
	if (w->device->is_orphan || unit->place != SLU_PLACE_RAM) {
		slu_lock_give(&c->lock);
		return SLU_CLIENT_E_ON_DEVICE;
	}
	w->n_pins++;
	slu_lock_give(&c->lock);
	r = unit_copy(w, direction, offset, host, bytes);
	slu_lock_take(&c->lock);
	if (!r && direction == SLU_DIRECTION_IN) {
		unit->host_version = SLU_MAX(unit->host_version, unit->device_version) + 1;
		w->has_sum = false;
	}
	w->n_pins--;
	pthread_cond_broadcast(&c->changed);
	slu_lock_give(&c->lock);
	return r;
}
