/* SPDX-License-Identifier: Apache-2.0 */

/* The core at its limits: no memory, and the largest number of clients. */

#include "lib/test.h"

#include "base/util.h"
#include "core/core.h"

#define MANY   256
#define GIB(n) ((uint64_t)(n) << 30)

/* The n-th allocation of the core fails; 0: none. */
static unsigned fail_in;
static unsigned n_failed;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);

static bool fails(void)
{
	if (!fail_in || --fail_in)
		return false;
	n_failed++;
	return true;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(p, n, size);
}

static int join(struct slu_core *core, uint64_t client, uint64_t group, uint64_t all_bytes)
{
	struct slu_msg_hello hello = { .n_devices = 1 };
	struct slu_core_join join = {
		.client = client, .group = group, .name = "one", .hello = &hello
	};

	hello.devices[0].min_bytes = hello.devices[0].all_bytes = all_bytes;
	hello.devices[0].is_runnable = true;
	return slu_core_hello(core, 1, &join);
}

static struct slu_core *begin(void)
{
	struct slu_core_config config;
	struct slu_core *core;

	slu_core_config_default(&config);
	assert_int_equal(slu_core_new(&config, 0, &core), 0);
	assert_int_equal(slu_core_device_add(core, 0, "GPU 0", GIB(16), 0), 0);
	return core;
}

static void test_a_join_without_memory_leaves_the_core_as_it_was(void **state)
{
	(void)state;
	for (unsigned n = 1;; n++) {
		struct slu_core *core = begin();
		size_t cursor = 0;
		struct slu_core_client_view view;
		int r;

		n_failed = 0;
		fail_in = n;
		r = join(core, 1, 1, GIB(1));
		fail_in = 0;
		slu_core_check(core);
		if (r) {
			assert_int_equal(r, -ENOMEM);
			assert_false(slu_core_view_client(core, &cursor, &view));
			assert_int_equal(join(core, 1, 1, GIB(1)), 0);
		}
		slu_core_step(core, 2);
		slu_core_check(core);
		slu_core_free(core);
		if (!n_failed)
			return;
	}
}

static void test_an_action_lost_for_want_of_memory_is_not_hidden(void **state)
{
	struct slu_core_action action;
	struct slu_core *core = begin();
	unsigned n = 0;
	int r;

	(void)state;
	for (uint64_t i = 1; i <= MANY; i++)
		assert_int_equal(join(core, i, i, GIB(1) / 32), 0);
	fail_in = 1;
	slu_core_step(core, 2);
	fail_in = 0;
	while ((r = slu_core_take_action(core, &action)) > 0)
		n++;
	assert_int_equal(r, -ENOMEM);
	assert_int_equal(n, 0);
	slu_core_check(core);
	slu_core_free(core);
}

static void test_a_core_without_memory_is_not_made(void **state)
{
	struct slu_core_config config;
	struct slu_core *core = NULL;

	(void)state;
	slu_core_config_default(&config);
	fail_in = 1;
	assert_int_equal(slu_core_new(&config, 0, &core), -ENOMEM);
	fail_in = 0;
	assert_null(core);
	config.policy = "nonsense";
	assert_int_equal(slu_core_new(&config, 0, &core), -EINVAL);
}

/* Each client answers each LIMIT, opens, and wants again after it was closed. */
static void serve(struct slu_core *core, uint64_t now_ns, uint64_t *held, unsigned *n_ready)
{
	struct slu_core_action a;

	slu_core_step(core, now_ns);
	while (slu_core_take_action(core, &a) > 0) {
		struct slu_message m = {};

		if (a.kind != SLU_CORE_SEND)
			continue;
		switch (a.message.header.type) {
		case SLU_MSG_LIMIT:
			if (a.message.limit.account.tier == SLU_TIER_DEVICE)
				held[a.client] = SLU_MIN(a.message.limit.limit_bytes, GIB(3));
			m.sums = (struct slu_msg_sums){
				.account = a.message.limit.account,
				.seq = a.message.limit.seq,
				.ceiling_bytes = a.message.limit.limit_bytes,
				.held_bytes = SLU_MIN(a.message.limit.limit_bytes, GIB(3)),
			};
			slu_message_stamp(&m, SLU_MSG_SUMS);
			break;
		case SLU_MSG_TURN:
			m.turn = a.message.turn;
			slu_message_stamp(&m, SLU_MSG_READY);
			n_ready[a.client]++;
			break;
		case SLU_MSG_CLOSE:
			m.rest = (struct slu_msg_rest){ .epoch = a.message.close.epoch,
							.is_runnable = true };
			slu_message_stamp(&m, SLU_MSG_REST);
			break;
		default:
			fail_msg("nothing is denied here");
		}
		assert_int_equal(slu_core_message(core, now_ns, a.client, &m), 0);
	}
}

static void test_256_clients_that_exclude_each_other_all_get_their_turn(void **state)
{
	static uint64_t held[MANY + 1];
	static unsigned n_ready[MANY + 1];
	struct slu_core *core = begin();
	uint64_t now_ns = 1;

	(void)state;
	for (uint64_t i = 1; i <= MANY; i++)
		assert_int_equal(join(core, i, i, GIB(3)), 0);
	for (unsigned round = 0; round < 4 * MANY; round++) {
		uint64_t due, sum = 0;

		serve(core, now_ns, held, n_ready);
		for (unsigned i = 1; i <= MANY; i++)
			sum += held[i];
		assert_true(sum <= GIB(16));
		due = slu_core_deadline_ns(core);
		assert_true(due != SLU_CORE_NEVER);
		now_ns = SLU_MAX(due, now_ns + SLU_NS_PER_MS);
	}
	for (unsigned i = 1; i <= MANY; i++)
		assert_true(n_ready[i] > 0);
	slu_core_free(core);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_join_without_memory_leaves_the_core_as_it_was),
		cmocka_unit_test(test_an_action_lost_for_want_of_memory_is_not_hidden),
		cmocka_unit_test(test_a_core_without_memory_is_not_made),
		cmocka_unit_test(test_256_clients_that_exclude_each_other_all_get_their_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
