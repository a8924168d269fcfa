/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Several devices: contexts of their own, and one context of both. The environment gives the
 * driver two devices (POCL_DEVICES).
 */

#include "cl-lib.h"

#include <sched.h>

enum { WORDS = 4096, DEVICES = 2, ROUNDS = 30 };

static const char *const source =
	"kernel void advance(global uint *words, uint add)\n"
	"{ size_t i = get_global_id(0); words[i] = words[i] * 3 + add; }\n";

struct place {
	cl_context context;
	cl_command_queue queue;
	cl_kernel step;
};

static cl_uint find_devices(cl_device_id *devices)
{
	cl_platform_id platform;
	cl_uint n = 0;

	assert_cl(clGetPlatformIDs(1, &platform, NULL));
	assert_cl(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES, devices, &n));
	return n;
}

static cl_kernel make_kernel(cl_context context, cl_uint n, const cl_device_id *devices)
{
	cl_program program;
	cl_kernel kernel;
	cl_int r;

	program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &r);
	assert_cl(r);
	assert_cl(clBuildProgram(program, n, devices, NULL, NULL, NULL));
	kernel = clCreateKernel(program, "advance", &r);
	assert_cl(r);
	assert_cl(clReleaseProgram(program));
	return kernel;
}

static cl_command_queue make_queue(cl_context context, cl_device_id device)
{
	cl_int r;
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &r);

	assert_cl(r);
	return queue;
}

static cl_mem make_buffer(cl_context context, cl_mem_flags flags, void *host)
{
	cl_int r;
	cl_mem buffer = clCreateBuffer(context, flags, WORDS * 4, host, &r);

	assert_cl(r);
	return buffer;
}

static void launch(cl_command_queue queue, cl_kernel step, cl_mem buffer, cl_uint add,
		   cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	size_t n = WORDS;

	assert_cl(clSetKernelArg(step, 0, sizeof(buffer), &buffer));
	assert_cl(clSetKernelArg(step, 1, sizeof(add), &add));
	assert_cl(clEnqueueNDRangeKernel(queue, step, 1, NULL, &n, NULL, n_wait, wait, event));
}

static void follow(cl_uint *model, cl_uint add)
{
	for (size_t i = 0; i < WORDS; i++)
		model[i] = model[i] * 3 + add;
}

static void expect(cl_command_queue queue, cl_mem buffer, const cl_uint *model)
{
	static cl_uint read[WORDS];

	assert_cl(
		clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(read), read, 0, NULL, NULL));
	assert_memory_equal(read, model, sizeof(read));
}

static void each_device_keeps_its_own(void **state)
{
	static cl_uint model[DEVICES][WORDS];
	cl_device_id devices[DEVICES];
	struct place places[DEVICES];
	cl_mem buffers[DEVICES];
	cl_int r;

	assert_int_equal(find_devices(devices), DEVICES);
	for (unsigned d = 0; d < DEVICES; d++) {
		places[d].context = clCreateContext(NULL, 1, &devices[d], NULL, NULL, &r);
		assert_cl(r);
		places[d].queue = make_queue(places[d].context, devices[d]);
		places[d].step = make_kernel(places[d].context, 1, &devices[d]);
		for (unsigned i = 0; i < WORDS; i++)
			model[d][i] = i + d;
		buffers[d] = make_buffer(places[d].context, CL_MEM_COPY_HOST_PTR, model[d]);
	}
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned d = 0; d < DEVICES; d++) {
			launch(places[d].queue, places[d].step, buffers[d], round + d, 0, NULL,
			       NULL);
			follow(model[d], round + d);
			if (round % 10 == 5)
				expect(places[d].queue, buffers[d], model[d]);
		}
	for (unsigned d = 0; d < DEVICES; d++) {
		expect(places[d].queue, buffers[d], model[d]);
		assert_cl(clReleaseMemObject(buffers[d]));
		assert_cl(clReleaseKernel(places[d].step));
		assert_cl(clReleaseCommandQueue(places[d].queue));
		assert_cl(clReleaseContext(places[d].context));
	}
}

/* Handed to and fro between the devices by events; another object of each comes and goes. */
static void one_context_shares_its_objects(void **state)
{
	static cl_uint model[WORDS], others[DEVICES][WORDS];
	cl_command_queue queues[DEVICES];
	cl_device_id devices[DEVICES];
	cl_mem shared, own[DEVICES];
	cl_event last = NULL, next;
	cl_context context;
	cl_kernel step;
	cl_int r;

	assert_int_equal(find_devices(devices), DEVICES);
	context = clCreateContext(NULL, DEVICES, devices, NULL, NULL, &r);
	assert_cl(r);
	step = make_kernel(context, DEVICES, devices);
	for (unsigned i = 0; i < WORDS; i++)
		model[i] = others[0][i] = others[1][i] = i;
	shared = make_buffer(context, CL_MEM_COPY_HOST_PTR, model);
	for (unsigned d = 0; d < DEVICES; d++) {
		queues[d] = make_queue(context, devices[d]);
		own[d] = make_buffer(context, CL_MEM_COPY_HOST_PTR, others[d]);
	}
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned d = round % DEVICES;

		launch(queues[d], step, shared, round, last ? 1 : 0, last ? &last : NULL, &next);
		follow(model, round);
		if (last)
			assert_cl(clReleaseEvent(last));
		last = next;
		launch(queues[d], step, own[d], d, 0, NULL, NULL);
		follow(others[d], d);
		assert_cl(
			clFinish(queues[d])); /* PoCL hangs where two devices wait for each other */
	}
	assert_cl(clWaitForEvents(1, &last));
	assert_cl(clReleaseEvent(last));
	for (unsigned d = 0; d < DEVICES; d++) {
		assert_cl(clEnqueueMigrateMemObjects(queues[d], 1, &shared, 0, 0, NULL, NULL));
		expect(queues[d], shared, model);
		expect(queues[d], own[d], others[d]);
		assert_cl(clReleaseMemObject(own[d]));
		assert_cl(clReleaseCommandQueue(queues[d]));
	}
	assert_cl(clReleaseMemObject(shared));
	assert_cl(clReleaseKernel(step));
	assert_cl(clReleaseContext(context));
}

/* Both devices in one context, an object, and what it should contain. */
struct pair {
	cl_context context;
	cl_command_queue queues[DEVICES];
	cl_kernel step;
	cl_mem shared;
	cl_uint model[WORDS];
};

static void open_pair(struct pair *p)
{
	cl_device_id devices[DEVICES];
	cl_int r;

	assert_int_equal(find_devices(devices), DEVICES);
	p->context = clCreateContext(NULL, DEVICES, devices, NULL, NULL, &r);
	assert_cl(r);
	p->step = make_kernel(p->context, DEVICES, devices);
	for (unsigned d = 0; d < DEVICES; d++)
		p->queues[d] = make_queue(p->context, devices[d]);
	for (unsigned i = 0; i < WORDS; i++)
		p->model[i] = i;
	p->shared = make_buffer(p->context, CL_MEM_COPY_HOST_PTR, p->model);
}

static void close_pair(struct pair *p)
{
	assert_cl(clReleaseMemObject(p->shared));
	for (unsigned d = 0; d < DEVICES; d++)
		assert_cl(clReleaseCommandQueue(p->queues[d]));
	assert_cl(clReleaseKernel(p->step));
	assert_cl(clReleaseContext(p->context));
}

/* The program sets its event only after it has given work to the other device too. */
static void both_may_wait_for_the_host(void **state)
{
	static struct pair p;

	open_pair(&p);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned d = round % DEVICES;
		cl_event begin, first, second;
		cl_int r;

		begin = clCreateUserEvent(p.context, &r);
		assert_cl(r);
		launch(p.queues[d], p.step, p.shared, round, 1, &begin, &first);
		launch(p.queues[!d], p.step, p.shared, round + 1, 1, &first, &second);
		assert_cl(clFlush(p.queues[d]));
		assert_cl(clFlush(p.queues[!d]));
		assert_cl(clSetUserEventStatus(begin, CL_COMPLETE));
		assert_cl(clFinish(p.queues[d]));
		assert_cl(clFinish(p.queues[!d]));
		follow(p.model, round);
		follow(p.model, round + 1);
		assert_cl(clReleaseEvent(begin));
		assert_cl(clReleaseEvent(first));
		assert_cl(clReleaseEvent(second));
		if (round % 10 == 5)
			expect(p.queues[d], p.shared, p.model);
	}
	expect(p.queues[0], p.shared, p.model);
	close_pair(&p);
}

/* A map for reading on one device does not keep the other one from reading, nor from unmapping. */
static void what_one_has_mapped_the_other_reads(void **state)
{
	static cl_uint read[WORDS];
	static struct pair p;

	open_pair(&p);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned d = round % DEVICES;
		cl_uint *mapped;
		cl_int r;

		launch(p.queues[d], p.step, p.shared, round, 0, NULL, NULL);
		follow(p.model, round);
		mapped = clEnqueueMapBuffer(p.queues[d], p.shared, CL_TRUE, CL_MAP_READ, 0,
					    WORDS * 4, 0, NULL, NULL, &r);
		assert_cl(r);
		assert_memory_equal(mapped, p.model, sizeof(p.model));
		assert_cl(clEnqueueReadBuffer(p.queues[!d], p.shared, CL_TRUE, 0, sizeof(read),
					      read, 0, NULL, NULL));
		assert_memory_equal(read, p.model, sizeof(p.model));
		assert_memory_equal(mapped, p.model, sizeof(p.model));
		assert_cl(clEnqueueUnmapMemObject(p.queues[!d], p.shared, mapped, 0, NULL, NULL));
		assert_cl(clFinish(p.queues[!d]));
	}
	expect(p.queues[1], p.shared, p.model);
	close_pair(&p);
}

static cl_uint n_context_refs(cl_context context)
{
	cl_uint n = 0;

	assert_cl(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(n), &n, NULL));
	return n;
}

/* Whatever we keep on each device for our copies is not seen. */
static void the_context_counts_as_it_would_alone(void **state)
{
	static struct pair p;
	cl_uint n, now;

	open_pair(&p);
	n = n_context_refs(p.context);
	for (unsigned round = 0; round < 4; round++) {
		launch(p.queues[round % DEVICES], p.step, p.shared, round, 0, NULL, NULL);
		assert_cl(clFinish(p.queues[round % DEVICES]));
		follow(p.model, round);
		/*
		 * Threads of the driver may let go of their commands a moment after these ended,
		 * also of those that were there when the references were first counted.
		 */
		while ((now = n_context_refs(p.context)) > n)
			sched_yield();
		n = now;
	}
	expect(p.queues[0], p.shared, p.model);
	close_pair(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_device_keeps_its_own),
		cmocka_unit_test(one_context_shares_its_objects),
		cmocka_unit_test(both_may_wait_for_the_host),
		cmocka_unit_test(what_one_has_mapped_the_other_reads),
		cmocka_unit_test(the_context_counts_as_it_would_alone),
	};

	return cmocka_run_group_tests_name("cl-devices", tests, NULL, NULL);
}
