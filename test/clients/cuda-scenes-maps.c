/* SPDX-License-Identifier: Apache-2.0 */

/* Memory that the program maps itself: what its calls answer, and what it finds there. */

#include "cuda-scenes.h"

#include <stdbool.h>

enum { N_HANDLES = 6, N_SLOTS = 8, SLOT_GRANULES = 40 };

static size_t granule;
static CUdeviceptr base; /* of a reservation of N_SLOTS slots */
static uint64_t random_state;

struct handle {
	CUmemGenericAllocationHandle value;
	size_t n_granules; /* 0: there is none */
	unsigned n_maps;
	bool is_released;
	uint32_t word; /* in all of it, once it was written */
	bool is_written;
};

struct slot {
	struct handle *handle; /* mapped there, or NULL */
	bool is_open;	       /* the device may read and write */
};

static struct handle handles[N_HANDLES];
static struct slot slots[N_SLOTS];

static unsigned pick(unsigned n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % n;
}

static CUmemAllocationProp prop(void)
{
	return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
}

static CUdeviceptr address_of(const struct slot *s)
{
	return base + (size_t)(s - slots) * SLOT_GRANULES * granule;
}

static size_t bytes_of(const struct handle *h)
{
	return h->n_granules * granule;
}

static void end_if_unused(struct handle *h)
{
	if (h->is_released && !h->n_maps)
		*h = (struct handle){ 0 };
}

static void create(struct handle *h)
{
	const CUmemAllocationProp p = prop();
	CUmemAllocationProp got;

	/* up to more than one extent of the shim's */
	*h = (struct handle){ .n_granules = 1 + pick(pick(4) ? 4 : SLOT_GRANULES) };
	OK(cuMemCreate(&h->value, bytes_of(h), &p, 0));
	OK(cuMemGetAllocationPropertiesFromHandle(&got, h->value));
	EXPECT(got.type == p.type && got.location.id == p.location.id);
}

static void map(struct slot *s, struct handle *h)
{
	OK(cuMemMap(address_of(s), bytes_of(h), 0, h->value, 0));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemMap(address_of(s), bytes_of(h), 0, h->value, 0));
	h->n_maps++;
	*s = (struct slot){ .handle = h };
}

static void set_access(struct slot *s, CUmemAccess_flags flags)
{
	CUmemAccessDesc desc = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
				 .flags = flags };
	unsigned long long got;

	OK(cuMemSetAccess(address_of(s), bytes_of(s->handle), &desc, 1));
	OK(cuMemGetAccess(&got, &desc.location, address_of(s)));
	EXPECT(got == flags);
	s->is_open = flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

static void check(struct slot *s)
{
	uint32_t n = (uint32_t)(bytes_of(s->handle) / 4);
	CUdeviceptr start;
	size_t bytes;

	OK(cuMemGetAddressRange_v2(&start, &bytes, address_of(s) + 4));
	EXPECT(start == address_of(s) && bytes == bytes_of(s->handle));
	if (s->is_open && s->handle->is_written)
		scene_check(address_of(s), n, s->handle->word);
}

static void write(struct slot *s)
{
	struct handle *h = s->handle;
	uint32_t n = (uint32_t)(bytes_of(h) / 4);

	if (h->is_written && pick(2)) {
		scene_launch_step(address_of(s), n, 5, NULL);
		h->word = scene_next(h->word, 5);
	} else {
		h->word = pick(1 << 30);
		OK(cuMemsetD32_v2(address_of(s), h->word, n));
	}
	h->is_written = true;
}

static void unmap(struct slot *s)
{
	struct handle *h = s->handle;

	OK(cuCtxSynchronize());
	if (bytes_of(h) > granule)
		ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(address_of(s), granule));
	OK(cuMemUnmap(address_of(s), bytes_of(h)));
	*s = (struct slot){ 0 };
	h->n_maps--;
	end_if_unused(h);
}

static void release(struct handle *h)
{
	OK(cuMemRelease(h->value));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemRelease(h->value));
	h->is_released = true;
	end_if_unused(h);
}

/* The handle of what is mapped, which may have been released before. */
static void retain(struct slot *s)
{
	CUmemGenericAllocationHandle again;

	OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(address_of(s) + 4)));
	if (!s->handle->is_released)
		OK(cuMemRelease(again));
	EXPECT(s->handle->is_released || again == s->handle->value);
	s->handle->value = again;
	s->handle->is_released = false;
}

static void act(void)
{
	struct handle *h = &handles[pick(N_HANDLES)];
	struct slot *s = &slots[pick(N_SLOTS)];

	if (!h->n_granules)
		create(h);
	if (s->handle) {
		switch (pick(8)) {
		case 0:
			unmap(s);
			break;
		case 1:
			retain(s);
			break;
		case 2:
			set_access(s, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
			break;
		case 3:
			check(s);
			break;
		default:
			if (s->is_open)
				write(s);
		}
	} else if (!h->is_released) {
		map(s, h);
		if (pick(4))
			set_access(s, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
		if (pick(3) == 0)
			release(h);
	}
}

static void answer_as_the_driver(void)
{
	const CUmemAllocationProp p = prop();
	CUmemGenericAllocationHandle handle;

	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, granule / 2, &p, 0));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, granule, &p, 1));
	OK(cuMemCreate(&handle, 2 * granule, &p, 0));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemMap(base, 4 * granule, 0, handle, 0));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemMap(base, 2 * granule, granule, handle, 0));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemMap(0x1000, 2 * granule, 0, handle, 0));
	OK(cuMemMap(base, 2 * granule, 0, handle, 0));
	ANSWERS(CUDA_ERROR_INVALID_VALUE,
		cuMemAddressFree(base, N_SLOTS * SLOT_GRANULES * granule));
	OK(cuMemRelease(handle));
	OK(cuMemUnmap(base, 2 * granule));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemMap(base, 2 * granule, 0, handle, 0));
	ANSWERS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(base, 2 * granule));
}

/* Random calls; what was written through one mapping is read through the others, and stays. */
void scene_maps(const char *rounds)
{
	const char *seed = getenv("SLUICE_SEED");
	const CUmemAllocationProp p = prop();
	CUdeviceptr first;

	random_state = seed ? strtoull(seed, NULL, 0) : 1;
	OK(cuMemAlloc_v2(&first, 4));
	OK(cuMemGetAllocationGranularity(&granule, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	OK(cuMemAddressReserve(&base, N_SLOTS * SLOT_GRANULES * granule, 0, 0, 0));
	answer_as_the_driver();
	for (int i = atoi(rounds) * 10; i > 0; i--)
		act();
	for (unsigned i = 0; i < N_SLOTS; i++)
		if (slots[i].handle) {
			check(&slots[i]);
			unmap(&slots[i]);
		}
	for (unsigned i = 0; i < N_HANDLES; i++)
		if (handles[i].n_granules)
			release(&handles[i]);
	OK(cuMemAddressFree(base, N_SLOTS * SLOT_GRANULES * granule));
}
