/* SPDX-License-Identifier: Apache-2.0 */

/* A CLOSE waits for the end of an iteration that is near, and for nothing else (rule 50). */

#include "lib/test.h"

#include "peer/test-fixture.h"

enum { SCRATCH = 4, WEIGHTS = 6 };

#define STEP_NS	    SLU_NS_PER_MS
#define NS_PER_MIB  (STEP_NS * SLU_MIB) /* a step a byte */
#define DEADLINE_NS (400 * SLU_NS_PER_MS)

static const uint64_t weights[] = { WEIGHTS };

/* Point a with the scratch memory there, then point b without it: b is the boundary. */
static struct slu_unit *iterate_half(struct fixture *f)
{
	struct slu_unit *scratch = fixture_on_device(f, SCRATCH);

	f->now_ns += STEP_NS;
	slu_peer_boundary_meet(f->peer, f->now_ns, 0, 'a');
	return scratch;
}

static void iterate_rest(struct fixture *f, struct slu_unit *scratch)
{
	f->now_ns += STEP_NS;
	slu_peer_alloc_released(f->peer, f->now_ns, scratch);
	f->n_units--;
	slu_peer_boundary_meet(f->peer, f->now_ns, 0, 'b');
	fixture_step(f);
}

/* In its turn, with known iterations, copies out of known speed, and credit for the scratch. */
static void fixture_iterating(struct fixture *f)
{
	fixture_running(f, SLU_MODE_ALL, weights, 1);
	fixture_limit(f, DEVICE0, 2, 20, 20, SLU_PACE_NOW);
	for (unsigned i = 0; i < 4; i++)
		iterate_rest(f, iterate_half(f));
	slu_peer_boundary_set_speed(f->peer, 0, NS_PER_MIB);
}

static void close_with(struct fixture *f, uint64_t deadline_ns)
{
	struct slu_message m = { .close = { .epoch = EPOCH(1), .deadline_ns = deadline_ns } };

	fixture_hear(f, SLU_MSG_CLOSE, &m);
	fixture_step(f);
}

static void assert_rests(struct fixture *f)
{
	assert_int_equal(f->n_shut, 1);
	fixture_drained(f, false);
	assert_non_null(fixture_said(f, SLU_MSG_REST));
	assert_true(slu_epoch_equal(fixture_said(f, SLU_MSG_REST)->rest.epoch, EPOCH(1)));
	assert_null(fixture_said_nth(f, SLU_MSG_REST, 1));
}

static void a_turn_ends_at_the_boundary_that_is_near(void **state)
{
	struct slu_unit *scratch;
	struct fixture f;

	fixture_iterating(&f);
	scratch = iterate_half(&f);
	close_with(&f, DEADLINE_NS);
	assert_int_equal(f.n_shut, 0);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	assert_true(slu_peer_deadline_ns(f.peer) <= f.now_ns + SCRATCH * STEP_NS);
	iterate_rest(&f, scratch);
	assert_rests(&f);
	fixture_deinit(&f);
}

static void a_boundary_that_does_not_come_is_waited_for_as_long_as_the_copies_take(void **state)
{
	struct fixture f;

	fixture_iterating(&f);
	iterate_half(&f);
	close_with(&f, DEADLINE_NS);
	fixture_wait(&f, SCRATCH * STEP_NS - 1);
	assert_int_equal(f.n_shut, 0);
	fixture_wait(&f, 1);
	assert_rests(&f);
	fixture_deinit(&f);
}

static void a_quarter_of_the_deadline_bounds_the_wait(void **state)
{
	struct fixture f;

	fixture_iterating(&f);
	iterate_half(&f);
	close_with(&f, 8 * STEP_NS);
	fixture_wait(&f, 2 * STEP_NS - 1);
	assert_int_equal(f.n_shut, 0);
	fixture_wait(&f, 1);
	assert_rests(&f);
	fixture_deinit(&f);
}

static void a_turn_ends_at_once(struct fixture *f)
{
	close_with(f, DEADLINE_NS);
	assert_rests(f);
	fixture_deinit(f);
}

static void a_turn_at_a_boundary_ends_at_once(void **state)
{
	struct fixture f;

	fixture_iterating(&f);
	a_turn_ends_at_once(&f);
}

static void bytes_that_are_in_no_allocation_are_no_reason_to_wait(void **state)
{
	struct fixture f;

	fixture_iterating(&f);
	iterate_half(&f);
	slu_peer_boundary_set_unused(f.peer, 0, SCRATCH);
	a_turn_ends_at_once(&f);
}

static void a_boundary_that_is_too_far_is_not_waited_for(void **state)
{
	struct fixture f;

	fixture_iterating(&f);
	iterate_half(&f);
	slu_peer_boundary_set_speed(f.peer, 0, NS_PER_MIB / SCRATCH - 1);
	a_turn_ends_at_once(&f);
}

static void a_boundary_that_is_long_overdue_is_not_waited_for(void **state)
{
	struct fixture f;

	fixture_iterating(&f);
	iterate_half(&f);
	f.now_ns += 4 * STEP_NS;
	a_turn_ends_at_once(&f);
}

static void a_program_of_whose_copies_nothing_is_known_does_not_wait(void **state)
{
	struct fixture f;

	fixture_iterating(&f);
	iterate_half(&f);
	slu_peer_boundary_set_speed(f.peer, 0, 0);
	a_turn_ends_at_once(&f);
}

static void a_program_without_iterations_does_not_wait(void **state)
{
	struct slu_unit *scratch;
	struct fixture f;

	fixture_iterating(&f);
	scratch = iterate_half(&f);
	slu_peer_boundary_meet(f.peer, f.now_ns, 0, 'x');
	iterate_rest(&f, scratch);
	iterate_half(&f);
	a_turn_ends_at_once(&f);
}

static void an_allocation_that_waits_ends_the_wait(void **state)
{
	struct fixture f;

	fixture_iterating(&f);
	iterate_half(&f);
	close_with(&f, DEADLINE_NS);
	assert_int_equal(f.n_shut, 0);
	assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, fixture_unit(&f, 90)), SLU_PEER_E_WAIT);
	fixture_step(&f);
	assert_int_equal(f.n_shut, 1);
	fixture_drained(&f, false);
	assert_non_null(fixture_said(&f, SLU_MSG_REST));
	fixture_deinit(&f);
}

static void a_second_close_of_the_turn_changes_nothing(void **state)
{
	struct slu_unit *scratch;
	struct fixture f;

	fixture_iterating(&f);
	scratch = iterate_half(&f);
	close_with(&f, DEADLINE_NS);
	fixture_wait(&f, STEP_NS / 2);
	close_with(&f, DEADLINE_NS);
	assert_int_equal(f.n_shut, 0);
	iterate_rest(&f, scratch);
	assert_rests(&f);
	fixture_deinit(&f);
}

static void a_wait_ends_with_the_connection(void **state)
{
	struct slu_unit *scratch;
	struct fixture f;

	fixture_iterating(&f);
	scratch = iterate_half(&f);
	close_with(&f, DEADLINE_NS);
	slu_peer_connection_lost(f.peer, f.now_ns);
	iterate_rest(&f, scratch);
	assert_int_equal(f.n_shut, 0);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

static void of_a_program_that_tells_only_the_boundaries_count_that_it_tells(void **state)
{
	struct fixture f;

	fixture_iterating(&f);
	iterate_half(&f);
	for (unsigned i = 0; i < 2; i++) {
		f.now_ns += STEP_NS;
		slu_peer_boundary_tell(f.peer, f.now_ns, 0, SCRATCH);
	}
	close_with(&f, DEADLINE_NS);
	slu_peer_boundary_meet(f.peer, f.now_ns, 0, 'b');
	fixture_step(&f);
	assert_int_equal(f.n_shut, 0);
	slu_peer_boundary_tell(f.peer, f.now_ns, 0, SCRATCH);
	fixture_step(&f);
	assert_rests(&f);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_ends_at_the_boundary_that_is_near),
		cmocka_unit_test(
			a_boundary_that_does_not_come_is_waited_for_as_long_as_the_copies_take),
		cmocka_unit_test(a_quarter_of_the_deadline_bounds_the_wait),
		cmocka_unit_test(a_turn_at_a_boundary_ends_at_once),
		cmocka_unit_test(bytes_that_are_in_no_allocation_are_no_reason_to_wait),
		cmocka_unit_test(a_boundary_that_is_too_far_is_not_waited_for),
		cmocka_unit_test(a_boundary_that_is_long_overdue_is_not_waited_for),
		cmocka_unit_test(a_program_of_whose_copies_nothing_is_known_does_not_wait),
		cmocka_unit_test(a_program_without_iterations_does_not_wait),
		cmocka_unit_test(an_allocation_that_waits_ends_the_wait),
		cmocka_unit_test(a_second_close_of_the_turn_changes_nothing),
		cmocka_unit_test(a_wait_ends_with_the_connection),
		cmocka_unit_test(of_a_program_that_tells_only_the_boundaries_count_that_it_tells),
	};

	return cmocka_run_group_tests_name("peer-boundary", tests, NULL, NULL);
}
