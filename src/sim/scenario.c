/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A world drawn from a seed: 2–6 clients in groups, on one or two devices, in all three modes, with
 * units of 1–7, hidden overhead, outsiders, late frees, budgets from ample to none, and faults. A
 * tight world has larger programs and more restarts.
 *
 * Programs are drawn so that they can end: a program in mode ALL fits the device; its group fits
 * together or, where groups exceed, must be parted. Only a group of one may be larger than the
 * device, in mode MAPPED with pinned memory or in mode LAUNCH.
 */

#include "base/error.h"
#include "base/util.h"
#include "sim/random.h"
#include "sim/world.h"

#define STEPS_MAX 120000

/*
 * The longest wait of a launch (I10): for each other client a turn with its ends and a switch, in
 * which all that is on the device leaves and as much comes in. A client does a given thing once in
 * 9 n steps. All of it twice, for a program at a lower level or passed over for want of bytes; and
 * the age, under a policy that lets groups pass until then.
 */
static uint64_t bound_wait_max(const struct slu_sim_config *config, unsigned n_clients)
{
	uint64_t total = SLU_MAX(config->total_bytes[0], config->total_bytes[1]) / SLU_SIM_UNIT;
	uint64_t turn = SLU_SIM_SLICE + SLU_SIM_CLOSE_MAX + SLU_SIM_FILL_MAX;

	return SLU_SIM_AGE + 2 * n_clients * (turn + 2 * total * 9 * n_clients);
}

static unsigned draw_one_of(uint64_t *random, const unsigned *list, unsigned n)
{
	return list[slu_sim_between(random, 0, n - 1)];
}

#define ONE_OF(random, ...)                                      \
	draw_one_of((random), (const unsigned[]){ __VA_ARGS__ }, \
		    sizeof((const unsigned[]){ __VA_ARGS__ }) / sizeof(unsigned))

static void draw_config(uint64_t *r, bool tight, struct slu_sim_config *ret_config)
{
	struct slu_sim_config c = { .steps_max = STEPS_MAX };

	c.n_devices = ONE_OF(r, 1, 1, 2);
	for (unsigned d = 0; d < c.n_devices; d++) {
		c.total_bytes[d] = ONE_OF(r, 32, 48, 64) * SLU_SIM_UNIT;
		c.hidden_bytes[d] = ONE_OF(r, 0, 0, 2, 5) * SLU_SIM_UNIT;
	}
	c.late_steps = ONE_OF(r, 0, 0, 30, 120);
	c.pinned_bytes = ONE_OF(r, 0, 6, 16, 64) * SLU_SIM_UNIT;
	c.backing_bytes = ONE_OF(r, 60, 400, 400, 400) * SLU_SIM_UNIT;
	c.policy = slu_sim_chance(r, 800000) ? "rr" : "fifo";
	c.faults = (struct slu_sim_faults){
		.until_step = slu_sim_between(r, 500, 5000),
		.kill = ONE_OF(r, 0, 0, 400),
		.stop = ONE_OF(r, 0, 1000),
		.restart = ONE_OF(r, 0, 1000, 4000),
		.cut = ONE_OF(r, 0, 0, 1000),
		.outsider = ONE_OF(r, 0, 4000),
		.move_fails = ONE_OF(r, 0, 0, 20000),
	};
	if (tight) {
		c.faults.until_step = slu_sim_between(r, 3000, 9000);
		c.faults.restart = ONE_OF(r, 0, 3000, 6000);
		c.faults.stop = 2000;
	}
	*ret_config = c;
}

/*
 * Later additions draw from a sequence of their own, so that a seed that once found a fault still
 * makes the same world.
 */
static void draw_more(uint64_t seed, struct slu_sim_config *config, unsigned *n_groups,
		      bool *ret_exceeds)
{
	uint64_t more = seed * UINT64_C(0xa0761d6478bd642f) + 11;

	if (slu_sim_chance(&more, 400000))
		config->policy = "mlfq";
	config->faults.part = ONE_OF(&more, 0, 0, 500, 3000);
	config->faults.alloc_fails = ONE_OF(&more, 0, 0, 100000);
	config->faults.budget = ONE_OF(&more, 0, 0, 2000);
	config->staging_bytes = ONE_OF(&more, 0, 0, 1, 4) * SLU_SIM_UNIT;
	*ret_exceeds = slu_sim_chance(&more, 400000);
	if (*ret_exceeds)
		*n_groups = SLU_MIN(*n_groups, slu_sim_between(&more, 1, 2));
	if (slu_sim_chance(&more, 300000)) {
		config->backing_bytes = ONE_OF(&more, 20, 60, 100) * SLU_SIM_UNIT;
		config->disk_bytes = ONE_OF(&more, 60, 200, 400) * SLU_SIM_UNIT;
		config->faults.disk_full = ONE_OF(&more, 0, 0, 20000);
	}
	config->reserve_parts = ONE_OF(&more, 0, 0, 16);
	config->sees_outsiders = slu_sim_chance(&more, 500000);
	config->socket_packets = ONE_OF(&more, 0, 1, 3, 8);
}

/* Policies that were added later, from a sequence of their own for the same reason. */
static void draw_policy(uint64_t seed, struct slu_sim_config *config)
{
	static const char *const policies[] = { "fair", "srtf", "priority", "pack", "desktop" };
	uint64_t more = seed * UINT64_C(0x8bb84b93962eacc9) + 17;

	if (slu_sim_chance(&more, 400000))
		config->policy = policies[slu_sim_between(&more, 0, 4)];
}

/* Launches that name their units: in half of the worlds, with shares of their own. */
static void draw_early(uint64_t seed, struct slu_sim_world *w)
{
	uint64_t more = seed * UINT64_C(0x9fb21c651e98df25) + 19;

	if (slu_sim_chance(&more, 500000))
		return;
	for (unsigned i = 0; i < w->n_clients; i++)
		w->clients[i].early = ONE_OF(&more, 0, 300000, 900000, 1000000);
}

struct draft {
	uint64_t group;
	unsigned n_mates; /* of its group, itself included */
	unsigned n_parts; /* so many of them must fit together */
	unsigned n_devices;
	unsigned devices[SLU_SIM_DEVICES_MAX];
	enum slu_mode modes[SLU_SIM_DEVICES_MAX];
	uint64_t budget[SLU_SIM_DEVICES_MAX]; /* in units */
};

static void draw_devices(uint64_t *r, const struct slu_sim_config *config, bool tight,
			 struct draft *d)
{
	static const enum slu_mode modes[] = { SLU_MODE_ALL, SLU_MODE_ALL, SLU_MODE_MAPPED,
					       SLU_MODE_LAUNCH };
	unsigned which = config->n_devices == 1 ? 0 : slu_sim_between(r, 0, 2);
	bool all_mapped = tight && slu_sim_chance(r, 500000);

	d->n_devices = which == 2 ? 2 : 1;
	for (unsigned k = 0; k < d->n_devices; k++) {
		uint64_t total;
		unsigned percent = tight ? ONE_OF(r, 60, 90) : ONE_OF(r, 20, 50, 90);

		d->devices[k] = which == 2 ? k : which;
		d->modes[k] = all_mapped ? SLU_MODE_MAPPED : modes[slu_sim_between(r, 0, 3)];
		total = config->total_bytes[d->devices[k]] / SLU_SIM_UNIT;
		d->budget[k] = SLU_MAX((total - 6) * percent / 100 / d->n_parts, (uint64_t)2);
		if (d->n_mates > 1 || !slu_sim_chance(r, 500000))
			continue;
		if (d->modes[k] == SLU_MODE_MAPPED &&
		    config->pinned_bytes >= (tight ? 32 : 64) * SLU_SIM_UNIT)
			d->budget[k] = total * 14 / 10;
		if (d->modes[k] == SLU_MODE_LAUNCH)
			d->budget[k] = total * 16 / 10;
	}
}

static void draw_script(uint64_t *r, struct slu_sim_world *w, unsigned client,
			const struct draft *d, bool tight)
{
	unsigned n = slu_sim_between(r, 4, tight ? 30 : 14);

	for (unsigned k = 0; k < d->n_devices; k++) {
		uint64_t size = ONE_OF(r, 1, 2, 4, 7), live = 0;

		while ((live + size) * 1000 <= d->budget[k] * slu_sim_between(r, 500, 1000)) {
			slu_sim_client_do(w, client, SLU_SIM_ALLOC, k, size * SLU_SIM_UNIT);
			live += size;
		}
	}
	for (unsigned i = 0; i < n; i++) {
		unsigned x = slu_sim_between(r, 0, 9), k = slu_sim_between(r, 0, d->n_devices - 1);

		if (x < 6)
			slu_sim_client_do(w, client, SLU_SIM_LAUNCH, k, slu_sim_between(r, 1, 12));
		else if (x == 6)
			slu_sim_client_do(w, client, SLU_SIM_PAUSE, k, slu_sim_between(r, 1, 40));
		else if (x == 7)
			slu_sim_client_do(w, client, SLU_SIM_FREE, k, 0);
		else if (x == 8)
			slu_sim_client_do(w, client, SLU_SIM_ALLOC, k,
					  slu_sim_between(r, 1, 3) * SLU_SIM_UNIT);
		else
			slu_sim_client_do(w, client, SLU_SIM_SYNC, k, 0);
	}
	slu_sim_client_do(w, client, SLU_SIM_SYNC, 0, 0);
}

/* Memory that the driver pages, less than the device or more: some programs begin with it. */
static void draw_paged(uint64_t *r, struct slu_sim_world *w, unsigned client, const struct draft *d)
{
	unsigned k = slu_sim_between(r, 0, d->n_devices - 1);
	uint64_t total = w->config.total_bytes[d->devices[k]];

	if (d->modes[k] != SLU_MODE_LAUNCH && slu_sim_chance(r, 250000))
		slu_sim_client_do(w, client, SLU_SIM_PAGE, k, total / 4 * ONE_OF(r, 0, 1, 2, 3, 6));
}

/* By default a CUDA program is mapped only while it is larger, and its driver takes memory. */
static void draw_larger(uint64_t *r, struct slu_sim_world *w, unsigned client,
			const struct draft *d)
{
	w->clients[client].maps_if_larger = slu_sim_chance(r, 500000);
	for (unsigned k = 0; k < d->n_devices; k++)
		if (d->modes[k] == SLU_MODE_MAPPED && slu_sim_chance(r, 500000)) {
			slu_sim_client_do(w, client, SLU_SIM_HEADROOM, k,
					  slu_sim_between(r, 1, 12) * SLU_SIM_UNIT);
			slu_sim_client_do(w, client, SLU_SIM_LAUNCH, k, 2);
		}
}

static uint64_t sum_ops(const struct slu_sim_client *c, enum slu_sim_op_kind kind, unsigned device)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < c->n_ops; i++)
		if (c->ops[i].kind == kind && c->devices[c->ops[i].device] == device)
			sum += kind == SLU_SIM_ALLOC ? c->ops[i].amount : 1;
	return sum;
}

/*
 * One command of one program waits for launches of another, if the two fit at the same time: a
 * blocked holder keeps all its bytes, and the other one must fit next to them.
 */
static void draw_dependency(uint64_t *r, struct slu_sim_world *w)
{
	unsigned a = slu_sim_between(r, 0, w->n_clients - 1);
	unsigned b = slu_sim_between(r, 0, w->n_clients - 1);
	struct slu_sim_client *waits = &w->clients[a], *other = &w->clients[b];
	unsigned d = other->devices[0];
	uint64_t free_bytes = (w->config.total_bytes[d] * 9 / 10) - w->config.hidden_bytes[d];
	uint64_t n_launches = sum_ops(other, SLU_SIM_LAUNCH, d);
	struct slu_sim_op *op;

	if (a == b || waits->group == other->group || other->n_devices != 1 || n_launches <= 2 ||
	    waits->devices[0] != d || waits->n_ops == SLU_SIM_OPS_MAX ||
	    sum_ops(waits, SLU_SIM_ALLOC, d) + sum_ops(other, SLU_SIM_ALLOC, d) + 8 * SLU_SIM_UNIT >
		    free_bytes)
		return;
	slu_sim_client_do(w, a, SLU_SIM_SYNC, 0, 0);
	op = &waits->ops[waits->n_ops - 2];
	*op = (struct slu_sim_op){ SLU_SIM_AWAIT, 0, slu_sim_between(r, 1, (unsigned)n_launches),
				   b };
}

int slu_sim_scenario(uint64_t seed, bool tight, enum slu_sim_mutation mutation,
		     struct slu_sim_world **ret_world)
{
	uint64_t random = seed * UINT64_C(0xd1342543de82ef95) + 7;
	unsigned n = slu_sim_between(&random, 2, SLU_SIM_CLIENTS_MAX);
	unsigned n_groups = slu_sim_between(&random, 1, n);
	uint64_t paged = seed * UINT64_C(0xe7037ed1a0b428db) + 13;
	uint64_t larger = seed * UINT64_C(0xa0761d6478bd642f) + 17;
	struct draft drafts[SLU_SIM_CLIENTS_MAX] = { 0 };
	struct slu_sim_config config;
	struct slu_sim_world *w;
	bool exceeds;
	int r;

	draw_config(&random, tight, &config);
	draw_more(seed, &config, &n_groups, &exceeds);
	draw_policy(seed, &config);
	config.seed = seed;
	config.mutation = mutation;
	config.wait_max = bound_wait_max(&config, n);
	r = slu_sim_world_new(&config, &w);
	if (r)
		return slu_fold(r);
	for (unsigned i = 0; i < n; i++)
		drafts[i].group = 1 + slu_sim_between(&random, 0, n_groups - 1);
	for (unsigned i = 0; i < n; i++) {
		for (unsigned j = 0; j < n; j++)
			drafts[i].n_mates += drafts[j].group == drafts[i].group;
		drafts[i].n_parts = exceeds ? 1 : drafts[i].n_mates;
		draw_devices(&random, &config, tight, &drafts[i]);
		r = slu_sim_client_add(w, drafts[i].group, drafts[i].n_devices, drafts[i].devices,
				       drafts[i].modes);
		if (r < 0) {
			slu_sim_world_free(w);
			return slu_fold(r);
		}
		w->clients[i].working_percent = ONE_OF(&random, 25, 50, 100);
		w->clients[i].command_percent = ONE_OF(&random, 10, 50, 50);
		w->clients[i].runs_without_daemon = slu_sim_chance(&random, 333333);
		draw_paged(&paged, w, i, &drafts[i]);
		draw_script(&random, w, i, &drafts[i], tight);
		draw_larger(&larger, w, i, &drafts[i]);
	}
	if (slu_sim_chance(&random, 500000))
		draw_dependency(&random, w);
	draw_early(seed, w);
	*ret_world = w;
	return 0;
}
