/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Rule 7 under many interleavings: a program that can never fit is denied, and soon; a program that
 * can fit is served, however slow it is and whatever was refused before. The device is smaller than
 * it reports, so the estimate of it falls and rises all the time.
 */

#include "lib/test.h"

#include "base/util.h"
#include "sim/random.h"
#include "sim/world.h"

#define SEEDS	 6
#define U(n)	 ((uint64_t)(n)*SLU_SIM_UNIT)
#define TOTAL	 32
#define CAPACITY 27
#define PATIENCE 9000 /* the daemon's, in steps */

/* Once while it only hears of refusals, once from its first turn on, and the turns of others. */
#define DENIED_STEPS (2 * PATIENCE + 4000)

static const struct slu_sim_config plain = {
	.n_devices = 1,
	.total_bytes = { U(TOTAL) },
	.hidden_bytes = { U(TOTAL - CAPACITY) },
	.pinned_bytes = 0,
	.backing_bytes = U(400),
	.steps_max = 200000,
};

static const char *const policies[] = { "rr", "mlfq", "fifo" };

static struct slu_sim_world *make(uint64_t seed, const char *policy)
{
	struct slu_sim_config config = plain;
	struct slu_sim_world *w;

	config.seed = seed;
	config.policy = policy;
	assert_int_equal(slu_sim_world_new(&config, &w), 0);
	return w;
}

/* One part in eight is not handed out, all that the driver says is there, and outsiders stay. */
static struct slu_sim_world *make_reserving(uint64_t seed, const char *policy)
{
	struct slu_sim_config config = plain;
	struct slu_sim_world *w;

	config.seed = seed;
	config.policy = policy;
	config.hidden_bytes[0] = 0;
	config.reserve_parts = 8;
	config.sees_outsiders = true;
	config.faults.until_step = config.steps_max;
	assert_int_equal(slu_sim_world_new(&config, &w), 0);
	return w;
}

/* A program whose commands name all its @n units of @size. */
static unsigned join(struct slu_sim_world *w, enum slu_mode mode, unsigned n, unsigned size)
{
	const unsigned device = 0;
	int c = slu_sim_client_add(w, w->n_clients + 1, 1, &device, &mode);

	assert_true(c >= 0);
	w->clients[c].command_percent = 100;
	while (n--)
		slu_sim_client_do(w, (unsigned)c, SLU_SIM_ALLOC, 0, U(size));
	return (unsigned)c;
}

static void launch(struct slu_sim_world *w, unsigned client, unsigned n, unsigned pieces,
		   unsigned pause)
{
	while (n--) {
		slu_sim_client_do(w, client, SLU_SIM_LAUNCH, 0, pieces);
		slu_sim_client_do(w, client, SLU_SIM_SYNC, 0, 0);
		if (pause)
			slu_sim_client_do(w, client, SLU_SIM_PAUSE, 0, pause);
	}
}

static void finish(struct slu_sim_world *w, const char *what)
{
	if (slu_sim_world_run(w))
		fail_msg("%s, %s, seed %llu, step %llu: %s", what, w->config.policy,
			 (unsigned long long)w->config.seed, (unsigned long long)w->step, w->fault);
}

/* Steps until @client has ended. Return: when. */
static uint64_t follow(struct slu_sim_world *w, unsigned client)
{
	assert_int_equal(slu_sim_daemon_start(w), 0);
	while (w->clients[client].is_alive)
		if (slu_sim_world_step(w) || w->step > w->config.steps_max)
			fail_msg("%s, seed %llu, step %llu: %s", w->config.policy,
				 (unsigned long long)w->config.seed, (unsigned long long)w->step,
				 w->fault);
	return w->step;
}

/* Each of its turns ends with a refusal, and that of the other one brings the hope back. */
static void a_program_that_never_fits_is_denied_while_another_has_turns(void **state)
{
	static const struct {
		enum slu_mode mode;
		unsigned pieces, pause;
	} others[] = {
		{ SLU_MODE_ALL, 10, 0 },
		{ SLU_MODE_ALL, 60, 100 },
		{ SLU_MODE_LAUNCH, 60, 0 },
	};
	uint64_t longest = 0, n_steps;

	for (size_t i = 0; i < SLU_ARRAY_SIZE(others) * SLU_ARRAY_SIZE(policies) * SEEDS; i++) {
		size_t k = i / SEEDS % SLU_ARRAY_SIZE(others);
		struct slu_sim_world *w = make(1 + i % SEEDS, policies[i / SEEDS / 3]);
		unsigned c = join(w, SLU_MODE_LAUNCH, 10, 3);

		launch(w, c, 1, 4, 0);
		launch(w, join(w, others[k].mode, 10, 2), 50, others[k].pieces, others[k].pause);
		n_steps = follow(w, c);
		/* under fifo it has its first turn when the other one rests */
		if (strcmp(w->config.policy, "fifo") != 0)
			longest = SLU_MAX(longest, n_steps);
		assert_int_equal(w->clients[c].n_denied, 1);
		assert_int_equal(w->clients[c].n_launches, 0);
		slu_sim_world_free(w);
	}
	printf("# denied after %llu steps at the latest\n", (unsigned long long)longest);
	assert_true(longest <= DENIED_STEPS);
}

/* As above, but what is too much are bytes of its own that cannot leave for the others. */
static void a_program_that_never_fits_with_its_frozen_bytes_is_denied(void **state)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < SLU_ARRAY_SIZE(policies) * SEEDS; i++) {
		struct slu_sim_world *w = make(1 + i % SEEDS, policies[i / SEEDS]);
		unsigned c = join(w, SLU_MODE_LAUNCH, 5, 3);

		launch(w, c, 1, 4, 0);
		slu_sim_client_do(w, c, SLU_SIM_FREEZE, 0, 0);
		for (unsigned n = 0; n < 5; n++)
			slu_sim_client_do(w, c, SLU_SIM_ALLOC, 0, U(3));
		launch(w, c, 1, 4, 0);
		launch(w, join(w, SLU_MODE_LAUNCH, 5, 2), 50, 60, 40);
		longest = SLU_MAX(longest, follow(w, c));
		assert_int_equal(w->clients[c].n_launches, 1);
		assert_int_equal(w->clients[c].n_denied, 1);
		slu_sim_world_free(w);
	}
	printf("# denied after %llu steps at the latest\n", (unsigned long long)longest);
	assert_true(longest <= DENIED_STEPS);
}

/* It would fit if it were alone: for that it waits, longer than anybody's patience. */
static void a_waiting_program_is_served_when_the_other_one_ends(void **state)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(policies) * SEEDS; i++) {
		struct slu_sim_world *w = make(1 + i % SEEDS, policies[i / SEEDS]);
		unsigned keeper = join(w, SLU_MODE_LAUNCH, 5, 2);
		unsigned c = join(w, SLU_MODE_LAUNCH, 10, 2);

		launch(w, keeper, 1, 4, 0);
		slu_sim_client_do(w, keeper, SLU_SIM_FREEZE, 0, 0);
		slu_sim_client_do(w, keeper, SLU_SIM_PAUSE, 0, 2000);
		slu_sim_client_do(w, c, SLU_SIM_PAUSE, 0, 100);
		launch(w, c, 2, 4, 0);
		finish(w, "one that waits for what another keeps");
		assert_int_equal(w->clients[c].n_denied, 0);
		assert_int_equal(w->clients[c].n_launches, 2);
		assert_true(w->clients[c].longest_wait_steps > PATIENCE);
		slu_sim_world_free(w);
	}
}

/* As above, but the keeper stays, and its units thaw while it rests. */
static void a_waiting_program_is_served_when_the_other_one_thaws(void **state)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(policies) * SEEDS; i++) {
		struct slu_sim_world *w = make(1 + i % SEEDS, policies[i / SEEDS]);
		unsigned keeper = join(w, SLU_MODE_LAUNCH, 5, 2);
		unsigned c = join(w, SLU_MODE_LAUNCH, 10, 2);

		launch(w, keeper, 1, 4, 0);
		slu_sim_client_do(w, keeper, SLU_SIM_FREEZE, 0, 0);
		slu_sim_client_do(w, keeper, SLU_SIM_PAUSE, 0, 2000);
		slu_sim_client_do(w, keeper, SLU_SIM_THAW, 0, 0);
		slu_sim_client_do(w, keeper, SLU_SIM_PAUSE, 0, 10000);
		slu_sim_client_do(w, c, SLU_SIM_PAUSE, 0, 100);
		launch(w, c, 2, 4, 0);
		follow(w, c);
		assert_true(w->clients[keeper].is_alive);
		assert_int_equal(w->clients[c].n_denied, 0);
		assert_int_equal(w->clients[c].n_launches, 2);
		assert_true(w->clients[c].longest_wait_steps > PATIENCE);
		slu_sim_world_free(w);
	}
}

/* Each fits alone, and each keeps what the other would need: one is denied, the other served. */
static void a_deadlock_of_bytes_that_cannot_move_is_broken(void **state)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(policies) * SEEDS; i++) {
		struct slu_sim_world *w = make(1 + i % SEEDS, policies[i / SEEDS]);

		for (unsigned n = 0; n < 2; n++) {
			unsigned c = join(w, SLU_MODE_LAUNCH, 4, 3);

			launch(w, c, 1, 4, 0);
			slu_sim_client_do(w, c, SLU_SIM_FREEZE, 0, 0);
			/* both have frozen theirs before one wants more */
			slu_sim_client_do(w, c, SLU_SIM_PAUSE, 0, 1000);
			for (unsigned k = 0; k < 3; k++)
				slu_sim_client_do(w, c, SLU_SIM_ALLOC, 0, U(3));
			launch(w, c, 1, 4, 0);
		}
		finish(w, "a deadlock");
		assert_int_equal(w->counts.n_denied, 1);
		assert_int_equal(w->clients[0].n_launches, 2);
		assert_int_equal(w->clients[1].n_denied, 1);
		slu_sim_world_free(w);
	}
}

/* It takes many steps to come in and meets refusals meanwhile, but it fits. */
static void a_slow_program_is_served(void **state)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(policies) * SEEDS; i++) {
		struct slu_sim_world *w = make(1 + i % SEEDS, policies[i / SEEDS]);
		unsigned c = join(w, i % 2 ? SLU_MODE_ALL : SLU_MODE_LAUNCH, 8, 3);

		w->clients[c].slowness = 6;
		launch(w, c, 3, 4, 40);
		launch(w, join(w, SLU_MODE_ALL, 10, 2), 20, 10, 10);
		finish(w, "one that is slow");
		assert_int_equal(w->counts.n_denied, 0);
		assert_int_equal(w->clients[c].n_launches, 3);
		slu_sim_world_free(w);
	}
}

/*
 * Outsiders have taken the reserve: two units may be handed out, and six are there. One program
 * exchanges its units inside its window, the other one needs five of the six in its turns.
 */
static void the_free_part_of_the_reserve_serves_a_program_in_need(void **state)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(policies) * SEEDS; i++) {
		struct slu_sim_world *w = make_reserving(1 + i % SEEDS, policies[i / SEEDS]);
		unsigned c = join(w, SLU_MODE_LAUNCH, 8, 1);

		w->clients[c].command_percent = 25;
		w->clients[c].working_percent = 100;
		launch(w, c, 30, 4, 10);
		if (i % 2)
			launch(w, join(w, SLU_MODE_ALL, 5, 1), 10, 4, 10);
		w->board.outsider_bytes[0] = U(TOTAL - 6);
		finish(w, "on the free part of the reserve");
		assert_int_equal(w->counts.n_denied, 0);
		assert_int_equal(w->counts.n_launches, i % 2 ? 40 : 30);
		slu_sim_world_free(w);
	}
}

/* One needs all but one unit of the device, and has them in its turns next to another one. */
static void a_program_that_needs_the_reserve_has_it_in_its_turns(void **state)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(policies) * SEEDS; i++) {
		struct slu_sim_world *w = make_reserving(1 + i % SEEDS, policies[i / SEEDS]);
		unsigned c = join(w, i % 2 ? SLU_MODE_ALL : SLU_MODE_LAUNCH, TOTAL - 1, 1);

		launch(w, c, 10, 4, 10);
		launch(w, join(w, SLU_MODE_ALL, 10, 1), 10, 4, 10);
		finish(w, "on the whole device");
		assert_int_equal(w->counts.n_denied, 0);
		assert_int_equal(w->counts.n_launches, 20);
		slu_sim_world_free(w);
	}
}

/*
 * The device is smaller than it says, and a program in mode MAPPED larger: what a refusal leaves
 * it of the device is less than all, so that the driver can load a kernel.
 */
static void a_mapped_program_leaves_the_reserve_free(void **state)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(policies) * SEEDS; i++) {
		struct slu_sim_config config = plain;
		struct slu_sim_world *w;
		uint64_t used = 0;
		unsigned c;

		config.seed = 1 + i % SEEDS;
		config.policy = policies[i / SEEDS];
		config.reserve_parts = 8;
		config.pinned_bytes = U(64);
		assert_int_equal(slu_sim_world_new(&config, &w), 0);
		c = join(w, SLU_MODE_MAPPED, 40, 1);
		launch(w, c, 6, 4, 10);
		assert_int_equal(slu_sim_daemon_start(w), 0);
		while (w->clients[c].is_alive) {
			if (slu_sim_world_step(w) || w->step > w->config.steps_max)
				fail_msg("seed %llu: %s", (unsigned long long)config.seed,
					 w->fault);
			if (w->clients[c].is_alive && w->clients[c].n_launches > 0)
				used = SLU_MAX(used, w->board.used_bytes[0]);
		}
		assert_int_equal(w->clients[c].n_launches, 6);
		assert_true(w->counts.n_refused > 0);
		assert_true(used <= U(CAPACITY - TOTAL / 8));
		slu_sim_world_free(w);
	}
}

/* The property: no program waits for ever, and none is denied that could fit. */
static void every_program_is_served_or_denied(void **state)
{
	uint64_t n_served = 0, n_denied = 0;

	for (uint64_t seed = slu_test_seed(1), i = 0; i < 4 * SEEDS; i++) {
		uint64_t random = (seed + i) * UINT64_C(0xd1342543de82ef95) + 5;
		struct slu_sim_world *w = make(seed + i, policies[slu_sim_between(&random, 0, 2)]);
		bool fits[4];

		for (unsigned n = slu_sim_between(&random, 2, 4); n; n--) {
			unsigned size = slu_sim_between(&random, 1, 4);
			unsigned most = slu_sim_between(&random, 10, TOTAL);
			bool is_launch = slu_sim_chance(&random, 700000);
			unsigned c = join(w, is_launch ? SLU_MODE_LAUNCH : SLU_MODE_ALL,
					  most / size, size);

			fits[c] = most / size * size <= CAPACITY;
			w->clients[c].slowness = slu_sim_between(&random, 1, 3);
			launch(w, c, 2, slu_sim_between(&random, 1, 60),
			       slu_sim_between(&random, 0, 60));
		}
		finish(w, "a crowd");
		for (unsigned c = 0; c < w->n_clients; c++) {
			if (w->clients[c].n_launches != (fits[c] ? 2 : 0) ||
			    w->clients[c].n_denied != (fits[c] ? 0 : 2))
				fail_msg(
					"seed %llu, %s: client %u, which %s, was served %llu times "
					"and denied %llu times",
					(unsigned long long)w->config.seed, w->config.policy, c,
					fits[c] ? "fits" : "does not fit",
					(unsigned long long)w->clients[c].n_launches,
					(unsigned long long)w->clients[c].n_denied);
		}
		n_served += w->counts.n_launches;
		n_denied += w->counts.n_denied;
		slu_sim_world_free(w);
	}
	printf("# %llu served, %llu denied\n", (unsigned long long)n_served,
	       (unsigned long long)n_denied);
	assert_true(n_served && n_denied);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_that_never_fits_is_denied_while_another_has_turns),
		cmocka_unit_test(a_program_that_never_fits_with_its_frozen_bytes_is_denied),
		cmocka_unit_test(a_waiting_program_is_served_when_the_other_one_ends),
		cmocka_unit_test(a_waiting_program_is_served_when_the_other_one_thaws),
		cmocka_unit_test(a_deadlock_of_bytes_that_cannot_move_is_broken),
		cmocka_unit_test(a_slow_program_is_served),
		cmocka_unit_test(the_free_part_of_the_reserve_serves_a_program_in_need),
		cmocka_unit_test(a_program_that_needs_the_reserve_has_it_in_its_turns),
		cmocka_unit_test(a_mapped_program_leaves_the_reserve_free),
		cmocka_unit_test(every_program_is_served_or_denied),
	};

	return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
