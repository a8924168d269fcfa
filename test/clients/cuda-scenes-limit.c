/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-scenes.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

/* An allocation of any kind. */
struct piece {
	CUdeviceptr address;
	CUmemGenericAllocationHandle handle;
	CUgraph graph;
	CUgraphExec exec;
	CUarray array;
};

static CUmemoryPool pool;

static CUresult take_async(struct piece *p, size_t bytes)
{
	return cuMemAllocAsync(&p->address, bytes, NULL);
}

static CUresult take_pool(struct piece *p, size_t bytes)
{
	return cuMemAllocFromPoolAsync(&p->address, bytes, pool, NULL);
}

static void give_async(struct piece *p)
{
	OK(cuMemFreeAsync(p->address, NULL));
	OK(cuStreamSynchronize(NULL));
}

static CUresult take_handle(struct piece *p, size_t bytes)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
	};

	return cuMemCreate(&p->handle, bytes, &prop, 0);
}

static void give_handle(struct piece *p)
{
	OK(cuMemRelease(p->handle));
}

static CUresult take_managed(struct piece *p, size_t bytes)
{
	return cuMemAllocManaged(&p->address, bytes, 1 /* to every stream */);
}

static void give_managed(struct piece *p)
{
	OK(cuMemFree_v2(p->address));
}

/* The memory comes with the launch, and stays the program's. */
static CUresult launch_piece(struct piece *p)
{
	CUresult r;

	OK(cuGraphInstantiateWithFlags(&p->exec, p->graph, 0));
	r = cuGraphLaunch(p->exec, NULL);
	if (r == CUDA_SUCCESS) {
		OK(cuStreamSynchronize(NULL));
		return r;
	}
	OK(cuGraphExecDestroy(p->exec));
	OK(cuGraphDestroy(p->graph));
	return r;
}

static CUresult add_node(struct piece *p, size_t bytes, bool by_any)
{
	CUgraphNodeParams any = {
		.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
		.alloc = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } },
			   .bytesize = bytes },
	};
	CUgraphNode node;
	CUresult r;

	OK(cuGraphCreate(&p->graph, 0));
	r = by_any ? cuGraphAddNode(&node, p->graph, NULL, 0, &any)
		   : cuGraphAddMemAllocNode(&node, p->graph, NULL, 0, &any.alloc);
	p->address = any.alloc.dptr;
	if (r == CUDA_SUCCESS)
		return launch_piece(p);
	OK(cuGraphDestroy(p->graph));
	return r;
}

static CUresult take_node(struct piece *p, size_t bytes)
{
	return add_node(p, bytes, false);
}

static CUresult take_any_node(struct piece *p, size_t bytes)
{
	return add_node(p, bytes, true);
}

static CUresult take_captured(struct piece *p, size_t bytes)
{
	CUstream stream;
	CUresult r;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	r = cuMemAllocAsync(&p->address, bytes, stream);
	OK(cuStreamEndCapture(stream, &p->graph));
	OK(cuStreamDestroy_v2(stream));
	if (r == CUDA_SUCCESS)
		return launch_piece(p);
	OK(cuGraphDestroy(p->graph));
	return r;
}

static void give_graph(struct piece *p)
{
	OK(cuMemFree_v2(p->address));
	OK(cuGraphExecDestroy(p->exec));
	OK(cuGraphDestroy(p->graph));
	OK(cuDeviceGraphMemTrim(0));
}

/* As the driver's interface defines the two descriptions. */
static CUresult take_array(struct piece *p, size_t bytes)
{
	const struct {
		size_t width, height;
		int format;
		unsigned int n_channels;
	} flat = { 256, bytes / 1024, 0x20 /* float */, 1 };

	return cuArrayCreate_v2(&p->array, (const CUDA_ARRAY_DESCRIPTOR *)&flat);
}

static CUresult take_solid(struct piece *p, size_t bytes)
{
	const struct {
		size_t width, height, depth;
		int format;
		unsigned int n_channels, flags;
	} solid = { 64, 4, bytes / 1024, 0x20, 1 };

	return cuArray3DCreate_v2(&p->array, (const CUDA_ARRAY3D_DESCRIPTOR *)&solid);
}

static void give_array(struct piece *p)
{
	OK(cuArrayDestroy(p->array));
}

static const struct kind {
	const char *name;
	CUresult (*take)(struct piece *p, size_t bytes);
	void (*give)(struct piece *p);
} kinds[] = {
	{ "async", take_async, give_async },	  { "pool", take_pool, give_async },
	{ "handle", take_handle, give_handle },	  { "managed", take_managed, give_managed },
	{ "node", take_node, give_graph },	  { "any-node", take_any_node, give_graph },
	{ "capture", take_captured, give_graph }, { "array", take_array, give_array },
	{ "array-3d", take_solid, give_array },
};

static void check_alone(const struct kind *kind)
{
	struct piece p, other;
	CUdeviceptr plain;

	OK(cuMemAlloc_v2(&plain, 6 * MIB));
	ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, kind->take(&p, 4 * MIB));
	OK(kind->take(&p, 1 * MIB));
	ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, kind->take(&other, 2 * MIB));
	OK(cuMemFree_v2(plain));
	OK(kind->take(&other, 4 * MIB));
	ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&plain, 6 * MIB));
	kind->give(&p);
	kind->give(&other);
	OK(cuMemAlloc_v2(&plain, 8 * MIB));
	OK(cuMemFree_v2(plain));
}

/* -- threads ------------------------------------------------------------------------------------
 */

enum { N_THREADS = 8 };

static pthread_barrier_t barrier;

struct racer {
	const struct kind *kind;
	struct piece piece;
	bool has_it;
};

static void *race(void *data)
{
	struct racer *r = data;
	CUresult answer;

	OK(cuCtxSetCurrent(scene_context));
	pthread_barrier_wait(&barrier);
	answer = r->kind->take(&r->piece, 2 * MIB);
	EXPECT(answer == CUDA_SUCCESS || answer == CUDA_ERROR_OUT_OF_MEMORY);
	r->has_it = answer == CUDA_SUCCESS;
	return NULL;
}

/* Of 8 MiB, four threads can have 2 each. */
static void check_threads(const struct kind *kind)
{
	struct racer racers[N_THREADS];
	pthread_t threads[N_THREADS];
	int n = 0;

	EXPECT(!pthread_barrier_init(&barrier, NULL, N_THREADS));
	for (int i = 0; i < N_THREADS; i++) {
		racers[i] = (struct racer){ .kind = kind };
		EXPECT(!pthread_create(&threads[i], NULL, race, &racers[i]));
	}
	for (int i = 0; i < N_THREADS; i++) {
		EXPECT(!pthread_join(threads[i], NULL));
		n += racers[i].has_it;
	}
	pthread_barrier_destroy(&barrier);
	EXPECT(n == 4);
	for (int i = 0; i < N_THREADS; i++)
		if (racers[i].has_it)
			kind->give(&racers[i].piece);
}

/* What the driver pages by itself is no part of what the program may own. */
static void check_paged(void)
{
	CUdeviceptr paged, plain;

	OK(cuMemAllocManaged(&paged, 16 * MIB, 1));
	OK(cuMemAlloc_v2(&plain, 8 * MIB));
	OK(cuMemFree_v2(paged));
	OK(cuMemFree_v2(plain));
}

/* A program that may own 8 MiB, and asks for more with allocations of one kind. */
void scene_limit(const char *name)
{
	if (!strcmp(name, "paged")) {
		check_paged();
		return;
	}
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(name, kinds[i].name))
			continue;
		check_alone(&kinds[i]);
		for (int n = 0; n < 20; n++)
			check_threads(&kinds[i]);
		return;
	}
	EXPECT(!"no such kind");
}

/*
 * Two buffers that cannot be resident together: an outsider has the rest. As a program with a cache
 * does: when an allocation fails it frees what it does not use, and tries again.
 */
void scene_denied_cache(const char *unused)
{
	static char data[1024];
	CUdeviceptr used, cached, small, other;

	(void)unused;
	OK(cuMemAlloc_v2(&small, sizeof(data)));
	OK(cuMemAlloc_v2(&used, 6 * MIB));
	OK(cuMemAlloc_v2(&cached, 6 * MIB));
	ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemcpyHtoD_v2(used, data, sizeof(data)));
	/* there is memory for it, but with all this the program cannot run */
	ANSWERS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&other, sizeof(data)));
	OK(cuMemFree_v2(cached));
	OK(cuMemAlloc_v2(&other, sizeof(data)));
	OK(cuMemcpyHtoD_v2(other, data, sizeof(data)));
	OK(cuMemFree_v2(other));
	OK(cuMemFree_v2(used));
	OK(cuMemFree_v2(small));
}
