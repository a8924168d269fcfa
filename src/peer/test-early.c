/* SPDX-License-Identifier: Apache-2.0 */

/* Calls that pass before all units of a turn are present: rule 49. */

#include "peer/test-fixture.h"

#define N_UNITS 4
#define BYTES	10
#define ALL	(N_UNITS * BYTES)

/* A program with units in RAM, all watched. */
static void begin(struct fixture *f, enum slu_mode mode)
{
	fixture_init(f, mode, 1000);
	for (unsigned i = 0; i < N_UNITS; i++)
		slu_peer_alloc_watch(f->peer, fixture_in_ram(f, BYTES));
}

static int enter(struct fixture *f, unsigned first, unsigned n)
{
	struct slu_unit *units[N_UNITS];
	int r;

	for (unsigned i = 0; i < n; i++)
		units[i] = &f->units[first + i];
	r = slu_peer_early_enter(f->peer, f->now_ns, 0, units, n);
	fixture_step(f);
	return r;
}

/* The same in its turn, with the credit for all and the first unit present. */
static void begin_turn(struct fixture *f, enum slu_mode mode)
{
	begin(f, mode);
	assert_int_equal(enter(f, 0, 1), SLU_PEER_E_WAIT);
	fixture_turn(f, EPOCH(1));
	fixture_limit(f, DEVICE0, 1, ALL, ALL, SLU_PACE_NOW);
	fixture_moved(f, &f->units[0], SLU_MOVE_DONE);
}

static void a_call_passes_when_its_units_are_present(void **state)
{
	struct fixture f;

	begin(&f, SLU_MODE_ALL);
	assert_int_equal(enter(&f, 0, 1), SLU_PEER_E_WAIT);
	assert_non_null(fixture_said(&f, SLU_MSG_WANT));
	fixture_turn(&f, EPOCH(1));
	assert_int_equal(enter(&f, 0, 1), SLU_PEER_E_WAIT);
	fixture_limit(&f, DEVICE0, 1, ALL, ALL, SLU_PACE_NOW);
	assert_int_equal(enter(&f, 0, 1), SLU_PEER_E_WAIT);
	fixture_moved(&f, &f.units[0], SLU_MOVE_DONE);
	assert_true(f.n_woken);

	assert_int_equal(enter(&f, 1, 1), SLU_PEER_E_WAIT);
	assert_int_equal(f.n_started, 0);
	assert_int_equal(enter(&f, 0, 1), 0);
	assert_int_equal(f.n_started, 1);
	assert_true(slu_peer_view_gate_is_partial(f.peer, 0));
	assert_int_equal(enter(&f, 0, 1), 0);
	assert_int_equal(f.n_started, 0);
	assert_int_equal(enter(&f, 0, 2), SLU_PEER_E_WAIT);
	fixture_deinit(&f);
}

static void a_call_without_units_passes_with_the_turn(void **state)
{
	struct fixture f;

	begin(&f, SLU_MODE_ALL);
	assert_int_equal(enter(&f, 0, 0), SLU_PEER_E_WAIT);
	fixture_turn(&f, EPOCH(1));
	assert_true(f.n_woken);
	assert_int_equal(enter(&f, 0, 0), 0);
	fixture_deinit(&f);
}

static void other_units_come_in_meanwhile_and_the_gate_opens_with_the_last(void **state)
{
	struct fixture f;

	begin_turn(&f, SLU_MODE_ALL);
	assert_int_equal(enter(&f, 0, 1), 0);
	for (unsigned i = 1; i < N_UNITS; i++) {
		assert_null(fixture_said(&f, SLU_MSG_READY));
		assert_int_equal(f.n_opened, 0);
		assert_int_equal(f.units[i].moving, SLU_MOVING_IN);
		fixture_moved(&f, &f.units[i], SLU_MOVE_DONE);
	}
	assert_int_equal(f.n_opened, 1);
	assert_non_null(fixture_said(&f, SLU_MSG_READY));
	assert_int_equal(slu_peer_turn_want_open(f.peer, f.now_ns, 0), 0);
	fixture_deinit(&f);
}

static void units_that_a_call_waits_for_come_first(void **state)
{
	struct fixture f;

	begin(&f, SLU_MODE_ALL);
	fixture_turn(&f, EPOCH(1));
	assert_int_equal(enter(&f, 3, 1), SLU_PEER_E_WAIT);
	fixture_limit(&f, DEVICE0, 1, BYTES, ALL, SLU_PACE_NOW);
	assert_int_equal(f.n_moves, 1);
	assert_ptr_equal(f.moves[0], &f.units[3]);
	fixture_deinit(&f);
}

static void a_call_that_may_touch_anything_waits_for_all_units(void **state)
{
	struct fixture f;

	begin_turn(&f, SLU_MODE_ALL);
	assert_int_equal(enter(&f, 0, 1), 0);
	assert_int_equal(slu_peer_turn_want_open(f.peer, f.now_ns, 0), SLU_PEER_E_WAIT);
	fixture_finish_moves(&f);
	assert_int_equal(slu_peer_turn_want_open(f.peer, f.now_ns, 0), 0);
	fixture_deinit(&f);
}

static void a_close_drains_what_has_started(void **state)
{
	struct fixture f;

	begin_turn(&f, SLU_MODE_ALL);
	assert_int_equal(enter(&f, 0, 1), 0);
	fixture_close(&f, EPOCH(1));
	assert_int_equal(f.n_shut, 1);
	assert_null(fixture_said(&f, SLU_MSG_REST));
	assert_int_equal(enter(&f, 0, 1), SLU_PEER_E_WAIT);
	/* what was under way ends as it likes; nothing more begins */
	fixture_finish_moves(&f);
	assert_int_equal(f.n_opened, 0);
	fixture_limit(&f, DEVICE0, 2, 0, 0, SLU_PACE_NONE);
	assert_int_equal(f.n_moves, 0);
	fixture_drained(&f, false);
	assert_non_null(fixture_said(&f, SLU_MSG_REST));
	assert_true(f.n_moves);
	assert_int_equal(f.moves[0]->moving, SLU_MOVING_OUT);
	fixture_deinit(&f);
}

static void no_unit_leaves_before_the_rest(void **state)
{
	struct fixture f;

	begin_turn(&f, SLU_MODE_ALL);
	assert_int_equal(enter(&f, 0, 1), 0);
	/* against rule 9; then the program comes to rest first */
	fixture_limit(&f, DEVICE0, 2, 0, 0, SLU_PACE_NONE);
	assert_int_equal(f.n_moves, 0);
	assert_int_equal(f.n_shut, 1);
	assert_int_equal(f.units[0].place, SLU_PLACE_DEVICE);
	fixture_deinit(&f);
}

static void memory_used_at_unknown_addresses_must_be_present(void **state)
{
	struct fixture f;
	struct slu_unit *own;

	begin(&f, SLU_MODE_ALL);
	own = fixture_in_ram(&f, BYTES);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 2 * ALL, 2 * ALL, SLU_PACE_NOW);
	fixture_moved(&f, &f.units[0], SLU_MOVE_DONE);
	assert_int_equal(enter(&f, 0, 1), SLU_PEER_E_WAIT);
	while (own->moving != SLU_MOVING_IN)
		fixture_moved(&f, f.moves[0], SLU_MOVE_DONE);
	fixture_moved(&f, own, SLU_MOVE_DONE);
	assert_int_equal(enter(&f, 0, 1), 0);
	fixture_deinit(&f);
}

static void an_allocation_is_made_in_ram_and_comes_in(void **state)
{
	struct fixture f;
	struct slu_unit *u;

	begin_turn(&f, SLU_MODE_ALL);
	assert_int_equal(enter(&f, 0, 1), 0);
	u = fixture_in_ram(&f, BYTES);
	assert_true(slu_peer_view_gate_is_partial(f.peer, 0));
	assert_int_equal(slu_peer_view_n_absent(f.peer, 0), N_UNITS);
	fixture_finish_moves(&f);
	assert_int_equal(u->place, SLU_PLACE_RAM);
	fixture_limit(&f, DEVICE0, 2, ALL + BYTES, ALL + BYTES, SLU_PACE_NOW);
	fixture_finish_moves(&f);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

static void what_waits_for_the_host_does_not_keep_other_units_away(void **state)
{
	struct fixture f;

	begin_turn(&f, SLU_MODE_ALL);
	assert_int_equal(enter(&f, 0, 1), 0);
	fixture_close(&f, EPOCH(1));
	for (unsigned i = 1; i < N_UNITS; i++)
		if (f.units[i].moving != SLU_MOVING_NO)
			fixture_moved(&f, &f.units[i], SLU_MOVE_CANCELLED);
	fixture_drained(&f, true);
	fixture_turn(&f, EPOCH(2));
	fixture_limit(&f, DEVICE0, 2, ALL, ALL, SLU_PACE_NOW);
	assert_int_equal(enter(&f, 0, 1), SLU_PEER_E_WAIT);
	fixture_finish_moves(&f);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

static void a_turn_with_mapped_units_is_complete_first(void **state)
{
	struct fixture f;

	begin(&f, SLU_MODE_MAPPED);
	fixture_limit(&f, PINNED, 1, ALL, ALL, SLU_PACE_NOW);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, BYTES, BYTES, SLU_PACE_NOW);
	fixture_moved(&f, &f.units[0], SLU_MOVE_DONE);
	assert_int_equal(enter(&f, 0, 1), SLU_PEER_E_WAIT);
	fixture_deinit(&f);

	begin_turn(&f, SLU_MODE_MAPPED);
	assert_int_equal(enter(&f, 0, 1), 0);
	/* less than expected: the rest must be mapped, and the program comes to rest for it */
	fixture_limit(&f, DEVICE0, 2, ALL - BYTES, ALL - BYTES, SLU_PACE_NOW);
	assert_int_equal(f.n_shut, 1);
	fixture_deinit(&f);
}

static void without_a_daemon_a_program_is_complete_first(void **state)
{
	struct fixture f;

	begin_turn(&f, SLU_MODE_ALL);
	assert_int_equal(enter(&f, 0, 1), 0);
	slu_peer_connection_lost(f.peer, f.now_ns);
	fixture_step(&f);
	assert_int_equal(f.n_shut, 1);
	fixture_drained(&f, false);
	assert_int_equal(enter(&f, 0, 1), SLU_PEER_E_WAIT);
	slu_peer_alone_run(f.peer, f.now_ns, true);
	fixture_step(&f);
	assert_int_equal(enter(&f, 0, 1), SLU_PEER_E_WAIT);
	fixture_finish_moves(&f);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_passes_when_its_units_are_present),
		cmocka_unit_test(a_call_without_units_passes_with_the_turn),
		cmocka_unit_test(other_units_come_in_meanwhile_and_the_gate_opens_with_the_last),
		cmocka_unit_test(units_that_a_call_waits_for_come_first),
		cmocka_unit_test(a_call_that_may_touch_anything_waits_for_all_units),
		cmocka_unit_test(a_close_drains_what_has_started),
		cmocka_unit_test(no_unit_leaves_before_the_rest),
		cmocka_unit_test(memory_used_at_unknown_addresses_must_be_present),
		cmocka_unit_test(an_allocation_is_made_in_ram_and_comes_in),
		cmocka_unit_test(what_waits_for_the_host_does_not_keep_other_units_away),
		cmocka_unit_test(a_turn_with_mapped_units_is_complete_first),
		cmocka_unit_test(without_a_daemon_a_program_is_complete_first),
	};

	return cmocka_run_group_tests_name("peer-early", tests, NULL, NULL);
}
