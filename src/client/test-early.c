/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Early start under torture: calls that name their units pass as soon as these are present, and the
 * first call of each turn ends it. What a call uses after it has left the gate, as a kernel does,
 * must stay there until its end. Memory that is away does not exist, so that a call which passed
 * too early is seen here, and by the sanitizers.
 */

#include "client/test-thing.h"

#include <pthread.h>

#include "client/test-daemon.h"

enum { N = 6, ROUNDS = 60, THREADS = 3 };

static struct slu_client_device *d;
static struct thing things[N];

static void begin_with(uint64_t bytes, unsigned n_watched)
{
	/* its threads would outlive a short test, which the thread sanitizer calls a leak */
	slu_client_global.gauge_has_begun = true;
	d = add(SLU_MODE_ALL, 0);
	for (unsigned i = 0; i < N; i++) {
		thing_new(d, &things[i], bytes);
		if (i < n_watched)
			slu_client_unit_watch(things[i].unit);
		thing_write(d, &things[i], (unsigned char)i);
	}
}

static void begin(const char *how, unsigned n_watched)
{
	setenv("SLUICE_TORTURE", how, 1);
	begin_with(KIB_UNIT, n_watched);
}

static void end(void)
{
	for (unsigned i = 0; i < N; i++) {
		thing_check(d, &things[i]);
		slu_client_unit_free(things[i].unit);
	}
	slu_client_device_remove(d);
	slu_test_device_deinit(&device);
}

/* Inside the gate for a call that touches @t alone. Return: whether it may have passed early. */
static bool enter(struct thing *t)
{
	uint64_t ticket;
	int r;

	while ((r = slu_client_early_enter(d, &t->unit, 1, &ticket)) == SLU_CLIENT_E_ABSENT)
		slu_client_early_wait(d, ticket);
	if (!r)
		return true;
	assert(r == SLU_CLIENT_E_LATE);
	assert(slu_client_enter(d, slu_client_device_index(d)) == 0);
	return false;
}

/* A call that reads @t and writes @pattern, behind the gate. Return: as above. */
static bool call(struct thing *t, unsigned char pattern)
{
	bool is_early = enter(t);
	unsigned char *bytes;

	if (slu_gate_wants_writes(slu_client_device_index(d))) {
		slu_client_unit_write(t->unit);
		slu_gate_vouch();
	}
	atomic_fetch_add(&device.n_running, 1);
	slu_client_leave();
	bytes = slu_test_object_bytes(&t->object);
	for (uint64_t i = 0; i < t->unit->bytes; i++) {
		assert(bytes[i] == t->pattern);
		bytes[i] = pattern;
	}
	t->pattern = pattern;
	atomic_fetch_sub(&device.n_running, 1);
	return is_early;
}

/* Whether units are absent when a call passes is up to the threads: calls until that was so. */
static void call_until_early(unsigned n_calls)
{
	for (unsigned i = 0; i < n_calls || !counts().n_early_entries; i++)
		assert(call(&things[i % N], (unsigned char)(i + 1)));
}

static void alone(void)
{
	begin("early", N);
	call_until_early(ROUNDS);
	end();
}

static void calls_pass_before_all_units_are_present(void **state)
{
	run_apart(alone);
}

static void not_asked_for(void)
{
	begin("1", N);
	for (unsigned round = 0; round < ROUNDS; round++)
		assert(!call(&things[round % N], (unsigned char)(round + 1)));
	assert(!counts().n_early_entries);
	end();
}

static void without_the_setting_no_call_does(void **state)
{
	run_apart(not_asked_for);
}

/* A unit that may be used at other addresses than the front end knows. */
static void unseen(void)
{
	unsigned char *other = NULL;

	begin("early", N - 1);
	for (unsigned round = 0; round < ROUNDS; round++) {
		enter(&things[round % (N - 1)]);
		other = slu_test_object_bytes(&things[N - 1].object);
		assert(other[0] == things[N - 1].pattern);
		slu_client_leave();
	}
	end();
}

static void units_at_unknown_addresses_are_always_present(void **state)
{
	run_apart(unseen);
}

/* Each thread has units of its own; every seventh call may use any unit, and waits for all. */
static void *thread_run(void *data)
{
	unsigned mine = *(unsigned *)data;

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct thing *t = &things[mine + THREADS * (round % (N / THREADS))];
		struct thing more;

		call(t, (unsigned char)(round + mine + 1));
		if (round % 7 == 0)
			thing_check(d, t);
		if (round % 11 == 0) {
			thing_new(d, &more, KIB_UNIT);
			slu_client_unit_watch(more.unit);
			thing_write(d, &more, 77);
			call(&more, 78);
			slu_client_unit_free(more.unit);
		}
	}
	return NULL;
}

static void together(void)
{
	pthread_t threads[THREADS];
	unsigned numbers[THREADS];

	begin("early", N);
	for (unsigned i = 0; i < THREADS; i++) {
		numbers[i] = i;
		assert(!pthread_create(&threads[i], NULL, thread_run, &numbers[i]));
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	call_until_early(0);
	end();
}

static void threads_do_not_disturb_each_other(void **state)
{
	run_apart(together);
}

/*
 * One call passes early and writes; then the turn is complete, and ends without another call. Each
 * unit is above every limit at rest, so that all of them leave after each turn.
 */
static void one_call_a_turn(void)
{
	struct slu_test_daemon daemon;

	slu_test_daemon_init(&daemon);
	daemon.predict = SLU_PREDICTING_EARLY;
	slu_test_daemon_start(&daemon);
	setenv("SLUICE_SOCKET", daemon.path, 1);
	begin_with(100 * KIB_UNIT, N);
	slu_lock_take(&slu_client_global.lock);
	slu_client_global.audit.n_passed = SLU_CLIENT_AUDITS;
	slu_lock_give(&slu_client_global.lock);
	for (unsigned round = 0; round < ROUNDS || !counts().n_early_entries; round++) {
		uint64_t n_turns;

		call(&things[round % N], (unsigned char)(round + 1));
		pthread_mutex_lock(&daemon.lock);
		n_turns = daemon.n_turns;
		pthread_mutex_unlock(&daemon.lock);
		if (round % 2)
			slu_test_daemon_wait_turns(&daemon, n_turns + 2);
	}
	end();
	slu_test_daemon_deinit(&daemon);
}

static void what_an_early_call_wrote_leaves_with_its_turn(void **state)
{
	run_apart(one_call_a_turn);
}

static unsigned fault;

/* The operation with number @fault fails. Exits with 1 if there was none. */
static void faulty(void)
{
	begin("early", N);
	slu_lock_take(&device.lock);
	device.n_ops = 0;
	device.fail_at = fault;
	slu_lock_give(&device.lock);
	for (unsigned round = 0; round < 2 * N; round++)
		call(&things[round % N], (unsigned char)(round + 1));
	end();
	if (!device.n_failed)
		_exit(1);
}

static void each_operation_may_fail_once(void **state)
{
	unsigned n_faults = 0;
	int status = 0;

	/* later ones with gaps: each takes a process */
	for (fault = 1; !status; fault += 1 + fault / 8) {
		pid_t pid;

		fflush(NULL);
		pid = fork();
		if (!pid) {
			faulty();
			_exit(0);
		}
		waitpid(pid, &status, 0);
		assert_true(WIFEXITED(status));
		n_faults += !status;
	}
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_true(n_faults > N);
	print_message("# %u faults\n", n_faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_pass_before_all_units_are_present),
		cmocka_unit_test(without_the_setting_no_call_does),
		cmocka_unit_test(units_at_unknown_addresses_are_always_present),
		cmocka_unit_test(threads_do_not_disturb_each_other),
		cmocka_unit_test(what_an_early_call_wrote_leaves_with_its_turn),
		cmocka_unit_test(each_operation_may_fail_once),
	};

	return cmocka_run_group_tests_name("client-early", tests, NULL, NULL);
}
