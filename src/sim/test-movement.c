/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How many bytes move: worlds in which a program could move its own bytes to and fro, or map units
 * that would fit on the device a moment later. Each runs under many interleavings, and the moved
 * bytes are compared with those that had to move.
 */

#include "lib/test.h"

#include "base/util.h"
#include "sim/world.h"

#define SEEDS	  40
#define U(n)	  ((uint64_t)(n)*SLU_SIM_UNIT)
#define STEPS_MAX 400000

static struct slu_sim_world *make(uint64_t seed)
{
	const struct slu_sim_config config = {
		.seed = seed,
		.n_devices = 1,
		.total_bytes = { U(32) },
		.pinned_bytes = U(64),
		.backing_bytes = U(400),
		.steps_max = STEPS_MAX,
	};
	struct slu_sim_world *w;

	assert_int_equal(slu_sim_world_new(&config, &w), 0);
	return w;
}

/* A program of its own, with @n units of one. */
static struct slu_sim_client *join(struct slu_sim_world *w, enum slu_mode mode, unsigned n)
{
	const unsigned device = 0;
	int r = slu_sim_client_add(w, w->n_clients + 1, 1, &device, &mode);

	assert_true(r >= 0);
	while (n--)
		slu_sim_client_do(w, (unsigned)r, SLU_SIM_ALLOC, 0, U(1));
	return &w->clients[r];
}

static void launch(struct slu_sim_client *c, unsigned n)
{
	while (n--)
		slu_sim_client_do(c->world, c->index, SLU_SIM_LAUNCH, 0, 2);
}

static void run(struct slu_sim_world *w, const char *what)
{
	for (unsigned i = 0; i < w->n_clients; i++)
		slu_sim_client_do(w, i, SLU_SIM_SYNC, 0, 0);
	if (slu_sim_world_run(w))
		fail_msg("%s, seed %llu, step %llu: %s", what, (unsigned long long)w->config.seed,
			 (unsigned long long)w->step, w->fault);
}

/*
 * 24 units in mode LAUNCH take turns with 28 in mode ALL that leave slowly, on a device of 32. Each
 * fits alone, so no unit of the first one ever has to leave for another one of its own, also
 * not while its window is still small because the neighbour's bytes are on their way out: neither
 * for commands that the small window does not hold nor for those that it does.
 */
static void a_window_that_grows_is_not_exchanged(void **state)
{
	static const unsigned commands_percent[] = { 50, 5 };
	uint64_t exchanged = 0, moved = 0, n_turns = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(seed);
		struct slu_sim_client *a = join(w, SLU_MODE_LAUNCH, 24);
		struct slu_sim_client *b = join(w, SLU_MODE_ALL, 28);

		b->slowness = 3;
		a->command_percent = commands_percent[seed % 2];
		launch(a, 160);
		launch(b, 100);
		run(w, "a slow neighbour");
		exchanged += a->exchanged_bytes / SLU_SIM_UNIT;
		moved += a->moved_out_bytes / SLU_SIM_UNIT;
		n_turns += w->counts.n_switches;
		slu_sim_world_free(w);
	}
	printf("# %llu units departed in %llu turns, %llu of them for its own\n",
	       (unsigned long long)moved, (unsigned long long)n_turns,
	       (unsigned long long)exchanged);
	assert_true(moved > 0);
	assert_int_equal(exchanged, 0);
}

/*
 * Two programs that may map, 20 and 20 units on a device of 32. The first one's kernel waits until
 * the second one has launched five times, so nothing of it can leave, and the second one maps the
 * eight that do not fit. When the first one goes on and has left, they come in in the same
 * turn. What is allocated from then on waits for bytes on the device and is not mapped, although
 * there is pinned memory at hand: the daemon gives them as soon as it knows.
 */
static void only_units_that_do_not_fit_are_mapped(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(seed);
		struct slu_sim_client *a = join(w, SLU_MODE_MAPPED, 20);
		struct slu_sim_client *b;

		slu_sim_client_do(w, a->index, SLU_SIM_AWAIT, 0, 5);
		a->ops[a->n_ops - 1].client = 1;
		b = join(w, SLU_MODE_MAPPED, 0);
		slu_sim_client_do(w, b->index, SLU_SIM_PAUSE, 0, 100);
		for (unsigned i = 0; i < 20; i++)
			slu_sim_client_do(w, b->index, SLU_SIM_ALLOC, 0, U(1));
		launch(b, 150);
		for (unsigned i = 0; i < 5; i++) {
			slu_sim_client_do(w, b->index, SLU_SIM_ALLOC, 0, U(2));
			launch(b, 1);
		}
		run(w, "a kernel that waits");
		assert_int_equal(b->mapped_bytes, U(8));
		assert_int_equal(b->last_mapped_bytes, 0);
		slu_sim_world_free(w);
	}
}

/* A program larger than the device: what does not fit is mapped, and the rest is not. */
static void units_that_do_not_fit_are_mapped(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(seed);
		struct slu_sim_client *c = join(w, SLU_MODE_MAPPED, 10);

		launch(c, 2);
		for (unsigned k = 0; k < 15; k++)
			slu_sim_client_do(w, c->index, SLU_SIM_ALLOC, 0, U(2));
		launch(c, 2);
		run(w, "a program larger than the device");
		assert_int_equal(w->counts.n_denied, 0);
		assert_true(c->mapped_bytes >= U(40 - 32));
		slu_sim_world_free(w);
	}
}

/* Loads 20 units, one after the other, with pauses on the host between two of them. */
static struct slu_sim_client *join_loader(struct slu_sim_world *w)
{
	struct slu_sim_client *c = join(w, SLU_MODE_ALL, 0);

	slu_sim_client_do(w, c->index, SLU_SIM_PAUSE, 0, 1600);
	for (unsigned i = 0; i < 20; i++) {
		slu_sim_client_do(w, c->index, SLU_SIM_ALLOC, 0, U(1));
		launch(c, 1);
		slu_sim_client_do(w, c->index, SLU_SIM_PAUSE, 0, 10);
	}
	launch(c, 1);
	return c;
}

/* Return: the step at which the loader has ended. */
static uint64_t load(uint64_t seed, unsigned n_pieces, uint64_t *moved_units)
{
	struct slu_sim_world *w = make(seed);
	struct slu_sim_client *endless = join(w, SLU_MODE_ALL, n_pieces ? 28 : 0);
	struct slu_sim_client *loader = join_loader(w);
	uint64_t ended;

	w->config.policy = "mlfq";
	for (unsigned i = 0; i < 120; i++)
		slu_sim_client_do(w, endless->index, n_pieces ? SLU_SIM_LAUNCH : SLU_SIM_PAUSE, 0,
				  SLU_MAX(n_pieces, 20u));
	run(w, "a newcomer that loads");
	*moved_units += w->counts.moved_out_bytes / SLU_SIM_UNIT;
	ended = loader->ended_step;
	slu_sim_world_free(w);
	return ended;
}

/*
 * A program of 28 units computes without end and has sunk below the newcomer of 20, on a device of
 * 32. The newcomer's pauses are shorter than a switch, so the device is worth keeping over them:
 * 16 units must leave for it once, and 16 may come back when it has ended.
 */
static void a_newcomer_that_pauses_while_it_loads_makes_no_storm(void **state)
{
	uint64_t moved = 0, none = 0, took = 0, alone = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		alone += load(seed, 0, &none);
		took += load(seed, 30, &moved);
	}
	printf("# %llu units departed in %d worlds; the newcomer ended after %llu steps, %llu "
	       "alone\n",
	       (unsigned long long)moved, SEEDS, (unsigned long long)took / SEEDS,
	       (unsigned long long)alone / SEEDS);
	assert_int_equal(none, 0);
	assert_true(moved <= 3 * UINT64_C(16) * SEEDS);
	assert_true(took <= alone * 5 / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_that_grows_is_not_exchanged),
		cmocka_unit_test(only_units_that_do_not_fit_are_mapped),
		cmocka_unit_test(units_that_do_not_fit_are_mapped),
		cmocka_unit_test(a_newcomer_that_pauses_while_it_loads_makes_no_storm),
	};

	return cmocka_run_group_tests_name("movement", tests, NULL, NULL);
}
