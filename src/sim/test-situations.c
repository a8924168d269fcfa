/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Situations in which a version of the protocol once failed, each as a world of its own that is run
 * under many interleavings, and the two invariants that are numbers: I10, how long a group waits
 * for its turn, and I11, how much leaves at a switch.
 */

#include "lib/test.h"

#include "base/util.h"
#include "sim/world.h"

#define SEEDS	  40
#define U(n)	  ((uint64_t)(n)*SLU_SIM_UNIT)
#define STEPS_MAX 60000

static const struct slu_sim_config plain = {
	.n_devices = 1,
	.total_bytes = { U(32), U(32) },
	.pinned_bytes = U(64),
	.backing_bytes = U(400),
	.steps_max = STEPS_MAX,
};

static struct slu_sim_world *make(struct slu_sim_config config, uint64_t seed)
{
	struct slu_sim_world *w;

	config.seed = seed;
	assert_int_equal(slu_sim_world_new(&config, &w), 0);
	return w;
}

static unsigned join_on(struct slu_sim_world *w, uint64_t group, unsigned device,
			enum slu_mode mode)
{
	int r = slu_sim_client_add(w, group, 1, &device, &mode);

	assert_true(r >= 0);
	return (unsigned)r;
}

static unsigned join_both(struct slu_sim_world *w, uint64_t group, enum slu_mode mode)
{
	const unsigned devices[] = { 0, 1 };
	const enum slu_mode modes[] = { mode, mode };
	int r = slu_sim_client_add(w, group, 2, devices, modes);

	assert_true(r >= 0);
	return (unsigned)r;
}

static void allocate(struct slu_sim_world *w, unsigned client, unsigned device, unsigned n,
		     unsigned size)
{
	while (n--)
		slu_sim_client_do(w, client, SLU_SIM_ALLOC, device, U(size));
}

static void launch(struct slu_sim_world *w, unsigned client, unsigned device, unsigned n)
{
	while (n--)
		slu_sim_client_do(w, client, SLU_SIM_LAUNCH, device, 4);
}

static void finish(struct slu_sim_world *w, const char *what)
{
	for (unsigned i = 0; i < w->n_clients; i++)
		for (unsigned d = 0; d < w->clients[i].n_devices; d++)
			slu_sim_client_do(w, i, SLU_SIM_SYNC, d, 0);
	if (slu_sim_world_run(w))
		fail_msg("%s, seed %llu, step %llu: %s", what, (unsigned long long)w->config.seed,
			 (unsigned long long)w->step, w->fault);
}

/* Rule 10. Two programs grow side by side, each into what the other has as slack. */
static void slack_is_not_taken_before_it_was_used(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(plain, seed);

		for (unsigned g = 1; g <= 2; g++) {
			unsigned c = join_on(w, g, 0, SLU_MODE_ALL);

			allocate(w, c, 0, 4, 1);
			for (unsigned i = 0; i < 4; i++) {
				launch(w, c, 0, 1);
				allocate(w, c, 0, 1, 3);
			}
			launch(w, c, 0, 1);
		}
		finish(w, "growing side by side");
		assert_int_equal(w->counts.n_denied, 0);
		slu_sim_world_free(w);
	}
}

/* Rule 12. The device is smaller than it says: the rest of the program must be mapped. */
static void a_fallen_goal_is_sent(void **state)
{
	struct slu_sim_config config = plain;

	config.hidden_bytes[0] = U(5);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(config, seed);
		unsigned c = join_on(w, 1, 0, SLU_MODE_MAPPED);

		allocate(w, c, 0, 10, 3);
		launch(w, c, 0, 6);
		finish(w, "a goal above the device");
		assert_int_equal(w->counts.n_launches, 6);
		assert_true(w->counts.n_refused > 0);
		slu_sim_world_free(w);
	}
}

/* Dies once, before the @n-th message of @type, or @after it: before the next one of any type. */
struct death {
	enum slu_message_type type;
	unsigned n;
	bool after;
	bool is_due;
};

static bool dies_before(struct slu_sim_world *w, const struct slu_core_action *a)
{
	struct death *death = w->test_data;

	if (a->kind != SLU_CORE_SEND)
		return false;
	if (death->is_due) {
		death->is_due = false;
		return true;
	}
	if (death->n == 0 || a->message.header.type != death->type || --death->n)
		return false;
	death->is_due = death->after;
	return !death->after;
}

#define TURNS_LAUNCHES 16

/* Two programs that exceed the device, so that turns are closed all the time. */
static void take_turns(struct slu_sim_world *w, enum slu_mode mode)
{
	for (unsigned g = 1; g <= 2; g++) {
		unsigned c = join_on(w, g, 0, mode);

		allocate(w, c, 0, 10, 2);
		launch(w, c, 0, TURNS_LAUNCHES);
	}
}

/* The loss rule. The gate opens again by itself, and the CLOSE of the dead daemon is void. */
static void a_close_under_way_at_the_crash_is_forgotten(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(plain, seed);
		struct death death = { SLU_MSG_CLOSE, 1, seed % 2, false };

		take_turns(w, SLU_MODE_ALL);
		w->clients[0].runs_without_daemon = w->clients[1].runs_without_daemon = true;
		w->dies_before = dies_before;
		w->test_data = &death;
		finish(w, "a crash around CLOSE");
		assert_int_equal(w->counts.n_restarts, 1);
		assert_int_equal(w->counts.n_launches, 2 * TURNS_LAUNCHES);
		slu_sim_world_free(w);
	}
}

/* Rule 23. A group on two devices; the daemon dies between its two TURNs. */
static void half_a_grant_is_completed_after_a_crash(void **state)
{
	struct slu_sim_config config = plain;

	config.n_devices = 2;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(config, seed);
		struct death death = { .type = SLU_MSG_TURN, .n = 2 };
		unsigned c = join_both(w, 1, SLU_MODE_ALL);

		allocate(w, c, 0, 4, 3);
		allocate(w, c, 1, 4, 3);
		for (unsigned i = 0; i < 4; i++) {
			launch(w, c, 0, 1);
			launch(w, c, 1, 1);
		}
		w->dies_before = dies_before;
		w->test_data = &death;
		finish(w, "a crash between two TURNs");
		assert_int_equal(w->counts.n_restarts, 1);
		assert_int_equal(w->counts.n_launches, 8);
		slu_sim_world_free(w);
	}
}

/* Rule 23. The second member has to wait for nothing but its own units. */
static void a_client_that_joins_a_running_group_gets_its_turn(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(plain, seed);
		unsigned early = join_on(w, 1, 0, SLU_MODE_ALL);
		unsigned late = join_on(w, 1, 0, SLU_MODE_ALL);

		allocate(w, early, 0, 5, 2);
		launch(w, early, 0, 30);
		slu_sim_client_do(w, late, SLU_SIM_PAUSE, 0, 60);
		allocate(w, late, 0, 5, 2);
		launch(w, late, 0, 4);
		finish(w, "a late member");
		assert_int_equal(w->counts.n_launches, 34);
		/* one epoch for both, and no switch in between */
		assert_true(w->counts.n_switches <= 4);
		slu_sim_world_free(w);
	}
}

/* Rule 19. A group on two devices must come to launch on both before its turn is taken. */
static void a_slice_begins_when_the_last_device_is_ready(void **state)
{
	struct slu_sim_config config = plain;
	uint64_t longest = 0;

	config.n_devices = 2;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(config, seed);
		unsigned wide = join_both(w, 1, SLU_MODE_ALL);

		allocate(w, wide, 0, 3, 2);
		allocate(w, wide, 1, 12, 2);
		for (unsigned i = 0; i < 4; i++) {
			launch(w, wide, 0, 1);
			launch(w, wide, 1, 1);
		}
		for (unsigned g = 2; g <= 3; g++) {
			unsigned c = join_on(w, g, g - 2, SLU_MODE_ALL);

			allocate(w, c, 0, 14, 2);
			launch(w, c, 0, 12);
		}
		finish(w, "one group on two devices among others");
		longest = SLU_MAX(longest, w->counts.longest_wait_steps);
		slu_sim_world_free(w);
	}
	printf("# longest wait %llu steps\n", (unsigned long long)longest);
	assert_true(longest < 10000);
}

/* Rules 20 and 34. The daemon dies while a holder runs; another group asks the new one first. */
static void a_rejoined_holder_counts_with_its_need(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(plain, seed);
		struct death death = { .type = SLU_MSG_LIMIT, .n = 3 + (unsigned)seed % 20 };

		take_turns(w, seed % 2 ? SLU_MODE_ALL : SLU_MODE_LAUNCH);
		w->dies_before = dies_before;
		w->test_data = &death;
		finish(w, "a crash under a holder");
		assert_int_equal(w->counts.n_launches, 2 * TURNS_LAUNCHES);
		slu_sim_world_free(w);
	}
}

/* Rule 32. Backing that clients of the last daemon hold are not given away. */
static void backing_is_not_exceeded_after_a_restart(void **state)
{
	struct slu_sim_config config = plain;

	config.backing_bytes = U(40);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(config, seed);
		struct death death = { .type = SLU_MSG_LIMIT, .n = 2 + (unsigned)seed % 12 };

		take_turns(w, SLU_MODE_ALL);
		w->dies_before = dies_before;
		w->test_data = &death;
		w->clients[seed % 2].stopped_until_step = 1500;
		finish(w, "a restart with full backing");
		slu_sim_world_free(w);
	}
}

/* Rules 13–16. Six programs, and an estimate that is above the truth again and again. */
static void refusals_and_rising_again_come_to_an_end(void **state)
{
	struct slu_sim_config config = plain;
	uint64_t longest = 0;

	config.hidden_bytes[0] = U(5);
	config.late_steps = 120;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(config, seed);

		for (unsigned g = 1; g <= 6; g++) {
			unsigned c = join_on(w, g, 0, g % 3 ? SLU_MODE_ALL : SLU_MODE_LAUNCH);

			allocate(w, c, 0, 3 + g, 3);
			launch(w, c, 0, 4);
		}
		finish(w, "six programs on a device that is smaller than it says");
		longest = SLU_MAX(longest, w->counts.longest_wait_steps);
		slu_sim_world_free(w);
	}
	printf("# longest wait %llu steps\n", (unsigned long long)longest);
	assert_true(longest < 30000);
}

/* Rule 16. An outsider came and went: the device share rises again, and pinned memory suffices. */
static void an_estimate_rises_for_a_program_without_pinned_memory(void **state)
{
	struct slu_sim_config config = plain;

	config.total_bytes[0] = U(64);
	config.pinned_bytes = U(6);
	config.faults.until_step = 3000;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(config, seed);
		unsigned c = join_on(w, 1, 0, SLU_MODE_MAPPED);

		w->board.outsider_bytes[0] = U(32);
		allocate(w, c, 0, 9, 4);
		launch(w, c, 0, 4);
		finish(w, "an outsider beside a mapped program");
		assert_int_equal(w->counts.n_denied, 0);
		assert_int_equal(w->counts.n_launches, 4);
		slu_sim_world_free(w);
	}
}

/* Rule 7. A program that can never fit is on one device, one that waits for it on the other. */
static void a_program_that_waits_for_a_neighbour_that_never_fits_is_denied(void **state)
{
	const unsigned devices[] = { 0, 1 };
	const enum slu_mode modes[] = { SLU_MODE_MAPPED, SLU_MODE_ALL };
	struct slu_sim_config config = plain;

	config.n_devices = 2;
	config.pinned_bytes = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(config, seed);
		unsigned c = (unsigned)slu_sim_client_add(w, 1, 2, devices, modes);

		allocate(w, c, 0, 10, 4);
		allocate(w, c, 1, 2, 4);
		/* until the core has learnt of both */
		slu_sim_client_do(w, c, SLU_SIM_PAUSE, 0, 100);
		launch(w, c, 1, 2);
		finish(w, "a program that is too large on a device that it does not use");
		assert_int_equal(w->counts.n_denied, 2);
		slu_sim_world_free(w);
	}
}

/* A program that waits on the device for another one yields, and what it waits for runs. */
static void a_blocked_holder_lets_the_other_one_run(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(plain, seed);
		unsigned waits = join_on(w, 1, 0, seed % 2 ? SLU_MODE_ALL : SLU_MODE_LAUNCH);
		unsigned other = join_on(w, 2, 0, SLU_MODE_ALL);

		allocate(w, waits, 0, 5, 2);
		launch(w, waits, 0, 1);
		slu_sim_client_do(w, waits, SLU_SIM_AWAIT, 0, 3);
		w->clients[waits].ops[w->clients[waits].n_ops - 1].client = other;
		launch(w, waits, 0, 2);
		allocate(w, other, 0, 9, 2);
		launch(w, other, 0, 6);
		finish(w, "a command that waits for another program");
		assert_int_equal(w->counts.n_launches, 10);
		slu_sim_world_free(w);
	}
}

/*
 * Rule 35. Programs of one group, each of which fills the device: all but one are parted, and all
 * of them end as if they had come alone.
 */
static void members_that_exceed_the_device_are_parted(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		unsigned n = 2 + (unsigned)seed % 3;
		struct slu_sim_world *w = make(plain, seed);

		for (unsigned i = 0; i < n; i++) {
			unsigned c = join_on(w, 1, 0, SLU_MODE_ALL);

			if (seed % 2)
				slu_sim_client_do(w, c, SLU_SIM_PAUSE, 0, 30 * i);
			allocate(w, c, 0, 10, 2);
			launch(w, c, 0, 6);
			/* not to be gone before the others have come */
			slu_sim_client_do(w, c, SLU_SIM_PAUSE, 0, 100);
			launch(w, c, 0, 2);
		}
		finish(w, "a group that exceeds the device");
		assert_int_equal(w->counts.n_launches, n * 8);
		assert_int_equal(w->counts.n_denied, 0);
		assert_int_equal(w->counts.n_parts, n - 1);
		slu_sim_world_free(w);
	}
}

/* Rule 35. They exceed the device for a while only; now and then one is stopped. */
static void members_that_fit_again_are_united(void **state)
{
	struct slu_sim_config config = plain;
	uint64_t n_unions = 0;

	config.steps_max = 2 * STEPS_MAX;
	config.faults = (struct slu_sim_faults){ .until_step = 40000, .stop = 50 };
	for (uint64_t seed = 1; seed <= SEEDS / 4; seed++) {
		struct slu_sim_world *w = make(config, seed);
		unsigned third;

		for (unsigned i = 0; i < 2; i++) {
			unsigned c = join_on(w, 1, 0, SLU_MODE_ALL);

			allocate(w, c, 0, 10, 2);
			launch(w, c, 0, 3);
			slu_sim_client_do(w, c, SLU_SIM_SYNC, 0, 0);
			for (unsigned k = 0; k < 6; k++)
				slu_sim_client_do(w, c, SLU_SIM_FREE, 0, 0);
			for (unsigned k = 0; k < 12; k++) {
				launch(w, c, 0, 2);
				slu_sim_client_do(w, c, SLU_SIM_PAUSE, 0, 200);
			}
		}
		/* a group that is alone on the device and never rests need not be united */
		third = join_on(w, 2, 0, SLU_MODE_ALL);
		allocate(w, third, 0, 10, 2);
		for (unsigned k = 0; k < 60; k++) {
			launch(w, third, 0, 1);
			slu_sim_client_do(w, third, SLU_SIM_PAUSE, 0, 20);
		}
		finish(w, "members that become small");
		assert_true(w->counts.n_parts >= 1);
		assert_int_equal(w->counts.n_launches, 2 * (3 + 24) + 60);
		assert_int_equal(w->counts.n_denied, 0);
		n_unions += w->counts.n_unions;
		slu_sim_world_free(w);
	}
	printf("# %llu unions\n", (unsigned long long)n_unions);
	assert_true(n_unions >= SEEDS / 8);
}

/* Rule 35. A member that grows in the turn of its group, until the other one does not fit. */
static void a_member_that_grows_too_large_is_parted(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(plain, seed);

		for (unsigned i = 0; i < 2; i++) {
			unsigned c = join_on(w, 1, 0, SLU_MODE_ALL);

			for (unsigned k = 0; k < 8; k++) {
				allocate(w, c, 0, 1, 3);
				launch(w, c, 0, 2);
			}
		}
		finish(w, "members that grow");
		assert_int_equal(w->counts.n_launches, 32);
		assert_int_equal(w->counts.n_denied, 0);
		slu_sim_world_free(w);
	}
}

/* Rule 35. A command of one waits for launches of the other, in one group that is parted. */
static void members_that_wait_for_each_other_end_when_parted(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(plain, seed);
		unsigned waits = join_on(w, 1, 0, SLU_MODE_ALL);
		unsigned other = join_on(w, 1, 0, SLU_MODE_ALL);
		unsigned third = join_on(w, 1, 0, SLU_MODE_ALL);

		allocate(w, waits, 0, 5, 2);
		launch(w, waits, 0, 1);
		slu_sim_client_do(w, waits, SLU_SIM_AWAIT, 0, 3);
		w->clients[waits].ops[w->clients[waits].n_ops - 1].client = other;
		launch(w, waits, 0, 2);
		allocate(w, other, 0, 9, 2);
		launch(w, other, 0, 6);
		allocate(w, third, 0, 10, 2);
		launch(w, third, 0, 6);
		finish(w, "members that wait for each other");
		assert_int_equal(w->counts.n_launches, 16);
		assert_int_equal(w->counts.n_denied, 0);
		slu_sim_world_free(w);
	}
}

static bool dies_before_parting(struct slu_sim_world *w, const struct slu_core_action *a)
{
	unsigned *n = w->test_data;

	return a->kind == SLU_CORE_SPLIT && *n && --*n == 0;
}

/* Rules 32 and 35. What the roster does not know of yet happens again. */
static void a_crash_before_a_parting_parts_anew(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(plain, seed);
		unsigned n = 1;

		for (unsigned i = 0; i < 3; i++) {
			unsigned c = join_on(w, 1, 0, SLU_MODE_ALL);

			allocate(w, c, 0, 10, 2);
			launch(w, c, 0, 8);
		}
		w->dies_before = dies_before_parting;
		w->test_data = &n;
		finish(w, "a crash at a parting");
		assert_int_equal(w->counts.n_restarts, 1);
		assert_int_equal(w->counts.n_launches, 24);
		assert_int_equal(w->counts.n_denied, 0);
		slu_sim_world_free(w);
	}
}

/* -- the core alone ---------------------------------------------------------------------------- */

static void hear(struct slu_core *core, uint64_t now_ms, uint64_t client,
		 enum slu_message_type type, struct slu_message m)
{
	slu_message_stamp(&m, type);
	assert_int_equal(slu_core_message(core, now_ms * SLU_NS_PER_MS, client, &m), 0);
}

/* Answers each LIMIT by holding as much, and each TURN with READY. */
static void obey(struct slu_core *core, uint64_t now_ms, struct slu_epoch *epochs)
{
	struct slu_core_action a;

	slu_core_step(core, now_ms * SLU_NS_PER_MS);
	while (slu_core_take_action(core, &a) > 0) {
		const struct slu_message *m = &a.message;

		if (a.kind != SLU_CORE_SEND)
			continue;
		if (m->header.type == SLU_MSG_TURN) {
			epochs[a.client] = m->turn.epoch;
			hear(core, now_ms, a.client, SLU_MSG_READY,
			     (struct slu_message){ .turn = m->turn });
		} else if (m->header.type == SLU_MSG_LIMIT) {
			struct slu_msg_sums sums = { .account = m->limit.account,
						     .seq = m->limit.seq,
						     .ceiling_bytes = m->limit.limit_bytes,
						     .held_bytes = m->limit.limit_bytes };

			hear(core, now_ms, a.client, SLU_MSG_SUMS,
			     (struct slu_message){ .sums = sums });
		}
	}
}

static enum slu_core_state state_of(const struct slu_core *core, uint64_t group)
{
	struct slu_core_group_view view;
	size_t cursor = 0;

	while (slu_core_view_group(core, &cursor, &view))
		if (view.group == group)
			return view.state;
	return _SLU_CORE_STATE_MAX;
}

/*
 * Rule 20. A LAUNCH program that was idle for longer than the window of its need, and comes to rest
 * with a WANT, counts with that WANT at once: it does not run next to the other one again.
 */
static void a_need_that_comes_back_with_a_rest_counts(void **state)
{
	static struct slu_msg_hello hello = { .version = SLU_WIRE_VERSION,
					      .n_devices = 1,
					      .devices = { { .mode = SLU_MODE_LAUNCH } } };
	struct slu_msg_want want = {
		.is_runnable = 1, .min_bytes = U(20), .all_bytes = U(40), .working_bytes = U(20)
	};
	struct slu_epoch epochs[3] = { { 0 } };
	struct slu_core_config config;
	struct slu_core *core;

	slu_core_config_default(&config);
	config.generation = 1;
	config.need_window_ns = 100 * SLU_NS_PER_MS;
	config.backing_bytes = U(400);
	assert_int_equal(slu_core_new(&config, 0, &core), 0);
	assert_int_equal(slu_core_device_add(core, 0, "model", U(32), 0), 0);
	for (uint64_t c = 1; c <= 2; c++) {
		struct slu_core_join join = {
			.client = c, .group = c, .name = "program", .hello = &hello
		};

		assert_int_equal(slu_core_hello(core, 0, &join), 0);
	}
	hear(core, 1, 1, SLU_MSG_WANT, (struct slu_message){ .want = want });
	for (uint64_t t = 1; t < 20; t++)
		obey(core, t, epochs);
	assert_int_equal(state_of(core, 1), SLU_CORE_RUNNING);
	hear(core, 20, 1, SLU_MSG_IDLE, (struct slu_message){ .turn = { .epoch = epochs[1] } });
	for (uint64_t t = 20; t < 400; t++)
		obey(core, t, epochs);

	hear(core, 400, 2, SLU_MSG_WANT, (struct slu_message){ .want = want });
	obey(core, 400, epochs);
	assert_int_equal(state_of(core, 1), SLU_CORE_DRAINING);
	hear(core, 401, 1, SLU_MSG_REST,
	     (struct slu_message){ .rest = { .epoch = epochs[1], .is_runnable = 1 } });
	obey(core, 401, epochs);
	assert_int_equal(state_of(core, 1), SLU_CORE_WAITING);
	assert_true(state_of(core, 2) == SLU_CORE_FILLING || state_of(core, 2) == SLU_CORE_RUNNING);
	slu_core_free(core);
}

/*
 * Rule 28. A mapped program that outgrows a device which is smaller than it says, under FIFO: units
 * left their mapped place for memory that the driver refused, and nothing was ever complete.
 */
static void a_mapped_program_is_complete_between_two_refusals(void **state)
{
	struct slu_sim_world *w;

	assert_int_equal(slu_sim_scenario(2477, true, SLU_SIM_FAITHFUL, &w), 0);
	w->config.policy = "fifo";
	w->config.staging_bytes = 0;
	w->config.faults.part = w->config.faults.alloc_fails = w->config.faults.budget = 0;
	if (slu_sim_world_run(w))
		fail_msg("step %llu: %s", (unsigned long long)w->step, w->fault);
	slu_sim_world_free(w);
}

/* -- numbers ----------------------------------------------------------------------------------- */

/*
 * I10: a runnable group that fits alone waits at most (groups that wait) × (slice + drain +
 * switch), faults apart. The drain is at most two kernels of four pieces, the switch 14 units of
 * two chunks on the average, each brought in after another one left, and the slice as long as the
 * switch. A client does a given thing once in 9 n steps.
 */
static void i10_every_group_gets_its_turn_in_time(void **state)
{
	uint64_t longest = 0, bound = 0;

	for (unsigned n = 2; n <= SLU_SIM_CLIENTS_MAX; n++) {
		uint64_t piece = 9 * n, here = 0;

		for (uint64_t seed = 1; seed <= SEEDS / 2; seed++) {
			struct slu_sim_world *w = make(plain, seed);

			for (unsigned g = 1; g <= n; g++) {
				unsigned c = join_on(w, g, 0, SLU_MODE_ALL);

				allocate(w, c, 0, 14, 2);
				launch(w, c, 0, 6);
			}
			finish(w, "programs that each fill the device");
			here = SLU_MAX(here, w->counts.longest_wait_steps);
			slu_sim_world_free(w);
		}
		bound = n * (8 * piece + 2 * (2 * 14 * 2 * piece));
		printf("# %u groups: longest wait %llu steps, bound %llu\n", n,
		       (unsigned long long)here, (unsigned long long)bound);
		if (here > bound)
			fail_msg("%u groups: waited %llu of %llu steps", n,
				 (unsigned long long)here, (unsigned long long)bound);
		longest = SLU_MAX(longest, here);
	}
}

/*
 * I11: 20 and 20 units on a device of 32: each switch lacks 8 at most, in units of 2, so what
 * leaves in all is at most (8 + 2) a switch.
 */
static void i11_only_the_shortfall_leaves_at_a_switch(void **state)
{
	uint64_t moved = 0, n_switches = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(plain, seed);

		take_turns(w, SLU_MODE_ALL);
		finish(w, "two programs in turns");
		if (w->counts.moved_out_bytes > w->counts.n_switches * U(8 + 2))
			fail_msg("seed %llu: %llu units departed in %llu turns",
				 (unsigned long long)seed,
				 (unsigned long long)(w->counts.moved_out_bytes / SLU_SIM_UNIT),
				 (unsigned long long)w->counts.n_switches);
		moved += w->counts.moved_out_bytes / SLU_SIM_UNIT;
		n_switches += w->counts.n_switches;
		slu_sim_world_free(w);
	}
	printf("# %llu units departed in %llu turns\n", (unsigned long long)moved,
	       (unsigned long long)n_switches);
}

/* While everything fits, no program is switched out and nothing leaves. */
static void programs_that_fit_together_move_nothing(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w = make(plain, seed);

		for (unsigned g = 1; g <= 3; g++) {
			unsigned c = join_on(w, g, 0, SLU_MODE_ALL);

			allocate(w, c, 0, 4, 2);
			launch(w, c, 0, 8);
		}
		finish(w, "three programs that fit");
		assert_int_equal(w->counts.moved_out_bytes, 0);
		slu_sim_world_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slack_is_not_taken_before_it_was_used),
		cmocka_unit_test(a_fallen_goal_is_sent),
		cmocka_unit_test(a_close_under_way_at_the_crash_is_forgotten),
		cmocka_unit_test(half_a_grant_is_completed_after_a_crash),
		cmocka_unit_test(a_client_that_joins_a_running_group_gets_its_turn),
		cmocka_unit_test(a_slice_begins_when_the_last_device_is_ready),
		cmocka_unit_test(a_rejoined_holder_counts_with_its_need),
		cmocka_unit_test(backing_is_not_exceeded_after_a_restart),
		cmocka_unit_test(refusals_and_rising_again_come_to_an_end),
		cmocka_unit_test(an_estimate_rises_for_a_program_without_pinned_memory),
		cmocka_unit_test(a_program_that_waits_for_a_neighbour_that_never_fits_is_denied),
		cmocka_unit_test(a_blocked_holder_lets_the_other_one_run),
		cmocka_unit_test(members_that_exceed_the_device_are_parted),
		cmocka_unit_test(members_that_fit_again_are_united),
		cmocka_unit_test(a_member_that_grows_too_large_is_parted),
		cmocka_unit_test(members_that_wait_for_each_other_end_when_parted),
		cmocka_unit_test(a_crash_before_a_parting_parts_anew),
		cmocka_unit_test(a_need_that_comes_back_with_a_rest_counts),
		cmocka_unit_test(a_mapped_program_is_complete_between_two_refusals),
		cmocka_unit_test(i10_every_group_gets_its_turn_in_time),
		cmocka_unit_test(i11_only_the_shortfall_leaves_at_a_switch),
		cmocka_unit_test(programs_that_fit_together_move_nothing),
	};

	return cmocka_run_group_tests_name("situations", tests, NULL, NULL);
}
