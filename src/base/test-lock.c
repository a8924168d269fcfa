/* SPDX-License-Identifier: Apache-2.0 */
/* What the checker of locks catches: each fault in a process of its own, which it aborts. */
#include "lib/test.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"

static struct slu_lock front = SLU_LOCK_INIT(SLU_LOCK_FRONT);
static struct slu_lock client = SLU_LOCK_INIT(SLU_LOCK_CLIENT);
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static const struct timespec past = { 0 };

static bool is_caught(void (*fault)(void))
{
	const struct rlimit no_core = { 0 };
	int status = 0;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL); /* cmocka has its own */
		close(STDERR_FILENO);	  /* what the assertion says is expected */
		fault();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void take_in_order(void)
{
	slu_lock_take(&front);
	slu_lock_take(&client);
	slu_lock_give(&client);
	slu_lock_give(&front);
	slu_lock_assert_none();
}

static void take_out_of_order(void)
{
	slu_lock_take(&client);
	slu_lock_take(&front);
}

static void wait_with_its_own(void)
{
	slu_lock_take(&client);
	slu_lock_wait(&client, &changed, &past);
	slu_lock_give(&client);
}

static void wait_with_another(void)
{
	slu_lock_take(&front);
	slu_lock_take(&client);
	slu_lock_wait(&client, &changed, &past);
}

static void call_with_one(void)
{
	slu_lock_take(&client);
	slu_lock_assert_none();
}

static void test_locks_are_taken_in_rising_rank(void **state)
{
	assert_false(is_caught(take_in_order));
	assert_true(is_caught(take_out_of_order));
}

static void test_a_thread_waits_with_no_other_lock(void **state)
{
	assert_false(is_caught(wait_with_its_own));
	assert_true(is_caught(wait_with_another));
}

static void test_no_lock_is_held_over_a_call_of_the_driver(void **state)
{
	assert_true(is_caught(call_with_one));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_locks_are_taken_in_rising_rank),
		cmocka_unit_test(test_a_thread_waits_with_no_other_lock),
		cmocka_unit_test(test_no_lock_is_held_over_a_call_of_the_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
