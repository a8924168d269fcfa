/* SPDX-License-Identifier: Apache-2.0 */

/* Units that come in ahead: which ones, how many, and at which price. */

#include "peer/test-fixture.h"

enum { UNITS = 72, WINDOW = 48, FEW = 12 };

/* Carries out all moves. Return: how many units came in. */
static unsigned finish_moves(struct fixture *f)
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

/* A command that names @u; moves for the command, and then ahead of the next, end at once. */
static unsigned serve(struct fixture *f, struct slu_unit *u)
{
	unsigned n_in = 0;

	for (unsigned tries = 0; slu_peer_command_name(f->peer, f->now_ns, 0, &u, 1); tries++) {
		assert_in_range(tries, 0, 20);
		fixture_wait(f, FIXTURE_ANSWER_NS);
		n_in += finish_moves(f);
	}
	slu_peer_command_unname(f->peer, &u, 1);
	fixture_step(f);
	return n_in + finish_moves(f);
}

/* One round names each unit once. Return: how many came in. */
static unsigned go_round(struct fixture *f)
{
	unsigned n_in = 0;

	for (unsigned i = 0; i < UNITS; i++) {
		n_in += serve(f, &f->units[i]);
		assert_in_range(fixture_held(f, DEVICE0), 0, WINDOW);
	}
	return n_in;
}

/* A program loops over two thirds of its units until its past is known. */
static void setup(struct fixture *f)
{
	fixture_init(f, SLU_MODE_LAUNCH, 1000);
	for (unsigned i = 0; i < UNITS; i++)
		fixture_in_ram(f, 1);
	fixture_turn(f, EPOCH(1));
	fixture_limit(f, DEVICE0, 1, WINDOW, WINDOW, SLU_PACE_NOW);
	for (unsigned i = 0; i < 3; i++)
		go_round(f);
	/* whatever more the daemon might have granted */
	fixture_wait(f, SLU_PEER_NEVER / 4);
	fixture_finish_moves(f);
}

static struct slu_unit *moving(struct fixture *f, enum slu_moving how)
{
	for (unsigned i = 0; i < f->n_units; i++)
		if (f->units[i].moving == how)
			return &f->units[i];
	return NULL;
}

static void the_next_unit_comes_before_it_is_named(void **state)
{
	struct slu_unit *in = NULL, *out;
	struct fixture f;
	unsigned i;

	setup(&f);
	for (i = 0; !in; i++) {
		struct slu_unit *u = &f.units[i % UNITS];

		assert_in_range(i, 0, 2 * UNITS);
		assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, &u, 1), 0);
		slu_peer_command_unname(f.peer, &u, 1);
		fixture_step(&f);
		/* another unit leaves for it, not one of the last command; no thread waits */
		out = moving(&f, SLU_MOVING_OUT);
		assert_ptr_not_equal(out, u);
		if (out)
			fixture_moved(&f, out, SLU_MOVE_DONE);
		in = moving(&f, SLU_MOVING_IN);
	}
	assert_false(in->wanted);
	fixture_moved(&f, in, SLU_MOVE_DONE);
	for (; &f.units[i % UNITS] != in; i++)
		assert_int_equal(f.units[i % UNITS].place, SLU_PLACE_DEVICE);
	fixture_deinit(&f);
}

/* Two come ahead, so that two others do not fit: a tenth more, and a part of a unit. */
static void a_loop_moves_little_more_than_it_must(void **state)
{
	struct fixture f;
	unsigned n_in = 0;

	setup(&f);
	for (unsigned i = 0; i < 20; i++)
		n_in += go_round(&f);
	printf("# %u units in, in 20 rounds of %u through a window of %u\n", n_in, UNITS, WINDOW);
	assert_in_range(n_in, 20 * (UNITS - WINDOW), 20 * (UNITS - WINDOW) * 6 / 5);
	fixture_deinit(&f);
}

/* Eight of twelve large units fit. */
static void setup_few(struct fixture *f)
{
	fixture_init(f, SLU_MODE_LAUNCH, 1000);
	for (unsigned i = 0; i < FEW; i++)
		fixture_in_ram(f, 4);
	fixture_turn(f, EPOCH(1));
	fixture_limit(f, DEVICE0, 1, 32, 32, SLU_PACE_NOW);
	for (unsigned i = 0; i < 3 * FEW; i++)
		serve(f, &f->units[i % FEW]);
}

/* For one unit that came early every fourth would have to come again. */
static void few_units_come_only_when_they_are_named(void **state)
{
	struct fixture f;

	setup_few(&f);
	for (unsigned i = 0; i < 10 * FEW; i++) {
		serve(&f, &f.units[i % FEW]);
		assert_null(slu_peer_view_ahead(f.peer, 0));
	}
	fixture_deinit(&f);
}

/* Return: the first unit that is to leave for @u. */
static struct slu_unit *leave_for(struct fixture *f, struct slu_unit *u)
{
	struct slu_unit *out;

	assert_int_equal(slu_peer_command_name(f->peer, f->now_ns, 0, &u, 1), SLU_PEER_E_WAIT);
	fixture_wait(f, FIXTURE_ANSWER_NS);
	out = moving(f, SLU_MOVING_OUT);
	assert_non_null(out);
	assert_false(out->patient);
	return out;
}

/* The round goes on until it names a unit that is away. Return: that unit. */
static struct slu_unit *next_away(struct fixture *f)
{
	unsigned i = 0;

	while (f->units[i].place == SLU_PLACE_DEVICE)
		serve(f, &f->units[i++]);
	assert_in_range(i, 0, FEW - 1);
	return &f->units[i];
}

/* The candidates that are as good run too: then the command waits for one, the one needed last. */
static void the_unit_needed_last_leaves_if_all_candidates_run(void **state)
{
	struct slu_unit *u, *first, *out;
	struct fixture f;
	unsigned n = 1;

	setup_few(&f);
	u = next_away(&f);
	first = leave_for(&f, u);
	for (out = first; !out->patient; n++) {
		assert_in_range(n, 1, FEW);
		fixture_moved(&f, out, SLU_MOVE_RUNS);
		out = moving(&f, SLU_MOVING_OUT);
		assert_non_null(out);
	}
	assert_ptr_equal(out, first);
	fixture_deinit(&f);
}

/* Three units, each named once, in a window of two: no foresight, and the first is away. */
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
	slu_peer_ahead_expect(f.peer, 0, &away, 1);
	fixture_step(&f);
	assert_ptr_equal(moving(&f, SLU_MOVING_OUT), &f.units[1]); /* not of the last command */
	fixture_moved(&f, &f.units[1], SLU_MOVE_DONE);
	assert_int_equal(away->moving, SLU_MOVING_IN);
	fixture_moved(&f, away, SLU_MOVE_DONE);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, &away, 1), 0);
	slu_peer_command_unname(f.peer, &away, 1);
	fixture_deinit(&f);
}

static void a_unit_that_left_for_a_guess_comes_back_when_it_is_named(void **state)
{
	struct slu_unit *away, *leaving;
	struct fixture f;

	setup_three(&f);
	away = &f.units[0];
	leaving = &f.units[1];
	slu_peer_ahead_expect(f.peer, 0, &away, 1);
	fixture_step(&f);
	assert_int_equal(leaving->moving, SLU_MOVING_OUT);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, &leaving, 1), SLU_PEER_E_WAIT);
	assert_true(leaving->cancel);
	fixture_moved(&f, leaving, SLU_MOVE_CANCELLED);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, &leaving, 1), 0);
	slu_peer_command_unname(f.peer, &leaving, 1);
	fixture_deinit(&f);
}

/* A unit is announced and never named, again and again: the guesses stop. */
static void guesses_that_are_wrong_are_given_up(void **state)
{
	struct fixture f;
	unsigned n_in = 0;

	setup(&f);
	for (unsigned i = 0; i < 100; i++) {
		struct slu_unit *u = f.units;

		while (u->place == SLU_PLACE_DEVICE)
			u++;
		slu_peer_ahead_expect(f.peer, 0, &u, 1);
		fixture_step(&f);
		n_in += finish_moves(&f);
		/* it leaves again because the window shrinks for a moment */
		fixture_limit(&f, DEVICE0, 2 + 2 * i, 1, 1, SLU_PACE_NONE);
		finish_moves(&f);
		fixture_limit(&f, DEVICE0, 3 + 2 * i, WINDOW, WINDOW, SLU_PACE_NOW);
		n_in += finish_moves(&f);
	}
	printf("# %u came in for nothing\n", n_in);
	assert_in_range(n_in, 1, 64);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_unit_comes_before_it_is_named),
		cmocka_unit_test(a_loop_moves_little_more_than_it_must),
		cmocka_unit_test(few_units_come_only_when_they_are_named),
		cmocka_unit_test(the_unit_needed_last_leaves_if_all_candidates_run),
		cmocka_unit_test(a_command_that_is_known_brings_in_its_units),
		cmocka_unit_test(a_unit_that_left_for_a_guess_comes_back_when_it_is_named),
		cmocka_unit_test(guesses_that_are_wrong_are_given_up),
	};

	return cmocka_run_group_tests_name("peer-ahead", tests, NULL, NULL);
}
