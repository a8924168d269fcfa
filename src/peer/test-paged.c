/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Memory that the driver pages: reported to the daemon, held in no account, ordered in and out with
 * the turns.
 */

#include "peer/test-fixture.h"

#include "base/util.h"

static const uint64_t two[] = { 4, 6 };

static void paged_memory_is_reported_in_addition_to_the_units(void **state)
{
	struct fixture f;
	const struct slu_message *m;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_in_ram(&f, 4);
	slu_peer_reports_set_paged(f.peer, f.now_ns, 0, 300);
	assert_int_equal(slu_peer_turn_want_open(f.peer, f.now_ns, 0), SLU_PEER_E_WAIT);
	fixture_step(&f);
	m = fixture_said(&f, SLU_MSG_WANT);
	assert_non_null(m);
	assert_int_equal(m->want.min_bytes, 4);
	assert_int_equal(m->want.all_bytes, 304);
	assert_int_equal(m->want.largest_bytes, 4);
	assert_int_equal(fixture_held(&f, DEVICE0), 0);
	assert_int_equal(fixture_held(&f, PAGEABLE), 4);
	fixture_deinit(&f);
}

static void a_gate_opens_without_paged_memory(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 100);
	fixture_in_ram(&f, 4);
	slu_peer_reports_set_paged(f.peer, f.now_ns, 0, 300);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, 4, 4, SLU_PACE_NOW);
	fixture_finish_moves(&f);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

static void it_goes_out_when_a_limit_at_rest_does_not_cover_it(void **state)
{
	struct fixture f;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	slu_peer_reports_set_paged(f.peer, f.now_ns, 0, 50);
	fixture_limit(&f, DEVICE0, 2, 60, 60, SLU_PACE_NOW);
	/* it comes when it is touched, and the gate is open */
	assert_int_equal(f.n_pages, 0);
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, false);
	assert_int_equal(f.n_pages, 0);
	fixture_limit(&f, DEVICE0, 3, 40, 40, SLU_PACE_NONE);
	assert_int_equal(f.n_pages, 1);
	assert_false(f.page.is_in);
	assert_int_equal(f.page.bytes, 30);
	/* the answer does not wait for it */
	assert_int_equal(fixture_sums(&f, DEVICE0)->ceiling_bytes, 40);
	fixture_limit(&f, DEVICE0, 4, 0, 0, SLU_PACE_NONE);
	assert_int_equal(f.page.bytes, 0);
	slu_peer_paging_done(f.peer, 0);
	fixture_deinit(&f);
}

/* At rest with 50 bytes of paged memory that went out. */
static void fixture_paged_out(struct fixture *f)
{
	fixture_running(f, SLU_MODE_ALL, two, 2);
	slu_peer_reports_set_paged(f->peer, f->now_ns, 0, 50);
	fixture_limit(f, DEVICE0, 2, 60, 60, SLU_PACE_NOW);
	fixture_close(f, EPOCH(1));
	fixture_drained(f, false);
	fixture_limit(f, DEVICE0, 3, 10, 10, SLU_PACE_NONE);
	assert_int_equal(f->page.bytes, 0);
	slu_peer_paging_done(f->peer, 0);
	fixture_step(f);
}

static void the_gate_waits_for_what_the_turn_gives_it(void **state)
{
	struct fixture f;

	fixture_paged_out(&f);
	fixture_turn(&f, EPOCH(2));
	assert_int_equal(f.n_opened, 0);
	fixture_limit(&f, DEVICE0, 4, 40, 60, SLU_PACE_NOW);
	assert_int_equal(f.n_pages, 1);
	assert_true(f.page.is_in);
	assert_int_equal(f.page.bytes, 30);
	/* the rest of the credit follows */
	slu_peer_paging_done(f.peer, 0);
	fixture_step(&f);
	assert_int_equal(f.n_opened, 0);
	fixture_limit(&f, DEVICE0, 5, 60, 60, SLU_PACE_NOW);
	assert_int_equal(f.page.bytes, 50);
	assert_int_equal(f.n_opened, 0);
	slu_peer_paging_done(f.peer, 0);
	fixture_step(&f);
	assert_int_equal(f.n_opened, 1);
	fixture_deinit(&f);
}

static void the_gate_waits_for_no_more_than_the_goal(void **state)
{
	struct fixture f;

	fixture_paged_out(&f);
	fixture_turn(&f, EPOCH(2));
	fixture_limit(&f, DEVICE0, 4, 30, 30, SLU_PACE_NOW);
	assert_int_equal(f.page.bytes, 20);
	slu_peer_paging_done(f.peer, 0);
	fixture_step(&f);
	assert_int_equal(f.n_opened, 1);
	/* more comes in while it runs */
	fixture_limit(&f, DEVICE0, 5, 60, 60, SLU_PACE_NOW);
	assert_int_equal(f.n_pages, 1);
	assert_int_equal(f.page.bytes, 50);
	fixture_deinit(&f);
}

static void a_daemon_that_gives_nothing_keeps_no_gate_shut(void **state)
{
	struct fixture f;

	fixture_paged_out(&f);
	fixture_turn(&f, EPOCH(2));
	assert_int_equal(f.n_opened, 0);
	assert_true(slu_peer_deadline_ns(f.peer) != SLU_PEER_NEVER);
	fixture_wait(&f, SLU_NS_PER_S);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

static void a_lost_daemon_keeps_no_gate_shut(void **state)
{
	struct fixture f;

	fixture_paged_out(&f);
	slu_peer_connection_lost(f.peer, f.now_ns);
	slu_peer_alone_run(f.peer, f.now_ns, true);
	fixture_step(&f);
	assert_true(slu_peer_view_gate_is_open(f.peer, 0));
	fixture_deinit(&f);
}

static void paged_memory_at_rest_is_no_floor(void **state)
{
	struct fixture f;
	const struct slu_message *m;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	slu_peer_reports_set_paged(f.peer, f.now_ns, 0, 300);
	fixture_limit(&f, DEVICE0, 2, 100, 100, SLU_PACE_NOW);
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, false);
	m = fixture_said(&f, SLU_MSG_REST);
	assert_non_null(m);
	assert_int_equal(m->rest.floor_bytes, 0);
	/* the bytes are given back with the answer */
	fixture_limit(&f, DEVICE0, 3, 10, 10, SLU_PACE_NONE);
	assert_int_equal(fixture_sums(&f, DEVICE0)->ceiling_bytes, 10);
	assert_int_equal(f.n_moves, 0);
	fixture_deinit(&f);
}

static void a_change_in_a_turn_is_reported_a_little_later(void **state)
{
	struct fixture f;
	const struct slu_message *m;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	fixture_wait(&f, SLU_NS_PER_S);
	slu_peer_reports_set_paged(f.peer, f.now_ns, 0, 300);
	fixture_step(&f);
	assert_null(fixture_said(&f, SLU_MSG_WANT));
	fixture_wait(&f, SLU_NS_PER_S);
	m = fixture_said(&f, SLU_MSG_WANT);
	assert_non_null(m);
	assert_int_equal(m->want.min_bytes, 10);
	assert_int_equal(m->want.all_bytes, 310);
	m = fixture_said(&f, SLU_MSG_FACTS);
	assert_non_null(m);
	assert_int_equal(m->facts.frozen_bytes[SLU_FROZEN_MANAGED], 300);
	assert_int_equal(m->facts.device_bytes, 10);

	slu_peer_reports_set_paged(f.peer, f.now_ns, 0, 0);
	fixture_wait(&f, SLU_NS_PER_S);
	assert_int_equal(fixture_said(&f, SLU_MSG_WANT)->want.all_bytes, 10);
	assert_int_equal(fixture_said(&f, SLU_MSG_FACTS)->facts.frozen_bytes[SLU_FROZEN_MANAGED],
			 0);
	fixture_deinit(&f);
}

static void paged_memory_is_reported_to_a_new_daemon(void **state)
{
	struct fixture f;
	const struct slu_message *m;

	fixture_running(&f, SLU_MODE_ALL, two, 2);
	slu_peer_reports_set_paged(f.peer, f.now_ns, 0, 300);
	slu_peer_connection_lost(f.peer, f.now_ns);
	slu_peer_connection_made(f.peer, f.now_ns);
	fixture_step(&f);
	m = fixture_said(&f, SLU_MSG_HELLO);
	assert_non_null(m);
	assert_int_equal(m->hello.devices[0].held_bytes, 10);
	assert_int_equal(m->hello.devices[0].min_bytes, 10);
	assert_int_equal(m->hello.devices[0].all_bytes, 310);
	fixture_deinit(&f);
}

static void paged_memory_does_not_count_as_owned_by_the_program(void **state)
{
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, 1000);
	fixture_welcome(&f, 50);
	slu_peer_reports_set_paged(f.peer, f.now_ns, 0, 300);
	fixture_in_ram(&f, 50);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paged_memory_is_reported_in_addition_to_the_units),
		cmocka_unit_test(a_gate_opens_without_paged_memory),
		cmocka_unit_test(it_goes_out_when_a_limit_at_rest_does_not_cover_it),
		cmocka_unit_test(the_gate_waits_for_what_the_turn_gives_it),
		cmocka_unit_test(the_gate_waits_for_no_more_than_the_goal),
		cmocka_unit_test(a_daemon_that_gives_nothing_keeps_no_gate_shut),
		cmocka_unit_test(a_lost_daemon_keeps_no_gate_shut),
		cmocka_unit_test(paged_memory_at_rest_is_no_floor),
		cmocka_unit_test(a_change_in_a_turn_is_reported_a_little_later),
		cmocka_unit_test(paged_memory_is_reported_to_a_new_daemon),
		cmocka_unit_test(paged_memory_does_not_count_as_owned_by_the_program),
	};

	return cmocka_run_group_tests_name("paged", tests, NULL, NULL);
}
