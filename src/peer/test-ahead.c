/* SPDX-License-Identifier: Apache-2.0 */

/* Units that come in before they are asked for: what for, within what, and what it may cost. */

#include "peer/test-fixture.h"

enum { UNITS = 12, WINDOW = 8 };

/* Carries out all moves. Return: how many units came in. */
static unsigned settle(struct fixture *f)
{
	unsigned n_in = 0, i = 0;

	while (i < f->n_units) {
		struct slu_unit *u = &f->units[i++];

		if (u->moving == SLU_MOVING_NO)
			continue;
		n_in += u->moving == SLU_MOVING_IN;
		fixture_moved(f, u, SLU_MOVE_DONE);
		i = 0;
	}
	return n_in;
}

/* A command that names @u; what must move for it, and what then moves ahead, moves at once. */
static unsigned serve(struct fixture *f, struct slu_unit *u)
{
	unsigned n_in = 0;

	for (unsigned tries = 0; slu_peer_name(f->peer, f->now_ns, 0, &u, 1); tries++) {
		assert_in_range(tries, 0, 20);
		fixture_wait(f, FIXTURE_ANSWER_NS);
		n_in += settle(f);
	}
	slu_peer_unname(f->peer, &u, 1);
	fixture_step(f);
	return n_in + settle(f);
}

/* One round names each once. Return: how many came in. */
static unsigned go_round(struct fixture *f)
{
	unsigned n_in = 0;

	for (unsigned i = 0; i < UNITS; i++) {
		n_in += serve(f, &f->units[i]);
		assert_in_range(fixture_held(f, DEVICE0), 0, WINDOW);
	}
	return n_in;
}

/* A program of twelve units goes round in a window of eight, until its past is known. */
static void setup(struct fixture *f)
{
	fixture_init(f, SLU_MODE_LAUNCH, 1000);
	for (unsigned i = 0; i < UNITS; i++)
		fixture_in_ram(f, 1);
	fixture_turn(f, EPOCH(1));
	fixture_limit(f, DEVICE0, 1, WINDOW, WINDOW, SLU_PACE_NOW);
	for (unsigned i = 0; i < 3; i++)
		go_round(f);
	/* whatever the daemon might still have given */
	fixture_wait(f, SLU_PEER_NEVER / 4);
	fixture_settle(f);
}

static struct slu_unit *moving(struct fixture *f, enum slu_moving how)
{
	for (unsigned i = 0; i < f->n_units; i++)
		if (f->units[i].moving == how)
			return &f->units[i];
	return NULL;
}

static void the_next_one_comes_before_it_is_named(void **state)
{
	struct slu_unit *last, *in;
	struct fixture f;
	unsigned i = 0;

	setup(&f);
	while (f.units[i].place != SLU_PLACE_DEVICE ||
	       f.units[(i + 1) % UNITS].place == SLU_PLACE_DEVICE)
		i++;
	last = &f.units[i % UNITS];
	/* as if the round had come to it */
	for (unsigned k = 0; k < UNITS; k++)
		f.units[(i + 1 + k) % UNITS].last_use = last->last_use - UNITS + 1 + k;
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, &last, 1), 0);
	slu_peer_unname(f.peer, &last, 1);
	fixture_step(&f);
	/* somebody leaves for it who is not the last command's, and then it comes; nobody waits */
	if (!moving(&f, SLU_MOVING_IN)) {
		struct slu_unit *out = moving(&f, SLU_MOVING_OUT);

		assert_non_null(out);
		assert_ptr_not_equal(out, last);
		fixture_moved(&f, out, SLU_MOVE_DONE);
	}
	in = moving(&f, SLU_MOVING_IN);
	assert_ptr_equal(in, &f.units[(i + 1) % UNITS]);
	assert_false(in->wanted);
	fixture_moved(&f, in, SLU_MOVE_DONE);
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, &in, 1), 0);
	slu_peer_unname(f.peer, &in, 1);
	fixture_deinit(&f);
}

/* Four do not fit; the last command's stays; one comes ahead while one leaves: three more. */
static void a_program_that_goes_round_moves_little_more_than_it_must(void **state)
{
	struct fixture f;
	unsigned n_in = 0;

	setup(&f);
	for (unsigned i = 0; i < 20; i++)
		n_in += go_round(&f);
	printf("# %u units in, in 20 rounds of %u through a window of %u\n", n_in, UNITS, WINDOW);
	assert_in_range(n_in, 20 * (UNITS - WINDOW), 20 * (UNITS - WINDOW + 3));
	fixture_deinit(&f);
}

/* Three units, each named once, in a window of two: nothing is foreseen, and the first is away. */
static void setup_three(struct fixture *f)
{
	fixture_init(f, SLU_MODE_LAUNCH, 1000);
	for (unsigned i = 0; i < 3; i++)
		fixture_in_ram(f, 4);
	fixture_turn(f, EPOCH(1));
	fixture_limit(f, DEVICE0, 1, 8, 8, SLU_PACE_NOW);
	for (unsigned i = 0; i < 3; i++)
		serve(f, &f->units[i]);
	fixture_wait(f, SLU_NS_PER_S);
	assert_int_equal(f->units[0].place, SLU_PLACE_RAM);
	assert_null(moving(f, SLU_MOVING_OUT));
}

static void a_command_that_is_known_brings_in_its_units(void **state)
{
	struct slu_unit *away;
	struct fixture f;

	setup_three(&f);
	away = &f.units[0];
	slu_peer_expect(f.peer, 0, &away, 1);
	fixture_step(&f);
	assert_ptr_equal(moving(&f, SLU_MOVING_OUT), &f.units[1]); /* not that of the last */
	fixture_moved(&f, &f.units[1], SLU_MOVE_DONE);
	assert_int_equal(away->moving, SLU_MOVING_IN);
	fixture_moved(&f, away, SLU_MOVE_DONE);
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, &away, 1), 0);
	slu_peer_unname(f.peer, &away, 1);
	fixture_deinit(&f);
}

static void what_leaves_for_a_guess_comes_back_when_it_is_named(void **state)
{
	struct slu_unit *away, *leaving;
	struct fixture f;

	setup_three(&f);
	away = &f.units[0];
	leaving = &f.units[1];
	slu_peer_expect(f.peer, 0, &away, 1);
	fixture_step(&f);
	assert_int_equal(leaving->moving, SLU_MOVING_OUT);
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, &leaving, 1), SLU_PEER_E_WAIT);
	assert_true(leaving->cancel);
	fixture_moved(&f, leaving, SLU_MOVE_CANCELLED);
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, &leaving, 1), 0);
	slu_peer_unname(f.peer, &leaving, 1);
	fixture_deinit(&f);
}

/* Announced and never named, again and again: it comes to an end. */
static void guesses_that_are_wrong_are_given_up(void **state)
{
	struct fixture f;
	unsigned n_in = 0;

	setup(&f);
	for (unsigned i = 0; i < 100; i++) {
		struct slu_unit *u = f.units;

		while (u->place == SLU_PLACE_DEVICE)
			u++;
		slu_peer_expect(f.peer, 0, &u, 1);
		fixture_step(&f);
		n_in += settle(&f);
		/* it leaves again because the window shrinks for a moment */
		fixture_limit(&f, DEVICE0, 2 + 2 * i, 1, 1, SLU_PACE_NONE);
		settle(&f);
		fixture_limit(&f, DEVICE0, 3 + 2 * i, WINDOW, WINDOW, SLU_PACE_NOW);
		n_in += settle(&f);
	}
	printf("# %u came in for nothing\n", n_in);
	assert_in_range(n_in, 1, 64);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_one_comes_before_it_is_named),
		cmocka_unit_test(a_program_that_goes_round_moves_little_more_than_it_must),
		cmocka_unit_test(a_command_that_is_known_brings_in_its_units),
		cmocka_unit_test(what_leaves_for_a_guess_comes_back_when_it_is_named),
		cmocka_unit_test(guesses_that_are_wrong_are_given_up),
	};

	return cmocka_run_group_tests_name("peer-ahead", tests, NULL, NULL);
}
