/* SPDX-License-Identifier: Apache-2.0 */

/* The state of a world in words, to find out why it does not end. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/world.h"

#define U(bytes) ((unsigned long long)((bytes) / SLU_SIM_UNIT))

static void dump_add(struct slu_sim_world *w, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

static void dump_add(struct slu_sim_world *w, const char *format, ...)
{
	size_t used = strlen(w->fault);
	va_list args;

	va_start(args, format);
	vsnprintf(w->fault + used, sizeof(w->fault) - used, format, args);
	va_end(args);
}

static void dump_core(struct slu_sim_world *w)
{
	struct slu_core_client_view c;
	struct slu_core_group_view g;
	struct slu_core_device_view d;
	size_t cursor = 0;

	for (unsigned i = 0; i < w->config.n_devices; i++) {
		slu_core_view_device(w->core, i, &d);
		dump_add(w, "\n  device %u: estimate %llu of %llu, charge %llu", i,
			 U(d.estimate_bytes), U(d.usable_bytes), U(d.charge_bytes));
	}
	while (slu_core_view_group(w->core, &cursor, &g))
		dump_add(w, "\n  group %llu: %s since %llu, epoch %llu.%llu%s%s: %s",
			 (unsigned long long)g.group, slu_core_state_name(g.state),
			 (unsigned long long)(g.since_ns / SLU_SIM_STEP_NS),
			 (unsigned long long)g.epoch.generation,
			 (unsigned long long)g.epoch.counter, g.is_stuck ? " stuck" : "",
			 g.is_idle ? " idle" : "", g.reason);
	cursor = 0;
	while (slu_core_view_client(w->core, &cursor, &c)) {
		dump_add(w,
			 "\n  core's client %llu of group %llu%s%s%s: backing %llu/%llu pinned "
			 "%llu/%llu",
			 (unsigned long long)c.client - 1, (unsigned long long)c.group,
			 c.is_orphan ? " orphan" : "", c.is_lost ? " lost" : "",
			 c.is_silent ? " silent" : "", U(c.pageable.limit_bytes),
			 U(c.pageable.charge_bytes), U(c.pinned.limit_bytes),
			 U(c.pinned.charge_bytes));
		for (unsigned i = 0; i < c.n_devices; i++) {
			const struct slu_core_account_view *a = &c.device_accounts[i];

			dump_add(w,
				 "; device %u %s: limit %llu charge %llu held %llu floor %llu goal "
				 "%llu%s, wants %llu of %llu%s",
				 c.devices[i], slu_mode_name(c.modes[i]), U(a->limit_bytes),
				 U(a->charge_bytes), U(a->held_bytes), U(a->floor_bytes),
				 U(a->goal_bytes), a->is_pending ? " pending" : "",
				 U(c.wants[i].min_bytes), U(c.wants[i].all_bytes),
				 c.wants[i].is_runnable ? " runnable" : "");
		}
	}
}

static void dump_client(struct slu_sim_world *w, const struct slu_sim_client *c)
{
	static const char *const kinds[] = { "alloc", "free", "launch", "pause", "sync", "await" };
	static const char letters[] = "DMRK";
	const struct slu_sim_op *op = &c->ops[c->next_op];

	dump_add(w,
		 "\n  client %u of group %llu: op %u of %u (%s on %u, %llu)%s, inbox %u, outbox %u",
		 c->index, (unsigned long long)c->group, c->next_op, c->n_ops,
		 c->next_op < c->n_ops ? kinds[op->kind] : "end", op->device,
		 (unsigned long long)op->amount, c->is_connected ? "" : " not connected",
		 c->inbox.n, w->sessions[c->index].inbox.n);
	for (unsigned d = 0; d < c->n_devices; d++) {
		struct slu_peer_account_view a;
		const struct slu_unit *u;

		slu_peer_view_account(c->peer, (struct slu_account){ SLU_TIER_DEVICE, (uint8_t)d },
				      &a);
		dump_add(w,
			 "; device %u: epoch %llu.%llu gate %d%s kernels %u limit %llu held %llu "
			 "goal %llu pace %d units ",
			 c->devices[d],
			 (unsigned long long)slu_peer_view_epoch(c->peer, d).generation,
			 (unsigned long long)slu_peer_view_epoch(c->peer, d).counter, c->gate[d],
			 c->shutting[d] ? " shutting" : "", c->n_kernels[d], U(a.limit_bytes),
			 U(a.held_bytes), U(a.goal_bytes), a.pace);
		TAILQ_FOREACH (u, slu_peer_view_units(c->peer, d), link)
			dump_add(w, "%llu%c%s%s ", U(u->bytes), letters[u->place],
				 u->moving ? "~" : "", u->wanted ? "!" : "");
	}
}

void slu_sim_dump(struct slu_sim_world *w)
{
	if (w->core)
		dump_core(w);
	for (unsigned i = 0; i < w->n_clients; i++)
		if (w->clients[i].is_alive)
			dump_client(w, &w->clients[i]);
}
