/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The rules of OpenCL that a layer could break: reference counts, callbacks, events, arguments. All
 * of it holds on the plain driver too.
 */

#include "cl-lib.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { WORDS = 1024 };

static cl_uint context_refs(struct cl_bench *b)
{
	cl_uint n = 0;

	assert_cl(clGetContextInfo(b->context, CL_CONTEXT_REFERENCE_COUNT, sizeof(n), &n, NULL));
	return n;
}

/*
 * A driver's own work holds references for moments, so the count is waited for; if it never comes
 * to @n, the test runs into its time limit.
 */
static void expect_context_refs(struct cl_bench *b, cl_uint n)
{
	while (context_refs(b) != n)
		sched_yield();
}

/* -- references ------------------------------------------------------------------------------ */

static void references_are_counted_as_by_the_driver(void **state)
{
	struct cl_bench *b = *state;
	cl_uint before;
	cl_kernel muladd = cl_bench_kernel(b, "muladd");
	cl_mem in, out;
	cl_event event;

	before = context_refs(b);
	in = cl_bench_buffer(b, 0, WORDS * 4, NULL);
	out = cl_bench_buffer(b, 0, WORDS * 4, NULL);
	expect_context_refs(b, before + 2);
	assert_int_equal(cl_bench_mem_uint(in, CL_MEM_REFERENCE_COUNT), 1);
	assert_cl(clRetainMemObject(in));
	assert_int_equal(cl_bench_mem_uint(in, CL_MEM_REFERENCE_COUNT), 2);
	assert_cl(clReleaseMemObject(in));
	assert_int_equal(cl_bench_mem_uint(in, CL_MEM_REFERENCE_COUNT), 1);

	cl_bench_launch(b->queue, muladd, in, out, 1, WORDS, 0, NULL, &event);
	assert_cl(clFinish(b->queue));
	assert_cl(clReleaseEvent(event));
	expect_context_refs(b, before + 2);
	assert_cl(clReleaseMemObject(in));
	assert_cl(clReleaseMemObject(out));
	expect_context_refs(b, before);
	assert_cl(clReleaseKernel(muladd));
}

/* -- callbacks -------------------------------------------------------------------------------- */

struct ends {
	unsigned n;
	int order[4];
	cl_mem handle[4];
};

static struct ends ends;

static void CL_CALLBACK note_end(cl_mem handle, void *data)
{
	ends.order[ends.n] = (int)(intptr_t)data;
	ends.handle[ends.n++] = handle;
}

static void destructors_are_called_once_and_backwards(void **state)
{
	struct cl_bench *b = *state;
	cl_kernel muladd = cl_bench_kernel(b, "muladd");
	cl_mem buffer = cl_bench_buffer(b, 0, WORDS * 4, NULL);
	cl_mem other = cl_bench_buffer(b, 0, WORDS * 4, NULL);

	ends.n = 0;
	assert_cl(clSetMemObjectDestructorCallback(buffer, note_end, (void *)1));
	assert_cl(clSetMemObjectDestructorCallback(buffer, note_end, (void *)2));
	assert_int_equal(clSetMemObjectDestructorCallback(buffer, NULL, NULL), CL_INVALID_VALUE);
	cl_bench_launch(b->queue, muladd, buffer, buffer, 1, WORDS, 0, NULL, NULL);
	cl_bench_launch(b->queue, muladd, other, other, 1, WORDS, 0, NULL, NULL);
	cl_bench_launch(b->queue, muladd, buffer, buffer, 1, WORDS, 0, NULL, NULL);
	assert_cl(clFinish(b->queue));
	assert_int_equal(ends.n, 0);
	assert_cl(clReleaseMemObject(buffer));
	assert_int_equal(ends.n, 2);
	assert_int_equal(ends.order[0], 2);
	assert_int_equal(ends.order[1], 1);
	assert_ptr_equal(ends.handle[0], buffer);
	assert_cl(clReleaseMemObject(other));
	assert_cl(clReleaseKernel(muladd));
}

struct relay {
	struct cl_bench *b;
	cl_kernel kernel;
	cl_mem in, out;
	pthread_mutex_t lock;
	pthread_cond_t done;
	cl_event last;
	bool is_done;
};

/* A callback that enqueues: what it names may have to come in first. */
static void CL_CALLBACK enqueue_more(cl_event event, cl_int status, void *data)
{
	struct relay *r = data;

	cl_bench_launch(r->b->queue, r->kernel, r->in, r->out, 2, WORDS, 0, NULL, &r->last);
	clFlush(r->b->queue);
	pthread_mutex_lock(&r->lock);
	r->is_done = true;
	pthread_cond_signal(&r->done);
	pthread_mutex_unlock(&r->lock);
}

static void a_callback_may_enqueue(void **state)
{
	struct cl_bench *b = *state;
	struct relay relay = { .b = b, .kernel = cl_bench_kernel(b, "muladd") };
	cl_kernel muladd = cl_bench_kernel(b, "muladd");
	cl_uint ones[WORDS], expect[WORDS];
	cl_mem first;
	cl_event event;

	pthread_mutex_init(&relay.lock, NULL);
	pthread_cond_init(&relay.done, NULL);
	for (unsigned i = 0; i < WORDS; i++) {
		ones[i] = 1;
		expect[i] = 1 + 2;
	}
	relay.in = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(ones), ones);
	relay.out = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(ones), ones);
	first = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(ones), ones);
	cl_bench_launch(b->queue, muladd, first, first, 1, WORDS, 0, NULL, &event);
	assert_cl(clSetEventCallback(event, CL_COMPLETE, enqueue_more, &relay));
	assert_cl(clFlush(b->queue));
	pthread_mutex_lock(&relay.lock);
	while (!relay.is_done)
		pthread_cond_wait(&relay.done, &relay.lock);
	pthread_mutex_unlock(&relay.lock);
	assert_cl(clWaitForEvents(1, &relay.last));
	cl_bench_expect(b, relay.out, 0, expect, WORDS);
	assert_cl(clReleaseEvent(event));
	assert_cl(clReleaseEvent(relay.last));
	assert_cl(clReleaseMemObject(first));
	assert_cl(clReleaseMemObject(relay.in));
	assert_cl(clReleaseMemObject(relay.out));
	assert_cl(clReleaseKernel(relay.kernel));
	assert_cl(clReleaseKernel(muladd));
	pthread_mutex_destroy(&relay.lock);
	pthread_cond_destroy(&relay.done);
}

/* -- user events ------------------------------------------------------------------------------ */

static void a_blocked_command_does_not_block_others(void **state)
{
	struct cl_bench *b = *state;
	cl_kernel muladd = cl_bench_kernel(b, "muladd");
	cl_uint ones[WORDS], expect[WORDS];
	cl_mem blocked, free_in, free_out;
	cl_event user, event;
	cl_int r;

	for (unsigned i = 0; i < WORDS; i++)
		ones[i] = 1;
	blocked = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(ones), ones);
	free_in = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(ones), ones);
	free_out = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(ones), ones);
	user = clCreateUserEvent(b->context, &r);
	assert_cl(r);
	cl_bench_launch(b->out_of_order, muladd, blocked, blocked, 4, WORDS, 1, &user, &event);
	assert_cl(clFlush(b->out_of_order));
	for (unsigned n = 0; n < 5; n++)
		cl_bench_launch(b->queue, muladd, free_in, free_out, 1, WORDS, 0, NULL, NULL);
	for (unsigned i = 0; i < WORDS; i++)
		expect[i] = 6;
	cl_bench_expect(b, free_out, 0, expect, WORDS);
	assert_cl(clSetUserEventStatus(user, CL_COMPLETE));
	assert_cl(clWaitForEvents(1, &event));
	for (unsigned i = 0; i < WORDS; i++)
		expect[i] = 5;
	cl_bench_expect(b, blocked, 0, expect, WORDS);
	assert_cl(clReleaseEvent(user));
	assert_cl(clReleaseEvent(event));
	assert_cl(clReleaseMemObject(blocked));
	assert_cl(clReleaseMemObject(free_in));
	assert_cl(clReleaseMemObject(free_out));
	assert_cl(clReleaseKernel(muladd));
}

/* -- kernels ---------------------------------------------------------------------------------- */

static void wrong_arguments_are_told_when_they_are_set(void **state)
{
	struct cl_bench *b = *state;
	cl_kernel muladd = cl_bench_kernel(b, "muladd");
	cl_mem buffer = cl_bench_buffer(b, 0, 64, NULL), none = NULL;
	cl_uint word = 1;
	size_t n = 1;

	assert_int_equal(clSetKernelArg(muladd, 7, sizeof(buffer), &buffer), CL_INVALID_ARG_INDEX);
	assert_int_equal(clSetKernelArg(muladd, 2, sizeof(buffer), &buffer), CL_INVALID_ARG_SIZE);
	assert_int_equal(clSetKernelArg(muladd, 0, 3, &buffer), CL_INVALID_ARG_SIZE);
	assert_cl(clSetKernelArg(muladd, 0, sizeof(buffer), &buffer));
	assert_int_equal(clEnqueueNDRangeKernel(b->queue, muladd, 1, NULL, &n, NULL, 0, NULL, NULL),
			 CL_INVALID_KERNEL_ARGS);
	assert_cl(clSetKernelArg(muladd, 1, sizeof(none), &none));
	assert_cl(clSetKernelArg(muladd, 1, sizeof(buffer), &buffer));
	assert_cl(clSetKernelArg(muladd, 2, sizeof(word), &word));
	assert_cl(clEnqueueNDRangeKernel(b->queue, muladd, 1, NULL, &n, NULL, 0, NULL, NULL));
	assert_cl(clFinish(b->queue));
	assert_cl(clReleaseMemObject(buffer));
	assert_cl(clReleaseKernel(muladd));
}

static void a_clone_has_its_own_arguments(void **state)
{
	struct cl_bench *b = *state;
	cl_kernel muladd = cl_bench_kernel(b, "muladd"), clone;
	cl_uint ones[WORDS], expect[WORDS], factor = 3;
	size_t n = WORDS;
	cl_mem in, out, other;
	cl_int r;

	for (unsigned i = 0; i < WORDS; i++)
		ones[i] = 1;
	in = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(ones), ones);
	out = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(ones), ones);
	other = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(ones), ones);
	cl_bench_launch(b->queue, muladd, in, out, 2, WORDS, 0, NULL, NULL);
	clone = clCloneKernel(muladd, &r);
	assert_cl(r);
	assert_cl(clSetKernelArg(clone, 1, sizeof(other), &other));
	assert_cl(clSetKernelArg(clone, 2, sizeof(factor), &factor));
	assert_cl(clEnqueueNDRangeKernel(b->queue, clone, 1, NULL, &n, NULL, 0, NULL, NULL));
	assert_cl(clEnqueueNDRangeKernel(b->queue, muladd, 1, NULL, &n, NULL, 0, NULL, NULL));
	for (unsigned i = 0; i < WORDS; i++)
		expect[i] = 5;
	cl_bench_expect(b, out, 0, expect, WORDS);
	for (unsigned i = 0; i < WORDS; i++)
		expect[i] = 4;
	cl_bench_expect(b, other, 0, expect, WORDS);
	assert_cl(clReleaseKernel(clone));
	assert_cl(clReleaseKernel(muladd));
	assert_cl(clReleaseMemObject(in));
	assert_cl(clReleaseMemObject(out));
	assert_cl(clReleaseMemObject(other));
}

/* Those of extensions that take and make no object. */
static void entry_points_are_found_as_in_the_driver(void **state)
{
	struct cl_bench *b = *state;
	static const char *const names[] = {
		"clGetGLContextInfoKHR", "clCreateEventFromGLsyncKHR", "clGetKernelSubGroupInfoKHR",
		"clCreateSubDevicesEXT", "clRetainDeviceEXT",	       "clReleaseDeviceEXT",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		print_message("# %s\n", names[i]);
		assert_non_null(clGetExtensionFunctionAddressForPlatform(b->platform, names[i]));
	}
	assert_null(clGetExtensionFunctionAddressForPlatform(b->platform, "clWhoeverKnows"));
}

struct crowd {
	struct cl_bench *b;
	unsigned index;
	_Atomic unsigned n_wrong;
};

static void *work(void *data)
{
	struct crowd *c = data;
	cl_uint mine[WORDS], read[WORDS];
	cl_command_queue queue;
	cl_kernel muladd;
	cl_mem in, out;
	size_t n = WORDS;
	cl_uint one = 1;
	cl_int r;

	for (unsigned i = 0; i < WORDS; i++)
		mine[i] = i * (c->index + 1);
	queue = clCreateCommandQueue(c->b->context, c->b->device, 0, &r);
	muladd = clCreateKernel(c->b->program, "muladd", &r);
	in = clCreateBuffer(c->b->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof(mine),
			    mine, &r);
	out = clCreateBuffer(c->b->context, CL_MEM_COPY_HOST_PTR, sizeof(mine), mine, &r);
	r |= clSetKernelArg(muladd, 0, sizeof(in), &in);
	r |= clSetKernelArg(muladd, 1, sizeof(out), &out);
	r |= clSetKernelArg(muladd, 2, sizeof(one), &one);
	for (unsigned k = 1; k <= 60; k++) {
		r |= clEnqueueNDRangeKernel(queue, muladd, 1, NULL, &n, NULL, 0, NULL, NULL);
		if (k % 10)
			continue;
		r |= clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof(read), read, 0, NULL, NULL);
		for (unsigned i = 0; i < WORDS; i++)
			c->n_wrong += read[i] != mine[i] * (k + 1);
	}
	c->n_wrong += r != CL_SUCCESS;
	clReleaseMemObject(in);
	clReleaseMemObject(out);
	clReleaseKernel(muladd);
	clReleaseCommandQueue(queue);
	return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
	enum { THREADS = 4 };
	struct crowd crowd[THREADS];
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		crowd[i] = (struct crowd){ .b = *state, .index = i };
		assert_int_equal(pthread_create(&threads[i], NULL, work, &crowd[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(crowd[i].n_wrong, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(references_are_counted_as_by_the_driver),
		cmocka_unit_test(destructors_are_called_once_and_backwards),
		cmocka_unit_test(a_callback_may_enqueue),
		cmocka_unit_test(a_blocked_command_does_not_block_others),
		cmocka_unit_test(wrong_arguments_are_told_when_they_are_set),
		cmocka_unit_test(a_clone_has_its_own_arguments),
		cmocka_unit_test(entry_points_are_found_as_in_the_driver),
		cmocka_unit_test(threads_do_not_disturb_each_other),
	};

	return cmocka_run_group_tests_name("cl-rules", tests, cl_bench_setup, cl_bench_teardown);
}
