/* SPDX-License-Identifier: Apache-2.0 */
/* Work in flight, over a driver of our own making: its events end when the test says so. */
#include "lib/test.h"

#include "base/util.h"
#include "cuda/capture.h"
#include "cuda/device.h"
#include "cuda/real.h"

#define EVENTS_MAX 64
#define SERVICE	   ((CUcontext)(uintptr_t)64)
#define OTHER	   ((CUcontext)(uintptr_t)128)

void *slu_real_table[_SLU_CUNAME_MAX];

static struct slu_cuda_device device;
static bool is_recorded[EVENTS_MAX], is_done[EVENTS_MAX];
static CUcontext contexts[EVENTS_MAX]; /* of the events */
static bool is_made[EVENTS_MAX];
static unsigned n_events, n_waits, n_queries;
static CUcontext here;
static CUstream recorded_in[EVENTS_MAX];
static unsigned n_recorded[EVENTS_MAX], n_records; /* in which order */
static bool refuses_events;
static CUresult record_answer;

CUstreamCaptureMode slu_cuda_capture_relax(void)
{
	return CU_STREAM_CAPTURE_MODE_GLOBAL;
}

void slu_cuda_capture_restore(CUstreamCaptureMode before)
{
}

void *slu_real_resolve(unsigned id)
{
	fail_msg("%s was not expected", slu_cunames[id].symbol);
	return NULL;
}

static unsigned number_of(CUevent event)
{
	return (unsigned)(uintptr_t)event - 1;
}

static CUresult get_current(CUcontext *ret_context)
{
	*ret_context = here;
	return CUDA_SUCCESS;
}

static CUresult create(CUevent *ret_event, unsigned int flags)
{
	unsigned i = 0;

	if (refuses_events)
		return CUDA_ERROR_OUT_OF_MEMORY;
	while (i < EVENTS_MAX && is_made[i])
		i++;
	assert_true(i < EVENTS_MAX);
	is_made[i] = true;
	is_recorded[i] = false;
	contexts[i] = here;
	n_events++;
	*ret_event = (CUevent)(uintptr_t)(i + 1);
	return CUDA_SUCCESS;
}

static CUresult destroy(CUevent event)
{
	assert_true(is_made[number_of(event)]);
	is_made[number_of(event)] = false;
	n_events--;
	return CUDA_SUCCESS;
}

static CUresult record(CUevent event, CUstream stream)
{
	if (record_answer)
		return record_answer;
	if (contexts[number_of(event)] != here)
		return CUDA_ERROR_INVALID_HANDLE;
	/* an event that is under way must not be recorded again: its end would be lost */
	assert_true(!is_recorded[number_of(event)] || is_done[number_of(event)]);
	is_recorded[number_of(event)] = true;
	is_done[number_of(event)] = false;
	recorded_in[number_of(event)] = stream;
	n_recorded[number_of(event)] = ++n_records;
	return CUDA_SUCCESS;
}

static CUresult query(CUevent event)
{
	n_queries++;
	return is_done[number_of(event)] ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

/* What is in front of it in its stream has come with it. */
static CUresult synchronize(CUevent event)
{
	unsigned number = number_of(event);

	n_waits++;
	for (unsigned i = 0; i < EVENTS_MAX; i++)
		if (is_made[i] && is_recorded[i] && contexts[i] == contexts[number] &&
		    recorded_in[i] == recorded_in[number] && n_recorded[i] <= n_recorded[number])
			is_done[i] = true;
	return CUDA_SUCCESS;
}

static int set_up(void **state)
{
	n_events = n_waits = n_queries = n_records = 0;
	memset(is_made, 0, sizeof(is_made));
	here = SERVICE;
	refuses_events = false;
	record_answer = CUDA_SUCCESS;
	slu_real_table[SLU_CUNAME_cuCtxGetCurrent] = (void *)get_current;
	slu_real_table[SLU_CUNAME_cuEventCreate] = (void *)create;
	slu_real_table[SLU_CUNAME_cuEventDestroy_v2] = (void *)destroy;
	slu_real_table[SLU_CUNAME_cuEventRecord] = (void *)record;
	slu_real_table[SLU_CUNAME_cuEventQuery] = (void *)query;
	slu_real_table[SLU_CUNAME_cuEventSynchronize] = (void *)synchronize;
	atomic_store(&device.n_capturing, 0);
	return 0;
}

/* As a gated call does it. Return: whether it waited. */
static bool launch(void)
{
	unsigned before = n_waits;
	uint64_t number;

	if (slu_cuda_flight_is_full(&device.flight))
		slu_cuda_flight_wait(&device);
	if (slu_cuda_flight_add(&device.flight, &number))
		slu_cuda_flight_mark(&device, NULL);
	return n_waits != before;
}

static uint64_t n_out(void)
{
	return device.flight.n_launched - device.flight.n_ended;
}

static void test_a_device_that_does_not_end_work_is_given_only_so_much(void **state)
{
	slu_cuda_flight_init(&device.flight, SERVICE);
	for (int i = 0; i < 10000; i++) {
		launch();
		/* under the depth of the driver's own queues */
		assert_in_range(n_out(), 0, 1000);
	}
	assert_true(n_waits > 0);
	slu_cuda_flight_deinit(&device.flight);
	assert_int_equal(n_events, 0);
}

static void test_what_is_out_shrinks_when_the_limit_does(void **state)
{
	slu_cuda_flight_init(&device.flight, SERVICE);
	device.flight.limit = 40;
	while (!slu_cuda_flight_is_full(&device.flight))
		launch();
	device.flight.backlog.busy_ns = device.flight.backlog.cost_ns = 1000 * SLU_NS_PER_S;
	device.flight.backlog.n_learned = 1;
	device.flight.limit = 2;
	launch();
	assert_in_range(n_out(), 1, 2);
	slu_cuda_flight_deinit(&device.flight);
}

static void test_every_launch_is_numbered(void **state)
{
	uint64_t number;

	slu_cuda_flight_init(&device.flight, SERVICE);
	for (uint64_t i = 1; i <= 5; i++) {
		slu_cuda_flight_add(&device.flight, &number);
		assert_int_equal(number, i);
	}
	slu_cuda_flight_deinit(&device.flight);
}

static void test_work_that_ends_quickly_is_never_waited_for(void **state)
{
	slu_cuda_flight_init(&device.flight, SERVICE);
	for (int i = 0; i < 10000; i++) {
		for (unsigned e = 0; e < EVENTS_MAX; e++)
			is_done[e] = true;
		assert_false(launch());
	}
	assert_in_range(device.flight.limit, 32, 512);
	slu_cuda_flight_deinit(&device.flight);
}

/* @n_marks marks come one after the other, each behind four launches that took @each_ns. */
static void carry_out(uint64_t each_ns, unsigned n_marks)
{
	static uint64_t now_ns = SLU_NS_PER_S;

	for (unsigned i = 0; i < n_marks; i++) {
		struct slu_cuda_mark mark = { .since_ns = now_ns };

		device.flight.n_launched += 4;
		mark.n_launches = device.flight.n_launched;
		now_ns += 4 * each_ns;
		slu_cuda_flight_learn(&device.flight, &mark, now_ns, true);
	}
}

static void test_as_many_launches_are_let_out_as_fill_the_time(void **state)
{
	static const struct {
		uint64_t each_ns;
		unsigned n_streams;
		uint32_t least, most;
	} rows[] = {
		{ 30 * SLU_NS_PER_US, 1, 64, 64 }, { 5 * SLU_NS_PER_US, 1, 512, 512 },
		{ 30 * SLU_NS_PER_US, 1, 64, 64 }, { SLU_NS_PER_MS, 1, 9, 10 },
		{ 4 * SLU_NS_PER_MS, 1, 2, 2 },	   { 70 * SLU_NS_PER_MS, 1, 1, 1 },
		{ 70 * SLU_NS_PER_MS, 2, 2, 2 },   { 70 * SLU_NS_PER_MS, 1, 1, 1 },
		{ SLU_NS_PER_MS, 2, 9, 10 },
	};

	slu_cuda_flight_init(&device.flight, SERVICE);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		device.flight.n_spread = rows[i].n_streams - 1;
		carry_out(rows[i].each_ns, 40);
		assert_in_range(device.flight.limit, rows[i].least, rows[i].most);
	}
	slu_cuda_flight_deinit(&device.flight);
}

static void test_a_program_of_several_streams_is_known_by_its_marks(void **state)
{
	slu_cuda_flight_init(&device.flight, SERVICE);
	for (uintptr_t i = 0; i < 4; i++)
		slu_cuda_flight_mark(&device, (CUstream)(1 + i % 2));
	assert_true(device.flight.n_spread > 0);
	for (unsigned i = 0; i < 40; i++) {
		slu_cuda_flight_wait(&device);
		slu_cuda_flight_mark(&device, NULL);
	}
	assert_int_equal(device.flight.n_spread, 0);
	slu_cuda_flight_deinit(&device.flight);
}

static void test_marks_that_come_together_share_the_time(void **state)
{
	uint64_t now_ns = SLU_NS_PER_S;

	slu_cuda_flight_init(&device.flight, SERVICE);
	for (unsigned i = 0; i < 40; i++) {
		struct slu_cuda_mark mark = { .since_ns = now_ns, .n_launches = i + 1 };

		/* every fourth is waited for, and the three after it have come by then */
		if (i % 4 == 0)
			now_ns += 20 * SLU_NS_PER_MS;
		slu_cuda_flight_learn(&device.flight, &mark, now_ns, i % 4 == 0);
		if (i > 8)
			assert_in_range(device.flight.limit, 1, 3);
	}
	slu_cuda_flight_deinit(&device.flight);
}

static void test_a_program_that_came_late_has_not_long_kernels(void **state)
{
	struct slu_cuda_mark mark = { .since_ns = SLU_NS_PER_S };
	uint32_t before;

	slu_cuda_flight_init(&device.flight, SERVICE);
	carry_out(SLU_NS_PER_MS, 40);
	before = device.flight.limit;
	mark.n_launches = device.flight.n_ended + 1;
	slu_cuda_flight_learn(&device.flight, &mark, 100 * SLU_NS_PER_S, false);
	assert_int_equal(device.flight.limit, before);
	assert_int_equal(device.flight.n_ended, mark.n_launches);
	slu_cuda_flight_deinit(&device.flight);
}

static void test_without_events_everything_passes(void **state)
{
	refuses_events = true;
	slu_cuda_flight_init(&device.flight, SERVICE);
	for (int i = 0; i < 5000; i++)
		assert_false(launch());
	slu_cuda_flight_deinit(&device.flight);
}

static void test_a_mark_that_cannot_be_recorded_is_not_lost(void **state)
{
	slu_cuda_flight_init(&device.flight, SERVICE);
	record_answer = CUDA_ERROR_INVALID_HANDLE;
	for (int i = 0; i < 1000; i++)
		assert_false(launch());
	record_answer = CUDA_SUCCESS;
	for (int i = 0; i < 5000; i++)
		launch();
	assert_in_range(n_out(), 0, 1000);
	slu_cuda_flight_deinit(&device.flight);
	assert_int_equal(n_events, 0);
}

static void test_in_a_capture_nothing_is_recorded_nor_waited_for(void **state)
{
	slu_cuda_flight_init(&device.flight, SERVICE);
	atomic_store(&device.n_capturing, 1);
	record_answer = CUDA_ERROR_UNKNOWN;
	for (int i = 0; i < 1000; i++)
		assert_false(launch());
	assert_int_equal(device.flight.n_marks, 0);
	slu_cuda_flight_deinit(&device.flight);
}

/* A device that ends nothing by itself. Return: launches a wait. */
static unsigned launches_a_wait(uint32_t limit)
{
	unsigned n = 10000, before = n_waits;

	for (unsigned i = 0; i < n; i++) {
		device.flight.limit = limit; /* whatever is learned of such a device */
		launch();
	}
	return n / (n_waits - before);
}

static void test_one_wait_serves_half_of_what_may_be_in_flight(void **state)
{
	slu_cuda_flight_init(&device.flight, SERVICE);
	assert_in_range(launches_a_wait(512), 256, 512);
	assert_in_range(launches_a_wait(64), 32, 64);
	assert_in_range(launches_a_wait(10), 5, 10);
	slu_cuda_flight_deinit(&device.flight);
}

static void test_a_wait_covers_the_marks_of_every_stream(void **state)
{
	slu_cuda_flight_init(&device.flight, SERVICE);
	device.flight.limit = 16;
	for (uintptr_t i = 0; i < 16; i++) {
		uint64_t number;

		slu_cuda_flight_add(&device.flight, &number);
		if (i % 4 == 3)
			slu_cuda_flight_mark(&device, (CUstream)(64 * (1 + i / 4)));
	}
	/* the first of two that must come is late, the second one has come */
	is_done[number_of(device.flight.marks[1].event)] = true;
	slu_cuda_flight_wait(&device);
	assert_int_equal(n_waits, 1);
	assert_int_equal(n_out(), 8);
	slu_cuda_flight_deinit(&device.flight);
}

static void test_long_launches_behind_short_ones_are_found_out_by_their_age(void **state)
{
	uint64_t number;

	slu_cuda_flight_init(&device.flight, SERVICE);
	carry_out(5 * SLU_NS_PER_US, 40);
	for (unsigned i = 0; i < 3; i++) {
		slu_cuda_flight_add(&device.flight, &number);
		slu_cuda_flight_mark(&device, NULL);
	}
	device.flight.came_ns = 0;
	device.flight.marks[device.flight.first].marked_ns -= SLU_NS_PER_S;
	slu_cuda_flight_add(&device.flight, &number);
	slu_cuda_flight_mark(&device, NULL);
	assert_in_range(device.flight.limit, 1, 2);
	assert_int_equal(device.flight.n_marks, 4);
	slu_cuda_flight_deinit(&device.flight);
	assert_int_equal(n_events, 0);
}

static void test_a_pause_of_the_program_is_no_time_of_the_device(void **state)
{
	slu_cuda_flight_init(&device.flight, SERVICE);
	/* the first mark of all, and one after a pause */
	for (int i = 0; i < 2; i++) {
		while (!launch())
			;
		assert_true(device.flight.backlog.cost_ns < SLU_NS_PER_S);
		device.flight.marked_ns -= 1000 * SLU_NS_PER_S;
		device.flight.came_ns = 0;
	}
	slu_cuda_flight_deinit(&device.flight);
}

static void test_work_in_another_context_is_bounded_too(void **state)
{
	slu_cuda_flight_init(&device.flight, SERVICE);
	here = OTHER;
	for (int i = 0; i < 5000; i++) {
		launch();
		assert_in_range(n_out(), 0, 1000);
	}
	assert_true(n_waits > 0);
	assert_int_equal(n_events, SLU_FLIGHT_MARKS + device.flight.n_marks);
	slu_cuda_flight_forget(&device.flight, OTHER);
	assert_int_equal(device.flight.n_marks, 0);
	assert_int_equal(n_events, SLU_FLIGHT_MARKS);
	slu_cuda_flight_deinit(&device.flight);
	assert_int_equal(n_events, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_device_that_does_not_end_work_is_given_only_so_much,
				       set_up),
		cmocka_unit_test_setup(test_what_is_out_shrinks_when_the_limit_does, set_up),
		cmocka_unit_test_setup(test_every_launch_is_numbered, set_up),
		cmocka_unit_test_setup(test_work_that_ends_quickly_is_never_waited_for, set_up),
		cmocka_unit_test_setup(test_as_many_launches_are_let_out_as_fill_the_time, set_up),
		cmocka_unit_test_setup(test_a_program_of_several_streams_is_known_by_its_marks,
				       set_up),
		cmocka_unit_test_setup(test_marks_that_come_together_share_the_time, set_up),
		cmocka_unit_test_setup(test_a_program_that_came_late_has_not_long_kernels, set_up),
		cmocka_unit_test_setup(test_without_events_everything_passes, set_up),
		cmocka_unit_test_setup(test_a_mark_that_cannot_be_recorded_is_not_lost, set_up),
		cmocka_unit_test_setup(test_one_wait_serves_half_of_what_may_be_in_flight, set_up),
		cmocka_unit_test_setup(test_a_wait_covers_the_marks_of_every_stream, set_up),
		cmocka_unit_test_setup(
			test_long_launches_behind_short_ones_are_found_out_by_their_age, set_up),
		cmocka_unit_test_setup(test_a_pause_of_the_program_is_no_time_of_the_device,
				       set_up),
		cmocka_unit_test_setup(test_work_in_another_context_is_bounded_too, set_up),
		cmocka_unit_test_setup(test_in_a_capture_nothing_is_recorded_nor_waited_for,
				       set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
