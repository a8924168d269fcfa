/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads large buffers over and over, as a model's weights are read, and writes a small one. Each
 * item of a kernel adds up its share of a buffer's words, weighted by their places, and puts that
 * into a running value: x becomes 5 * x + sum. So a buffer that was lost, stale, exchanged with
 * another or read in the wrong order is seen at the end, when the values are compared with those
 * that the processor comes to.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cl-util.h"
#include "client.h"

static const char usage[] =
	"usage: cl-read [OPTION]...\n"
	"Reads buffers on the first OpenCL device in rounds, and checks what came of it.\n"
	"\n"
	"  -m, --mib N        MiB in all (default 16)\n"
	"  -b, --buffers N    in so many buffers (default 4)\n"
	"  -r, --rounds N     every buffer is read so many times (default 10)\n"
	"  -s, --seed N       of contents and order (default 1)\n"
	"  -p, --passes N     a kernel goes so many times through its buffer (default 1)\n"
	"  -t, --times N      kernels in a row that read a buffer (default 1)\n"
	"  -n, --number N     buffers that a kernel reads at a time, 1 or 2 (default 1)\n"
	"  -x, --mix          in an order by the seed, new in each round\n"
	"  -c, --cast         a kernel in eight writes what it promised only to read\n"
	"  -u, --update       every kernel writes what it reads, and does not promise anything\n"
	"  -f, --finish       wait for each kernel before the next one\n"
	"  -e, --endless      rounds until the end of standard input; N rounds at least\n"
	"  -w, --wait         before the end: print 'done' and wait for the end of standard input\n"
	"  -h, --help\n"
	"\n" CL_EXIT_TEXT;

enum { ITEMS = 4096 };

static const char source[] = "uint sum_of(global const uint *p, uint n, uint i) {\n"
			     "  uint sum = 0;\n"
			     "  for (uint k = i; k < n; k += 4096)\n"
			     "    sum += p[k] * (2 * k + 1);\n"
			     "  return sum;\n"
			     "}\n"
			     "kernel void fill(global uint *p, uint seed) {\n"
			     "  uint i = get_global_id(0);\n"
			     "  p[i] = (i * 0x9e3779b9u) ^ seed;\n"
			     "}\n"
			     "kernel void look(global const uint *a, global const uint *b, global "
			     "uint *out, uint n, uint passes) {\n"
			     "  uint i = get_global_id(0), sum = 0;\n"
			     "  for (uint k = 0; k < passes; k++)\n"
			     "    sum = sum_of(a, n, i) + 3 * sum_of(b, n, i) + (sum & 0);\n"
			     "  out[i] = 5 * out[i] + sum;\n"
			     "}\n"
			     "kernel void update(global uint *a, global uint *out, uint n) {\n"
			     "  uint i = get_global_id(0);\n"
			     "  out[i] = 5 * out[i] + sum_of(a, n, i);\n"
			     "  a[i] += 12345;\n"
			     "}\n"
			     "kernel void cast(global const uint *a, global uint *out, uint n) {\n"
			     "  uint i = get_global_id(0);\n"
			     "  out[i] = 5 * out[i] + sum_of(a, n, i);\n"
			     "  ((global uint *)a)[i] += 12345;\n"
			     "}\n";

struct options {
	uint64_t mib, n_buffers, n_rounds, seed, n_passes, n_times, n_at_once;
	bool is_mixed, casts, updates, finishes, is_endless, waits;
};

struct readers {
	struct options o;
	struct cl_bench bench;
	cl_kernel fill, look, cast, update;
	cl_mem *buffers, out;
	cl_uint n_words; /* of each */
	uint32_t *sums;	 /* of each buffer and item, as they are now */
	uint32_t *values;
	uint64_t random;
};

static uint64_t next_random(struct readers *r)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return r->random;
}

static void set_arg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
	cl_check(clSetKernelArg(kernel, index, size, value), "clSetKernelArg");
}

static cl_kernel make_kernel(struct readers *r, const char *name)
{
	cl_int e;
	cl_kernel kernel = clCreateKernel(r->bench.program, name, &e);

	cl_check(e, "clCreateKernel");
	return kernel;
}

static void set_up(struct readers *r)
{
	static const cl_uint zero;
	size_t n = r->o.n_buffers;

	cl_open(&r->bench, source, 0);
	r->fill = make_kernel(r, "fill");
	r->look = make_kernel(r, "look");
	r->cast = make_kernel(r, "cast");
	r->update = make_kernel(r, "update");
	r->n_words = (cl_uint)(r->o.mib * 1048576 / 4 / n);
	r->buffers = calloc(n, sizeof(*r->buffers));
	r->sums = calloc(n * ITEMS, sizeof(*r->sums));
	r->values = calloc(ITEMS, sizeof(*r->values));
	if (!r->buffers || !r->sums || !r->values)
		exit(CL_EXIT_NO_MEMORY);
	for (size_t b = 0; b < n; b++) {
		cl_uint seed = (cl_uint)(r->o.seed * 1000003 + b);

		r->buffers[b] = cl_buffer(&r->bench, (size_t)r->n_words * 4);
		set_arg(r->fill, 0, sizeof(cl_mem), &r->buffers[b]);
		set_arg(r->fill, 1, sizeof(seed), &seed);
		cl_launch(&r->bench, r->fill, r->n_words);
		for (uint32_t i = 0; i < r->n_words; i++)
			r->sums[b * ITEMS + i % ITEMS] += ((i * 0x9e3779b9u) ^ seed) * (2 * i + 1);
	}
	r->out = cl_buffer(&r->bench, ITEMS * 4);
	cl_check(clEnqueueFillBuffer(r->bench.queue, r->out, &zero, 4, 0, ITEMS * 4, 0, NULL, NULL),
		 "clEnqueueFillBuffer");
	cl_check(clFinish(r->bench.queue), "clFinish");
}

/* The kernel and the processor do the same. */
static void look(struct readers *r, size_t a, size_t b)
{
	cl_uint n = r->n_words, passes = (cl_uint)r->o.n_passes;

	set_arg(r->look, 0, sizeof(cl_mem), &r->buffers[a]);
	set_arg(r->look, 1, sizeof(cl_mem), &r->buffers[b]);
	set_arg(r->look, 2, sizeof(cl_mem), &r->out);
	set_arg(r->look, 3, sizeof(n), &n);
	set_arg(r->look, 4, sizeof(passes), &passes);
	cl_launch(&r->bench, r->look, ITEMS);
	for (uint32_t i = 0; i < ITEMS; i++)
		r->values[i] =
			5 * r->values[i] + r->sums[a * ITEMS + i] + 3 * r->sums[b * ITEMS + i];
}

/* The same, and it changes the buffer's first words; @kernel is one of cast and update. */
static void change(struct readers *r, cl_kernel kernel, size_t a)
{
	cl_uint n = r->n_words;

	set_arg(kernel, 0, sizeof(cl_mem), &r->buffers[a]);
	set_arg(kernel, 1, sizeof(cl_mem), &r->out);
	set_arg(kernel, 2, sizeof(n), &n);
	cl_launch(&r->bench, kernel, ITEMS);
	for (uint32_t i = 0; i < ITEMS; i++) {
		r->values[i] = 5 * r->values[i] + r->sums[a * ITEMS + i];
		r->sums[a * ITEMS + i] += 12345 * (2 * i + 1);
	}
}

static void verify(struct readers *r)
{
	uint32_t *seen = malloc(ITEMS * sizeof(*seen));

	if (!seen)
		exit(CL_EXIT_NO_MEMORY);
	cl_check(clEnqueueReadBuffer(r->bench.queue, r->out, CL_TRUE, 0, ITEMS * 4, seen, 0, NULL,
				     NULL),
		 "clEnqueueReadBuffer");
	for (uint32_t i = 0; i < ITEMS; i++)
		if (seen[i] != r->values[i]) {
			fprintf(stderr, "item %u: %08x and not %08x\n", i, seen[i], r->values[i]);
			exit(CL_EXIT_WRONG);
		}
	free(seen);
}

static void read_round(struct readers *r)
{
	size_t n = r->o.n_buffers;

	for (size_t k = 0; k < n; k++) {
		size_t a = r->o.is_mixed ? next_random(r) % n : k;
		size_t b = r->o.n_at_once == 2 ? (a + 1 + n / 2) % n : a;

		if (r->o.updates)
			change(r, r->update, a);
		else if (r->o.casts && next_random(r) % 8 == 0)
			change(r, r->cast, a);
		else
			for (uint64_t i = 0; i < r->o.n_times; i++)
				look(r, a, b);
		if (r->o.finishes)
			cl_check(clFinish(r->bench.queue), "clFinish");
	}
	cl_check(clFlush(r->bench.queue), "clFlush");
}

static void tear_down(struct readers *r)
{
	for (size_t b = 0; b < r->o.n_buffers; b++)
		cl_check(clReleaseMemObject(r->buffers[b]), "clReleaseMemObject");
	cl_check(clReleaseMemObject(r->out), "clReleaseMemObject");
	cl_check(clReleaseKernel(r->fill), "clReleaseKernel");
	cl_check(clReleaseKernel(r->look), "clReleaseKernel");
	cl_check(clReleaseKernel(r->cast), "clReleaseKernel");
	cl_check(clReleaseKernel(r->update), "clReleaseKernel");
	cl_close(&r->bench);
	free(r->buffers);
	free(r->sums);
	free(r->values);
}

/* Whether standard input is still open. */
static bool goes_on(const struct readers *r)
{
	return r->o.is_endless && client_input_is_quiet();
}

static void parse(struct options *o, int argc, char **argv)
{
	const struct client_option options[] = {
		CLIENT_NUMBER('m', "mib", o->mib, 1, 1 << 20),
		CLIENT_NUMBER('b', "buffers", o->n_buffers, 1, 10000),
		CLIENT_NUMBER('r', "rounds", o->n_rounds, 0, 1000000),
		CLIENT_NUMBER('s', "seed", o->seed, 0, UINT32_MAX),
		CLIENT_NUMBER('p', "passes", o->n_passes, 1, 1000000),
		CLIENT_NUMBER('t', "times", o->n_times, 1, 1000),
		CLIENT_NUMBER('n', "number", o->n_at_once, 1, 2),
		CLIENT_FLAG('x', "mix", o->is_mixed),
		CLIENT_FLAG('c', "cast", o->casts),
		CLIENT_FLAG('u', "update", o->updates),
		CLIENT_FLAG('f', "finish", o->finishes),
		CLIENT_FLAG('e', "endless", o->is_endless),
		CLIENT_FLAG('w', "wait", o->waits),
		{ 0 },
	};

	*o = (struct options){ .mib = 16,
			       .n_buffers = 4,
			       .n_rounds = 10,
			       .seed = 1,
			       .n_passes = 1,
			       .n_times = 1,
			       .n_at_once = 1 };
	if (client_options(argc, argv, options, usage) ||
	    o->mib * 1048576 / o->n_buffers < ITEMS * 4)
		client_misused(usage);
}

int main(int argc, char **argv)
{
	struct readers r = { 0 };
	uint64_t n = 0;

	parse(&r.o, argc, argv);
	r.random = r.o.seed * 2 + 1;
	set_up(&r);
	for (; n < r.o.n_rounds || goes_on(&r); n++)
		read_round(&r);
	verify(&r);
	if (r.o.waits) {
		puts("done");
		fflush(stdout);
		while (getchar() != EOF)
			;
	}
	tear_down(&r);
	printf("right: %llu MiB in %llu buffers, %llu rounds\n", (unsigned long long)r.o.mib,
	       (unsigned long long)r.o.n_buffers, (unsigned long long)n);
	return CL_EXIT_RIGHT;
}
