/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fills buffers with a pattern, changes all of them in every round, and checks every word at the
 * end. A word's next value is a * x + c, with an odd c of its own: all values of a word differ for
 * 2^32 steps, so one that was lost, stale, stepped twice or exchanged with another is seen, and
 * the value after any number of steps is known without making them. The buffers are shared out
 * among threads, each of which has a queue and kernels of its own.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl-util.h"
#include "client.h"

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
	"  -n, --renew        before each change to a new buffer, and the old one is released\n"
	"  -t, --threads N    threads that share the buffers out (default 1)\n"
	"  -u, --uneven       buffers of different sizes, by the seed\n"
	"  -e, --endless      rounds until the end of standard input; N rounds at least\n"
	"  -o, --out-of-order use an out-of-order queue (ordered by events)\n"
	"  -w, --wait         when the buffers are filled: print 'ready' and wait for the end of\n"
	"                     standard input before the first round\n"
	"  -i, --idle N       after every round do nothing for N ms (default 0)\n"
	"  -v, --verify-each  check every buffer after every round\n"
	"  -h, --help\n"
	"\n" CL_EXIT_TEXT;

static const char source[] = "uint step_word(uint x, uint i) {\n"
			     "  return x * 1664525u + 2 * i + 1;\n"
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
	uint64_t mib, n_buffers, n_rounds, seed, n_kernels, n_threads, idle_ms;
	bool is_mixed, is_renewed, is_uneven, is_endless, is_out_of_order, waits, verifies_each;
};

struct buffer {
	cl_mem mem;
	size_t n_words;
	uint64_t number; /* of all */
	uint64_t n_steps;
};

#define THREADS_MAX 64

/* One thread's part of the work. */
struct fill {
	pthread_t thread;
	struct options o;
	struct cl_bench bench; /* with a queue of its own */
	cl_kernel fill, step;
	struct buffer *buffers;
	uint64_t n_buffers;
	cl_mem scratch;	    /* where mixed */
	size_t n_words_max; /* of the largest buffer */
	uint32_t *host;	    /* so large */
	uint64_t random;
	cl_event last; /* out-of-order: the command that the next one waits for */
};

static uint32_t step_word(uint32_t x, uint32_t i)
{
	return x * 1664525u + 2 * i + 1;
}

/* n steps at once: x becomes times * x + plus * c. */
struct leap {
	uint32_t times, plus;
};

static struct leap leap_of(uint64_t n)
{
	struct leap all = { .times = 1, .plus = 0 }, one = { .times = 1664525u, .plus = 1 };

	for (; n; n >>= 1) {
		if (n & 1) {
			all.plus = one.times * all.plus + one.plus;
			all.times *= one.times;
		}
		one.plus += one.times * one.plus;
		one.times *= one.times;
	}
	return all;
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

static void by_read_and_write(struct fill *f, cl_mem mem, size_t n_words)
{
	size_t bytes = n_words * sizeof(uint32_t);
	cl_event event;

	cl_check(clEnqueueReadBuffer(f->bench.queue, mem, CL_FALSE, 0, bytes, f->host, n_wait(f),
				     wait_list(f), &event),
		 "clEnqueueReadBuffer");
	cl_check(clWaitForEvents(1, &event), "clWaitForEvents");
	follow(f, event);
	for (size_t i = 0; i < n_words; i++)
		f->host[i] = step_word(f->host[i], (uint32_t)i);
	cl_check(clEnqueueWriteBuffer(f->bench.queue, mem, CL_TRUE, 0, bytes, f->host, n_wait(f),
				      wait_list(f), &event),
		 "clEnqueueWriteBuffer");
	follow(f, event);
}

static void by_map(struct fill *f, cl_mem mem, size_t n_words)
{
	size_t bytes = n_words * sizeof(uint32_t);
	cl_event event;
	uint32_t *p;
	cl_int r;

	p = clEnqueueMapBuffer(f->bench.queue, mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes,
			       n_wait(f), wait_list(f), &event, &r);
	cl_check(r, "clEnqueueMapBuffer");
	follow(f, event);
	for (size_t i = 0; i < n_words; i++)
		p[i] = step_word(p[i], (uint32_t)i);
	cl_check(clEnqueueUnmapMemObject(f->bench.queue, mem, p, n_wait(f), wait_list(f), &event),
		 "clEnqueueUnmapMemObject");
	follow(f, event);
}

static void by_sub_buffers(struct fill *f, cl_mem mem, size_t n_words)
{
	size_t half = n_words / 2 & ~(size_t)1023;
	const size_t from[] = { 0, half }, n[] = { half, n_words - half };

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

static void by_copy(struct fill *f, cl_mem mem, size_t n_words)
{
	size_t bytes = n_words * sizeof(uint32_t);
	cl_event event;

	cl_check(clEnqueueCopyBuffer(f->bench.queue, mem, f->scratch, 0, 0, bytes, n_wait(f),
				     wait_list(f), &event),
		 "clEnqueueCopyBuffer");
	follow(f, event);
	run(f, f->step, f->scratch, 0, n_words);
	cl_check(clEnqueueCopyBuffer(f->bench.queue, f->scratch, mem, 0, 0, bytes, n_wait(f),
				     wait_list(f), &event),
		 "clEnqueueCopyBuffer");
	follow(f, event);
}

static void renew(struct fill *f, struct buffer *b)
{
	size_t bytes = b->n_words * sizeof(uint32_t);
	cl_mem mem = cl_buffer(&f->bench, bytes);
	cl_event event;

	cl_check(clEnqueueCopyBuffer(f->bench.queue, b->mem, mem, 0, 0, bytes, n_wait(f),
				     wait_list(f), &event),
		 "clEnqueueCopyBuffer");
	follow(f, event);
	cl_check(clReleaseMemObject(b->mem), "clReleaseMemObject");
	b->mem = mem;
}

static void change(struct fill *f, struct buffer *b)
{
	if (f->o.is_renewed)
		renew(f, b);
	switch (f->o.is_mixed ? next_random(f) % 5 : 0) {
	case 1:
		by_read_and_write(f, b->mem, b->n_words);
		break;
	case 2:
		by_map(f, b->mem, b->n_words);
		break;
	case 3:
		by_sub_buffers(f, b->mem, b->n_words);
		break;
	case 4:
		by_copy(f, b->mem, b->n_words);
		break;
	default:
		run(f, f->step, b->mem, 0, b->n_words);
	}
	b->n_steps++;
}

static void verify(struct fill *f, const struct buffer *b)
{
	struct leap leap = leap_of(b->n_steps);

	cl_check(clEnqueueReadBuffer(f->bench.queue, b->mem, CL_TRUE, 0,
				     b->n_words * sizeof(uint32_t), f->host, n_wait(f),
				     wait_list(f), NULL),
		 "clEnqueueReadBuffer");
	for (size_t i = 0; i < b->n_words; i++) {
		uint32_t x = first_word(f, b->number, i) * leap.times +
			     leap.plus * (2 * (uint32_t)i + 1);

		if (x == f->host[i])
			continue;
		fprintf(stderr, "buffer %llu word %zu after %llu steps: %08x and not %08x\n",
			(unsigned long long)b->number, i, (unsigned long long)b->n_steps,
			f->host[i], x);
		exit(CL_EXIT_WRONG);
	}
}

/* Uneven: between a half and three halves of an even share; the last one has what is left. */
static void share_out(struct buffer *buffers, const struct options *o)
{
	uint64_t n_remaining = o->mib * 1048576 / 4, even = n_remaining / o->n_buffers,
		 random = o->seed;

	for (uint64_t b = 0; b < o->n_buffers; b++) {
		uint64_t n = even;

		random = random * 6364136223846793005u + 1442695040888963407u;
		if (o->is_uneven)
			n = b == o->n_buffers - 1 ? n_remaining : even / 2 + (random >> 33) % even;
		/* the ones that follow have a half at least */
		if (n + (o->n_buffers - 1 - b) * (even / 2) > n_remaining)
			n = even / 2;
		buffers[b].number = b;
		buffers[b].n_words = (size_t)n;
		n_remaining -= n;
	}
}

/* @buffers: those of this thread; @bench: everybody's. */
static void set_up(struct fill *f, const struct cl_bench *bench, const struct options *o,
		   struct buffer *buffers, uint64_t n_buffers)
{
	const cl_queue_properties list[] = {
		CL_QUEUE_PROPERTIES,
		o->is_out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, 0
	};
	cl_int r;

	f->o = *o;
	f->bench = *bench;
	f->buffers = buffers;
	f->n_buffers = n_buffers;
	f->random = (o->seed + buffers[0].number) * 2 + 1;
	f->bench.queue =
		clCreateCommandQueueWithProperties(bench->context, bench->device, list, &r);
	cl_check(r, "clCreateCommandQueueWithProperties");
	f->fill = clCreateKernel(bench->program, "fill", &r);
	cl_check(r, "clCreateKernel");
	f->step = clCreateKernel(bench->program, "advance", &r);
	cl_check(r, "clCreateKernel");
	for (uint64_t b = 0; b < n_buffers; b++) {
		size_t n_words = buffers[b].n_words;

		if (n_words > f->n_words_max)
			f->n_words_max = n_words;
		buffers[b].mem = cl_buffer(&f->bench, n_words * sizeof(uint32_t));
		run(f, f->fill, buffers[b].mem, first_word(f, buffers[b].number, 0), n_words);
	}
	f->host = malloc(f->n_words_max * sizeof(uint32_t));
	if (!f->host)
		exit(CL_EXIT_NO_MEMORY);
	if (o->is_mixed)
		f->scratch = cl_buffer(&f->bench, f->n_words_max * sizeof(uint32_t));
	cl_check(clFinish(f->bench.queue), "clFinish");
}

static void tear_down(struct fill *f)
{
	if (f->last)
		cl_check(clReleaseEvent(f->last), "clReleaseEvent");
	for (uint64_t b = 0; b < f->n_buffers; b++)
		cl_check(clReleaseMemObject(f->buffers[b].mem), "clReleaseMemObject");
	if (f->scratch)
		cl_check(clReleaseMemObject(f->scratch), "clReleaseMemObject");
	cl_check(clReleaseKernel(f->fill), "clReleaseKernel");
	cl_check(clReleaseKernel(f->step), "clReleaseKernel");
	cl_check(clReleaseCommandQueue(f->bench.queue), "clReleaseCommandQueue");
	free(f->host);
}

/* Whether standard input is still open. */
static bool goes_on(const struct fill *f)
{
	return f->o.is_endless && client_input_is_quiet();
}

static void *work(void *data)
{
	struct fill *f = data;

	for (uint64_t round = 0; round < f->o.n_rounds || goes_on(f); round++) {
		uint64_t first = next_random(f) % f->n_buffers;

		for (uint64_t b = 0; b < f->n_buffers; b++)
			for (uint64_t k = 0; k < f->o.n_kernels; k++)
				change(f, &f->buffers[(first + b) % f->n_buffers]);
		for (uint64_t b = 0; f->o.verifies_each && b < f->n_buffers; b++)
			verify(f, &f->buffers[b]);
		cl_check(clFlush(f->bench.queue), "clFlush");
		if (f->o.idle_ms)
			usleep((useconds_t)f->o.idle_ms * 1000);
	}
	for (uint64_t b = 0; b < f->n_buffers; b++)
		verify(f, &f->buffers[b]);
	return NULL;
}

static void parse(struct options *o, int argc, char **argv)
{
	const struct client_option options[] = {
		CLIENT_NUMBER('m', "mib", o->mib, 1, 1 << 20),
		CLIENT_NUMBER('b', "buffers", o->n_buffers, 1, 100000),
		CLIENT_NUMBER('r', "rounds", o->n_rounds, 0, 1000000),
		CLIENT_NUMBER('s', "seed", o->seed, 0, UINT64_MAX),
		CLIENT_NUMBER('k', "kernels", o->n_kernels, 1, 1000000),
		CLIENT_FLAG('x', "mix", o->is_mixed),
		CLIENT_FLAG('n', "renew", o->is_renewed),
		CLIENT_NUMBER('t', "threads", o->n_threads, 1, THREADS_MAX),
		CLIENT_FLAG('u', "uneven", o->is_uneven),
		CLIENT_FLAG('e', "endless", o->is_endless),
		CLIENT_FLAG('o', "out-of-order", o->is_out_of_order),
		CLIENT_FLAG('w', "wait", o->waits),
		CLIENT_NUMBER('i', "idle", o->idle_ms, 0, 1000000),
		CLIENT_FLAG('v', "verify-each", o->verifies_each),
		{ 0 },
	};

	*o = (struct options){
		.mib = 16, .n_buffers = 4, .n_rounds = 10, .seed = 1, .n_kernels = 1, .n_threads = 1
	};
	if (client_options(argc, argv, options, usage) || o->mib * 1048576 / o->n_buffers < 16384 ||
	    o->n_threads > o->n_buffers)
		client_misused(usage);
}

int main(int argc, char **argv)
{
	struct fill fills[THREADS_MAX] = { 0 };
	struct buffer *buffers;
	struct cl_bench bench;
	struct options o;

	parse(&o, argc, argv);
	buffers = calloc(o.n_buffers, sizeof(*buffers));
	if (!buffers)
		return CL_EXIT_NO_MEMORY;
	share_out(buffers, &o);
	cl_open(&bench, source, 0);
	for (uint64_t t = 0; t < o.n_threads; t++) {
		uint64_t from = o.n_buffers * t / o.n_threads;
		uint64_t to = o.n_buffers * (t + 1) / o.n_threads;

		set_up(&fills[t], &bench, &o, buffers + from, to - from);
	}
	if (o.waits)
		client_wait();
	for (uint64_t t = 0; t < o.n_threads; t++)
		if (pthread_create(&fills[t].thread, NULL, work, &fills[t]))
			return CL_EXIT_NO_MEMORY;
	for (uint64_t t = 0; t < o.n_threads; t++)
		pthread_join(fills[t].thread, NULL);
	for (uint64_t t = 0; t < o.n_threads; t++)
		tear_down(&fills[t]);
	cl_close(&bench);
	printf("right: %llu MiB in %llu buffers, %llu rounds\n", (unsigned long long)o.mib,
	       (unsigned long long)o.n_buffers, (unsigned long long)o.n_rounds);
	free(buffers);
	return CL_EXIT_RIGHT;
}
