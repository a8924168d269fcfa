/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Memory that moves behind its address: what each step costs, and whether the bytes are right when
 * other memory takes the place of the first. That is the mechanism on which everything else rests.
 */

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "selftest/selftest.h"

#define N_ROUNDS   32
#define N_GRANULES 16 /* of the largest extent that Sluice makes */
#define PATTERN	   0x5a17c0deu
#define NO_MOVE	   "Sluice cannot move memory here: only programs that fit together share the device."

enum step { CREATE, MAP, ACCESS, UNMAP, RELEASE, N_STEPS };

static const struct {
	const char *key, *what;
} steps[N_STEPS] = {
	[CREATE] = { "map.create_ns", "creating memory of 16 granules" },
	[MAP] = { "map.map_ns", "mapping it at an address" },
	[ACCESS] = { "map.access_ns", "making it accessible" },
	[UNMAP] = { "map.unmap_ns", "unmapping it" },
	[RELEASE] = { "map.release_ns", "releasing it" },
};

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* One extent comes and goes. @ret_ns has the time of each step. */
static CUresult round_run(struct slu_selftest *t, CUdeviceptr address, uint64_t bytes,
			  uint64_t ret_ns[static N_STEPS])
{
	const struct slu_selftest_driver *d = &t->driver;
	const CUmemAccessDesc access = { .location = t->prop.location,
					 .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle = 0;
	uint64_t now_ns, before_ns = slu_clock_now_ns();
	CUresult r = CUDA_SUCCESS;

	for (unsigned step = 0; step < N_STEPS && r == CUDA_SUCCESS; step++) {
		switch ((enum step)step) {
		case CREATE:
			r = d->cuMemCreate(&handle, bytes, &t->prop, 0);
			break;
		case MAP:
			r = d->cuMemMap(address, bytes, 0, handle, 0);
			break;
		case ACCESS:
			r = d->cuMemSetAccess(address, bytes, &access, 1);
			break;
		case UNMAP:
			r = d->cuMemUnmap(address, bytes);
			break;
		case RELEASE:
			r = d->cuMemRelease(handle);
			break;
		case N_STEPS:
			break;
		}
		now_ns = slu_clock_now_ns();
		ret_ns[step] = now_ns - before_ns;
		before_ns = now_ns;
	}
	return r;
}

static CUresult steps_measure(struct slu_selftest *t)
{
	uint64_t bytes = N_GRANULES * t->granule_bytes, ns[N_STEPS][N_ROUNDS], row[N_STEPS];
	CUdeviceptr address;
	CUresult r = t->driver.cuMemAddressReserve(&address, bytes, 0, 0, 0);

	for (unsigned i = 0; i < N_ROUNDS && r == CUDA_SUCCESS; i++) {
		r = round_run(t, address, bytes, row);
		for (unsigned step = 0; step < N_STEPS; step++)
			ns[step][i] = row[step];
	}
	if (r != CUDA_SUCCESS)
		return r;
	for (unsigned step = 0; step < N_STEPS; step++) {
		qsort(ns[step], N_ROUNDS, sizeof(ns[step][0]), compare_ns);
		slu_selftest_figure(t, steps[step].key, (double)ns[step][N_ROUNDS / 2],
				    SLU_SELFTEST_NS, steps[step].what);
	}
	return t->driver.cuMemAddressFree(address, bytes);
}

/* Writes words on the device, takes the memory away, brings other memory with them, and adds 1. */
static CUresult bytes_move(struct slu_selftest *t, struct slu_selftest_memory *m, uint32_t *host)
{
	const struct slu_selftest_driver *d = &t->driver;
	uint64_t n = m->bytes / sizeof(*host);
	CUfunction add;
	CUresult r;

	r = slu_selftest_kernel_load(t, &add);
	if (r == CUDA_SUCCESS)
		r = d->cuMemsetD32Async(m->address, PATTERN, n, NULL);
	if (r == CUDA_SUCCESS)
		r = d->cuMemcpyDtoHAsync_v2(host, m->address, m->bytes, NULL);
	if (r == CUDA_SUCCESS)
		r = d->cuCtxSynchronize();
	if (r == CUDA_SUCCESS)
		r = slu_selftest_memory_displace(t, m);
	if (r == CUDA_SUCCESS)
		r = slu_selftest_memory_place(t, m, &t->prop);
	if (r == CUDA_SUCCESS)
		r = d->cuMemcpyHtoDAsync_v2(m->address, host, m->bytes, NULL);
	if (r == CUDA_SUCCESS)
		r = slu_selftest_kernel_launch(t, add, m->address, n, NULL);
	/* a copy from pageable memory may still read it */
	if (r == CUDA_SUCCESS)
		r = d->cuCtxSynchronize();
	memset(host, 0, m->bytes);
	if (r == CUDA_SUCCESS)
		r = d->cuMemcpyDtoHAsync_v2(host, m->address, m->bytes, NULL);
	return r == CUDA_SUCCESS ? d->cuCtxSynchronize() : r;
}

static void address_judge(struct slu_selftest *t)
{
	const char *key = "map.address",
		   *what = "memory keeps its bytes and its address when it moves";
	struct slu_selftest_memory m = { 0 };
	uint64_t bytes = N_GRANULES * t->granule_bytes, n_wrong = 0;
	uint32_t *host = malloc(bytes);
	CUresult r = host ? slu_selftest_memory_make(t, bytes, &m) : CUDA_ERROR_OUT_OF_MEMORY;

	if (r == CUDA_SUCCESS)
		r = bytes_move(t, &m, host);
	for (uint64_t i = 0; r == CUDA_SUCCESS && i < bytes / sizeof(*host); i++)
		n_wrong += host[i] != PATTERN + 1;
	if (r == CUDA_SUCCESS)
		slu_selftest_judge(t, key, !n_wrong, what, NO_MOVE);
	else
		slu_selftest_fail(t, key, r, what, NO_MOVE);
	if (m.address)
		slu_selftest_memory_free(t, &m);
	free(host);
}

/* Neighbours in one range of addresses, each with memory of its own, get access by one call. */
static void access_judge(struct slu_selftest *t)
{
	const char *key = "map.access_run",
		   *what = "one call makes neighbouring extents accessible";
	const char *then = "Sluice makes them accessible one by one, which takes longer.";
	const struct slu_selftest_driver *d = &t->driver;
	const CUmemAccessDesc access = { .location = t->prop.location,
					 .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	uint64_t bytes = t->granule_bytes;
	CUmemGenericAllocationHandle handles[2] = { 0 };
	CUdeviceptr address;
	CUresult r = d->cuMemAddressReserve(&address, 2 * bytes, 0, 0, 0), given;

	for (unsigned i = 0; i < 2 && r == CUDA_SUCCESS; i++) {
		r = d->cuMemCreate(&handles[i], bytes, &t->prop, 0);
		if (r == CUDA_SUCCESS)
			r = d->cuMemMap(address + i * bytes, bytes, 0, handles[i], 0);
	}
	if (r != CUDA_SUCCESS) {
		slu_selftest_fail(t, key, r, what, then);
		return;
	}
	given = d->cuMemSetAccess(address, 2 * bytes, &access, 1);
	slu_selftest_judge(t, key, given == CUDA_SUCCESS, what, then);
}

void slu_selftest_mapping(struct slu_selftest *t)
{
	CUresult r;

	if (!slu_selftest_open(t, "map"))
		return;
	slu_selftest_figure(t, "map.granule", (double)t->granule_bytes, SLU_SELFTEST_BYTES,
			    "the smallest piece of device memory that can move");
	r = steps_measure(t);
	if (r != CUDA_SUCCESS)
		slu_selftest_fail(t, "map", r, "memory that is mapped at an address", NO_MOVE);
	address_judge(t);
	access_judge(t);
}
