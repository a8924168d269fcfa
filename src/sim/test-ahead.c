/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What comes ahead of a turn, in virtual time: how many bytes of a program are present when its
 * turn begins, how many bytes move, and what wrong guesses cost.
 */

#include "lib/test.h"

#include "base/util.h"
#include "sim/world.h"

#define SEEDS	    3
#define U(n)	    ((uint64_t)(n)*SLU_SIM_UNIT)
#define SIZE	    17 /* of a program: 8.5 GB on a device of 14.5 GB */
#define DEVICE	    29
#define SLICE_STEPS 6000 /* long enough for what can come ahead */
#define N_WARM	    12	 /* turns until all is allocated and the order is that of rr */

/* What was seen at the turns that began. */
struct seen {
	unsigned n_turns;
	uint64_t present_bytes; /* of the programs whose turns began, at that moment */
	uint64_t moved_bytes;	/* in, of all, since the first of these turns */
	uint64_t moved_before_bytes;
};

static uint64_t moved_in_bytes(const struct slu_sim_world *w)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < w->n_clients; i++)
		bytes += w->clients[i].moved_in_bytes;
	return bytes;
}

static uint64_t present_bytes(const struct slu_sim_client *c)
{
	const struct slu_unit *u;
	uint64_t bytes = 0;

	TAILQ_FOREACH (u, slu_peer_view_units(c->peer, 0), link)
		if (u->place == SLU_PLACE_DEVICE && u->moving == SLU_MOVING_NO)
			bytes += u->bytes;
	return bytes;
}

static bool all_live(const struct slu_sim_world *w)
{
	for (unsigned i = 0; i < w->n_clients; i++)
		if (!w->clients[i].is_alive)
			return false;
	return true;
}

static bool look_at_turn(struct slu_sim_world *w, const struct slu_core_action *action)
{
	struct seen *seen = w->test_data;

	if (action->kind != SLU_CORE_SEND || action->message.header.type != SLU_MSG_TURN ||
	    !all_live(w))
		return false;
	if (w->counts.n_switches < N_WARM) {
		seen->moved_before_bytes = moved_in_bytes(w);
		return false;
	}
	seen->n_turns++;
	seen->present_bytes += present_bytes(&w->clients[action->client - 1]);
	seen->moved_bytes = moved_in_bytes(w) - seen->moved_before_bytes;
	return false;
}

static struct slu_sim_world *make(uint64_t seed, const char *policy, struct seen *seen)
{
	const struct slu_sim_config config = {
		.seed = seed,
		.n_devices = 1,
		.total_bytes = { U(DEVICE) },
		.backing_bytes = U(400),
		.slice_steps = SLICE_STEPS,
		.policy = policy,
		.steps_max = 4000000,
	};
	struct slu_sim_world *w;

	assert_int_equal(slu_sim_world_new(&config, &w), 0);
	w->dies_before = look_at_turn;
	w->test_data = seen;
	return w;
}

static void join(struct slu_sim_world *w, unsigned n_units, unsigned n_launches)
{
	const unsigned device = 0;
	const enum slu_mode mode = SLU_MODE_ALL;
	int r = slu_sim_client_add(w, w->n_clients + 1, 1, &device, &mode);

	assert_true(r >= 0);
	while (n_units--)
		slu_sim_client_do(w, (unsigned)r, SLU_SIM_ALLOC, 0, U(1));
	while (n_launches--)
		slu_sim_client_do(w, (unsigned)r, SLU_SIM_LAUNCH, 0, 60);
	slu_sim_client_do(w, (unsigned)r, SLU_SIM_SYNC, 0, 0);
}

static void run(struct slu_sim_world *w, const char *what)
{
	if (slu_sim_world_run(w))
		fail_msg("%s, seed %llu, step %llu: %s", what, (unsigned long long)w->config.seed,
			 (unsigned long long)w->step, w->fault);
}

/*
 * n equal programs in rr, each larger than half of the device. While one computes, the one that ran
 * before it gives up its bytes for the next one. So when a turn begins, everything of its program
 * is present that has a place beside the one that computed; only the overlap of the two moves in
 * the switch. No unit comes in twice for a turn.
 */
static void in_steady_state_only_the_overlap_moves_in_a_switch(void **state)
{
	static const unsigned numbers[] = { 3, 4, 6 };

	for (unsigned k = 0; k < SLU_ARRAY_SIZE(numbers); k++) {
		unsigned n = numbers[k];
		struct seen sum = {};
		uint64_t ahead = 0, wrong = 0;

		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct seen seen = {};
			struct slu_sim_world *w = make(seed, "rr", &seen);

			for (unsigned i = 0; i < n; i++)
				join(w, SIZE, 40);
			run(w, "equal programs");
			sum.n_turns += seen.n_turns;
			sum.present_bytes += seen.present_bytes;
			sum.moved_bytes += seen.moved_bytes;
			ahead += w->counts.ahead_bytes;
			wrong += w->counts.wrong_bytes;
			slu_sim_world_free(w);
		}
		printf("# %u programs of %u units on %u: %u turns; a turn begins with %.2f units "
		       "present of %u that can be, %.2f come in for it; %llu came ahead, %llu for "
		       "nothing\n",
		       n, SIZE, DEVICE, sum.n_turns,
		       (double)sum.present_bytes / SLU_SIM_UNIT / sum.n_turns, DEVICE - SIZE,
		       (double)sum.moved_bytes / SLU_SIM_UNIT / sum.n_turns,
		       (unsigned long long)ahead / SLU_SIM_UNIT,
		       (unsigned long long)wrong / SLU_SIM_UNIT);
		assert_true(sum.n_turns >= 8 * SEEDS);
		assert_true(sum.present_bytes >= U(DEVICE - SIZE) * sum.n_turns * 95 / 100);
		assert_true(sum.moved_bytes <= U(SIZE) * sum.n_turns * 105 / 100);
	}
}

/*
 * Three programs that compute without end and two that come back from a pause now and then, under
 * mlfq: whenever one of these comes, the guess about the next one was wrong. The world asserts the
 * bound (I12) at each turn; here the guesses must really have been wrong.
 */
static void wrong_guesses_cost_no_more_than_their_bound(void **state)
{
	uint64_t ahead = 0, wrong = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct seen seen = {};
		struct slu_sim_world *w = make(seed, "mlfq", &seen);

		for (unsigned i = 0; i < 3; i++)
			join(w, SIZE, 40);
		for (unsigned i = 0; i < 2; i++) {
			join(w, SIZE - 4, 0);
			for (unsigned k = 0; k < 40; k++) {
				slu_sim_client_do(w, 3 + i, SLU_SIM_PAUSE, 0, 60 + 40 * i);
				slu_sim_client_do(w, 3 + i, SLU_SIM_LAUNCH, 0, 2);
				slu_sim_client_do(w, 3 + i, SLU_SIM_SYNC, 0, 0);
			}
		}
		run(w, "programs that come back");
		ahead += w->counts.ahead_bytes / SLU_SIM_UNIT;
		wrong += w->counts.wrong_bytes / SLU_SIM_UNIT;
		slu_sim_world_free(w);
	}
	printf("# %llu units came ahead, %llu for nothing\n", (unsigned long long)ahead,
	       (unsigned long long)wrong);
	assert_true(wrong > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_steady_state_only_the_overlap_moves_in_a_switch),
		cmocka_unit_test(wrong_guesses_cost_no_more_than_their_bound),
	};

	return cmocka_run_group_tests_name("ahead", tests, NULL, NULL);
}
