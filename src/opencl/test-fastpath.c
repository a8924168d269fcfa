/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The fast path, over a driver that does nothing: what it asks of the driver, how the end of a run
 * is found, and that no command relies on a lease that was broken.
 */

#include "lib/test.h"

#include <pthread.h>
#include <sched.h>

#include "opencl/command.h"
#include "opencl/fastpath.h"
#include "opencl/sweep.h"

#include "../../bench/cl-costs.h"

enum { THREADS = 2, BREAKS = 500 };

static struct {
	cl_int status;	      /* of every event, but for markers */
	cl_int marker_status; /* of these */
	unsigned n_launches, n_events, n_markers;
	unsigned n_looks; /* at an event's status */
} driver;

static cl_int CL_API_CALL enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint n_dims,
				  const size_t *offset, const size_t *global, const size_t *local,
				  cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	driver.n_launches++;
	driver.n_events += event != NULL;
	return cl_costs_driver()->clEnqueueNDRangeKernel(queue, kernel, n_dims, offset, global,
							 local, n_wait, wait, event);
}

static cl_int CL_API_CALL mark(cl_command_queue queue, cl_uint n_wait, const cl_event *wait,
			       cl_event *event)
{
	driver.n_markers++;
	*event = (cl_event)(void *)&driver.marker_status;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info what, size_t size,
					 void *param, size_t *ret_size)
{
	if (what != CL_EVENT_COMMAND_EXECUTION_STATUS)
		return cl_costs_driver()->clGetEventInfo(event, what, size, param, ret_size);
	driver.n_looks++;
	return slu_layer_answer(event == (cl_event)(void *)&driver.marker_status
					? &driver.marker_status
					: &driver.status,
				sizeof(cl_int), size, param, ret_size);
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *errcode_ret)
{
	return (cl_event)(void *)&driver;
}

static cl_int CL_API_CALL set_user_event(cl_event event, cl_int status)
{
	return CL_SUCCESS;
}

struct scene {
	cl_context context;
	cl_command_queue handle;
	cl_kernel kernel;
	cl_mem buffer;
	struct slu_proxy *root;
	struct slu_queue *queue;
	bool has_given_up_queue;
};

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	cl_device_id device;

	assert_non_null(s);
	driver.status = driver.marker_status = CL_COMPLETE;
	driver.n_launches = driver.n_events = driver.n_markers = driver.n_looks = 0;
	slu_layer_next = *cl_costs_driver();
	slu_layer_next.clEnqueueNDRangeKernel = enqueue;
	slu_layer_next.clEnqueueMarkerWithWaitList = mark;
	slu_layer_next.clGetEventInfo = get_event_info;
	slu_layer_next.clCreateUserEvent = create_user_event;
	slu_layer_next.clSetUserEventStatus = set_user_event;
	s->context = slu_layer_next.clCreateContext(NULL, 0, NULL, NULL, NULL, NULL);
	assert_int_equal(slu_layer_next.clGetContextInfo(s->context, CL_CONTEXT_DEVICES,
							 sizeof(device), &device, NULL),
			 CL_SUCCESS);
	s->handle = slu_call_clCreateCommandQueue(s->context, device, 0, NULL);
	s->kernel = slu_call_clCreateKernel(NULL, "add", NULL);
	s->buffer = slu_call_clCreateBuffer(s->context, 0, 4096, NULL, NULL);
	assert_non_null(s->buffer);
	assert_int_equal(slu_call_clSetKernelArg(s->kernel, 0, sizeof(s->buffer), &s->buffer),
			 CL_SUCCESS);
	s->root = slu_proxy_find(s->buffer);
	s->queue = slu_queue_get(s->handle);
	atomic_store(&s->queue->device->aged_ns, UINT64_MAX / 2); /* no lease grows stale */
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	driver.status = driver.marker_status = CL_COMPLETE;
	if (s->queue) {
		slu_sweep_queue(s->queue, false);
		slu_queue_unref(s->queue);
	}
	slu_call_clReleaseMemObject(s->buffer);
	slu_call_clReleaseKernel(s->kernel);
	if (!s->has_given_up_queue)
		slu_call_clReleaseCommandQueue(s->handle);
	free(s);
	return 0;
}

static void launch(struct scene *s)
{
	size_t one = 1;

	assert_int_equal(slu_call_clEnqueueNDRangeKernel(s->handle, s->kernel, 1, NULL, &one, NULL,
							 0, NULL, NULL),
			 CL_SUCCESS);
}

static void a_launch_with_nothing_absent_asks_for_no_event(void **state)
{
	struct scene *s = *state;

	for (unsigned i = 0; i < 10 * (SLU_FASTPATH_RUN_MAX + 1); i++)
		launch(s);
	assert_int_equal(driver.n_launches, 10 * (SLU_FASTPATH_RUN_MAX + 1));
	assert_int_equal(driver.n_events, 10); /* the first of each run took the slow path */
	assert_int_equal(driver.n_markers, 0);
}

static void the_end_of_a_run_is_that_of_a_marker(void **state)
{
	struct scene *s = *state;

	launch(s);
	driver.status = driver.marker_status = CL_RUNNING;
	launch(s);
	assert_int_equal(driver.n_events, 1);
	assert_int_equal(slu_command_look_all(s->root), SLU_BACKEND_E_BUSY);
	assert_int_equal(driver.n_markers, 1);
	/* asked again, it is the same marker */
	assert_int_equal(slu_command_look_all(s->root), SLU_BACKEND_E_BUSY);
	assert_int_equal(driver.n_markers, 1);
	driver.status = driver.marker_status = CL_COMPLETE;
	assert_int_equal(slu_command_look_all(s->root), 0);
	assert_int_equal(slu_queue_progress(s->queue->device, false), 0);
	assert_int_equal(driver.n_markers, 1);
}

static void a_command_with_an_event_covers_those_before_it(void **state)
{
	struct scene *s = *state;

	launch(s);
	driver.status = CL_RUNNING;
	for (unsigned i = 0; i < SLU_FASTPATH_RUN_MAX; i++)
		launch(s);
	assert_int_equal(driver.n_events, 1);
	launch(s);
	assert_int_equal(driver.n_events, 2);
	assert_int_equal(slu_command_look_all(s->root), SLU_BACKEND_E_BUSY);
	driver.status = CL_COMPLETE;
	assert_int_equal(slu_command_look_all(s->root), 0);
	assert_int_equal(driver.n_markers, 0);
}

static void a_write_takes_the_fast_path_too(void **state)
{
	struct scene *s = *state;
	char bytes[4] = "";

	launch(s);
	driver.status = CL_RUNNING;
	assert_int_equal(slu_call_clEnqueueWriteBuffer(s->handle, s->buffer, CL_FALSE, 0, 4, bytes,
						       0, NULL, NULL),
			 CL_SUCCESS);
	driver.marker_status = CL_RUNNING;
	assert_int_equal(slu_command_look_all(s->root), SLU_BACKEND_E_BUSY);
	assert_int_equal(driver.n_markers, 1);
	driver.status = driver.marker_status = CL_COMPLETE;
	assert_int_equal(slu_command_look_all(s->root), 0);
}

/* A part of the working set is absent, but no object of this launch: the client gets a report. */
static void the_client_hears_of_a_crowded_devices_launches(void **state)
{
	struct scene *s = *state;
	uint64_t last_use;

	launch(s);
	last_use = s->root->unit->last_use;
	launch(s);
	assert_int_equal(s->root->unit->last_use, last_use);
	atomic_store(&s->queue->device->is_crowded, true);
	launch(s);
	launch(s);
	assert_int_equal(s->root->unit->last_use, last_use + 2);
	assert_int_equal(driver.n_events, 1);
	atomic_store(&s->queue->device->is_crowded, false);
}

static void finishing_a_queue_ends_its_run(void **state)
{
	struct scene *s = *state;

	launch(s);
	launch(s);
	assert_int_equal(slu_call_clFinish(s->handle), CL_SUCCESS);
	assert_int_equal(s->queue->n_commands, 0);
	assert_int_equal(slu_command_look_all(s->root), 0);
	assert_int_equal(driver.n_markers, 0);
	assert_int_equal(driver.n_looks, 0);
}

static void a_command_that_was_waited_for_is_not_asked_about(void **state)
{
	struct scene *s = *state;
	char bytes[16] = "";

	assert_int_equal(slu_call_clEnqueueWriteBuffer(s->handle, s->buffer, CL_TRUE, 0,
						       sizeof(bytes), bytes, 0, NULL, NULL),
			 CL_SUCCESS);
	assert_int_equal(s->queue->n_commands, 0);
	assert_int_equal(slu_command_look_all(s->root), 0);
	assert_int_equal(driver.n_looks, 0);
}

/* Its event is the program's too, and what comes behind it is not ended by it. */
static void what_comes_behind_a_wait_is_asked_about(void **state)
{
	struct scene *s = *state;
	cl_event event = NULL;
	char bytes[16] = "";

	assert_int_equal(slu_call_clEnqueueWriteBuffer(s->handle, s->buffer, CL_TRUE, 0,
						       sizeof(bytes), bytes, 0, NULL, &event),
			 CL_SUCCESS);
	assert_non_null(event);
	assert_int_equal(s->queue->n_commands, 0);
	driver.status = driver.marker_status = CL_RUNNING;
	launch(s);
	assert_int_equal(slu_command_look_all(s->root), SLU_BACKEND_E_BUSY);
	assert_true(driver.n_looks > 0);
}

static void a_queue_given_up_leaves_a_marker(void **state)
{
	struct scene *s = *state;

	launch(s);
	driver.status = driver.marker_status = CL_RUNNING;
	launch(s);
	s->has_given_up_queue = true;
	assert_int_equal(slu_call_clReleaseCommandQueue(s->handle), CL_SUCCESS);
	assert_int_equal(driver.n_markers, 1);
	assert_int_equal(slu_command_look_all(s->root), SLU_BACKEND_E_BUSY);
	driver.status = driver.marker_status = CL_COMPLETE;
	assert_int_equal(slu_command_look_all(s->root), 0);
}

static void with_a_user_event_unset_every_launch_has_its_event(void **state)
{
	struct scene *s = *state;
	cl_event event;

	launch(s);
	launch(s);
	event = slu_call_clCreateUserEvent(s->context, NULL);
	assert_int_equal(driver.n_markers, 1); /* behind what does not wait for it */
	launch(s);
	launch(s);
	assert_int_equal(driver.n_events, 3);
	assert_int_equal(slu_call_clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
	launch(s);
	assert_int_equal(driver.n_events, 3);
}

/* Whoever retained it can still set it; afterwards nobody can. */
static void a_user_event_given_up_unset_shuts_the_fast_path_no_more(void **state)
{
	struct scene *s = *state;
	cl_event event = slu_call_clCreateUserEvent(s->context, NULL);

	assert_int_equal(slu_call_clRetainEvent(event), CL_SUCCESS);
	assert_int_equal(slu_call_clReleaseEvent(event), CL_SUCCESS);
	assert_true(slu_blockers_exist());
	launch(s);
	launch(s);
	assert_int_equal(driver.n_events, 2);
	assert_int_equal(slu_call_clReleaseEvent(event), CL_SUCCESS);
	assert_false(slu_blockers_exist());
	launch(s);
	assert_int_equal(driver.n_events, 2);
}

static void what_waits_for_a_user_event_given_up_stays_blocked(void **state)
{
	struct scene *s = *state;
	cl_event event = slu_call_clCreateUserEvent(s->context, NULL);
	char bytes[4] = "";

	driver.status = CL_QUEUED;
	assert_int_equal(slu_call_clEnqueueWriteBuffer(s->handle, s->buffer, CL_FALSE, 0, 4, bytes,
						       1, &event, NULL),
			 CL_SUCCESS);
	assert_int_equal(slu_call_clReleaseEvent(event), CL_SUCCESS);
	assert_true(slu_blockers_exist());
	assert_int_equal(slu_command_look_all(s->root), SLU_BACKEND_E_BLOCKED);
	/* a driver that ends it all the same, and the queue with it */
	driver.status = CL_COMPLETE;
	assert_int_equal(slu_command_look_all(s->root), 0);
	slu_command_forget(s->root);
	s->has_given_up_queue = true;
	assert_int_equal(slu_call_clReleaseCommandQueue(s->handle), CL_SUCCESS);
	slu_queue_unref(s->queue);
	assert_false(slu_blockers_exist());
	s->queue = NULL;
}

/* The queue is in order, but what came before the block need not wait for it. */
static void what_is_blocked_holds_only_what_it_names(void **state)
{
	struct scene *s = *state;
	cl_mem other = slu_call_clCreateBuffer(s->context, 0, 4096, NULL, NULL);
	struct slu_proxy *blocked = slu_proxy_find(other);
	cl_event event;
	char bytes[4] = "";

	launch(s);
	launch(s);
	event = slu_call_clCreateUserEvent(s->context, NULL);
	driver.status = CL_QUEUED;
	assert_int_equal(slu_call_clEnqueueWriteBuffer(s->handle, other, CL_FALSE, 0, 4, bytes, 1,
						       &event, NULL),
			 CL_SUCCESS);
	assert_int_equal(slu_command_look_all(s->root), 0);
	assert_int_equal(slu_command_look_all(blocked), SLU_BACKEND_E_BLOCKED);
	assert_int_equal(slu_call_clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
	assert_int_equal(slu_command_look_all(blocked), SLU_BACKEND_E_BUSY);
	driver.status = CL_COMPLETE;
	assert_int_equal(slu_command_look_all(blocked), 0);
	slu_call_clReleaseMemObject(other);
}

static struct {
	struct scene *scene;
	_Atomic bool is_gone, is_over;
	_Atomic unsigned n_late, n_passed;
} race;

static void *hammer(void *data)
{
	struct scene *s = race.scene;

	while (!atomic_load(&race.is_over)) {
		if (!slu_fastpath_enter(s->queue)) {
			sched_yield();
			continue;
		}
		if (!slu_fastpath_is_leased(s->root, slu_fastpath_number(s->queue->device),
					    SLU_ACCESS_WRITE)) {
			slu_fastpath_leave(s->queue, NULL, 0, false);
			sched_yield();
			continue;
		}
		for (unsigned i = 0; i < 50; i++) {
			atomic_fetch_add(&race.n_late, atomic_load(&race.is_gone));
			if (i % 10 == 0)
				sched_yield();
		}
		atomic_fetch_add(&race.n_passed, 1);
		slu_fastpath_leave(s->queue, &s->root, 1, true);
	}
	return data;
}

static void nobody_relies_on_a_lease_that_was_broken(void **state)
{
	struct scene *s = *state;
	pthread_t threads[THREADS];

	launch(s);
	race.scene = s;
	atomic_store(&race.is_over, false);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, NULL), 0);
	for (unsigned n = 0; n < BREAKS; n++) {
		unsigned n_before = atomic_load(&race.n_passed);

		slu_fastpath_lease(s->root, s->queue->device, SLU_ACCESS_WRITE);
		slu_fastpath_close_run(s->queue);
		while (atomic_load(&race.n_passed) == n_before)
			sched_yield();
		while (!slu_fastpath_break_lease(s->root, s->queue->device))
			sched_yield();
		atomic_store(&race.is_gone, true);
		for (unsigned i = 0; i < n % 64; i++)
			sched_yield();
		atomic_store(&race.is_gone, false);
	}
	atomic_store(&race.is_over, true);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&race.n_late), 0);
	assert_true(atomic_load(&race.n_passed) >= BREAKS);
}

#define scene_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scene_test(a_launch_with_nothing_absent_asks_for_no_event),
		scene_test(the_end_of_a_run_is_that_of_a_marker),
		scene_test(a_command_with_an_event_covers_those_before_it),
		scene_test(a_write_takes_the_fast_path_too),
		scene_test(the_client_hears_of_a_crowded_devices_launches),
		scene_test(finishing_a_queue_ends_its_run),
		scene_test(a_command_that_was_waited_for_is_not_asked_about),
		scene_test(what_comes_behind_a_wait_is_asked_about),
		scene_test(a_queue_given_up_leaves_a_marker),
		scene_test(with_a_user_event_unset_every_launch_has_its_event),
		scene_test(a_user_event_given_up_unset_shuts_the_fast_path_no_more),
		scene_test(what_waits_for_a_user_event_given_up_stays_blocked),
		scene_test(what_is_blocked_holds_only_what_it_names),
		scene_test(nobody_relies_on_a_lease_that_was_broken),
	};

	return cmocka_run_group_tests_name("fastpath", tests, NULL, NULL);
}
