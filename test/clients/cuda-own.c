/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-own.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>

struct own {
	LIST_ENTRY(own) link;
	CUdeviceptr reserved;
	size_t reserved_bytes;
	CUdeviceptr address; /* where it is mapped */
	size_t bytes;
	size_t n_handles; /* that the program keeps */
	CUmemGenericAllocationHandle *handles;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, own) all;

static CUmemAllocationProp prop(void)
{
	return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
						    .id = cuda_device } };
}

static void allow(CUdeviceptr address, size_t bytes)
{
	CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
						 .id = cuda_device },
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

	CHECK(cuMemSetAccess(address, bytes, &access, 1));
}

static CUmemGenericAllocationHandle make_handle(size_t bytes)
{
	const CUmemAllocationProp p = prop();
	CUmemGenericAllocationHandle handle;

	CHECK(cuMemCreate(&handle, bytes, &p, 0));
	return handle;
}

static void map_whole(struct own *o)
{
	CUmemGenericAllocationHandle handle = make_handle(o->bytes);

	CHECK(cuMemMap(o->address, o->bytes, 0, handle, 0));
	CHECK(cuMemRelease(handle));
	allow(o->address, o->bytes);
}

static void map_in_steps(struct own *o, size_t granule)
{
	o->handles = calloc(o->bytes / granule, sizeof(*o->handles));
	if (!o->handles)
		exit(CUDA_EXIT_NO_MEMORY);
	for (size_t at = 0, n = 1; at < o->bytes; at += n * granule, n = n % 3 + 1) {
		n = (o->bytes - at) / granule < n ? (o->bytes - at) / granule : n;
		o->handles[o->n_handles] = make_handle(n * granule);
		CHECK(cuMemMap(o->address + at, n * granule, 0, o->handles[o->n_handles++], 0));
		allow(o->address + at, n * granule);
	}
}

static void map_twice(struct own *o)
{
	CUmemGenericAllocationHandle handle = make_handle(o->bytes);

	CHECK(cuMemMap(o->reserved, o->bytes, 0, handle, 0));
	CHECK(cuMemMap(o->address, o->bytes, 0, handle, 0));
	CHECK(cuMemRelease(handle));
	CHECK(cuMemUnmap(o->reserved, o->bytes));
	allow(o->address, o->bytes);
}

CUdeviceptr own_alloc(size_t bytes, enum own_way way)
{
	struct own *o = calloc(1, sizeof(*o));
	const CUmemAllocationProp p = prop();
	size_t granule;

	if (!o)
		exit(CUDA_EXIT_NO_MEMORY);
	CHECK(cuMemGetAllocationGranularity(&granule, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	o->bytes = (bytes + granule - 1) / granule * granule;
	o->reserved_bytes = 3 * o->bytes;
	CHECK(cuMemAddressReserve(&o->reserved, o->reserved_bytes, 0, 0, 0));
	o->address = o->reserved + o->bytes;
	if (way == OWN_WHOLE)
		map_whole(o);
	else if (way == OWN_STEPS)
		map_in_steps(o, granule);
	else
		map_twice(o);
	pthread_mutex_lock(&lock);
	LIST_INSERT_HEAD(&all, o, link);
	pthread_mutex_unlock(&lock);
	return o->address;
}

void own_free(CUdeviceptr address)
{
	struct own *o;

	CHECK(cuCtxSynchronize());
	pthread_mutex_lock(&lock);
	LIST_FOREACH (o, &all, link)
		if (o->address == address)
			break;
	if (o)
		LIST_REMOVE(o, link);
	pthread_mutex_unlock(&lock);
	if (!o)
		exit(CUDA_EXIT_WRONG);
	CHECK(cuMemUnmap(o->address, o->bytes));
	for (size_t i = 0; i < o->n_handles; i++)
		CHECK(cuMemRelease(o->handles[i]));
	CHECK(cuMemAddressFree(o->reserved, o->reserved_bytes));
	free(o->handles);
	free(o);
}
