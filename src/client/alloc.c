/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The allocation of units. Part of unit.h; its calls are in client.h.
 *
 * The peer decides where a unit is allocated. On the device the back end creates it on the
 * program's thread; meanwhile the unit counts as named, so that no move of it begins. In mode
 * LAUNCH, while much memory is free, the front end may skip the proof that the driver has the
 * memory; if the driver refuses at the first use, the unit goes back to RAM.
 */

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "client/instance.h"
#include "client/log.h"
#include "client/wait.h"

#define FAILURES_MAX 4 /* errors of the driver at one allocation, refusals not counted */
/*
 * Ample credit: this much must remain, as a part of the device and in bytes. It is more than
 * contexts take that were not seen yet.
 */
#define SURE_PARTS	32
#define SURE_BYTES	(64 * SLU_MIB)
#define UNMAKE_PAUSE_NS (1 * SLU_NS_PER_MS)

/* Never joined, so no daemon could free memory: a refusal is final. */
static bool refusal_is_final(const struct slu_client *c)
{
	return c->stage == SLU_CLIENT_LOOSE;
}

/* In mode LAUNCH a creation is the call that the program made: its error is the program's. */
static bool device_creates_for_program(const struct slu_client_device *d)
{
	return d->mode == SLU_MODE_LAUNCH;
}

/*
 * Whether so much credit remains that the driver would refuse only if others took a good part of
 * the device in a moment. Then a front end may skip the proof.
 */
static bool device_has_ample_credit(const struct slu_client *c, const struct slu_client_device *d)
{
	uint64_t enough = SLU_MAX(d->total_bytes / SURE_PARTS, SURE_BYTES);
	struct slu_peer_account_view view;

	slu_peer_view_account(c->peer, (struct slu_account){ SLU_TIER_DEVICE, (uint8_t)d->index },
			      &view);
	return !c->counts.n_refusals && slu_sub_floor(view.limit_bytes, view.held_bytes) >= enough;
}

/*
 * Creates the device memory of a unit. Needs the lock and releases it meanwhile. As with a move in,
 * a refusal goes to the daemon, and other errors are retried: we make more calls than the program
 * did, and they fail for reasons of their own. The program waits, so the retries are few.
 *
 * Return: 0, SLU_CLIENT_E_NO_MEMORY, -EAGAIN: ask the peer again; or -errno.
 */
static int alloc_create(struct slu_client *c, struct slu_client_unit *w, unsigned *n_failures)
{
	struct slu_client_device *d = w->device;
	struct slu_unit *const units[] = { &w->unit };
	uint64_t now_ns;
	int r;

	w->unit.unproven = device_creates_for_program(d) && device_has_ample_credit(c, d);
	slu_lock_give(&c->lock);
	slu_lock_assert_none();
	r = d->backend->create(d->data, &w->unit);
	slu_lock_take(&c->lock);

	now_ns = slu_clock_now_ns();
	slu_peer_command_unname(c->peer, units, 1);
	w->unit.unproven = w->unit.unproven && !r;
	if (r == 0) {
		w->is_made = true;
	} else if (r == SLU_BACKEND_E_REFUSED) {
		c->counts.n_refusals++;
		slu_peer_alloc_refused(c->peer, now_ns, &w->unit);
		r = -EAGAIN;
		if (refusal_is_final(c)) {
			slu_peer_alloc_cancel(c->peer, now_ns, &w->unit);
			r = SLU_CLIENT_E_NO_MEMORY;
		}
	} else {
		slu_peer_alloc_failed(c->peer, now_ns, &w->unit);
		if (r == SLU_BACKEND_E_LOST)
			d->is_dead = true;
		r = r < 0 ? r : -EIO;
		if (!device_creates_for_program(d) && !d->is_dead &&
		    ++*n_failures <= FAILURES_MAX) {
			slu_client_log(
				"device %u: allocation of %llu bytes failed: %s, trying again",
				d->index, (unsigned long long)w->unit.bytes, strerror(-r));
			r = -EAGAIN;
		} else {
			slu_peer_alloc_cancel(c->peer, now_ns, &w->unit);
		}
	}
	slu_client_pump(c, now_ns);
	return r;
}

void slu_client_unit_prove(struct slu_unit *unit)
{
	if (__atomic_load_n(&unit->unproven, __ATOMIC_RELAXED))
		__atomic_store_n(&unit->unproven, false, __ATOMIC_RELAXED);
}

/* Needs the lock and releases it meanwhile. */
static void alloc_unmake(struct slu_client *c, struct slu_client_unit *w)
{
	struct slu_unit *u = &w->unit;
	struct slu_client_device *d;

	/* another thread's command may be proving it */
	while (u->unproven &&
	       (u->n_named || u->moving != SLU_MOVING_NO || u->shift != SLU_SHIFT_NO || w->n_pins))
		slu_client_wait(c, slu_clock_now_ns() + UNMAKE_PAUSE_NS);
	if (!u->unproven)
		return;
	u->unproven = false;
	if (u->place != SLU_PLACE_DEVICE || u->frozen != SLU_FROZEN_NO)
		return;
	d = w->device;
	slu_peer_move_unmake(c->peer, u);
	slu_lock_give(&c->lock);
	slu_lock_assert_none();
	d->backend->destroy(d->data, u);
	slu_lock_take(&c->lock);
	w->is_made = false;
	c->counts.n_refusals++;
	slu_peer_move_unmade(c->peer, slu_clock_now_ns(), u);
}

void slu_client_unit_unmake(struct slu_unit *const *units, size_t n_units)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;

	slu_lock_take(&c->lock);
	for (size_t i = 0; i < n_units; i++)
		if (!slu_client_unit_of(units[i])->device->is_orphan)
			alloc_unmake(c, slu_client_unit_of(units[i]));
	slu_client_pump(c, slu_clock_now_ns());
	slu_lock_give(&c->lock);
}

/* Takes an extent for a unit before its allocation. Needs the lock and releases it meanwhile. */
static void alloc_reserve_extent(struct slu_client *c, struct slu_client_unit *w)
{
	int r = 0;

	if (!w->extent.bytes) {
		slu_lock_give(&c->lock);
		r = slu_disk_take(&c->disk, w->unit.bytes, &w->extent);
		slu_lock_take(&c->lock);
	}
	if (!r)
		return;
	slu_client_log("no disk space for %llu bytes: %s", (unsigned long long)w->unit.bytes,
		       slu_disk_reason(r));
	slu_peer_alloc_no_extent(c->peer, slu_clock_now_ns(), &w->unit);
}

static int alloc_run(struct slu_client *c, struct slu_client_unit *w, bool is_frozen)
{
	unsigned n_failures = 0;

	for (;;) {
		uint64_t now_ns = slu_clock_now_ns();
		int r = slu_peer_alloc(c->peer, now_ns, &w->unit);

		if (r == 0 && !is_frozen) {
			/* no thread waits for this change: the step after the creation is enough */
			w->unit.n_named++;
			r = alloc_create(c, w, &n_failures);
			if (r != -EAGAIN)
				return r;
			continue;
		}
		slu_client_pump(c, now_ns);
		switch (r) {
		case 0:
			return 0;
		case SLU_PEER_E_IN_RAM:
			return 0;
		case SLU_PEER_E_RESERVE:
			alloc_reserve_extent(c, w);
			break;
		case SLU_PEER_E_WAIT:
			slu_client_wait(c, SLU_PEER_NEVER);
			break;
		case SLU_PEER_E_DENIED:
			slu_client_log("device %u: no memory for %llu bytes, see the daemon's log",
				       w->device->index, (unsigned long long)w->unit.bytes);
			return SLU_CLIENT_E_NO_MEMORY;
		default:
			return slu_fold(r);
		}
	}
}

/* In a child, on a device of its parent: the driver alone decides. */
static int alloc_create_orphan(struct slu_client_unit *w, bool is_frozen)
{
	int r;

	w->unit.place = SLU_PLACE_DEVICE;
	if (is_frozen)
		return 0;
	slu_lock_assert_none();
	r = w->device->backend->create(w->device->data, &w->unit);
	w->is_made = !r;
	if (r == SLU_BACKEND_E_REFUSED)
		return SLU_CLIENT_E_NO_MEMORY;
	return r > 0 ? slu_error(-EIO) : slu_fold(r);
}

/* The program owns the unit from now on; uses up the reservation. Needs the lock. */
static void device_own(struct slu_client_device *d, const struct slu_unit *u,
		       uint64_t *reserved_bytes)
{
	uint64_t used = SLU_MIN(*reserved_bytes, u->bytes);

	d->owned_bytes += slu_client_unit_owned_bytes(u);
	d->reserved_bytes -= used;
	*reserved_bytes -= used;
}

static int alloc_unit(struct slu_client_device *d, uint64_t bytes, enum slu_frozen frozen,
		      bool is_spare, uint64_t *reserved_bytes, void *owner,
		      struct slu_unit **ret_unit)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	struct slu_disk_extent spare = { 0 };
	struct slu_client_unit *w;
	int r;

	if (!bytes)
		return slu_error(-EINVAL);
	w = calloc(1, sizeof(*w));
	if (!w)
		return slu_error(-ENOMEM);
	w->device = d;
	w->unit.bytes = bytes;
	w->unit.device = (uint8_t)d->index;
	w->unit.owner = owner;
	w->unit.frozen = (uint8_t)frozen;
	w->unit.device_only = is_spare;
	slu_lock_take(&c->lock);
	if (d->is_orphan) {
		slu_lock_give(&c->lock);
		r = alloc_create_orphan(w, frozen != SLU_FROZEN_NO);
	} else {
		if (frozen == SLU_FROZEN_NO)
			slu_client_wait_joined(c);
		r = alloc_run(c, w, frozen != SLU_FROZEN_NO);
		if (!r)
			device_own(d, &w->unit, reserved_bytes);
		/* not needed: the allocation failed, or found memory after all */
		if (r || !w->unit.on_disk) {
			spare = w->extent;
			w->extent = (struct slu_disk_extent){ 0 };
		}
		slu_lock_give(&c->lock);
	}
	slu_disk_give(&c->disk, &spare);
	if (r) {
		free(w);
		return r;
	}
	*ret_unit = &w->unit;
	return 0;
}

int slu_client_unit_new(struct slu_client_device *device, uint64_t bytes, enum slu_frozen frozen,
			void *owner, struct slu_unit **ret_unit)
{
	return alloc_unit(device, bytes, frozen, false, &(uint64_t){ 0 }, owner, ret_unit);
}

int slu_client_unit_new_reserved(struct slu_client_device *device, uint64_t bytes,
				 enum slu_frozen frozen, uint64_t *reserved_bytes, void *owner,
				 struct slu_unit **ret_unit)
{
	return alloc_unit(device, bytes, frozen, false, reserved_bytes, owner, ret_unit);
}

int slu_client_unit_new_spare(struct slu_client_device *device, uint64_t bytes, void *owner,
			      struct slu_unit **ret_unit)
{
	return alloc_unit(device, bytes, SLU_FROZEN_NO, true, &(uint64_t){ 0 }, owner, ret_unit);
}
