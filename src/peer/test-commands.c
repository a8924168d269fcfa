/* SPDX-License-Identifier: Apache-2.0 */

/* The client's half by script: commands, their windows, and the working set. Rules as in
 * docs/protocol.md. */

#include "peer/test-fixture.h"

static void rule_29_a_command_exchanges_units_inside_its_window(void **state)
{
	struct fixture f;
	struct slu_unit *first[1], *second[2];

	fixture_init(&f, SLU_MODE_LAUNCH, 100);
	first[0] = fixture_in_ram(&f, 6);
	second[0] = fixture_in_ram(&f, 5);
	second[1] = fixture_in_ram(&f, 3);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, first, 1), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.min_bytes, 6);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.all_bytes, 14);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 9, 9, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	assert_ptr_equal(f.moves[0], first[0]);
	fixture_moved(&f, first[0], SLU_MOVE_DONE);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, first, 1), 0);

	/* a named unit stays */
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, second, 2), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(f.n_moves, 1);
	assert_ptr_equal(f.moves[0], second[1]);
	fixture_moved(&f, second[1], SLU_MOVE_DONE);
	assert_int_equal(f.n_moves, 0);
	/* WANT first tells the daemon of the larger need; the daemon might meet it */
	slu_peer_command_unname(f.peer, first, 1);
	fixture_step(&f);
	assert_int_equal(f.n_moves, 0);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.working_bytes, 14);
	fixture_wait(&f, FIXTURE_ANSWER_NS);
	assert_int_equal(f.n_moves, 1);
	assert_ptr_equal(f.moves[0], first[0]);
	fixture_moved(&f, first[0], SLU_MOVE_DONE);
	assert_ptr_equal(f.moves[0], second[0]);
	fixture_moved(&f, second[0], SLU_MOVE_DONE);
	assert_int_equal(f.n_woken, 1);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, second, 2), 0);
	slu_peer_command_unname(f.peer, second, 2);
	fixture_deinit(&f);
}

static void rule_29_a_window_that_grows_is_not_emptied(void **state)
{
	struct fixture f;
	struct slu_unit *first[1], *second[1];

	fixture_init(&f, SLU_MODE_LAUNCH, 100);
	first[0] = fixture_in_ram(&f, 6);
	second[0] = fixture_in_ram(&f, 5);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 9, 9, SLU_PACE_NOW);
	assert_int_equal(fixture_command(&f, first, 1), 0);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, second, 1), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(f.n_moves, 0);
	assert_non_null(fixture_said(&f, SLU_MSG_WANT));
	fixture_limit(&f, DEVICE0, 2, 11, 11, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	assert_ptr_equal(f.moves[0], second[0]);
	fixture_moved(&f, second[0], SLU_MOVE_DONE);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, second, 1), 0);
	assert_int_equal(fixture_held(&f, DEVICE0), 11);
	slu_peer_command_unname(f.peer, second, 1);
	fixture_deinit(&f);
}

/* Three units that were named one after the other, in a turn that has ended. */
static void name_three_and_rest(struct fixture *f)
{
	fixture_init(f, SLU_MODE_LAUNCH, 1000);
	for (unsigned i = 0; i < 4; i++)
		fixture_in_ram(f, 8);
	fixture_turn(f, EPOCH(1));
	fixture_limit(f, DEVICE0, 1, 32, 32, SLU_PACE_NOW);
	for (unsigned i = 0; i < 3; i++) {
		struct slu_unit *unit = &f->units[i];

		assert_int_equal(fixture_command(f, &unit, 1), 0);
	}
	fixture_wait(f, 200 * SLU_NS_PER_MS);
	assert_int_equal(fixture_said(f, SLU_MSG_WANT)->want.working_bytes, 24);
	fixture_close(f, EPOCH(1));
	fixture_drained(f, false);
}

static void rule_20_the_working_set_is_the_recently_named_units(void **state)
{
	struct fixture f;
	struct slu_unit *last = &f.units[2];

	name_three_and_rest(&f);

	/* off turn nothing grows old, and a turn begins with the set of the one before */
	fixture_wait(&f, 60 * SLU_NS_PER_S);
	fixture_turn(&f, EPOCH(2));
	fixture_wait(&f, SLU_NS_PER_S);
	assert_int_equal(fixture_command(&f, &last, 1), 0);
	assert_null(fixture_said(&f, SLU_MSG_WANT));

	/* in a turn units that are no longer named do */
	fixture_wait(&f, SLU_NS_PER_S + 200 * SLU_NS_PER_MS);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.working_bytes, 8);

	/* but units named in this turn stay, however long it lasts */
	fixture_wait(&f, 60 * SLU_NS_PER_S);
	assert_int_equal(fixture_command(&f, &last, 1), 0);
	fixture_wait(&f, 200 * SLU_NS_PER_MS);
	assert_null(fixture_said(&f, SLU_MSG_WANT));

	slu_peer_alloc_released(f.peer, f.now_ns, last);
	fixture_wait(&f, 200 * SLU_NS_PER_MS);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.working_bytes, 0);
	fixture_deinit(&f);
}

static void rule_20_a_small_change_of_the_working_set_is_not_reported(void **state)
{
	struct fixture f;
	struct slu_unit *big, *small[2];

	fixture_init(&f, SLU_MODE_LAUNCH, 1000);
	big = fixture_in_ram(&f, 80);
	small[0] = fixture_in_ram(&f, 10);
	small[1] = fixture_in_ram(&f, 1);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 100, 100, SLU_PACE_NOW);
	assert_int_equal(fixture_command(&f, &big, 1), 0);
	fixture_wait(&f, 200 * SLU_NS_PER_MS);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.working_bytes, 80);
	assert_int_equal(fixture_command(&f, &small[0], 1), 0);
	fixture_wait(&f, 200 * SLU_NS_PER_MS);
	assert_int_equal(slu_peer_view_working(f.peer, 0), 90);
	assert_true(!fixture_said(&f, SLU_MSG_WANT) ||
		    fixture_said(&f, SLU_MSG_WANT)->want.working_bytes == 80);
	assert_int_equal(fixture_command(&f, &small[1], 1), 0);
	fixture_wait(&f, 200 * SLU_NS_PER_MS);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.working_bytes, 91);
	fixture_deinit(&f);
}

static void rule_28_ahead_brings_in_the_working_set_most_recent_first(void **state)
{
	struct fixture f;

	name_three_and_rest(&f);
	fixture_limit(&f, DEVICE0, 2, 0, 0, SLU_PACE_NONE);
	fixture_finish_moves(&f);
	assert_int_equal(fixture_held(&f, DEVICE0), 0);

	fixture_limit(&f, DEVICE0, 3, 16, 32, SLU_PACE_AHEAD);
	fixture_finish_moves(&f);
	assert_int_equal(f.units[2].place, SLU_PLACE_DEVICE);
	assert_int_equal(f.units[1].place, SLU_PLACE_DEVICE);
	assert_int_equal(f.units[0].place, SLU_PLACE_RAM);
	fixture_limit(&f, DEVICE0, 4, 32, 32, SLU_PACE_AHEAD);
	fixture_finish_moves(&f);
	assert_int_equal(f.units[0].place, SLU_PLACE_DEVICE);
	assert_int_equal(f.units[3].place, SLU_PLACE_RAM); /* no command ever named it */
	fixture_deinit(&f);
}

/*
 * Of the three named units one stays, with some free bytes, too few for another. The next turn
 * names it again, and then one that is away.
 */
static void lose_two(struct fixture *f)
{
	name_three_and_rest(f);
	fixture_limit(f, DEVICE0, 2, 12, 12, SLU_PACE_NOW);
	fixture_finish_moves(f);
	assert_int_equal(f->units[2].place, SLU_PLACE_DEVICE);
	assert_int_equal(fixture_held(f, DEVICE0), 8);
}

static void name_absent_units(struct fixture *f)
{
	struct slu_unit *here = &f->units[2], *away = &f->units[0];

	fixture_turn(f, EPOCH(2));
	assert_int_equal(fixture_command(f, &here, 1), 0);
	assert_int_equal(slu_peer_command_name(f->peer, f->now_ns, 0, &away, 1), SLU_PEER_E_WAIT);
	fixture_step(f);
}

static void rule_29_a_turn_waits_for_the_window_that_was_announced(void **state)
{
	struct fixture f;
	struct slu_unit *away = &f.units[0];

	lose_two(&f);
	fixture_limit(&f, DEVICE0, 3, 12, 24, SLU_PACE_AHEAD);
	fixture_wait(&f, 10 * FIXTURE_ANSWER_NS);
	name_absent_units(&f);
	assert_int_equal(f.n_moves, 0);
	fixture_wait(&f, 4 * FIXTURE_ANSWER_NS);
	assert_int_equal(f.n_moves, 0);
	fixture_limit(&f, DEVICE0, 4, 18, 24, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	assert_ptr_equal(f.moves[0], away);
	fixture_moved(&f, away, SLU_MOVE_DONE);
	slu_peer_command_forget(f.peer, f.now_ns, 0, &away, 1);
	fixture_deinit(&f);
}

static void rule_12_a_new_turn_waits_for_the_size_of_its_window(void **state)
{
	struct fixture f;
	struct slu_unit *away = &f.units[0];

	/* the limit arrives a moment later, and the bytes later still */
	lose_two(&f);
	name_absent_units(&f);
	assert_int_equal(f.n_moves, 0);
	fixture_limit(&f, DEVICE0, 3, 12, 24, SLU_PACE_NOW);
	fixture_wait(&f, 4 * FIXTURE_ANSWER_NS);
	assert_int_equal(f.n_moves, 0);
	slu_peer_command_forget(f.peer, f.now_ns, 0, &away, 1);
	fixture_deinit(&f);

	/* a limit says that no more bytes will come */
	lose_two(&f);
	name_absent_units(&f);
	fixture_limit(&f, DEVICE0, 3, 12, 12, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	assert_ptr_equal(f.moves[0], &f.units[2]);
	fixture_moved(&f, &f.units[2], SLU_MOVE_DONE);
	fixture_finish_moves(&f);
	slu_peer_command_forget(f.peer, f.now_ns, 0, &away, 1);
	fixture_deinit(&f);

	/* no limit comes */
	lose_two(&f);
	name_absent_units(&f);
	assert_int_equal(f.n_moves, 0);
	fixture_wait(&f, FIXTURE_ANSWER_NS);
	assert_int_equal(f.n_moves, 1);
	assert_ptr_equal(f.moves[0], &f.units[2]);
	fixture_finish_moves(&f);
	slu_peer_command_forget(f.peer, f.now_ns, 0, &away, 1);
	fixture_deinit(&f);

	/* the client knows already that the window keeps its size */
	lose_two(&f);
	fixture_limit(&f, DEVICE0, 3, 12, 12, SLU_PACE_NONE);
	name_absent_units(&f);
	assert_int_equal(f.n_moves, 1);
	assert_ptr_equal(f.moves[0], &f.units[2]);
	fixture_finish_moves(&f);
	slu_peer_command_forget(f.peer, f.now_ns, 0, &away, 1);
	fixture_deinit(&f);
}

static void rule_29_a_window_that_is_too_small_is_a_wish(void **state)
{
	struct fixture f;
	struct slu_unit *both[2];

	fixture_init(&f, SLU_MODE_LAUNCH, 100);
	both[0] = fixture_in_ram(&f, 6);
	both[1] = fixture_in_ram(&f, 5);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 8, 8, SLU_PACE_NOW);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, both, 2), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.min_bytes, 11);
	fixture_deny(&f, DEVICE0);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, both, 2), SLU_PEER_E_DENIED);
	fixture_deinit(&f);
}

static void a_second_command_waits_for_the_one_in_front(void **state)
{
	struct fixture f;
	struct slu_unit *a[1], *b[1];

	fixture_init(&f, SLU_MODE_LAUNCH, 100);
	a[0] = fixture_in_ram(&f, 6);
	b[0] = fixture_in_ram(&f, 6);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 6, 6, SLU_PACE_NOW);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, a, 1), SLU_PEER_E_WAIT);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, b, 1), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_ptr_equal(f.moves[0], a[0]);
	fixture_moved(&f, a[0], SLU_MOVE_DONE);
	assert_int_equal(f.n_moves, 0);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, a, 1), 0);
	slu_peer_command_unname(f.peer, a, 1);
	fixture_step(&f);
	assert_int_equal(f.n_woken, 1);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, b, 1), SLU_PEER_E_WAIT);
	fixture_step(&f);
	fixture_wait(&f, 20 * SLU_NS_PER_MS); /* the daemon had its chance to give more */
	assert_int_equal(f.n_moves, 1);
	assert_ptr_equal(f.moves[0], a[0]);
	fixture_moved(&f, a[0], SLU_MOVE_BLOCKED);
	assert_int_equal(f.n_moves, 0);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.min_bytes, 12);
	slu_peer_command_forget(f.peer, f.now_ns, 0, b, 1);
	fixture_deinit(&f);
}

static uint32_t n_served(struct fixture *f)
{
	fixture_wait(f, 300 * SLU_NS_PER_MS);
	return fixture_said(f, SLU_MSG_FACTS)->facts.n_served;
}

static void rule_7_a_command_that_passes_the_one_in_front_does_not_count_as_served(void **state)
{
	struct fixture f;
	struct slu_unit *small[1], *large[1];

	fixture_init(&f, SLU_MODE_LAUNCH, 100);
	small[0] = fixture_in_ram(&f, 2);
	large[0] = fixture_in_ram(&f, 8);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 4, 4, SLU_PACE_NOW);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, small, 1), SLU_PEER_E_WAIT);
	fixture_step(&f);
	fixture_moved(&f, small[0], SLU_MOVE_DONE);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, small, 1), 0);
	assert_int_equal(n_served(&f), 1);
	slu_peer_command_unname(f.peer, small, 1);

	/* the first command waits for memory; the other one has what it needs */
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, large, 1), SLU_PEER_E_WAIT);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, small, 1), 0);
	assert_int_equal(n_served(&f), 1);
	slu_peer_command_unname(f.peer, small, 1);

	fixture_limit(&f, DEVICE0, 2, 10, 10, SLU_PACE_NOW);
	fixture_step(&f);
	fixture_moved(&f, large[0], SLU_MOVE_DONE);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, large, 1), 0);
	assert_int_equal(n_served(&f), 2);
	slu_peer_command_unname(f.peer, large, 1);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rule_29_a_command_exchanges_units_inside_its_window),
		cmocka_unit_test(rule_29_a_window_that_grows_is_not_emptied),
		cmocka_unit_test(rule_20_the_working_set_is_the_recently_named_units),
		cmocka_unit_test(rule_20_a_small_change_of_the_working_set_is_not_reported),
		cmocka_unit_test(rule_28_ahead_brings_in_the_working_set_most_recent_first),
		cmocka_unit_test(rule_29_a_turn_waits_for_the_window_that_was_announced),
		cmocka_unit_test(rule_12_a_new_turn_waits_for_the_size_of_its_window),
		cmocka_unit_test(rule_29_a_window_that_is_too_small_is_a_wish),
		cmocka_unit_test(a_second_command_waits_for_the_one_in_front),
		cmocka_unit_test(
			rule_7_a_command_that_passes_the_one_in_front_does_not_count_as_served),
	};

	return cmocka_run_group_tests_name("peer-commands", tests, NULL, NULL);
}
