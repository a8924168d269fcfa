/* SPDX-License-Identifier: Apache-2.0 */

/* The client's half with two devices in mode LAUNCH: units that both of them use. */

#include "peer/test-fixture.h"

#include <stdlib.h>
#include <unistd.h>

#define DEVICE1 ((struct slu_account){ SLU_TIER_DEVICE, 1 })

static const struct slu_account accounts[] = { { SLU_TIER_DEVICE, 0 }, { SLU_TIER_DEVICE, 1 } };

static void turn(struct fixture *f, unsigned device, uint64_t counter)
{
	struct slu_message m = { .turn = { .device = (uint8_t)device, .epoch = EPOCH(counter) } };

	fixture_hear(f, SLU_MSG_TURN, &m);
	fixture_step(f);
}

static void close_turn(struct fixture *f, unsigned device, uint64_t counter)
{
	struct slu_message m = { .close = { .device = (uint8_t)device, .epoch = EPOCH(counter) } };

	fixture_hear(f, SLU_MSG_CLOSE, &m);
	fixture_step(f);
	if (f->n_shut) {
		slu_peer_turn_drained(f->peer, f->now_ns, device, false);
		fixture_step(f);
	}
}

/* Two devices, joined, with no turn: new units are allocated in RAM. */
static void init_two(struct fixture *f)
{
	struct slu_peer_config config = {
		.program = "crossing",
		.refusal_pause_ns = FIXTURE_PAUSE_NS,
		.idle_ns = FIXTURE_IDLE_NS,
		.answer_ns = FIXTURE_ANSWER_NS,
	};

	memset(f, 0, sizeof(*f));
	f->now_ns = SLU_NS_PER_S;
	assert_int_equal(slu_peer_new(&config, &f->peer), 0);
	for (int i = 0; i < 2; i++) {
		struct slu_hello_device identity = { .name = "device", .total_bytes = 100 };

		identity.uuid[0] = (uint8_t)(1 + i);
		assert_int_equal(slu_peer_device_add(f->peer, &identity, SLU_MODE_LAUNCH), i);
	}
	slu_peer_connection_made(f->peer, f->now_ns);
	fixture_step(f);
	fixture_welcome(f, 0);
	fixture_limit(f, PAGEABLE, 1, 1000, 1000, SLU_PACE_NONE);
}

static void begin_turns(struct fixture *f, uint64_t window)
{
	for (unsigned i = 0; i < 2; i++) {
		turn(f, i, 1);
		fixture_limit(f, accounts[i], 1, window, window, SLU_PACE_NOW);
	}
}

static void deinit_two(struct fixture *f)
{
	for (unsigned i = 0; i < f->n_units; i++)
		if (f->units[i].moving != SLU_MOVING_NO)
			slu_peer_move_done(f->peer, f->now_ns, &f->units[i], SLU_MOVE_CANCELLED);
	for (unsigned i = 0; i < 2; i++) {
		while (!TAILQ_EMPTY(slu_peer_view_units(f->peer, i)))
			slu_peer_alloc_released(f->peer, f->now_ns,
						TAILQ_FIRST(slu_peer_view_units(f->peer, i)));
		assert_int_equal(fixture_held(f, accounts[i]), 0);
	}
	assert_int_equal(fixture_held(f, PAGEABLE), 0);
	slu_peer_free(f->peer);
}

static int name(struct fixture *f, unsigned device, struct slu_unit *const *units, size_t n)
{
	int r = slu_peer_command_name(f->peer, f->now_ns, device, units, n);

	fixture_step(f);
	return r;
}

static void run(struct fixture *f, unsigned device, struct slu_unit *const *units, size_t n)
{
	int r;

	for (unsigned i = 0; (r = name(f, device, units, n)) == SLU_PEER_E_WAIT; i++) {
		assert_true(i < 100);
		fixture_finish_moves(f);
		fixture_wait(f, FIXTURE_ANSWER_NS);
		fixture_finish_moves(f);
	}
	assert_int_equal(r, 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(units[i]->device, device);
	slu_peer_command_unname(f->peer, units, n);
	fixture_step(f);
}

static void a_unit_that_is_away_goes_to_the_device_that_names_it(void **state)
{
	const struct slu_message *m;
	struct slu_unit *u[1];
	struct fixture f;

	init_two(&f);
	u[0] = fixture_in_ram(&f, 6);
	assert_int_equal(name(&f, 1, u, 1), SLU_PEER_E_WAIT);
	m = fixture_said(&f, SLU_MSG_WANT);
	assert_non_null(m);
	assert_int_equal(m->want.account.device, 1);
	assert_int_equal(m->want.min_bytes, 6);
	assert_int_equal(m->want.all_bytes, 6);
	turn(&f, 1, 1);
	fixture_limit(&f, DEVICE1, 1, 6, 6, SLU_PACE_NOW);
	assert_int_equal(name(&f, 1, u, 1), SLU_PEER_E_WAIT);
	assert_int_equal(u[0]->device, 1);
	assert_int_equal(u[0]->moving, SLU_MOVING_IN);
	fixture_moved(&f, u[0], SLU_MOVE_DONE);
	assert_int_equal(name(&f, 1, u, 1), 0);
	assert_int_equal(fixture_held(&f, DEVICE0), 0);
	assert_int_equal(fixture_held(&f, DEVICE1), 6);
	slu_peer_command_unname(f.peer, u, 1);
	deinit_two(&f);
}

static void a_unit_leaves_one_device_for_the_other(void **state)
{
	struct slu_unit *u[2], *other;
	struct fixture f;

	init_two(&f);
	u[0] = fixture_in_ram(&f, 6);
	u[1] = fixture_in_ram(&f, 3);
	other = fixture_in_ram(&f, 4);
	begin_turns(&f, 10);
	run(&f, 0, u, 1);
	run(&f, 1, &other, 1);
	u[0]->device_version = u[0]->host_version + 1;

	/* it stays while a command on the first device names it */
	assert_int_equal(name(&f, 0, u, 1), 0);
	assert_int_equal(name(&f, 1, u, 2), SLU_PEER_E_WAIT);
	assert_int_equal(u[0]->moving, SLU_MOVING_NO);
	slu_peer_command_unname(f.peer, u, 1);
	fixture_step(&f);
	assert_int_equal(u[0]->device, 0);
	assert_int_equal(u[0]->moving, SLU_MOVING_OUT);
	/* the move is not reversed, though the unit would fit */
	assert_int_equal(name(&f, 0, u, 1), SLU_PEER_E_WAIT);
	assert_false(u[0]->cancel);
	fixture_moved(&f, u[0], SLU_MOVE_DONE);
	assert_int_equal(u[0]->device, 1);
	assert_int_equal(u[0]->host_version, u[0]->device_version);
	run(&f, 1, u, 2);
	assert_int_equal(fixture_held(&f, DEVICE0), 0);
	assert_int_equal(fixture_held(&f, DEVICE1), 9);
	run(&f, 0, u, 1);
	assert_int_equal(fixture_held(&f, DEVICE0), 6);
	deinit_two(&f);
}

/* Each has what the other waits for: one of them gets both, then the other. */
static void commands_that_need_the_same_units_run_one_after_the_other(void **state)
{
	struct slu_unit *u[2], *v[2];
	bool is_done[2] = { false };
	struct fixture f;

	init_two(&f);
	u[0] = v[1] = fixture_in_ram(&f, 4);
	u[1] = v[0] = fixture_in_ram(&f, 5);
	begin_turns(&f, 10);
	run(&f, 0, u, 1);
	run(&f, 1, v, 1);
	for (unsigned i = 0; i < 100 && !(is_done[0] && is_done[1]); i++) {
		for (unsigned d = 0; d < 2; d++) {
			struct slu_unit **units = d ? v : u;

			if (is_done[d] || name(&f, d, units, 2))
				continue;
			is_done[d] = true;
			slu_peer_command_unname(f.peer, units, 2);
			fixture_step(&f);
		}
		for (unsigned k = 0; k < f.n_units; k++)
			if (f.units[k].moving != SLU_MOVING_NO) {
				fixture_moved(&f, &f.units[k],
					      f.units[k].cancel ? SLU_MOVE_CANCELLED
								: SLU_MOVE_DONE);
				break;
			}
	}
	assert_true(is_done[0] && is_done[1]);
	deinit_two(&f);
}

static void a_unit_that_cannot_leave_is_used_where_it_is(void **state)
{
	struct slu_unit *mapped[1], *blocked[1];
	struct fixture f;

	init_two(&f);
	mapped[0] = fixture_in_ram(&f, 4);
	blocked[0] = fixture_in_ram(&f, 5);
	begin_turns(&f, 20);
	run(&f, 0, mapped, 1);
	run(&f, 0, blocked, 1);
	slu_peer_alloc_freeze(f.peer, f.now_ns, mapped[0], SLU_FROZEN_MAPPED);
	assert_int_equal(name(&f, 1, mapped, 1), 0);
	assert_int_equal(mapped[0]->device, 0);
	slu_peer_command_unname(f.peer, mapped, 1);

	assert_int_equal(name(&f, 1, blocked, 1), SLU_PEER_E_WAIT);
	assert_int_equal(blocked[0]->moving, SLU_MOVING_OUT);
	fixture_moved(&f, blocked[0], SLU_MOVE_BLOCKED);
	assert_true(f.n_woken);
	assert_int_equal(name(&f, 1, blocked, 1), 0);
	slu_peer_command_unname(f.peer, blocked, 1);

	slu_peer_alloc_freeze(f.peer, f.now_ns, mapped[0], SLU_FROZEN_NO);
	run(&f, 1, mapped, 1);
	assert_int_equal(fixture_held(&f, DEVICE0), 5);
	deinit_two(&f);
}

/* The unit's own device is at rest by then, and has reported that the unit cannot leave. */
static void a_unit_that_another_device_used_is_reported_when_it_can_leave(void **state)
{
	struct slu_unit *u[1];
	struct fixture f;

	init_two(&f);
	u[0] = fixture_in_ram(&f, 4);
	begin_turns(&f, 20);
	run(&f, 0, u, 1);
	slu_peer_alloc_freeze(f.peer, f.now_ns, u[0], SLU_FROZEN_MAPPED);
	assert_int_equal(name(&f, 1, u, 1), 0);
	slu_peer_alloc_freeze(f.peer, f.now_ns, u[0], SLU_FROZEN_NO);
	fixture_close(&f, EPOCH(1));
	fixture_drained(&f, false);
	assert_int_equal(fixture_said(&f, SLU_MSG_REST)->rest.floor_bytes, 4);
	f.now_ns += SLU_NS_PER_S;
	fixture_step(&f);

	slu_peer_command_unname(f.peer, u, 1);
	fixture_step(&f);
	assert_non_null(fixture_sums(&f, DEVICE0));
	assert_int_equal(fixture_sums(&f, DEVICE0)->floor_bytes, 0);
	deinit_two(&f);
}

static void a_command_without_a_turn_takes_nothing_from_others(void **state)
{
	struct slu_unit *u[1];
	struct fixture f;

	init_two(&f);
	u[0] = fixture_in_ram(&f, 4);
	begin_turns(&f, 10);
	run(&f, 0, u, 1);
	close_turn(&f, 1, 1);
	assert_int_equal(name(&f, 1, u, 1), SLU_PEER_E_WAIT);
	assert_int_equal(u[0]->moving, SLU_MOVING_NO);
	run(&f, 0, u, 1);
	/* nor a command whose window is too small for it */
	fixture_limit(&f, DEVICE1, 2, 3, 3, SLU_PACE_NOW);
	turn(&f, 1, 2);
	assert_int_equal(name(&f, 1, u, 1), SLU_PEER_E_WAIT);
	assert_int_equal(u[0]->moving, SLU_MOVING_NO);
	fixture_limit(&f, DEVICE1, 3, 4, 4, SLU_PACE_NOW);
	run(&f, 1, u, 1);
	deinit_two(&f);
}

static void without_a_daemon_a_unit_stays_where_it_is(void **state)
{
	struct slu_unit *u[1];
	struct fixture f;

	init_two(&f);
	u[0] = fixture_in_ram(&f, 4);
	begin_turns(&f, 10);
	run(&f, 0, u, 1);
	slu_peer_connection_lost(f.peer, f.now_ns);
	slu_peer_alone_run(f.peer, f.now_ns, true);
	fixture_step(&f);
	assert_int_equal(name(&f, 1, u, 1), 0);
	assert_int_equal(u[0]->device, 0);
	slu_peer_command_unname(f.peer, u, 1);
	deinit_two(&f);
}

static void no_command_waits_for_a_unit_that_is_released(void **state)
{
	struct slu_unit *u[1], *v[1];
	struct fixture f;

	init_two(&f);
	u[0] = fixture_in_ram(&f, 4);
	v[0] = fixture_in_ram(&f, 5);
	begin_turns(&f, 10);
	run(&f, 0, u, 1);
	assert_int_equal(name(&f, 0, u, 1), 0);
	assert_int_equal(name(&f, 1, u, 1), SLU_PEER_E_WAIT);
	slu_peer_command_unname(f.peer, u, 1);
	slu_peer_alloc_released(f.peer, f.now_ns, u[0]);
	fixture_step(&f);
	run(&f, 1, v, 1);
	deinit_two(&f);
}

/* -- at random -------------------------------------------------------------------------------- */

#define N_UNITS	  8
#define N_THREADS 4
#define WINDOW	  12
#define STEPS	  20000

struct thread {
	unsigned device;
	struct slu_unit *units[3];
	size_t n;
	bool is_named;
};

static void choose(struct fixture *f, struct thread *t)
{
	t->device = (unsigned)random() % 2;
	t->n = 0;
	for (unsigned i = 0; i < N_UNITS && t->n < 3; i++)
		if (random() % 3 == 0)
			t->units[t->n++] = &f->units[i];
	if (!t->n)
		t->units[t->n++] = &f->units[random() % N_UNITS];
}

struct crowd {
	struct fixture f;
	struct thread threads[N_THREADS];
	uint64_t turns[2];
	bool is_open[2];
	unsigned n_run, n_crossed;
};

static void step_thread(struct crowd *c, struct thread *t)
{
	if (!t->is_named) {
		if (!t->n)
			choose(&c->f, t);
		t->is_named = !name(&c->f, t->device, t->units, t->n);
		return;
	}
	for (size_t i = 0; i < t->n; i++)
		assert_int_equal(t->units[i]->device, t->device);
	slu_peer_command_unname(c->f.peer, t->units, t->n);
	fixture_step(&c->f);
	t->is_named = false;
	t->n = 0;
	c->n_run++;
}

static void step_unit(struct crowd *c, struct slu_unit *u)
{
	unsigned before = u->device;

	if (u->moving == SLU_MOVING_NO)
		return;
	fixture_moved(&c->f, u, u->cancel ? SLU_MOVE_CANCELLED : SLU_MOVE_DONE);
	c->n_crossed += u->device != before;
}

static void step_turn(struct crowd *c, unsigned d)
{
	if (c->is_open[d] && random() % 100 == 0) {
		close_turn(&c->f, d, c->turns[d]);
		c->is_open[d] = false;
	} else if (!c->is_open[d] && random() % 20 == 0) {
		turn(&c->f, d, ++c->turns[d]);
		c->is_open[d] = true;
	}
}

/* With both turns open, every command that still waits gets through. */
static void end_all(struct crowd *c)
{
	size_t n_remaining = 1;

	for (unsigned d = 0; d < 2; d++)
		if (!c->is_open[d])
			turn(&c->f, d, ++c->turns[d]);
	for (unsigned round = 0; n_remaining; round++) {
		assert_true(round < 1000);
		n_remaining = 0;
		for (unsigned i = 0; i < N_THREADS; i++) {
			if (c->threads[i].n)
				step_thread(c, &c->threads[i]);
			n_remaining += c->threads[i].n;
		}
		fixture_finish_moves(&c->f);
		fixture_wait(&c->f, FIXTURE_ANSWER_NS);
	}
}

/* Units of 1 to 4, so that three of them always fit; turns are closed and opened again. */
static void random_commands_all_finish(void **state)
{
	const char *text = getenv("SLUICE_SEED");
	unsigned seed = text ? (unsigned)strtoul(text, NULL, 0) : (unsigned)getpid();
	struct crowd c = { .turns = { 1, 1 }, .is_open = { true, true } };

	print_message("# seed %u\n", seed);
	srandom(seed);
	init_two(&c.f);
	for (unsigned i = 0; i < N_UNITS; i++)
		fixture_in_ram(&c.f, 1 + i % 4);
	begin_turns(&c.f, WINDOW);
	for (unsigned step = 0; step < STEPS; step++) {
		step_thread(&c, &c.threads[random() % N_THREADS]);
		step_unit(&c, &c.f.units[random() % N_UNITS]);
		step_turn(&c, (unsigned)random() % 2);
		fixture_wait(&c.f, FIXTURE_ANSWER_NS / 4);
	}
	end_all(&c);
	assert_true(c.n_run > STEPS / 100);
	assert_true(c.n_crossed > 10);
	deinit_two(&c.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unit_that_is_away_goes_to_the_device_that_names_it),
		cmocka_unit_test(a_unit_leaves_one_device_for_the_other),
		cmocka_unit_test(commands_that_need_the_same_units_run_one_after_the_other),
		cmocka_unit_test(a_unit_that_cannot_leave_is_used_where_it_is),
		cmocka_unit_test(a_unit_that_another_device_used_is_reported_when_it_can_leave),
		cmocka_unit_test(a_command_without_a_turn_takes_nothing_from_others),
		cmocka_unit_test(without_a_daemon_a_unit_stays_where_it_is),
		cmocka_unit_test(no_command_waits_for_a_unit_that_is_released),
		cmocka_unit_test(random_commands_all_finish),
	};

	return cmocka_run_group_tests_name("peer-crossing", tests, NULL, NULL);
}
