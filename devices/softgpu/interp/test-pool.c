/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "softgpu/interp/pool.h"

#define N_HELPERS 3u

struct meeting {
	unsigned n_expected; /* calls that wait for each other */
	unsigned n_there;
	unsigned n_of[N_HELPERS + 1]; /* calls with each index */
};

/* Comes back when everybody is there: helpers are no use if they are not all at work at once. */
static void meet(void *userdata, unsigned index)
{
	struct meeting *m = userdata;

	assert_true(index <= N_HELPERS);
	__atomic_add_fetch(&m->n_of[index], 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&m->n_there, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&m->n_there, __ATOMIC_SEQ_CST) < m->n_expected)
		sched_yield();
}

static void hold_meeting(unsigned n_helpers)
{
	struct meeting m = { .n_expected = n_helpers + 1 };

	dev_interp_pool_run(n_helpers, meet, &m);
	for (unsigned i = 0; i <= N_HELPERS; i++)
		assert_int_equal(m.n_of[i], i <= n_helpers);
}

static void test_helpers_work_beside_the_caller_each_with_its_number(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 200; round++)
		hold_meeting(round % (N_HELPERS + 1));
}

static void leave_at_once(void *userdata, unsigned index)
{
	unsigned *n = userdata;

	(void)index;
	__atomic_add_fetch(n, 1, __ATOMIC_SEQ_CST);
}

static void test_nobody_comes_after_the_end(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		unsigned n = 0, seen;

		dev_interp_pool_run(N_HELPERS, leave_at_once, &n);
		seen = __atomic_load_n(&n, __ATOMIC_SEQ_CST);
		assert_in_range(seen, 1, N_HELPERS + 1);
	}
}

static void *hold_meetings(void *unused)
{
	(void)unused;
	for (unsigned round = 0; round < 50; round++) {
		unsigned n = 0;

		dev_interp_pool_run(N_HELPERS, leave_at_once, &n);
	}
	return NULL;
}

static void test_callers_share_the_helpers(void **state)
{
	pthread_t threads[4];

	(void)state;
	for (unsigned i = 0; i < SLU_ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hold_meetings, NULL), 0);
	for (unsigned i = 0; i < SLU_ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
}

#ifdef __SANITIZE_THREAD__
/* a child of several threads may start some: that is what is tested */
const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}
#endif

static void test_a_child_has_helpers_of_its_own(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	hold_meeting(N_HELPERS);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		alarm(20);
		hold_meeting(N_HELPERS);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_helpers_work_beside_the_caller_each_with_its_number),
		cmocka_unit_test(test_nobody_comes_after_the_end),
		cmocka_unit_test(test_callers_share_the_helpers),
		cmocka_unit_test(test_a_child_has_helpers_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
