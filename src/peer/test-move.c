/* SPDX-License-Identifier: Apache-2.0 */

/* The client's half by script: units that move, and their reports. Rules as in docs/protocol.md. */

#include "peer/test-fixture.h"

static const uint64_t two[] = { 4, 6 };

static void rule_8_bytes_that_cannot_leave_are_reported_as_final(void **state)
{
	struct fixture f;
	struct slu_unit *frozen;
	const struct slu_msg_sums *s;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	frozen = fixture_unit(&f, 3);
	frozen->frozen = SLU_FROZEN_MODULE;
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, frozen), 0);
	fixture_step(&f);
	assert_int_equal(fixture_sums(&f, DEVICE0)->ceiling_bytes, 13);
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, false);
	assert_int_equal(fixture_said(&f, SLU_MSG_REST)->rest.floor_bytes, 3);
	assert_int_equal(f.n_moves, 1); /* the frozen unit came on top of the limit */
	fixture_limit(&f, DEVICE0, 2, 0, 0, SLU_PACE_NOW);
	assert_false(fixture_sums(&f, DEVICE0)->is_final);
	assert_int_equal(f.n_moves, 1);
	fixture_moved(&f, &f.units[0], SLU_MOVE_DONE);
	fixture_moved(&f, &f.units[1], SLU_MOVE_DONE);
	s = fixture_sums(&f, DEVICE0);
	assert_true(s->is_final);
	assert_int_equal(s->held_bytes, 3);
	assert_int_equal(s->floor_bytes, 3);

	/* the limit stays in force and is met as soon as possible */
	slu_peer_alloc_freeze(f.peer, f.now_ns, frozen, SLU_FROZEN_NO);
	fixture_step(&f);
	assert_int_equal(f.n_moves, 1);
	fixture_deinit(&f);
}

static void rule_8_a_running_program_gives_nothing_and_reports_it(void **state)
{
	struct fixture f;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_limit(&f, DEVICE0, 2, 3, 3, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 0);
	assert_true(fixture_sums(&f, DEVICE0)->is_final);
	assert_int_equal(fixture_sums(&f, DEVICE0)->floor_bytes, 10);
	assert_int_equal(fixture_sums(&f, DEVICE0)->ceiling_bytes, 10);
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, false);
	assert_int_equal(f.n_moves, 2);
	fixture_deinit(&f);
}

static void rule_11_only_the_shortfall_leaves(void **state)
{
	static const uint64_t sizes[] = { 2, 2, 2, 2 };
	struct fixture f;

	fixture_running(&f, SLU_MODE_ALL, sizes, 4);
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, false);
	fixture_limit(&f, DEVICE0, 2, 5, 5, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 2); /* both at once, and the second counts on the first */
	fixture_finish_moves(&f);
	assert_int_equal(fixture_held(&f, DEVICE0), 4);
	fixture_deinit(&f);
}

static void rule_12_a_unit_above_the_goal_is_mapped(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_MAPPED, 100);
	fixture_in_ram(&f, 4);
	fixture_in_ram(&f, 4);
	fixture_turn(&f, EPOCH(1));
	/* the goal has bytes for both: the second unit waits */
	fixture_limit(&f, DEVICE0, 1, 4, 8, SLU_PACE_NOW);
	fixture_moved(&f, f.moves[0], SLU_MOVE_DONE);
	fixture_limit(&f, PINNED, 1, 8, 8, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 0);
	assert_false(slu_peer_view_gate_is_open(f.peer, 0));
	/* the goal fell: the second unit is mapped */
	fixture_limit(&f, DEVICE0, 2, 4, 4, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	assert_int_equal(f.moves[0]->moving, SLU_MOVING_MAP);
	assert_int_equal(fixture_held(&f, PINNED), 4);
	fixture_moved(&f, f.moves[0], SLU_MOVE_DONE);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	assert_int_equal(fixture_sums(&f, PINNED)->held_bytes, 4);

	/* pinned memory is given back at rest */
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, false);
	fixture_limit(&f, PINNED, 2, 0, 0, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	assert_int_equal(f.moves[0]->place, SLU_PLACE_MAPPED);
	fixture_moved(&f, f.moves[0], SLU_MOVE_DONE);
	assert_int_equal(fixture_held(&f, PINNED), 0);
	assert_int_equal(fixture_sums(&f, PINNED)->held_bytes, 0);
	fixture_deinit(&f);
}

/* 6 and 4 bytes are on a device that holds 10, and a call needs 5 of them. */
static void rule_43_units_leave_for_headroom_which_is_never_mapped(void **state)
{
	struct slu_unit *spare;
	struct fixture f;

	fixture_init(&f, SLU_MODE_MAPPED, 100);
	fixture_in_ram(&f, 6);
	fixture_in_ram(&f, 4);
	spare = fixture_unit(&f, 5);
	spare->device_only = true;
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, spare), SLU_PEER_E_IN_RAM);
	slu_peer_turn_want_open(f.peer, f.now_ns, 0);
	fixture_step(&f);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.working_bytes, 5);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.min_bytes, 15);
	fixture_limit(&f, DEVICE0, 1, 10, 10, SLU_PACE_NOW);
	fixture_limit(&f, PINNED, 1, 50, 50, SLU_PACE_NOW);
	fixture_turn(&f, EPOCH(1));
	for (unsigned i = 0; i < 8 && !slu_peer_view_gate_is_open(f.peer, 0); i++) {
		fixture_finish_moves(&f);
		fixture_wait(&f, FIXTURE_ANSWER_NS);
		assert_int_not_equal(spare->place, SLU_PLACE_MAPPED);
	}
	assert_int_equal(spare->place, SLU_PLACE_DEVICE);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	assert_true(fixture_held(&f, PINNED) >= 6);
	fixture_deinit(&f);
}

static void a_mapped_unit_comes_in_when_a_turn_begins_with_free_bytes(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_MAPPED, 100);
	fixture_in_ram(&f, 4);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, PINNED, 1, 8, 8, SLU_PACE_NOW);
	/* it may still get device memory in this turn */
	assert_int_equal(f.n_moves, 0);
	fixture_limit(&f, DEVICE0, 1, 0, 0, SLU_PACE_NOW);
	fixture_finish_moves(&f);
	assert_int_equal(f.units[0].place, SLU_PLACE_MAPPED);
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, false);
	fixture_limit(&f, DEVICE0, 2, 4, 4, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 0);
	fixture_turn(&f, EPOCH(2));
	assert_int_equal(f.n_moves, 1);
	fixture_finish_moves(&f);
	assert_int_equal(f.units[0].place, SLU_PLACE_DEVICE);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

static void rule_13_a_refusal_is_retried_and_then_reported(void **state)
{
	struct fixture f;
	struct slu_peer_account_view view;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_in_ram(&f, 4);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 10, 10, SLU_PACE_NOW);
	for (unsigned i = 0; i < FIXTURE_RETRIES; i++) {
		fixture_moved(&f, &f.units[0], SLU_MOVE_REFUSED);
		assert_int_equal(f.n_moves, 0);
		assert_null(fixture_sums(&f, DEVICE0));
		assert_int_equal(fixture_held(&f, DEVICE0), 0);
		assert_int_equal(slu_peer_deadline_ns(f.peer), f.now_ns + FIXTURE_PAUSE_NS);
		fixture_wait(&f, FIXTURE_PAUSE_NS);
		assert_int_equal(f.n_moves, 1);
	}
	fixture_moved(&f, &f.units[0], SLU_MOVE_REFUSED);
	assert_int_equal(fixture_sums(&f, DEVICE0)->refused_bytes, 4);
	assert_int_equal(fixture_sums(&f, DEVICE0)->ceiling_bytes, 0);
	slu_peer_view_account(f.peer, DEVICE0, &view);
	assert_int_equal(view.limit_bytes, 0);
	fixture_wait(&f, FIXTURE_PAUSE_NS);
	assert_int_equal(f.n_moves, 0);
	fixture_deinit(&f);
}

static void rule_28_a_newer_limit_cancels_moves_under_way(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_in_ram(&f, 4);
	fixture_limit(&f, DEVICE0, 1, 4, 4, SLU_PACE_AHEAD);
	assert_int_equal(f.n_moves, 1);
	fixture_limit(&f, DEVICE0, 2, 0, 0, SLU_PACE_NOW);
	assert_true(f.units[0].cancel);
	fixture_moved(&f, &f.units[0], SLU_MOVE_CANCELLED);
	assert_int_equal(f.units[0].place, SLU_PLACE_RAM);
	assert_int_equal(fixture_sums(&f, DEVICE0)->held_bytes, 0);
	assert_int_equal(f.n_moves, 0);

	/* the other way round */
	fixture_limit(&f, DEVICE0, 3, 4, 4, SLU_PACE_AHEAD);
	fixture_finish_moves(&f);
	fixture_limit(&f, DEVICE0, 4, 0, 0, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	fixture_limit(&f, DEVICE0, 5, 4, 4, SLU_PACE_AHEAD);
	assert_true(f.units[0].cancel);
	fixture_moved(&f, &f.units[0], SLU_MOVE_CANCELLED);
	assert_int_equal(f.units[0].place, SLU_PLACE_DEVICE);
	fixture_deinit(&f);
}

static void nothing_comes_in_without_a_turn_or_pace_ahead(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_in_ram(&f, 4);
	fixture_limit(&f, DEVICE0, 1, 10, 10, SLU_PACE_NONE);
	assert_int_equal(f.n_moves, 0);
	fixture_limit(&f, DEVICE0, 2, 8, 8, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 0);
	fixture_limit(&f, DEVICE0, 3, 8, 8, SLU_PACE_AHEAD);
	assert_int_equal(f.n_moves, 1);
	fixture_deinit(&f);
}

static void a_failed_move_changes_nothing_and_is_tried_again(void **state)
{
	struct fixture f;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, false);
	fixture_limit(&f, DEVICE0, 2, 0, 0, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 2);
	fixture_moved(&f, f.moves[0], SLU_MOVE_FAILED);
	assert_int_equal(f.n_moves, 0);
	assert_int_equal(fixture_held(&f, DEVICE0), 10);
	fixture_wait(&f, FIXTURE_PAUSE_NS);
	assert_int_equal(f.n_moves, 1);
	fixture_deinit(&f);
}

/* A dead device fails every move: it is tried less and less often, but never given up. */
static void a_move_that_keeps_failing_is_tried_less_and_less_often(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_in_ram(&f, 4);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 4, 4, SLU_PACE_NOW);
	for (unsigned i = 0; i < 20; i++) {
		unsigned n_pauses = 0;

		assert_int_equal(f.n_moves, 1);
		fixture_moved(&f, f.moves[0], SLU_MOVE_FAILED);
		for (; !f.n_moves; n_pauses++)
			fixture_wait(&f, FIXTURE_PAUSE_NS);
		assert_int_equal(n_pauses, 1 << SLU_MIN(i, 7u));
	}
	fixture_moved(&f, f.moves[0], SLU_MOVE_DONE);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

static void pinned_chunks_are_given_up_when_the_limit_falls(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_limit(&f, PINNED, 1, 8, 8, SLU_PACE_NONE);
	assert_int_equal(slu_peer_account_stage(f.peer, f.now_ns, 8), 0);
	assert_false(slu_peer_account_must_unstage(f.peer));
	fixture_limit(&f, PINNED, 2, 4, 4, SLU_PACE_NONE);
	assert_true(slu_peer_account_must_unstage(f.peer));
	assert_int_equal(slu_peer_account_stage(f.peer, f.now_ns, 0), 0);
	assert_false(slu_peer_account_must_unstage(f.peer));
	fixture_deinit(&f);
}

static void rule_30_chunks_go_before_mapped_units(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_MAPPED, 100);
	fixture_in_ram(&f, 4);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 0, 0, SLU_PACE_NOW);
	fixture_limit(&f, PINNED, 1, 12, 12, SLU_PACE_NOW);
	assert_int_equal(slu_peer_account_stage(f.peer, f.now_ns, 8), 0);
	fixture_finish_moves(&f);
	assert_int_equal(f.units[0].place, SLU_PLACE_MAPPED);
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, false);

	/* bytes for the unit without the chunks */
	fixture_limit(&f, PINNED, 2, 4, 4, SLU_PACE_NONE);
	assert_int_equal(f.n_moves, 0);
	assert_true(slu_peer_account_must_unstage(f.peer));
	assert_int_equal(slu_peer_account_stage(f.peer, f.now_ns, 0), 0);
	fixture_step(&f);
	assert_int_equal(f.n_moves, 0);
	assert_int_equal(fixture_held(&f, PINNED), 4);
	fixture_deinit(&f);
}

static void rule_30_staging_needs_pinned_credit(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 0);
	assert_int_equal(slu_peer_account_stage(f.peer, f.now_ns, 4), SLU_PEER_E_WAIT);
	fixture_limit(&f, PINNED, 1, 4, 4, SLU_PACE_NONE);
	assert_int_equal(f.n_woken, 1);
	assert_int_equal(slu_peer_account_stage(f.peer, f.now_ns, 4), 0);
	assert_int_equal(fixture_held(&f, PINNED), 4);
	fixture_limit(&f, PINNED, 2, 0, 0, SLU_PACE_NONE);
	assert_true(fixture_sums(&f, PINNED)->is_final);
	assert_int_equal(fixture_sums(&f, PINNED)->floor_bytes, 4);
	assert_int_equal(slu_peer_account_stage(f.peer, f.now_ns, 0), 0);
	fixture_step(&f);
	assert_int_equal(fixture_sums(&f, PINNED)->held_bytes, 0);
	fixture_deinit(&f);
}

static void facts_are_reported_once_per_interval(void **state)
{
	struct fixture f;
	const struct slu_message *m;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_wait(&f, SLU_NS_PER_S);
	m = fixture_said(&f, SLU_MSG_FACTS);
	assert_non_null(m);
	assert_int_equal(m->facts.device_bytes, 10);
	assert_int_equal(m->facts.moved_in_bytes, 10);
	fixture_wait(&f, SLU_NS_PER_S);
	assert_int_equal(f.n_messages, 0);
	assert_int_equal(slu_peer_deadline_ns(f.peer), SLU_PEER_NEVER);

	/* a release inside the limit is slack that the daemon learns of a little later */
	slu_peer_alloc_released(f.peer, f.now_ns, &f.units[0]);
	fixture_step(&f);
	assert_int_equal(f.n_messages, 0);
	assert_int_equal(slu_peer_deadline_ns(f.peer), f.now_ns + 200 * SLU_NS_PER_MS);
	fixture_wait(&f, 200 * SLU_NS_PER_MS);
	assert_int_equal(fixture_sums(&f, DEVICE0)->held_bytes, 6);
	assert_int_equal(fixture_sums(&f, PAGEABLE)->held_bytes, 6);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.all_bytes, 6);
	assert_non_null(fixture_said(&f, SLU_MSG_FACTS));
	fixture_deinit(&f);
}

static void a_long_move_reports_its_parts_and_counts_once(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_init(&f, SLU_MODE_ALL, 100);
	u = fixture_in_ram(&f, 40);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 40, 40, SLU_PACE_NOW);
	assert_int_equal(u->moving, SLU_MOVING_IN);
	slu_peer_move_copied(f.peer, f.now_ns, u, 10);
	fixture_wait(&f, SLU_NS_PER_S);
	assert_int_equal(fixture_said(&f, SLU_MSG_FACTS)->facts.moved_in_bytes, 10);
	slu_peer_move_copied(f.peer, f.now_ns, u, 15);
	fixture_moved(&f, u, SLU_MOVE_DONE);
	fixture_wait(&f, SLU_NS_PER_S);
	assert_int_equal(fixture_said(&f, SLU_MSG_FACTS)->facts.moved_in_bytes, 40);
	fixture_deinit(&f);
}

static void moved_bytes_are_reported_when_the_last_unit_is_freed(void **state)
{
	struct fixture f;
	const struct slu_message *m;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	slu_peer_alloc_released(f.peer, f.now_ns, &f.units[0]);
	fixture_step(&f);
	assert_int_equal(f.n_messages, 0);
	slu_peer_alloc_released(f.peer, f.now_ns, &f.units[1]);
	fixture_step(&f);
	m = fixture_said(&f, SLU_MSG_FACTS);
	assert_non_null(m);
	assert_int_equal(m->facts.moved_in_bytes, 10);
	fixture_deinit(&f);
}

static void frozen_bytes_are_reported_with_their_reason(void **state)
{
	struct fixture f;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	slu_peer_alloc_freeze(f.peer, f.now_ns, &f.units[1], SLU_FROZEN_EXPORTED);
	fixture_wait(&f, SLU_NS_PER_S);
	assert_int_equal(fixture_said(&f, SLU_MSG_FACTS)->facts.frozen_bytes[SLU_FROZEN_EXPORTED],
			 6);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rule_8_bytes_that_cannot_leave_are_reported_as_final),
		cmocka_unit_test(rule_8_a_running_program_gives_nothing_and_reports_it),
		cmocka_unit_test(rule_11_only_the_shortfall_leaves),
		cmocka_unit_test(rule_12_a_unit_above_the_goal_is_mapped),
		cmocka_unit_test(rule_43_units_leave_for_headroom_which_is_never_mapped),
		cmocka_unit_test(a_mapped_unit_comes_in_when_a_turn_begins_with_free_bytes),
		cmocka_unit_test(rule_13_a_refusal_is_retried_and_then_reported),
		cmocka_unit_test(rule_28_a_newer_limit_cancels_moves_under_way),
		cmocka_unit_test(nothing_comes_in_without_a_turn_or_pace_ahead),
		cmocka_unit_test(a_failed_move_changes_nothing_and_is_tried_again),
		cmocka_unit_test(a_move_that_keeps_failing_is_tried_less_and_less_often),
		cmocka_unit_test(pinned_chunks_are_given_up_when_the_limit_falls),
		cmocka_unit_test(rule_30_chunks_go_before_mapped_units),
		cmocka_unit_test(rule_30_staging_needs_pinned_credit),
		cmocka_unit_test(facts_are_reported_once_per_interval),
		cmocka_unit_test(a_long_move_reports_its_parts_and_counts_once),
		cmocka_unit_test(moved_bytes_are_reported_when_the_last_unit_is_freed),
		cmocka_unit_test(frozen_bytes_are_reported_with_their_reason),
	};

	return cmocka_run_group_tests_name("peer-moves", tests, NULL, NULL);
}
