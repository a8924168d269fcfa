/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A program that somebody talks to, or one that computes for ever: both launch kernels of a known
 * length on buffers of their own. A talker does one job for each line that it reads and answers
 * with the milliseconds that the job took, from the line to its last result; so who drives it needs
 * no clock of its own. A third kind launches all it has in one go, without waiting for anything,
 * and tells how many of its launches were queued and not ended at most. A launch names one buffer
 * after the other, or with --all all of them, as a step of a language model does with its weights.
 * Kernels are one work item that touches a word of every page and then counts: they leave the
 * machine's other processors alone, as kernels of a GPU would.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cl-util.h"
#include "client.h"

static const char usage[] =
	"usage: cl-talk [OPTION]...\n"
	"Does a job for each line of standard input and prints how many ms it took.\n"
	"\n"
	"  -m, --mib N        MiB in all (default 16)\n"
	"  -b, --buffers N    in so many buffers (default 4)\n"
	"  -l, --launches N   launches a job, over the buffers in turn (default 4)\n"
	"  -t, --ms N         a launch takes so long (default 10)\n"
	"  -a, --all          every launch names all buffers, 8 at most\n"
	"  -e, --endless      launch till the end of standard input; prints 'ready' first, and at\n"
	"                     the end how many launches there were and how long the longest took\n"
	"  -q, --queue N      endless: so many launches are queued at a time (default 2)\n"
	"  -u, --burst N      after a line of standard input: N launches in one go; prints how\n"
	"                     many of them were in flight at most\n"
	"  -h, --help\n"
	"\n" CL_EXIT_TEXT;

static const char source[] =
	"kernel void work(global uint *a, global uint *b, global uint *c,\n"
	"                 global uint *d, global uint *e, global uint *f,\n"
	"                 global uint *g, global uint *h, uint n, uint times) {\n"
	"  global uint *all[] = { a, b, c, d, e, f, g, h };\n"
	"  uint x = 0;\n"
	"  for (uint k = 0; k < 8; k++)\n"
	"    for (uint i = 0; i < n; i += 1024)\n"
	"      x += all[k][i]++;\n"
	"  for (uint i = 0; i < times; i++)\n"
	"    x = x * 1664525u + i;\n"
	"  a[1] = x;\n"
	"}\n";

#define BUFFERS_MAX 64
#define ARGS	    8
#define QUEUE_MAX   64
#define PROBE_TIMES 4000000u

struct options {
	uint64_t mib, n_buffers, n_launches, ms, n_queue, n_burst;
	bool is_endless, names_all;
};

struct talk {
	struct options o;
	struct cl_bench bench;
	cl_kernel kernel;
	cl_mem buffers[BUFFERS_MAX];
	cl_uint n_words; /* of each */
	cl_uint times;
	uint64_t n_done;
	double longest_ms; /* launch on the device */
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static cl_event launch(struct talk *t)
{
	uint64_t first = t->n_done++;
	size_t one = 1;
	cl_event event;

	for (cl_uint i = 0; i < ARGS; i++) {
		cl_mem *mem = &t->buffers[(first + (t->o.names_all ? i : 0)) % t->o.n_buffers];

		cl_check(clSetKernelArg(t->kernel, i, sizeof(*mem), mem), "clSetKernelArg");
	}
	cl_check(clSetKernelArg(t->kernel, ARGS, sizeof(t->n_words), &t->n_words),
		 "clSetKernelArg");
	cl_check(clSetKernelArg(t->kernel, ARGS + 1, sizeof(t->times), &t->times),
		 "clSetKernelArg");
	cl_check(clEnqueueNDRangeKernel(t->bench.queue, t->kernel, 1, NULL, &one, NULL, 0, NULL,
					&event),
		 "clEnqueueNDRangeKernel");
	return event;
}

static double device_ms(cl_event event)
{
	cl_ulong begin, end;

	cl_check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(begin), &begin,
					 NULL),
		 "clGetEventProfilingInfo");
	cl_check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL),
		 "clGetEventProfilingInfo");
	return (double)(end - begin) / 1e6;
}

static void finish(struct talk *t, cl_event event)
{
	double ms;

	cl_check(clWaitForEvents(1, &event), "clWaitForEvents");
	ms = device_ms(event);
	if (ms > t->longest_ms)
		t->longest_ms = ms;
	cl_check(clReleaseEvent(event), "clReleaseEvent");
}

/* The least of some probes: what the machine can do when nobody disturbs it. */
static double probe_ms(struct talk *t, cl_uint times)
{
	double least = 0;

	t->times = times;
	for (unsigned i = 0; i < 5; i++) {
		cl_event event = launch(t);
		double ms;

		cl_check(clWaitForEvents(1, &event), "clWaitForEvents");
		ms = device_ms(event);
		if (!i || ms < least)
			least = ms;
		cl_check(clReleaseEvent(event), "clReleaseEvent");
	}
	return least;
}

static void calibrate(struct talk *t)
{
	double touch, count;

	(void)probe_ms(t, 0);
	touch = probe_ms(t, 0);
	count = probe_ms(t, PROBE_TIMES) - touch;
	t->times = 0;
	if (count > 0 && (double)t->o.ms > touch)
		t->times = (cl_uint)(((double)t->o.ms - touch) / count * PROBE_TIMES);
}

static void set_up(struct talk *t)
{
	size_t bytes = (size_t)(t->o.mib * 1048576 / t->o.n_buffers);
	cl_int r;

	cl_open(&t->bench, source, CL_QUEUE_PROFILING_ENABLE);
	t->kernel = clCreateKernel(t->bench.program, "work", &r);
	cl_check(r, "clCreateKernel");
	t->n_words = (cl_uint)(bytes / sizeof(cl_uint));
	for (uint64_t i = 0; i < t->o.n_buffers; i++) {
		const cl_uint zero = 0;

		t->buffers[i] = cl_buffer(&t->bench, bytes);
		cl_check(clEnqueueFillBuffer(t->bench.queue, t->buffers[i], &zero, sizeof(zero), 0,
					     bytes, 0, NULL, NULL),
			 "clEnqueueFillBuffer");
	}
	cl_check(clFinish(t->bench.queue), "clFinish");
	calibrate(t);
}

static void tear_down(struct talk *t)
{
	for (uint64_t i = 0; i < t->o.n_buffers; i++)
		cl_check(clReleaseMemObject(t->buffers[i]), "clReleaseMemObject");
	cl_check(clReleaseKernel(t->kernel), "clReleaseKernel");
	cl_close(&t->bench);
}

static void talk(struct talk *t)
{
	cl_event events[BUFFERS_MAX];
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		double began = now_ms();

		for (uint64_t i = 0; i < t->o.n_launches; i++)
			events[i] = launch(t);
		cl_check(clFlush(t->bench.queue), "clFlush");
		for (uint64_t i = 0; i < t->o.n_launches; i++)
			finish(t, events[i]);
		printf("%.3f\n", now_ms() - began);
		fflush(stdout);
	}
}

static void compute(struct talk *t)
{
	cl_event events[QUEUE_MAX];
	uint64_t n = 0;

	while (client_input_is_quiet()) {
		if (n >= t->o.n_queue)
			finish(t, events[n % t->o.n_queue]);
		events[n++ % t->o.n_queue] = launch(t);
		cl_check(clFlush(t->bench.queue), "clFlush");
	}
	for (uint64_t i = n > t->o.n_queue ? n - t->o.n_queue : 0; i < n; i++)
		finish(t, events[i % t->o.n_queue]);
	printf("%llu launches, the longest took %.3f ms\n", (unsigned long long)n, t->longest_ms);
}

static bool has_ended(cl_event event)
{
	cl_int status;

	cl_check(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
				NULL),
		 "clGetEventInfo");
	return status <= CL_COMPLETE;
}

static void burst(struct talk *t)
{
	cl_event *events = calloc(t->o.n_burst, sizeof(cl_event));
	uint64_t n_ended = 0, n_most = 0;
	char line[64];

	if (!events)
		exit(CL_EXIT_NO_MEMORY);
	if (fgets(line, sizeof(line), stdin))
		for (uint64_t i = 0; i < t->o.n_burst; i++) {
			events[i] = launch(t);
			while (n_ended <= i && has_ended(events[n_ended]))
				n_ended++;
			if (i + 1 - n_ended > n_most)
				n_most = i + 1 - n_ended;
		}
	for (uint64_t i = 0; i < t->o.n_burst && events[i]; i++)
		finish(t, events[i]);
	printf("%llu\n", (unsigned long long)n_most);
	free(events);
}

static void parse(struct options *o, int argc, char **argv)
{
	const struct client_option options[] = {
		CLIENT_NUMBER('m', "mib", o->mib, 1, 1 << 20),
		CLIENT_NUMBER('b', "buffers", o->n_buffers, 1, BUFFERS_MAX),
		CLIENT_NUMBER('l', "launches", o->n_launches, 1, BUFFERS_MAX),
		CLIENT_NUMBER('t', "ms", o->ms, 0, 5000),
		CLIENT_FLAG('a', "all", o->names_all),
		CLIENT_FLAG('e', "endless", o->is_endless),
		CLIENT_NUMBER('q', "queue", o->n_queue, 1, QUEUE_MAX),
		CLIENT_NUMBER('u', "burst", o->n_burst, 1, 1 << 20),
		{ 0 },
	};

	*o = (struct options){ .mib = 16, .n_buffers = 4, .n_launches = 4, .ms = 10, .n_queue = 2 };
	if (client_options(argc, argv, options, usage) || (o->names_all && o->n_buffers > ARGS))
		client_misused(usage);
}

int main(int argc, char **argv)
{
	struct talk t = { 0 };

	parse(&t.o, argc, argv);
	set_up(&t);
	puts("ready");
	fflush(stdout);
	if (t.o.is_endless)
		compute(&t);
	else if (t.o.n_burst)
		burst(&t);
	else
		talk(&t);
	tear_down(&t);
	return CL_EXIT_RIGHT;
}
