/* SPDX-License-Identifier: Apache-2.0 */

/* Host copies that become pinned while nothing moves, and yield to everything else (rule 42). */

#include "peer/test-fixture.h"

static void shifted(struct fixture *f, struct slu_unit *u, enum slu_shift_result result)
{
	slu_peer_shift_done(f->peer, f->now_ns, u, result);
	fixture_step(f);
}

static struct slu_unit *pinned(struct fixture *f, uint64_t bytes)
{
	struct slu_unit *u = fixture_in_ram(f, bytes);

	assert_ptr_equal(f->shift, u);
	assert_int_equal(u->shift, SLU_SHIFT_PIN);
	shifted(f, u, SLU_SHIFT_DONE);
	assert_true(u->pinned);
	return u;
}

static void end(struct fixture *f)
{
	for (unsigned i = 0; i < f->n_units; i++) {
		struct slu_unit *u = &f->units[i];

		if (u->shift != SLU_SHIFT_NO)
			slu_peer_shift_done(f->peer, f->now_ns, u,
					    u->shift == SLU_SHIFT_UNPIN ? SLU_SHIFT_DONE
									: SLU_SHIFT_CANCELLED);
		if (u->pinned)
			slu_peer_pinning_released(f->peer, f->now_ns, u->bytes);
		u->pinned = false;
	}
	fixture_deinit(f);
}

static void copies_become_pinned_only_below_a_limit_with_pace_ahead(void **state)
{
	struct slu_unit *u, *v;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 100);
	u = fixture_in_ram(&f, 20);
	v = fixture_in_ram(&f, 30);
	fixture_limit(&f, PINNED, 1, 60, 60, SLU_PACE_NOW);
	assert_null(f.shift); /* this limit is for staging and MAPPED */
	fixture_limit(&f, PINNED, 2, 45, 45, SLU_PACE_AHEAD);
	assert_ptr_equal(f.shift, v); /* the largest that fits, one at a time */
	assert_int_equal(fixture_held(&f, PINNED), 30);
	shifted(&f, v, SLU_SHIFT_DONE);
	assert_int_equal(fixture_sums(&f, PINNED)->held_bytes, 30);
	assert_null(f.shift); /* 15 are too few for the other one */
	fixture_limit(&f, PINNED, 3, 50, 50, SLU_PACE_AHEAD);
	assert_ptr_equal(f.shift, u);
	shifted(&f, u, SLU_SHIFT_DONE);
	/* both are still backing */
	assert_int_equal(fixture_held(&f, PAGEABLE), 50);
	assert_int_equal(fixture_held(&f, PINNED), 50);
	end(&f);
}

static void a_lower_limit_takes_copies_in_a_turn_as_well(void **state)
{
	struct slu_unit *u;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_limit(&f, PINNED, 1, 20, 20, SLU_PACE_AHEAD);
	u = pinned(&f, 20);
	fixture_limit(&f, DEVICE0, 1, 50, 50, SLU_PACE_NOW);
	fixture_turn(&f, EPOCH(1));
	fixture_moved(&f, u, SLU_MOVE_DONE);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	assert_true(u->pinned);
	fixture_limit(&f, PINNED, 2, 5, 5, SLU_PACE_NOW);
	assert_false(fixture_sums(&f, PINNED)->is_final); /* it will fall further */
	assert_ptr_equal(f.shift, u);
	assert_int_equal(u->shift, SLU_SHIFT_UNPIN);
	assert_int_equal(fixture_held(&f, PINNED), 20);
	shifted(&f, u, SLU_SHIFT_DONE);
	assert_false(u->pinned);
	assert_int_equal(fixture_sums(&f, PINNED)->held_bytes, 0);
	end(&f);
}

static void nothing_is_pinned_while_bytes_move_or_are_about_to(void **state)
{
	struct slu_unit *u, *v;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 100);
	u = fixture_in_ram(&f, 20);
	v = fixture_in_ram(&f, 20);
	fixture_limit(&f, DEVICE0, 1, 50, 50, SLU_PACE_NOW);
	fixture_turn(&f, EPOCH(1));
	assert_int_equal(u->moving, SLU_MOVING_IN);
	fixture_limit(&f, PINNED, 1, 40, 40, SLU_PACE_AHEAD);
	assert_null(f.shift);
	fixture_moved(&f, u, SLU_MOVE_DONE);
	assert_null(f.shift);
	fixture_moved(&f, v, SLU_MOVE_DONE);
	assert_non_null(f.shift); /* the program runs, and the bus is free */
	end(&f);
}

static void a_copy_on_its_way_is_cancelled_for_a_turn(void **state)
{
	struct slu_unit *u;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 100);
	u = fixture_in_ram(&f, 20);
	fixture_limit(&f, PINNED, 1, 40, 40, SLU_PACE_AHEAD);
	assert_ptr_equal(f.shift, u);
	fixture_limit(&f, DEVICE0, 1, 50, 50, SLU_PACE_NOW);
	fixture_turn(&f, EPOCH(1));
	assert_int_equal(u->moving, SLU_MOVING_NO);
	assert_true(u->cancel);
	shifted(&f, u, SLU_SHIFT_CANCELLED);
	assert_int_equal(fixture_held(&f, PINNED), 0);
	assert_int_equal(u->moving, SLU_MOVING_IN);
	fixture_moved(&f, u, SLU_MOVE_DONE);
	end(&f);
}

static void a_refusal_by_the_driver_is_reported_to_the_daemon(void **state)
{
	struct slu_unit *u;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 100);
	u = fixture_in_ram(&f, 20);
	fixture_limit(&f, PINNED, 1, 40, 40, SLU_PACE_AHEAD);
	shifted(&f, u, SLU_SHIFT_REFUSED);
	assert_false(u->pinned);
	assert_int_equal(fixture_sums(&f, PINNED)->refused_bytes, 20);
	assert_int_equal(fixture_sums(&f, PINNED)->ceiling_bytes, 0);
	assert_null(f.shift);
	end(&f);
}

static void copies_yield_to_staging_and_mapped_units(void **state)
{
	struct slu_unit *u, *v;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_MAPPED, 100);
	fixture_limit(&f, PINNED, 1, 30, 30, SLU_PACE_AHEAD);
	u = pinned(&f, 30);
	v = fixture_in_ram(&f, 20);
	/* a share of 30 for 50: one unit must be mapped, and only copies have the credit */
	fixture_limit(&f, DEVICE0, 1, 30, 30, SLU_PACE_NOW);
	fixture_turn(&f, EPOCH(1));
	fixture_moved(&f, u, SLU_MOVE_DONE);
	assert_ptr_equal(f.shift, u);
	assert_int_equal(u->shift, SLU_SHIFT_UNPIN);
	shifted(&f, u, SLU_SHIFT_DONE);
	f.now_ns += SLU_NS_PER_S; /* the daemon had time to answer with a larger share */
	fixture_step(&f);
	assert_int_equal(v->moving, SLU_MOVING_MAP);
	fixture_moved(&f, v, SLU_MOVE_DONE);
	assert_int_equal(v->place, SLU_PLACE_MAPPED);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	end(&f);
}

static void only_as_many_copies_yield_as_a_mapped_unit_needs(void **state)
{
	struct slu_unit *u, *w, *v;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_MAPPED, 100);
	fixture_limit(&f, PINNED, 1, 40, 40, SLU_PACE_AHEAD);
	u = pinned(&f, 20);
	w = pinned(&f, 20);
	fixture_limit(&f, DEVICE0, 1, 40, 40, SLU_PACE_NOW);
	fixture_turn(&f, EPOCH(1));
	v = fixture_in_ram(&f, 20);
	fixture_moved(&f, u, SLU_MOVE_DONE);
	fixture_moved(&f, w, SLU_MOVE_DONE);
	shifted(&f, f.shift, SLU_SHIFT_DONE);
	assert_int_equal(v->moving, SLU_MOVING_MAP);
	fixture_moved(&f, v, SLU_MOVE_FAILED);
	/* the unit waits for its next try, and its bytes are free */
	assert_int_equal(v->moving, SLU_MOVING_NO);
	assert_null(f.shift);
	f.now_ns += SLU_NS_PER_S;
	fixture_step(&f);
	assert_int_equal(v->moving, SLU_MOVING_MAP);
	fixture_moved(&f, v, SLU_MOVE_DONE);
	assert_int_equal(u->pinned + w->pinned, 1);
	end(&f);
}

static void copies_yield_to_an_allocation_that_must_be_mapped(void **state)
{
	struct slu_unit *u, *v;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_MAPPED, 100);
	fixture_limit(&f, PINNED, 1, 30, 30, SLU_PACE_AHEAD);
	u = pinned(&f, 30);
	fixture_limit(&f, DEVICE0, 1, 30, 30, SLU_PACE_NOW);
	fixture_turn(&f, EPOCH(1));
	fixture_moved(&f, u, SLU_MOVE_DONE);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	v = fixture_unit(&f, 20);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, v), SLU_PEER_E_WAIT);
	fixture_step(&f);
	f.now_ns += SLU_NS_PER_S; /* the daemon had time to answer with a larger share */
	fixture_step(&f);
	assert_false(slu_peer_view_gate_is_open(f.peer, 0));
	fixture_drained(&f, false);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, v), SLU_PEER_E_IN_RAM);
	fixture_step(&f);
	assert_ptr_equal(f.shift, u);
	shifted(&f, u, SLU_SHIFT_DONE);
	assert_int_equal(v->moving, SLU_MOVING_MAP);
	fixture_moved(&f, v, SLU_MOVE_DONE);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_become_pinned_only_below_a_limit_with_pace_ahead),
		cmocka_unit_test(a_lower_limit_takes_copies_in_a_turn_as_well),
		cmocka_unit_test(nothing_is_pinned_while_bytes_move_or_are_about_to),
		cmocka_unit_test(a_copy_on_its_way_is_cancelled_for_a_turn),
		cmocka_unit_test(a_refusal_by_the_driver_is_reported_to_the_daemon),
		cmocka_unit_test(copies_yield_to_staging_and_mapped_units),
		cmocka_unit_test(only_as_many_copies_yield_as_a_mapped_unit_needs),
		cmocka_unit_test(copies_yield_to_an_allocation_that_must_be_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
