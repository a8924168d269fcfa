/* SPDX-License-Identifier: Apache-2.0 */

/* The client's half by script: limits, births, moves. Rules as in docs/protocol.md. */

#include "peer/test-fixture.h"

static const uint64_t two[] = { 4, 6 };

static void every_limit_is_answered_at_once(void **state)
{
	struct fixture f;
	const struct slu_msg_sums *s;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_limit(&f, DEVICE0, 5, 30, 30, SLU_PACE_NONE);
	s = fixture_sums(&f, DEVICE0);
	assert_non_null(s);
	assert_int_equal(s->seq, 5);
	assert_int_equal(s->ceiling_bytes, 30);
	assert_int_equal(s->held_bytes, 0);
	assert_false(s->is_final);
	fixture_limit(&f, PINNED, 1, 7, 7, SLU_PACE_NONE);
	assert_int_equal(fixture_sums(&f, PINNED)->ceiling_bytes, 7);
	fixture_deinit(&f);
}

static void rule_3_bytes_are_held_before_the_driver_is_asked(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_in_ram(&f, 4);
	fixture_limit(&f, DEVICE0, 1, 4, 4, SLU_PACE_AHEAD);
	assert_int_equal(f.n_moves, 1);
	assert_int_equal(fixture_held(&f, DEVICE0), 4);
	fixture_moved(&f, f.moves[0], SLU_MOVE_DONE);
	assert_int_equal(fixture_sums(&f, DEVICE0)->held_bytes, 4);

	/* and given up only after it has released them */
	fixture_limit(&f, DEVICE0, 2, 0, 0, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	assert_int_equal(fixture_sums(&f, DEVICE0)->ceiling_bytes, 4);
	assert_int_equal(fixture_held(&f, DEVICE0), 4);
	fixture_moved(&f, f.moves[0], SLU_MOVE_DONE);
	assert_int_equal(fixture_sums(&f, DEVICE0)->ceiling_bytes, 0);
	assert_int_equal(fixture_sums(&f, DEVICE0)->seq, 2);
	fixture_deinit(&f);
}

static void rule_4_a_birth_waits_for_its_home(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_init(&f, SLU_MODE_ALL, 0);
	u = fixture_unit(&f, 4);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.account.tier, SLU_TIER_HOME);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.all_bytes, 16 * 4);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.min_bytes, 4);
	fixture_step(&f);
	assert_null(fixture_said(&f, SLU_MSG_WANT));

	fixture_limit(&f, HOME, 1, 64, 64, SLU_PACE_NONE);
	assert_int_equal(f.n_woken, 1);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_IN_RAM);
	assert_int_equal(fixture_held(&f, HOME), 4);
	assert_int_equal(fixture_held(&f, DEVICE0), 0);

	/* the next fifteen send nothing */
	for (unsigned i = 0; i < 15 && f.n_units < FIXTURE_UNITS_MAX; i++) {
		fixture_in_ram(&f, 4);
		assert_int_equal(f.n_messages, 0);
	}
	fixture_deinit(&f);
}

static void rule_4_asking_ahead_is_not_denied_where_the_birth_is_not(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_init(&f, SLU_MODE_ALL, 0);
	u = fixture_unit(&f, 4);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_step(&f);
	fixture_deny(&f, HOME);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.all_bytes, 4);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_limit(&f, HOME, 1, 4, 4, SLU_PACE_NONE);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_IN_RAM);

	u = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_step(&f);
	fixture_deny(&f, HOME);
	fixture_deny(&f, HOME);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_DENIED);
	fixture_deinit(&f);
}

static void rule_5_an_allocation_in_a_turn_spends_credit_without_a_message(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_limit(&f, DEVICE0, 2, 20, 20, SLU_PACE_NONE);
	u = fixture_unit(&f, 7);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), 0);
	fixture_step(&f);
	assert_int_equal(f.n_messages, 0);
	assert_int_equal(fixture_held(&f, DEVICE0), 17);
	assert_int_equal(u->place, SLU_PLACE_DEVICE);

	/* used up: it waits while the gate stays open, and the need is told */
	u = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.all_bytes, 22);
	assert_true(slu_peer_gate_is_open(f.peer, 0));
	fixture_limit(&f, DEVICE0, 3, 22, 22, SLU_PACE_NOW);
	assert_int_equal(f.n_woken, 1);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), 0);
	fixture_deinit(&f);
}

static void rule_6_a_birth_whose_turn_is_closed_is_born_in_ram(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	u = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_close(&f, EPOCH(1));
	/* a thread may still be inside: nothing may be missing yet */
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_drained(&f, false);
	assert_int_equal(f.n_woken, 1);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_IN_RAM);
	assert_int_equal(fixture_held(&f, DEVICE0), 10);
	fixture_deinit(&f);
}

static void rule_7_what_a_program_may_own_is_bounded(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_welcome(&f, 10);
	fixture_in_ram(&f, 6);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, fixture_unit(&f, 5)), SLU_PEER_E_DENIED);
	fixture_in_ram(&f, 4);
	fixture_deinit(&f);
}

static void rule_7_a_denied_allocation_fails(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	u = fixture_unit(&f, 50);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_step(&f);
	fixture_deny(&f, DEVICE0);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_DENIED);
	fixture_step(&f);
	assert_null(fixture_said(&f, SLU_MSG_WANT));
	fixture_deinit(&f);
}

static void rule_8_what_cannot_leave_is_told_as_final(void **state)
{
	struct fixture f;
	struct slu_unit *frozen;
	const struct slu_msg_sums *s;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	frozen = fixture_unit(&f, 3);
	frozen->frozen = SLU_FROZEN_MODULE;
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, frozen), 0);
	fixture_step(&f);
	assert_int_equal(fixture_sums(&f, DEVICE0)->ceiling_bytes, 13);
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, false);
	assert_int_equal(fixture_said(&f, SLU_MSG_REST)->rest.floor_bytes, 3);
	assert_int_equal(f.n_moves, 1); /* the frozen one came on top of the limit */
	fixture_limit(&f, DEVICE0, 2, 0, 0, SLU_PACE_NOW);
	assert_false(fixture_sums(&f, DEVICE0)->is_final);
	assert_int_equal(f.n_moves, 1);
	fixture_moved(&f, &f.units[0], SLU_MOVE_DONE);
	fixture_moved(&f, &f.units[1], SLU_MOVE_DONE);
	s = fixture_sums(&f, DEVICE0);
	assert_true(s->is_final);
	assert_int_equal(s->held_bytes, 3);
	assert_int_equal(s->floor_bytes, 3);

	/* the limit stays in force: met as soon as it can be */
	slu_peer_freeze(f.peer, f.now_ns, frozen, SLU_FROZEN_NO);
	fixture_step(&f);
	assert_int_equal(f.n_moves, 1);
	fixture_deinit(&f);
}

static void rule_8_a_runner_gives_nothing_and_says_so(void **state)
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
	assert_int_equal(f.n_moves, 2); /* both at once, and the second one counts on the first */
	fixture_settle(&f);
	assert_int_equal(fixture_held(&f, DEVICE0), 4);
	fixture_deinit(&f);
}

static void rule_12_what_is_above_the_goal_is_mapped(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_MAPPED, 100);
	fixture_in_ram(&f, 4);
	fixture_in_ram(&f, 4);
	fixture_turn(&f, EPOCH(1));
	/* the goal promises room for both: the second one waits */
	fixture_limit(&f, DEVICE0, 1, 4, 8, SLU_PACE_NOW);
	fixture_moved(&f, f.moves[0], SLU_MOVE_DONE);
	fixture_limit(&f, PINNED, 1, 8, 8, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 0);
	assert_false(slu_peer_gate_is_open(f.peer, 0));
	/* it fell: the second one is mapped */
	fixture_limit(&f, DEVICE0, 2, 4, 4, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	assert_int_equal(f.moves[0]->moving, SLU_MOVING_MAP);
	assert_int_equal(fixture_held(&f, PINNED), 4);
	fixture_moved(&f, f.moves[0], SLU_MOVE_DONE);
	assert_true(slu_peer_gate_is_open(f.peer, 0));
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

static void a_mapped_unit_comes_home_when_a_turn_begins_with_room(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_MAPPED, 100);
	fixture_in_ram(&f, 4);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, PINNED, 1, 8, 8, SLU_PACE_NOW);
	fixture_settle(&f);
	assert_int_equal(f.units[0].place, SLU_PLACE_MAPPED);
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, false);
	fixture_limit(&f, DEVICE0, 1, 4, 4, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 0);
	fixture_turn(&f, EPOCH(2));
	assert_int_equal(f.n_moves, 1);
	fixture_settle(&f);
	assert_int_equal(f.units[0].place, SLU_PLACE_DEVICE);
	assert_true(slu_peer_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

static void a_birth_above_the_goal_shuts_the_gate_and_is_mapped(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_running(&f, SLU_MODE_MAPPED, two, 2);
	fixture_limit(&f, PINNED, 1, 8, 8, SLU_PACE_NOW);
	u = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_step(&f);
	/* the daemon did not know of it; it might raise the goal */
	assert_non_null(fixture_said(&f, SLU_MSG_WANT));
	assert_int_equal(f.n_shut, 0);
	fixture_wait(&f, FIXTURE_ANSWER_NS);
	assert_int_equal(f.n_shut, 1);
	fixture_drained(&f, false);
	assert_null(fixture_said(&f, SLU_MSG_REST));
	assert_int_equal(f.n_opened, 0);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_IN_RAM);
	fixture_step(&f);
	assert_int_equal(f.n_moves, 1);
	assert_int_equal(u->moving, SLU_MOVING_MAP);
	fixture_moved(&f, u, SLU_MOVE_DONE);
	assert_true(slu_peer_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

static void rule_13_a_refusal_is_retried_and_then_told(void **state)
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

static void rule_13_a_refused_birth_is_retried_and_then_told(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_limit(&f, DEVICE0, 2, 30, 30, SLU_PACE_NONE);
	u = fixture_unit(&f, 5);
	for (unsigned i = 0; i <= FIXTURE_RETRIES; i++) {
		assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), 0);
		slu_peer_refused_birth(f.peer, f.now_ns, u);
		assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
		fixture_step(&f);
		if (i < FIXTURE_RETRIES)
			assert_null(fixture_sums(&f, DEVICE0));
		else
			assert_int_equal(fixture_sums(&f, DEVICE0)->refused_bytes, 5);
		fixture_wait(&f, FIXTURE_PAUSE_NS);
		assert_int_equal(f.n_woken, 1);
	}
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	assert_int_equal(fixture_held(&f, DEVICE0), 10);
	fixture_deinit(&f);
}

static void a_refused_birth_without_a_daemon_fails(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_init(&f, SLU_MODE_ALL, 0);
	slu_peer_lost(f.peer, f.now_ns);
	slu_peer_run_alone(f.peer, f.now_ns, true);
	fixture_step(&f);
	u = fixture_unit(&f, 5);
	for (unsigned i = 0; i <= FIXTURE_RETRIES; i++) {
		assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), 0);
		slu_peer_refused_birth(f.peer, f.now_ns, u);
		fixture_wait(&f, FIXTURE_PAUSE_NS);
	}
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), SLU_PEER_E_DENIED);
	fixture_deinit(&f);
}

static void born_alone_a_unit_without_a_home_gets_one_later(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_init(&f, SLU_MODE_ALL, 0);
	slu_peer_lost(f.peer, f.now_ns);
	slu_peer_run_alone(f.peer, f.now_ns, true);
	fixture_step(&f);
	u = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_born(f.peer, f.now_ns, u), 0);
	assert_int_equal(u->frozen, SLU_FROZEN_NO_HOME);
	slu_peer_connected(f.peer, f.now_ns);
	fixture_step(&f);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.account.tier, SLU_TIER_HOME);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.all_bytes, 5);
	fixture_limit(&f, HOME, 1, 5, 5, SLU_PACE_NONE);
	assert_int_equal(u->frozen, SLU_FROZEN_NO);
	assert_int_equal(fixture_held(&f, HOME), 5);
	fixture_deinit(&f);
}

static void rule_28_a_newer_limit_cancels_what_is_under_way(void **state)
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
	fixture_settle(&f);
	fixture_limit(&f, DEVICE0, 4, 0, 0, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	fixture_limit(&f, DEVICE0, 5, 4, 4, SLU_PACE_AHEAD);
	assert_true(f.units[0].cancel);
	fixture_moved(&f, &f.units[0], SLU_MOVE_CANCELLED);
	assert_int_equal(f.units[0].place, SLU_PLACE_DEVICE);
	fixture_deinit(&f);
}

static void nothing_comes_in_without_turn_or_ahead(void **state)
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

/* A device that has died fails every move: it is asked less and less often, but asked. */
static void a_move_that_fails_again_and_again_is_tried_ever_less_often(void **state)
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
	assert_true(slu_peer_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

static void pinned_chunks_are_given_up_when_the_limit_falls(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_limit(&f, PINNED, 1, 8, 8, SLU_PACE_NONE);
	assert_int_equal(slu_peer_stage(f.peer, f.now_ns, 8), 0);
	assert_false(slu_peer_must_unstage(f.peer));
	fixture_limit(&f, PINNED, 2, 4, 4, SLU_PACE_NONE);
	assert_true(slu_peer_must_unstage(f.peer));
	assert_int_equal(slu_peer_stage(f.peer, f.now_ns, 0), 0);
	assert_false(slu_peer_must_unstage(f.peer));
	fixture_deinit(&f);
}

static void rule_29_a_command_exchanges_units_inside_its_window(void **state)
{
	struct fixture f;
	struct slu_unit *first[1], *second[2];

	fixture_init(&f, SLU_MODE_LAUNCH, 100);
	first[0] = fixture_in_ram(&f, 6);
	second[0] = fixture_in_ram(&f, 5);
	second[1] = fixture_in_ram(&f, 3);
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, first, 1), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.min_bytes, 6);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.all_bytes, 14);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 9, 9, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	assert_ptr_equal(f.moves[0], first[0]);
	fixture_moved(&f, first[0], SLU_MOVE_DONE);
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, first, 1), 0);

	/* while it is named it stays */
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, second, 2), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(f.n_moves, 1);
	assert_ptr_equal(f.moves[0], second[1]);
	fixture_moved(&f, second[1], SLU_MOVE_DONE);
	assert_int_equal(f.n_moves, 0);
	/* the daemon hears first that more is wanted than it knew; it might give it */
	slu_peer_unname(f.peer, first, 1);
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
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, second, 2), 0);
	slu_peer_unname(f.peer, second, 2);
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
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, second, 1), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(f.n_moves, 0);
	assert_non_null(fixture_said(&f, SLU_MSG_WANT));
	fixture_limit(&f, DEVICE0, 2, 11, 11, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	assert_ptr_equal(f.moves[0], second[0]);
	fixture_moved(&f, second[0], SLU_MOVE_DONE);
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, second, 1), 0);
	assert_int_equal(fixture_held(&f, DEVICE0), 11);
	slu_peer_unname(f.peer, second, 1);
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

static void rule_20_the_working_set_is_what_was_named_in_the_last_moments(void **state)
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

	/* in a turn what is not named any more does */
	fixture_wait(&f, SLU_NS_PER_S + 200 * SLU_NS_PER_MS);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.working_bytes, 8);

	/* but what was named in this turn stays, however long it lasts */
	fixture_wait(&f, 60 * SLU_NS_PER_S);
	assert_int_equal(fixture_command(&f, &last, 1), 0);
	fixture_wait(&f, 200 * SLU_NS_PER_MS);
	assert_null(fixture_said(&f, SLU_MSG_WANT));

	slu_peer_gone(f.peer, f.now_ns, last);
	fixture_wait(&f, 200 * SLU_NS_PER_MS);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.working_bytes, 0);
	fixture_deinit(&f);
}

static void rule_20_a_small_change_of_the_working_set_is_not_told(void **state)
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
	fixture_settle(&f);
	assert_int_equal(fixture_held(&f, DEVICE0), 0);

	fixture_limit(&f, DEVICE0, 3, 16, 32, SLU_PACE_AHEAD);
	fixture_settle(&f);
	assert_int_equal(f.units[2].place, SLU_PLACE_DEVICE);
	assert_int_equal(f.units[1].place, SLU_PLACE_DEVICE);
	assert_int_equal(f.units[0].place, SLU_PLACE_RAM);
	fixture_limit(&f, DEVICE0, 4, 32, 32, SLU_PACE_AHEAD);
	fixture_settle(&f);
	assert_int_equal(f.units[0].place, SLU_PLACE_DEVICE);
	assert_int_equal(f.units[3].place, SLU_PLACE_RAM); /* nobody ever named it */
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
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, both, 2), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.min_bytes, 11);
	fixture_deny(&f, DEVICE0);
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, both, 2), SLU_PEER_E_DENIED);
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
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, a, 1), SLU_PEER_E_WAIT);
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, b, 1), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_ptr_equal(f.moves[0], a[0]);
	fixture_moved(&f, a[0], SLU_MOVE_DONE);
	assert_int_equal(f.n_moves, 0);
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, a, 1), 0);
	slu_peer_unname(f.peer, a, 1);
	fixture_step(&f);
	assert_int_equal(f.n_woken, 1);
	assert_int_equal(slu_peer_name(f.peer, f.now_ns, 0, b, 1), SLU_PEER_E_WAIT);
	fixture_step(&f);
	fixture_wait(&f, 20 * SLU_NS_PER_MS); /* the daemon had its chance to give more */
	assert_int_equal(f.n_moves, 1);
	assert_ptr_equal(f.moves[0], a[0]);
	fixture_moved(&f, a[0], SLU_MOVE_BLOCKED);
	assert_int_equal(f.n_moves, 0);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.min_bytes, 12);
	slu_peer_forget_command(f.peer, f.now_ns, 0, b, 1);
	fixture_deinit(&f);
}

static void rule_30_staging_needs_pinned_credit(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 0);
	assert_int_equal(slu_peer_stage(f.peer, f.now_ns, 4), SLU_PEER_E_WAIT);
	fixture_limit(&f, PINNED, 1, 4, 4, SLU_PACE_NONE);
	assert_int_equal(f.n_woken, 1);
	assert_int_equal(slu_peer_stage(f.peer, f.now_ns, 4), 0);
	assert_int_equal(fixture_held(&f, PINNED), 4);
	fixture_limit(&f, PINNED, 2, 0, 0, SLU_PACE_NONE);
	assert_true(fixture_sums(&f, PINNED)->is_final);
	assert_int_equal(fixture_sums(&f, PINNED)->floor_bytes, 4);
	assert_int_equal(slu_peer_stage(f.peer, f.now_ns, 0), 0);
	fixture_step(&f);
	assert_int_equal(fixture_sums(&f, PINNED)->held_bytes, 0);
	fixture_deinit(&f);
}

static void facts_are_told_now_and_then(void **state)
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

	/* a free inside the limit is slack that the daemon learns of a little later */
	slu_peer_gone(f.peer, f.now_ns, &f.units[0]);
	fixture_step(&f);
	assert_int_equal(f.n_messages, 0);
	assert_int_equal(slu_peer_deadline_ns(f.peer), f.now_ns + 200 * SLU_NS_PER_MS);
	fixture_wait(&f, 200 * SLU_NS_PER_MS);
	assert_int_equal(fixture_sums(&f, DEVICE0)->held_bytes, 6);
	assert_int_equal(fixture_sums(&f, HOME)->held_bytes, 6);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.all_bytes, 6);
	assert_non_null(fixture_said(&f, SLU_MSG_FACTS));
	fixture_deinit(&f);
}

static void frozen_bytes_are_told_with_their_reason(void **state)
{
	struct fixture f;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	slu_peer_freeze(f.peer, f.now_ns, &f.units[1], SLU_FROZEN_EXPORTED);
	fixture_wait(&f, SLU_NS_PER_S);
	assert_int_equal(fixture_said(&f, SLU_MSG_FACTS)->facts.frozen_bytes[SLU_FROZEN_EXPORTED],
			 6);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_limit_is_answered_at_once),
		cmocka_unit_test(rule_3_bytes_are_held_before_the_driver_is_asked),
		cmocka_unit_test(rule_4_a_birth_waits_for_its_home),
		cmocka_unit_test(rule_4_asking_ahead_is_not_denied_where_the_birth_is_not),
		cmocka_unit_test(rule_5_an_allocation_in_a_turn_spends_credit_without_a_message),
		cmocka_unit_test(rule_6_a_birth_whose_turn_is_closed_is_born_in_ram),
		cmocka_unit_test(rule_7_what_a_program_may_own_is_bounded),
		cmocka_unit_test(rule_7_a_denied_allocation_fails),
		cmocka_unit_test(rule_8_what_cannot_leave_is_told_as_final),
		cmocka_unit_test(rule_8_a_runner_gives_nothing_and_says_so),
		cmocka_unit_test(rule_11_only_the_shortfall_leaves),
		cmocka_unit_test(rule_12_what_is_above_the_goal_is_mapped),
		cmocka_unit_test(a_mapped_unit_comes_home_when_a_turn_begins_with_room),
		cmocka_unit_test(a_birth_above_the_goal_shuts_the_gate_and_is_mapped),
		cmocka_unit_test(rule_13_a_refusal_is_retried_and_then_told),
		cmocka_unit_test(rule_13_a_refused_birth_is_retried_and_then_told),
		cmocka_unit_test(a_refused_birth_without_a_daemon_fails),
		cmocka_unit_test(born_alone_a_unit_without_a_home_gets_one_later),
		cmocka_unit_test(rule_28_a_newer_limit_cancels_what_is_under_way),
		cmocka_unit_test(nothing_comes_in_without_turn_or_ahead),
		cmocka_unit_test(a_failed_move_changes_nothing_and_is_tried_again),
		cmocka_unit_test(a_move_that_fails_again_and_again_is_tried_ever_less_often),
		cmocka_unit_test(pinned_chunks_are_given_up_when_the_limit_falls),
		cmocka_unit_test(rule_29_a_command_exchanges_units_inside_its_window),
		cmocka_unit_test(rule_29_a_window_that_grows_is_not_emptied),
		cmocka_unit_test(rule_20_the_working_set_is_what_was_named_in_the_last_moments),
		cmocka_unit_test(rule_20_a_small_change_of_the_working_set_is_not_told),
		cmocka_unit_test(rule_28_ahead_brings_in_the_working_set_most_recent_first),
		cmocka_unit_test(rule_29_a_window_that_is_too_small_is_a_wish),
		cmocka_unit_test(a_second_command_waits_for_the_one_in_front),
		cmocka_unit_test(rule_30_staging_needs_pinned_credit),
		cmocka_unit_test(facts_are_told_now_and_then),
		cmocka_unit_test(frozen_bytes_are_told_with_their_reason),
	};

	return cmocka_run_group_tests_name("peer-bytes", tests, NULL, NULL);
}
