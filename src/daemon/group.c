/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "daemon/group.h"
#include "daemon/program.h"
#include "daemon/roster.h"
#include "daemon/server.h"

struct slu_group *slu_group_find(struct slu_server *server, uint64_t id)
{
	struct slu_group *group;

	LIST_FOREACH (group, &server->groups_by_id[id % SLU_SERVER_BUCKETS], id_entry)
		if (group->id == id)
			return group;
	return NULL;
}

static void group_list(struct slu_server *server, struct slu_group *group)
{
	LIST_INSERT_HEAD(&server->groups, group, entry);
	LIST_INSERT_HEAD(&server->groups_by_id[group->id % SLU_SERVER_BUCKETS], group, id_entry);
}

static uint64_t free_id(struct slu_server *server, uint64_t wish)
{
	/* no run has a small number: the command draws 64 bits at random */
	uint64_t id = wish ? wish : server->last_client + 1;

	while (!id || slu_group_find(server, id))
		id++;
	return id;
}

int slu_group_join(struct slu_server *server, uid_t uid, uint64_t wire, uint64_t id,
		   struct slu_group **ret_group)
{
	struct slu_group *group;
	int r;

	LIST_FOREACH (group, &server->groups, entry)
		if (wire && group->wire == wire && group->uid == uid && !group->is_split)
			break;
	if (!group) {
		group = calloc(1, sizeof(*group));
		if (!group)
			return slu_error(-ENOMEM);
		r = slu_charge_take(server->limits, uid, SLU_LIMITS_GROUPS, 1, &group->charge);
		if (r) {
			free(group);
			return slu_fold(r);
		}
		group->id = free_id(server, id ? id : wire);
		group->wire = wire;
		group->uid = uid;
		group_list(server, group);
	}
	group->n_members++;
	*ret_group = group;
	return 0;
}

int slu_group_split(struct slu_server *server, uid_t uid, uint64_t wire, uint64_t id,
		    struct slu_group **ret_group)
{
	struct slu_group *group = calloc(1, sizeof(*group));

	if (!group)
		return slu_error(-ENOMEM);
	group->id = free_id(server, id);
	group->wire = wire;
	group->is_split = true;
	group->uid = uid;
	group->n_members = 1;
	group_list(server, group);
	*ret_group = group;
	return 0;
}

void slu_group_leave(struct slu_group *group)
{
	assert(group->n_members);
	if (--group->n_members)
		return;
	LIST_REMOVE(group, entry);
	LIST_REMOVE(group, id_entry);
	slu_charge_give(&group->charge);
	free(group);
}

/* The rest of its line stays. */
static void write_parked(const struct slu_program *program)
{
	struct slu_roster *roster = program->server->roster;
	struct slu_roster_line line;
	int slot = program->slot;

	if (slot < 0 || !slu_roster_get(roster, slot, &line))
		return;
	line.is_parked = program->group->is_parked;
	slu_roster_put(roster, &slot, &line);
}

int slu_group_park(struct slu_server *server, struct slu_group *group, bool parked)
{
	const struct slu_program *program;
	int r = slu_core_park(server->core, slu_clock_now_ns(), group->id, parked);

	if (r)
		return slu_fold(r);
	group->is_parked = parked;
	LIST_FOREACH (program, &server->programs, entry)
		if (program->group == group)
			write_parked(program);
	return 0;
}

void slu_group_observe(struct slu_group *group, uint64_t now_ns, enum slu_core_state state)
{
	bool waits = state == SLU_CORE_WAITING || state == SLU_CORE_FILLING;

	if (waits && !group->waiting_since_ns) {
		group->waiting_since_ns = now_ns;
	} else if (!waits && group->waiting_since_ns) {
		if (state == SLU_CORE_RUNNING)
			group->waits_ns[group->n_waits++ % SLU_GROUP_WAITS_MAX] =
				now_ns - group->waiting_since_ns;
		group->waiting_since_ns = 0;
	}
}

static int waits_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t slu_group_wait_p99_ns(const struct slu_group *group, uint64_t now_ns)
{
	unsigned n = SLU_MIN(group->n_waits, (unsigned)SLU_GROUP_WAITS_MAX);
	uint64_t sorted[SLU_GROUP_WAITS_MAX + 1];

	memcpy(sorted, group->waits_ns, n * sizeof(sorted[0]));
	if (group->waiting_since_ns && !group->is_parked)
		sorted[n++] = slu_sub_floor(now_ns, group->waiting_since_ns);
	if (!n)
		return 0;
	qsort(sorted, n, sizeof(sorted[0]), waits_compare);
	return sorted[(n * 99 + 99) / 100 - 1];
}
