/* SPDX-License-Identifier: Apache-2.0 */

/* Leaves the first OpenCL device in the ways of leave.h; a context and all in it is released. */

#include <stdlib.h>
#include <unistd.h>

#include "cl-util.h"
#include "leave.h"

static const char source[] = "kernel void add(global uint *p) {\n"
			     "  uint i = get_global_id(0);\n"
			     "  p[i] += i;\n"
			     "}\n";

static struct {
	struct cl_bench bench;
	cl_kernel add;
	cl_mem buffers[LEAVE_BUFFERS];
	size_t n_words; /* a buffer */
	uint32_t *host; /* one buffer */
} m;

static void set_up(uint64_t bytes, bool is_given_up)
{
	const uint32_t zero = 0;
	cl_int r;

	(void)is_given_up;
	cl_open(&m.bench, source, 0);
	m.add = clCreateKernel(m.bench.program, "add", &r);
	cl_check(r, "clCreateKernel");
	m.n_words = (size_t)(bytes / 4 / LEAVE_BUFFERS);
	m.host = calloc(m.n_words, 4);
	if (!m.host)
		exit(CL_EXIT_NO_MEMORY);
	for (unsigned i = 0; i < LEAVE_BUFFERS; i++) {
		m.buffers[i] = cl_buffer(&m.bench, m.n_words * 4);
		cl_check(clEnqueueFillBuffer(m.bench.queue, m.buffers[i], &zero, sizeof(zero), 0,
					     m.n_words * 4, 0, NULL, NULL),
			 "clEnqueueFillBuffer");
	}
}

static void tear_down(void)
{
	for (unsigned i = 0; i < LEAVE_BUFFERS; i++)
		cl_check(clReleaseMemObject(m.buffers[i]), "clReleaseMemObject");
	cl_check(clReleaseKernel(m.add), "clReleaseKernel");
	cl_close(&m.bench);
	free(m.host);
}

static void queue(void)
{
	for (unsigned k = 0; k < LEAVE_LAUNCHES; k++)
		for (unsigned i = 0; i < LEAVE_BUFFERS; i++) {
			cl_check(clSetKernelArg(m.add, 0, sizeof(cl_mem), &m.buffers[i]),
				 "clSetKernelArg");
			cl_launch(&m.bench, m.add, m.n_words);
		}
	cl_check(clFlush(m.bench.queue), "clFlush");
}

static const uint32_t *read_buffer(unsigned i, uint32_t *ret_n_words)
{
	cl_check(clEnqueueReadBuffer(m.bench.queue, m.buffers[i], CL_TRUE, 0, m.n_words * 4, m.host,
				     0, NULL, NULL),
		 "clEnqueueReadBuffer");
	*ret_n_words = (uint32_t)m.n_words;
	return m.host;
}

int main(int argc, char **argv)
{
	static const struct leave_calls calls = {
		.usage = "usage: cl-leave [OPTION]... HOW\n"
			 "Uses memory of the first OpenCL device and leaves it.\n"
			 "\n" LEAVE_USAGE CL_EXIT_TEXT,
		.set_up = set_up,
		.queue = queue,
		.read = read_buffer,
		.tear_down = tear_down,
		.end_child = _exit,
	};

	return leave_main(argc, argv, &calls);
}
