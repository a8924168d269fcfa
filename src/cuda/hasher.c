/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/hasher.h"

#include "base/util.h"
#include "cuda/capture.h"
#include "cuda/device.h"
#include "cuda/digest-ptx.h"
#include "cuda/frozen.h"
#include "cuda/real.h"

#define TRIES_MAX	  256
#define BLOCKS_PER_THREAD 8
#define SUMS_BYTES	  (SLU_CUDA_DIGEST_GROUPS * SLU_DIGEST_BLOCK)
#define PROOF_BYTES	  SLU_CUDA_DIGEST_PROOF_BYTES
#define PROOF_WORD	  0x9e3779b9u
#define GRANULES	  2 /* one for the code, one for the module's memory */

/* -- loading ---------------------------------------------------------------------------------- */

/* Words that the device writes and whose digest the processor computes as well. */
static CUresult hasher_prove(struct slu_cuda_hasher *h)
{
	CUdeviceptr address = h->sums + SUMS_BYTES;
	uint32_t words[PROOF_BYTES / sizeof(uint32_t)];
	struct slu_digest digest;
	uint64_t ns;
	CUresult r;

	for (size_t i = 0; i < SLU_ARRAY_SIZE(words); i++)
		words[i] = PROOF_WORD;
	r = SLU_REAL(cuMemsetD32Async)(address, PROOF_WORD, SLU_ARRAY_SIZE(words), h->stream);
	if (r == CUDA_SUCCESS)
		r = slu_cuda_hasher_begin(h, address, PROOF_BYTES);
	if (r == CUDA_SUCCESS)
		r = slu_cuda_hasher_end(h, PROOF_BYTES, &digest, &ns);
	if (r == CUDA_SUCCESS && !slu_digest_is_equal(digest, slu_digest_of(words, PROOF_BYTES)))
		r = CUDA_ERROR_UNKNOWN;
	return r;
}

static CUresult hasher_load(struct slu_cuda_hasher *h)
{
	CUresult r = SLU_REAL(cuModuleLoadData)(&h->module, slu_cuda_digest_ptx);
	size_t bytes = 0;

	if (r == CUDA_SUCCESS)
		r = SLU_REAL(cuModuleGetFunction)(&h->function, h->module, "slu_digest");
	if (r == CUDA_SUCCESS)
		r = SLU_REAL(cuModuleGetGlobal_v2)(&h->sums, &bytes, h->module, "slu_digest_space");
	if (r == CUDA_SUCCESS && bytes < SUMS_BYTES + PROOF_BYTES)
		r = CUDA_ERROR_UNKNOWN;
	return r == CUDA_SUCCESS ? hasher_prove(h) : r;
}

static void hasher_unload(struct slu_cuda_hasher *h)
{
	if (h->module)
		SLU_REAL(cuModuleUnload)(h->module);
	h->module = NULL;
}

void slu_cuda_hasher_init(struct slu_cuda_hasher *h)
{
	*h = (struct slu_cuda_hasher){ .yielded_at_bytes = UINT64_MAX };
	slu_lock_init(&h->lock, SLU_LOCK_LEAF);
	if (SLU_REAL(cuStreamCreate)(&h->stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
	    SLU_REAL(cuEventCreate)(&h->before, CU_EVENT_BLOCKING_SYNC) != CUDA_SUCCESS ||
	    SLU_REAL(cuEventCreate)(&h->after, CU_EVENT_BLOCKING_SYNC) != CUDA_SUCCESS)
		h->n_tries = TRIES_MAX;
}

void slu_cuda_hasher_deinit(struct slu_cuda_hasher *h)
{
	hasher_unload(h);
	if (h->after)
		SLU_REAL(cuEventDestroy_v2)(h->after);
	if (h->before)
		SLU_REAL(cuEventDestroy_v2)(h->before);
	if (h->stream)
		SLU_REAL(cuStreamDestroy_v2)(h->stream);
	slu_lock_deinit(&h->lock);
	*h = (struct slu_cuda_hasher){ 0 };
}

/* -- its memory ------------------------------------------------------------------------------- */

static uint64_t hasher_key(const struct slu_cuda_hasher *h)
{
	return (uint64_t)(uintptr_t)h;
}

/* Whether the program may own @more bytes and is still offered all that it owns. */
static bool device_has(const struct slu_cuda_device *d, uint64_t more)
{
	return slu_client_device_owned(d->client) + more <= slu_client_device_offered(d->client);
}

/* Loads it if there is memory for it, and charges that. Others see the bytes as owned meanwhile. */
static bool hasher_obtain(struct slu_cuda_device *d)
{
	struct slu_cuda_hasher *h = &d->comparer.hasher;
	uint64_t reserved = GRANULES * d->granule_bytes;
	CUresult r;

	if (h->n_tries >= TRIES_MAX || !device_has(d, reserved) ||
	    slu_client_device_owned(d->client) + reserved >= h->yielded_at_bytes ||
	    !slu_client_device_reserve(d->client, reserved, 0))
		return false;
	r = hasher_load(h);
	if (r == CUDA_SUCCESS) {
		slu_cuda_frozen_add(d, hasher_key(h), reserved, SLU_FROZEN_MODULE, &reserved);
	} else {
		hasher_unload(h);
		h->n_tries = r == CUDA_ERROR_OUT_OF_MEMORY ? h->n_tries + 1 : TRIES_MAX;
	}
	slu_client_device_unreserve(d->client, reserved);
	return r == CUDA_SUCCESS;
}

/* In whatever context the thread is: it may be one of the program's. */
static void hasher_give_up(struct slu_cuda_device *d)
{
	struct slu_cuda_hasher *h = &d->comparer.hasher;
	CUstreamCaptureMode before = slu_cuda_capture_relax();
	CUcontext popped;

	if (SLU_REAL(cuCtxPushCurrent_v2)(d->service) == CUDA_SUCCESS) {
		hasher_unload(h);
		SLU_REAL(cuCtxPopCurrent_v2)(&popped);
	} else {
		h->n_tries = TRIES_MAX; /* the context is dead */
	}
	slu_cuda_capture_restore(before);
	slu_cuda_frozen_remove(hasher_key(h));
}

/* -- states ----------------------------------------------------------------------------------- */

/* Return: the state before, or TAKEN: another thread has it. */
static enum slu_cuda_hasher_state hasher_begin(struct slu_cuda_hasher *h)
{
	enum slu_cuda_hasher_state before;

	slu_lock_take(&h->lock);
	before = (enum slu_cuda_hasher_state)atomic_load(&h->state);
	atomic_store(&h->state, SLU_CUDA_HASHER_TAKEN);
	slu_lock_give(&h->lock);
	return before;
}

static void hasher_finish(struct slu_cuda_hasher *h, enum slu_cuda_hasher_state state)
{
	slu_lock_take(&h->lock);
	atomic_store(&h->state, (int)state);
	slu_lock_give(&h->lock);
}

bool slu_cuda_hasher_take(struct slu_cuda_device *device)
{
	struct slu_cuda_hasher *h = &device->comparer.hasher;

	switch (hasher_begin(h)) {
	case SLU_CUDA_HASHER_TAKEN:
		return false;
	case SLU_CUDA_HASHER_LOADED:
		if (device_has(device, 0))
			return true;
		hasher_give_up(device);
		break;
	case SLU_CUDA_HASHER_UNLOADED:
		if (hasher_obtain(device))
			return true;
		break;
	}
	hasher_finish(h, SLU_CUDA_HASHER_UNLOADED);
	return false;
}

void slu_cuda_hasher_put(struct slu_cuda_device *device)
{
	hasher_finish(&device->comparer.hasher, SLU_CUDA_HASHER_LOADED);
}

static bool hasher_yield(struct slu_cuda_device *d, uint64_t at_bytes)
{
	struct slu_cuda_hasher *h = &d->comparer.hasher;
	enum slu_cuda_hasher_state before = hasher_begin(h);

	if (before == SLU_CUDA_HASHER_TAKEN)
		return false;
	if (before == SLU_CUDA_HASHER_LOADED) {
		hasher_give_up(d);
		h->yielded_at_bytes = at_bytes;
	}
	hasher_finish(h, SLU_CUDA_HASHER_UNLOADED);
	return before == SLU_CUDA_HASHER_LOADED;
}

bool slu_cuda_hasher_yield(struct slu_cuda_device *device)
{
	return atomic_load(&device->comparer.hasher.state) == SLU_CUDA_HASHER_LOADED &&
	       hasher_yield(device, slu_client_device_owned(device->client));
}

uint64_t slu_cuda_hasher_bytes(const struct slu_cuda_device *device)
{
	return atomic_load(&device->comparer.hasher.state) == SLU_CUDA_HASHER_LOADED
		       ? GRANULES * device->granule_bytes
		       : 0;
}

void slu_cuda_hasher_yield_to_owned(struct slu_cuda_device *device)
{
	if (atomic_load(&device->comparer.hasher.state) == SLU_CUDA_HASHER_LOADED &&
	    !device_has(device, 0))
		hasher_yield(device, UINT64_MAX);
}

/* -- digests ---------------------------------------------------------------------------------- */

static unsigned groups_of(uint64_t n_blocks)
{
	uint64_t n = n_blocks / (SLU_CUDA_DIGEST_THREADS * BLOCKS_PER_THREAD);

	n = SLU_MAX(n, (uint64_t)1);
	return (unsigned)SLU_MIN(n, (uint64_t)SLU_CUDA_DIGEST_GROUPS);
}

CUresult slu_cuda_hasher_begin(struct slu_cuda_hasher *h, CUdeviceptr address, uint64_t bytes)
{
	uint64_t n_blocks = bytes / SLU_DIGEST_BLOCK;
	void *params[] = { &address, &n_blocks, &h->sums };
	CUresult r;

	h->n_groups = groups_of(n_blocks);
	r = SLU_REAL(cuEventRecord)(h->before, h->stream);
	if (r == CUDA_SUCCESS)
		r = SLU_REAL(cuLaunchKernel)(h->function, h->n_groups, 1, 1,
					     SLU_CUDA_DIGEST_THREADS, 1, 1, 0, h->stream, params,
					     NULL);
	if (r != CUDA_SUCCESS)
		return r;
	r = SLU_REAL(cuEventRecord)(h->after, h->stream);
	/* the kernel reads memory that the caller takes away next */
	if (r != CUDA_SUCCESS)
		SLU_REAL(cuStreamSynchronize)(h->stream);
	return r;
}

CUresult slu_cuda_hasher_end(struct slu_cuda_hasher *h, uint64_t bytes,
			     struct slu_digest *ret_digest, uint64_t *ret_ns)
{
	uint64_t parts[SLU_CUDA_DIGEST_GROUPS][2], sums[2] = { 0 };
	float ms = 0;
	CUresult copied, r;

	copied = SLU_REAL(cuMemcpyDtoHAsync_v2)(parts, h->sums, h->n_groups * sizeof(parts[0]),
						h->stream);
	/* whatever happened, nothing reads the extent or writes here afterwards */
	r = SLU_REAL(cuStreamSynchronize)(h->stream);
	if (copied != CUDA_SUCCESS || r != CUDA_SUCCESS)
		return copied != CUDA_SUCCESS ? copied : r;
	for (unsigned i = 0; i < h->n_groups; i++) {
		sums[0] += parts[i][0];
		sums[1] += parts[i][1];
	}
	if (SLU_REAL(cuEventElapsedTime)(&ms, h->before, h->after) != CUDA_SUCCESS || ms < 0)
		ms = 0;
	*ret_ns = (uint64_t)(ms * 1e6f);
	*ret_digest = slu_digest_end(sums, bytes);
	return CUDA_SUCCESS;
}
