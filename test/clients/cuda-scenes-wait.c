/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-scenes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static void say(const char *line)
{
	puts(line);
	fflush(stdout);
}

/* Waits for the end of standard input, that is for the test. */
static void wait_for_the_end(void *data)
{
	char byte;

	(void)data;
	say("waiting");
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

static void *wait_on_a_thread(void *has_ended)
{
	wait_for_the_end(NULL);
	atomic_store((_Atomic bool *)has_ended, true);
	return NULL;
}

/* A word that device and host see, and where the device sees it. */
static _Atomic uint32_t *word_on_the_host(CUdeviceptr *ret_address)
{
	_Atomic uint32_t *word;

	OK(cuMemHostAlloc((void **)&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cuMemHostGetDevicePointer_v2(ret_address, (void *)word, 0));
	atomic_store(word, 0);
	return word;
}

/*
 * A host function waits for somebody else. @how: "alone": nothing is queued behind it; "behind": a
 * kernel is; "copy": a thread of the program waits in a blocking copy behind it; "set": it sets
 * pinned memory, which the host sees when the call returns.
 */
void scene_host_waits(const char *how)
{
	uint32_t n = (uint32_t)(strtoull(getenv("SCENE_BYTES"), NULL, 0) / 4);
	CUdeviceptr p, address;
	_Atomic uint32_t *word = word_on_the_host(&address);
	CUstream stream, beside;

	OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	OK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc_v2(&p, (size_t)n * 4));
	OK(cuMemsetD32_v2(p, 2, n));
	OK(cuCtxSynchronize());
	scene_launch_step(p, n, 1, beside);
	OK(cuStreamSynchronize(beside));
	scene_launch_step(p, n, 1, stream);
	OK(cuLaunchHostFunc(stream, wait_for_the_end, NULL));
	if (!strcmp(how, "behind"))
		scene_launch_step(p, n, 0, stream);
	if (!strcmp(how, "copy"))
		scene_check(p, n, 22);
	if (!strcmp(how, "set")) {
		OK(cuMemsetD32_v2(address, 5, 1));
		EXPECT(atomic_load(word) == 5);
	}
	OK(cuStreamSynchronize(stream));
	scene_check(p, n, strcmp(how, "behind") ? 22 : 66);
}

/* One long kernel, and a host that does nothing but look whether it has ended. */
void scene_spins(const char *ms)
{
	CUdeviceptr p;
	CUevent event;

	OK(cuMemAlloc_v2(&p, strtoull(getenv("SCENE_BYTES"), NULL, 0)));
	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	scene_launch_spin(strtoull(ms, NULL, 0), NULL);
	OK(cuEventRecord(event, NULL));
	say("spinning");
	while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
		;
	OK(cuEventQuery(event));
	say("ended");
}

/* Short work on much memory, then nothing until the end of standard input, then work again. */
void scene_pulse(const char *rounds)
{
	uint32_t n = (uint32_t)(strtoull(getenv("SCENE_BYTES"), NULL, 0) / 4), x = 1;
	CUdeviceptr p;

	OK(cuMemAlloc_v2(&p, (size_t)n * 4));
	OK(cuMemsetD32_v2(p, x, n));
	for (int i = 0; i < atoi(rounds); i++) {
		scene_launch_step(p, n, 1, NULL);
		x = scene_next(x, 1);
	}
	OK(cuCtxSynchronize());
	wait_for_the_end(NULL);
	scene_check(p, n, x);
}

/*
 * A stream waits for a word, and the program for somebody else before it writes it. @how: "alone":
 * nothing is queued behind the wait; "behind": a kernel is; "device": the word is in device memory.
 */
void scene_stream_waits(const char *how)
{
	uint32_t n = (uint32_t)(strtoull(getenv("SCENE_BYTES"), NULL, 0) / 4);
	CUdeviceptr p, word_there, address;
	_Atomic uint32_t *word = word_on_the_host(&address);
	CUstream stream, beside;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc_v2(&p, (size_t)n * 4));
	OK(cuMemAlloc_v2(&word_there, 4));
	OK(cuMemsetD32_v2(word_there, 0, 1));
	OK(cuMemsetD32_v2(p, 2, n));
	OK(cuCtxSynchronize());
	if (!strcmp(how, "device"))
		address = word_there;
	scene_launch_step(p, n, 1, stream);
	OK(cuStreamWaitValue32_v2(stream, address, 7, CU_STREAM_WAIT_VALUE_GEQ));
	if (!strcmp(how, "behind"))
		scene_launch_step(p, n, 0, stream);
	wait_for_the_end(NULL);
	if (!strcmp(how, "device"))
		OK(cuStreamWriteValue32_v2(beside, address, 8, 0));
	else
		atomic_store(word, 8);
	OK(cuStreamSynchronize(stream));
	scene_check(p, n, strcmp(how, "behind") ? 7 : 21);
}

static CUgraphExec graph_of(CUhostFn function, void *user, bool is_captured, CUstream stream)
{
	CUDA_HOST_NODE_PARAMS params = { .fn = function, .userData = user };
	CUgraphExec exec;
	CUgraphNode node;
	CUgraph graph;

	if (is_captured) {
		OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
		OK(cuLaunchHostFunc(stream, function, user));
		OK(cuStreamEndCapture(stream, &graph));
	} else {
		OK(cuGraphCreate(&graph, 0));
		OK(cuGraphAddHostNode(&node, graph, NULL, 0, &params));
		params = (CUDA_HOST_NODE_PARAMS){ 0 };
		if (cuGraphHostNodeGetParams(node, &params) == CUDA_SUCCESS)
			EXPECT(params.fn == function && params.userData == user);
	}
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphDestroy(graph));
	return exec;
}

/* As host-waits, with a host function that is a node: "node", or came there by "capture". */
void scene_graph_waits(const char *how)
{
	uint32_t n = (uint32_t)(strtoull(getenv("SCENE_BYTES"), NULL, 0) / 4);
	CUgraphExec exec;
	CUstream stream;
	CUdeviceptr p;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc_v2(&p, (size_t)n * 4));
	OK(cuMemsetD32_v2(p, 2, n));
	OK(cuCtxSynchronize());
	exec = graph_of(wait_for_the_end, NULL, !strcmp(how, "capture"), stream);
	OK(cuGraphLaunch(exec, stream));
	scene_launch_step(p, n, 1, stream);
	OK(cuStreamSynchronize(stream));
	scene_check(p, n, 7);
}

static void wait_for_word(void *word)
{
	while (!atomic_load((_Atomic uint32_t *)word))
		usleep(100);
}

/*
 * Work behind a wait that this very thread ends afterwards: it must get there. @how: "host",
 * "value", "node": what the work is behind.
 */
void scene_runs_ahead(const char *how)
{
	CUdeviceptr p, address;
	_Atomic uint32_t *word = word_on_the_host(&address);
	uint32_t x = 1;
	CUstream stream;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc_v2(&p, 4096));
	/* the first launch of a kernel waits for the device by itself */
	scene_launch_step(p, 1, 0, stream);
	OK(cuMemsetD32Async(p, x, 1024, stream));
	if (!strcmp(how, "host"))
		OK(cuLaunchHostFunc(stream, wait_for_word, (void *)word));
	else if (!strcmp(how, "value"))
		OK(cuStreamWaitValue32_v2(stream, address, 1, CU_STREAM_WAIT_VALUE_EQ));
	else
		OK(cuGraphLaunch(graph_of(wait_for_word, (void *)word, false, stream), stream));
	for (uint32_t i = 0; i < 300; i++) {
		scene_launch_step(p, 1024, i, stream);
		x = scene_next(x, i);
	}
	EXPECT(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
	atomic_store(word, 1);
	OK(cuStreamSynchronize(stream));
	scene_check(p, 1024, x);
}

struct errand {
	CUdeviceptr p;
	bool has_stream;
};

static void *run_errand(void *data)
{
	const struct errand *e = data;
	CUstream stream = ((CUstream)(uintptr_t)2);

	OK(cuCtxSetCurrent(scene_context));
	if (e->has_stream)
		OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	scene_launch_step(e->p, 64, 1, stream);
	OK(cuStreamSynchronize(stream));
	if (e->has_stream)
		OK(cuStreamDestroy_v2(stream));
	return NULL;
}

/* So many short threads, eight at a time, in streams of their own; then it waits as host-waits. */
void scene_threads(const char *n_threads)
{
	enum { N = 8 };
	struct errand errands[N];
	pthread_t threads[N];
	uint32_t x = 1;
	CUdeviceptr p;

	OK(cuMemAlloc_v2(&p, N * 256));
	OK(cuMemsetD32_v2(p, x, N * 64));
	OK(cuCtxSynchronize());
	for (int i = 0; i < atoi(n_threads); i += N) {
		for (int k = 0; k < N; k++) {
			errands[k] = (struct errand){ .p = p + k * 256, .has_stream = k % 2 };
			EXPECT(!pthread_create(&threads[k], NULL, run_errand, &errands[k]));
		}
		for (int k = 0; k < N; k++)
			pthread_join(threads[k], NULL);
		x = scene_next(x, 1);
	}
	scene_check(p, N * 64, x);
	if (getenv("SCENE_BYTES"))
		scene_host_waits("alone");
}

/*
 * A program that launches by a private table of its driver (cuda-spy.c has one), in a stream that
 * no other call has ever seen, until the end of standard input: nobody can hold it back.
 */
void scene_passes_by(const char *unused)
{
	uint32_t n = (uint32_t)(strtoull(getenv("SCENE_BYTES"), NULL, 0) / 4), k = 1, x = 2;
	const struct {
		size_t bytes;
		__typeof__(&cuLaunchKernel) launch;
	} * table;
	_Atomic bool has_ended = false;
	CUdeviceptr p;
	void *params[] = { &p, &n, &k };
	pthread_t thread;
	CUstream stream;
	CUuuid id;

	(void)unused;
	memset(&id, 0x5a, sizeof(id));
	OK(cuGetExportTable((const void **)&table, &id));
	OK(cuMemAlloc_v2(&p, (size_t)n * 4));
	OK(cuMemsetD32_v2(p, x, n));
	OK(cuCtxSynchronize());
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	EXPECT(!pthread_create(&thread, NULL, wait_on_a_thread, &has_ended));
	while (!atomic_load(&has_ended)) {
		OK(table->launch(scene_step, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, params,
				 NULL));
		OK(cuStreamSynchronize(stream));
		x = scene_next(x, k);
	}
	pthread_join(thread, NULL);
	scene_check(p, n, x);
}

static void launch_kept(CUgraphExec exec, CUstream stream, CUdeviceptr out)
{
	OK(cuMemsetD32Async(out, 0, 64, stream));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	scene_check(out, 64, 77);
}

/* A graph that allocates, uses and frees its memory: between launches the driver only keeps it. It
 * is launched, waits, and is launched so many times again. */
void scene_graph_keeps(const char *n_times)
{
	const char *given = getenv("SCENE_BYTES");
	size_t bytes = given ? strtoull(given, NULL, 0) : 4 << 20;
	CUgraphExec exec;
	CUdeviceptr p, out;
	CUstream stream;
	CUgraph graph;

	OK(cuMemAlloc_v2(&out, 256));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(cuMemAllocAsync(&p, bytes, stream));
	OK(cuMemsetD32Async(p, 77, bytes / 4, stream));
	OK(cuMemcpyDtoDAsync_v2(out, p + bytes - 256, 256, stream));
	OK(cuMemFreeAsync(p, stream));
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	launch_kept(exec, stream, out);
	wait_for_the_end(NULL);
	for (int i = 0; i < atoi(n_times); i++)
		launch_kept(exec, stream, out);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuMemFree_v2(out));
}

/* A graph that owns its memory: by a "node", by the call for "any-node", or by a "capture". It is
 * launched, and then waited. */
void scene_graph_memory(const char *how)
{
	size_t bytes = strtoull(getenv("SCENE_BYTES"), NULL, 0);
	CUDA_MEM_ALLOC_NODE_PARAMS params = {
		.poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			       .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } },
		.bytesize = bytes,
	};
	CUDA_MEMSET_NODE_PARAMS set = {
		.value = 5, .elementSize = 4, .width = bytes / 4, .height = 1
	};
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	CUgraphNode made, node;
	CUgraphExec exec;
	CUstream stream;
	CUgraph graph;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	if (!strcmp(how, "capture")) {
		OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
		OK(cuMemAllocAsync(&params.dptr, bytes, stream));
		OK(cuMemsetD32Async(params.dptr, 5, bytes / 4, stream));
		OK(cuStreamEndCapture(stream, &graph));
	} else {
		OK(cuGraphCreate(&graph, 0));
		if (!strcmp(how, "node")) {
			OK(cuGraphAddMemAllocNode(&made, graph, NULL, 0, &params));
		} else {
			any.alloc = params;
			OK(cuGraphAddNode(&made, graph, NULL, 0, &any));
			params = any.alloc;
		}
		set.dst = params.dptr;
		OK(cuGraphAddMemsetNode(&node, graph, &made, 1, &set, scene_context));
	}
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	wait_for_the_end(NULL);
	scene_check(params.dptr, (uint32_t)(bytes / 4), 5);
	OK(cuMemFreeAsync(params.dptr, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	wait_for_the_end(NULL);
}
