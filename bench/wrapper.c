/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the CUDA shim adds to a call with its gate open: nanoseconds of a call through it, less the
 * same call to the driver under it, which does nothing. One thread.
 *
 *   wrapper.ns             cuLaunchKernel, all in one stream
 *   wrapper.ns.streams     the same, in four streams by turns
 *   wrapper.copy.ns        cuMemcpyHtoDAsync
 *   wrapper.pool.ns        cuMemAllocAsync and cuMemFreeAsync, of sizes that differ, while 64 other
 *                          allocations live; the pool is ours, the driver's does nothing
 *
 * With two numbers it only makes so many calls by the shim and so many to the driver, with a third
 * one so many pairs by the shim: for a counter of instructions (wrapper.sh).
 */

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cuabi/cuda-calls.h"

#define N_CALLS	 500000u
#define N_ROUNDS 15u

struct calls {
	__typeof__(&cuLaunchKernel) launch;
	__typeof__(&cuMemcpyHtoDAsync_v2) copy;
	__typeof__(&cuMemAllocAsync) alloc;
	__typeof__(&cuMemFreeAsync) free;
};

static char streams[4][4096];

static struct calls open_calls(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct calls c;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	c.launch = (__typeof__(c.launch))dlsym(library, "cuLaunchKernel");
	c.copy = (__typeof__(c.copy))dlsym(library, "cuMemcpyHtoDAsync_v2");
	c.alloc = (__typeof__(c.alloc))dlsym(library, "cuMemAllocAsync");
	c.free = (__typeof__(c.free))dlsym(library, "cuMemFreeAsync");
	return c;
}

static CUstream stream_of(unsigned i, unsigned n_streams)
{
	return (CUstream)(void *)streams[i % n_streams];
}

static void launch(const struct calls *c, unsigned n, unsigned n_streams)
{
	for (unsigned i = 0; i < n; i++)
		c->launch(NULL, 1, 1, 1, 1, 1, 1, 0, stream_of(i, n_streams), NULL, NULL);
}

static void copy(const struct calls *c, unsigned n, unsigned n_streams)
{
	for (unsigned i = 0; i < n; i++)
		c->copy(0x1000, streams, 64, stream_of(i, n_streams));
}

static void pair(const struct calls *c, unsigned n, unsigned n_streams)
{
	CUdeviceptr p;

	for (unsigned i = 0; i < n; i++) {
		if (c->alloc(&p, 512 + i % 61 * 4096, stream_of(i, n_streams)) ||
		    c->free(p, stream_of(i, n_streams)))
			exit(1);
	}
}

/* What lives among the pairs, so that the pool has something to look through. */
static void live(const struct calls *c)
{
	CUdeviceptr p[128];

	for (unsigned i = 0; i < 128; i++)
		if (c->alloc(&p[i], 512 + i % 7 * 10000, stream_of(0, 1)))
			exit(1);
	for (unsigned i = 0; i < 128; i += 2)
		c->free(p[i], stream_of(0, 1));
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median over rounds of (with − without). */
static double cost_ns(const struct calls *shim, const struct calls *driver,
		      void (*call)(const struct calls *, unsigned, unsigned), unsigned n_streams)
{
	double rounds[N_ROUNDS];

	for (unsigned r = 0; r < N_ROUNDS; r++) {
		uint64_t t0 = slu_clock_now_ns(), t1, t2;

		call(driver, N_CALLS, n_streams);
		t1 = slu_clock_now_ns();
		call(shim, N_CALLS, n_streams);
		t2 = slu_clock_now_ns();
		rounds[r] = ((double)(t2 - t1) - (double)(t1 - t0)) / N_CALLS;
	}
	qsort(rounds, N_ROUNDS, sizeof(rounds[0]), by_value);
	return rounds[N_ROUNDS / 2];
}

static void print(const char *name, double value, const char *goal)
{
	printf("{\"name\": \"%s\", \"value\": %.3g, \"unit\": \"ns\", \"bound\": null, \"goal\": "
	       "%s, "
	       "\"valid\": true}\n",
	       name, value, goal);
}

int main(int argc, char **argv)
{
	struct calls driver, shim;

	if (argc != 3 && argc != 5 && argc != 6) {
		fputs("usage: bench-wrapper SHIM DRIVER [CALLS-BY-SHIM CALLS-TO-DRIVER [PAIRS]]\n",
		      stderr);
		return 2;
	}
	setenv("SLUICE_CUDA_DRIVER", argv[2], 1);
	driver = open_calls(argv[2]);
	shim = open_calls(argv[1]);
	/* the shim starts, and learns its limit of work in flight */
	launch(&shim, 10000, 4);
	live(&shim);
	if (argc >= 5) {
		launch(&shim, (unsigned)strtoul(argv[3], NULL, 0), 1);
		launch(&driver, (unsigned)strtoul(argv[4], NULL, 0), 1);
		if (argc == 6)
			pair(&shim, (unsigned)strtoul(argv[5], NULL, 0), 1);
		return 0;
	}
	printf("wrapper: %u calls a round, median of %u rounds, the same calls to a driver that "
	       "does "
	       "nothing subtracted; one thread, gate open\n",
	       N_CALLS, N_ROUNDS);
	print("wrapper.ns", cost_ns(&shim, &driver, launch, 1), "100");
	print("wrapper.ns.streams", cost_ns(&shim, &driver, launch, 4), "100");
	print("wrapper.copy.ns", cost_ns(&shim, &driver, copy, 1), "100");
	print("wrapper.pool.ns", cost_ns(&shim, &driver, pair, 1), "1000");
	return 0;
}
