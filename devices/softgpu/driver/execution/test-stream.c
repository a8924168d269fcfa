/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>

/* Order: streams, events, host functions, per-thread streams, captures, graphs. */

#define N 4096

static CUcontext primary;
static CUfunction fill;

/* A host function that waits until the test lets it go on. */
struct barrier {
	sem_t entered, leave;
};

static void wait_at(void *data)
{
	struct barrier *b = data;

	sem_post(&b->entered);
	while (sem_wait(&b->leave))
		;
}

static void block(struct barrier *b, CUstream stream)
{
	sem_init(&b->entered, 0, 0);
	sem_init(&b->leave, 0, 0);
	assert_cu(cuLaunchHostFunc(stream, wait_at, b));
	sem_wait(&b->entered);
}

/* Looks without waiting for anybody else. (Freeing the pinned word would wait for all.) */
static unsigned first_word(CUdeviceptr p)
{
	unsigned value, *pinned;
	CUstream stream;

	assert_cu(cuMemAllocHost_v2((void **)&pinned, 4));
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_cu(cuMemcpyDtoHAsync_v2(pinned, p, 4, stream));
	assert_cu(cuStreamSynchronize(stream));
	assert_cu(cuStreamDestroy_v2(stream));
	value = *pinned;
	return value;
}

static void commands_of_a_stream_run_in_order(void **state)
{
	CUstream stream;
	CUdeviceptr p;
	unsigned out;

	(void)state;
	assert_cu(cuMemAlloc_v2(&p, N * 4));
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < 200; i++) {
		assert_cu(test_fill(fill, p, N, i, stream));
		if (i % 3 == 0)
			assert_cu(cuMemsetD32Async(p, 7000 + i, 1, stream));
	}
	assert_cu(cuStreamSynchronize(stream));
	assert_cu(cuMemcpyDtoH_v2(&out, p + 4, 4));
	assert_int_equal(out, 200);
	assert_int_equal(first_word(p), 199);
	assert_cu(cuStreamDestroy_v2(stream));
	assert_int_equal(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
	assert_cu(cuMemFree_v2(p));
}

static void a_stream_waits_for_an_event_of_another(void **state)
{
	struct barrier barrier;
	CUstream one, two;
	CUevent event;
	CUdeviceptr p;

	(void)state;
	assert_cu(cuMemAlloc_v2(&p, N * 4));
	assert_cu(test_fill(fill, p, N, 1, NULL));
	assert_cu(cuCtxSynchronize());
	assert_cu(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	assert_cu(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	assert_cu(cuEventCreate(&event, 0));
	assert_cu(cuEventQuery(event)); /* never recorded: done */
	block(&barrier, one);
	assert_cu(test_fill(fill, p, N, 10, one));
	assert_cu(cuEventRecord(event, one));
	assert_cu(cuStreamWaitEvent(two, event, 0));
	assert_cu(test_fill(fill, p, N, 20, two));
	assert_int_equal(cuEventQuery(event), CUDA_ERROR_NOT_READY);
	assert_int_equal(cuStreamQuery(two), CUDA_ERROR_NOT_READY);
	assert_int_equal(first_word(p), 1);
	sem_post(&barrier.leave);
	assert_cu(cuStreamSynchronize(two));
	assert_cu(cuEventQuery(event));
	assert_int_equal(first_word(p), 20);
	assert_cu(cuEventDestroy_v2(event));
	assert_int_equal(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
	assert_cu(cuStreamDestroy_v2(one));
	assert_cu(cuStreamDestroy_v2(two));
	assert_cu(cuMemFree_v2(p));
}

static void the_legacy_stream_and_blocking_streams_wait_for_each_other(void **state)
{
	struct barrier barrier;
	CUstream blocking, free_stream;
	CUdeviceptr p;

	(void)state;
	assert_cu(cuMemAlloc_v2(&p, N * 4));
	assert_cu(test_fill(fill, p, N, 1, NULL));
	assert_cu(cuCtxSynchronize());
	assert_cu(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	assert_cu(cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING));
	block(&barrier, blocking);
	assert_cu(test_fill(fill, p, N, 50, NULL));
	assert_int_equal(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	/* the other one does not wait */
	assert_cu(test_fill(fill, p, N, 30, free_stream));
	assert_cu(cuStreamSynchronize(free_stream));
	assert_int_equal(first_word(p), 30);
	sem_post(&barrier.leave);
	assert_cu(cuStreamSynchronize(NULL));
	assert_int_equal(first_word(p), 50);

	block(&barrier, NULL);
	assert_cu(test_fill(fill, p, N, 60, blocking));
	assert_int_equal(cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
	assert_int_equal(first_word(p), 50);
	sem_post(&barrier.leave);
	assert_cu(cuStreamSynchronize(blocking));
	assert_int_equal(first_word(p), 60);
	assert_cu(cuStreamDestroy_v2(blocking));
	assert_cu(cuStreamDestroy_v2(free_stream));
	assert_cu(cuMemFree_v2(p));
}

static void *other_thread(void *data)
{
	CUdeviceptr p = *(CUdeviceptr *)data;
	unsigned long long id = 0;

	if (cuCtxSetCurrent(primary) || test_fill(fill, p, N, 90, CU_STREAM_PER_THREAD) ||
	    cuStreamSynchronize(CU_STREAM_PER_THREAD) || cuStreamGetId(CU_STREAM_PER_THREAD, &id))
		return NULL;
	return (void *)(uintptr_t)id;
}

static void each_thread_has_a_stream_of_its_own(void **state)
{
	unsigned long long mine;
	struct barrier barrier;
	pthread_t thread;
	CUdeviceptr p;
	void *theirs;

	(void)state;
	assert_cu(cuMemAlloc_v2(&p, N * 4));
	block(&barrier, CU_STREAM_PER_THREAD);
	assert_cu(cuStreamGetId(CU_STREAM_PER_THREAD, &mine));
	/* ours is blocked, theirs is not */
	assert_int_equal(pthread_create(&thread, NULL, other_thread, &p), 0);
	assert_int_equal(pthread_join(thread, &theirs), 0);
	assert_non_null(theirs);
	assert_true((uintptr_t)theirs != mine);
	assert_int_equal(first_word(p), 90);
	assert_int_equal(cuStreamQuery_ptsz(NULL), CUDA_ERROR_NOT_READY);
	sem_post(&barrier.leave);
	assert_cu(cuStreamSynchronize_ptsz(NULL));
	assert_cu(cuMemFree_v2(p));
}

static void event_times_grow_with_the_work_between(void **state)
{
	CUevent a, b, c;
	CUstream stream;
	CUdeviceptr p;
	float ab, ac, back;

	(void)state;
	assert_cu(cuMemAlloc_v2(&p, N * 4));
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_cu(cuEventCreate(&a, 0));
	assert_cu(cuEventCreate(&b, 0));
	assert_cu(cuEventCreate(&c, CU_EVENT_DISABLE_TIMING));
	assert_int_equal(cuEventElapsedTime(&ab, a, b), CUDA_ERROR_INVALID_HANDLE);
	assert_cu(cuEventRecord(a, stream));
	assert_cu(test_fill(fill, p, N, 1, stream));
	assert_cu(cuEventRecord(b, stream));
	assert_cu(cuEventSynchronize(b));
	assert_cu(cuEventElapsedTime(&ab, a, b));
	assert_cu(cuEventElapsedTime(&back, b, a));
	assert_true(ab > 0.0f);
	assert_true(back < 0.0f);
	assert_cu(test_fill(fill, p, N, 1, stream));
	assert_cu(cuEventRecord(b, stream));
	assert_cu(cuEventSynchronize(b));
	assert_cu(cuEventElapsedTime_v2(&ac, a, b));
	assert_true(ac > ab);
	assert_cu(cuEventRecord(c, stream));
	assert_cu(cuEventSynchronize(c));
	assert_int_equal(cuEventElapsedTime(&ab, a, c), CUDA_ERROR_INVALID_HANDLE);
	assert_cu(cuEventDestroy_v2(a));
	assert_cu(cuEventDestroy_v2(b));
	assert_cu(cuEventDestroy_v2(c));
	assert_cu(cuStreamDestroy_v2(stream));
	assert_cu(cuMemFree_v2(p));
}

static void call_cuda(void *data)
{
	CUdeviceptr p;

	*(CUresult *)data = cuMemAlloc_v2(&p, 4);
}

static void note_status(CUstream stream, CUresult status, void *data)
{
	(void)stream;
	*(CUresult *)data = status;
}

static void a_host_function_may_not_call_the_driver(void **state)
{
	CUresult seen = CUDA_SUCCESS, status = CUDA_ERROR_UNKNOWN;
	CUdeviceptr p;

	(void)state;
	assert_cu(cuLaunchHostFunc(NULL, call_cuda, &seen));
	assert_cu(cuStreamAddCallback(NULL, note_status, &status, 0));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(seen, CUDA_ERROR_NOT_PERMITTED);
	assert_int_equal(status, CUDA_SUCCESS);
	assert_cu(cuMemAlloc_v2(&p, 4));
	assert_cu(cuMemFree_v2(p));
}

struct launcher {
	CUdeviceptr p;
	CUstream stream;
	unsigned n_submitted; /* atomic */
	pid_t tid;	      /* atomic */
	CUresult result;
};

static void *launch_many(void *data)
{
	struct launcher *l = data;

	cuCtxSetCurrent(primary);
	__atomic_store_n(&l->tid, gettid(), __ATOMIC_RELEASE);
	for (unsigned i = 0; i < 3000 && !l->result; i++) {
		l->result = cuMemsetD32Async(l->p, i, 1, l->stream);
		__atomic_add_fetch(&l->n_submitted, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static bool is_asleep(pid_t tid)
{
	char path[64], line[512] = "";
	const char *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	state = strrchr(line, ')');
	return state && state[2] == 'S';
}

static void a_full_stream_makes_the_launching_thread_wait(void **state)
{
	struct launcher l = { 0 };
	struct barrier barrier;
	pthread_t thread;
	unsigned n;

	(void)state;
	assert_cu(cuMemAlloc_v2(&l.p, N * 4));
	assert_cu(cuStreamCreate(&l.stream, CU_STREAM_NON_BLOCKING));
	block(&barrier, l.stream);
	assert_int_equal(pthread_create(&thread, NULL, launch_many, &l), 0);
	do {
		sched_yield();
		n = __atomic_load_n(&l.n_submitted, __ATOMIC_ACQUIRE);
	} while (n < 1000 || !is_asleep(__atomic_load_n(&l.tid, __ATOMIC_ACQUIRE)));
	/* it sleeps, and whatever it has submitted by now is all that the stream takes */
	assert_true(n <= 1024);
	sem_post(&barrier.leave);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_cu(l.result);
	assert_cu(cuStreamSynchronize(l.stream));
	assert_int_equal(first_word(l.p), 2999);
	assert_cu(cuStreamDestroy_v2(l.stream));
	assert_cu(cuMemFree_v2(l.p));
}

static void values_in_memory_order_streams(void **state)
{
	CUstream one, two;
	CUdeviceptr p;
	unsigned *pinned;

	(void)state;
	assert_cu(cuMemAlloc_v2(&p, N * 4));
	assert_cu(cuMemAllocHost_v2((void **)&pinned, 64));
	pinned[0] = 0;
	assert_cu(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	assert_cu(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	assert_cu(cuStreamWaitValue32_v2(two, (uintptr_t)pinned, 5, CU_STREAM_WAIT_VALUE_GEQ));
	assert_cu(test_fill(fill, p, N, 40, two));
	assert_cu(test_fill(fill, p, N, 30, one));
	assert_cu(cuStreamSynchronize(one));
	assert_int_equal(cuStreamQuery(two), CUDA_ERROR_NOT_READY);
	assert_cu(cuStreamWriteValue32_v2(one, (uintptr_t)pinned, 6, 0));
	assert_cu(cuStreamSynchronize(two));
	assert_int_equal(pinned[0], 6);
	assert_int_equal(first_word(p), 40);
	assert_cu(cuStreamDestroy_v2(one));
	assert_cu(cuStreamDestroy_v2(two));
	assert_cu(cuMemFreeHost(pinned));
	assert_cu(cuMemFree_v2(p));
}

static void the_first_launch_of_a_kernel_drains_the_context(void **state)
{
	CUfunction fresh = test_function(test_ptx_fill, "fill");
	CUstream busy, other;
	CUdeviceptr p;

	(void)state;
	assert_cu(cuMemAlloc_v2(&p, N * 4));
	assert_cu(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
	assert_cu(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < 100; i++)
		assert_cu(test_fill(fill, p, N, i, busy));
	assert_cu(test_fill(fresh, p + 4, N - 1, 5, other));
	/* the call came back, so what was queued before it is done */
	assert_cu(cuStreamQuery(busy));
	assert_cu(cuStreamSynchronize(other));
	assert_cu(cuStreamDestroy_v2(busy));
	assert_cu(cuStreamDestroy_v2(other));
	assert_cu(cuMemFree_v2(p));
}

static void a_capture_becomes_a_graph_that_can_be_launched(void **state)
{
	CUstreamCaptureStatus status;
	CUgraphExec exec;
	CUgraph graph;
	CUstream one, two;
	CUevent fork, join;
	CUdeviceptr p, q;
	size_t n_nodes;
	unsigned out[2];

	(void)state;
	assert_cu(cuMemAlloc_v2(&p, N * 4));
	assert_cu(cuMemAlloc_v2(&q, N * 4));
	assert_cu(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	assert_cu(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	assert_cu(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	assert_cu(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	assert_cu(cuMemsetD32_v2(p, 0, N));
	assert_cu(cuMemsetD32_v2(q, 0, N));
	assert_cu(cuCtxSynchronize());

	assert_cu(cuStreamBeginCapture_v2(one, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	assert_cu(test_fill(fill, p, N, 100, one));
	assert_cu(cuEventRecord(fork, one));
	assert_cu(cuStreamWaitEvent(two, fork, 0));
	assert_cu(cuStreamIsCapturing(two, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	assert_cu(cuMemcpyDtoDAsync_v2(q, p, N * 4, two));
	assert_cu(cuEventRecord(join, two));
	assert_cu(cuStreamWaitEvent(one, join, 0));
	assert_cu(cuMemsetD32Async(p, 1, 1, one));
	assert_cu(cuStreamEndCapture(one, &graph));
	assert_cu(cuStreamIsCapturing(two, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
	assert_cu(cuGraphGetNodes(graph, NULL, &n_nodes));
	assert_true(n_nodes >= 3);
	assert_int_equal(first_word(p), 0); /* nothing ran */

	assert_cu(cuGraphInstantiateWithFlags(&exec, graph, 0));
	assert_cu(cuGraphDestroy(graph));
	for (unsigned i = 0; i < 2; i++) {
		assert_cu(cuMemsetD32_v2(q, 0, N));
		assert_cu(cuCtxSynchronize());
		assert_cu(cuGraphLaunch(exec, one));
		assert_cu(cuStreamSynchronize(one));
		assert_cu(cuMemcpyDtoH_v2(out, q, 8));
		assert_int_equal(out[0], 100);
		assert_int_equal(out[1], 101);
		assert_int_equal(first_word(p), 1);
	}
	assert_cu(cuGraphExecDestroy(exec));
	assert_cu(cuEventDestroy_v2(fork));
	assert_cu(cuEventDestroy_v2(join));
	assert_cu(cuStreamDestroy_v2(one));
	assert_cu(cuStreamDestroy_v2(two));
	assert_cu(cuMemFree_v2(p));
	assert_cu(cuMemFree_v2(q));
}

static void *call_unsafely(void *data)
{
	CUstreamCaptureMode mode = *(CUstreamCaptureMode *)data;
	CUdeviceptr p;
	CUresult r;

	cuCtxSetCurrent(primary);
	cuThreadExchangeStreamCaptureMode(&mode);
	r = cuMemAlloc_v2(&p, 4);
	if (!r)
		cuMemFree_v2(p);
	return (void *)(uintptr_t)r;
}

/* What happens to a capture when a thread of mode @thread_mode allocates meanwhile. */
static CUresult spoil(CUstreamCaptureMode capture_mode, CUstreamCaptureMode thread_mode,
		      CUresult *ret_call)
{
	CUgraph graph = NULL;
	pthread_t thread;
	CUstream stream;
	CUresult end;
	void *r;

	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_cu(cuStreamBeginCapture_v2(stream, capture_mode));
	assert_int_equal(pthread_create(&thread, NULL, call_unsafely, &thread_mode), 0);
	assert_int_equal(pthread_join(thread, &r), 0);
	*ret_call = (CUresult)(uintptr_t)r;
	end = cuStreamEndCapture(stream, &graph);
	if (graph)
		assert_cu(cuGraphDestroy(graph));
	assert_cu(cuStreamDestroy_v2(stream));
	return end;
}

static void unsafe_calls_spoil_captures_by_mode(void **state)
{
	static const struct {
		CUstreamCaptureMode capture, thread;
		bool spoils;
	} rows[] = {
		{ CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_GLOBAL, true },
		{ CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, false },
		{ CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED, false },
		{ CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_GLOBAL, false },
		{ CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_GLOBAL, false },
	};
	CUresult call, end;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		end = spoil(rows[i].capture, rows[i].thread, &call);
		assert_int_equal(call, rows[i].spoils ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : 0);
		assert_int_equal(end, rows[i].spoils ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : 0);
	}
}

static void captures_refuse_what_they_cannot_record(void **state)
{
	CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUstream one, two;
	CUgraph graph;
	CUevent event;
	CUdeviceptr p;

	(void)state;
	assert_cu(cuMemAlloc_v2(&p, N * 4));
	assert_cu(cuStreamCreate(&one, CU_STREAM_DEFAULT));
	assert_cu(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	assert_cu(cuEventCreate(&event, 0));
	assert_int_equal(cuStreamBeginCapture_v2(NULL, relaxed),
			 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	assert_int_equal(cuStreamEndCapture(one, &graph), CUDA_ERROR_ILLEGAL_STATE);

	/* synchronising with a stream that captures */
	assert_cu(cuStreamBeginCapture_v2(one, relaxed));
	assert_int_equal(cuStreamSynchronize(one), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	assert_int_equal(test_fill(fill, p, N, 1, one), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_int_equal(cuStreamEndCapture(one, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_null(graph);

	/* the legacy stream would have to wait for it */
	assert_cu(cuStreamBeginCapture_v2(one, relaxed));
	assert_int_equal(test_fill(fill, p, N, 1, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	assert_int_equal(cuStreamEndCapture(one, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	/* a branch that is not joined */
	assert_cu(cuStreamBeginCapture_v2(one, relaxed));
	assert_cu(test_fill(fill, p, N, 1, one));
	assert_cu(cuEventRecord(event, one));
	assert_int_equal(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
	assert_cu(cuStreamWaitEvent(two, event, 0));
	assert_cu(test_fill(fill, p, N, 1, two));
	assert_int_equal(cuStreamEndCapture(one, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);

	/* and a capture that is left alone when its stream ends */
	assert_cu(cuStreamBeginCapture_v2(two, relaxed));
	assert_cu(cuStreamDestroy_v2(two));
	assert_cu(cuStreamDestroy_v2(one));
	assert_cu(cuEventDestroy_v2(event));
	assert_cu(cuMemFree_v2(p));
}

static void graphs_can_be_made_by_hand(void **state)
{
	CUgraphNode set, copy, kernel;
	CUgraphExec exec;
	CUgraph graph;
	CUdeviceptr p, q;
	unsigned n = N, v = 500, out;
	void *params[] = { &p, &n, &v };
	CUDA_MEMSET_NODE_PARAMS set_params = {
		.value = 9, .elementSize = 4, .width = N, .height = 1
	};
	CUDA_KERNEL_NODE_PARAMS_v1 kernel_params = { .func = fill,
						     .gridDimX = N / 256,
						     .gridDimY = 1,
						     .gridDimZ = 1,
						     .blockDimX = 256,
						     .blockDimY = 1,
						     .blockDimZ = 1,
						     .kernelParams = params };
	CUDA_MEMCPY3D copy_params = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
				      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				      .WidthInBytes = N * 4,
				      .Height = 1,
				      .Depth = 1 };

	(void)state;
	assert_cu(cuMemAlloc_v2(&p, N * 4));
	assert_cu(cuMemAlloc_v2(&q, N * 4));
	set_params.dst = p;
	copy_params.srcDevice = p;
	copy_params.dstDevice = q;
	assert_cu(cuGraphCreate(&graph, 0));
	assert_cu(cuGraphAddMemsetNode(&set, graph, NULL, 0, &set_params, primary));
	assert_cu(cuGraphAddMemcpyNode(&copy, graph, &set, 1, &copy_params, primary));
	assert_cu(cuGraphAddKernelNode(&kernel, graph, &copy, 1, &kernel_params));
	assert_cu(cuGraphInstantiateWithFlags(&exec, graph, 0));
	v = 0; /* the parameters were taken when the node was added */
	assert_cu(cuGraphLaunch(exec, NULL));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(first_word(p), 500);
	assert_cu(cuMemcpyDtoH_v2(&out, q + 40, 4));
	assert_int_equal(out, 9);
	assert_cu(cuGraphExecDestroy(exec));
	assert_cu(cuGraphDestroy(graph));
	assert_cu(cuMemFree_v2(p));
	assert_cu(cuMemFree_v2(q));
}

static int set_up(void **state)
{
	(void)state;
	primary = test_primary_make("32M");
	fill = test_function(test_ptx_fill, "fill");
	assert_cu(cuFuncLoad(fill));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_cu(cuDevicePrimaryCtxRelease_v2(0));
	test_device_remove();
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_of_a_stream_run_in_order),
		cmocka_unit_test(a_stream_waits_for_an_event_of_another),
		cmocka_unit_test(the_legacy_stream_and_blocking_streams_wait_for_each_other),
		cmocka_unit_test(each_thread_has_a_stream_of_its_own),
		cmocka_unit_test(event_times_grow_with_the_work_between),
		cmocka_unit_test(a_host_function_may_not_call_the_driver),
		cmocka_unit_test(a_full_stream_makes_the_launching_thread_wait),
		cmocka_unit_test(values_in_memory_order_streams),
		cmocka_unit_test(the_first_launch_of_a_kernel_drains_the_context),
		cmocka_unit_test(a_capture_becomes_a_graph_that_can_be_launched),
		cmocka_unit_test(unsafe_calls_spoil_captures_by_mode),
		cmocka_unit_test(captures_refuse_what_they_cannot_record),
		cmocka_unit_test(graphs_can_be_made_by_hand),
	};

	return cmocka_run_group_tests_name("softgpu-stream", tests, set_up, tear_down);
}
