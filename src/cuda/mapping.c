/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/mapping.h"

#include "cuda/backend.h"
#include "cuda/device.h"
#include "cuda/real.h"

/* Memory that is short, and a context that is dead, explain a failure. */
static void mapping_suspect(const struct slu_cuda_device *d, CUresult r)
{
	if (r != CUDA_SUCCESS && slu_cuda_backend_translate(r) < 0 && d->client)
		slu_client_serial_suspect(d->client);
}

int slu_cuda_mapping_begin(const struct slu_cuda_device *device)
{
	return device->client ? slu_client_serial_begin(device->client) : -1;
}

void slu_cuda_mapping_end(int lock)
{
	slu_client_serial_end(lock);
}

CUresult slu_cuda_mapping_make(const struct slu_cuda_device *device, uint64_t address,
			       uint64_t bytes, CUmemGenericAllocationHandle handle,
			       const CUmemAccessDesc *access, size_t n_access, bool *ret_is_mapped)
{
	int lock = slu_cuda_mapping_begin(device);
	CUresult r = SLU_REAL(cuMemMap)(address, bytes, 0, handle, 0);
	bool is_mapped = r == CUDA_SUCCESS;

	if (is_mapped && n_access)
		r = SLU_REAL(cuMemSetAccess)(address, bytes, access, n_access);
	slu_cuda_mapping_end(lock);
	mapping_suspect(device, r);
	if (is_mapped && r != CUDA_SUCCESS)
		is_mapped = slu_cuda_mapping_remove(device, address, bytes) != CUDA_SUCCESS;
	*ret_is_mapped = is_mapped;
	return r;
}

CUresult slu_cuda_mapping_remove(const struct slu_cuda_device *device, uint64_t address,
				 uint64_t bytes)
{
	int lock = slu_cuda_mapping_begin(device);
	CUresult r = SLU_REAL(cuMemUnmap)(address, bytes);

	mapping_suspect(device, r);
	if (r != CUDA_SUCCESS)
		r = SLU_REAL(cuMemUnmap)(address, bytes);
	slu_cuda_mapping_end(lock);
	return r;
}

CUresult slu_cuda_mapping_set_access(const struct slu_cuda_device *device, uint64_t address,
				     uint64_t bytes, const CUmemAccessDesc *access, size_t n_access)
{
	int lock = slu_cuda_mapping_begin(device);
	CUresult r = SLU_REAL(cuMemSetAccess)(address, bytes, access, n_access);

	slu_cuda_mapping_end(lock);
	return r;
}
