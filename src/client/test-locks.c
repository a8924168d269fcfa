/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker of locks across libraries: a lock of a front end counts inside the client. Each fault
 * is in a process of its own, which the checker aborts.
 */
#include "lib/test.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"
#include "client/client.h"

static bool is_caught(enum slu_lock_rank rank)
{
	struct slu_lock lock = SLU_LOCK_INIT(rank);
	const struct rlimit no_core = { 0 };
	struct slu_client_counts counts;
	int status = 0;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL); /* cmocka has its own */
		close(STDERR_FILENO);	  /* the message of the assertion is expected */
		slu_lock_take(&lock);
		slu_client_counts(&counts); /* takes the client's lock */
		slu_lock_give(&lock);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void test_a_lock_of_a_front_end_counts_inside_the_client(void **state)
{
	(void)state;
	assert_false(is_caught(SLU_LOCK_FRONT));
	assert_true(is_caught(SLU_LOCK_LEAF));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_lock_of_a_front_end_counts_inside_the_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
