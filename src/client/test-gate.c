/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/gate.h"

static int setup(void **state)
{
	slu_gate_init(true);
	for (unsigned d = 0; d < SLU_GATE_DEVICES_MAX; d++)
		slu_gate_shut(d);
	return 0;
}

static void a_shut_gate_lets_no_thread_in(void **state)
{
	assert_false(slu_gate_try_enter(0));
	assert_true(slu_gate_is_empty(0));
	assert_false(slu_gate_is_inside());
}

static void an_open_gate_is_not_empty_while_a_thread_is_inside(void **state)
{
	uint64_t n = slu_gate_n_entries();

	slu_gate_open(1);
	assert_true(slu_gate_try_enter(1));
	assert_true(slu_gate_is_inside());
	slu_gate_shut(1);
	assert_false(slu_gate_is_empty(1));
	assert_true(slu_gate_is_empty(0));
	slu_gate_leave();
	assert_true(slu_gate_is_empty(1));
	assert_int_equal(slu_gate_n_entries(), n + 1);
}

static void an_inner_entry_passes_a_gate_that_was_shut_meanwhile(void **state)
{
	slu_gate_open(0);
	assert_true(slu_gate_try_enter(0));
	slu_gate_shut(0);
	assert_true(slu_gate_try_enter(0));
	slu_gate_leave();
	assert_false(slu_gate_is_empty(0));
	slu_gate_leave();
	assert_true(slu_gate_is_empty(0));
	assert_false(slu_gate_try_enter(0));
}

static void each_device_has_its_own_gate(void **state)
{
	slu_gate_open(7);
	assert_false(slu_gate_try_enter(6));
	assert_true(slu_gate_try_enter(7));
	assert_true(slu_gate_is_empty(6));
	slu_gate_leave();
}

static void *enter_once(void *data)
{
	struct slu_gate_slot **ret_slot = data;

	if (slu_gate_try_enter(0))
		slu_gate_leave();
	*ret_slot = slu_gate_slot_mine;
	return NULL;
}

static void *end_inside(void *data)
{
	slu_gate_try_enter(0);
	return NULL;
}

static void a_slot_goes_to_the_next_thread_when_its_own_ends(void **state)
{
	struct slu_gate_slot *first = NULL;
	pthread_t thread;

	slu_gate_open(0);
	for (unsigned i = 0; i < 300; i++) {
		struct slu_gate_slot *slot = NULL;

		pthread_create(&thread, NULL, enter_once, &slot);
		pthread_join(thread, NULL);
		assert_non_null(slot);
		if (!first)
			first = slot;
		assert_ptr_equal(slot, first);
	}
}

static void a_thread_that_ends_inside_is_not_waited_for(void **state)
{
	pthread_t thread;

	slu_gate_open(0);
	pthread_create(&thread, NULL, end_inside, NULL);
	pthread_join(thread, NULL);
	slu_gate_shut(0);
	assert_true(slu_gate_is_empty(0));
}

static pthread_barrier_t all_are_in, all_may_go;

static void *stay_inside(void *data)
{
	struct slu_gate_slot **ret_slot = data;

	slu_gate_try_enter(2);
	*ret_slot = slu_gate_slot_mine;
	pthread_barrier_wait(&all_are_in);
	pthread_barrier_wait(&all_may_go);
	slu_gate_leave();
	return NULL;
}

static void more_threads_than_the_first_table_has_get_slots(void **state)
{
	enum { N = 200 };
	struct slu_gate_slot *slots[N] = { NULL };
	pthread_t threads[N];

	pthread_barrier_init(&all_are_in, NULL, N + 1);
	pthread_barrier_init(&all_may_go, NULL, N + 1);
	slu_gate_open(2);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, stay_inside, &slots[i]), 0);
	pthread_barrier_wait(&all_are_in);
	slu_gate_shut(2);
	assert_false(slu_gate_is_empty(2));
	for (unsigned i = 0; i < N; i++)
		for (unsigned j = 0; j < i; j++)
			assert_ptr_not_equal(slots[i], slots[j]);
	pthread_barrier_wait(&all_may_go);
	for (unsigned i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	assert_true(slu_gate_is_empty(2));
}

static void a_forked_child_does_not_wait_for_the_parents_threads(void **state)
{
	struct slu_gate_slot *slot = NULL;
	pthread_t thread;
	int status = -1;
	pid_t pid;

	pthread_barrier_init(&all_are_in, NULL, 2);
	pthread_barrier_init(&all_may_go, NULL, 2);
	slu_gate_open(2);
	pthread_create(&thread, NULL, stay_inside, &slot);
	pthread_barrier_wait(&all_are_in);
	pid = fork();
	if (!pid) {
		slu_gate_forked();
		slu_gate_shut(2);
		_exit(slu_gate_is_empty(2) ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	pthread_barrier_wait(&all_may_go);
	pthread_join(thread, NULL);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_shut_gate_lets_no_thread_in, setup),
		cmocka_unit_test_setup(an_open_gate_is_not_empty_while_a_thread_is_inside, setup),
		cmocka_unit_test_setup(an_inner_entry_passes_a_gate_that_was_shut_meanwhile, setup),
		cmocka_unit_test_setup(each_device_has_its_own_gate, setup),
		cmocka_unit_test_setup(a_slot_goes_to_the_next_thread_when_its_own_ends, setup),
		cmocka_unit_test_setup(a_thread_that_ends_inside_is_not_waited_for, setup),
		cmocka_unit_test_setup(more_threads_than_the_first_table_has_get_slots, setup),
		cmocka_unit_test_setup(a_forked_child_does_not_wait_for_the_parents_threads, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
