/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/frozen.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "cuda/memory.h"
#include "cuda/real.h"
#include "cuda/headroom.h"

struct frozen {
	LIST_ENTRY(frozen) link;
	struct slu_cuda_device *device;
	uint64_t key;
	uint64_t bytes;
	struct slu_unit *unit; /* NULL for what the driver pages */
};

/*
 * Fixed lists instead of uthash: two notes may have one key for a moment, when the driver gives an
 * address again before the old note has ended, and a table that never grows needs no memory.
 */
#define BUCKETS 256

/* guarded by slu_cuda.lock */
static LIST_HEAD(bucket, frozen) buckets[BUCKETS];

static struct bucket *frozen_bucket(uint64_t key)
{
	return &buckets[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

static int frozen_begin(struct frozen *f, enum slu_frozen why, uint64_t *reserved_bytes)
{
	if (why != SLU_FROZEN_MANAGED)
		return slu_client_unit_new_reserved(f->device->client, f->bytes, why,
						    reserved_bytes, f, &f->unit);
	f->unit = NULL;
	slu_client_device_pages(f->device->client, f->bytes, true);
	return 0;
}

static void frozen_end(struct frozen *f)
{
	if (f->unit)
		slu_client_unit_free(f->unit);
	else
		slu_client_device_pages(f->device->client, f->bytes, false);
	free(f);
}

void slu_cuda_frozen_add(struct slu_cuda_device *device, uint64_t key, uint64_t bytes,
			 enum slu_frozen why, uint64_t *reserved_bytes)
{
	int saved = errno;
	struct frozen *f = malloc(sizeof(*f));

	if (f) {
		f->device = device;
		f->key = key;
		f->bytes = bytes;
		if (frozen_begin(f, why, reserved_bytes)) {
			free(f);
		} else {
			slu_lock_take(&slu_cuda.lock);
			LIST_INSERT_HEAD(frozen_bucket(key), f, link);
			slu_lock_give(&slu_cuda.lock);
		}
	}
	errno = saved;
}

bool slu_cuda_frozen_remove(uint64_t key)
{
	struct frozen *f;
	int saved = errno;

	slu_lock_take(&slu_cuda.lock);
	LIST_FOREACH (f, frozen_bucket(key), link)
		if (f->key == key)
			break;
	if (f)
		LIST_REMOVE(f, link);
	slu_lock_give(&slu_cuda.lock);
	if (!f)
		return false;
	frozen_end(f);
	errno = saved;
	return true;
}

static bool is_paged_by(const struct frozen *f, const struct slu_cuda_device *device)
{
	return f->device == device && !f->unit;
}

size_t slu_cuda_frozen_list_paged(struct slu_cuda_device *device,
				  struct slu_cuda_paged **ret_ranges)
{
	struct slu_cuda_paged *ranges;
	const struct frozen *f;
	size_t n = 0;

	slu_lock_take(&slu_cuda.lock);
	for (unsigned i = 0; i < BUCKETS; i++)
		LIST_FOREACH (f, &buckets[i], link)
			n += is_paged_by(f, device);
	ranges = n ? calloc(n, sizeof(*ranges)) : NULL;
	n = 0;
	for (unsigned i = 0; ranges && i < BUCKETS; i++)
		LIST_FOREACH (f, &buckets[i], link)
			if (is_paged_by(f, device))
				ranges[n++] = (struct slu_cuda_paged){ f->key, f->bytes };
	slu_lock_give(&slu_cuda.lock);
	if (n)
		*ret_ranges = ranges;
	return n;
}

void slu_cuda_frozen_forget(struct slu_cuda_device *device)
{
	struct frozen *f = NULL;
	int saved = errno;

	for (unsigned i = 0; i < BUCKETS; i += !f) {
		slu_lock_take(&slu_cuda.lock);
		LIST_FOREACH (f, &buckets[i], link)
			if (f->device == device)
				break;
		if (f)
			LIST_REMOVE(f, link);
		slu_lock_give(&slu_cuda.lock);
		if (f)
			frozen_end(f);
	}
	errno = saved;
}

/* Where the device cannot fault, the driver keeps all of it there while the device is used. */
CUresult cuMemAllocManaged(CUdeviceptr *ret_address, size_t bytes, unsigned int flags)
{
	struct slu_cuda_device *d = ret_address ? slu_cuda_device_here() : NULL;
	struct slu_cuda_device *full = d && !d->can_page ? d : NULL;
	uint64_t reserved = full ? bytes : 0;
	CUresult r;

	if (full && !slu_cuda_memory_reserve(full, bytes, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = SLU_REAL(cuMemAllocManaged)(ret_address, bytes, flags);
	SLU_CUDA_HEADROOM_RETRY (full, bytes, r)
		r = SLU_REAL(cuMemAllocManaged)(ret_address, bytes, flags);
	if (r == CUDA_SUCCESS && d)
		slu_cuda_frozen_add(d, *ret_address, bytes,
				    full ? SLU_FROZEN_OTHER : SLU_FROZEN_MANAGED, &reserved);
	if (full)
		slu_client_device_unreserve(full->client, reserved);
	return r;
}
