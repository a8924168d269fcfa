/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Programs that do not fit, by script: when they are denied, and what prevents it. The device
 * reports 100 MiB and has less; the patience is 5 s. In mode LAUNCH a program holds what its
 * command needs as soon as it asks the driver for it, so that its turn seems to begin each time.
 */

#include "core/test-script.h"

#include "base/util.h"

#define NEED 95u
#define HAS  90u

static void refuse(struct script *s, uint64_t client, uint64_t held_mib, uint64_t bytes_mib)
{
	script_sums_full(s, client,
			 (struct slu_msg_sums){
				 .account = { SLU_TIER_DEVICE, 0 },
				 .seq = s->limits[client][0].limit.seq,
				 .ceiling_bytes = MIB(held_mib),
				 .held_bytes = MIB(held_mib),
				 .refused_bytes = MIB(bytes_mib),
			 });
}

static void tell_served(struct script *s, uint64_t client, uint32_t n_served)
{
	struct slu_message m = { .facts = { .mode = SLU_MODE_LAUNCH, .n_served = n_served } };

	slu_message_stamp(&m, SLU_MSG_FACTS);
	assert_int_equal(slu_core_message(s->core, s->now_ns, client, &m), 0);
	script_step(s);
}

/* A LAUNCH program asks the driver for all that it may hold, and gets at most HAS. */
static void reach(struct script *s, uint64_t client)
{
	for (unsigned i = 0; i < 8 && script_account(s, client, 0).is_pending; i++) {
		uint64_t limit = script_limit(s, client, 0);

		script_sums(s, client, 0, SLU_MIN(limit, NEED));
		if (script_state(s, client) == SLU_CORE_FILLING)
			script_ready(s, client, 0);
		if (limit > HAS)
			refuse(s, client, HAS, NEED - HAS);
	}
}

/* Program 1, which never fits, takes turns with program 2, for @ms. */
static void alternate(struct script *s, uint64_t ms)
{
	for (uint64_t i = 0; i < ms && !script_find(s, 1, SLU_MSG_DENY); i += 20) {
		script_pass(s, 20);
		reach(s, 1);
		if (script_state(s, 1) == SLU_CORE_DRAINING)
			script_rest(s, 1, 0, true, 0);
		script_obey(s, 2, 60, true);
	}
}

static void begin(struct script *s, enum slu_mode other)
{
	struct slu_core_config config;

	script_config(&config);
	config.rise_period_ns = MS(50);
	script_begin(s, &config, 100);
	script_join_plain(s, 1, SLU_MODE_LAUNCH);
	script_join_plain(s, 2, other);
}

static void test_a_repeated_refusal_is_denied(void **state)
{
	struct script s;

	(void)state;
	begin(&s, SLU_MODE_ALL);
	script_want(&s, 2, 0, 60, true);
	script_obey(&s, 2, 60, true);
	script_want_min(&s, 1, NEED, NEED);
	alternate(&s, 20000);
	/* it had turns, and each of them seemed to begin */
	assert_true(script_group(&s, 1).n_turns > 3);
	assert_true(script_group(&s, 1).ran_ns > 0);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	assert_true(s.now_ns <= MS(8000));
	script_end(&s);
}

static void test_a_served_program_has_its_whole_patience_again(void **state)
{
	struct script s;

	(void)state;
	begin(&s, SLU_MODE_LAUNCH);
	script_want_min(&s, 1, NEED, NEED);
	for (unsigned i = 0; i < 6; i++) {
		alternate(&s, 3000);
		assert_null(script_find(&s, 1, SLU_MSG_DENY));
		tell_served(&s, 1, i + 1);
		script_forget(&s);
	}
	alternate(&s, 4000);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	alternate(&s, 3000);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

static void test_a_withdrawn_request_no_longer_counts(void **state)
{
	struct script s;

	(void)state;
	script_begin(&s, NULL, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	slu_core_outsiders(s.core, s.now_ns, 0, MIB(50));
	script_want(&s, 1, 0, 60, true);
	script_pass(&s, 3000);
	script_want(&s, 1, 0, 60, false);
	script_pass(&s, 30000);
	script_want(&s, 1, 0, 60, true);
	script_pass(&s, 4000);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	script_pass(&s, 1000);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

/* Others were refused while it waited; it has not tried yet what the driver would give it. */
static void test_no_group_is_denied_before_it_has_tried(void **state)
{
	struct slu_core_config config;
	struct script s;

	(void)state;
	script_config(&config);
	config.policy = "fifo";
	config.rise_period_ns = MS(2000);
	script_begin(&s, &config, 100);
	script_join_plain(&s, 1, SLU_MODE_ALL);
	script_join_plain(&s, 2, SLU_MODE_LAUNCH);
	script_want_min(&s, 2, 40, 100);
	script_ready(&s, 2, 0);
	script_sums(&s, 2, 0, 60);
	script_want(&s, 1, 0, 80, true);
	for (unsigned i = 0; i < 12; i++) {
		refuse(&s, 2, 60, 4);
		script_pass(&s, 1000);
		if (script_account(&s, 2, 0).is_pending)
			script_sums(&s, 2, 0, 60);
	}
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	script_idle(&s, 2, 0);
	script_rest(&s, 2, 0, false, 0);
	for (unsigned i = 0; i < 40 && script_state(&s, 1) != SLU_CORE_RUNNING; i++) {
		script_pass(&s, 500);
		script_obey(&s, 2, 0, false);
		script_obey(&s, 1, 80, true);
	}
	assert_int_equal(script_state(&s, 1), SLU_CORE_RUNNING);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

/* 150 on a device of 100: 50 must be MAPPED, and the driver pins none of it. */
static void test_pinning_that_is_refused_for_the_patience_is_denied(void **state)
{
	const struct slu_account pinned = { .tier = SLU_TIER_PINNED };
	struct slu_core_config config;
	const struct slu_msg_limit *limit;
	struct script s;

	(void)state;
	script_config(&config);
	config.pinned_bytes = MIB(200);
	script_begin(&s, &config, 100);
	script_join_plain(&s, 1, SLU_MODE_MAPPED);
	script_want(&s, 1, 0, 150, true);
	script_sums(&s, 1, 0, 100);
	limit = &s.limits[1][SLU_WIRE_DEVICES_MAX].limit;
	for (unsigned i = 0; i < 49; i++) {
		struct slu_msg_sums sums = { .account = pinned, .seq = limit->seq };

		/* it counts as held before the driver is asked */
		sums.held_bytes = sums.ceiling_bytes = MIB(10);
		script_sums_full(&s, 1, sums);
		assert_null(script_find(&s, 1, SLU_MSG_DENY));
		sums.seq = limit->seq;
		sums.held_bytes = sums.ceiling_bytes = 0;
		sums.refused_bytes = MIB(10);
		script_sums_full(&s, 1, sums);
		script_pass(&s, 100);
		script_rest(&s, 1, 0, true, 0);
		script_sums(&s, 1, 0, 100);
	}
	script_pass(&s, 200);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	assert_non_null(strstr(script_find(&s, 1, SLU_MSG_DENY)->reason, "refuses to pin more"));
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_repeated_refusal_is_denied),
		cmocka_unit_test(test_a_served_program_has_its_whole_patience_again),
		cmocka_unit_test(test_a_withdrawn_request_no_longer_counts),
		cmocka_unit_test(test_no_group_is_denied_before_it_has_tried),
		cmocka_unit_test(test_pinning_that_is_refused_for_the_patience_is_denied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
