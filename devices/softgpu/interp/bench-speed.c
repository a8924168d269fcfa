/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast kernels run, as a share of native C for the same loop in the same run: one thread, the
 * best of several rounds each. And whether blocks scale with the CPU time that they get: what a
 * second of it does on all cores, as a share of what it does on one, beside the same of native C.
 * The last lines are one JSON object a figure.
 */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "softgpu/interp/testbed.h"

/* three arrays of 16 MB: more than a cache holds */
#define N_STREAM (1u << 22)
#define N_ROUNDS 2000u
#define N_GEMM	 256u
#define N_BEST	 7
#define N_NATIVE 8 /* so that native threads last longer than their making */

#define N_THREADS_MAX 64u /* their results fit into one array of N_STREAM */

/* built with -O3 -march=native, as the goal says */
#define NATIVE __attribute__((noinline))

NATIVE static void native_stream(const float *a, const float *b, float *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		c[i] = a[i] * b[i] + c[i];
}

NATIVE static void native_fma(float *out, unsigned lanes, unsigned rounds)
{
	for (unsigned t = 0; t < lanes; t += 32) {
		float a[32], b[32], c[32], d[32];

		for (unsigned i = 0; i < 32; i++) {
			a[i] = (float)(t + i);
			b[i] = 0.5f;
			c[i] = 0.25f;
			d[i] = 0.125f;
		}
		for (unsigned r = 0; r < rounds * 2; r++)
			for (unsigned i = 0; i < 32; i++) {
				a[i] = fmaf(a[i], 0.999f, 0.001f);
				b[i] = fmaf(b[i], 0.999f, 0.001f);
				c[i] = fmaf(c[i], 0.999f, 0.001f);
				d[i] = fmaf(d[i], 0.999f, 0.001f);
			}
		for (unsigned i = 0; i < 32; i++)
			out[t + i] = a[i] + b[i] + c[i] + d[i];
	}
}

NATIVE static void native_sgemm(const float *a, const float *b, float *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < n; k++) {
			float x = a[i * n + k];

			for (unsigned j = 0; j < n; j++)
				c[i * n + j] = fmaf(x, b[k * n + j], c[i * n + j]);
		}
}

static struct dev_testbed bed;
static const char *wanted; /* the only one to measure, or NULL */
static float *a, *b, *c;

static void speed_run(const char *kernel, unsigned grid, unsigned block)
{
	if (dev_testbed_run(&bed, kernel, grid, block)) {
		fprintf(stderr, "%s did not run\n", kernel);
		exit(1);
	}
}

static void interp_stream(void)
{
	dev_testbed_param_ptr(&bed, a);
	dev_testbed_param_ptr(&bed, b);
	dev_testbed_param_ptr(&bed, c);
	dev_testbed_param_u32(&bed, N_STREAM);
	/* a grid as programs choose it that ask for the number of multiprocessors */
	speed_run("stream_fma", 2, 512);
}

static void interp_fma(void)
{
	dev_testbed_param_ptr(&bed, c);
	dev_testbed_param_u32(&bed, N_ROUNDS);
	speed_run("fma_registers", 4, 256);
}

static void interp_sgemm(void)
{
	dev_testbed_param_ptr(&bed, a);
	dev_testbed_param_ptr(&bed, b);
	dev_testbed_param_ptr(&bed, c);
	dev_testbed_param_u32(&bed, N_GEMM);
	speed_run("sgemm", N_GEMM / 16 * (N_GEMM / 16), 256);
}

static void c_stream(void)
{
	native_stream(a, b, c, N_STREAM);
}

static void c_fma(void)
{
	native_fma(c, 1024, N_ROUNDS);
}

static void c_sgemm(void)
{
	native_sgemm(a, b, c, N_GEMM);
}

/* our own time, of the thread or of all: what others do on the machine is not our speed */
static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static double best_of(void (*what)(void), clockid_t clock)
{
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < N_BEST; i++) {
		uint64_t start = now_ns(clock), took;

		what();
		took = now_ns(clock) - start;
		best = SLU_MIN(best, took);
	}
	return (double)best;
}

static void speed_compare(const char *name, void (*interp)(void), void (*native)(void),
			  double operations, double goal)
{
	double ours, theirs;

	if (wanted && strcmp(wanted, name) != 0)
		return;
	ours = best_of(interp, CLOCK_THREAD_CPUTIME_ID);
	theirs = best_of(native, CLOCK_THREAD_CPUTIME_ID);
	printf("{\"name\": \"softgpu-speed.%s_ratio\", \"value\": %.4f, \"unit\": \"share\", "
	       "\"bound\": 1, \"goal\": %.4f, \"valid\": true}\n",
	       name, theirs / ours, goal);
	printf("{\"name\": \"softgpu-speed.%s_rate\", \"value\": %.3f, \"unit\": \"GFMA/s\", "
	       "\"bound\": %.3f, \"goal\": null, \"valid\": true}\n",
	       name, operations / ours, operations / theirs);
}

static void *native_thread(void *out)
{
	for (unsigned i = 0; i < N_NATIVE; i++)
		native_sgemm(a, b, out, N_GEMM);
	return NULL;
}

static unsigned n_threads; /* of native code */

static void c_threads(void)
{
	pthread_t threads[N_THREADS_MAX];

	for (unsigned i = 1; i < n_threads; i++)
		if (pthread_create(&threads[i], NULL, native_thread, c + i * N_GEMM * N_GEMM))
			exit(1);
	native_thread(c);
	for (unsigned i = 1; i < n_threads; i++)
		pthread_join(threads[i], NULL);
}

/*
 * Cores that share a clock's budget or a unit of arithmetic do less a second beside each other:
 * what native code loses by that is the bound.
 */
static double native_scale(unsigned n_cores)
{
	double one, all;

	n_threads = 1;
	one = best_of(c_threads, CLOCK_PROCESS_CPUTIME_ID);
	n_threads = n_cores;
	all = best_of(c_threads, CLOCK_PROCESS_CPUTIME_ID);
	return one * n_threads / all;
}

static void speed_scale(void)
{
	unsigned n_cores = SLU_MIN((unsigned)sysconf(_SC_NPROCESSORS_ONLN), N_THREADS_MAX);
	double one, all;

	if (wanted && strcmp(wanted, "scale") != 0)
		return;
	one = best_of(interp_sgemm, CLOCK_PROCESS_CPUTIME_ID);
	bed.n_workers = n_cores;
	all = best_of(interp_sgemm, CLOCK_PROCESS_CPUTIME_ID);
	bed.n_workers = 1;
	printf("{\"name\": \"softgpu-speed.scale_ratio\", \"value\": %.4f, \"unit\": \"share\", "
	       "\"bound\": %.4f, \"goal\": 0.9, \"valid\": %s}\n",
	       one / all, native_scale(n_cores), n_cores > 1 ? "true" : "false");
}

int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
	char *text = calloc(1, 1 << 20);

	if (!f || !text || !fread(text, 1, (1 << 20) - 1, f)) {
		fprintf(stderr, "usage: bench-speed kernels.ptx [stream|fma|sgemm|scale]\n");
		return 2;
	}
	fclose(f);
	wanted = argc > 2 ? argv[2] : NULL;
	dev_testbed_init(&bed);
	if (dev_testbed_load(&bed, text))
		return 1;
	a = dev_testbed_alloc(&bed, N_STREAM * 4);
	b = dev_testbed_alloc(&bed, N_STREAM * 4);
	c = dev_testbed_alloc(&bed, N_STREAM * 4);
	for (unsigned i = 0; i < N_STREAM; i++) {
		a[i] = (float)(i % 7) / 8;
		b[i] = (float)(i % 5) / 8;
	}
	speed_compare("stream", interp_stream, c_stream, N_STREAM, 0.25);
	speed_compare("fma", interp_fma, c_fma, 1024.0 * N_ROUNDS * 8, 0.125);
	speed_compare("sgemm", interp_sgemm, c_sgemm, (double)N_GEMM * N_GEMM * N_GEMM, 0.125);
	speed_scale();
	dev_testbed_deinit(&bed);
	free(text);
	return 0;
}
