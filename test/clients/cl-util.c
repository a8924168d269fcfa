/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl-util.h"

void cl_check(cl_int r, const char *what)
{
	if (!r)
		return;
	fprintf(stderr, "%s: OpenCL error %d\n", what, r);
	/* PoCL may still compile for what is queued, and crashes if its compiler is destroyed */
	fflush(NULL);
	_exit(r == CL_MEM_OBJECT_ALLOCATION_FAILURE || r == CL_INVALID_BUFFER_SIZE ||
			      r == CL_OUT_OF_HOST_MEMORY
		      ? CL_EXIT_NO_MEMORY
		      : CL_EXIT_OPENCL);
}

static cl_device_id find_device(void)
{
	cl_platform_id platforms[16];
	cl_uint n_platforms = 0;
	cl_device_id device;

	if (!clGetPlatformIDs(16, platforms, &n_platforms))
		for (cl_uint i = 0; i < n_platforms && i < 16; i++)
			if (!clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL))
				return device;
	fprintf(stderr, "no OpenCL device\n");
	exit(CL_EXIT_NO_DEVICE);
}

void cl_open(struct cl_bench *b, const char *source, cl_command_queue_properties properties)
{
	const cl_queue_properties list[] = { CL_QUEUE_PROPERTIES, properties, 0 };
	cl_int r;

	b->device = find_device();
	b->context = clCreateContext(NULL, 1, &b->device, NULL, NULL, &r);
	cl_check(r, "clCreateContext");
	b->queue = clCreateCommandQueueWithProperties(b->context, b->device, list, &r);
	cl_check(r, "clCreateCommandQueueWithProperties");
	b->program = NULL;
	if (!source)
		return;
	b->program = clCreateProgramWithSource(b->context, 1, &source, NULL, &r);
	cl_check(r, "clCreateProgramWithSource");
	cl_check(clBuildProgram(b->program, 1, &b->device, "", NULL, NULL), "clBuildProgram");
}

void cl_close(struct cl_bench *b)
{
	if (b->program)
		cl_check(clReleaseProgram(b->program), "clReleaseProgram");
	cl_check(clReleaseCommandQueue(b->queue), "clReleaseCommandQueue");
	cl_check(clReleaseContext(b->context), "clReleaseContext");
}

cl_mem cl_buffer(struct cl_bench *b, size_t bytes)
{
	cl_int r;
	cl_mem mem = clCreateBuffer(b->context, CL_MEM_READ_WRITE, bytes, NULL, &r);

	cl_check(r, "clCreateBuffer");
	return mem;
}

void cl_launch(struct cl_bench *b, cl_kernel kernel, size_t n_items)
{
	cl_check(clEnqueueNDRangeKernel(b->queue, kernel, 1, NULL, &n_items, NULL, 0, NULL, NULL),
		 "clEnqueueNDRangeKernel");
}
