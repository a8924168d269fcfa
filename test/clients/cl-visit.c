/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Comes to the first OpenCL device and goes, in the way of visit.h. A driver may say only at the
 * first use that it has no memory.
 */

#include "cl-util.h"
#include "visit.h"

static const char source[] = "kernel void none(void) {\n"
			     "}\n";

static struct cl_bench bench;
static cl_mem memory;
static uint64_t n_bytes;

static bool is_refusal(cl_int r)
{
	return r == CL_MEM_OBJECT_ALLOCATION_FAILURE || r == CL_OUT_OF_RESOURCES;
}

static void open_device(void)
{
	cl_open(&bench, source, 0);
}

static void close_device(void)
{
	cl_close(&bench);
}

static cl_int write_end(uint64_t offset, const uint8_t *pattern)
{
	return clEnqueueWriteBuffer(bench.queue, memory, CL_TRUE, offset, VISIT_BYTES, pattern, 0,
				    NULL, NULL);
}

static bool take(uint64_t bytes, const uint8_t pattern[static VISIT_BYTES])
{
	cl_int r;

	memory = clCreateBuffer(bench.context, CL_MEM_READ_WRITE, bytes, NULL, &r);
	if (is_refusal(r))
		return false;
	cl_check(r, "clCreateBuffer");
	n_bytes = bytes;
	r = write_end(0, pattern);
	if (is_refusal(r)) {
		cl_check(clReleaseMemObject(memory), "clReleaseMemObject");
		return false;
	}
	cl_check(r, "clEnqueueWriteBuffer");
	cl_check(write_end(bytes - VISIT_BYTES, pattern), "clEnqueueWriteBuffer");
	return true;
}

static void read_end(uint64_t offset, uint8_t *ret_bytes)
{
	cl_check(clEnqueueReadBuffer(bench.queue, memory, CL_TRUE, offset, VISIT_BYTES, ret_bytes,
				     0, NULL, NULL),
		 "clEnqueueReadBuffer");
}

static void give(uint8_t ret_first[static VISIT_BYTES], uint8_t ret_last[static VISIT_BYTES])
{
	read_end(0, ret_first);
	read_end(n_bytes - VISIT_BYTES, ret_last);
	cl_check(clReleaseMemObject(memory), "clReleaseMemObject");
}

int main(int argc, char **argv)
{
	static const struct visit_calls calls = {
		.usage =
			"usage: cl-visit [OPTION]...\n"
			"Takes memory of the first OpenCL device and gives it back, by the clock.\n"
			"\n" VISIT_USAGE CL_EXIT_TEXT,
		.open = open_device,
		.take = take,
		.give = give,
		.close = close_device,
	};

	return visit_main(argc, argv, &calls);
}
