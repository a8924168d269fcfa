/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The digest of a buffer on the device beside the copy of its bytes to the host: the layer's own
 * hasher, without the layer, on the first OpenCL device. Prints "hash_ns copy_ns host_ns", medians.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "opencl/context.h"
#include "opencl/hasher.h"

enum { ROUNDS = 15 };

static void check(cl_int r, const char *what)
{
	if (!r)
		return;
	fprintf(stderr, "%s: OpenCL error %d\n", what, r);
	exit(1);
}

/* What the layer would have below it. */
static void take_loader(void)
{
#define TAKE(name) slu_layer_next.name = name
	TAKE(clGetDeviceInfo);
	TAKE(clGetContextInfo);
	TAKE(clCreateCommandQueue);
	TAKE(clReleaseCommandQueue);
	TAKE(clCreateBuffer);
	TAKE(clReleaseMemObject);
	TAKE(clCreateProgramWithSource);
	TAKE(clBuildProgram);
	TAKE(clReleaseProgram);
	TAKE(clCreateKernel);
	TAKE(clReleaseKernel);
	TAKE(clGetKernelWorkGroupInfo);
	TAKE(clSetKernelArg);
	TAKE(clEnqueueNDRangeKernel);
	TAKE(clEnqueueReadBuffer);
	TAKE(clFlush);
	TAKE(clFinish);
	TAKE(clWaitForEvents);
	TAKE(clReleaseEvent);
#undef TAKE
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t median(uint64_t *all)
{
	qsort(all, ROUNDS, sizeof(*all), compare);
	return all[ROUNDS / 2];
}

static void measure(struct slu_hasher *hasher, struct slu_proxy *root, cl_command_queue queue,
		    char *host)
{
	uint64_t hash_ns[ROUNDS], copy_ns[ROUNDS], host_ns[ROUNDS];

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct slu_digest there, here;
		struct slu_hashing_job job;
		uint64_t t = slu_clock_now_ns(), took_ns;

		check(clEnqueueReadBuffer(queue, root->real, CL_TRUE, 0, root->size_bytes, host, 0,
					  NULL, NULL),
		      "clEnqueueReadBuffer");
		copy_ns[i] = slu_clock_now_ns() - t;
		t = slu_clock_now_ns();
		check(slu_hasher_begin(hasher, root, &job), "slu_hasher_begin");
		check(slu_hasher_end(&job, &there, &took_ns), "slu_hasher_end");
		hash_ns[i] = slu_clock_now_ns() - t;
		t = slu_clock_now_ns();
		here = slu_digest_of(host, root->size_bytes);
		host_ns[i] = slu_clock_now_ns() - t;
		if (!slu_digest_is_equal(here, there)) {
			fprintf(stderr, "the digests differ\n");
			exit(1);
		}
	}
	printf("%llu %llu %llu\n", (unsigned long long)median(hash_ns),
	       (unsigned long long)median(copy_ns), (unsigned long long)median(host_ns));
}

int main(int argc, char **argv)
{
	struct slu_context context = { 0 };
	struct slu_context_place place = { 0 };
	struct slu_proxy root = { .context = &context, .size_bytes = UINT64_C(64) << 20 };
	cl_platform_id platform;
	cl_command_queue queue;
	char *host;
	cl_int r;

	if (argc > 1)
		root.size_bytes = strtoull(argv[1], NULL, 10) << 20;
	host = malloc(root.size_bytes);
	if (!host)
		return 1;
	for (uint64_t i = 0; i < root.size_bytes; i++)
		host[i] = (char)(i * 31 + (i >> 12));
	take_loader();
	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &place.handle, NULL),
	      "clGetDeviceIDs");
	context.handle = clCreateContext(NULL, 1, &place.handle, NULL, NULL, &r);
	check(r, "clCreateContext");
	queue = clCreateCommandQueue(context.handle, place.handle, 0, &r);
	check(r, "clCreateCommandQueue");
	root.real = clCreateBuffer(context.handle, CL_MEM_COPY_HOST_PTR, root.size_bytes, host, &r);
	check(r, "clCreateBuffer");
	slu_hasher_get(&place);
	slu_hasher_build(&context, &place);
	if (!slu_hasher_get(&place)) {
		fprintf(stderr, "no digests on this device\n");
		return 1;
	}
	measure(&place.hasher, &root, queue, host);
	slu_hasher_deinit(&place.hasher);
	clReleaseMemObject(root.real);
	clReleaseCommandQueue(queue);
	clReleaseContext(context.handle);
	free(host);
	return 0;
}
