/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Core and peers together, random interleavings and faults, every invariant after every step.
 * SLUICE_STEPS says how many steps to make in all (10^5 by default), SLUICE_SEED repeats one world.
 */

#include "lib/test.h"

#include "base/util.h"
#include "sim/world.h"

#define STEPS_DEFAULT 100000
#define FIRST_SEED    1

static uint64_t steps_wanted(void)
{
	const char *s = getenv("SLUICE_STEPS");

	return s ? strtoull(s, NULL, 0) : STEPS_DEFAULT;
}

/* Runs the world of @seed. Return: its steps. */
static uint64_t run(uint64_t seed, bool tight, struct slu_sim_counts *sum)
{
	struct slu_sim_world *w;
	uint64_t steps;

	assert_int_equal(slu_sim_scenario(seed, tight, SLU_SIM_FAITHFUL, &w), 0);
	if (slu_sim_world_run(w))
		fail_msg("seed %llu%s, step %llu: %s", (unsigned long long)seed,
			 tight ? " (tight)" : "", (unsigned long long)w->step, w->fault);
	steps = w->counts.n_steps;
	sum->n_steps += w->counts.n_steps;
	sum->n_messages += w->counts.n_messages;
	sum->n_launches += w->counts.n_launches;
	sum->n_early += w->counts.n_early;
	sum->n_denied += w->counts.n_denied;
	sum->ahead_bytes += w->counts.ahead_bytes;
	sum->wrong_bytes += w->counts.wrong_bytes;
	sum->n_refused += w->counts.n_refused;
	sum->n_unmade += w->counts.n_unmade;
	sum->n_restarts += w->counts.n_restarts;
	sum->n_kills += w->counts.n_kills;
	sum->n_cuts += w->counts.n_cuts;
	sum->n_budgets += w->counts.n_budgets;
	sum->n_unstaged += w->counts.n_unstaged;
	sum->n_shifts[0] += w->counts.n_shifts[0];
	sum->n_shifts[1] += w->counts.n_shifts[1];
	sum->n_pinned += w->counts.n_pinned;
	sum->n_headroom += w->counts.n_headroom;
	sum->n_failed_allocs += w->counts.n_failed_allocs;
	sum->n_parts += w->counts.n_parts;
	sum->n_asked_parts += w->counts.n_asked_parts;
	sum->n_unions += w->counts.n_unions;
	sum->longest_wait_steps = SLU_MAX(sum->longest_wait_steps, w->counts.longest_wait_steps);
	sum->longest_calm_wait_steps =
		SLU_MAX(sum->longest_calm_wait_steps, w->counts.longest_calm_wait_steps);
	slu_sim_world_free(w);
	return steps;
}

static void report(const char *what, uint64_t n_worlds, const struct slu_sim_counts *sum)
{
	const struct {
		const char *what;
		uint64_t n;
	} counts[] = {
		{ "worlds", n_worlds },
		{ "steps", sum->n_steps },
		{ "messages", sum->n_messages },
		{ "launches", sum->n_launches },
		{ "of them early", sum->n_early },
		{ "restarts", sum->n_restarts },
		{ "cuts", sum->n_cuts },
		{ "kills", sum->n_kills },
		{ "partings", sum->n_parts },
		{ "of them drawn", sum->n_asked_parts },
		{ "unions", sum->n_unions },
		{ "budgets", sum->n_budgets },
		{ "unstaged", sum->n_unstaged },
		{ "backing down", sum->n_shifts[0] },
		{ "backing up", sum->n_shifts[1] },
		{ "copies pinned", sum->n_pinned },
		{ "calls with headroom", sum->n_headroom },
		{ "failed allocations", sum->n_failed_allocs },
		{ "units ahead", sum->ahead_bytes / SLU_SIM_UNIT },
		{ "of them for nothing", sum->wrong_bytes / SLU_SIM_UNIT },
		{ "refusals", sum->n_refused },
		{ "of them late", sum->n_unmade },
		{ "denials", sum->n_denied },
	};

	printf("# %s:", what);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(counts); i++)
		printf(" %llu %s,", (unsigned long long)counts[i].n, counts[i].what);
	printf(" longest wait %llu steps, faults apart %llu\n",
	       (unsigned long long)sum->longest_wait_steps,
	       (unsigned long long)sum->longest_calm_wait_steps);
}

static void run_many(bool tight)
{
	struct slu_sim_counts sum = { 0 };
	uint64_t steps = 0, n = 0, seed = slu_test_seed(FIRST_SEED);
	bool is_single = getenv("SLUICE_SEED") != NULL;

	while (n == 0 || (!is_single && steps < steps_wanted() / 2))
		steps += run(seed + n++, tight, &sum);
	report(tight ? "tight" : "normal", n, &sum);
}

static void every_invariant_holds_in_random_worlds(void **state)
{
	run_many(false);
}

static void every_invariant_holds_in_tight_worlds(void **state)
{
	run_many(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_invariant_holds_in_random_worlds),
		cmocka_unit_test(every_invariant_holds_in_tight_worlds),
	};

	return cmocka_run_group_tests_name("protocol", tests, NULL, NULL);
}
