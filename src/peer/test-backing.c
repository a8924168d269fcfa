/* SPDX-License-Identifier: Apache-2.0 */

/* Where units have their backing: pageable memory or disk, and how that changes. */

#include "peer/test-fixture.h"

/* A unit allocated off turn whose backing is on disk, because host memory has no credit. */
static struct slu_unit *on_disk(struct fixture *f, uint64_t bytes)
{
	struct slu_unit *u = fixture_unit(f, bytes);

	assert_int_equal(slu_peer_alloc(f->peer, f->now_ns, u), SLU_PEER_E_RESERVE);
	assert_int_equal(slu_peer_alloc(f->peer, f->now_ns, u), SLU_PEER_E_IN_RAM);
	assert_true(u->on_disk);
	assert_int_equal(u->place, SLU_PLACE_DISK);
	fixture_step(f);
	return u;
}

static void shifted(struct fixture *f, struct slu_unit *u, enum slu_shift_result result)
{
	slu_peer_shift_done(f->peer, f->now_ns, u, result);
	fixture_step(f);
}

/* Finishes a unit whose backing is on its way. */
static void end(struct fixture *f)
{
	for (unsigned i = 0; i < f->n_units; i++)
		if (f->units[i].shift != SLU_SHIFT_NO)
			slu_peer_shift_done(f->peer, f->now_ns, &f->units[i], SLU_SHIFT_CANCELLED);
	fixture_deinit(f);
}

static void rule_4_an_extent_is_taken_before_the_allocation(void **state)
{
	struct slu_unit *u, *v;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 10);
	fixture_limit(&f, DISK, 1, 20, 20, SLU_PACE_NONE);
	fixture_in_ram(&f, 10);
	u = fixture_unit(&f, 15);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_RESERVE);
	assert_int_equal(fixture_held(&f, DISK), 15);
	fixture_step(&f);
	/* no other allocation may use reserved bytes */
	v = fixture_unit(&f, 6);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, v), SLU_PEER_E_WAIT);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_IN_RAM);
	assert_int_equal(u->place, SLU_PLACE_DISK);
	slu_peer_alloc_released(f.peer, f.now_ns, u);
	assert_int_equal(fixture_held(&f, DISK), 0);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, v), SLU_PEER_E_RESERVE);
	slu_peer_alloc_cancel(f.peer, f.now_ns, v);
	assert_int_equal(fixture_held(&f, DISK), 0);
	end(&f);
}

static void a_full_disk_refuses_the_allocation_and_says_so(void **state)
{
	const struct slu_msg_sums *sums;
	const struct slu_message *want;
	struct slu_unit *u;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 10);
	fixture_limit(&f, DISK, 1, 100, 100, SLU_PACE_NONE);
	u = fixture_unit(&f, 20);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_RESERVE);
	slu_peer_alloc_no_extent(f.peer, f.now_ns, u);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_WAIT);
	fixture_step(&f);
	sums = fixture_sums(&f, DISK);
	assert_non_null(sums);
	assert_int_equal(sums->refused_bytes, 20);
	assert_int_equal(sums->ceiling_bytes, 0);
	want = fixture_said(&f, SLU_MSG_WANT);
	assert_non_null(want);
	assert_int_equal(want->want.account.tier, SLU_TIER_PAGEABLE);
	/* requested ahead, then exactly, then denied */
	fixture_deny(&f, PAGEABLE);
	fixture_deny(&f, PAGEABLE);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, u), SLU_PEER_E_DENIED);
	end(&f);
}

static void a_unit_from_disk_leaves_for_disk(void **state)
{
	struct slu_unit *u;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 0);
	fixture_limit(&f, DISK, 1, 50, 50, SLU_PACE_NONE);
	u = on_disk(&f, 20);
	fixture_limit(&f, DEVICE0, 1, 20, 20, SLU_PACE_NOW);
	fixture_turn(&f, EPOCH(1));
	assert_int_equal(u->moving, SLU_MOVING_IN);
	fixture_moved(&f, u, SLU_MOVE_DONE);
	assert_int_equal(u->place, SLU_PLACE_DEVICE);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	assert_int_equal(fixture_held(&f, DISK), 20);
	u->device_version++;
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, false);
	fixture_limit(&f, DEVICE0, 2, 0, 0, SLU_PACE_NOW);
	fixture_moved(&f, u, SLU_MOVE_DONE);
	assert_int_equal(u->place, SLU_PLACE_DISK);
	end(&f);
}

static void the_last_used_unit_shifts_down_last(void **state)
{
	struct slu_unit *old, *new;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 40);
	new = fixture_in_ram(&f, 20);
	old = fixture_in_ram(&f, 20);
	new->last_use = 5;
	old->last_use = 3;
	fixture_limit(&f, PAGEABLE, 2, 20, 20, SLU_PACE_NOW);
	/* without free bytes on disk nothing can leave, and the daemon learns that */
	assert_null(f.shift);
	assert_true(fixture_sums(&f, PAGEABLE)->is_final);
	fixture_limit(&f, DISK, 1, 40, 40, SLU_PACE_NONE);
	assert_ptr_equal(f.shift, old);
	assert_int_equal(old->shift, SLU_SHIFT_DOWN);
	/* until the shift is done the unit counts on both sides */
	assert_int_equal(fixture_held(&f, PAGEABLE), 40);
	assert_int_equal(fixture_held(&f, DISK), 20);
	shifted(&f, old, SLU_SHIFT_DONE);
	assert_int_equal(old->place, SLU_PLACE_DISK);
	assert_int_equal(fixture_held(&f, PAGEABLE), 20);
	assert_int_equal(fixture_sums(&f, PAGEABLE)->ceiling_bytes, 20);
	assert_null(f.shift);
	end(&f);
}

static void backing_shifts_up_when_the_daemon_says_ahead(void **state)
{
	struct slu_unit *u, *v;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 0);
	fixture_limit(&f, DISK, 1, 50, 50, SLU_PACE_NONE);
	u = on_disk(&f, 20);
	v = on_disk(&f, 20);
	u->last_use = 1;
	v->last_use = 2;
	fixture_limit(&f, PAGEABLE, 1, 30, 30, SLU_PACE_NONE);
	assert_null(f.shift); /* this limit is for allocations */
	fixture_limit(&f, PAGEABLE, 2, 30, 40, SLU_PACE_AHEAD);
	assert_ptr_equal(f.shift, v);
	shifted(&f, v, SLU_SHIFT_DONE);
	assert_int_equal(v->place, SLU_PLACE_RAM);
	assert_false(v->on_disk);
	assert_int_equal(fixture_held(&f, DISK), 20);
	assert_null(f.shift); /* only half of it fits */
	end(&f);
}

static void a_turn_cancels_a_shift(void **state)
{
	struct slu_unit *u;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 20);
	u = fixture_in_ram(&f, 20);
	fixture_limit(&f, DISK, 1, 20, 20, SLU_PACE_NONE);
	fixture_limit(&f, PAGEABLE, 2, 0, 0, SLU_PACE_NOW);
	assert_ptr_equal(f.shift, u);
	assert_false(u->cancel);
	fixture_limit(&f, DEVICE0, 1, 20, 20, SLU_PACE_NOW);
	fixture_turn(&f, EPOCH(1));
	assert_true(u->cancel);
	assert_int_equal(u->moving, SLU_MOVING_NO);
	shifted(&f, u, SLU_SHIFT_CANCELLED);
	assert_int_equal(u->moving, SLU_MOVING_IN);
	assert_int_equal(fixture_held(&f, DISK), 0);
	fixture_moved(&f, u, SLU_MOVE_DONE);
	/* on the device only its backing changes, and the gate stays open */
	assert_ptr_equal(f.shift, u);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	shifted(&f, u, SLU_SHIFT_DONE);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	assert_true(u->on_disk);
	assert_int_equal(fixture_held(&f, PAGEABLE), 0);
	end(&f);
}

static void a_shift_that_finds_the_disk_full_is_tried_again_later(void **state)
{
	struct slu_unit *u;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 20);
	u = fixture_in_ram(&f, 20);
	fixture_limit(&f, DISK, 1, 20, 20, SLU_PACE_NONE);
	fixture_limit(&f, PAGEABLE, 2, 0, 0, SLU_PACE_NOW);
	assert_ptr_equal(f.shift, u);
	shifted(&f, u, SLU_SHIFT_REFUSED);
	assert_null(f.shift);
	assert_int_equal(fixture_sums(&f, DISK)->refused_bytes, 20);
	assert_int_equal(u->place, SLU_PLACE_RAM);
	fixture_limit(&f, DISK, 2, 20, 20, SLU_PACE_NONE);
	assert_null(f.shift);
	fixture_wait(&f, SLU_NS_PER_S);
	assert_ptr_equal(f.shift, u);
	end(&f);
}

static void a_failing_disk_never_fails_an_eviction(void **state)
{
	struct slu_unit *u, *away;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_LAUNCH, 0);
	fixture_limit(&f, DISK, 1, 60, 60, SLU_PACE_NONE);
	u = on_disk(&f, 20);
	away = on_disk(&f, 20);
	fixture_limit(&f, DEVICE0, 1, 20, 20, SLU_PACE_NOW);
	fixture_turn(&f, EPOCH(1));
	assert_int_equal(fixture_command(&f, &u, 1), 0);
	u->device_version++;
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, false);
	fixture_limit(&f, DEVICE0, 2, 0, 0, SLU_PACE_NOW);
	assert_int_equal(u->moving, SLU_MOVING_OUT);
	slu_peer_move_done(f.peer, f.now_ns, u, SLU_MOVE_FAILED);
	slu_peer_shift_disk_failed(f.peer, f.now_ns);
	fixture_step(&f);
	assert_false(u->on_disk);
	assert_true(away->on_disk);
	/* more than allowed, and reported */
	assert_int_equal(fixture_sums(&f, PAGEABLE)->held_bytes, 20);
	assert_int_equal(fixture_sums(&f, DISK)->ceiling_bytes, 20);
	fixture_wait(&f, SLU_NS_PER_S);
	fixture_moved(&f, u, SLU_MOVE_DONE);
	assert_int_equal(u->place, SLU_PLACE_RAM);
	assert_int_equal(fixture_held(&f, DEVICE0), 0);
	/* no unit gets an extent any more or asks for one */
	fixture_limit(&f, DISK, 2, 100, 100, SLU_PACE_NONE);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, fixture_unit(&f, 5)), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.largest_bytes, 0);
	end(&f);
}

static void credit_for_disk_dies_with_the_connection(void **state)
{
	const struct slu_message *hello;
	struct fixture f;

	(void)state;
	fixture_init(&f, SLU_MODE_ALL, 0);
	fixture_limit(&f, DISK, 1, 50, 50, SLU_PACE_NONE);
	on_disk(&f, 20);
	slu_peer_connection_lost(f.peer, f.now_ns);
	fixture_step(&f);
	slu_peer_connection_made(f.peer, f.now_ns);
	fixture_step(&f);
	hello = fixture_said(&f, SLU_MSG_HELLO);
	assert_int_equal(hello->hello.disk_held_bytes, 20);
	fixture_welcome(&f, 0);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, fixture_unit(&f, 5)), SLU_PEER_E_WAIT);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rule_4_an_extent_is_taken_before_the_allocation),
		cmocka_unit_test(a_full_disk_refuses_the_allocation_and_says_so),
		cmocka_unit_test(a_unit_from_disk_leaves_for_disk),
		cmocka_unit_test(the_last_used_unit_shifts_down_last),
		cmocka_unit_test(backing_shifts_up_when_the_daemon_says_ahead),
		cmocka_unit_test(a_turn_cancels_a_shift),
		cmocka_unit_test(a_shift_that_finds_the_disk_full_is_tried_again_later),
		cmocka_unit_test(a_failing_disk_never_fails_an_eviction),
		cmocka_unit_test(credit_for_disk_dies_with_the_connection),
	};

	return cmocka_run_group_tests_name("peer backing", tests, NULL, NULL);
}
