/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Random programs under every policy, next to a model that is too simple to be wrong. After each
 * event it counts everything anew from the units of the programs, and knows neither the core's
 * plans nor its states:
 *
 *   safety     a program launches only while all its units are on the device and none moves;
 *              programs that may launch at the same time fit together
 *   memory     the device is never fuller than it is; its use is the sum of what is on it
 *   accounts   no program has more on the device than the core has charged it with, and all
 *              charges together are no more than the device
 *   time       the compute engine works for one launch at a time, and no launch is lost
 *   progress   the clock goes on: few events come within a millisecond
 *   waiting    no program waits longer than the bound that the policy's head comment states
 *
 * SLUICE_EVENTS says how many events to go through in all (10^5 by default), SLUICE_SEED repeats
 * one world.
 */

#include "lib/test.h"

#include <stdlib.h>

#include "base/util.h"
#include "core/sched/policy.h"
#include "simulate/simulate.h"
#include "simulate/world.h"

#define PROGRAMS_MAX 8
#define EVENTS_A_MS  2000
#define GIB(n)	     ((n)*SLU_GIB)
#define MS(n)	     ((n)*SLU_NS_PER_MS)

static uint64_t between(uint64_t *random, uint64_t least, uint64_t most)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return least + (*random >> 33) % (most - least + 1);
}

struct model {
	uint64_t seed;
	struct slu_simulate_scenario scenario;
	struct slu_simulate_program programs[PROGRAMS_MAX];
	uint64_t wanted_ns[PROGRAMS_MAX]; /* it waits since; or NEVER */
	uint64_t longest_ns[PROGRAMS_MAX];
	uint64_t n_events;
	uint64_t moment_ns, n_moment; /* events since then, within a millisecond */
};

#define BLAME "%s, seed %llu, at %llu ns, program %zu: "
#define BLAMED(m, w, i)                                                                            \
	(m)->scenario.core.policy, (unsigned long long)(m)->seed, (unsigned long long)(w)->now_ns, \
		(i)

/* -- after each event ------------------------------------------------------------------------- */

/* Bytes of a program that take up the device: in place, or on their way in. */
static uint64_t present_bytes(const struct slu_world *w, const struct slu_runner *r)
{
	const struct slu_move *move;
	const struct slu_unit *unit;
	uint64_t bytes = 0;

	TAILQ_FOREACH (unit, slu_peer_view_units(r->peer, 0), link)
		bytes += unit->place == SLU_PLACE_DEVICE ? unit->bytes : 0;
	TAILQ_FOREACH (move, &w->ways[SLU_WAY_IN].moves, link)
		bytes +=
			move->unit && move->runner == r && move->has_memory ? move->unit->bytes : 0;
	return bytes;
}

static bool may_launch(const struct slu_runner *r)
{
	return r->is_open || r->work == SLU_WORK_FLIGHT;
}

static void check_safety(const struct model *m, const struct slu_world *w)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < w->n_runners; i++) {
		const struct slu_runner *r = &w->runners[i];
		const struct slu_unit *unit;

		if (!r->peer || !may_launch(r))
			continue;
		TAILQ_FOREACH (unit, slu_peer_view_units(r->peer, 0), link) {
			if (unit->place != SLU_PLACE_DEVICE || unit->moving != SLU_MOVING_NO)
				fail_msg(BLAME "it may launch, and a unit is not there",
					 BLAMED(m, w, i));
			bytes += unit->bytes;
		}
	}
	if (bytes > m->scenario.memory_bytes)
		fail_msg(BLAME "programs that may launch do not fit together",
			 BLAMED(m, w, w->n_runners));
}

static void check_accounts(const struct model *m, const struct slu_world *w)
{
	uint64_t present = 0, charged = 0;

	for (size_t i = 0; i < w->n_runners; i++) {
		const struct slu_runner *r = &w->runners[i];
		struct slu_core_client_view view;
		uint64_t bytes = r->peer ? present_bytes(w, r) : 0;

		present += bytes;
		if (!slu_core_view_client_of(w->core, i + 1, &view)) {
			if (bytes)
				fail_msg(BLAME "it has bytes, and the core does not know it",
					 BLAMED(m, w, i));
			continue;
		}
		charged += view.device_accounts[0].charge_bytes;
		if (bytes > view.device_accounts[0].charge_bytes)
			fail_msg(BLAME "it has more than it is charged with", BLAMED(m, w, i));
	}
	if (present != w->used_bytes || present > m->scenario.memory_bytes)
		fail_msg(BLAME "the device's use does not add up", BLAMED(m, w, w->n_runners));
	if (charged > m->scenario.memory_bytes)
		fail_msg(BLAME "the charges exceed the device", BLAMED(m, w, w->n_runners));
}

static void check_launches(const struct model *m, const struct slu_world *w)
{
	uint64_t device_ns = 0;

	for (size_t i = 0; i < w->n_runners; i++) {
		const struct slu_simulate_outcome *o = &w->result->outcomes[i];

		device_ns += o->device_ns;
		if (o->device_ns != o->n_iterations * m->programs[i].iteration_ns)
			fail_msg(BLAME "a launch was lost", BLAMED(m, w, i));
	}
	if (device_ns != w->result->busy_ns || device_ns > w->now_ns)
		fail_msg(BLAME "the engine worked for two at once", BLAMED(m, w, w->n_runners));
}

/* A deadline that is due again and again would keep a daemon busy for ever. */
static void check_progress(struct model *m, const struct slu_world *w)
{
	if (w->now_ns >= m->moment_ns + SLU_NS_PER_MS) {
		m->moment_ns = w->now_ns;
		m->n_moment = 0;
	}
	if (++m->n_moment > EVENTS_A_MS)
		fail_msg(BLAME "time does not go on", BLAMED(m, w, w->n_runners));
}

static void note_waits(struct model *m, const struct slu_world *w)
{
	for (size_t i = 0; i < w->n_runners; i++) {
		const struct slu_runner *r = &w->runners[i];
		bool waits = r->peer && r->work == SLU_WORK_GATE && !r->is_open;

		if (m->wanted_ns[i] != SLU_SIMULATE_NEVER)
			m->longest_ns[i] = SLU_MAX(m->longest_ns[i], w->now_ns - m->wanted_ns[i]);
		if (!waits)
			m->wanted_ns[i] = SLU_SIMULATE_NEVER;
		else if (m->wanted_ns[i] == SLU_SIMULATE_NEVER)
			m->wanted_ns[i] = w->now_ns;
	}
}

static void watch(void *watcher, const struct slu_world *w)
{
	struct model *m = watcher;

	m->n_events++;
	check_safety(m, w);
	check_accounts(m, w);
	check_launches(m, w);
	check_progress(m, w);
	note_waits(m, w);
}

/* -- the bounds of the policies --------------------------------------------------------------- */

/* A turn of any program with what comes before and after it. */
static uint64_t turn_ns(const struct model *m, uint64_t slices)
{
	const struct slu_simulate_scenario *s = &m->scenario;
	uint64_t slowest = SLU_MIN(s->in_rate, s->out_rate), drain_ns = 0, switch_ns;

	for (size_t i = 0; i < s->n_programs; i++)
		drain_ns = SLU_MAX(drain_ns, s->programs[i].iteration_ns);
	/* all launches that are queued when a turn ends are ahead of the last of its own */
	drain_ns *= s->n_programs;
	switch_ns = (uint64_t)((unsigned __int128)2 * s->memory_bytes * SLU_NS_PER_S / slowest);
	/* rule 19, and the time in which a program that rests is not known to */
	return slices * s->core.slice_ns + s->core.slice_min_switches * switch_ns + drain_ns +
	       switch_ns + s->core.idle_ns + MS(20);
}

static uint64_t rr_bound(const struct model *m, size_t self)
{
	(void)self;
	return (m->scenario.n_programs + 1) * turn_ns(m, 1);
}

static uint64_t age_bound(const struct model *m, size_t self)
{
	(void)self;
	return m->scenario.core.age_ns + (m->scenario.n_programs + 1) * turn_ns(m, 1);
}

static uint64_t fair_bound(const struct model *m, size_t self)
{
	static const uint64_t quarters[] = {
		[SLU_CORE_PRIORITY_NORMAL] = 4,
		[SLU_CORE_PRIORITY_HIGH] = 16,
		[SLU_CORE_PRIORITY_LOW] = 1,
	};
	uint64_t sum = turn_ns(m, 1);

	for (size_t i = 0; i < m->scenario.n_programs; i++)
		if (i != self)
			sum += (quarters[m->programs[i].priority] + 2) * turn_ns(m, 1);
	return sum;
}

static uint64_t mlfq_bound(const struct model *m, size_t self)
{
	uint64_t n = m->scenario.n_programs;

	(void)self;
	return m->scenario.core.allotment_ns * 31 * (n + 2) + (n + 1) * turn_ns(m, 16);
}

static const struct {
	const char *policy;
	uint64_t (*bound_ns)(const struct model *m, size_t self); /* NULL: it states none */
} rows[] = {
	{ "rr", rr_bound },	{ "fair", fair_bound },	   { "srtf", age_bound },
	{ "pack", age_bound },	{ "priority", age_bound }, { "desktop", age_bound },
	{ "mlfq", mlfq_bound }, { "fifo", NULL },
};

/* -- worlds ----------------------------------------------------------------------------------- */

static void draw_program(struct slu_simulate_program *p, uint64_t *random)
{
	*p = (struct slu_simulate_program){
		.name = "program",
		.arrive_ns = MS(between(random, 0, 20000)),
		.startup_ns = MS(between(random, 0, 1000)),
		.bytes = between(random, 1, 28) * (SLU_GIB / 2),
		.written_percent = (unsigned)between(random, 0, 100),
		.iteration_ns = MS(between(random, 1, 300)),
		.pause_ns = between(random, 0, 2) ? 0 : MS(between(random, 1, 150)),
		.n_iterations = between(random, 0, 5) ? between(random, 1, 40) : 0,
		.n_requests = between(random, 0, 10),
		.period_ns = between(random, 0, 1) ? 0 : MS(between(random, 200, 5000)),
		.priority = (enum slu_core_priority)between(random, 0, 2),
		.expect_ns = between(random, 0, 1) ? 0 : MS(between(random, 100, 60000)),
	};
}

static void draw_world(struct model *m, uint64_t seed, size_t row)
{
	uint64_t random = seed * 7919 + row;

	*m = (struct model){ .seed = seed };
	slu_simulate_scenario_default(&m->scenario);
	m->scenario.core.policy = rows[row].policy;
	m->scenario.core.slice_ns = MS(between(&random, 100, 2000));
	m->scenario.core.slice_min_switches = between(&random, 1, 3);
	m->scenario.core.allotment_ns = MS(between(&random, 200, 1000));
	m->scenario.core.age_ns = MS(between(&random, 2000, 20000));
	m->scenario.core.share_percent = (unsigned)between(&random, 50, 100);
	m->scenario.in_rate = between(&random, 5, 50) * UINT64_C(1000000000);
	m->scenario.out_rate = between(&random, 5, 50) * UINT64_C(1000000000);
	m->scenario.unit_bytes = between(&random, 1, 8) * (SLU_GIB / 4);
	m->scenario.reserve_percent = (unsigned)between(&random, 0, 5);
	m->scenario.until_ns = 120 * SLU_NS_PER_S;
	m->scenario.n_programs = between(&random, 2, PROGRAMS_MAX);
	m->scenario.programs = m->programs;
	m->scenario.watch = watch;
	m->scenario.watcher = m;
	for (size_t i = 0; i < m->scenario.n_programs; i++) {
		draw_program(&m->programs[i], &random);
		m->wanted_ns[i] = SLU_SIMULATE_NEVER;
	}
}

/* Return: the events of one world. */
static uint64_t play(uint64_t seed, size_t row)
{
	struct slu_simulate_result result;
	struct model m;

	draw_world(&m, seed, row);
	assert_int_equal(slu_simulate_run(&m.scenario, &result), 0);
	for (size_t i = 0; i < m.scenario.n_programs && rows[row].bound_ns; i++)
		if (m.longest_ns[i] > rows[row].bound_ns(&m, i))
			fail_msg("%s, seed %llu: program %zu of %zu waited %llu ms, the bound is "
				 "%llu",
				 rows[row].policy, (unsigned long long)seed, i,
				 m.scenario.n_programs,
				 (unsigned long long)(m.longest_ns[i] / SLU_NS_PER_MS),
				 (unsigned long long)(rows[row].bound_ns(&m, i) / SLU_NS_PER_MS));
	slu_simulate_result_deinit(&result);
	return m.n_events;
}

static void test_random_programs_agree_with_the_model(void **state)
{
	const char *wanted = getenv("SLUICE_EVENTS");
	uint64_t n = wanted ? strtoull(wanted, NULL, 10) : 100000, done = 0;
	uint64_t seed = slu_test_seed(1);

	(void)state;
	for (; done < n && seed; seed = getenv("SLUICE_SEED") ? 0 : seed + 1)
		for (size_t row = 0; row < SLU_ARRAY_SIZE(rows); row++)
			done += play(seed, row);
	printf("# %llu events\n", (unsigned long long)done);
}

/* A policy without a row here would not be looked at. */
static void test_every_policy_is_played(void **state)
{
	size_t n = 0;

	(void)state;
	while (slu_core_policy_at((unsigned)n))
		n++;
	assert_int_equal(n, SLU_ARRAY_SIZE(rows));
	for (size_t i = 0; i < n; i++)
		assert_non_null(slu_core_policy_find(rows[i].policy));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_programs_agree_with_the_model),
		cmocka_unit_test(test_every_policy_is_played),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
