/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fills buffers with a pattern, changes all of them in every round, and checks every word at the
 * end. Each word is stepped by a function that cannot be undone by chance: a word that was lost,
 * stale, stepped twice or exchanged with another is seen.
 */

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl-util.h"

static const char usage[] =
	"usage: cl-fill [OPTION]...\n"
	"Fills buffers on the first OpenCL device, changes them in rounds, checks every word.\n"
	"\n"
	"  -m, --mib N        MiB in all (default 16)\n"
	"  -b, --buffers N    in so many buffers (default 4)\n"
	"  -r, --rounds N     every buffer is changed so many times (default 10)\n"
	"  -s, --seed N       of contents and order (default 1)\n"
	"  -k, --kernels N    kernels a buffer and round (default 1)\n"
	"  -x, --mix          change them also by read and write, by map and unmap, through\n"
	"                     sub-buffers, and through a copy (needs one more buffer)\n"
	"  -o, --out-of-order use an out-of-order queue (ordered by events)\n"
	"  -w, --wait         when the buffers are filled: print 'ready' and wait for the end of\n"
	"                     standard input before the first round\n"
	"  -v, --verify-each  check every buffer after every round\n"
	"  -h, --help\n"
	"\n" CL_EXIT_TEXT;

static const char source[] = "uint step_word(uint x, uint i) {\n"
			     "  x ^= x >> 15; x *= 0x2c1b3c6du; x ^= x >> 12;\n"
			     "  return x * 0x297a2d39u + i + 1u;\n"
			     "}\n"
			     "kernel void fill(global uint *p, uint seed) {\n"
			     "  uint i = get_global_id(0);\n"
			     "  p[i] = (i * 0x9e3779b9u) ^ seed;\n"
			     "}\n"
			     "kernel void advance(global uint *p, uint from) {\n"
			     "  uint i = get_global_id(0);\n"
			     "  p[i] = step_word(p[i], i + from);\n"
			     "}\n";

struct options {
	uint64_t mib, n_buffers, n_rounds, seed, n_kernels;
	bool is_mixed, is_out_of_order, waits, verifies_each;
};

struct fill {
	struct options o;
	struct cl_bench bench;
	cl_kernel fill, step;
	cl_mem *buffers;
	cl_mem scratch; /* where mixed */
	size_t n_words; /* a buffer */
	uint32_t *host; /* one buffer */
	uint64_t random;
	cl_event last; /* out-of-order: the command that the next one waits for */
};

static uint32_t step_word(uint32_t x, uint32_t i)
{
	x ^= x >> 15;
	x *= 0x2c1b3c6du;
	x ^= x >> 12;
	return x * 0x297a2d39u + i + 1u;
}

static uint32_t first_word(const struct fill *f, uint64_t buffer, size_t i)
{
	return ((uint32_t)i * 0x9e3779b9u) ^ (uint32_t)(f->o.seed * 1000003u + buffer);
}

static uint64_t next_random(struct fill *f)
{
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return f->random;
}

/* In an out-of-order queue every command waits for the one before it. */
static cl_uint n_wait(const struct fill *f)
{
	return f->last ? 1 : 0;
}

static const cl_event *wait_list(const struct fill *f)
{
	return f->last ? &f->last : NULL;
}

static void follow(struct fill *f, cl_event event)
{
	if (f->last)
		cl_check(clReleaseEvent(f->last), "clReleaseEvent");
	f->last = NULL;
	if (f->o.is_out_of_order)
		f->last = event;
	else
		cl_check(clReleaseEvent(event), "clReleaseEvent");
}

static void run(struct fill *f, cl_kernel kernel, cl_mem mem, cl_uint number, size_t n_words)
{
	cl_event event;

	cl_check(clSetKernelArg(kernel, 0, sizeof(mem), &mem), "clSetKernelArg");
	cl_check(clSetKernelArg(kernel, 1, sizeof(number), &number), "clSetKernelArg");
	cl_check(clEnqueueNDRangeKernel(f->bench.queue, kernel, 1, NULL, &n_words, NULL, n_wait(f),
					wait_list(f), &event),
		 "clEnqueueNDRangeKernel");
	follow(f, event);
}

static void by_read_and_write(struct fill *f, cl_mem mem)
{
	size_t bytes = f->n_words * sizeof(uint32_t);
	cl_event event;

	cl_check(clEnqueueReadBuffer(f->bench.queue, mem, CL_FALSE, 0, bytes, f->host, n_wait(f),
				     wait_list(f), &event),
		 "clEnqueueReadBuffer");
	cl_check(clWaitForEvents(1, &event), "clWaitForEvents");
	follow(f, event);
	for (size_t i = 0; i < f->n_words; i++)
		f->host[i] = step_word(f->host[i], (uint32_t)i);
	cl_check(clEnqueueWriteBuffer(f->bench.queue, mem, CL_TRUE, 0, bytes, f->host, n_wait(f),
				      wait_list(f), &event),
		 "clEnqueueWriteBuffer");
	follow(f, event);
}

static void by_map(struct fill *f, cl_mem mem)
{
	size_t bytes = f->n_words * sizeof(uint32_t);
	cl_event event;
	uint32_t *p;
	cl_int r;

	p = clEnqueueMapBuffer(f->bench.queue, mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes,
			       n_wait(f), wait_list(f), &event, &r);
	cl_check(r, "clEnqueueMapBuffer");
	follow(f, event);
	for (size_t i = 0; i < f->n_words; i++)
		p[i] = step_word(p[i], (uint32_t)i);
	cl_check(clEnqueueUnmapMemObject(f->bench.queue, mem, p, n_wait(f), wait_list(f), &event),
		 "clEnqueueUnmapMemObject");
	follow(f, event);
}

static void by_sub_buffers(struct fill *f, cl_mem mem)
{
	size_t half = f->n_words / 2 & ~(size_t)1023;
	const size_t from[] = { 0, half }, n[] = { half, f->n_words - half };

	for (unsigned i = 0; i < 2; i++) {
		cl_buffer_region region = { from[i] * 4, n[i] * 4 };
		cl_mem part;
		cl_int r;

		part = clCreateSubBuffer(mem, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
					 &region, &r);
		cl_check(r, "clCreateSubBuffer");
		run(f, f->step, part, (cl_uint)from[i], n[i]);
		cl_check(clReleaseMemObject(part), "clReleaseMemObject");
	}
}

static void by_copy(struct fill *f, cl_mem mem)
{
	size_t bytes = f->n_words * sizeof(uint32_t);
	cl_event event;

	cl_check(clEnqueueCopyBuffer(f->bench.queue, mem, f->scratch, 0, 0, bytes, n_wait(f),
				     wait_list(f), &event),
		 "clEnqueueCopyBuffer");
	follow(f, event);
	run(f, f->step, f->scratch, 0, f->n_words);
	cl_check(clEnqueueCopyBuffer(f->bench.queue, f->scratch, mem, 0, 0, bytes, n_wait(f),
				     wait_list(f), &event),
		 "clEnqueueCopyBuffer");
	follow(f, event);
}

static void change(struct fill *f, cl_mem mem)
{
	switch (f->o.is_mixed ? next_random(f) % 5 : 0) {
	case 1:
		by_read_and_write(f, mem);
		break;
	case 2:
		by_map(f, mem);
		break;
	case 3:
		by_sub_buffers(f, mem);
		break;
	case 4:
		by_copy(f, mem);
		break;
	default:
		run(f, f->step, mem, 0, f->n_words);
	}
}

static void verify(struct fill *f, uint64_t buffer, uint64_t n_steps)
{
	cl_check(clEnqueueReadBuffer(f->bench.queue, f->buffers[buffer], CL_TRUE, 0,
				     f->n_words * sizeof(uint32_t), f->host, n_wait(f),
				     wait_list(f), NULL),
		 "clEnqueueReadBuffer");
	for (size_t i = 0; i < f->n_words; i++) {
		uint32_t x = first_word(f, buffer, i);

		for (uint64_t n = 0; n < n_steps; n++)
			x = step_word(x, (uint32_t)i);
		if (x == f->host[i])
			continue;
		fprintf(stderr, "buffer %llu word %zu after %llu steps: %08x and not %08x\n",
			(unsigned long long)buffer, i, (unsigned long long)n_steps, f->host[i], x);
		exit(CL_EXIT_WRONG);
	}
}

static void set_up(struct fill *f)
{
	cl_int r;

	cl_open(&f->bench, source,
		f->o.is_out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
	f->fill = clCreateKernel(f->bench.program, "fill", &r);
	cl_check(r, "clCreateKernel");
	f->step = clCreateKernel(f->bench.program, "advance", &r);
	cl_check(r, "clCreateKernel");
	f->n_words = (size_t)(f->o.mib * 1048576 / f->o.n_buffers / 4);
	f->host = malloc(f->n_words * sizeof(uint32_t));
	f->buffers = calloc(f->o.n_buffers, sizeof(*f->buffers));
	if (!f->host || !f->buffers)
		exit(CL_EXIT_NO_MEMORY);
	for (uint64_t b = 0; b < f->o.n_buffers; b++) {
		f->buffers[b] = cl_buffer(&f->bench, f->n_words * sizeof(uint32_t));
		run(f, f->fill, f->buffers[b], (cl_uint)(f->o.seed * 1000003u + b), f->n_words);
	}
	if (f->o.is_mixed)
		f->scratch = cl_buffer(&f->bench, f->n_words * sizeof(uint32_t));
	cl_check(clFinish(f->bench.queue), "clFinish");
}

static void tear_down(struct fill *f)
{
	if (f->last)
		cl_check(clReleaseEvent(f->last), "clReleaseEvent");
	for (uint64_t b = 0; b < f->o.n_buffers; b++)
		cl_check(clReleaseMemObject(f->buffers[b]), "clReleaseMemObject");
	if (f->scratch)
		cl_check(clReleaseMemObject(f->scratch), "clReleaseMemObject");
	cl_check(clReleaseKernel(f->fill), "clReleaseKernel");
	cl_check(clReleaseKernel(f->step), "clReleaseKernel");
	cl_close(&f->bench);
	free(f->buffers);
	free(f->host);
}

static void parse(struct options *o, int argc, char **argv)
{
	static const struct option options[] = {
		{ "mib", required_argument, NULL, 'm' },
		{ "buffers", required_argument, NULL, 'b' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 's' },
		{ "kernels", required_argument, NULL, 'k' },
		{ "mix", no_argument, NULL, 'x' },
		{ "out-of-order", no_argument, NULL, 'o' },
		{ "wait", no_argument, NULL, 'w' },
		{ "verify-each", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	*o = (struct options){
		.mib = 16, .n_buffers = 4, .n_rounds = 10, .seed = 1, .n_kernels = 1
	};
	while ((c = getopt_long(argc, argv, "m:b:r:s:k:xowvh", options, NULL)) >= 0) {
		switch (c) {
		case 'm':
			o->mib = cl_number(optarg, 1, 1 << 20, usage);
			break;
		case 'b':
			o->n_buffers = cl_number(optarg, 1, 100000, usage);
			break;
		case 'r':
			o->n_rounds = cl_number(optarg, 0, 1000000, usage);
			break;
		case 's':
			o->seed = cl_number(optarg, 0, UINT64_MAX, usage);
			break;
		case 'k':
			o->n_kernels = cl_number(optarg, 1, 1000000, usage);
			break;
		case 'x':
			o->is_mixed = true;
			break;
		case 'o':
			o->is_out_of_order = true;
			break;
		case 'w':
			o->waits = true;
			break;
		case 'v':
			o->verifies_each = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(CL_EXIT_RIGHT);
		default:
			fputs(usage, stderr);
			exit(CL_EXIT_USAGE);
		}
	}
	if (optind < argc || o->mib * 1048576 / o->n_buffers < 16384) {
		fputs(usage, stderr);
		exit(CL_EXIT_USAGE);
	}
}

int main(int argc, char **argv)
{
	struct fill f = { 0 };

	parse(&f.o, argc, argv);
	f.random = f.o.seed * 2 + 1;
	set_up(&f);
	if (f.o.waits) {
		puts("ready");
		fflush(stdout);
		while (getchar() != EOF)
			;
	}
	for (uint64_t round = 0; round < f.o.n_rounds; round++) {
		uint64_t first = next_random(&f) % f.o.n_buffers;

		for (uint64_t b = 0; b < f.o.n_buffers; b++)
			for (uint64_t k = 0; k < f.o.n_kernels; k++)
				change(&f, f.buffers[(first + b) % f.o.n_buffers]);
		for (uint64_t b = 0; f.o.verifies_each && b < f.o.n_buffers; b++)
			verify(&f, b, (round + 1) * f.o.n_kernels);
		cl_check(clFlush(f.bench.queue), "clFlush");
	}
	for (uint64_t b = 0; b < f.o.n_buffers; b++)
		verify(&f, b, f.o.n_rounds * f.o.n_kernels);
	tear_down(&f);
	printf("right: %llu MiB in %llu buffers, %llu rounds\n", (unsigned long long)f.o.mib,
	       (unsigned long long)f.o.n_buffers, (unsigned long long)f.o.n_rounds);
	return CL_EXIT_RIGHT;
}
