/* SPDX-License-Identifier: Apache-2.0 */

/* The client's half by script: turns, gates, joining and losing. Rules as in docs/protocol.md. */

#include "peer/test-fixture.h"

static const uint64_t two[] = { 4, 6 };

static void a_gate_opens_with_a_turn_and_all_units_present(void **state)
{
	struct fixture f;
	const struct slu_message *m;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_in_ram(&f, 4);
	assert_int_equal(slu_peer_turn_want_open(f.peer, f.now_ns, 0), SLU_PEER_E_WAIT);
	fixture_step(&f);
	m = fixture_said(&f, SLU_MSG_WANT);
	assert_non_null(m);
	assert_int_equal(m->want.all_bytes, 4);
	assert_int_equal(m->want.min_bytes, 4);
	assert_int_equal(m->want.largest_bytes, 4);
	assert_true(m->want.is_runnable);

	fixture_turn(&f, EPOCH(1));
	assert_int_equal(f.n_opened, 0);
	fixture_limit(&f, DEVICE0, 1, 4, 4, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	assert_int_equal(f.n_opened, 0);
	fixture_moved(&f, f.moves[0], SLU_MOVE_DONE);
	assert_int_equal(f.n_opened, 1);
	assert_int_equal(f.n_woken, 1);
	m = fixture_said(&f, SLU_MSG_READY);
	assert_non_null(m);
	assert_true(slu_epoch_equal(m->turn.epoch, EPOCH(1)));
	assert_int_equal(slu_peer_turn_want_open(f.peer, f.now_ns, 0), 0);
	fixture_deinit(&f);
}

static void units_without_a_turn_open_nothing(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_in_ram(&f, 4);
	fixture_limit(&f, DEVICE0, 1, 4, 4, SLU_PACE_AHEAD);
	fixture_finish_moves(&f);
	assert_int_equal(fixture_held(&f, DEVICE0), 4);
	assert_false(slu_peer_view_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

static void rule_24_a_close_is_answered_after_the_drain(void **state)
{
	struct fixture f;
	const struct slu_message *m;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_close(&f, EPOCH(1));
	assert_int_equal(f.n_shut, 1);
	assert_null(fixture_said(&f, SLU_MSG_REST));
	fixture_step(&f);
	assert_int_equal(f.n_shut, 0);
	assert_int_equal(slu_peer_turn_want_open(f.peer, f.now_ns, 0), SLU_PEER_E_WAIT);

	fixture_drained(&f, false);
	m = fixture_said(&f, SLU_MSG_REST);
	assert_non_null(m);
	assert_true(slu_epoch_equal(m->rest.epoch, EPOCH(1)));
	assert_true(m->rest.is_runnable);
	assert_int_equal(m->rest.floor_bytes, 0);
	assert_non_null(fixture_sums(&f, DEVICE0));
	assert_non_null(fixture_said(&f, SLU_MSG_WANT));
	assert_true(slu_epoch_is_none(slu_peer_view_epoch(f.peer, 0)));
	fixture_deinit(&f);
}

static void a_floor_that_falls_at_rest_is_reported(void **state)
{
	struct fixture f;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	slu_peer_alloc_freeze(f.peer, f.now_ns, &f.units[1], SLU_FROZEN_MAPPED);
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, false);
	assert_int_equal(fixture_said(&f, SLU_MSG_REST)->rest.floor_bytes, 6);
	f.now_ns += SLU_NS_PER_S;
	fixture_step(&f);

	slu_peer_alloc_freeze(f.peer, f.now_ns, &f.units[1], SLU_FROZEN_NO);
	f.now_ns += SLU_NS_PER_S;
	fixture_step(&f);
	assert_non_null(fixture_sums(&f, DEVICE0));
	assert_int_equal(fixture_sums(&f, DEVICE0)->floor_bytes, 0);
	f.now_ns += SLU_NS_PER_S;
	fixture_step(&f);
	assert_null(fixture_sums(&f, DEVICE0));
	fixture_deinit(&f);
}

static void rule_24_a_close_of_another_epoch_is_answered_at_once(void **state)
{
	struct fixture f;
	const struct slu_message *m;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_close(&f, EPOCH(9));
	m = fixture_said(&f, SLU_MSG_REST);
	assert_non_null(m);
	assert_true(slu_epoch_equal(m->rest.epoch, EPOCH(9)));
	assert_int_equal(m->rest.floor_bytes, 10);
	assert_int_equal(f.n_shut, 0);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

static void rule_24_a_new_turn_before_the_rest_leaves_no_close_unanswered(void **state)
{
	struct fixture f;
	const struct slu_message *m;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_close(&f, EPOCH(1));
	fixture_turn(&f, EPOCH(2));
	fixture_drained(&f, false);
	m = fixture_said(&f, SLU_MSG_REST);
	assert_non_null(m);
	assert_true(slu_epoch_equal(m->rest.epoch, EPOCH(1)));
	m = fixture_said(&f, SLU_MSG_READY);
	assert_non_null(m);
	assert_true(slu_epoch_equal(m->turn.epoch, EPOCH(2)));
	fixture_deinit(&f);
}

static void a_close_before_the_fill_is_done_is_answered_at_once(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_in_ram(&f, 4);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 4, 4, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	fixture_close(&f, EPOCH(1));
	assert_int_equal(f.n_shut, 0);
	assert_non_null(fixture_said(&f, SLU_MSG_REST));
	assert_true(f.units[0].cancel);
	fixture_deinit(&f);
}

static void rule_23_a_turn_for_an_open_gate_is_ready_at_once(void **state)
{
	struct fixture f;
	const struct slu_message *m;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_turn(&f, EPOCH(2));
	m = fixture_said(&f, SLU_MSG_READY);
	assert_non_null(m);
	assert_true(slu_epoch_equal(m->turn.epoch, EPOCH(2)));
	fixture_step(&f);
	assert_null(fixture_said(&f, SLU_MSG_READY));
	fixture_deinit(&f);
}

static void rule_25_a_blocked_holder_rests_with_everything_as_floor(void **state)
{
	struct fixture f;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, true);
	assert_int_equal(fixture_said(&f, SLU_MSG_REST)->rest.floor_bytes, 10);

	/* nothing moves under a blocked command, whatever the limit says */
	fixture_limit(&f, DEVICE0, 2, 0, 0, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 0);
	assert_true(fixture_sums(&f, DEVICE0)->is_final);
	assert_int_equal(fixture_sums(&f, DEVICE0)->floor_bytes, 10);

	slu_peer_turn_unblocked(f.peer, f.now_ns, 0);
	fixture_step(&f);
	assert_int_equal(f.n_moves, 2);
	assert_int_equal(fixture_sums(&f, DEVICE0)->floor_bytes, 0);
	assert_false(fixture_sums(&f, DEVICE0)->is_final);
	fixture_deinit(&f);
}

static void rule_25_with_proof_only_the_blocked_units_are_floor(void **state)
{
	struct fixture f;
	struct slu_unit *both[2];

	fixture_init(&f, SLU_MODE_LAUNCH, 100);
	both[0] = fixture_in_ram(&f, 4);
	both[1] = fixture_in_ram(&f, 6);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 10, 10, SLU_PACE_NOW);
	assert_int_equal(fixture_command(&f, both, 2), 0);
	fixture_close(&f, EPOCH(1));
	f.units[0].blocked = true;
	fixture_drained(&f, true);
	assert_int_equal(fixture_said(&f, SLU_MSG_REST)->rest.floor_bytes, 4);
	fixture_limit(&f, DEVICE0, 2, 0, 0, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	assert_ptr_equal(f.moves[0], &f.units[1]);
	fixture_deinit(&f);
}

static void idle_is_a_hint_and_is_taken_back(void **state)
{
	uint64_t n_reports;
	struct fixture f;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	slu_peer_turn_progress(f.peer, f.now_ns, 0, true);
	f.now_ns += FIXTURE_IDLE_NS - 1;
	slu_peer_turn_progress(f.peer, f.now_ns, 0, false);
	fixture_step(&f);
	assert_null(fixture_said(&f, SLU_MSG_IDLE));
	f.now_ns += 1;
	n_reports = slu_peer_reports_sent(f.peer);
	slu_peer_turn_progress(f.peer, f.now_ns, 0, false);
	fixture_step(&f);
	assert_non_null(fixture_said(&f, SLU_MSG_IDLE));
	assert_int_equal(slu_peer_reports_sent(f.peer), n_reports + f.n_messages);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	slu_peer_turn_progress(f.peer, f.now_ns, 0, false);
	fixture_step(&f);
	assert_null(fixture_said(&f, SLU_MSG_IDLE));

	n_reports = slu_peer_reports_sent(f.peer);
	slu_peer_turn_progress(f.peer, f.now_ns, 0, true);
	fixture_step(&f);
	assert_non_null(fixture_said(&f, SLU_MSG_WANT));
	assert_int_equal(slu_peer_reports_sent(f.peer), n_reports + f.n_messages);
	assert_true(fixture_said(&f, SLU_MSG_WANT)->want.is_runnable);
	fixture_deinit(&f);
}

static void a_command_that_waits_for_its_units_is_not_idle(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_init(&f, SLU_MODE_LAUNCH, 100);
	u = fixture_in_ram(&f, 6);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 9, 9, SLU_PACE_NOW);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, &u, 1), SLU_PEER_E_WAIT);
	fixture_step(&f);
	f.now_ns += 2 * FIXTURE_IDLE_NS;
	slu_peer_turn_progress(f.peer, f.now_ns, 0, false);
	fixture_step(&f);
	assert_null(fixture_said(&f, SLU_MSG_IDLE));
	slu_peer_command_forget(f.peer, f.now_ns, 0, &u, 1);
	slu_peer_turn_progress(f.peer, f.now_ns, 0, false);
	fixture_step(&f);
	assert_non_null(fixture_said(&f, SLU_MSG_IDLE));
	fixture_finish_moves(&f);
	fixture_deinit(&f);
}

static void a_program_that_waits_for_credit_is_not_idle(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	u = fixture_unit(&f, 5);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_step(&f);
	f.now_ns += 2 * FIXTURE_IDLE_NS;
	slu_peer_turn_progress(f.peer, f.now_ns, 0, false);
	fixture_step(&f);
	assert_null(fixture_said(&f, SLU_MSG_IDLE));

	fixture_deny(&f, DEVICE0);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_DENIED);
	slu_peer_turn_progress(f.peer, f.now_ns, 0, false);
	fixture_step(&f);
	assert_non_null(fixture_said(&f, SLU_MSG_IDLE));
	fixture_deinit(&f);
}

static void want_is_repeated_while_it_is_unmet(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_in_ram(&f, 4);
	slu_peer_turn_want_open(f.peer, f.now_ns, 0);
	fixture_step(&f);
	assert_non_null(fixture_said(&f, SLU_MSG_WANT));
	slu_peer_turn_want_open(f.peer, f.now_ns, 0);
	fixture_step(&f);
	assert_null(fixture_said(&f, SLU_MSG_WANT));
	/* an insufficient limit: the daemon may have forgotten the need */
	fixture_limit(&f, DEVICE0, 1, 2, 2, SLU_PACE_NONE);
	assert_non_null(fixture_said(&f, SLU_MSG_WANT));
	/* a larger need */
	fixture_in_ram(&f, 5);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.all_bytes, 9);
	/* a new connection */
	slu_peer_connection_lost(f.peer, f.now_ns);
	slu_peer_connection_made(f.peer, f.now_ns);
	fixture_step(&f);
	assert_non_null(fixture_said(&f, SLU_MSG_HELLO));
	assert_true(fixture_said(&f, SLU_MSG_HELLO)->hello.devices[0].is_runnable);
	assert_non_null(fixture_said(&f, SLU_MSG_WANT));
	fixture_deinit(&f);
}

static void rule_31_credit_dies_with_the_connection(void **state)
{
	struct fixture f;
	struct slu_peer_account_view view;
	const struct slu_msg_hello *hello;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_limit(&f, DEVICE0, 2, 50, 50, SLU_PACE_NONE);
	slu_peer_connection_lost(f.peer, f.now_ns);
	fixture_step(&f);
	assert_int_equal(f.n_messages, 0);
	slu_peer_view_account(f.peer, DEVICE0, &view);
	assert_int_equal(view.limit_bytes, 10);
	assert_int_equal(view.seq, 0);
	/* a holder runs on, but gets no more */
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, fixture_unit(&f, 1)), SLU_PEER_E_WAIT);

	slu_peer_connection_made(f.peer, f.now_ns);
	fixture_step(&f);
	hello = &fixture_said(&f, SLU_MSG_HELLO)->hello;
	assert_true(slu_epoch_equal(hello->devices[0].epoch, EPOCH(1)));
	assert_true(hello->devices[0].gate_is_open);
	assert_int_equal(hello->devices[0].held_bytes, 10);
	assert_int_equal(hello->devices[0].floor_bytes, 10);
	assert_int_equal(hello->pageable_held_bytes, 10);
	assert_int_equal(hello->group, 3);
	assert_false(slu_peer_connection_is_joined(f.peer));
	fixture_welcome(&f, 0);
	assert_true(slu_peer_connection_is_joined(f.peer));
	fixture_deinit(&f);
}

static void an_unfinished_close_dies_with_the_connection(void **state)
{
	struct fixture f;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_close(&f, EPOCH(1));
	slu_peer_connection_lost(f.peer, f.now_ns);
	slu_peer_connection_made(f.peer, f.now_ns);
	fixture_step(&f);
	assert_false(fixture_said(&f, SLU_MSG_HELLO)->hello.devices[0].gate_is_open);
	fixture_drained(&f, false);
	assert_null(fixture_said(&f, SLU_MSG_REST));
	assert_non_null(fixture_said(&f, SLU_MSG_READY));
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

static void alone_the_driver_decides_and_the_turn_is_reported(void **state)
{
	struct fixture f;
	const struct slu_msg_hello *hello;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_in_ram(&f, 4);
	slu_peer_connection_lost(f.peer, f.now_ns);
	fixture_step(&f);
	assert_int_equal(f.n_moves, 0);
	slu_peer_alone_run(f.peer, f.now_ns, true);
	fixture_step(&f);
	assert_int_equal(f.n_moves, 1);
	fixture_moved(&f, f.moves[0], SLU_MOVE_DONE);
	assert_int_equal(f.n_opened, 1);

	slu_peer_connection_made(f.peer, f.now_ns);
	fixture_step(&f);
	hello = &fixture_said(&f, SLU_MSG_HELLO)->hello;
	assert_int_equal(hello->devices[0].epoch.generation, 0);
	assert_false(slu_epoch_is_none(hello->devices[0].epoch));
	assert_true(hello->devices[0].gate_is_open);
	/* and is closed like any other */
	fixture_close(&f, hello->devices[0].epoch);
	assert_int_equal(f.n_shut, 1);
	fixture_drained(&f, false);
	assert_non_null(fixture_said(&f, SLU_MSG_REST));
	fixture_deinit(&f);
}

static void alone_a_refused_unit_is_tried_again(void **state)
{
	static const enum slu_mode modes[] = { SLU_MODE_ALL, SLU_MODE_LAUNCH };

	for (unsigned k = 0; k < SLU_ARRAY_SIZE(modes); k++) {
		struct slu_unit *u;
		struct fixture f;

		fixture_init(&f, modes[k], 100);
		u = fixture_in_ram(&f, 4);
		slu_peer_connection_lost(f.peer, f.now_ns);
		slu_peer_alone_run(f.peer, f.now_ns, true);
		fixture_step(&f);
		if (modes[k] == SLU_MODE_LAUNCH) {
			assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, &u, 1),
					 SLU_PEER_E_WAIT);
			fixture_step(&f);
		}
		for (unsigned i = 0; i <= FIXTURE_RETRIES; i++) {
			assert_int_equal(f.n_moves, 1);
			fixture_moved(&f, u, SLU_MOVE_REFUSED);
			fixture_wait(&f, FIXTURE_PAUSE_NS);
		}
		/* not all the time, but repeatedly: others may have gone */
		assert_int_equal(f.n_moves, 0);
		assert_int_not_equal(slu_peer_deadline_ns(f.peer), SLU_PEER_NEVER);
		fixture_wait(&f, SLU_NS_PER_S);
		assert_int_equal(f.n_moves, 1);
		fixture_moved(&f, u, SLU_MOVE_DONE);
		assert_int_equal(u->place, SLU_PLACE_DEVICE);
		fixture_deinit(&f);
	}
}

/* The driver refuses @u, the last unit to come in, until the client believes it. */
static void refuse(struct fixture *f, struct slu_unit *u)
{
	for (unsigned i = 0; i <= FIXTURE_RETRIES; i++) {
		assert_int_equal(f->n_moves, 1);
		assert_ptr_equal(f->moves[0], u);
		fixture_moved(f, u, SLU_MOVE_REFUSED);
		fixture_wait(f, FIXTURE_PAUSE_NS);
	}
	assert_int_equal(f->n_moves, 0);
}

static void alone_a_waiting_program_gives_up_its_memory_for_others(void **state)
{
	static const enum slu_mode modes[] = { SLU_MODE_ALL, SLU_MODE_LAUNCH };

	for (unsigned k = 0; k < SLU_ARRAY_SIZE(modes); k++) {
		struct slu_unit *units[2];
		struct fixture f;

		fixture_init(&f, modes[k], 100);
		units[0] = fixture_in_ram(&f, 4);
		units[1] = fixture_in_ram(&f, 5);
		slu_peer_connection_lost(f.peer, f.now_ns);
		slu_peer_alone_run(f.peer, f.now_ns, true);
		fixture_step(&f);
		if (modes[k] == SLU_MODE_LAUNCH) {
			assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, units, 2),
					 SLU_PEER_E_WAIT);
			fixture_step(&f);
		}
		/* the driver has memory for one of them */
		assert_int_equal(f.n_moves, 2);
		slu_peer_move_done(f.peer, f.now_ns, units[0], SLU_MOVE_DONE);
		f.n_moves = 1;
		f.moves[0] = units[1];
		refuse(&f, units[1]);
		/* tried once more, in vain */
		fixture_wait(&f, SLU_NS_PER_S);
		refuse(&f, units[1]);
		assert_int_equal(units[0]->place, SLU_PLACE_DEVICE);
		/* present units leave, and nothing comes in for a while */
		fixture_wait(&f, SLU_NS_PER_S);
		assert_int_equal(f.n_moves, 1);
		assert_ptr_equal(f.moves[0], units[0]);
		assert_int_equal(units[0]->moving, SLU_MOVING_OUT);
		fixture_wait(&f, 10 * SLU_NS_PER_S);
		fixture_moved(&f, units[0], SLU_MOVE_DONE);
		assert_int_equal(fixture_held(&f, DEVICE0), 0);
		fixture_wait(&f, FIXTURE_PAUSE_NS);
		assert_int_equal(f.n_moves, 0);
		/* the program that waited for these bytes has gone on and ended */
		fixture_wait(&f, SLU_NS_PER_S);
		assert_int_equal(f.n_moves, 2);
		fixture_finish_moves(&f);
		assert_true(slu_peer_view_gate_is_open(f.peer, 0));
		assert_int_equal(fixture_held(&f, DEVICE0), 9);
		fixture_deinit(&f);
	}
}

static void a_denied_launch_fails_and_may_be_asked_again_later(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_in_ram(&f, 40);
	slu_peer_turn_want_open(f.peer, f.now_ns, 0);
	fixture_step(&f);
	fixture_deny(&f, DEVICE0);
	assert_int_equal(f.n_woken, 1);
	assert_int_equal(slu_peer_turn_want_open(f.peer, f.now_ns, 0), SLU_PEER_E_DENIED);
	assert_int_equal(slu_peer_turn_want_open(f.peer, f.now_ns, 0), SLU_PEER_E_DENIED);
	fixture_wait(&f, 2 * SLU_NS_PER_S);
	assert_int_equal(slu_peer_turn_want_open(f.peer, f.now_ns, 0), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_non_null(fixture_said(&f, SLU_MSG_WANT));
	fixture_deinit(&f);
}

static void a_denial_that_crossed_with_the_turn_is_void(void **state)
{
	struct fixture f;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_deny(&f, DEVICE0);
	fixture_close(&f, EPOCH(1));
	assert_int_equal(slu_peer_turn_want_open(f.peer, f.now_ns, 0), SLU_PEER_E_WAIT);
	fixture_drained(&f, false);
	fixture_deinit(&f);
}

static void a_need_that_ended_is_withdrawn(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_in_ram(&f, 4);
	fixture_turn(&f, EPOCH(1));
	assert_true(fixture_said(&f, SLU_MSG_WANT)->want.is_runnable);
	fixture_close(&f, EPOCH(1));
	assert_false(fixture_said(&f, SLU_MSG_REST)->rest.is_runnable);

	/* a thread that waited, and was denied */
	slu_peer_turn_want_open(f.peer, f.now_ns, 0);
	fixture_step(&f);
	assert_true(fixture_said(&f, SLU_MSG_WANT)->want.is_runnable);
	fixture_deny(&f, DEVICE0);
	fixture_wait(&f, 200 * SLU_NS_PER_MS);
	assert_false(fixture_said(&f, SLU_MSG_WANT)->want.is_runnable);

	/* a denial without a request: WANT reports the real need */
	fixture_deny(&f, DEVICE0);
	assert_false(fixture_said(&f, SLU_MSG_WANT)->want.is_runnable);
	fixture_deinit(&f);
}

static void devices_are_named_before_joining(void **state)
{
	struct fixture f;
	struct slu_hello_device identity = { .name = "second" };

	fixture_init(&f, SLU_MODE_ALL, 0);
	assert_int_equal(slu_peer_device_add(f.peer, &identity, SLU_MODE_ALL), -EBUSY);
	slu_peer_connection_lost(f.peer, f.now_ns);
	for (int i = 1; i < SLU_WIRE_DEVICES_MAX; i++)
		assert_int_equal(slu_peer_device_add(f.peer, &identity, SLU_MODE_ALL), i);
	assert_int_equal(slu_peer_device_add(f.peer, &identity, SLU_MODE_ALL), -ENOSPC);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gate_opens_with_a_turn_and_all_units_present),
		cmocka_unit_test(units_without_a_turn_open_nothing),
		cmocka_unit_test(rule_24_a_close_is_answered_after_the_drain),
		cmocka_unit_test(a_floor_that_falls_at_rest_is_reported),
		cmocka_unit_test(rule_24_a_close_of_another_epoch_is_answered_at_once),
		cmocka_unit_test(rule_24_a_new_turn_before_the_rest_leaves_no_close_unanswered),
		cmocka_unit_test(a_close_before_the_fill_is_done_is_answered_at_once),
		cmocka_unit_test(rule_23_a_turn_for_an_open_gate_is_ready_at_once),
		cmocka_unit_test(rule_25_a_blocked_holder_rests_with_everything_as_floor),
		cmocka_unit_test(rule_25_with_proof_only_the_blocked_units_are_floor),
		cmocka_unit_test(idle_is_a_hint_and_is_taken_back),
		cmocka_unit_test(a_command_that_waits_for_its_units_is_not_idle),
		cmocka_unit_test(a_program_that_waits_for_credit_is_not_idle),
		cmocka_unit_test(want_is_repeated_while_it_is_unmet),
		cmocka_unit_test(rule_31_credit_dies_with_the_connection),
		cmocka_unit_test(an_unfinished_close_dies_with_the_connection),
		cmocka_unit_test(alone_the_driver_decides_and_the_turn_is_reported),
		cmocka_unit_test(alone_a_refused_unit_is_tried_again),
		cmocka_unit_test(alone_a_waiting_program_gives_up_its_memory_for_others),
		cmocka_unit_test(a_denied_launch_fails_and_may_be_asked_again_later),
		cmocka_unit_test(a_denial_that_crossed_with_the_turn_is_void),
		cmocka_unit_test(a_need_that_ended_is_withdrawn),
		cmocka_unit_test(devices_are_named_before_joining),
	};

	return cmocka_run_group_tests_name("peer-turns", tests, NULL, NULL);
}
