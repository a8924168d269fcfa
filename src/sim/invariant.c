/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The invariants of docs/protocol.md, checked from outside: against what the peers hold and what
 * the core believes (traffic.c: against what the wire carried). The core asserts I2 and I5–I8 as
 * well; these checks use only what can be seen, so that they also catch a core that believes its
 * own error.
 */

#include <string.h>

#include "base/util.h"
#include "sim/world.h"

#define PINNED	 (SLU_SIM_DEVICES_MAX)
#define PAGEABLE (SLU_SIM_DEVICES_MAX + 1)
#define DISK	 (SLU_SIM_DEVICES_MAX + 2)

unsigned slu_sim_invariant_account_number(struct slu_account account)
{
	if (account.tier == SLU_TIER_DEVICE)
		return account.device;
	return PINNED + account.tier - SLU_TIER_PINNED;
}

static struct slu_account account_name(unsigned number)
{
	if (number < SLU_SIM_DEVICES_MAX)
		return (struct slu_account){ SLU_TIER_DEVICE, (uint8_t)number };
	return (struct slu_account){ (uint8_t)(SLU_TIER_PINNED + number - PINNED), 0 };
}

static uint64_t account_held(const struct slu_sim_client *c, unsigned number)
{
	struct slu_peer_account_view view;

	slu_peer_view_account(c->peer, account_name(number), &view);
	return view.held_bytes;
}

/* -- what is held ------------------------------------------------------------------------------ */

/* I3: the device as the driver sees it, pinned, backing and disk as we promised. */
static void check_totals(struct slu_sim_world *w)
{
	uint64_t on_device[SLU_SIM_DEVICES_MAX] = { 0 }, pinned = 0, backing = 0, disk = 0;

	for (unsigned i = 0; i < w->n_clients; i++) {
		const struct slu_sim_client *c = &w->clients[i];

		if (!c->is_alive)
			continue;
		pinned += account_held(c, PINNED);
		backing += account_held(c, PAGEABLE);
		disk += account_held(c, DISK);
		for (unsigned d = 0; d < c->n_devices; d++)
			on_device[c->devices[d]] += account_held(c, d);
		/* asked for, but the driver was not asked yet */
		for (unsigned k = 0; k < c->n_moves; k++) {
			const struct slu_unit *u = c->moves[k].unit;

			if (u->moving == SLU_MOVING_IN && !c->moves[k].is_begun)
				on_device[c->devices[u->device]] -= u->bytes;
		}
	}
	for (unsigned d = 0; d < w->config.n_devices; d++) {
		uint64_t late = 0;

		for (size_t i = 0; i < w->board.n_frees; i++)
			if (w->board.frees[i].device == d)
				late += w->board.frees[i].bytes;
		if (on_device[d] + late != w->board.used_bytes[d])
			slu_sim_world_break(w,
					    "I3: device %u: the clients count %llu, the board %llu",
					    d, (unsigned long long)(on_device[d] + late),
					    (unsigned long long)w->board.used_bytes[d]);
		if (on_device[d] > w->board.capacity_bytes[d])
			slu_sim_world_break(w, "I3: device %u holds more than it has", d);
	}
	if (pinned > w->pinned_most_bytes)
		slu_sim_world_break(w, "I3: pinned memory beyond its budget");
	if (backing > w->config.backing_bytes)
		slu_sim_world_break(w, "I3: backing beyond its budget");
	if (disk > w->config.disk_bytes)
		slu_sim_world_break(w, "I3: disk beyond its budget");
}

/* A move that waits for the commands of its unit has not touched it yet. */
static bool unit_waits_to_drain(const struct slu_sim_client *c, const struct slu_unit *u)
{
	for (unsigned k = 0; k < c->n_moves; k++)
		if (c->moves[k].unit == u)
			return u->moving == SLU_MOVING_OUT && !c->moves[k].is_begun;
	return false;
}

/* I4: for each command in flight, what it might touch is there and stays there. */
static void check_kernels(struct slu_sim_world *w, const struct slu_sim_client *c)
{
	for (unsigned d = 0; d < c->n_devices; d++) {
		for (unsigned k = 0; k < c->n_kernels[d]; k++) {
			for (size_t i = 0; i < c->kernels[d][k].n_units; i++) {
				const struct slu_unit *u = c->kernels[d][k].units[i];

				if (slu_unit_is_present(u) ||
				    (u->place == SLU_PLACE_DEVICE &&
				     c->modes[d] == SLU_MODE_LAUNCH && unit_waits_to_drain(c, u)))
					continue;
				slu_sim_world_break(w,
						    "I4: client %u: a kernel meets a missing unit",
						    c->index);
				return;
			}
		}
	}
}

/* -- what the core believes -------------------------------------------------------------------- */

static bool find_view(const struct slu_sim_world *w, unsigned client,
		      struct slu_core_client_view *ret_view)
{
	size_t cursor = 0;

	while (slu_core_view_client(w->core, &cursor, ret_view))
		if (ret_view->client == client + 1)
			return true;
	return false;
}

static const struct slu_core_account_view *account_of(const struct slu_core_client_view *v,
						      unsigned number)
{
	if (number == PINNED)
		return &v->pinned;
	if (number == DISK)
		return &v->disk;
	return number == PAGEABLE ? &v->pageable : &v->device_accounts[number];
}

/* I1: what a client may hold is charged to it, joined, lost or an orphan. */
static void check_charges(struct slu_sim_world *w, const struct slu_sim_client *c,
			  const struct slu_core_client_view *view)
{
	for (unsigned k = 0; k < SLU_SIM_ACCOUNTS_MAX; k++) {
		struct slu_peer_account_view mine;
		uint64_t ceiling;

		if (k < SLU_SIM_DEVICES_MAX && (k >= c->n_devices || c->was_alone))
			continue;
		slu_peer_view_account(c->peer, account_name(k), &mine);
		ceiling = SLU_MAX(mine.limit_bytes, mine.held_bytes);
		if (ceiling > (view ? account_of(view, k)->charge_bytes : 0))
			slu_sim_world_break(
				w,
				"I1: client %u, account %u: ceiling %llu, charge %llu "
				"(orphan %d, lost %d, known %d)",
				c->index, k, (unsigned long long)ceiling,
				view ? (unsigned long long)account_of(view, k)->charge_bytes : 0ull,
				view && view->is_orphan, view && view->is_lost, view != NULL);
	}
}

/* I8: what the roster says is never less than what the core charges. */
static void check_roster(struct slu_sim_world *w, unsigned client,
			 const struct slu_core_client_view *view)
{
	const struct slu_sim_session *s = &w->sessions[client];
	bool is_covered = s->on_roster && s->line.pinned_bytes >= view->pinned.charge_bytes &&
			  s->line.backing_bytes >= view->pageable.charge_bytes &&
			  s->line.disk_bytes >= view->disk.charge_bytes;
	uint64_t charge =
		view->pinned.charge_bytes + view->pageable.charge_bytes + view->disk.charge_bytes;

	for (unsigned d = 0; d < view->n_devices; d++) {
		charge += view->device_accounts[d].charge_bytes;
		if (s->line.device_bytes[d] < view->device_accounts[d].charge_bytes)
			is_covered = false;
	}
	if (charge && !is_covered)
		slu_sim_world_break(w, "I8: client %u: the roster says less than is charged",
				    client);
}

static void sum_charges(const struct slu_sim_world *w,
			uint64_t ret_sums[static SLU_SIM_ACCOUNTS_MAX])
{
	struct slu_core_client_view view;
	size_t cursor = 0;

	memset(ret_sums, 0, (SLU_SIM_ACCOUNTS_MAX) * sizeof(*ret_sums));
	while (slu_core_view_client(w->core, &cursor, &view)) {
		for (unsigned d = 0; d < view.n_devices; d++)
			ret_sums[view.devices[d]] += view.device_accounts[d].charge_bytes;
		ret_sums[PINNED] += view.pinned.charge_bytes;
		ret_sums[PAGEABLE] += view.pageable.charge_bytes;
		ret_sums[DISK] += view.disk.charge_bytes;
	}
}

/* I2: charges may be above a capacity that fell, but they do not rise there. */
static void check_capacity(struct slu_sim_world *w)
{
	uint64_t now[SLU_SIM_ACCOUNTS_MAX];

	sum_charges(w, now);
	w->pinned_most_bytes = SLU_MAX(w->pinned_bytes, now[PINNED]);
	for (unsigned k = 0; k < SLU_SIM_ACCOUNTS_MAX; k++) {
		uint64_t capacity = k == PINNED ? w->pinned_bytes
				    : k == DISK ? w->config.disk_bytes
						: w->config.backing_bytes;

		if (k < SLU_SIM_DEVICES_MAX) {
			struct slu_core_device_view view;

			if (k >= w->config.n_devices)
				continue;
			slu_core_view_device(w->core, k, &view);
			capacity = view.estimate_bytes;
			if (view.charge_bytes != now[k])
				slu_sim_world_break(w, "I2: device %u: the sum of charges is wrong",
						    k);
			if (w->alone_joined)
				continue;
		}
		if (now[k] > capacity && now[k] > w->charge_bytes[k])
			slu_sim_world_break(w, "I2: account %u: charges rose to %llu of %llu", k,
					    (unsigned long long)now[k],
					    (unsigned long long)capacity);
	}
}

bool slu_sim_invariant_find_group(const struct slu_sim_world *w, uint64_t group,
				  struct slu_core_group_view *ret_view)
{
	size_t cursor = 0;

	while (slu_core_view_group(w->core, &cursor, ret_view))
		if (ret_view->group == group)
			return true;
	return false;
}

static bool gate_is_open(enum slu_core_state state)
{
	return state == SLU_CORE_FILLING || state == SLU_CORE_RUNNING;
}

/*
 * A client that fills needs all of its bytes, or those that should be on the device in this turn. A
 * client that runs needs what it holds, and may have outgrown the device. The window of a LAUNCH
 * program that runs may still shrink to its need. A lost client gets nothing before it is back.
 */
static uint64_t seat_need(const struct slu_core_client_view *view, unsigned device,
			  enum slu_core_state state)
{
	const struct slu_msg_want *want = &view->wants[device];
	uint64_t held = view->device_accounts[device].held_bytes;
	uint64_t need = SLU_MAX(want->is_runnable ? want->min_bytes : 0, want->working_bytes);
	uint64_t goal;

	if (view->is_lost)
		return held;
	if (view->modes[device] == SLU_MODE_LAUNCH)
		return state == SLU_CORE_RUNNING ? SLU_MIN(held, need) : need;
	if (state == SLU_CORE_RUNNING)
		return held;
	if (view->modes[device] == SLU_MODE_ALL)
		return want->all_bytes;
	/* beyond all that it has, the goal is slack for allocations */
	goal = SLU_MIN(view->device_accounts[device].goal_bytes, want->all_bytes);
	return SLU_MAX(goal, held);
}

/*
 * I6: groups that run at the same time fit together. Exceptions: turns that were adopted from
 * clients (rule 33), and a group that runs alone. A program that took part of the reserve while it
 * ran alone gives it up at rest.
 */
static void check_side_by_side(struct slu_sim_world *w)
{
	for (unsigned d = 0; d < w->config.n_devices; d++) {
		struct slu_core_client_view view;
		struct slu_core_device_view device;
		size_t cursor = 0;
		uint64_t need = 0, first = 0, most;
		bool several = false, adopted = false;

		while (slu_core_view_client(w->core, &cursor, &view)) {
			struct slu_core_group_view group;

			if (view.is_orphan ||
			    !slu_sim_invariant_find_group(w, view.group, &group) ||
			    !gate_is_open(group.state))
				continue;
			for (unsigned k = 0; k < view.n_devices; k++) {
				if (view.devices[k] != d)
					continue;
				several = several || (first && first != view.group);
				first = view.group;
				adopted = adopted || group.epoch.generation != w->generation;
				need += seat_need(&view, k, group.state);
			}
		}
		slu_core_view_device(w->core, d, &device);
		most = SLU_MAX(device.usable_bytes, device.estimate_bytes);
		if (several && !adopted && need > most)
			slu_sim_world_break(w, "I6: device %u: open groups need %llu of %llu", d,
					    (unsigned long long)need, (unsigned long long)most);
	}
}

/*
 * I10: no program starves: one that wants to launch is served or denied within a bound. The wait
 * starts again with each fault.
 */
static void check_wait(struct slu_sim_world *w, const struct slu_sim_client *c)
{
	uint64_t from = SLU_MAX(c->wait_from_step, w->config.faults.until_step + SLU_SIM_STOP_MAX);

	if (!c->wait_from_step || w->step <= from)
		return;
	w->counts.longest_calm_wait_steps =
		SLU_MAX(w->counts.longest_calm_wait_steps, w->step - from);
	if (w->config.wait_max && w->step - from > w->config.wait_max)
		slu_sim_world_break(w, "I10: client %u waits for its launch since %llu steps",
				    c->index, (unsigned long long)(w->step - c->wait_from_step));
}

/* -- the points where all this is looked at ---------------------------------------------------- */

void slu_sim_invariant_client(struct slu_sim_world *w, struct slu_sim_client *c)
{
	struct slu_core_client_view view;
	bool is_known;

	check_totals(w);
	if (!c->is_alive)
		return;
	check_kernels(w, c);
	check_wait(w, c);
	if (!w->core)
		return;
	is_known = find_view(w, c->index, &view);
	check_charges(w, c, is_known ? &view : NULL);
}

void slu_sim_invariant_before_daemon(struct slu_sim_world *w)
{
	w->alone_joined = false;
	if (w->core)
		sum_charges(w, w->charge_bytes);
	else
		memset(w->charge_bytes, 0xff, sizeof(w->charge_bytes));
}

void slu_sim_invariant_daemon(struct slu_sim_world *w)
{
	struct slu_core_client_view view;
	size_t cursor = 0;
	bool is_known[SLU_SIM_CLIENTS_MAX] = { false };

	if (!w->core)
		return;
	while (slu_core_view_client(w->core, &cursor, &view)) {
		unsigned i = (unsigned)(view.client - 1);

		is_known[i] = true;
		if (w->clients[i].is_alive)
			check_charges(w, &w->clients[i], &view);
		check_roster(w, i, &view);
	}
	for (unsigned i = 0; i < w->n_clients; i++)
		if (!is_known[i] && w->clients[i].is_alive)
			check_charges(w, &w->clients[i], NULL);
	check_capacity(w);
	check_side_by_side(w);
}

void slu_sim_invariant_end(struct slu_sim_world *w)
{
	struct slu_core_client_view view;
	struct slu_core_device_view device;
	size_t cursor = 0;

	if (slu_core_view_client(w->core, &cursor, &view))
		slu_sim_world_break(w, "I9: client %llu is still known after all are gone",
				    (unsigned long long)view.client - 1);
	for (unsigned d = 0; d < w->config.n_devices; d++) {
		slu_core_view_device(w->core, d, &device);
		if (device.charge_bytes)
			slu_sim_world_break(w, "I9: device %u: charges remain", d);
		if (w->board.used_bytes[d])
			slu_sim_world_break(w, "I9: device %u: bytes remain on the board", d);
	}
	for (unsigned i = 0; i < w->n_clients; i++)
		if (w->sessions[i].on_roster)
			slu_sim_world_break(w, "I9: client %u remains on the roster", i);
}

void slu_sim_invariant_move(struct slu_sim_client *c, const struct slu_unit *moved)
{
	struct slu_peer_account_view view;
	const struct slu_unit *u, *coming;
	uint64_t leaving = 0, headroom = 0;

	if (moved->place != SLU_PLACE_DEVICE || c->n_command)
		return;
	TAILQ_FOREACH (u, slu_peer_view_units(c->peer, moved->device), link)
		if (u != moved && u->place == SLU_PLACE_DEVICE && u->moving == SLU_MOVING_OUT)
			leaving += u->bytes;
	slu_peer_view_account(c->peer, (struct slu_account){ SLU_TIER_DEVICE, moved->device },
			      &view);
	/* in mode LAUNCH it may also leave for one that is needed sooner */
	coming = slu_peer_view_ahead(c->peer, moved->device);
	/* in mode MAPPED its share may be less than its limit, or a call needs headroom */
	if (c->modes[moved->device] == SLU_MODE_MAPPED) {
		view.limit_bytes = SLU_MIN(view.limit_bytes, view.goal_bytes);
		if (c->headroom && c->headroom->device == moved->device &&
		    slu_unit_is_away(c->headroom))
			headroom = c->headroom->bytes;
	}
	if (view.held_bytes - leaving + headroom + (coming ? coming->bytes : 0) <= view.limit_bytes)
		slu_sim_world_break(c->world, "I11: client %u: a unit leaves for nothing",
				    c->index);
}
