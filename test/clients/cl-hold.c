/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Holds memory of every kind on an OpenCL device until standard input ends: buffers that may be
 * anywhere, and what has to stay where it is, because the program has its address or the driver
 * gives it no other. Nothing of it is used meanwhile. At the end every word is looked at; of the
 * mapping first through the pointer that was held all the time.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl-util.h"
#include "client.h"

static const char usage[] =
	"usage: cl-hold [OPTION]...\n"
	"Holds memory on the first OpenCL device; prints 'ready' and waits for the end of "
	"standard\n"
	"input.\n"
	"\n"
	"  -b, --buffers N    buffers of one MiB (default 4)\n"
	"  -m, --mapped       the first of them is mapped meanwhile\n"
	"  -s, --shared N     MiB of shared virtual memory, after the buffers (default 0)\n"
	"  -f, --queue-free   which is freed by a command, before 'ready'\n"
	"  -p, --pipe N       MiB of a pipe (default 0)\n"
	"  -l, --large N      at the end of the input: one command on a new buffer of N MiB\n"
	"                     (default 0)\n"
	"  -h, --help\n"
	"\n" CL_EXIT_TEXT;

static const char source[] = "kernel void fill(global uint *p, uint seed) {\n"
			     "  uint i = get_global_id(0);\n"
			     "  p[i] = (i * 0x9e3779b9u) ^ seed;\n"
			     "}\n";

#define BYTES	    ((size_t)1 << 20)
#define WORDS	    (BYTES / sizeof(cl_uint))
#define BUFFERS_MAX 64
#define PACKET	    64

static struct {
	uint64_t n_buffers, shared, pipe, large;
	bool is_mapped, frees_by_command;
} o = { .n_buffers = 4 };

static struct cl_bench b;
static cl_mem buffers[BUFFERS_MAX], pipe;
static uint32_t *mapped, *shared;

static uint32_t word_of(uint32_t i, uint32_t seed)
{
	return (i * 0x9e3779b9u) ^ seed;
}

static void expect(const uint32_t *words, size_t n, uint32_t seed, const char *what)
{
	for (size_t i = 0; i < n; i++) {
		if (words[i] == word_of((uint32_t)i, seed))
			continue;
		fprintf(stderr, "%s %u word %zu: %08x not %08x\n", what, seed, i, words[i],
			word_of((uint32_t)i, seed));
		exit(CL_EXIT_WRONG);
	}
}

static void make_buffers(void)
{
	cl_kernel fill;
	cl_int r;

	fill = clCreateKernel(b.program, "fill", &r);
	cl_check(r, "clCreateKernel");
	for (cl_uint i = 0; i < o.n_buffers; i++) {
		buffers[i] = cl_buffer(&b, BYTES);
		cl_check(clSetKernelArg(fill, 0, sizeof(cl_mem), &buffers[i]), "clSetKernelArg");
		cl_check(clSetKernelArg(fill, 1, sizeof(i), &i), "clSetKernelArg");
		cl_launch(&b, fill, WORDS);
	}
	cl_check(clFinish(b.queue), "clFinish");
	cl_check(clReleaseKernel(fill), "clReleaseKernel");
	if (!o.is_mapped)
		return;
	mapped = clEnqueueMapBuffer(b.queue, buffers[0], CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
				    BYTES, 0, NULL, NULL, &r);
	cl_check(r, "clEnqueueMapBuffer");
}

static void free_shared(void)
{
	void *address = shared;

	shared = NULL;
	if (!o.frees_by_command) {
		clSVMFree(b.context, address);
		return;
	}
	cl_check(clEnqueueSVMFree(b.queue, 1, &address, NULL, NULL, 0, NULL, NULL),
		 "clEnqueueSVMFree");
	cl_check(clFinish(b.queue), "clFinish");
}

static void make_shared(void)
{
	size_t bytes = (size_t)o.shared * BYTES;

	shared = clSVMAlloc(b.context, CL_MEM_READ_WRITE, bytes, 0);
	if (!shared) {
		fprintf(stderr, "clSVMAlloc: none\n");
		exit(CL_EXIT_NO_MEMORY);
	}
	cl_check(clEnqueueSVMMap(b.queue, CL_TRUE, CL_MAP_WRITE, shared, bytes, 0, NULL, NULL),
		 "clEnqueueSVMMap");
	for (size_t i = 0; i < bytes / sizeof(*shared); i++)
		shared[i] = word_of((uint32_t)i, BUFFERS_MAX);
	cl_check(clEnqueueSVMUnmap(b.queue, shared, 0, NULL, NULL), "clEnqueueSVMUnmap");
	if (o.frees_by_command)
		free_shared();
}

static void make_pipe(void)
{
	cl_int r;

	pipe = clCreatePipe(b.context, 0, PACKET, (cl_uint)(o.pipe * BYTES / PACKET), NULL, &r);
	cl_check(r, "clCreatePipe");
}

static void use_large(cl_kernel fill)
{
	cl_mem large = cl_buffer(&b, (size_t)o.large * BYTES);
	cl_uint seed = 0;

	cl_check(clSetKernelArg(fill, 0, sizeof(cl_mem), &large), "clSetKernelArg");
	cl_check(clSetKernelArg(fill, 1, sizeof(seed), &seed), "clSetKernelArg");
	cl_launch(&b, fill, (size_t)o.large * WORDS);
	cl_check(clFinish(b.queue), "clFinish");
	cl_check(clReleaseMemObject(large), "clReleaseMemObject");
}

static void look_at_mapped(void)
{
	expect(mapped, WORDS, 0, "mapped");
	for (uint32_t i = 0; i < WORDS; i++)
		mapped[i] = word_of(i, BUFFERS_MAX + 1);
	cl_check(clEnqueueUnmapMemObject(b.queue, buffers[0], mapped, 0, NULL, NULL),
		 "clEnqueueUnmapMemObject");
}

static void look_at_all(void)
{
	uint32_t *host = malloc(BYTES);

	if (!host)
		exit(CL_EXIT_NO_MEMORY);
	if (mapped)
		look_at_mapped();
	for (uint32_t i = 0; i < o.n_buffers; i++) {
		cl_check(clEnqueueReadBuffer(b.queue, buffers[i], CL_TRUE, 0, BYTES, host, 0, NULL,
					     NULL),
			 "clEnqueueReadBuffer");
		expect(host, WORDS, mapped && !i ? BUFFERS_MAX + 1 : i, "buffer");
		cl_check(clReleaseMemObject(buffers[i]), "clReleaseMemObject");
	}
	free(host);
	if (!shared)
		return;
	cl_check(clEnqueueSVMMap(b.queue, CL_TRUE, CL_MAP_READ, shared, (size_t)o.shared * BYTES, 0,
				 NULL, NULL),
		 "clEnqueueSVMMap");
	expect(shared, (size_t)o.shared * WORDS, BUFFERS_MAX, "shared");
	cl_check(clEnqueueSVMUnmap(b.queue, shared, 0, NULL, NULL), "clEnqueueSVMUnmap");
	cl_check(clFinish(b.queue), "clFinish");
	free_shared();
}

int main(int argc, char **argv)
{
	const struct client_option options[] = {
		CLIENT_NUMBER('b', "buffers", o.n_buffers, 1, BUFFERS_MAX),
		CLIENT_FLAG('m', "mapped", o.is_mapped),
		CLIENT_NUMBER('s', "shared", o.shared, 0, 1024),
		CLIENT_FLAG('f', "queue-free", o.frees_by_command),
		CLIENT_NUMBER('p', "pipe", o.pipe, 0, 1024),
		CLIENT_NUMBER('l', "large", o.large, 0, 1024),
		{ 0 },
	};
	cl_kernel kept;
	cl_int r;

	if (client_options(argc, argv, options, usage))
		client_misused(usage);
	cl_open(&b, source, 0);
	kept = clCreateKernel(b.program, "fill", &r);
	cl_check(r, "clCreateKernel");
	make_buffers();
	if (o.shared)
		make_shared();
	if (o.pipe)
		make_pipe();
	client_wait();
	if (o.large)
		use_large(kept);
	look_at_all();
	if (pipe)
		cl_check(clReleaseMemObject(pipe), "clReleaseMemObject");
	cl_check(clReleaseKernel(kept), "clReleaseKernel");
	cl_close(&b);
	return CL_EXIT_RIGHT;
}
