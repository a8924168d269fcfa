/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the OpenCL layer adds to the calls of a program whose objects are all on the device:
 * nanoseconds of a call through it, less the same call to the driver under it. One thread, no
 * daemon. The layer is loaded here as a loader would do it, so both ways are taken in turn in one
 * process, on the same objects of their own.
 *
 *   enqueue     clEnqueueNDRangeKernel with three buffers, no event asked for
 *   unordered   the same in an out-of-order queue
 *   set_arg     clSetKernelArg with one of two buffers by turns
 *   create      clCreateBuffer and clReleaseMemObject
 *   write       clEnqueueWriteBuffer of 64 bytes, not waited for
 *   map         clEnqueueMapBuffer and clEnqueueUnmapMemObject
 *
 *   bench-cl-costs LAYER none             the driver does nothing
 *   bench-cl-costs LAYER real             the first driver that the loader finds
 *   bench-cl-costs LAYER none CALL N M    only N calls by the layer and M to the driver, for a
 *                                         counter of instructions
 */

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl-costs.h"

#include <CL/cl_layer.h>

#include "base/clock.h"
#include "base/util.h"

#define N_ROUNDS  41u
#define N_BATCHES 21u
#define N_KEPT	  256u /* calls a batch */

/* One way to the driver, with its objects. */
struct way {
	cl_icd_dispatch call;
	cl_context context;
	cl_command_queue queue, unordered;
	cl_kernel kernel;
	cl_mem buffers[4];
};

static const char *const source = "kernel void add(global const uint *a, global const uint *b, "
				  "global uint *c, uint n) { if (n) c[0] = a[0] + b[0]; }";

static void need(cl_int r, const char *what)
{
	if (r == CL_SUCCESS)
		return;
	fprintf(stderr, "bench-cl-costs: %s: %d\n", what, r);
	exit(1);
}

static void open_way(struct way *w, cl_device_id device)
{
	cl_program program = NULL;
	cl_uint zero = 0;
	cl_int r;

	w->context = w->call.clCreateContext(NULL, 1, &device, NULL, NULL, &r);
	need(r, "clCreateContext");
	w->queue = w->call.clCreateCommandQueue(w->context, device, 0, &r);
	need(r, "clCreateCommandQueue");
	w->unordered = w->call.clCreateCommandQueue(w->context, device,
						    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &r);
	need(r, "clCreateCommandQueue");
	if (w->call.clCreateProgramWithSource) {
		const char *text = source;

		program = w->call.clCreateProgramWithSource(w->context, 1, &text, NULL, &r);
		need(r, "clCreateProgramWithSource");
		need(w->call.clBuildProgram(program, 1, &device, NULL, NULL, NULL),
		     "clBuildProgram");
	}
	w->kernel = w->call.clCreateKernel(program, "add", &r);
	need(r, "clCreateKernel");
	for (unsigned i = 0; i < SLU_ARRAY_SIZE(w->buffers); i++) {
		w->buffers[i] =
			w->call.clCreateBuffer(w->context, CL_MEM_READ_WRITE, 4096, NULL, &r);
		need(r, "clCreateBuffer");
	}
	for (cl_uint i = 0; i < 3; i++)
		need(w->call.clSetKernelArg(w->kernel, i, sizeof(cl_mem), &w->buffers[i]),
		     "clSetKernelArg");
	need(w->call.clSetKernelArg(w->kernel, 3, sizeof(zero), &zero), "clSetKernelArg");
}

/* -- the calls -------------------------------------------------------------------------------- */

static void enqueue(const struct way *w, unsigned n)
{
	size_t one = 1;

	for (unsigned i = 0; i < n; i++)
		w->call.clEnqueueNDRangeKernel(w->queue, w->kernel, 1, NULL, &one, &one, 0, NULL,
					       NULL);
}

static void enqueue_unordered(const struct way *w, unsigned n)
{
	size_t one = 1;

	for (unsigned i = 0; i < n; i++)
		w->call.clEnqueueNDRangeKernel(w->unordered, w->kernel, 1, NULL, &one, &one, 0,
					       NULL, NULL);
}

static void set_arg(const struct way *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		w->call.clSetKernelArg(w->kernel, 0, sizeof(cl_mem), &w->buffers[3 * (i & 1)]);
}

static void create(const struct way *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		w->call.clReleaseMemObject(
			w->call.clCreateBuffer(w->context, CL_MEM_READ_WRITE, 4096, NULL, NULL));
}

static void write_some(const struct way *w, unsigned n)
{
	static const char bytes[64];

	for (unsigned i = 0; i < n; i++)
		w->call.clEnqueueWriteBuffer(w->queue, w->buffers[0], CL_FALSE, 0, sizeof(bytes),
					     bytes, 0, NULL, NULL);
}

static void map(const struct way *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		void *p = w->call.clEnqueueMapBuffer(w->queue, w->buffers[0], CL_FALSE, CL_MAP_READ,
						     0, 64, 0, NULL, NULL, NULL);

		w->call.clEnqueueUnmapMemObject(w->queue, w->buffers[0], p, 0, NULL, NULL);
	}
}

/* Every buffer has been an argument of a launch. */
static void warm_up(const struct way *w)
{
	for (unsigned i = 0; i < 100; i++) {
		set_arg(w, 1 + i % 2);
		enqueue(w, 1);
	}
	w->call.clFinish(w->queue);
}

static const struct call {
	const char *name;
	void (*run)(const struct way *, unsigned);
	const char *goal;
} calls[] = {
	{ "enqueue", enqueue, "200" },	 { "unordered", enqueue_unordered, "null" },
	{ "set_arg", set_arg, "null" },	 { "create", create, "null" },
	{ "write", write_some, "null" }, { "map", map, "null" },
};

/* -- measuring -------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Nanoseconds a call: the median of short batches, so that other work on the machine falls out.
 * The queue is emptied between them, outside of the time.
 */
static double one_round(const struct call *c, const struct way *w)
{
	double batches[N_BATCHES];

	for (unsigned i = 0; i < N_BATCHES; i++) {
		uint64_t t = slu_clock_now_ns();

		c->run(w, N_KEPT);
		batches[i] = (double)(slu_clock_now_ns() - t) / N_KEPT;
		w->call.clFinish(w->queue);
		w->call.clFinish(w->unordered);
	}
	qsort(batches, N_BATCHES, sizeof(batches[0]), by_value);
	return batches[N_BATCHES / 2];
}

static void print(const char *name, const char *part, double value, const char *goal)
{
	printf("{\"name\": \"cl-costs.%s_%s\", \"value\": %.4g, \"unit\": \"ns\", \"bound\": null, "
	       "\"goal\": %s, \"valid\": true}\n",
	       name, part, value, goal);
}

/* The median over rounds of (with − without), and of the plain call. */
static void measure(const struct call *c, const struct way *plain, const struct way *layered,
		    bool is_real)
{
	double more[N_ROUNDS], alone[N_ROUNDS];

	warm_up(plain);
	warm_up(layered);
	for (unsigned i = 0; i < N_ROUNDS; i++) {
		alone[i] = one_round(c, plain);
		more[i] = one_round(c, layered) - alone[i];
	}
	qsort(more, N_ROUNDS, sizeof(more[0]), by_value);
	qsort(alone, N_ROUNDS, sizeof(alone[0]), by_value);
	print(c->name, is_real ? "on_pocl_ns" : "ns", more[N_ROUNDS / 2],
	      is_real ? "null" : c->goal);
	if (is_real)
		print(c->name, "plain_ns", alone[N_ROUNDS / 2], "null");
}

/* As a loader does: what the layer leaves open is the driver's. */
static void load_layer(const char *path, const cl_icd_dispatch *driver, cl_icd_dispatch *ret)
{
	const size_t n_all = sizeof(*ret) / sizeof(void *);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const cl_icd_dispatch *taken;
	void **to = (void **)ret;
	pfn_clInitLayer init;
	cl_uint n;

	init = library ? (pfn_clInitLayer)dlsym(library, "clInitLayer") : NULL;
	if (!init || init((cl_uint)n_all, driver, &n, &taken) != CL_SUCCESS) {
		fprintf(stderr, "bench-cl-costs: %s is no layer\n", path);
		exit(1);
	}
	memcpy(ret, driver, sizeof(*ret));
	for (cl_uint i = 0; i < n; i++)
		if (((void *const *)taken)[i])
			to[i] = ((void *const *)taken)[i];
}

static cl_device_id find_device(cl_icd_dispatch *ret_driver)
{
	cl_platform_id platform = NULL;
	cl_device_id device = NULL;

	need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	*ret_driver = **(const cl_icd_dispatch **)platform;
	return device;
}

int main(int argc, char **argv)
{
	bool is_real = argc == 3 && !strcmp(argv[2], "real");
	struct way plain = { 0 }, layered = { 0 };
	cl_device_id device = NULL;

	if (!is_real && ((argc != 3 && argc != 6) || strcmp(argv[2], "none") != 0)) {
		fputs("usage: bench-cl-costs LAYER none|real [CALL BY-LAYER TO-DRIVER]\n", stderr);
		return 2;
	}
	if (is_real)
		device = find_device(&plain.call);
	else
		plain.call = *cl_costs_driver();
	load_layer(argv[1], &plain.call, &layered.call);
	open_way(&plain, device);
	open_way(&layered, device);
	for (unsigned i = 0; i < SLU_ARRAY_SIZE(calls); i++) {
		if (argc == 3) {
			measure(&calls[i], &plain, &layered, is_real);
		} else if (!strcmp(calls[i].name, argv[3])) {
			warm_up(&layered);
			calls[i].run(&layered, (unsigned)strtoul(argv[4], NULL, 0));
			calls[i].run(&plain, (unsigned)strtoul(argv[5], NULL, 0));
		}
	}
	return 0;
}
