/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A harness that cannot fail proves nothing. Each way to break a rule in the world around core and
 * peers must be caught: by an invariant, by a world that does not end, or by an assertion inside.
 * Each runs in a child, since an assertion ends it.
 */

#include "lib/test.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "sim/world.h"

#define SEEDS 400

/* In the child. Return: the seed that was caught, or 0. */
static uint64_t catch (enum slu_sim_mutation mutation)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct slu_sim_world *w;
		int r;

		if (slu_sim_scenario(seed, true, mutation, &w))
			return 0;
		r = slu_sim_world_run(w);
		if (r)
			printf("# %s: caught with seed %llu: %.*s\n",
			       slu_sim_world_mutation_name(mutation), (unsigned long long)seed,
			       (int)strcspn(w->fault, "\n"), w->fault);
		slu_sim_world_free(w);
		if (r)
			return seed;
	}
	return 0;
}

static bool is_caught(enum slu_sim_mutation mutation)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);
		uint64_t seed;

		dup2(null, STDERR_FILENO);
		seed = catch (mutation);
		fflush(NULL);
		_exit(seed ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		printf("# %s: caught by an assertion\n", slu_sim_world_mutation_name(mutation));
	return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
}

static void a_faithful_world_is_not_caught(void **state)
{
	assert_false(is_caught(SLU_SIM_FAITHFUL));
}

static void a_lost_rest_is_caught(void **state)
{
	assert_true(is_caught(SLU_SIM_DROP_REST));
}

static void a_want_that_is_not_repeated_is_caught(void **state)
{
	assert_true(is_caught(SLU_SIM_DROP_WANT));
}

static void credit_that_is_kept_is_caught(void **state)
{
	assert_true(is_caught(SLU_SIM_KEEP_CREDIT));
}

static void an_ignored_roster_is_caught(void **state)
{
	assert_true(is_caught(SLU_SIM_IGNORE_ROSTER));
}

static void a_report_that_lowers_too_early_is_caught(void **state)
{
	assert_true(is_caught(SLU_SIM_ANY_REPORT));
}

static void an_ignored_gate_is_caught(void **state)
{
	assert_true(is_caught(SLU_SIM_IGNORE_GATE));
}

static void a_drain_that_does_not_wait_is_caught(void **state)
{
	assert_true(is_caught(SLU_SIM_EARLY_DRAIN));
}

static void a_death_that_is_not_reported_is_caught(void **state)
{
	assert_true(is_caught(SLU_SIM_FORGET_DEATH));
}

static void a_launch_that_names_too_little_is_caught(void **state)
{
	assert_true(is_caught(SLU_SIM_FORGET_UNIT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_faithful_world_is_not_caught),
		cmocka_unit_test(a_lost_rest_is_caught),
		cmocka_unit_test(a_want_that_is_not_repeated_is_caught),
		cmocka_unit_test(credit_that_is_kept_is_caught),
		cmocka_unit_test(an_ignored_roster_is_caught),
		cmocka_unit_test(a_report_that_lowers_too_early_is_caught),
		cmocka_unit_test(an_ignored_gate_is_caught),
		cmocka_unit_test(a_drain_that_does_not_wait_is_caught),
		cmocka_unit_test(a_death_that_is_not_reported_is_caught),
		cmocka_unit_test(a_launch_that_names_too_little_is_caught),
	};

	return cmocka_run_group_tests_name("mutations", tests, NULL, NULL);
}
