/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A program with many units: frequent steps must cost the same with ten thousand units as with ten.
 * Scans of all units are counted, so no clock is needed.
 */

#include "peer/test-fixture.h"

#define MANY 10000

struct cost {
	uint64_t n_scans;
	unsigned n_messages;
};

static struct cost cost_since(struct fixture *f, struct cost before)
{
	return (struct cost){
		.n_scans = slu_peer_view_n_scans(f->peer) - before.n_scans,
		.n_messages = f->n_messages,
	};
}

/* As fixture_step() without the check, which goes through all units itself. */
static void step(struct fixture *f)
{
	struct slu_peer_action a;

	slu_peer_step(f->peer, f->now_ns);
	while (slu_peer_take_action(f->peer, &a) > 0) {
		assert_int_not_equal(a.kind, SLU_PEER_MOVE);
		f->n_messages += a.kind == SLU_PEER_SEND;
	}
}

static struct cost begin(struct fixture *f)
{
	f->n_messages = 0;
	return (struct cost){ .n_scans = slu_peer_view_n_scans(f->peer) };
}

static struct slu_unit *make_units(void)
{
	struct slu_unit *units = calloc(MANY, sizeof(*units));

	assert_non_null(units);
	for (unsigned i = 0; i < MANY; i++)
		units[i].bytes = 1 + i % 7;
	return units;
}

static void free_units(struct fixture *f, struct slu_unit *units)
{
	struct cost before, cost;

	before = begin(f);
	for (unsigned i = 1; i < MANY; i++) {
		slu_peer_alloc_released(f->peer, f->now_ns, &units[i]);
		step(f);
	}
	cost = cost_since(f, before);
	assert_int_equal(cost.n_scans, 0);
	assert_int_equal(cost.n_messages, 0);
	/* after the last one the moved bytes are reported, if there are any */
	slu_peer_alloc_released(f->peer, f->now_ns, &units[0]);
	step(f);
	slu_peer_check(f->peer);
	free(units);
	fixture_deinit(f);
}

static void allocations_in_a_turn_scan_and_send_nothing(void **state)
{
	static const enum slu_mode modes[] = { SLU_MODE_ALL, SLU_MODE_MAPPED };

	for (unsigned m = 0; m < SLU_ARRAY_SIZE(modes); m++) {
		struct slu_unit *units = make_units();
		struct cost before, cost;
		struct fixture f;

		fixture_init(&f, modes[m], MANY * 8);
		fixture_turn(&f, EPOCH(1));
		fixture_limit(&f, DEVICE0, 1, MANY * 8, MANY * 8, SLU_PACE_NOW);
		assert_true(slu_peer_view_gate_is_open(f.peer, 0));
		before = begin(&f);
		for (unsigned i = 0; i < MANY; i++) {
			assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, &units[i]), 0);
			step(&f);
		}
		cost = cost_since(&f, before);
		assert_int_equal(cost.n_scans, 0);
		assert_int_equal(cost.n_messages, 0);
		slu_peer_check(f.peer);
		free_units(&f, units);
	}
}

static void allocations_off_turn_scan_and_send_nothing(void **state)
{
	struct slu_unit *units = make_units();
	struct cost before, cost;
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, MANY * 8);
	before = begin(&f);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, &units[i]), SLU_PEER_E_IN_RAM);
		step(&f);
	}
	cost = cost_since(&f, before);
	assert_int_equal(cost.n_scans, 0);
	assert_int_equal(cost.n_messages, 0);
	free_units(&f, units);
}

static void commands_with_present_units_scan_no_others(void **state)
{
	struct slu_unit *units = make_units(), *command[3];
	struct cost before, cost;
	struct fixture f;

	fixture_init(&f, SLU_MODE_LAUNCH, MANY * 8);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, &units[i]), SLU_PEER_E_IN_RAM);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, MANY, MANY, SLU_PACE_NOW);
	for (unsigned i = 0; i < SLU_ARRAY_SIZE(command); i++)
		command[i] = &units[i * 1000];
	assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, command, 3), SLU_PEER_E_WAIT);
	fixture_step(&f);
	while (f.n_moves)
		for (unsigned i = 0; i < 3; i++)
			if (command[i]->moving != SLU_MOVING_NO)
				fixture_moved(&f, command[i], SLU_MOVE_DONE);

	before = begin(&f);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(slu_peer_command_name(f.peer, f.now_ns, 0, command, 3), 0);
		slu_peer_command_unname(f.peer, command, 3);
		step(&f);
	}
	cost = cost_since(&f, before);
	assert_int_equal(cost.n_scans, 0);
	assert_int_equal(cost.n_messages, 0);
	free_units(&f, units);
}

/* A switch looks at all units to choose each one, but not more often than units move. */
static void a_fill_scans_once_per_unit(void **state)
{
	struct slu_unit *units = make_units();
	struct cost before, cost;
	unsigned n_moved = 0;
	struct fixture f;

	fixture_init(&f, SLU_MODE_ALL, MANY * 8);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(slu_peer_alloc(f.peer, f.now_ns, &units[i]), SLU_PEER_E_IN_RAM);
	before = begin(&f);
	fixture_turn(&f, EPOCH(1));
	fixture_limit(&f, DEVICE0, 1, MANY, MANY, SLU_PACE_NOW);
	for (unsigned i = 0; !slu_peer_view_gate_is_open(f.peer, 0); i = (i + 1) % 100)
		if (units[i].moving != SLU_MOVING_NO) {
			fixture_moved(&f, &units[i], SLU_MOVE_DONE);
			n_moved++;
		}
	cost = cost_since(&f, before);
	assert_int_equal(n_moved, 100);
	assert_true(cost.n_scans <= 4 * 100);
	for (unsigned i = 0; i < 100; i++)
		slu_peer_alloc_released(f.peer, f.now_ns, &units[i]);
	free(units);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocations_in_a_turn_scan_and_send_nothing),
		cmocka_unit_test(allocations_off_turn_scan_and_send_nothing),
		cmocka_unit_test(commands_with_present_units_scan_no_others),
		cmocka_unit_test(a_fill_scans_once_per_unit),
	};

	return cmocka_run_group_tests_name("many", tests, NULL, NULL);
}
