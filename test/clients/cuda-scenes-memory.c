/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-scenes.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static size_t granule;

static CUmemGenericAllocationHandle create(unsigned n_granules)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
	};
	CUmemGenericAllocationHandle handle;

	OK(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	OK(cuMemCreate(&handle, n_granules * granule, &prop, 0));
	return handle;
}

static void allow(CUdeviceptr p, unsigned n_granules)
{
	CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

	OK(cuMemSetAccess(p, n_granules * granule, &access, 1));
}

/*
 * Says how much of this there should be, and waits until somebody has compared. With something
 * beside it that is new each time: who sees that sees what was before it, too.
 */
static void compare(unsigned n_granules)
{
	static unsigned n_before;
	unsigned n_beside = 8 + n_before++ % 2;
	CUmemGenericAllocationHandle beside = create(n_beside);
	char line[16];

	printf("%zu\n", (n_granules + n_beside) * granule);
	fflush(stdout);
	EXPECT(fgets(line, sizeof(line), stdin));
	OK(cuMemRelease(beside));
}

static void map_then_release(CUdeviceptr p)
{
	CUmemGenericAllocationHandle handle = create(4);

	compare(4);
	OK(cuMemMap(p, 4 * granule, 0, handle, 0));
	allow(p, 4);
	OK(cuMemRelease(handle));
	compare(4);
	OK(cuMemsetD32_v2(p, 3, granule));
	scene_check(p, (uint32_t)granule, 3);
	OK(cuMemUnmap(p, 4 * granule));
	compare(0);
}

static void map_twice(CUdeviceptr p)
{
	CUmemGenericAllocationHandle handle = create(2);

	OK(cuMemMap(p, 2 * granule, 0, handle, 0));
	OK(cuMemMap(p + 4 * granule, 2 * granule, 0, handle, 0));
	OK(cuMemRelease(handle));
	OK(cuMemUnmap(p, 2 * granule));
	compare(2);
	OK(cuMemUnmap(p + 4 * granule, 2 * granule));
	compare(0);
}

static void unmap_list(CUdeviceptr p)
{
	CUmemGenericAllocationHandle a = create(1), b = create(3), c = create(2);

	OK(cuMemMap(p, granule, 0, a, 0));
	OK(cuMemMap(p + granule, 3 * granule, 0, b, 0));
	OK(cuMemMap(p + 4 * granule, 2 * granule, 0, c, 0));
	OK(cuMemRelease(a));
	OK(cuMemRelease(c));
	compare(6);
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(p, 2 * granule));
	compare(6);
	OK(cuMemUnmap(p, 6 * granule));
	compare(3);
	OK(cuMemRelease(b));
	compare(0);
}

static void retain(CUdeviceptr p)
{
	CUmemGenericAllocationHandle handle = create(2), again;

	OK(cuMemMap(p, 2 * granule, 0, handle, 0));
	OK(cuMemRelease(handle));
	OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(p + granule)));
	OK(cuMemUnmap(p, 2 * granule));
	compare(2);
	OK(cuMemRelease(again));
	compare(0);
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemRelease(again));
}

/* The same memory under a second handle is no more memory. */
static void import(CUdeviceptr p)
{
	CUmemGenericAllocationHandle handle = create(2), other;
	int fd;

	OK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	OK(cuMemImportFromShareableHandle(&other, (void *)(intptr_t)fd,
					  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	OK(cuMemMap(p, 2 * granule, 0, other, 0));
	compare(2);
	OK(cuMemUnmap(p, 2 * granule));
	OK(cuMemRelease(other));
	compare(2);
	OK(cuMemRelease(handle));
	compare(0);
}

/* Such memory belongs to no context: it outlives the one that was there when it was made. */
static void change_context(CUdeviceptr p)
{
	CUmemGenericAllocationHandle handle = create(2);
	CUdeviceptr other;

	OK(cuMemMap(p, 2 * granule, 0, handle, 0));
	OK(cuMemRelease(handle));
	OK(cuDevicePrimaryCtxReset_v2(0));
	OK(cuDevicePrimaryCtxRetain(&scene_context, 0));
	OK(cuCtxSetCurrent(scene_context));
	OK(cuMemAlloc_v2(&other, 4));
	compare(2);
	OK(cuMemUnmap(p, 2 * granule));
	compare(0);
}

/* Memory that the program maps itself, in all orders in which it may end. */
void scene_virtual_memory(const char *unused)
{
	CUmemGenericAllocationHandle before = create(1);
	CUdeviceptr p;

	(void)unused;
	OK(cuMemRelease(before));
	OK(cuMemAlloc_v2(&p, 4));
	OK(cuMemAddressReserve(&p, 8 * granule, 0, 0, 0));
	compare(0);
	map_then_release(p);
	map_twice(p);
	unmap_list(p);
	retain(p);
	import(p);
	change_context(p);
	OK(cuMemAddressFree(p, 8 * granule));
}

/* -- small allocations ----------------------------------------------------------------------------
 */

enum { N_THREADS = 8, N_SMALL_MAX = 4096 };

static pthread_barrier_t barrier;

static size_t free_bytes(void)
{
	size_t left, total;

	OK(cuMemGetInfo_v2(&left, &total));
	return left;
}

struct small {
	size_t bytes;
	bool until_refused;
	unsigned n;
	CUdeviceptr p[N_SMALL_MAX];
};

static void *allocate(void *data)
{
	struct small *s = data;
	CUresult r;

	OK(cuCtxSetCurrent(scene_context));
	pthread_barrier_wait(&barrier);
	do {
		r = cuMemAlloc_v2(&s->p[s->n], s->bytes);
		s->n += r == CUDA_SUCCESS;
	} while (s->until_refused && r == CUDA_SUCCESS && s->n < N_SMALL_MAX);
	EXPECT(r == CUDA_SUCCESS || (s->until_refused && r == CUDA_ERROR_OUT_OF_MEMORY));
	return NULL;
}

/* All threads at once, each of them once or until the device is full. */
static void allocate_at_once(struct small *all, size_t bytes, bool until_refused)
{
	pthread_t threads[N_THREADS];

	EXPECT(!pthread_barrier_init(&barrier, NULL, N_THREADS));
	for (int i = 0; i < N_THREADS; i++) {
		all[i].bytes = bytes;
		all[i].until_refused = until_refused;
		all[i].n = 0;
		EXPECT(!pthread_create(&threads[i], NULL, allocate, &all[i]));
	}
	for (int i = 0; i < N_THREADS; i++)
		EXPECT(!pthread_join(threads[i], NULL));
	pthread_barrier_destroy(&barrier);
}

/* What was given can be used, all of it, and goes. */
static void use_and_free(struct small *all)
{
	for (int i = 0; i < N_THREADS; i++)
		for (unsigned k = 0; k < all[i].n; k++)
			OK(cuMemsetD8_v2(all[i].p[k], 7, all[i].bytes));
	OK(cuCtxSynchronize());
	for (int i = 0; i < N_THREADS; i++)
		for (unsigned k = 0; k < all[i].n; k++)
			OK(cuMemFree_v2(all[i].p[k]));
}

/* Says how much of the device small allocations take, in three ways. */
void scene_small_memory(const char *unused)
{
	static struct small all[N_THREADS];
	size_t before, bytes;
	CUdeviceptr p[8];

	(void)unused;
	OK(cuMemRelease(create(1)));
	before = free_bytes();
	allocate_at_once(all, granule / 5, false);
	printf("threads: %zu\n", (before - free_bytes()) / granule);
	use_and_free(all);

	before = free_bytes();
	for (int i = 0; i < 8; i++)
		OK(cuMemAlloc_v2(&p[i], i % 2 ? granule / 5 : granule / 4 * 3));
	printf("mixed: %zu\n", (before - free_bytes()) / granule);
	for (int i = 0; i < 8; i++)
		OK(cuMemFree_v2(p[i]));

	/* to the brim, and what was refused was refused in the call */
	allocate_at_once(all, granule / 3, true);
	for (bytes = 0, before = 0; before < N_THREADS; before++)
		bytes += all[before].n;
	printf("full: %zu\n", bytes);
	use_and_free(all);

	/* all of it is there for something else then */
	bytes = free_bytes() / granule * granule;
	OK(cuMemAlloc_v2(&p[0], bytes));
	OK(cuMemsetD8_v2(p[0], 1, bytes));
	printf("after: %zu\n", bytes / granule);
}

#define N_ROUNDS 300

/* Takes memory of its own and gives it back, as often as it can. */
static void *churn(void *data)
{
	size_t bytes = (1 + *(const unsigned *)data % 3) * granule;
	CUdeviceptr p;

	OK(cuCtxSetCurrent(scene_context));
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < N_ROUNDS; i++) {
		OK(cuMemAlloc_v2(&p, bytes));
		OK(cuMemFree_v2(p));
	}
	return NULL;
}

/* An address that one thread gives back another one may have at once. */
void scene_churned_memory(const char *unused)
{
	unsigned numbers[N_THREADS];
	pthread_t threads[N_THREADS];

	(void)unused;
	OK(cuMemRelease(create(1)));
	EXPECT(!pthread_barrier_init(&barrier, NULL, N_THREADS));
	for (unsigned i = 0; i < N_THREADS; i++) {
		numbers[i] = i;
		EXPECT(!pthread_create(&threads[i], NULL, churn, &numbers[i]));
	}
	for (int i = 0; i < N_THREADS; i++)
		EXPECT(!pthread_join(threads[i], NULL));
	pthread_barrier_destroy(&barrier);
}
