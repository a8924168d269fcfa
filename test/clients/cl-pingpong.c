/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Two processes that wait for each other: each has buffers of its own on the device, and a number
 * goes to and fro between them. Who has the number adds it to every word on the device, reads one
 * word back, and sends the number on. Only one of the two has work at any time, and it has it only
 * because the other one had its turn.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cl-util.h"
#include "client.h"

static const char usage[] =
	"usage: cl-pingpong [OPTION]...\n"
	"Two processes with buffers on the first OpenCL device pass a number to and fro.\n"
	"\n"
	"  -m, --mib N      MiB that each process has on the device (default 16)\n"
	"  -b, --buffers N  in so many buffers; the number is added to one of them a hop (default "
	"1)\n"
	"  -n, --hops N     how often each of them gets the number (default 20)\n"
	"  -e, --event      the kernel waits for a user event that is set when the number comes\n"
	"  -r, --role ROLE  both: start the other process too (default)\n"
	"                   ping, pong: only this one; it reads numbers from standard input and\n"
	"                   writes them to standard output, and ping begins\n"
	"  -h, --help\n"
	"\n" CL_EXIT_TEXT;

static const char source[] = "kernel void add(global uint *p, uint n) {\n"
			     "  uint i = get_global_id(0);\n"
			     "  p[i] += n + i;\n"
			     "}\n";

#define BUFFERS_MAX 64

struct player {
	uint64_t mib, n_buffers, n_hops;
	bool by_event;
	int in, out;
	bool begins;
};

struct buffer {
	cl_mem mem;
	uint32_t sum; /* of the numbers that were added */
	uint32_t n_adds;
};

static void get(const struct player *p, uint32_t *ret_number)
{
	size_t done = 0;

	while (done < sizeof(*ret_number)) {
		ssize_t n = read(p->in, (char *)ret_number + done, sizeof(*ret_number) - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			fprintf(stderr, "the other process went away\n");
			exit(CL_EXIT_ALONE);
		}
		done += (size_t)n;
	}
}

static void put(const struct player *p, uint32_t number)
{
	if (write(p->out, &number, sizeof(number)) == (ssize_t)sizeof(number))
		return;
	fprintf(stderr, "the other process went away\n");
	exit(CL_EXIT_ALONE);
}

/* Enqueues the kernel; with @gate it waits for that event. */
static void add(struct cl_bench *b, cl_kernel kernel, cl_mem mem, uint32_t number, size_t n_words,
		cl_event gate)
{
	cl_check(clSetKernelArg(kernel, 0, sizeof(mem), &mem), "clSetKernelArg");
	cl_check(clSetKernelArg(kernel, 1, sizeof(number), &number), "clSetKernelArg");
	cl_check(clEnqueueNDRangeKernel(b->queue, kernel, 1, NULL, &n_words, NULL, gate ? 1 : 0,
					gate ? &gate : NULL, NULL),
		 "clEnqueueNDRangeKernel");
	cl_check(clFlush(b->queue), "clFlush");
}

static void check(struct cl_bench *b, const struct buffer *buffer, size_t n_words)
{
	uint32_t *host = malloc(n_words * sizeof(*host));

	if (!host)
		exit(CL_EXIT_NO_MEMORY);
	cl_check(clEnqueueReadBuffer(b->queue, buffer->mem, CL_TRUE, 0, n_words * sizeof(*host),
				     host, 0, NULL, NULL),
		 "clEnqueueReadBuffer");
	for (size_t i = 0; i < n_words; i++) {
		uint32_t expected = buffer->sum + (uint32_t)i * buffer->n_adds;

		if (host[i] == expected)
			continue;
		fprintf(stderr, "word %zu: %08x and not %08x\n", i, host[i], expected);
		exit(CL_EXIT_WRONG);
	}
	free(host);
}

static void play(const struct player *p)
{
	/* with an event the kernel is enqueued before its number is known: it is the turn's */
	size_t n_words = (size_t)(p->mib * 1048576 / 4 / p->n_buffers);
	struct buffer buffers[BUFFERS_MAX] = { 0 };
	const uint32_t zero = 0;
	struct cl_bench b;
	uint32_t number = 1, word;
	cl_kernel kernel;
	cl_int r;

	cl_open(&b, source, 0);
	kernel = clCreateKernel(b.program, "add", &r);
	cl_check(r, "clCreateKernel");
	for (uint64_t i = 0; i < p->n_buffers; i++) {
		buffers[i].mem = cl_buffer(&b, n_words * 4);
		cl_check(clEnqueueFillBuffer(b.queue, buffers[i].mem, &zero, sizeof(zero), 0,
					     n_words * 4, 0, NULL, NULL),
			 "clEnqueueFillBuffer");
	}
	cl_check(clFinish(b.queue), "clFinish");
	for (uint64_t hop = 0; hop < p->n_hops; hop++) {
		/* ping has the odd numbers, pong the even ones */
		uint32_t expected = (uint32_t)(2 * hop + (p->begins ? 1 : 2));
		struct buffer *buffer = &buffers[hop % p->n_buffers];
		cl_event gate = NULL;

		if (p->by_event) {
			gate = clCreateUserEvent(b.context, &r);
			cl_check(r, "clCreateUserEvent");
			add(&b, kernel, buffer->mem, expected, n_words, gate);
		}
		if (hop || !p->begins)
			get(p, &number);
		if (number != expected) {
			fprintf(stderr, "got %u and not %u\n", number, expected);
			exit(CL_EXIT_WRONG);
		}
		if (gate) {
			cl_check(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
			cl_check(clReleaseEvent(gate), "clReleaseEvent");
		} else {
			add(&b, kernel, buffer->mem, number, n_words, NULL);
		}
		cl_check(clEnqueueReadBuffer(b.queue, buffer->mem, CL_TRUE, 0, sizeof(word), &word,
					     0, NULL, NULL),
			 "clEnqueueReadBuffer");
		buffer->sum += number;
		buffer->n_adds++;
		if (word != buffer->sum) {
			fprintf(stderr, "hop %llu: %08x and not %08x\n", (unsigned long long)hop,
				word, buffer->sum);
			exit(CL_EXIT_WRONG);
		}
		if (p->begins || hop + 1 < p->n_hops)
			put(p, number + 1);
	}
	for (uint64_t i = 0; i < p->n_buffers; i++) {
		check(&b, &buffers[i], n_words);
		cl_check(clReleaseMemObject(buffers[i].mem), "clReleaseMemObject");
	}
	cl_check(clReleaseKernel(kernel), "clReleaseKernel");
	cl_close(&b);
}

/* The other process is made before anything of OpenCL is touched: drivers do not survive a fork. */
static int play_both(struct player *p)
{
	int there[2], back[2], status;
	struct timespec from, to;
	pid_t pid;

	if (pipe2(there, O_CLOEXEC) < 0 || pipe2(back, O_CLOEXEC) < 0)
		return CL_EXIT_OPENCL;
	pid = fork();
	if (pid < 0)
		return CL_EXIT_OPENCL;
	if (!pid) {
		p->in = there[0];
		p->out = back[1];
		close(there[1]);
		close(back[0]);
		play(p);
		exit(CL_EXIT_RIGHT);
	}
	p->in = back[0];
	p->out = there[1];
	p->begins = true;
	close(there[0]);
	close(back[1]);
	clock_gettime(CLOCK_MONOTONIC, &from);
	play(p);
	clock_gettime(CLOCK_MONOTONIC, &to);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return CL_EXIT_ALONE;
	if (!WEXITSTATUS(status))
		printf("right: %llu hops, %.3f ms a hop\n", (unsigned long long)p->n_hops * 2,
		       ((double)(to.tv_sec - from.tv_sec) * 1e3 +
			(double)(to.tv_nsec - from.tv_nsec) / 1e6) /
			       (double)(p->n_hops * 2));
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	struct player p = {
		.mib = 16, .n_buffers = 1, .n_hops = 20, .in = STDIN_FILENO, .out = STDOUT_FILENO
	};
	const char *role = "both";
	const struct client_option options[] = {
		CLIENT_NUMBER('m', "mib", p.mib, 1, 1 << 20),
		CLIENT_NUMBER('b', "buffers", p.n_buffers, 1, BUFFERS_MAX),
		CLIENT_NUMBER('n', "hops", p.n_hops, 1, 1000000),
		CLIENT_FLAG('e', "event", p.by_event),
		CLIENT_WORD('r', "role", role),
		{ 0 },
	};

	if (client_options(argc, argv, options, usage) ||
	    (strcmp(role, "both") && strcmp(role, "ping") && strcmp(role, "pong")))
		client_misused(usage);
	signal(SIGPIPE, SIG_IGN); /* the write tells it as well, in words */
	if (!strcmp(role, "both"))
		return play_both(&p);
	p.begins = !strcmp(role, "ping");
	play(&p);
	return CL_EXIT_RIGHT;
}
