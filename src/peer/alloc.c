/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Allocation and release of units. An allocation needs backing credit (rule 4): of pageable memory,
 * or else of disk, where its extent is taken before the unit is allocated. So a full disk fails the
 * allocation and nothing later. In a turn, with the gate open, it spends device credit and the
 * caller creates the unit there; without credit it waits, while other threads run on (rule 5). Off
 * turn the unit is allocated in RAM without waiting (rule 6). So it is in mode LAUNCH without
 * credit: a command that names the unit brings it in. Shortly after a DENY an allocation that leads
 * back to the denied need fails at once: a program that caches memory gives some up when an
 * allocation fails, and would not do so when a later copy or launch fails.
 *
 * In the other modes no unit may be allocated in RAM while the gate is open or draining: a thread
 * could still launch, and its kernel would meet the missing unit. Such an allocation waits for the
 * end of the drain. While the gate is PARTIAL only calls that do not touch the unit pass.
 *
 * Without a daemon a unit is allocated on the device, and the driver decides whether it fits.
 * Without backing credit the unit is frozen for that reason; slu_peer_alloc_thaw() makes it movable
 * when the daemon gives credit.
 */

#include <assert.h>

#include "peer/internal.h"

const struct slu_unit *slu_peer_alloc_waiting(const struct slu_peer *peer, unsigned device)
{
	const struct slu_unit *u;

	TAILQ_FOREACH (u, &peer->waiting_allocs, link)
		if (u->device == device && u->alloc_wait == SLU_ALLOC_WAIT_DEVICE && !u->denied)
			return u;
	return NULL;
}

static bool alloc_waits(const struct slu_peer *peer, const struct slu_unit *unit)
{
	const struct slu_unit *u;

	TAILQ_FOREACH (u, &peer->waiting_allocs, link)
		if (u == unit)
			return true;
	return false;
}

static void alloc_stop_waiting(struct slu_peer *peer, struct slu_unit *u)
{
	if (!alloc_waits(peer, u))
		return;
	TAILQ_REMOVE(&peer->waiting_allocs, u, link);
	u->alloc_wait = SLU_ALLOC_WAIT_NONE;
}

static int alloc_wait_for(struct slu_peer *peer, struct slu_unit *u, enum slu_alloc_wait what)
{
	if (!alloc_waits(peer, u)) {
		TAILQ_INSERT_TAIL(&peer->waiting_allocs, u, link);
		u->denied = false;
	}
	u->alloc_wait = (uint8_t)what;
	return SLU_PEER_E_WAIT;
}

/* The credit for an extent that no unit has yet. */
static void alloc_give_up_extent(struct slu_peer *peer, struct slu_unit *u)
{
	if (!u->on_disk || u->has_backing)
		return;
	peer->reserved_bytes -= u->bytes;
	slu_peer_account_release(&peer->disk, u->bytes);
	u->on_disk = false;
}

static int alloc_deny(struct slu_peer *peer, struct slu_unit *u)
{
	alloc_stop_waiting(peer, u);
	alloc_give_up_extent(peer, u);
	u->denied = false;
	u->n_refused = 0;
	return SLU_PEER_E_DENIED;
}

static void alloc_take_backing(struct slu_peer *peer, struct slu_unit *u)
{
	if (u->on_disk)
		peer->reserved_bytes -= u->bytes;
	else
		slu_peer_account_hold(&peer->pageable, u->bytes);
	u->has_backing = true;
}

static void alloc_insert(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u,
			 enum slu_place place)
{
	struct slu_peer_device *d = &peer->devices[u->device];

	alloc_stop_waiting(peer, u);
	u->place = (uint8_t)place;
	u->moving = SLU_MOVING_NO;
	u->shift = SLU_SHIFT_NO;
	u->cancel = u->wanted = u->blocked = u->working = u->denied = u->pinned = false;
	u->n_named = 0;
	u->device_version = u->host_version = 0;
	u->last_use = d->n_launches;
	TAILQ_INSERT_TAIL(&d->units, u, link);
	slu_peer_tally_add(d, u);
	d->device_only_bytes += u->device_only ? u->bytes : 0;
	if (place == SLU_PLACE_DEVICE)
		slu_peer_account_hold(&d->account, u->bytes);
	slu_peer_reports_touch(peer, now_ns);
}

static int alloc_frozen(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u)
{
	struct slu_peer_account *a = &peer->devices[u->device].account;

	u->has_backing = false;
	alloc_insert(peer, now_ns, u, SLU_PLACE_DEVICE);
	if (a->held_bytes > a->limit_bytes)
		a->is_due = true;
	return 0;
}

/*
 * The step that ends a pause wakes the threads that wait for it. A thread that asks after the pause
 * and had to wait would be woken by its own step, before it waits.
 */
static bool device_is_paused(const struct slu_peer_device *d, uint64_t now_ns)
{
	return now_ns < d->retry_ns[IN];
}

static int alloc_alone(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u)
{
	if (u->n_refused > peer->config.refusal_retries)
		return alloc_deny(peer, u);
	if (device_is_paused(&peer->devices[u->device], now_ns))
		return alloc_wait_for(peer, u, SLU_ALLOC_WAIT_DEVICE);
	u->has_backing = false;
	if (u->on_disk || peer->pageable.held_bytes + u->bytes <= peer->pageable.limit_bytes)
		alloc_take_backing(peer, u);
	else
		u->frozen = SLU_FROZEN_NO_BACKING;
	alloc_insert(peer, now_ns, u, SLU_PLACE_DEVICE);
	return 0;
}

/* In a turn, with credit that no command in front needs. */
static bool alloc_may_be_on_device(const struct slu_peer *peer, uint64_t now_ns,
				   const struct slu_peer_device *d, const struct slu_unit *u)
{
	return d->gate == SLU_PEER_GATE_OPEN && slu_peer_turn_may_run(peer, d) &&
	       !device_is_paused(d, now_ns) &&
	       d->account.held_bytes + u->bytes <= d->account.limit_bytes &&
	       (d->mode != SLU_MODE_LAUNCH ||
		(!d->n_command && !slu_peer_ahead_is_crowded(peer, u->device)));
}

/* Units that keep memory free for the driver do not belong to the program. */
static uint64_t device_program_bytes(const struct slu_peer_device *d)
{
	return d->owned_bytes - d->device_only_bytes;
}

bool slu_peer_alloc_is_unfit(const struct slu_peer *peer, uint64_t now_ns, unsigned index,
			     uint64_t bytes)
{
	const struct slu_peer_device *d = &peer->devices[index];

	/* in the other modes not everything must be on the device */
	return d->mode != SLU_MODE_LAUNCH && !slu_peer_move_uses_map(peer, d) &&
	       now_ns < d->unfit_until_ns && d->owned_bytes + bytes >= d->unfit_bytes;
}

/* Some programs ask for less and less until they succeed: report only one of these requests. */
void slu_peer_alloc_exceeds(struct slu_peer *peer, uint64_t now_ns, unsigned index, uint64_t bytes,
			    uint64_t owned_bytes, uint64_t visible_bytes)
{
	struct slu_peer_device *d = &peer->devices[index];
	struct slu_peer_record *r;

	if (!peer->is_joined || !(peer->welcome.hears & SLU_HEARS_EXCESS) ||
	    (d->excess_ns && now_ns < d->excess_ns + SLU_PEER_EXCESS_NS))
		return;
	r = slu_peer_push_message(peer, SLU_MSG_EXCESS, index);
	if (!r)
		return;
	d->excess_ns = now_ns;
	r->excess = (struct slu_msg_excess){
		.device = (uint8_t)index,
		.asked_bytes = bytes,
		.owned_bytes = owned_bytes,
		.visible_bytes = visible_bytes,
	};
}

int slu_peer_alloc(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u)
{
	struct slu_peer_device *d = &peer->devices[u->device];
	uint64_t visible = peer->welcome.visible_bytes;

	assert(u->bytes > 0 && u->device < peer->n_devices);
	if (u->frozen != SLU_FROZEN_NO)
		return alloc_frozen(peer, now_ns, u);
	if (alloc_waits(peer, u) && u->denied)
		return alloc_deny(peer, u);
	if (visible && !u->device_only && device_program_bytes(d) + u->bytes > visible) {
		slu_peer_alloc_exceeds(peer, now_ns, u->device, u->bytes, device_program_bytes(d),
				       visible);
		return alloc_deny(peer, u);
	}
	if (peer->is_alone)
		return alloc_alone(peer, now_ns, u);
	if (!u->on_disk && peer->pageable.held_bytes + u->bytes > peer->pageable.limit_bytes) {
		if (!slu_peer_shift_has_credit(peer, u->bytes))
			return alloc_wait_for(peer, u, SLU_ALLOC_WAIT_BACKING);
		alloc_stop_waiting(peer, u);
		slu_peer_account_hold(&peer->disk, u->bytes);
		peer->reserved_bytes += u->bytes;
		u->on_disk = true;
		return SLU_PEER_E_RESERVE;
	}

	if (alloc_may_be_on_device(peer, now_ns, d, u)) {
		alloc_take_backing(peer, u);
		alloc_insert(peer, now_ns, u, SLU_PLACE_DEVICE);
		return 0;
	}
	if (d->mode != SLU_MODE_LAUNCH && d->gate != SLU_PEER_GATE_SHUT &&
	    d->gate != SLU_PEER_GATE_PARTIAL)
		return alloc_wait_for(peer, u, SLU_ALLOC_WAIT_DEVICE);
	if (!u->device_only && slu_peer_alloc_is_unfit(peer, now_ns, u->device, u->bytes))
		return alloc_deny(peer, u);
	alloc_take_backing(peer, u);
	alloc_insert(peer, now_ns, u, u->on_disk ? SLU_PLACE_DISK : SLU_PLACE_RAM);
	return SLU_PEER_E_IN_RAM;
}

static void alloc_remove(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u)
{
	struct slu_peer_device *d = &peer->devices[u->device];

	assert(u->moving == SLU_MOVING_NO && u->shift == SLU_SHIFT_NO && u->n_named == 0);
	TAILQ_REMOVE(&d->units, u, link);
	slu_peer_working_drop(d, u);
	slu_peer_tally_remove(d, u);
	d->device_only_bytes -= u->device_only ? u->bytes : 0;
	if (u->place == SLU_PLACE_DEVICE)
		slu_peer_account_release(&d->account, u->bytes);
	if (u->place == SLU_PLACE_MAPPED)
		slu_peer_account_release(&peer->pinned, u->bytes);
	if (u->has_backing)
		slu_peer_account_release(u->on_disk ? &peer->disk : &peer->pageable, u->bytes);
	u->has_backing = u->on_disk = false;
	slu_peer_reports_touch(peer, now_ns);
}

static void alloc_undo(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u)
{
	alloc_remove(peer, now_ns, u);
	if (u->frozen == SLU_FROZEN_NO_BACKING)
		u->frozen = SLU_FROZEN_NO;
	peer->devices[u->device].retry_ns[IN] = now_ns + peer->config.refusal_pause_ns;
}

void slu_peer_alloc_failed(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u)
{
	alloc_undo(peer, now_ns, u);
}

void slu_peer_alloc_refused(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u)
{
	struct slu_peer_device *d = &peer->devices[u->device];

	alloc_undo(peer, now_ns, u);
	u->n_refused++;
	if (!peer->is_alone && u->n_refused > peer->config.refusal_retries) {
		u->n_refused = 0;
		slu_peer_account_refuse(&d->account, u->bytes);
		d->want_is_current = false;
	}
}

void slu_peer_alloc_no_extent(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u)
{
	alloc_give_up_extent(peer, u);
	slu_peer_account_refuse(&peer->disk, u->bytes);
	peer->backing_want_is_current = false;
	slu_peer_reports_touch(peer, now_ns);
}

void slu_peer_alloc_cancel(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u)
{
	(void)now_ns;
	alloc_stop_waiting(peer, u);
	alloc_give_up_extent(peer, u);
	u->denied = false;
	u->n_refused = 0;
}

static void command_drop_if_named(struct slu_peer *peer, struct slu_peer_device *d,
				  const struct slu_unit *u)
{
	for (size_t i = 0; i < d->n_command; i++)
		if (d->command[i] == u) {
			slu_peer_command_drop(peer, d);
			return;
		}
}

void slu_peer_alloc_released(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u)
{
	struct slu_peer_device *d = &peer->devices[u->device];

	for (unsigned i = 0; i < peer->n_devices; i++)
		command_drop_if_named(peer, &peer->devices[i], u);
	slu_peer_ahead_end(d, u, SLU_AHEAD_DROPPED);
	alloc_remove(peer, now_ns, u);
	d->denied_until_ns = 0;
	/* the program may be about to end, and then no report of its moves could follow */
	if (TAILQ_EMPTY(&d->units) && (d->moved_in_bytes != d->facts.moved_in_bytes ||
				       d->moved_out_bytes != d->facts.moved_out_bytes))
		peer->reports_ns = 0;
	slu_peer_wake_all(peer);
}

void slu_peer_alloc_watch(struct slu_peer *peer, struct slu_unit *u)
{
	struct slu_peer_device *d = &peer->devices[u->device];

	if (u->watched)
		return;
	u->watched = true;
	d->n_unwatched_absent -= !slu_unit_is_present(u);
	d->wake_is_due = true;
}

void slu_peer_alloc_freeze(struct slu_peer *peer, uint64_t now_ns, struct slu_unit *u,
			   enum slu_frozen why)
{
	struct slu_peer_account *a = &peer->devices[u->device].account;

	assert(why == SLU_FROZEN_NO || slu_unit_is_present(u));
	if (why == SLU_FROZEN_NO && !u->has_backing)
		why = SLU_FROZEN_NO_BACKING;
	slu_peer_tally_set_frozen(&peer->devices[u->device], u, why);
	slu_peer_alloc_thaw(peer);
	if (a->held_bytes > a->limit_bytes)
		a->is_due = true;
	/* a command on another device uses it where it is, or no longer needs it */
	if (peer->n_devices > 1)
		slu_peer_wake_all(peer);
	slu_peer_reports_touch(peer, now_ns);
}

void slu_peer_alloc_thaw(struct slu_peer *peer)
{
	for (unsigned i = 0; i < peer->n_devices; i++) {
		struct slu_peer_device *d = &peer->devices[i];
		struct slu_unit *u;

		if (d->frozen_bytes[SLU_FROZEN_NO_BACKING] == 0)
			continue;
		slu_peer_tally_note_scan(d);
		TAILQ_FOREACH (u, &d->units, link) {
			if (u->frozen != SLU_FROZEN_NO_BACKING ||
			    peer->pageable.held_bytes + u->bytes > peer->pageable.limit_bytes)
				continue;
			alloc_take_backing(peer, u);
			slu_peer_tally_set_frozen(d, u, SLU_FROZEN_NO);
			d->account.final_is_reported = false;
		}
	}
}
