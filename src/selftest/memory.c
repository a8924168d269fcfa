/* SPDX-License-Identifier: Apache-2.0 */
/* Part of selftest.h: device memory as the shim makes it, by handles and mappings. */
#include "selftest/selftest.h"

CUresult slu_selftest_memory_place(struct slu_selftest *t, struct slu_selftest_memory *m,
				   const CUmemAllocationProp *prop)
{
	const struct slu_selftest_driver *d = &t->driver;
	/* memory of the host is for the processor as well: its view is part of what Sluice needs */
	const CUmemAccessDesc access[] = {
		{ .location = t->prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
		{ .location = prop->location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
	};
	unsigned n_access = prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? 1 : 2;
	CUmemGenericAllocationHandle handle;
	CUresult r = d->cuMemCreate(&handle, m->bytes, prop, 0);

	if (r != CUDA_SUCCESS)
		return r;
	r = d->cuMemMap(m->address, m->bytes, 0, handle, 0);
	if (r != CUDA_SUCCESS) {
		d->cuMemRelease(handle);
		return r;
	}
	m->handle = handle;
	r = d->cuMemSetAccess(m->address, m->bytes, access, n_access);
	if (r != CUDA_SUCCESS)
		slu_selftest_memory_displace(t, m);
	return r;
}

CUresult slu_selftest_memory_displace(struct slu_selftest *t, struct slu_selftest_memory *m)
{
	CUresult r = t->driver.cuMemUnmap(m->address, m->bytes);

	if (r == CUDA_SUCCESS)
		r = t->driver.cuMemRelease(m->handle);
	if (r == CUDA_SUCCESS)
		m->handle = 0;
	return r;
}

CUresult slu_selftest_memory_make(struct slu_selftest *t, uint64_t bytes,
				  struct slu_selftest_memory *ret_memory)
{
	struct slu_selftest_memory m = { .bytes = bytes };
	CUresult r = t->driver.cuMemAddressReserve(&m.address, bytes, 0, 0, 0);

	if (r != CUDA_SUCCESS)
		return r;
	r = slu_selftest_memory_place(t, &m, &t->prop);
	if (r == CUDA_SUCCESS)
		*ret_memory = m;
	else
		t->driver.cuMemAddressFree(m.address, bytes);
	return r;
}

void slu_selftest_memory_free(struct slu_selftest *t, struct slu_selftest_memory *m)
{
	if (m->handle)
		slu_selftest_memory_displace(t, m);
	if (m->address)
		t->driver.cuMemAddressFree(m->address, m->bytes);
	*m = (struct slu_selftest_memory){ 0 };
}
