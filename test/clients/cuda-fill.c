/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fills allocations with a pattern, changes all of them in every round, and checks every word at
 * the end. A word's next value is a * x + c, with an odd c of its own: all values of a word differ
 * for 2^32 steps, so one that was lost, stale, stepped twice or exchanged with another is seen, and
 * the value after any number of steps is known without making them. The work is shared by threads,
 * each with streams of its own; what is done to one allocation in different streams is ordered by
 * events.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "cuda-own.h"
#include "cuda-util.h"

static const char usage[] =
	"usage: cuda-fill [OPTION]...\n"
	"Fills memory of a CUDA device, changes it in rounds, checks every word.\n"
	"\n"
	"  -m, --mib N        MiB in all (default 16)\n"
	"  -A, --all          all that the device says is free, instead\n"
	"  -b, --buffers N    in so many allocations (default 4)\n"
	"  -r, --rounds N     every allocation is changed so many times (default 10)\n"
	"  -s, --seed N       of contents and order (default 1)\n"
	"  -k, --kernels N    kernels an allocation and round (default 1)\n"
	"  -p, --pause N      after each of them one that takes N us by the device's clock\n"
	"  -t, --threads N    threads that share the allocations (default 1)\n"
	"  -S, --streams N    streams a thread; 0: the default stream (default 2)\n"
	"  -x, --mix          change them also by copies to the host and back, and through a\n"
	"                     second allocation (needs that much more memory)\n"
	"  -g, --managed N    so many of the allocations are managed memory, which the host reads\n"
	"                     where it is (default 0)\n"
	"  -o, --own N        so many of the others the program maps itself (default 0)\n"
	"  -a, --async        the rest comes from the device's memory pool, in the order of "
	"streams\n"
	"  -n, --renew        before each change to a new allocation, and the old one is freed\n"
	"  -G, --graphs       some of the changes are graphs, captured for each of them\n"
	"  -P, --per-thread   one of the streams is the thread's own default stream\n"
	"  -d, --device N     on this device (default 0)\n"
	"  -u, --uneven       allocations of different sizes, by the seed\n"
	"  -e, --endless      rounds until the end of standard input; N rounds at least\n"
	"  -w, --wait         when the memory is filled: print 'ready' and wait for the end of\n"
	"                     standard input before the first round\n"
	"  -i, --idle N       after every round do nothing for N ms (default 0)\n"
	"  -v, --verify-each  check every allocation after every round\n"
	"  -h, --help\n"
	"\n" CUDA_EXIT_TEXT;

static const char ptx[] = ".version 6.3\n"
			  ".target sm_75\n"
			  ".address_size 64\n"
			  ".visible .entry fill(.param .u64 p, .param .u32 n, .param .u32 seed)\n"
			  "{\n"
			  "	.reg .pred %q<2>;\n"
			  "	.reg .b32 %r<9>;\n"
			  "	.reg .b64 %d<5>;\n"
			  "	ld.param.u64 %d1, [p];\n"
			  "	ld.param.u32 %r1, [n];\n"
			  "	ld.param.u32 %r2, [seed];\n"
			  "	mov.u32 %r3, %ctaid.x;\n"
			  "	mov.u32 %r4, %ntid.x;\n"
			  "	mov.u32 %r5, %tid.x;\n"
			  "	mad.lo.s32 %r6, %r3, %r4, %r5;\n"
			  "	setp.ge.u32 %q1, %r6, %r1;\n"
			  "	@%q1 bra DONE;\n"
			  "	mul.lo.s32 %r7, %r6, -1640531527;\n"
			  "	xor.b32 %r8, %r7, %r2;\n"
			  "	mul.wide.u32 %d2, %r6, 4;\n"
			  "	cvta.to.global.u64 %d3, %d1;\n"
			  "	add.s64 %d4, %d3, %d2;\n"
			  "	st.global.u32 [%d4], %r8;\n"
			  "DONE:\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry advance(.param .u64 p, .param .u32 n)\n"
			  "{\n"
			  "	.reg .pred %q<2>;\n"
			  "	.reg .b32 %r<11>;\n"
			  "	.reg .b64 %d<5>;\n"
			  "	ld.param.u64 %d1, [p];\n"
			  "	ld.param.u32 %r1, [n];\n"
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
			  "	shl.b32 %r8, %r6, 1;\n"
			  "	add.s32 %r9, %r8, 1;\n"
			  "	mad.lo.s32 %r10, %r7, 1664525, %r9;\n"
			  "	st.global.u32 [%d4], %r10;\n"
			  "DONE:\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry pause(.param .u64 ns)\n"
			  "{\n"
			  "	.reg .pred %q<2>;\n"
			  "	.reg .b64 %d<4>;\n"
			  "	ld.param.u64 %d1, [ns];\n"
			  "	mov.u64 %d2, %globaltimer;\n"
			  "	add.s64 %d1, %d1, %d2;\n"
			  "WAIT:\n"
			  "	mov.u64 %d3, %globaltimer;\n"
			  "	setp.lt.u64 %q1, %d3, %d1;\n"
			  "	@%q1 bra WAIT;\n"
			  "	ret;\n"
			  "}\n";

#define THREADS_MAX 64
#define STREAMS_MAX 16
#define BLOCK	    256

struct options {
	uint64_t mib, n_buffers, n_rounds, seed, n_kernels, n_threads, n_streams, pause_us, device;
	uint64_t n_managed, n_own, idle_ms;
	bool takes_all, is_mixed, is_renewed, is_async, is_uneven, is_endless, waits, verifies_each;
	bool has_graphs, is_per_thread;
};

struct buffer {
	CUdeviceptr p;
	size_t n_words;
	bool is_managed, is_own;
	uint64_t n_steps; /* so far */
	CUevent last;	  /* the last command on it */
};

/* constant while the threads run; a buffer belongs to one of them */
static struct options o;
static struct buffer *buffers;
static size_t n_words_max; /* of the largest buffer */
static CUfunction fill, advance, pause_for;
static unsigned n_wrong; /* buffers; atomic */

struct worker {
	pthread_t thread;
	unsigned number;
	uint64_t random;
	CUstream streams[STREAMS_MAX];
	CUstream captured; /* of graphs */
	uint32_t *host;	   /* pinned, one buffer */
	CUdeviceptr aside; /* where mixed */
};

static uint32_t step_word(uint32_t x, uint32_t i)
{
	return x * 1664525u + 2 * i + 1;
}

/* n steps at once: x becomes times * x + plus * c. */
struct leap {
	uint32_t times, plus;
};

static struct leap leap_of(uint64_t n)
{
	struct leap all = { .times = 1, .plus = 0 }, one = { .times = 1664525u, .plus = 1 };

	for (; n; n >>= 1) {
		if (n & 1) {
			all.plus = one.times * all.plus + one.plus;
			all.times *= one.times;
		}
		one.plus += one.times * one.plus;
		one.times *= one.times;
	}
	return all;
}

static uint32_t seed_of(uint64_t buffer)
{
	return (uint32_t)(o.seed * 1000003u + buffer);
}

static void allocate(struct buffer *b, CUstream stream)
{
	if (b->is_managed)
		CHECK(cuMemAllocManaged(&b->p, b->n_words * 4, CU_MEM_ATTACH_GLOBAL));
	else if (b->is_own)
		b->p = own_alloc(b->n_words * 4, (enum own_way)((b - buffers) % _OWN_MAX));
	else if (o.is_async)
		CHECK(cuMemAllocAsync(&b->p, b->n_words * 4, stream));
	else
		CHECK(cuMemAlloc_v2(&b->p, b->n_words * 4));
}

static void release(const struct buffer *b, CUdeviceptr p)
{
	if (b->is_own)
		own_free(p);
	else
		CHECK(cuMemFree_v2(p));
}

static CUstream any_stream(struct worker *w)
{
	uint64_t n = o.n_streams + o.is_per_thread, i = n ? cuda_random(&w->random) % n : 0;

	if (i == o.n_streams && o.is_per_thread)
		return CU_STREAM_PER_THREAD;
	return o.n_streams ? w->streams[i] : (CUstream)0;
}

/* A stream for the next command on @b, which waits there for the one before. */
static CUstream next_stream(struct worker *w, struct buffer *b)
{
	CUstream stream = any_stream(w);

	CHECK(cuStreamWaitEvent(stream, b->last, 0));
	return stream;
}

static void launch(CUfunction function, struct buffer *b, uint32_t number, CUstream stream)
{
	uint32_t n = (uint32_t)b->n_words;
	void *params[] = { &b->p, &n, &number };

	CHECK(cuLaunchKernel(function, (n + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream,
			     params, NULL));
	CHECK(cuEventRecord(b->last, stream));
}

static void launch_pause(struct buffer *b, CUstream stream)
{
	uint64_t ns = o.pause_us * 1000;
	void *params[] = { &ns };

	CHECK(cuLaunchKernel(pause_for, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
	CHECK(cuEventRecord(b->last, stream));
}

static void read_back(struct worker *w, struct buffer *b)
{
	CUstream stream = next_stream(w, b);

	if (!b->is_managed)
		CHECK(cuMemcpyDtoHAsync_v2(w->host, b->p, b->n_words * 4, stream));
	CHECK(cuStreamSynchronize(stream));
	if (b->is_managed)
		memcpy(w->host, (const void *)(uintptr_t)b->p, b->n_words * 4);
}

static void step_on_the_host(struct worker *w, struct buffer *b)
{
	CUstream stream;

	read_back(w, b);
	for (size_t i = 0; i < b->n_words; i++)
		w->host[i] = step_word(w->host[i], (uint32_t)i);
	stream = next_stream(w, b);
	CHECK(cuMemcpyHtoDAsync_v2(b->p, w->host, b->n_words * 4, stream));
	CHECK(cuEventRecord(b->last, stream));
	/* the host's copy is used again */
	CHECK(cuStreamSynchronize(stream));
}

static void step_aside(struct worker *w, struct buffer *b)
{
	CUstream stream = next_stream(w, b);
	uint32_t n = (uint32_t)b->n_words;
	void *params[] = { &w->aside, &n };

	CHECK(cuMemcpyDtoDAsync_v2(w->aside, b->p, b->n_words * 4, stream));
	CHECK(cuLaunchKernel(advance, (n + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream, params,
			     NULL));
	CHECK(cuMemcpyDtoDAsync_v2(b->p, w->aside, b->n_words * 4, stream));
	CHECK(cuEventRecord(b->last, stream));
	/* so is the place aside */
	CHECK(cuStreamSynchronize(stream));
}

/* The capture is the worker's own: another thread may capture meanwhile, and none is disturbed. */
static void step_by_graph(struct worker *w, struct buffer *b)
{
	CUstream stream = next_stream(w, b);
	uint32_t n = (uint32_t)b->n_words;
	void *params[] = { &b->p, &n };
	CUgraph graph;
	CUgraphExec instance;

	CHECK(cuStreamBeginCapture_v2(w->captured, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CHECK(cuLaunchKernel(advance, (n + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, w->captured,
			     params, NULL));
	CHECK(cuStreamEndCapture(w->captured, &graph));
	CHECK(cuGraphInstantiateWithFlags(&instance, graph, 0));
	CHECK(cuGraphLaunch(instance, stream));
	CHECK(cuEventRecord(b->last, stream));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuGraphExecDestroy(instance));
	CHECK(cuGraphDestroy(graph));
}

static void renew(struct worker *w, struct buffer *b)
{
	CUstream stream = next_stream(w, b);
	CUdeviceptr old = b->p;

	allocate(b, stream);
	CHECK(cuMemcpyDtoDAsync_v2(b->p, old, b->n_words * 4, stream));
	CHECK(cuEventRecord(b->last, stream));
	if (o.is_async && !b->is_own && !b->is_managed) {
		CHECK(cuMemFreeAsync(old, stream));
		return;
	}
	CHECK(cuStreamSynchronize(stream));
	release(b, old);
}

static void step(struct worker *w, struct buffer *b)
{
	unsigned way = o.is_mixed ? (unsigned)(cuda_random(&w->random) % 4) : 3;

	if (o.is_renewed)
		renew(w, b);
	if (o.has_graphs && cuda_random(&w->random) % 4 == 0)
		step_by_graph(w, b);
	else if (way == 0)
		step_on_the_host(w, b);
	else if (way == 1)
		step_aside(w, b);
	else
		launch(advance, b, 0, next_stream(w, b));
	b->n_steps++;
	if (o.pause_us)
		launch_pause(b, next_stream(w, b));
}

static void verify(struct worker *w, uint64_t number)
{
	struct buffer *b = &buffers[number];
	struct leap leap = leap_of(b->n_steps);

	read_back(w, b);
	for (size_t i = 0; i < b->n_words; i++) {
		uint32_t x = (((uint32_t)i * 0x9e3779b9u) ^ seed_of(number)) * leap.times +
			     leap.plus * (2 * (uint32_t)i + 1);

		if (x == w->host[i])
			continue;
		fprintf(stderr, "buffer %llu, word %zu: %08x instead of %08x after %llu steps\n",
			(unsigned long long)number, i, w->host[i], x,
			(unsigned long long)b->n_steps);
		__atomic_add_fetch(&n_wrong, 1, __ATOMIC_RELAXED);
		return;
	}
}

static void open_worker(struct worker *w)
{
	CHECK(cuCtxSetCurrent(cuda_context));
	for (uint64_t i = 0; i < o.n_streams; i++)
		CHECK(cuStreamCreate(&w->streams[i],
				     i % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
	CHECK(cuStreamCreate(&w->captured, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAllocHost_v2((void **)&w->host, n_words_max * 4));
	if (o.is_mixed)
		CHECK(cuMemAlloc_v2(&w->aside, n_words_max * 4));
}

static void close_worker(struct worker *w)
{
	for (uint64_t i = 0; i < o.n_streams; i++)
		CHECK(cuStreamDestroy_v2(w->streams[i]));
	CHECK(cuStreamDestroy_v2(w->captured));
	CHECK(cuMemFreeHost(w->host));
	if (o.is_mixed)
		CHECK(cuMemFree_v2(w->aside));
}

/* Whether standard input is still open. */
static bool goes_on(void)
{
	return o.is_endless && client_input_is_quiet();
}

static void *work(void *data)
{
	struct worker *w = data;

	open_worker(w);
	for (uint64_t r = 0; r < o.n_rounds || goes_on(); r++) {
		uint64_t first = cuda_random(&w->random) % o.n_buffers;

		for (uint64_t i = 0; i < o.n_buffers; i++) {
			uint64_t number = (first + i) % o.n_buffers;

			if (number % o.n_threads != w->number)
				continue;
			for (uint64_t k = 0; k < o.n_kernels; k++)
				step(w, &buffers[number]);
			if (o.verifies_each)
				verify(w, number);
		}
		if (o.idle_ms)
			usleep((useconds_t)o.idle_ms * 1000);
	}
	for (uint64_t i = w->number; i < o.n_buffers; i += o.n_threads)
		verify(w, i);
	close_worker(w);
	return NULL;
}

static void read_command_line(int argc, char **argv)
{
	const struct client_option options[] = {
		CLIENT_NUMBER('m', "mib", o.mib, 1, 1 << 20),
		CLIENT_FLAG('A', "all", o.takes_all),
		CLIENT_NUMBER('b', "buffers", o.n_buffers, 1, 1 << 20),
		CLIENT_NUMBER('r', "rounds", o.n_rounds, 0, 1 << 30),
		CLIENT_NUMBER('s', "seed", o.seed, 0, UINT32_MAX),
		CLIENT_NUMBER('k', "kernels", o.n_kernels, 1, 1 << 20),
		CLIENT_NUMBER('p', "pause", o.pause_us, 1, 1 << 30),
		CLIENT_NUMBER('t', "threads", o.n_threads, 1, THREADS_MAX),
		CLIENT_NUMBER('S', "streams", o.n_streams, 0, STREAMS_MAX),
		CLIENT_FLAG('x', "mix", o.is_mixed),
		CLIENT_NUMBER('g', "managed", o.n_managed, 0, 1 << 20),
		CLIENT_NUMBER('o', "own", o.n_own, 0, 1 << 20),
		CLIENT_FLAG('a', "async", o.is_async),
		CLIENT_FLAG('n', "renew", o.is_renewed),
		CLIENT_FLAG('G', "graphs", o.has_graphs),
		CLIENT_FLAG('P', "per-thread", o.is_per_thread),
		CLIENT_NUMBER('d', "device", o.device, 0, 63),
		CLIENT_FLAG('u', "uneven", o.is_uneven),
		CLIENT_FLAG('e', "endless", o.is_endless),
		CLIENT_FLAG('w', "wait", o.waits),
		CLIENT_NUMBER('i', "idle", o.idle_ms, 0, 1000000),
		CLIENT_FLAG('v', "verify-each", o.verifies_each),
		{ 0 },
	};

	o = (struct options){ .mib = 16,
			      .n_buffers = 4,
			      .n_rounds = 10,
			      .seed = 1,
			      .n_kernels = 1,
			      .n_threads = 1,
			      .n_streams = 2 };
	if (client_options(argc, argv, options, usage) || (o.mib << 20) / o.n_buffers < 64 ||
	    o.mib > 4096)
		client_misused(usage);
	cuda_device = (int)o.device;
}

static uint64_t bytes_in_all(void)
{
	size_t free_bytes, total;

	if (!o.takes_all)
		return o.mib << 20;
	CHECK(cuMemGetInfo_v2(&free_bytes, &total));
	return free_bytes;
}

/* Uneven: between a half and three halves of an even share; the last one has what is left. */
static void share_out(void)
{
	uint64_t n_remaining = bytes_in_all() / 4, even = n_remaining / o.n_buffers,
		 random = o.seed + 1;

	for (uint64_t i = 0; i < o.n_buffers; i++) {
		uint64_t n = even;

		if (i == o.n_buffers - 1)
			n = o.is_uneven ? n_remaining : even;
		else if (o.is_uneven)
			n = even / 2 + cuda_random(&random) % even;
		/* the ones that follow have a half at least */
		if (n + (o.n_buffers - 1 - i) * (even / 2) > n_remaining)
			n = even / 2;
		buffers[i].n_words = n;
		n_remaining -= n;
		if (n > n_words_max)
			n_words_max = n;
	}
}

int main(int argc, char **argv)
{
	struct worker workers[THREADS_MAX] = { 0 };

	read_command_line(argc, argv);
	cuda_open();
	fill = cuda_function(ptx, "fill");
	advance = cuda_function(ptx, "advance");
	pause_for = cuda_function(ptx, "pause");
	buffers = calloc(o.n_buffers, sizeof(*buffers));
	if (!buffers)
		return CUDA_EXIT_NO_MEMORY;
	share_out();
	for (uint64_t i = 0; i < o.n_buffers; i++) {
		buffers[i].is_managed = i < o.n_managed;
		buffers[i].is_own = !buffers[i].is_managed && i < o.n_managed + o.n_own;
		allocate(&buffers[i], NULL);
		CHECK(cuEventCreate(&buffers[i].last, CU_EVENT_DISABLE_TIMING));
		launch(fill, &buffers[i], seed_of(i), NULL);
	}
	CHECK(cuCtxSynchronize());
	if (o.waits)
		client_wait();

	for (unsigned i = 0; i < o.n_threads; i++) {
		workers[i].number = i;
		workers[i].random = o.seed * 7919 + i + 1;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return CUDA_EXIT_NO_MEMORY;
	}
	for (unsigned i = 0; i < o.n_threads; i++)
		pthread_join(workers[i].thread, NULL);

	for (uint64_t i = 0; i < o.n_buffers; i++) {
		CHECK(cuEventDestroy_v2(buffers[i].last));
		release(&buffers[i], buffers[i].p);
	}
	cuda_close();
	free(buffers);
	printf("cuda-fill: %llu MiB in %llu allocations, %llu rounds, seed %llu: %s\n",
	       (unsigned long long)o.mib, (unsigned long long)o.n_buffers,
	       (unsigned long long)o.n_rounds, (unsigned long long)o.seed,
	       n_wrong ? "wrong" : "right");
	return n_wrong ? CUDA_EXIT_WRONG : CUDA_EXIT_RIGHT;
}
