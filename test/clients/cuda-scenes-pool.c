/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-scenes.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

static uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which)
{
	cuuint64_t value = 0;

	OK(cuMemPoolGetAttribute(pool, which, &value));
	return value;
}

static void set(CUmemoryPool pool, CUmemPool_attribute which, uint64_t value)
{
	cuuint64_t wanted = value;

	OK(cuMemPoolSetAttribute(pool, which, &wanted));
}

static CUmemoryPool default_pool(void)
{
	CUmemoryPool pool;

	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	return pool;
}

static CUmemoryPool make_pool(size_t max_bytes)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
				 .maxSize = max_bytes };
	CUmemoryPool pool;

	OK(cuMemPoolCreate(&pool, &props));
	return pool;
}

/* -- rules: the same with the driver alone --------------------------------------------------------
 */

static void statistics(void)
{
	CUmemoryPool pool = default_pool();
	CUdeviceptr a, b;
	CUstream stream;
	int flag = 2;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &flag));
	EXPECT(flag == 1);
	OK(cuMemAllocAsync(&a, MIB, stream));
	OK(cuMemAllocAsync(&b, 1000, stream));
	EXPECT(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == MIB + 1024);
	EXPECT(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= MIB + 1024);
	OK(cuMemFreeAsync(a, stream));
	EXPECT(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 1024);
	EXPECT(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == MIB + 1024);
	set(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
	EXPECT(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 1024);
	/* the block is used again at once where it was freed */
	OK(cuMemAllocAsync(&a, MIB, stream));
	OK(cuMemFreeAsync(a, stream));
	OK(cuMemFreeAsync(b, stream));
	OK(cuStreamSynchronize(stream));
	EXPECT(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
	EXPECT(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) >= MIB);

	set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
	EXPECT(attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == UINT64_MAX);
	OK(cuMemAllocAsync(&a, MIB, stream));
	OK(cuMemFreeAsync(a, stream));
	OK(cuCtxSynchronize());
	EXPECT(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= MIB);
	OK(cuMemPoolTrimTo(pool, 0));
	EXPECT(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
	set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 0);
	OK(cuStreamDestroy_v2(stream));
}

static void pointers(void)
{
	CUmemoryPool pool = make_pool(8 * MIB), told;
	CUdeviceptr a, b, base;
	size_t bytes;
	int ordinal;

	OK(cuMemAllocFromPoolAsync(&a, 6 * MIB, pool, NULL));
	OK(cuMemGetAddressRange_v2(&base, &bytes, a + 5 * MIB));
	EXPECT(base == a && bytes == 6 * MIB);
	OK(cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a + MIB));
	EXPECT(told == pool);
	OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, a));
	EXPECT(ordinal == 0);
	ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&b, 4 * MIB, pool, NULL));
	OK(cuDeviceSetMemPool(0, pool));
	OK(cuMemAllocAsync(&b, MIB, NULL));
	OK(cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, b));
	EXPECT(told == pool);
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(b + 512, NULL));
	/* its memory outlives the pool */
	OK(cuMemPoolDestroy(pool));
	OK(cuMemsetD32Async(a, 7, 6 * MIB / 4, NULL));
	scene_check(a, 6 * MIB / 4, 7);
	OK(cuMemFreeAsync(a, NULL));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(a, NULL));
	OK(cuMemFree_v2(b));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(b));
	OK(cuDeviceGetMemPool(&told, 0));
	EXPECT(told == default_pool());
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(&a, 0, NULL));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(NULL, 100, NULL));
	ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&a, (size_t)1 << 50, NULL));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(0, NULL));
}

static bool overlap(CUdeviceptr a, CUdeviceptr b, size_t bytes)
{
	return a < b + bytes && b < a + bytes;
}

/* What a stream still works with another one does not get, whichever of them ends. */
static void busy_streams(void)
{
	CUstream one, other;
	CUdeviceptr a, b;
	CUevent behind;

	OK(cuEventCreate(&behind, CU_EVENT_DISABLE_TIMING));
	OK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	for (int r = 0; r < 2; r++) {
		OK(cuMemAllocAsync(&a, MIB, one));
		scene_launch_spin(50, one);
		OK(cuMemsetD32Async(a, 1, MIB / 4, one));
		OK(cuMemFreeAsync(a, one));
		OK(cuEventRecord(behind, one));
		if (r)
			OK(cuStreamDestroy_v2(one));
		OK(cuMemAllocAsync(&b, MIB, other));
		/* it may have come past the free meanwhile */
		if (cuEventQuery(behind) == CUDA_ERROR_NOT_READY)
			EXPECT(!overlap(a, b, MIB));
		OK(cuMemsetD32Async(b, 2, MIB / 4, other));
		OK(cuCtxSynchronize());
		scene_check(b, MIB / 4, 2);
		OK(cuMemFreeAsync(b, other));
	}
	OK(cuEventDestroy_v2(behind));
	OK(cuStreamDestroy_v2(other));
	OK(cuCtxSynchronize());
	EXPECT(attribute(default_pool(), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
}

/* One that has nothing more to do when it ends, with frees before it. */
static void idle_stream_ends(void)
{
	CUstream stream;
	CUdeviceptr a;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocAsync(&a, MIB, stream));
	OK(cuMemFreeAsync(a, stream));
	OK(cuStreamDestroy_v2(stream));
	OK(cuCtxSynchronize());
	EXPECT(attribute(default_pool(), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
}

/* There is not enough for both: the second one gets the memory of the first, behind it. */
static void scarce_memory(void)
{
	CUstream one, other;
	size_t bytes, total;
	CUdeviceptr a, b;

	OK(cuMemGetInfo_v2(&bytes, &total));
	bytes = bytes / 4 * 3 / MIB * MIB;
	OK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocAsync(&a, bytes, one));
	scene_launch_spin(20, one);
	OK(cuMemsetD32Async(a, 1, bytes / 4, one));
	OK(cuMemFreeAsync(a, one));
	OK(cuMemAllocAsync(&b, bytes, other));
	OK(cuMemsetD32Async(b, 2, bytes / 4, other));
	OK(cuStreamSynchronize(other));
	scene_check(b, (uint32_t)(bytes / 4), 2);
	OK(cuMemFreeAsync(b, other));
	/* and so does a plain allocation */
	OK(cuStreamSynchronize(one));
	OK(cuStreamSynchronize(other));
	OK(cuMemAlloc_v2(&a, bytes));
	OK(cuMemFree_v2(a));
	OK(cuStreamDestroy_v2(one));
	OK(cuStreamDestroy_v2(other));
}

/* Memory of a pool in a context that ends, and of another that goes on. */
static void contexts(void)
{
	CUcontext own;
	CUstream stream;
	CUdeviceptr a, b;

	OK(cuMemAllocAsync(&a, MIB, NULL));
	OK(cuMemsetD32Async(a, 3, MIB / 4, NULL));
	OK(cuCtxSynchronize());
	OK(cuCtxCreate_v2(&own, 0, 0));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocAsync(&b, MIB, stream));
	OK(cuMemsetD32Async(b, 4, MIB / 4, stream));
	OK(cuMemFreeAsync(b, stream));
	OK(cuMemAllocAsync(&b, MIB, NULL));
	OK(cuCtxDestroy_v2(own));
	OK(cuCtxSetCurrent(scene_context));
	scene_check(a, MIB / 4, 3);
	OK(cuMemFreeAsync(b, NULL));
	OK(cuMemFree_v2(a));
}

static pthread_barrier_t barrier;

/* Frees where nobody else can look, in a context of its own. */
static void *free_unseen(void *data)
{
	CUcontext own;
	CUdeviceptr a;

	(void)data;
	OK(cuCtxCreate_v2(&own, 0, 0));
	OK(cuMemAllocAsync(&a, MIB, CU_STREAM_PER_THREAD));
	OK(cuMemFreeAsync(a, CU_STREAM_PER_THREAD));
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	OK(cuCtxDestroy_v2(own));
	return NULL;
}

/* What can never fit is refused, whatever may still come back. */
static void unseen_frees(void)
{
	pthread_t thread;
	CUdeviceptr a;

	EXPECT(!pthread_barrier_init(&barrier, NULL, 2));
	EXPECT(!pthread_create(&thread, NULL, free_unseen, NULL));
	pthread_barrier_wait(&barrier);
	ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&a, (size_t)1 << 50, NULL));
	pthread_barrier_wait(&barrier);
	EXPECT(!pthread_join(thread, NULL));
	pthread_barrier_destroy(&barrier);
}

void scene_pool_rules(const char *unused)
{
	(void)unused;
	statistics();
	pointers();
	busy_streams();
	idle_stream_ends();
	scarce_memory();
	contexts();
	unseen_frees();
}

/* -- memory in pieces: half of it is free, and nowhere is there a row of addresses ----------------
 */

enum { N_PIECES = 64 };

void scene_pieces(const char *unused)
{
	CUdeviceptr p[N_PIECES], large;
	size_t left, total, bytes;
	uint32_t n;

	(void)unused;
	OK(cuMemGetInfo_v2(&left, &total));
	bytes = left / N_PIECES / (64 << 10) * (64 << 10);
	n = (uint32_t)(bytes / 4);
	EXPECT(n);
	set(default_pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
	/* from one segment, which all of them share */
	OK(cuMemAllocAsync(&large, N_PIECES * bytes, NULL));
	OK(cuMemFreeAsync(large, NULL));
	for (uint32_t i = 0; i < N_PIECES; i++) {
		OK(cuMemAllocAsync(&p[i], bytes, NULL));
		OK(cuMemsetD32Async(p[i], i, n, NULL));
	}
	for (int i = 0; i < N_PIECES; i += 2)
		OK(cuMemFreeAsync(p[i], NULL));
	OK(cuMemAllocAsync(&large, N_PIECES / 3 * bytes, NULL));
	OK(cuMemsetD32Async(large, 99, N_PIECES / 3 * n, NULL));
	for (uint32_t i = 1; i < N_PIECES; i += 2)
		scene_check(p[i], n, i);
	scene_check(large, N_PIECES / 3 * n, 99);
	OK(cuMemFreeAsync(large, NULL));
	/* what was given back comes again */
	for (uint32_t i = 0; i < N_PIECES; i += 2) {
		OK(cuMemAllocAsync(&p[i], bytes, NULL));
		OK(cuMemsetD32Async(p[i], i, n, NULL));
	}
	for (uint32_t i = 0; i < N_PIECES; i++) {
		scene_check(p[i], n, i);
		OK(cuMemFreeAsync(p[i], NULL));
	}
	OK(cuCtxSynchronize());
	OK(cuMemPoolTrimTo(default_pool(), 0));
	EXPECT(attribute(default_pool(), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
	OK(cuMemGetInfo_v2(&bytes, &total));
	EXPECT(bytes == left);
}

/* -- memory that a pool keeps: the next segment would take the last of the device -----------------
 */

void scene_kept_memory(const char *unused)
{
	size_t left, total, kept, bytes;
	CUmemoryPool pool = default_pool();
	CUdeviceptr p;

	(void)unused;
	OK(cuMemGetInfo_v2(&left, &total));
	kept = total / 8 * 3;
	bytes = total - kept;
	set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
	OK(cuMemAllocAsync(&p, kept, NULL));
	OK(cuMemFreeAsync(p, NULL));
	OK(cuCtxSynchronize());
	EXPECT(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= kept);
	OK(cuMemAllocAsync(&p, bytes, NULL));
	OK(cuMemsetD32Async(p, 7, bytes / 4, NULL));
	scene_check(p, (uint32_t)(bytes / 4), 7);
	EXPECT(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) < bytes + kept);
	OK(cuMemFreeAsync(p, NULL));
}

/* -- memory of cuMemAlloc() that is freed in the order of a stream --------------------------------
 */

void scene_late_frees(const char *unused)
{
	size_t before, left, total;
	CUstream stream;
	CUdeviceptr p[3];

	(void)unused;
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemGetInfo_v2(&before, &total));
	for (int i = 0; i < 3; i++) {
		OK(cuMemAlloc_v2(&p[i], i ? MIB : 100));
		OK(cuMemsetD8Async(p[i], 1, i ? MIB : 100, stream));
	}
	scene_launch_spin(20, stream);
	for (int i = 0; i < 3; i++) {
		OK(cuMemFreeAsync(p[i], stream));
		ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(p[i], stream));
		ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(p[i]));
	}
	OK(cuStreamSynchronize(stream));
	OK(cuMemGetInfo_v2(&left, &total));
	EXPECT(left == before);
	OK(cuStreamDestroy_v2(stream));
}

/* -- everything mixed -----------------------------------------------------------------------------
 */

#define N_BUFFERS 8
#define N_STREAMS 3
#define N_THREADS 4

/* Words all of one value, and where they were used last. */
struct buffer {
	CUdeviceptr p;
	uint32_t n, x;
	bool is_plain;
	CUevent last;
};

struct worker {
	pthread_t thread;
	uint64_t random;
	int n_rounds;
	CUmemoryPool pool;
	CUstream streams[N_STREAMS];
	struct buffer buffers[N_BUFFERS];
};

static uint64_t random_of(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

/* A stream for the next use of @b, which comes behind the one before. */
static CUstream next_stream(struct worker *w, struct buffer *b)
{
	CUstream stream = w->streams[random_of(w) % N_STREAMS];

	OK(cuStreamWaitEvent(stream, b->last, 0));
	return stream;
}

static void take(struct worker *w, struct buffer *b)
{
	CUstream stream = w->streams[random_of(w) % N_STREAMS];
	size_t bytes;

	b->n = (uint32_t)(1 + random_of(w) % (random_of(w) % 4 ? 200 : 60000));
	b->x = (uint32_t)random_of(w);
	b->is_plain = false;
	bytes = (size_t)b->n * 4;
	switch (random_of(w) % 4) {
	case 0:
		OK(cuMemAlloc_v2(&b->p, bytes));
		b->is_plain = true;
		break;
	case 1:
		OK(cuMemAllocFromPoolAsync(&b->p, bytes, w->pool, stream));
		break;
	default:
		OK(cuMemAllocAsync(&b->p, bytes, stream));
	}
	OK(cuMemsetD32Async(b->p, b->x, b->n, stream));
	OK(cuEventRecord(b->last, stream));
}

static void give(struct worker *w, struct buffer *b)
{
	if (b->is_plain) {
		OK(cuMemFree_v2(b->p));
	} else if (random_of(w) % 8 == 0) {
		OK(cuEventSynchronize(b->last));
		OK(cuMemFree_v2(b->p));
	} else {
		OK(cuMemFreeAsync(b->p, next_stream(w, b)));
	}
	b->p = 0;
}

static void change(struct worker *w, struct buffer *b)
{
	uint32_t k = (uint32_t)random_of(w);
	CUstream stream = next_stream(w, b);

	scene_launch_step(b->p, b->n, k, stream);
	b->x = scene_next(b->x, k);
	OK(cuEventRecord(b->last, stream));
}

static void check(struct worker *w, struct buffer *b)
{
	uint32_t *host = malloc((size_t)b->n * 4);
	CUstream stream = next_stream(w, b);

	EXPECT(host);
	OK(cuMemcpyDtoHAsync_v2(host, b->p, (size_t)b->n * 4, stream));
	OK(cuStreamSynchronize(stream));
	for (uint32_t i = 0; i < b->n; i++)
		EXPECT(host[i] == b->x);
	free(host);
}

static void *work(void *data)
{
	struct worker *w = data;

	OK(cuCtxSetCurrent(scene_context));
	for (int i = 0; i < N_BUFFERS; i++)
		OK(cuEventCreate(&w->buffers[i].last, CU_EVENT_DISABLE_TIMING));
	for (int r = 0; r < w->n_rounds; r++) {
		struct buffer *b = &w->buffers[random_of(w) % N_BUFFERS];

		if (!b->p)
			take(w, b);
		else if (random_of(w) % 3 == 0)
			give(w, b);
		else if (random_of(w) % 8 == 0)
			check(w, b);
		else
			change(w, b);
		if (random_of(w) % 64 == 0)
			OK(cuMemPoolTrimTo(w->pool, 0));
		/* a stream that ends with frees before it */
		if (random_of(w) % 32 == 0) {
			for (int i = 0; i < N_BUFFERS; i++)
				if (w->buffers[i].p)
					OK(cuEventSynchronize(w->buffers[i].last));
			OK(cuStreamDestroy_v2(w->streams[0]));
			OK(cuStreamCreate(&w->streams[0], CU_STREAM_NON_BLOCKING));
		}
	}
	for (int i = 0; i < N_BUFFERS; i++) {
		if (w->buffers[i].p) {
			check(w, &w->buffers[i]);
			give(w, &w->buffers[i]);
		}
		OK(cuEventDestroy_v2(w->buffers[i].last));
	}
	OK(cuStreamDestroy_v2(w->streams[0]));
	return NULL;
}

/* Pools, plain allocations, streams of all kinds and threads. */
void scene_pools(const char *rounds)
{
	const char *seed = getenv("SLUICE_SEED");
	struct worker workers[N_THREADS] = { 0 };
	CUmemoryPool pool = make_pool(0);

	set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, MIB);
	for (int i = 0; i < N_THREADS; i++) {
		struct worker *w = &workers[i];

		w->random = (seed ? strtoull(seed, NULL, 0) : 1) * 7919 + (uint64_t)i + 1;
		w->n_rounds = atoi(rounds);
		w->pool = pool;
		OK(cuStreamCreate(&w->streams[0], CU_STREAM_NON_BLOCKING));
		w->streams[1] = i % 2 ? NULL : CU_STREAM_PER_THREAD;
		w->streams[2] = CU_STREAM_PER_THREAD;
		EXPECT(!pthread_create(&w->thread, NULL, work, w));
	}
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	OK(cuCtxSynchronize());
	EXPECT(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
	EXPECT(attribute(default_pool(), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
	OK(cuMemPoolDestroy(pool));
}
