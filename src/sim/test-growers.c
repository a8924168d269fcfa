/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Three programs that take memory which cannot move, unit by unit, until each has more than half of
 * the device. If all of them grow at once each holds a third and none gets on; one at a time all of
 * them end.
 */

#include "lib/test.h"

#include "base/util.h"
#include "sim/world.h"

#define SEEDS	 20
#define PROGRAMS 3
#define UNITS	 18
#define U(n)	 ((uint64_t)(n)*SLU_SIM_UNIT)

static void add_grower(struct slu_sim_world *w)
{
	const enum slu_mode mode = SLU_MODE_ALL;
	const unsigned device = 0;
	int r = slu_sim_client_add(w, w->n_clients + 1, 1, &device, &mode);

	assert_true(r >= 0);
	for (unsigned i = 0; i < UNITS; i++) {
		slu_sim_client_do(w, (unsigned)r, SLU_SIM_ALLOC, 0, U(1));
		slu_sim_client_do(w, (unsigned)r, SLU_SIM_LAUNCH, 0, 2);
		slu_sim_client_do(w, (unsigned)r, SLU_SIM_FREEZE, 0, 0);
		slu_sim_client_do(w, (unsigned)r, SLU_SIM_LAUNCH, 0, 60);
		slu_sim_client_do(w, (unsigned)r, SLU_SIM_SYNC, 0, 0);
	}
}

static void three_that_grow_all_end(void **state)
{
	const char *const policies[] = { "mlfq", "rr" };
	uint64_t n_denied = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct slu_sim_config config = {
			.seed = seed,
			.n_devices = 1,
			.total_bytes = { U(32) },
			.pinned_bytes = U(64),
			.backing_bytes = U(400),
			.steps_max = 400000,
			.policy = policies[seed % 2],
		};
		struct slu_sim_world *w;

		assert_int_equal(slu_sim_world_new(&config, &w), 0);
		for (unsigned i = 0; i < PROGRAMS; i++)
			add_grower(w);
		if (slu_sim_world_run(w))
			fail_msg("seed %llu, step %llu: %s", (unsigned long long)seed,
				 (unsigned long long)w->step, w->fault);
		n_denied += w->counts.n_denied;
		slu_sim_world_free(w);
	}
	printf("# %llu denials in %d worlds\n", (unsigned long long)n_denied, SEEDS);
	assert_int_equal(n_denied, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_that_grow_all_end),
	};

	return cmocka_run_group_tests_name("growers", tests, NULL, NULL);
}
