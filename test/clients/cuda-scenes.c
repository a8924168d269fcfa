/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-scenes.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/client.h"

static const char ptx[] = ".version 6.3\n"
			  ".target sm_75\n"
			  ".address_size 64\n"
			  ".visible .entry step(.param .u64 p, .param .u32 n, .param .u32 k)\n"
			  "{\n"
			  "	.reg .pred %q<2>;\n"
			  "	.reg .b32 %r<9>;\n"
			  "	.reg .b64 %d<5>;\n"
			  "	ld.param.u64 %d1, [p];\n"
			  "	ld.param.u32 %r1, [n];\n"
			  "	ld.param.u32 %r2, [k];\n"
			  "	mov.u32 %r3, %ctaid.x;\n"
			  "	mov.u32 %r4, %ntid.x;\n"
			  "	mov.u32 %r5, %tid.x;\n"
			  "	mad.lo.s32 %r6, %r3, %r4, %r5;\n"
			  "	setp.ge.u32 %q1, %r6, %r1;\n"
			  "	@%q1 bra DONE;\n"
			  "	mul.wide.u32 %d2, %r6, 4;\n"
			  "	cvta.to.global.u64 %d3, %d1;\n"
			  "	add.s64 %d4, %d3, %d2;\n"
			  "	ld.global.u32 %r7, [%d4];\n"
			  "	mad.lo.s32 %r8, %r7, 3, %r2;\n"
			  "	st.global.u32 [%d4], %r8;\n"
			  "DONE:\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry spin(.param .u64 ns)\n"
			  "{\n"
			  "	.reg .pred %q<2>;\n"
			  "	.reg .b64 %d<5>;\n"
			  "	ld.param.u64 %d1, [ns];\n"
			  "	mov.u64 %d2, %globaltimer;\n"
			  "AGAIN:\n"
			  "	mov.u64 %d3, %globaltimer;\n"
			  "	sub.u64 %d4, %d3, %d2;\n"
			  "	setp.lt.u64 %q1, %d4, %d1;\n"
			  "	@%q1 bra AGAIN;\n"
			  "	ret;\n"
			  "}\n";

CUcontext scene_context;
CUfunction scene_step, scene_spin;

void scene_load(void)
{
	CUmodule module;

	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&scene_step, module, "step"));
	OK(cuModuleGetFunction(&scene_spin, module, "spin"));
}

void scene_launch_step(CUdeviceptr p, uint32_t n, uint32_t k, CUstream stream)
{
	void *params[] = { &p, &n, &k };

	OK(cuLaunchKernel(scene_step, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL));
}

void scene_launch_spin(uint64_t ms, CUstream stream)
{
	uint64_t ns = ms * 1000000;
	void *params[] = { &ns };

	OK(cuLaunchKernel(scene_spin, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

void scene_check(CUdeviceptr p, uint32_t n, uint32_t x)
{
	uint32_t *host = malloc((size_t)n * 4);

	EXPECT(host);
	OK(cuMemcpyDtoH_v2(host, p, (size_t)n * 4));
	for (uint32_t i = 0; i < n; i++) {
		if (host[i] == x)
			continue;
		fprintf(stderr, "word %u of %u is %u, not %u\n", i, n, host[i], x);
		exit(1);
	}
	free(host);
}

/* -- contents ------------------------------------------------------------------------------------
 */

#define N_BUFFERS 6
#define N_THREADS 3

/* Words all of one value: what is wrong anywhere in a buffer shows. */
struct buffer {
	CUdeviceptr p;
	uint32_t n, x;
};

static uint64_t random_of(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void renew(struct buffer *b, CUstream stream, uint64_t *random)
{
	if (b->p)
		OK(cuMemFree_v2(b->p));
	b->n = (uint32_t)(1 + random_of(random) % (random_of(random) % 4 ? 200 : 100000));
	b->x = (uint32_t)random_of(random);
	OK(cuMemAlloc_v2(&b->p, (size_t)b->n * 4));
	OK(cuMemsetD32Async(b->p, b->x, b->n, stream));
}

static void copy_in(struct buffer *b, CUstream stream, uint32_t x, uint32_t *pinned)
{
	for (uint32_t i = 0; i < b->n; i++)
		pinned[i] = x;
	OK(cuMemcpyHtoDAsync_v2(b->p, pinned, (size_t)b->n * 4, stream));
	OK(cuStreamSynchronize(stream));
	b->x = x;
}

/* Rows of one word, with a pitch of one: the whole buffer by the 2D call. */
static void copy_in_rows(struct buffer *b, CUstream stream, uint32_t x, uint32_t *pinned)
{
	CUDA_MEMCPY2D copy = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = pinned,
		.srcPitch = 8,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = b->p,
		.dstPitch = 4,
		.WidthInBytes = 4,
		.Height = b->n,
	};

	for (uint32_t i = 0; i < 2 * b->n; i++)
		pinned[i] = i % 2 ? ~x : x;
	OK(cuMemcpy2DAsync_v2(&copy, stream));
	OK(cuStreamSynchronize(stream));
	b->x = x;
}

static void change(struct buffer *b, struct buffer *other, CUstream stream, uint64_t *random,
		   uint32_t *pinned)
{
	uint32_t k = (uint32_t)random_of(random);

	switch (random_of(random) % 7) {
	case 0:
		renew(b, stream, random);
		break;
	case 1:
		copy_in(b, stream, k, pinned);
		break;
	case 2:
		copy_in_rows(b, stream, k, pinned);
		break;
	case 3:
		OK(cuMemsetD32Async(b->p, k, b->n, stream));
		b->x = k;
		break;
	case 4:
		if (other->n >= b->n && other != b) {
			OK(cuMemcpyDtoDAsync_v2(b->p, other->p, (size_t)b->n * 4, stream));
			b->x = other->x;
		}
		break;
	default:
		scene_launch_step(b->p, b->n, k, stream);
		b->x = scene_next(b->x, k);
	}
}

struct worker {
	pthread_t thread;
	uint64_t random;
	int n_rounds;
	int kind; /* 0: a stream of its own, 1: the legacy stream, 2: its per-thread stream */
};

static void *work(void *data)
{
	struct worker *w = data;
	struct buffer buffers[N_BUFFERS] = { 0 };
	CUstream stream = w->kind == 2 ? CU_STREAM_PER_THREAD : NULL;
	CUdeviceptr base;
	size_t bytes;
	uint32_t *pinned;
	CUevent event;

	OK(cuCtxSetCurrent(scene_context));
	if (w->kind == 0)
		OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	OK(cuMemAllocHost_v2((void **)&pinned, 2 * 100001 * 4));
	for (int i = 0; i < N_BUFFERS; i++)
		renew(&buffers[i], stream, &w->random);
	for (int r = 0; r < w->n_rounds; r++) {
		struct buffer *b = &buffers[random_of(&w->random) % N_BUFFERS];

		change(b, &buffers[random_of(&w->random) % N_BUFFERS], stream, &w->random, pinned);
		if (r % 8)
			continue;
		OK(cuEventRecord(event, stream));
		OK(cuEventSynchronize(event));
		OK(cuMemGetAddressRange_v2(&base, &bytes, b->p + 4 * (b->n - 1)));
		EXPECT(base == b->p && bytes == (size_t)b->n * 4);
		OK(cuMemcpyDtoHAsync_v2(pinned, b->p, bytes, stream));
		OK(cuStreamSynchronize(stream));
		for (uint32_t i = 0; i < b->n; i++)
			EXPECT(pinned[i] == b->x);
	}
	OK(cuStreamSynchronize(stream));
	for (int i = 0; i < N_BUFFERS; i++) {
		scene_check(buffers[i].p, buffers[i].n, buffers[i].x);
		OK(cuMemFree_v2(buffers[i].p));
	}
	OK(cuMemFreeHost(pinned));
	OK(cuEventDestroy_v2(event));
	if (w->kind == 0)
		OK(cuStreamDestroy_v2(stream));
	return NULL;
}

static void contents(const char *rounds)
{
	const char *seed = getenv("SLUICE_SEED");
	struct worker workers[N_THREADS] = { 0 };

	for (int i = 0; i < N_THREADS; i++) {
		workers[i].random = (seed ? strtoull(seed, NULL, 0) : 1) * 7919 + (uint64_t)i + 1;
		workers[i].n_rounds = atoi(rounds);
		workers[i].kind = i;
		EXPECT(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
}

/* -- captures and graphs -------------------------------------------------------------------------
 */

static CUdeviceptr noise;
static volatile int is_over;

/* Work beside a capture: it may find the gate shut, and must neither spoil nor hold up anything. */
static void *make_noise(void *data)
{
	CUstream stream;

	(void)data;
	OK(cuCtxSetCurrent(scene_context));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	while (!is_over)
		scene_launch_step(noise, 1000, 1, stream);
	OK(cuStreamDestroy_v2(stream));
	return NULL;
}

static void graphs(const char *rounds)
{
	uint32_t n = 50000, x = 5;
	CUgraphExec exec;
	CUstream stream;
	pthread_t thread;
	CUdeviceptr p;
	CUgraph graph;

	OK(cuMemAlloc_v2(&p, n * 4));
	OK(cuMemAlloc_v2(&noise, 4000));
	OK(cuMemsetD32_v2(p, x, n));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	EXPECT(!pthread_create(&thread, NULL, make_noise, NULL));
	for (int r = 0; r < atoi(rounds); r++) {
		OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
		for (uint32_t k = 0; k < 5; k++)
			scene_launch_step(p, n, k, stream);
		OK(cuStreamEndCapture(stream, &graph));
		OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
		for (int i = 0; i < 3; i++) {
			OK(cuGraphLaunch(exec, stream));
			for (uint32_t k = 0; k < 5; k++)
				x = scene_next(x, k);
		}
		OK(cuStreamSynchronize(stream));
		OK(cuGraphExecDestroy(exec));
		OK(cuGraphDestroy(graph));
		/* a capture that goes with its stream, and an end without a beginning */
		OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
		OK(cuStreamDestroy_v2(stream));
		OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		EXPECT(cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS);
	}
	is_over = 1;
	pthread_join(thread, NULL);
	scene_check(p, n, x);
}

/* -- host functions ------------------------------------------------------------------------------
 */

static void add_one(void *data)
{
	++*(volatile uint32_t *)data;
}

static void add_ten(CUstream stream, CUresult status, void *data)
{
	(void)stream;
	EXPECT(status == CUDA_SUCCESS);
	*(volatile uint32_t *)data += 10;
}

static void host_functions(const char *rounds)
{
	uint32_t n = 1000, x = 1;
	uint32_t *seen;
	CUstream stream;
	CUdeviceptr p;

	OK(cuMemAllocHost_v2((void **)&seen, 4 * n));
	OK(cuMemAlloc_v2(&p, 4 * n));
	OK(cuMemsetD32_v2(p, x, n));
	OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	for (int r = 0; r < atoi(rounds); r++) {
		scene_launch_step(p, n, 7, stream);
		x = scene_next(x, 7);
		OK(cuMemcpyDtoHAsync_v2(seen, p, 4 * n, stream));
		OK(cuLaunchHostFunc(stream, add_one, &seen[0]));
		OK(cuStreamAddCallback(stream, add_ten, &seen[0], 0));
		OK(cuMemcpyHtoDAsync_v2(p, seen, 4 * n, stream));
		OK(cuMemsetD32Async(p, x, 1, stream));
		OK(cuStreamSynchronize(stream));
		EXPECT(seen[0] == x + 11 && seen[n - 1] == x);
	}
	scene_check(p, n, x);
}

/* -- ends ----------------------------------------------------------------------------------------
 */

/* The old way: who is attached to a context keeps it, and the next one begins with nothing. */
static void detached_contexts(void)
{
	CUcontext own, same;
	CUdeviceptr p;

	for (int r = 0; r < 4; r++) {
		OK(cuCtxCreate_v2(&own, 0, 0));
		scene_load();
		OK(cuMemAlloc_v2(&p, 4000));
		OK(cuMemsetD32_v2(p, 4, 1000));
		scene_launch_step(p, 1000, 1, NULL);
		OK(cuCtxAttach(&same, 0));
		EXPECT(same == own);
		OK(cuCtxDetach(own));
		scene_check(p, 1000, 13);
		OK(cuCtxDetach(own));
	}
	OK(cuCtxSetCurrent(scene_context));
}

/* A context whose end must not take the memory of another along: the first one of the device. */
static void first_context_ends_first(void)
{
	CUcontext first, second, here;
	CUdeviceptr p, q;

	OK(cuDevicePrimaryCtxRelease_v2(0));
	OK(cuCtxCreate_v2(&first, 0, 0));
	scene_load();
	OK(cuMemAlloc_v2(&p, 1 << 20));
	scene_launch_step(p, 1 << 18, 1, NULL);
	OK(cuCtxPopCurrent_v2(&here));
	OK(cuCtxCreate_v2(&second, 0, 0));
	scene_load();
	OK(cuMemAlloc_v2(&q, 1 << 20));
	OK(cuMemsetD32_v2(q, 4, 1 << 18));
	OK(cuCtxPushCurrent_v2(first));
	OK(cuCtxDestroy_v2(first));
	OK(cuCtxGetCurrent(&here));
	EXPECT(here == second);
	EXPECT(cuCtxDestroy_v2(first) != CUDA_SUCCESS);
	EXPECT(cuMemFree_v2(p) != CUDA_SUCCESS);
	for (int i = 0; i < 20; i++) {
		scene_launch_step(q, 1 << 18, 0, NULL);
		OK(cuMemAlloc_v2(&p, 1 << 20));
		OK(cuMemFree_v2(p));
	}
	scene_check(q, 1 << 18, 4u * 3486784401u);
	OK(cuCtxDestroy_v2(second));
	EXPECT(cuMemFree_v2(q) != CUDA_SUCCESS);
	OK(cuDevicePrimaryCtxRetain(&scene_context, 0));
	OK(cuCtxSetCurrent(scene_context));
	scene_load();
}

static void contexts(const char *rounds)
{
	CUcontext own, popped;
	CUdeviceptr p, q;

	detached_contexts();
	for (int r = 0; r < atoi(rounds); r++)
		first_context_ends_first();
	for (int r = 0; r < atoi(rounds); r++) {
		OK(cuCtxCreate_v2(&own, 0, 0));
		scene_load();
		OK(cuMemAlloc_v2(&p, 1 << 20));
		OK(cuMemAlloc_v2(&q, 100));
		OK(cuMemsetD32_v2(p, 4, 1 << 18));
		scene_launch_step(p, 1 << 18, 1, NULL);
		if (r % 2)
			scene_check(p, 1 << 18, 13);
		OK(cuCtxDestroy_v2(own));
		EXPECT(cuMemFree_v2(p) != CUDA_SUCCESS);

		OK(cuCtxSetCurrent(scene_context));
		scene_load();
		OK(cuMemAlloc_v2(&p, 1 << 20));
		scene_launch_step(p, 1 << 18, 1, NULL);
		OK(cuDevicePrimaryCtxReset_v2(0));
		OK(cuDevicePrimaryCtxRetain(&scene_context, 0));
		OK(cuCtxSetCurrent(scene_context));
	}

	/* two at once share their addresses; what one queued is waited for when the other moves */
	scene_load();
	OK(cuMemAlloc_v2(&p, 1 << 20));
	OK(cuMemsetD32_v2(p, 4, 1 << 18));
	/* contexts do not wait for each other */
	OK(cuCtxSynchronize());
	OK(cuCtxCreate_v2(&own, 0, 0));
	scene_load();
	for (int i = 0; i < 20; i++)
		scene_launch_step(p, 1 << 18, 0, NULL);
	OK(cuMemAlloc_v2(&q, 1 << 20));
	OK(cuCtxSynchronize());
	OK(cuCtxPopCurrent_v2(&popped));
	OK(cuCtxSetCurrent(scene_context));
	scene_check(p, 1 << 18, 4u * 3486784401u);
	OK(cuMemFree_v2(q));
	OK(cuCtxDestroy_v2(own));
}

static void exits_with_work(const char *unused)
{
	CUdeviceptr p;

	(void)unused;
	OK(cuMemAlloc_v2(&p, 4 << 20));
	for (int i = 0; i < 50; i++)
		scene_launch_step(p, 1 << 20, 1, NULL);
	exit(0);
}

static void forks(const char *unused)
{
	CUdeviceptr p, q;
	int status;
	pid_t pid;

	(void)unused;
	OK(cuMemAlloc_v2(&p, 1 << 20));
	OK(cuMemsetD32_v2(p, 9, 1 << 18));
	for (int i = 0; i < 3; i++) {
		pid = fork();
		EXPECT(pid >= 0);
		if (!pid) {
			/* a child has no driver, and it is the driver who says so */
			_exit(cuMemAlloc_v2(&q, 1 << 20) == CUDA_SUCCESS ||
			      cuMemFree_v2(p) == CUDA_SUCCESS ||
			      cuMemsetD32_v2(p, 1, 1) == CUDA_SUCCESS);
		}
		scene_launch_step(p, 1 << 18, 0, NULL);
		EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	}
	scene_check(p, 1 << 18, 9 * 27);
}

/* -- silence -------------------------------------------------------------------------------------
 */

/*
 * How many messages this process has sent to the daemon, but for answers, one to each, and for what
 * is told now and then.
 */
static uint64_t n_sent(void)
{
	void (*counts)(struct slu_client_counts *) =
		(__typeof__(counts))dlsym(RTLD_DEFAULT, "slu_client_counts");
	struct slu_client_counts now;

	EXPECT(counts);
	counts(&now);
	return now.n_messages_sent - now.n_reports_sent - now.n_messages_received;
}

/* Allocations, work and frees in a turn, with credit at hand, are between us and the driver. */
static void is_silent(const char *rounds)
{
	uint32_t n = 1 << 14;
	CUdeviceptr p, first;
	uint64_t before;

	OK(cuMemAlloc_v2(&first, (size_t)n * 4));
	OK(cuMemsetD32_v2(first, 1, n));
	OK(cuMemAlloc_v2(&p, (size_t)n * 400));
	OK(cuMemFree_v2(p));
	before = n_sent();
	for (int i = 0; i < atoi(rounds); i++) {
		OK(cuMemAlloc_v2(&p, (size_t)n * (size_t)(4 + i % 50)));
		OK(cuMemsetD32_v2(p, 1, n));
		OK(cuMemFree_v2(p));
	}
	printf("%d allocations, %llu messages\n", atoi(rounds),
	       (unsigned long long)(n_sent() - before));
	EXPECT(n_sent() == before);
}

/* -- errors --------------------------------------------------------------------------------------
 */

static void errors(const char *unused)
{
	CUdeviceptr p, q = 0;
	CUcontext popped;
	size_t free_bytes, total;

	(void)unused;
	OK(cuMemGetInfo_v2(&free_bytes, &total));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(&p, 0));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(NULL, 100));
	ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&p, (size_t)1 << 50));
	OK(cuMemAlloc_v2(&p, 1000));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(p + 4));
	OK(cuMemFree_v2(p));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(p));
	OK(cuMemFree_v2(0));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2(&p, &total, 100, 100, 3));
	ANSWERS(CUDA_ERROR_INVALID_HANDLE,
		cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	OK(cuMemAlloc_v2(&p, 4000));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2(p + 1, 0, 1));
	OK(cuCtxPopCurrent_v2(&popped));
	ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&q, 100));
	ANSWERS(CUDA_ERROR_INVALID_CONTEXT, cuMemsetD32_v2(p, 0, 1));
	OK(cuCtxPushCurrent_v2(popped));
	OK(cuMemsetD32_v2(p, 0, 1));

	/* a kernel that reaches into nowhere: from then on every call says so */
	scene_launch_step(0x1000, 1, 1, NULL);
	ANSWERS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
	ANSWERS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemsetD32_v2(p, 0, 1));
	ANSWERS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc_v2(&q, 100));
	ANSWERS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree_v2(p));
}

static const struct {
	const char *name;
	void (*run)(const char *argument);
} scenes[] = {
	{ "contents", contents },
	{ "graphs", graphs },
	{ "host-functions", host_functions },
	{ "contexts", contexts },
	{ "exits-with-work", exits_with_work },
	{ "forks", forks },
	{ "errors", errors },
	{ "is-silent", is_silent },
	{ "host-waits", scene_host_waits },
	{ "spins", scene_spins },
	{ "pulse", scene_pulse },
	{ "stream-waits", scene_stream_waits },
	{ "graph-waits", scene_graph_waits },
	{ "runs-ahead", scene_runs_ahead },
	{ "threads", scene_threads },
	{ "passes-by", scene_passes_by },
	{ "graph-keeps", scene_graph_keeps },
	{ "graph-memory", scene_graph_memory },
	{ "virtual-memory", scene_virtual_memory },
	{ "small-memory", scene_small_memory },
	{ "churned-memory", scene_churned_memory },
	{ "maps", scene_maps },
	{ "textures", scene_textures },
	{ "late-texture", scene_late_texture },
	{ "limit", scene_limit },
	{ "denied-cache", scene_denied_cache },
	{ "kernels", scene_kernels },
	{ "pool-rules", scene_pool_rules },
	{ "pieces", scene_pieces },
	{ "kept-memory", scene_kept_memory },
	{ "late-frees", scene_late_frees },
	{ "pools", scene_pools },
};

int main(int argc, char **argv)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&scene_context, 0));
	OK(cuCtxSetCurrent(scene_context));
	scene_load();
	for (size_t i = 0; argc > 1 && i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		if (strcmp(argv[1], scenes[i].name))
			continue;
		scenes[i].run(argc > 2 ? argv[2] : "10");
		printf("%s: right\n", argv[1]);
		return 0;
	}
	fputs("usage: cuda-scenes SCENE [ARGUMENT]\n", stderr);
	return 2;
}
