/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Mode LAUNCH: a thread of the program names the units of a command, waits until the peer has them
 * on the device, and submits the command. Part of client.h.
 */

#include <time.h>

#include "base/error.h"
#include "client/instance.h"
#include "client/torture.h"
#include "client/wait.h"

/*
 * A time that may be some milliseconds old, for a tenth of the cost. A command that does not wait
 * needs it only to show that the program is alive.
 */
static uint64_t clock_rough_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * SLU_NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Threads of the program read it without the lock. */
static bool device_note_crowd(struct slu_client *c, struct slu_client_device *d)
{
	bool is_crowded = slu_peer_ahead_is_crowded(c->peer, d->index);

	__atomic_store_n(&d->is_crowded, is_crowded, __ATOMIC_RELAXED);
	return is_crowded;
}

/*
 * Units on another device that commands behind a host event named at the last look. Such a unit
 * would be used where it is, and the driver might have no memory for it here. The program may have
 * set the event since: look again.
 */
static void units_ask_again(struct slu_client *c, const struct slu_client_device *d,
			    struct slu_unit *const *units, size_t n_units)
{
	for (size_t i = 0; i < n_units; i++) {
		struct slu_client_unit *w = slu_client_unit_of(units[i]);
		struct slu_client_device *other = w->device;
		int r;

		if (!w->unit.blocked || w->unit.device == d->index || !other->backend->drain_unit)
			continue;
		w->n_pins++;
		slu_lock_give(&c->lock);
		slu_lock_assert_none();
		r = other->backend->drain_unit(other->data, &w->unit);
		slu_lock_take(&c->lock);
		w->n_pins--;
		pthread_cond_broadcast(&c->changed);
		if (r != SLU_BACKEND_E_BLOCKED)
			slu_peer_turn_unblocked_unit(c->peer, slu_clock_now_ns(), &w->unit);
	}
}

static int command_begin(struct slu_client *c, struct slu_client_device *d,
			 struct slu_unit *const *units, size_t n_units)
{
	bool has_waited = false;

	for (;;) {
		uint64_t now_ns = has_waited ? slu_clock_now_ns() : clock_rough_now_ns();
		int r;

		units_ask_again(c, d, units, n_units);
		if (d->is_orphan || d->is_dead) {
			for (size_t i = 0; i < n_units; i++)
				units[i]->n_named++;
			return 0;
		}
		if (d->is_spoilt)
			return slu_error(-EIO);
		r = slu_peer_command_name(c->peer, now_ns, d->index, units, n_units);
		if (r == 0) {
			bool is_crowded = device_note_crowd(c, d);

			d->n_submitted++;
			/* others may wait for the change */
			if (has_waited || c->n_waiting || is_crowded)
				slu_client_pump(c, slu_clock_now_ns());
			return 0;
		}
		slu_client_pump(c, slu_clock_now_ns());
		if (r == SLU_PEER_E_DENIED)
			return SLU_CLIENT_E_NO_MEMORY;
		if (!has_waited)
			c->counts.n_slow_entries++;
		has_waited = true;
		slu_client_wait(c, SLU_PEER_NEVER);
	}
}

int slu_client_command_begin(struct slu_client_device *d, struct slu_unit *const *units,
			     size_t n_units)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;
	int r;

	slu_lock_take(&c->lock);
	if (!d->is_orphan)
		slu_client_wait_joined(c);
	r = command_begin(c, d, units, n_units);
	if (!r)
		d->n_commands++;
	slu_lock_give(&c->lock);
	return r;
}

/* Whether the daemon or a thread waits for the units of a command. */
static bool device_is_awaited(const struct slu_client *c, const struct slu_client_device *d)
{
	struct slu_peer_account_view view;

	if (d->is_closing || c->n_waiting)
		return true;
	slu_peer_view_account(c->peer, (struct slu_account){ SLU_TIER_DEVICE, (uint8_t)d->index },
			      &view);
	return view.held_bytes > view.limit_bytes;
}

void slu_client_command_end(struct slu_client_device *d, struct slu_unit *const *units,
			    size_t n_units)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;

	slu_lock_take(&c->lock);
	d->n_commands--;
	if (d->is_orphan) {
		for (size_t i = 0; i < n_units; i++)
			units[i]->n_named--;
		slu_lock_give(&c->lock);
		return;
	}
	slu_peer_command_unname(c->peer, units, n_units);
	if (c->torture)
		slu_torture_turn(c->torture, d->index);
	if (c->torture || device_is_awaited(c, d)) {
		d->drain_ns = 0;
		slu_client_pump(c, slu_clock_now_ns());
	}
	slu_lock_give(&c->lock);
}

void slu_client_command_expect(struct slu_client_device *d, struct slu_unit *const *units,
			       size_t n_units)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;

	slu_lock_take(&c->lock);
	if (!d->is_orphan && !c->torture) {
		slu_peer_ahead_expect(c->peer, d->index, units, n_units);
		if (device_note_crowd(c, d))
			slu_client_pump(c, slu_clock_now_ns());
	}
	slu_lock_give(&c->lock);
}

void slu_client_command_passed(struct slu_client_device *d, struct slu_unit *const *units,
			       size_t n_units)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;

	slu_lock_take(&c->lock);
	if (!d->is_orphan)
		slu_peer_command_passed(c->peer, clock_rough_now_ns(), d->index, units, n_units);
	slu_lock_give(&c->lock);
}

void slu_client_command_count(struct slu_client_device *d, uint64_t n)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;

	slu_lock_take(&c->lock);
	if (!d->is_orphan)
		slu_peer_reports_count_launches(c->peer, slu_clock_now_ns(), d->index, n);
	slu_lock_give(&c->lock);
}
