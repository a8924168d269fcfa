/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the gate costs: nanoseconds of an entry and a leave with the gate open, on one thread, less
 * an empty loop of the same shape measured in turn with it; and how many calls were late in as many
 * closings as SLUICE_CLOSINGS says.
 *
 *   gate.ns           publish with a plain store, closed by membarrier
 *   gate.ns.fallback  sequentially consistent store, where membarrier is refused
 *   gate.close.us     shutting an open gate and finding it empty, one other thread hammering it
 *   gate.late         entries seen after a complete closing, both variants together
 *
 * With a number as its argument it only goes through the gate so often, for those who count
 * instructions.
 */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/util.h"
#include "client/gate.h"

#define N_CALLS	 2000000u
#define N_ROUNDS 15u

static atomic_bool is_over;
static volatile uint64_t n_calls; /* by the hammering thread, inside the gate only */
static volatile uint32_t is_inside;
static volatile uint32_t sink;

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median over rounds of (with − without): machines are noisy, and noise comes in rounds. */
static double cost_ns(bool allow_membarrier)
{
	double rounds[N_ROUNDS];

	slu_gate_init(allow_membarrier);
	slu_gate_open(0);
	for (unsigned r = 0; r < N_ROUNDS; r++) {
		uint64_t t0;
		uint64_t t1;
		uint64_t t2;

		t0 = slu_clock_now_ns();
		for (unsigned i = 0; i < N_CALLS; i++)
			sink = i;
		t1 = slu_clock_now_ns();
		for (unsigned i = 0; i < N_CALLS; i++) {
			if (slu_gate_try_enter(0)) {
				sink = i;
				slu_gate_leave();
			}
		}
		t2 = slu_clock_now_ns();
		rounds[r] = ((double)(t2 - t1) - (double)(t1 - t0)) / N_CALLS;
	}
	slu_gate_shut(0);
	qsort(rounds, N_ROUNDS, sizeof(rounds[0]), by_value);
	return rounds[N_ROUNDS / 2];
}

static void *hammer(void *data)
{
	while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
		if (!slu_gate_try_enter(0))
			continue;
		is_inside = 1;
		n_calls = n_calls + 1;
		is_inside = 0;
		slu_gate_leave();
	}
	return NULL;
}

static uint64_t n_late(bool allow_membarrier, uint64_t n_closings, double *ret_close_us)
{
	uint64_t closing_ns = 0;
	uint64_t late = 0;
	pthread_t thread;

	slu_gate_init(allow_membarrier);
	atomic_store(&is_over, false);
	if (pthread_create(&thread, NULL, hammer, NULL))
		exit(1);
	for (uint64_t c = 0; c < n_closings; c++) {
		uint64_t t = 0;
		uint64_t n_then;
		bool is_late = false;

		slu_gate_open(0);
		for (uint64_t i = 0; i < c % 64; i++)
			sink = (uint32_t)i;
		t = slu_clock_now_ns();
		slu_gate_shut(0);
		while (!slu_gate_is_empty(0))
			sched_yield();
		closing_ns += slu_clock_now_ns() - t;
		n_then = n_calls;
		for (unsigned i = 0; i < 300; i++)
			is_late |= is_inside || n_calls != n_then;
		late += is_late;
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	*ret_close_us = (double)closing_ns / (double)n_closings / 1e3;
	return late;
}

static void print(const char *name, double value, const char *unit, const char *goal, bool valid)
{
	printf("{\"name\": \"%s\", \"value\": %.3g, \"unit\": \"%s\", \"bound\": null, \"goal\": "
	       "%s, "
	       "\"valid\": %s}\n",
	       name, value, unit, goal, valid ? "true" : "false");
}

static int only_enter(unsigned long n_times)
{
	slu_gate_init(true);
	slu_gate_open(0);
	for (unsigned long i = 0; i < n_times; i++)
		if (slu_gate_try_enter(0))
			slu_gate_leave();
	return 0;
}

int main(int argc, char **argv)
{
	const char *s = getenv("SLUICE_CLOSINGS");
	uint64_t n_closings = s ? strtoull(s, NULL, 0) : 200000;
	bool has_membarrier;
	double ns[2];
	double close_us[2];
	uint64_t late;

	if (argc > 1)
		return only_enter(strtoul(argv[1], NULL, 10));
	ns[0] = cost_ns(true);
	has_membarrier = slu_gate_global.has_membarrier;
	ns[1] = cost_ns(false);
	late = n_late(true, n_closings, &close_us[0]);
	late += n_late(false, n_closings, &close_us[1]);
	printf("gate: %u calls a round, median of %u rounds, empty loop subtracted; %llu closings "
	       "a "
	       "variant with one thread hammering\n",
	       N_CALLS, N_ROUNDS, (unsigned long long)n_closings);
	print("gate.ns", ns[0], "ns", "10", has_membarrier);
	print("gate.ns.fallback", ns[1], "ns", "null", true);
	print("gate.close.us", close_us[0], "us", "null", has_membarrier);
	print("gate.late", (double)late, "calls", "0", true);
	return late != 0;
}
