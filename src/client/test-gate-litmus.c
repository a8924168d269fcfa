/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The litmus test of the gate: threads hammer it while a helper closes it again and again. After
 * each closing no thread may be inside, or get in, until it opens again. Inside, a thread makes a
 * plain, unordered write to memory of its own: the gate alone must order it.
 *
 * A broken gate, which looks at the word before it publishes itself, runs through the same test and
 * must be caught: this shows that the test can fail. SLUICE_CLOSINGS sets the number of closings.
 */

#include "lib/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "client/gate.h"

#define N_THREADS     2
#define DEVICE	      3
#define N_LOOKS	      300  /* about a microsecond: a late thread needs time to come in */
#define N_YIELDS      256  /* how often the threads get the processor, even on a busy machine */
#define N_LATE_YIELDS 2048 /* the same while the gate is shut */

/* The broken gate: it pauses between look and word, and has this many tries. */
#define N_DAWDLES	20
#define BROKEN_CLOSINGS 10000
#define BROKEN_TRIES	100

struct worker {
	pthread_t thread;
	bool is_broken;	    /* constant after start */
	uint32_t is_inside; /* plain on purpose, as are the calls */
	uint64_t n_calls;
} __attribute__((__aligned__(64)));

static struct worker workers[N_THREADS];
static atomic_bool is_over;

static uint64_t n_closings_wanted(uint64_t fallback)
{
	const char *s = getenv("SLUICE_CLOSINGS");

	return s ? strtoull(s, NULL, 0) : fallback;
}

static bool broken_try_enter(unsigned device)
{
	struct slu_gate_slot *slot = slu_gate_slot_mine ? slu_gate_slot_mine : slu_gate_slot_slow();

	if (!atomic_load_explicit(&slu_gate_global.open[device], memory_order_acquire))
		return false;
	for (unsigned i = 0; i < N_DAWDLES; i++)
		__builtin_ia32_pause();
	atomic_store_explicit(&slot->inside, device + 1, memory_order_relaxed);
	slot->depth = 1;
	return true;
}

static void *work(void *data)
{
	struct worker *w = data;

	while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
		if (!(w->is_broken ? broken_try_enter(DEVICE) : slu_gate_try_enter(DEVICE)))
			continue;
		*(volatile uint32_t *)&w->is_inside = 1;
		*(volatile uint64_t *)&w->n_calls = w->n_calls + 1;
		*(volatile uint32_t *)&w->is_inside = 0;
		slu_gate_leave();
	}
	return NULL;
}

/* What the threads have done, and whether one is in the middle of a call. */
static bool look(uint64_t *ret_n_calls)
{
	uint64_t n = 0;
	bool is_inside = false;

	for (unsigned i = 0; i < N_THREADS; i++) {
		n += *(volatile uint64_t *)&workers[i].n_calls;
		is_inside |= *(volatile uint32_t *)&workers[i].is_inside;
	}
	*ret_n_calls = n;
	return is_inside;
}

static void wait_for_a_call(uint64_t n_before)
{
	uint64_t n_now;

	do {
		sched_yield();
		look(&n_now);
	} while (n_now == n_before);
}

/* Return: the closings during which a thread slipped through. */
static uint64_t close_again_and_again(bool allow_membarrier, bool is_broken, uint64_t n_closings)
{
	uint64_t n_late = 0;
	uint64_t n_worked = 0;
	uint64_t n_before = 0;

	slu_gate_init(allow_membarrier);
	atomic_store(&is_over, false);
	for (unsigned i = 0; i < N_THREADS; i++) {
		workers[i] = (struct worker){ .is_broken = is_broken };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (uint64_t c = 0; c < n_closings; c++) {
		uint64_t n_first;
		uint64_t n_then;
		bool is_late;

		slu_gate_open(DEVICE);
		/* Waits a varying moment, so that the gate closes at every point of a call. */
		for (uint64_t i = 0; i < c % 64; i++)
			__builtin_ia32_pause();
		if (c % N_YIELDS == 0)
			wait_for_a_call(n_before);
		slu_gate_shut(DEVICE);
		while (!slu_gate_is_empty(DEVICE))
			sched_yield();
		is_late = look(&n_first);
		/* a thread that was preempted in the middle of its call comes in now */
		if (c % N_LATE_YIELDS == 1)
			sched_yield();
		for (unsigned i = 0; i < N_LOOKS; i++) {
			is_late |= look(&n_then);
			is_late |= n_then != n_first;
		}
		n_late += is_late;
		n_worked += n_then != n_before;
		n_before = n_then;
	}
	atomic_store(&is_over, true);
	for (unsigned i = 0; i < N_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	printf("# %s%s: %llu closings, %llu of them with calls between, %llu late\n",
	       slu_gate_global.has_membarrier ? "membarrier" : "sequentially consistent store",
	       is_broken ? ", load before publish" : "", (unsigned long long)n_closings,
	       (unsigned long long)n_worked, (unsigned long long)n_late);
	/* Closing a gate that no thread uses would show nothing. */
	assert_true(n_worked > n_closings / 1000);
	return n_late;
}

static void no_thread_is_late_with_membarrier(void **state)
{
	slu_gate_init(true);
	if (!slu_gate_global.has_membarrier)
		skip(); /* membarrier is refused here */
	assert_int_equal(close_again_and_again(true, false, n_closings_wanted(200000)), 0);
}

static void no_thread_is_late_with_a_sequentially_consistent_store(void **state)
{
	assert_int_equal(close_again_and_again(false, false, n_closings_wanted(200000)), 0);
}

static void a_gate_that_loads_before_it_publishes_is_caught(void **state)
{
	for (unsigned i = 0; i < BROKEN_TRIES; i++)
		if (close_again_and_again(i % 2, true, BROKEN_CLOSINGS))
			return;
	fail_msg("a gate that is broken went unseen through %u closings",
		 BROKEN_TRIES * BROKEN_CLOSINGS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_thread_is_late_with_membarrier),
		cmocka_unit_test(no_thread_is_late_with_a_sequentially_consistent_store),
		cmocka_unit_test(a_gate_that_loads_before_it_publishes_is_caught),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
