/* SPDX-License-Identifier: Apache-2.0 */
#include "cl-lib.h"

#include <dlfcn.h>

static const char *const source =
	"__kernel void muladd(__global const uint *in, __global uint *out, uint factor)\n"
	"{ size_t i = get_global_id(0); out[i] = in[i] * factor + out[i]; }\n"
	"__kernel void three(__global const uint *a, __constant uint *b, __global uint *c)\n"
	"{ size_t i = get_global_id(0); c[i] = a[i] ^ b[i & 15]; }\n"
	"__kernel void scalar(__global uint *out, ulong value)\n"
	"{ out[get_global_id(0)] = (uint)value + (uint)(value >> 32); }\n";

int cl_bench_setup(void **state)
{
	struct cl_bench *b = calloc(1, sizeof(*b));
	const char *layers = getenv("OPENCL_LAYERS");
	bool expects_layer = layers && strstr(layers, "sluice-opencl");
	cl_int r;

	assert_non_null(b);
	assert_cl(clGetPlatformIDs(1, &b->platform, NULL));
	assert_cl(clGetDeviceIDs(b->platform, CL_DEVICE_TYPE_ALL, 1, &b->device, NULL));
	/* loaders pass over a layer that they cannot load, without a word */
	assert_int_equal(cl_bench_has_layer(b), expects_layer);
	b->context = clCreateContext(NULL, 1, &b->device, NULL, NULL, &r);
	assert_cl(r);
	b->queue = clCreateCommandQueue(b->context, b->device, 0, &r);
	assert_cl(r);
	b->out_of_order = clCreateCommandQueue(b->context, b->device,
					       CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &r);
	assert_cl(r);
	b->program = clCreateProgramWithSource(b->context, 1, (const char **)&source, NULL, &r);
	assert_cl(r);
	assert_cl(clBuildProgram(b->program, 1, &b->device, NULL, NULL, NULL));
	*state = b;
	return 0;
}

int cl_bench_teardown(void **state)
{
	struct cl_bench *b = *state;

	assert_cl(clReleaseProgram(b->program));
	assert_cl(clReleaseCommandQueue(b->queue));
	assert_cl(clReleaseCommandQueue(b->out_of_order));
	assert_cl(clReleaseContext(b->context));
	free(b);
	return 0;
}

cl_mem cl_bench_buffer(struct cl_bench *b, cl_mem_flags flags, size_t size, void *host)
{
	cl_int r;
	cl_mem buffer = clCreateBuffer(b->context, flags, size, host, &r);

	assert_cl(r);
	assert_non_null(buffer);
	return buffer;
}

cl_kernel cl_bench_kernel(struct cl_bench *b, const char *name)
{
	cl_int r;
	cl_kernel kernel = clCreateKernel(b->program, name, &r);

	assert_cl(r);
	return kernel;
}

void cl_bench_launch(cl_command_queue queue, cl_kernel muladd, cl_mem in, cl_mem out,
		     cl_uint factor, size_t n, cl_uint n_wait, const cl_event *wait,
		     cl_event *event)
{
	assert_cl(clSetKernelArg(muladd, 0, sizeof(in), &in));
	assert_cl(clSetKernelArg(muladd, 1, sizeof(out), &out));
	assert_cl(clSetKernelArg(muladd, 2, sizeof(factor), &factor));
	assert_cl(clEnqueueNDRangeKernel(queue, muladd, 1, NULL, &n, NULL, n_wait, wait, event));
}

void cl_bench_expect(struct cl_bench *b, cl_mem buffer, size_t offset, const cl_uint *words,
		     size_t n)
{
	cl_uint *read = malloc(n * sizeof(*read));

	assert_non_null(read);
	memset(read, 0xa5, n * sizeof(*read));
	assert_cl(clEnqueueReadBuffer(b->queue, buffer, CL_TRUE, offset, n * sizeof(*read), read, 0,
				      NULL, NULL));
	assert_memory_equal(read, words, n * sizeof(*read));
	free(read);
}

void cl_bench_disturb(struct cl_bench *b)
{
	cl_kernel muladd = cl_bench_kernel(b, "muladd");
	cl_mem other = cl_bench_buffer(b, 0, 4096, NULL);

	cl_bench_launch(b->queue, muladd, other, other, 1, 1024, 0, NULL, NULL);
	assert_cl(clFinish(b->queue));
	assert_cl(clReleaseMemObject(other));
	assert_cl(clReleaseKernel(muladd));
}

cl_uint cl_bench_mem_uint(cl_mem object, cl_mem_info what)
{
	cl_uint value = ~0u;

	assert_cl(clGetMemObjectInfo(object, what, sizeof(value), &value, NULL));
	return value;
}

cl_mem_flags cl_bench_flags(cl_mem object)
{
	cl_mem_flags flags = ~(cl_mem_flags)0;

	assert_cl(clGetMemObjectInfo(object, CL_MEM_FLAGS, sizeof(flags), &flags, NULL));
	return flags;
}

bool cl_bench_has_layer(struct cl_bench *b)
{
	void *call = clGetExtensionFunctionAddressForPlatform(b->platform, "clCreateBuffer");
	Dl_info info;

	return call && dladdr(call, &info) && strstr(info.dli_fname, "sluice-opencl");
}
