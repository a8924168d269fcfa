/* SPDX-License-Identifier: Apache-2.0 */
/* Who left work where, over a driver of our own making: a stream is idle when the test says so. */
#include "lib/test.h"

#include <pthread.h>

#include "cuda/device.h"
#include "cuda/real.h"

void *slu_real_table[_SLU_CUNAME_MAX];

static struct slu_cuda_device device;
static _Atomic uint64_t n_submitted;
static CUresult stream_answer;
static unsigned n_asked;
static CUcontext here;

void *slu_real_resolve(unsigned id)
{
	fail_msg("%s was not expected", slu_cunames[id].symbol);
	return NULL;
}

static CUresult query(CUstream stream)
{
	(void)stream;
	n_asked++;
	return stream_answer;
}

static CUresult get_current(CUcontext *ret_context)
{
	*ret_context = here;
	return CUDA_SUCCESS;
}

static int set_up(void **state)
{
	static bool is_made;

	if (!is_made)
		slu_cuda_streams_init(&device.stream_uses);
	is_made = true;
	slu_cuda_streams_reset(&device.stream_uses);
	slu_real_table[SLU_CUNAME_cuStreamQuery] = (void *)query;
	slu_real_table[SLU_CUNAME_cuCtxGetCurrent] = (void *)get_current;
	here = NULL;
	atomic_store(&n_submitted, 0);
	atomic_store(&device.flight.n_launched, 0);
	stream_answer = CUDA_ERROR_NOT_READY;
	n_asked = 0;
	return 0;
}

static CUstream stream(uintptr_t number)
{
	return (CUstream)(number * 64);
}

/* As a gated call does it. Return: its number. */
static uint64_t submit(CUstream to)
{
	uint64_t number = atomic_fetch_add(&n_submitted, 1) + 1;

	atomic_store(&device.flight.n_launched, number);
	slu_cuda_streams_note(&device.stream_uses, to, number);
	return number;
}

static void *submit_once(void *data)
{
	submit(data);
	submit(SLU_STREAM_PER_THREAD);
	return NULL;
}

static void run_thread(CUstream to)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, submit_once, to), 0);
	pthread_join(thread, NULL);
}

static void rest(void)
{
	slu_cuda_streams_rest(&device.stream_uses, atomic_load(&device.stream_uses.n_services),
			      atomic_load(&n_submitted));
}

static void test_two_thousand_short_threads_leave_a_table_of_the_same_size(void **state)
{
	for (uintptr_t i = 1; i <= 2000; i++) {
		run_thread(stream(i));
		rest();
	}
	assert_in_range(device.stream_uses.n_uses, 1, SLU_STREAM_BLOCK_USES);
	assert_true(slu_cuda_streams_is_at_rest(&device));
	assert_int_equal(n_asked, 0);
}

static void test_what_threads_left_running_is_not_forgotten_with_them(void **state)
{
	for (uintptr_t i = 1; i <= 2000; i++)
		run_thread(stream(i));
	assert_in_range(device.stream_uses.n_uses, 1, SLU_STREAM_USES_PLENTY);
	/* streams of their own that are idle prove nothing about those of the threads */
	stream_answer = CUDA_SUCCESS;
	assert_false(slu_cuda_streams_is_at_rest(&device));
	rest();
	assert_true(slu_cuda_streams_is_at_rest(&device));
}

static void test_a_wait_for_a_former_service_context_proves_nothing(void **state)
{
	uint32_t n_services = atomic_load(&device.stream_uses.n_services);

	run_thread(stream(1));
	slu_cuda_streams_reset(&device.stream_uses);
	run_thread(stream(1));
	slu_cuda_streams_rest(&device.stream_uses, n_services, atomic_load(&n_submitted));
	stream_answer = CUDA_SUCCESS;
	assert_false(slu_cuda_streams_is_at_rest(&device));
	slu_cuda_streams_rest(&device.stream_uses, n_services + 1, atomic_load(&n_submitted));
	assert_true(slu_cuda_streams_is_at_rest(&device));
}

static void test_a_thread_that_lives_keeps_its_use(void **state)
{
	struct slu_cuda_host_call call;
	uint64_t mine;

	submit(stream(7));
	for (uintptr_t i = 100; i < 2100; i++) {
		run_thread(stream(i));
		rest();
	}
	mine = submit(stream(7));
	assert_false(slu_cuda_streams_is_at_rest(&device));
	/* a host function behind it that runs says that it has ended */
	slu_cuda_streams_host_add(&device, stream(7), &call);
	assert_true(call.ahead >= mine);
	slu_cuda_streams_host_begin(&call);
	assert_true(slu_cuda_streams_is_at_rest(&device));
	submit(stream(7));
	assert_false(slu_cuda_streams_is_at_rest(&device));
	slu_cuda_streams_host_end(&call);
}

static void test_streams_that_were_destroyed_leave_their_place(void **state)
{
	unsigned n_uses;

	submit(stream(1));
	n_uses = device.stream_uses.n_uses;
	for (uintptr_t i = 2; i <= 5000; i++) {
		submit(stream(i));
		slu_cuda_streams_destroy(&device.stream_uses, stream(i));
	}
	assert_int_equal(device.stream_uses.n_uses, n_uses);
	rest();
	assert_true(slu_cuda_streams_is_at_rest(&device));
}

static void test_many_streams_of_one_thread_are_all_known(void **state)
{
	for (int round = 0; round < 3; round++)
		for (uintptr_t i = 1; i <= 3000; i++)
			submit(stream(i));
	stream_answer = CUDA_SUCCESS;
	assert_true(slu_cuda_streams_is_at_rest(&device));
	assert_int_equal(n_asked, 3000);
	stream_answer = CUDA_ERROR_NOT_READY;
	assert_false(slu_cuda_streams_is_at_rest(&device));
}

static void test_streams_that_end_with_their_context_are_not_asked_about(void **state)
{
	CUcontext service = (CUcontext)(uintptr_t)64, other = (CUcontext)(uintptr_t)128;
	uint64_t last;

	here = other;
	last = submit(stream(1));
	here = service;
	submit(stream(2));
	slu_cuda_streams_forget(&device.stream_uses, other);
	stream_answer = CUDA_SUCCESS;
	assert_true(slu_cuda_streams_are_idle(&device));
	assert_int_equal(n_asked, 2); /* the legacy stream, and the one that is left */
	/* its work may go on without it */
	assert_false(slu_cuda_streams_is_at_rest(&device));
	slu_cuda_streams_rest(&device.stream_uses, atomic_load(&device.stream_uses.n_services),
			      last);
	assert_true(slu_cuda_streams_is_at_rest(&device));
	/* the handle is given out again, in another context: what the thread remembers is void */
	submit(stream(1));
	n_asked = 0;
	assert_true(slu_cuda_streams_are_idle(&device));
	assert_int_equal(n_asked, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			test_two_thousand_short_threads_leave_a_table_of_the_same_size, set_up),
		cmocka_unit_test_setup(test_what_threads_left_running_is_not_forgotten_with_them,
				       set_up),
		cmocka_unit_test_setup(test_a_wait_for_a_former_service_context_proves_nothing,
				       set_up),
		cmocka_unit_test_setup(test_a_thread_that_lives_keeps_its_use, set_up),
		cmocka_unit_test_setup(test_streams_that_were_destroyed_leave_their_place, set_up),
		cmocka_unit_test_setup(test_many_streams_of_one_thread_are_all_known, set_up),
		cmocka_unit_test_setup(test_streams_that_end_with_their_context_are_not_asked_about,
				       set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
