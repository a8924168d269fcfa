/* SPDX-License-Identifier: Apache-2.0 */

/* The client's half by script: limits, and units that are allocated under them. Rules as in
 * docs/protocol.md. */

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

	/* and are given up only after the driver released them */
	fixture_limit(&f, DEVICE0, 2, 0, 0, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	assert_int_equal(fixture_sums(&f, DEVICE0)->ceiling_bytes, 4);
	assert_int_equal(fixture_held(&f, DEVICE0), 4);
	fixture_moved(&f, f.moves[0], SLU_MOVE_DONE);
	assert_int_equal(fixture_sums(&f, DEVICE0)->ceiling_bytes, 0);
	assert_int_equal(fixture_sums(&f, DEVICE0)->seq, 2);
	fixture_deinit(&f);
}

static void rule_4_an_allocation_waits_for_its_backing(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_init(&f, SLU_MODE_ALL, 0);
	u = fixture_unit(&f, 4);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.account.tier, SLU_TIER_PAGEABLE);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.all_bytes, 16 * 4);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.min_bytes, 4);
	fixture_step(&f);
	assert_null(fixture_said(&f, SLU_MSG_WANT));

	fixture_limit(&f, PAGEABLE, 1, 64, 64, SLU_PACE_NONE);
	assert_int_equal(f.n_woken, 1);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_IN_RAM);
	assert_int_equal(fixture_held(&f, PAGEABLE), 4);
	assert_int_equal(fixture_held(&f, DEVICE0), 0);

	/* the next fifteen send nothing */
	for (unsigned i = 0; i < 15 && f.n_units < FIXTURE_UNITS_MAX; i++) {
		fixture_in_ram(&f, 4);
		assert_int_equal(f.n_messages, 0);
	}
	fixture_deinit(&f);
}

static void rule_4_a_denied_request_ahead_does_not_deny_the_allocation(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_init(&f, SLU_MODE_ALL, 0);
	u = fixture_unit(&f, 4);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_step(&f);
	fixture_deny(&f, PAGEABLE);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.all_bytes, 4);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_limit(&f, PAGEABLE, 1, 4, 4, SLU_PACE_NONE);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_IN_RAM);

	u = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_step(&f);
	fixture_deny(&f, PAGEABLE);
	fixture_deny(&f, PAGEABLE);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_DENIED);
	fixture_deinit(&f);
}

static void rule_5_an_allocation_in_a_turn_spends_credit_without_a_message(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_limit(&f, DEVICE0, 2, 20, 20, SLU_PACE_NONE);
	u = fixture_unit(&f, 7);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), 0);
	fixture_step(&f);
	assert_int_equal(f.n_messages, 0);
	assert_int_equal(fixture_held(&f, DEVICE0), 17);
	assert_int_equal(u->place, SLU_PLACE_DEVICE);

	/* used up: the allocation waits while the gate stays open, and WANT reports the need */
	u = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.all_bytes, 22);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	fixture_limit(&f, DEVICE0, 3, 22, 22, SLU_PACE_NOW);
	assert_int_equal(f.n_woken, 1);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), 0);
	fixture_deinit(&f);
}

static void rule_6_an_allocation_whose_turn_is_closed_is_allocated_in_ram(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	u = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_close(&f, EPOCH(1));
	/* a thread may still be inside: no unit may be missing yet */
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_drained(&f, false);
	assert_int_equal(f.n_woken, 1);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_IN_RAM);
	assert_int_equal(fixture_held(&f, DEVICE0), 10);
	fixture_deinit(&f);
}

static void rule_7_a_program_may_own_a_bounded_amount(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_welcome(&f, 10);
	fixture_in_ram(&f, 6);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, fixture_unit(&f, 5)), SLU_PEER_E_DENIED);
	fixture_in_ram(&f, 4);
	fixture_deinit(&f);
}

static void rule_7_memory_kept_free_for_the_driver_is_not_the_programs(void **state)
{
	struct slu_unit *spare;
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_welcome(&f, 10);
	fixture_in_ram(&f, 6);
	spare = fixture_unit(&f, 20);
	spare->device_only = true;
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, spare), SLU_PEER_E_IN_RAM);
	fixture_in_ram(&f, 4);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, fixture_unit(&f, 1)), SLU_PEER_E_DENIED);
	slu_peer_alloc_released(f.peer, f.now_ns, spare);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, fixture_unit(&f, 1)), SLU_PEER_E_DENIED);
	fixture_deinit(&f);
}

static void rule_7_an_excess_is_reported_at_most_once_a_second(void **state)
{
	struct slu_message m = {
		.welcome = { .version = SLU_WIRE_VERSION, .generation = 7, .visible_bytes = 10 }
	};
	const struct slu_message *said;
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_welcome(&f, 10);
	fixture_in_ram(&f, 6);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, fixture_unit(&f, 5)), SLU_PEER_E_DENIED);
	fixture_step(&f);
	assert_null(fixture_said(&f, SLU_MSG_EXCESS));

	m.welcome.hears = SLU_HEARS_EXCESS;
	fixture_hear(&f, SLU_MSG_WELCOME, &m);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, fixture_unit(&f, 5)), SLU_PEER_E_DENIED);
	fixture_step(&f);
	said = fixture_said(&f, SLU_MSG_EXCESS);
	assert_non_null(said);
	assert_int_equal(said->excess.asked_bytes, 5);
	assert_int_equal(said->excess.owned_bytes, 6);
	assert_int_equal(said->excess.visible_bytes, 10);

	f.now_ns += SLU_NS_PER_S - 1;
	slu_peer_alloc_exceeds(f.peer, f.now_ns, 0, 7, 6, 10);
	fixture_step(&f);
	assert_null(fixture_said(&f, SLU_MSG_EXCESS));
	f.now_ns++;
	slu_peer_alloc_exceeds(f.peer, f.now_ns, 0, 8, 9, 10);
	fixture_step(&f);
	assert_int_equal(fixture_said(&f, SLU_MSG_EXCESS)->excess.asked_bytes, 8);
	assert_int_equal(fixture_said(&f, SLU_MSG_EXCESS)->excess.owned_bytes, 9);
	fixture_deinit(&f);
}

static void rule_7_a_denied_allocation_fails(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	u = fixture_unit(&f, 50);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_step(&f);
	fixture_deny(&f, DEVICE0);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_DENIED);
	fixture_step(&f);
	assert_null(fixture_said(&f, SLU_MSG_WANT));
	fixture_deinit(&f);
}

static void rule_7_an_allocation_back_to_a_denied_need_fails_at_once(void **state)
{
	struct fixture f;
	struct slu_unit *u, *v;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 200);
	fixture_in_ram(&f, 30);
	u = fixture_in_ram(&f, 10);
	slu_peer_turn_want_open(f.peer, f.now_ns, 0);
	fixture_step(&f);
	fixture_deny(&f, DEVICE0);
	v = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, v), SLU_PEER_E_DENIED);
	assert_true(slu_peer_alloc_is_unfit(f.peer, f.now_ns, 0, 0));

	/* a cache gives something up, and the next allocation leads to less than what was denied */
	slu_peer_alloc_released(f.peer, f.now_ns, u);
	assert_false(slu_peer_alloc_is_unfit(f.peer, f.now_ns, 0, 0));
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, v), SLU_PEER_E_IN_RAM);
	u = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_DENIED);

	/* the daemon gives as much after all */
	fixture_limit(&f, DEVICE0, 1, 40, 40, SLU_PACE_AHEAD);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_IN_RAM);
	fixture_deinit(&f);
}

static void rule_7_a_denial_says_what_is_possible(void **state)
{
	struct slu_message m = { .deny = { .account = DEVICE0, .bytes = 34 } };
	struct fixture f;
	struct slu_unit *u;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 200);
	u = fixture_in_ram(&f, 10);
	fixture_in_ram(&f, 30);
	slu_peer_turn_want_open(f.peer, f.now_ns, 0);
	fixture_step(&f);
	fixture_hear(&f, SLU_MSG_DENY, &m);
	slu_peer_alloc_released(f.peer, f.now_ns, u);
	u = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_DENIED);
	u = fixture_unit(&f, 4);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_IN_RAM);
	assert_false(slu_peer_alloc_is_unfit(f.peer, f.now_ns, 0, 0));
	fixture_deinit(&f);
}

static void rule_7_a_denied_need_is_asked_for_again_later(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 200);
	fixture_in_ram(&f, 30);
	slu_peer_turn_want_open(f.peer, f.now_ns, 0);
	fixture_step(&f);
	fixture_deny(&f, DEVICE0);
	u = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_DENIED);
	fixture_wait(&f, 10 * SLU_NS_PER_S);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_IN_RAM);
	fixture_deinit(&f);
}

static void an_allocation_above_the_goal_shuts_the_gate_and_is_mapped(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_running(&f, SLU_MODE_MAPPED, two, 2);
	fixture_limit(&f, PINNED, 1, 8, 8, SLU_PACE_NOW);
	u = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_step(&f);
	/* the daemon did not know of it and might raise the goal */
	assert_non_null(fixture_said(&f, SLU_MSG_WANT));
	assert_int_equal(f.n_shut, 0);
	fixture_wait(&f, FIXTURE_ANSWER_NS);
	assert_int_equal(f.n_shut, 1);
	fixture_drained(&f, false);
	assert_null(fixture_said(&f, SLU_MSG_REST));
	assert_int_equal(f.n_opened, 0);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_IN_RAM);
	fixture_step(&f);
	assert_int_equal(f.n_moves, 1);
	assert_int_equal(u->moving, SLU_MOVING_MAP);
	fixture_moved(&f, u, SLU_MOVE_DONE);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

static void rule_13_a_refused_allocation_is_retried_and_then_reported(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_limit(&f, DEVICE0, 2, 30, 30, SLU_PACE_NONE);
	u = fixture_unit(&f, 5);
	for (unsigned i = 0; i <= FIXTURE_RETRIES; i++) {
		assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), 0);
		slu_peer_alloc_refused(f.peer, f.now_ns, u);
		assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
		fixture_step(&f);
		if (i < FIXTURE_RETRIES)
			assert_null(fixture_sums(&f, DEVICE0));
		else
			assert_int_equal(fixture_sums(&f, DEVICE0)->refused_bytes, 5);
		fixture_wait(&f, FIXTURE_PAUSE_NS);
		assert_int_equal(f.n_woken, 1);
	}
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	assert_int_equal(fixture_held(&f, DEVICE0), 10);
	fixture_deinit(&f);
}

static void a_failed_allocation_is_tried_again_and_reports_no_refusal(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_limit(&f, DEVICE0, 2, 30, 30, SLU_PACE_NONE);
	u = fixture_unit(&f, 5);
	for (unsigned i = 0; i < 2 * FIXTURE_RETRIES; i++) {
		assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), 0);
		slu_peer_alloc_failed(f.peer, f.now_ns, u);
		assert_int_equal(fixture_held(&f, DEVICE0), 10);
		assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
		fixture_step(&f);
		assert_null(fixture_sums(&f, DEVICE0));
		fixture_wait(&f, FIXTURE_PAUSE_NS);
		assert_int_equal(f.n_woken, 1);
	}
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), 0);
	assert_int_equal(fixture_held(&f, DEVICE0), 15);
	fixture_deinit(&f);
}

/* The step that would end the pause comes after the request: it would wake no thread. */
static void an_allocation_after_the_pause_does_not_wait(void **state)
{
	for (unsigned is_alone = 0; is_alone < 2; is_alone++) {
		struct fixture f;
		struct slu_unit *u;

		fixture_running(&f, SLU_MODE_ALL, two, 2);
		fixture_limit(&f, DEVICE0, 2, 30, 30, SLU_PACE_NONE);
		if (is_alone) {
			slu_peer_connection_lost(f.peer, f.now_ns);
			slu_peer_alone_run(f.peer, f.now_ns, true);
			fixture_step(&f);
		}
		u = fixture_unit(&f, 5);
		assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), 0);
		slu_peer_alloc_failed(f.peer, f.now_ns, u);
		fixture_step(&f);
		f.now_ns += FIXTURE_PAUSE_NS - 1;
		assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
		f.now_ns++;
		assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), 0);
		fixture_deinit(&f);
	}
}

static void rule_13_a_unit_without_its_memory_comes_in_again_for_its_command(void **state)
{
	struct slu_unit *u;
	struct fixture f;

	fixture_init(&f, SLU_MODE_LAUNCH, 100);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 30, 30, SLU_PACE_NONE);
	u = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_turn_want_open(f.peer, f.now_ns, 0), 0);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), 0);
	fixture_step(&f);
	slu_peer_move_unmake(f.peer, u);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, &u, 1), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(f.n_moves, 0);
	slu_peer_move_unmade(f.peer, f.now_ns, u);
	assert_int_equal(u->place, SLU_PLACE_RAM);
	assert_int_equal(fixture_held(&f, DEVICE0), 0);
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, &u, 1), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(f.n_moves, 0); /* as after every refusal */
	fixture_wait(&f, FIXTURE_PAUSE_NS);
	assert_int_equal(f.n_moves, 1);
	assert_int_equal(u->moving, SLU_MOVING_IN);
	for (unsigned i = 1; i < FIXTURE_RETRIES; i++) {
		fixture_moved(&f, u, SLU_MOVE_REFUSED);
		assert_null(fixture_sums(&f, DEVICE0));
		fixture_wait(&f, FIXTURE_PAUSE_NS);
	}
	fixture_moved(&f, u, SLU_MOVE_REFUSED); /* the refusal at the start counts as well */
	assert_int_equal(fixture_sums(&f, DEVICE0)->refused_bytes, 5);
	fixture_deinit(&f);
}

static void a_refused_allocation_without_a_daemon_fails(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_init(&f, SLU_MODE_ALL, 0);
	slu_peer_connection_lost(f.peer, f.now_ns);
	slu_peer_alone_run(f.peer, f.now_ns, true);
	fixture_step(&f);
	u = fixture_unit(&f, 5);
	for (unsigned i = 0; i <= FIXTURE_RETRIES; i++) {
		assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), 0);
		slu_peer_alloc_refused(f.peer, f.now_ns, u);
		fixture_wait(&f, FIXTURE_PAUSE_NS);
	}
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_DENIED);
	fixture_deinit(&f);
}

static void rule_5_in_mode_launch_no_allocation_waits_for_credit(void **state)
{
	struct slu_unit *late[1];
	struct fixture f;

	fixture_init(&f, SLU_MODE_LAUNCH, 100);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 10, 10, SLU_PACE_NOW);
	fixture_on_device(&f, 4);
	assert_int_equal(fixture_held(&f, DEVICE0), 4);
	assert_null(fixture_said(&f, SLU_MSG_WANT));
	late[0] = fixture_in_ram(&f, 8);

	/* the rest is for the command that waits */
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, late, 1), SLU_PEER_E_WAIT);
	fixture_in_ram(&f, 2);
	fixture_deinit(&f);
}

static void allocated_alone_a_unit_without_backing_gets_it_later(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_init(&f, SLU_MODE_ALL, 0);
	slu_peer_connection_lost(f.peer, f.now_ns);
	slu_peer_alone_run(f.peer, f.now_ns, true);
	fixture_step(&f);
	u = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), 0);
	assert_int_equal(u->frozen, SLU_FROZEN_NO_BACKING);
	slu_peer_connection_made(f.peer, f.now_ns);
	fixture_step(&f);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.account.tier, SLU_TIER_PAGEABLE);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.all_bytes, 5);
	fixture_limit(&f, PAGEABLE, 1, 5, 5, SLU_PACE_NONE);
	assert_int_equal(u->frozen, SLU_FROZEN_NO);
	assert_int_equal(fixture_held(&f, PAGEABLE), 5);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_limit_is_answered_at_once),
		cmocka_unit_test(rule_3_bytes_are_held_before_the_driver_is_asked),
		cmocka_unit_test(rule_4_an_allocation_waits_for_its_backing),
		cmocka_unit_test(rule_4_a_denied_request_ahead_does_not_deny_the_allocation),
		cmocka_unit_test(rule_5_an_allocation_in_a_turn_spends_credit_without_a_message),
		cmocka_unit_test(rule_5_in_mode_launch_no_allocation_waits_for_credit),
		cmocka_unit_test(rule_6_an_allocation_whose_turn_is_closed_is_allocated_in_ram),
		cmocka_unit_test(rule_7_a_program_may_own_a_bounded_amount),
		cmocka_unit_test(rule_7_memory_kept_free_for_the_driver_is_not_the_programs),
		cmocka_unit_test(rule_7_an_excess_is_reported_at_most_once_a_second),
		cmocka_unit_test(rule_7_a_denied_allocation_fails),
		cmocka_unit_test(rule_7_an_allocation_back_to_a_denied_need_fails_at_once),
		cmocka_unit_test(rule_7_a_denial_says_what_is_possible),
		cmocka_unit_test(rule_7_a_denied_need_is_asked_for_again_later),
		cmocka_unit_test(an_allocation_above_the_goal_shuts_the_gate_and_is_mapped),
		cmocka_unit_test(rule_13_a_refused_allocation_is_retried_and_then_reported),
		cmocka_unit_test(a_failed_allocation_is_tried_again_and_reports_no_refusal),
		cmocka_unit_test(an_allocation_after_the_pause_does_not_wait),
		cmocka_unit_test(rule_13_a_unit_without_its_memory_comes_in_again_for_its_command),
		cmocka_unit_test(a_refused_allocation_without_a_daemon_fails),
		cmocka_unit_test(allocated_alone_a_unit_without_backing_gets_it_later),
	};

	return cmocka_run_group_tests_name("peer-alloc", tests, NULL, NULL);
}
