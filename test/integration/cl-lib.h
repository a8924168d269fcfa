/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the OpenCL test programs share: one context, two queues, a few kernels. They are ordinary
 * programs that use the loader; whether the layer is there is the environment's business, and
 * everything that they assert holds with and without it.
 */

#include "lib/test.h"

#include <stdbool.h>

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

struct cl_bench {
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue; /* in order */
	cl_command_queue out_of_order;
	cl_program program;
};

/* Makes everything; fails the test where there is no device. A cmocka group setup. */
int cl_bench_setup(void **state);
int cl_bench_teardown(void **state);

#define assert_cl(call) assert_int_equal((call), CL_SUCCESS)

cl_mem cl_bench_buffer(struct cl_bench *b, cl_mem_flags flags, size_t size, void *host);
cl_kernel cl_bench_kernel(struct cl_bench *b, const char *name);

/* out[i] = in[i] * factor + out[i], over n words */
void cl_bench_launch(cl_command_queue queue, cl_kernel muladd, cl_mem in, cl_mem out,
		     cl_uint factor, size_t n, cl_uint n_wait, const cl_event *wait,
		     cl_event *event);

/* The words of @buffer, read blocking, are what @words says. */
void cl_bench_expect(struct cl_bench *b, cl_mem buffer, size_t offset, const cl_uint *words,
		     size_t n);

/* Something else runs, so that whatever can leave has reason to. */
void cl_bench_disturb(struct cl_bench *b);

cl_uint cl_bench_mem_uint(cl_mem object, cl_mem_info what);
cl_mem_flags cl_bench_flags(cl_mem object);

/* Whether Sluice's layer is between us and the driver. */
bool cl_bench_has_layer(struct cl_bench *b);
