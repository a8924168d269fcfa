/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Leaves in ways that a program may leave: with work queued, by a child that ends or becomes
 * another program, or by releasing everything while it is in use. What it says at the end was
 * checked word by word.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cl-util.h"

static const char usage[] =
	"usage: cl-leave HOW [MIB [ROUNDS]]\n"
	"Uses MIB (1) of memory of the first OpenCL device in ROUNDS (3), and leaves it.\n"
	"\n"
	"HOW: exit     return from main with kernels queued\n"
	"     quit     the same by _exit\n"
	"     fork     a child ends, another one becomes a program, meanwhile and afterwards it "
	"works\n"
	"     release  contexts are made, filled and released with kernels queued\n"
	"\n" CL_EXIT_TEXT;

#define N_BUFFERS 4
#define N_QUEUED  20 /* kernels a buffer and round */

static const char source[] = "kernel void add(global uint *p) {\n"
			     "  uint i = get_global_id(0);\n"
			     "  p[i] += i;\n"
			     "}\n";

static uint64_t mib = 1, n_rounds = 3;

struct memory {
	struct cl_bench bench;
	cl_kernel add;
	cl_mem buffers[N_BUFFERS];
	size_t n_words; /* a buffer */
	uint32_t n_added;
};

static void set_up(struct memory *m)
{
	const uint32_t zero = 0;
	cl_int r;

	cl_open(&m->bench, source, 0);
	m->add = clCreateKernel(m->bench.program, "add", &r);
	cl_check(r, "clCreateKernel");
	m->n_words = (size_t)(mib * 1048576 / 4 / N_BUFFERS);
	m->n_added = 0;
	for (unsigned i = 0; i < N_BUFFERS; i++) {
		m->buffers[i] = cl_buffer(&m->bench, m->n_words * 4);
		cl_check(clEnqueueFillBuffer(m->bench.queue, m->buffers[i], &zero, sizeof(zero), 0,
					     m->n_words * 4, 0, NULL, NULL),
			 "clEnqueueFillBuffer");
	}
}

static void tear_down(struct memory *m)
{
	for (unsigned i = 0; i < N_BUFFERS; i++)
		cl_check(clReleaseMemObject(m->buffers[i]), "clReleaseMemObject");
	cl_check(clReleaseKernel(m->add), "clReleaseKernel");
	cl_close(&m->bench);
}

static void queue(struct memory *m)
{
	for (unsigned k = 0; k < N_QUEUED; k++)
		for (unsigned i = 0; i < N_BUFFERS; i++) {
			cl_check(clSetKernelArg(m->add, 0, sizeof(cl_mem), &m->buffers[i]),
				 "clSetKernelArg");
			cl_launch(&m->bench, m->add, m->n_words);
		}
	cl_check(clFlush(m->bench.queue), "clFlush");
	m->n_added += N_QUEUED;
}

static void check(struct memory *m)
{
	uint32_t *host = malloc(m->n_words * 4);

	if (!host)
		exit(CL_EXIT_NO_MEMORY);
	for (unsigned i = 0; i < N_BUFFERS; i++) {
		cl_check(clEnqueueReadBuffer(m->bench.queue, m->buffers[i], CL_TRUE, 0,
					     m->n_words * 4, host, 0, NULL, NULL),
			 "clEnqueueReadBuffer");
		for (uint32_t w = 0; w < m->n_words; w++)
			if (host[w] != w * m->n_added) {
				fprintf(stderr, "buffer %u, word %u: %08x instead of %08x\n", i, w,
					host[w], w * m->n_added);
				exit(CL_EXIT_WRONG);
			}
	}
	free(host);
}

static void wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status)) {
		fprintf(stderr, "a child did not end as it should\n");
		exit(CL_EXIT_WRONG);
	}
}

/* The driver is not the child's: it only ends, in both of the ways in which such children do. */
static void fork_children(struct memory *m)
{
	for (uint64_t r = 0; r < n_rounds; r++) {
		pid_t ends, becomes;

		queue(m);
		ends = fork();
		if (!ends)
			_exit(0);
		becomes = fork();
		if (!becomes) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		queue(m);
		wait_for(ends);
		wait_for(becomes);
		check(m);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct memory m;

	if (argc > 2)
		mib = cl_number(argv[2], 1, 1 << 12, usage);
	if (argc > 3)
		n_rounds = cl_number(argv[3], 1, 1 << 20, usage);
	if (!strcmp(how, "release")) {
		for (uint64_t r = 0; r < n_rounds; r++) {
			set_up(&m);
			queue(&m);
			if (r % 2)
				check(&m);
			queue(&m);
			tear_down(&m);
		}
		return CL_EXIT_RIGHT;
	}
	set_up(&m);
	if (!strcmp(how, "fork")) {
		fork_children(&m);
		return CL_EXIT_RIGHT;
	}
	for (uint64_t r = 0; r < n_rounds; r++)
		queue(&m);
	if (!strcmp(how, "quit"))
		_exit(CL_EXIT_RIGHT);
	if (!strcmp(how, "exit"))
		return CL_EXIT_RIGHT;
	fputs(usage, stderr);
	return CL_EXIT_USAGE;
}
