/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The bound on work in flight: what it learns, and which commands wait, over a driver that runs
 * launches one after the other.
 */

#include "lib/test.h"

#include "base/clock.h"
#include "base/util.h"
#include "opencl/command.h"
#include "opencl/fastpath.h"
#include "opencl/flight.h"
#include "opencl/sweep.h"

#include "../../bench/cl-costs.h"

enum { LAUNCHES = 3 * (SLU_FASTPATH_RUN_MAX + 1) + 1, SOME = 50, FEW = 8 };

#define MS SLU_NS_PER_MS

static struct {
	cl_command_queue_properties properties;
	uint64_t launch_ns;	    /* what one takes; 0: it never ends */
	uint64_t ends_ns[LAUNCHES]; /* an event is the address of its launch's */
	unsigned n_launches, n_events, n_flushes;
	unsigned n_most; /* in flight, when another one was launched */
	bool is_held;	 /* nothing has begun: a user event is unset */
} driver;

static bool has_ended(uint64_t end_ns)
{
	return driver.launch_ns && !driver.is_held && slu_clock_now_ns() >= end_ns;
}

static cl_int CL_API_CALL enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint n_dims,
				  const size_t *offset, const size_t *global, const size_t *local,
				  cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	unsigned number = driver.n_launches++, n = 0;
	uint64_t now_ns = slu_clock_now_ns(), before_ns;

	assert_true(number < LAUNCHES);
	for (unsigned i = 0; i < number; i++)
		n += !has_ended(driver.ends_ns[i]);
	driver.n_most = SLU_MAX(driver.n_most, n);
	before_ns = number ? driver.ends_ns[number - 1] : 0;
	driver.ends_ns[number] = SLU_MAX(before_ns, now_ns) + driver.launch_ns;
	if (event) {
		driver.n_events++;
		*event = (cl_event)(void *)&driver.ends_ns[number];
	}
	return CL_SUCCESS;
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info what, size_t size,
					 void *param, size_t *ret_size)
{
	cl_int status;

	if (what != CL_EVENT_COMMAND_EXECUTION_STATUS)
		return cl_costs_driver()->clGetEventInfo(event, what, size, param, ret_size);
	status = has_ended(*(uint64_t *)(void *)event) ? CL_COMPLETE : CL_QUEUED;
	return slu_layer_answer(&status, sizeof(status), size, param, ret_size);
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue queue, cl_command_queue_info what,
					 size_t size, void *param, size_t *ret_size)
{
	if (what == CL_QUEUE_PROPERTIES)
		return slu_layer_answer(&driver.properties, sizeof(driver.properties), size, param,
					ret_size);
	return cl_costs_driver()->clGetCommandQueueInfo(queue, what, size, param, ret_size);
}

static cl_int CL_API_CALL flush(cl_command_queue queue)
{
	driver.n_flushes++;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL mark(cl_command_queue queue, cl_uint n_wait, const cl_event *wait,
			       cl_event *event)
{
	return enqueue(queue, NULL, 0, NULL, NULL, NULL, n_wait, wait, event);
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *errcode_ret)
{
	driver.is_held = true;
	return (cl_event)(void *)&driver;
}

static cl_int CL_API_CALL set_user_event(cl_event event, cl_int status)
{
	driver.is_held = false;
	return CL_SUCCESS;
}

struct scene {
	cl_context context;
	cl_command_queue handle;
	cl_kernel kernel;
	cl_mem buffer;
	struct slu_queue *queue;
};

static void set_up(struct scene *s, cl_command_queue_properties properties, bool is_managed,
		   uint64_t launch_ns)
{
	cl_device_id device;

	memset(&driver, 0, sizeof(driver));
	driver.properties = properties;
	driver.launch_ns = launch_ns;
	slu_layer_next = *cl_costs_driver();
	slu_layer_next.clEnqueueNDRangeKernel = enqueue;
	slu_layer_next.clEnqueueMarkerWithWaitList = mark;
	slu_layer_next.clGetEventInfo = get_event_info;
	slu_layer_next.clGetCommandQueueInfo = get_queue_info;
	slu_layer_next.clFlush = flush;
	slu_layer_next.clCreateUserEvent = create_user_event;
	slu_layer_next.clSetUserEventStatus = set_user_event;
	s->context = slu_layer_next.clCreateContext(NULL, 0, NULL, NULL, NULL, NULL);
	assert_int_equal(slu_layer_next.clGetContextInfo(s->context, CL_CONTEXT_DEVICES,
							 sizeof(device), &device, NULL),
			 CL_SUCCESS);
	atomic_store(&slu_device_get(device)->is_managed, is_managed);
	atomic_store(&slu_device_get(device)->aged_ns, UINT64_MAX / 2); /* and it stays so */
	s->handle = slu_call_clCreateCommandQueue(s->context, device, properties, NULL);
	s->kernel = slu_call_clCreateKernel(NULL, "add", NULL);
	s->buffer = slu_call_clCreateBuffer(s->context, 0, 4096, NULL, NULL);
	assert_int_equal(slu_call_clSetKernelArg(s->kernel, 0, sizeof(s->buffer), &s->buffer),
			 CL_SUCCESS);
	s->queue = slu_queue_get(s->handle);
	assert_non_null(s->queue);
}

static void tear_down(struct scene *s)
{
	driver.launch_ns = 1;
	driver.is_held = false;
	memset(driver.ends_ns, 0, sizeof(driver.ends_ns));
	slu_sweep_queue(s->queue, false);
	assert_int_equal(s->queue->flight.n_in_flight, 0);
	slu_queue_unref(s->queue);
	slu_call_clReleaseMemObject(s->buffer);
	slu_call_clReleaseKernel(s->kernel);
	slu_call_clReleaseCommandQueue(s->handle);
}

static void launch(struct scene *s, unsigned n, cl_uint n_wait, const cl_event *wait)
{
	size_t one = 1;

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(slu_call_clEnqueueNDRangeKernel(s->handle, s->kernel, 1, NULL,
								 &one, NULL, n_wait, wait, NULL),
				 CL_SUCCESS);
}

static void the_limit_is_what_fills_ten_milliseconds(void **state)
{
	static const struct {
		const char *what;
		uint64_t n, took_ns;
		bool is_exact;
		uint32_t limit;
	} rows[] = {
		{ "launches of 2 ms", 4, 8 * MS, true, 5 },
		{ "one of 15 ms has another one behind it", 1, 15 * MS, true, 2 },
		{ "one much longer than all of it runs alone", 1, 500 * MS, true, 1 },
		{ "short ones: as many as fill it", 10, 4 * MS / 10, true, 250 },
		{ "very short ones: many, and not without end", 10, MS / 100, true, 256 },
		{ "no time at all", 4, 0, true, 256 },
		{ "the first ends seen by chance count too", 2, 8 * MS, false, 2 },
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct slu_flight f;

		print_message("# %s\n", rows[i].what);
		slu_flight_init(&f, true);
		slu_flight_learn(&f, rows[i].n, rows[i].took_ns, rows[i].is_exact);
		assert_int_equal(f.limit, rows[i].limit);
	}
}

static void ends_seen_by_chance_never_lower_the_limit(void **state)
{
	struct slu_flight f;

	slu_flight_init(&f, true);
	slu_flight_learn(&f, 4, 8 * MS, true);
	slu_flight_learn(&f, 1, 900 * MS, false);
	assert_int_equal(f.limit, 5);
	slu_flight_learn(&f, 4, 4 * MS, false);
	assert_true(f.limit > 5);
}

static void the_limit_follows_launches_that_change(void **state)
{
	struct slu_flight f;

	slu_flight_init(&f, true);
	slu_flight_learn(&f, 1, 900 * MS, true);
	for (unsigned i = 0; i < 64; i++)
		slu_flight_learn(&f, 1, MS, true);
	assert_true(f.limit >= 5);
	for (unsigned i = 0; i < 4; i++)
		slu_flight_learn(&f, 1, 100 * MS, true);
	assert_int_equal(f.limit, 1);
}

static void a_program_that_runs_ahead_is_held_back(void **state)
{
	static const cl_command_queue_properties orders[] = {
		0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
	};
	struct scene s;

	for (unsigned i = 0; i < SLU_ARRAY_SIZE(orders); i++) {
		set_up(&s, orders[i], true, 30 * MS);
		launch(&s, FEW, 0, NULL);
		assert_int_equal(driver.n_launches, FEW);
		assert_true(driver.n_most <= 2);
		tear_down(&s);
	}
}

static void without_a_daemon_nobody_waits(void **state)
{
	struct scene s;

	set_up(&s, 0, false, 0);
	launch(&s, LAUNCHES - 1, 0, NULL);
	assert_int_equal(driver.n_most, LAUNCHES - 2);
	assert_int_equal(driver.n_events, 3); /* by the length of a run, and not shorter */
	assert_int_equal(driver.n_flushes, 0);
	tear_down(&s);
}

static void what_waits_for_a_user_event_is_let_through(void **state)
{
	static const cl_command_queue_properties orders[] = {
		0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
	};
	cl_event event;
	struct scene s;

	for (unsigned i = 0; i < SLU_ARRAY_SIZE(orders); i++) {
		set_up(&s, orders[i], true, MS);
		event = slu_call_clCreateUserEvent(s.context, NULL);
		launch(&s, SOME, 1, &event);
		assert_int_equal(driver.n_most, SOME - 1);
		assert_int_equal(driver.n_flushes, 0); /* nobody even looked */
		assert_int_equal(slu_call_clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
		launch(&s, 1, 0, NULL);
		assert_true(s.queue->flight.n_in_flight <= s.queue->flight.limit);
		tear_down(&s);
	}
}

static void where_nothing_ends_one_is_let_through_in_the_end(void **state)
{
	struct scene s;

	set_up(&s, 0, true, 0);
	launch(&s, 3, 0, NULL);
	assert_int_equal(driver.n_most, 2);
	assert_true(driver.n_flushes > 0);
	tear_down(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_limit_is_what_fills_ten_milliseconds),
		cmocka_unit_test(ends_seen_by_chance_never_lower_the_limit),
		cmocka_unit_test(the_limit_follows_launches_that_change),
		cmocka_unit_test(a_program_that_runs_ahead_is_held_back),
		cmocka_unit_test(without_a_daemon_nobody_waits),
		cmocka_unit_test(what_waits_for_a_user_event_is_let_through),
		cmocka_unit_test(where_nothing_ends_one_is_let_through_in_the_end),
	};

	return cmocka_run_group_tests_name("flight", tests, NULL, NULL);
}
