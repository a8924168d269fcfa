/* SPDX-License-Identifier: Apache-2.0 */

/* Managed memory. */

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/fault.h"
#include "softgpu/driver/memory/managed.h"

CUresult cuMemAllocManaged(CUdeviceptr *ret_address, size_t bytes, unsigned int flags)
{
	struct dev_context *context;
	uint64_t address;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_address || !bytes ||
	    (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_capture_unsafe());
	if (dev_fault_refuses(bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	DEV_TRY(dev_driver_result(dev_managed_alloc(context, bytes, flags, &address)));
	*ret_address = address;
	return CUDA_SUCCESS;
}

/* Host and card see everything at all times here, whatever a range is attached to. */
CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t bytes,
				unsigned int flags)
{
	struct dev_managed_view view;
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_entry_stream(handle, &context, &stream));
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
	    flags != CU_MEM_ATTACH_SINGLE)
		return CUDA_ERROR_INVALID_VALUE;
	if (!dev_managed_look(address, &view) || view.base != address ||
	    (bytes && bytes != view.bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult where_is(CUmemLocation location, int *ret_where)
{
	struct dev_card *card;

	switch (location.type) {
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		*ret_where = DEV_MANAGED_HOST;
		return CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_DEVICE:
		*ret_where = location.id;
		return dev_driver_card(location.id, &card);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* How older calls say where. */
static CUmemLocation location_of(CUdevice device)
{
	return device == CU_DEVICE_CPU ? (CUmemLocation){ CU_MEM_LOCATION_TYPE_HOST, 0 }
				       : (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, device };
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location,
			       unsigned int flags, CUstream stream)
{
	struct dev_command *command;
	int where;

	DEV_TRY(dev_driver_enter());
	if (flags || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(where_is(location, &where));
	if (!dev_managed_has(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	command = dev_command_new(DEV_COMMAND_PREFETCH);
	if (command)
		command->prefetch = (struct dev_command_prefetch){ address, bytes, where };
	return dev_entry_submit(stream, command, false);
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream)
{
	return cuMemPrefetchAsync_v2(address, bytes, location_of(device), 0, stream);
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t n,
				 CUmemLocation *locations, size_t *firsts, size_t n_locations,
				 unsigned long long flags, CUstream stream)
{
	size_t which = 0;

	DEV_TRY(dev_driver_enter());
	if (!addresses || !sizes || !n || !locations || !firsts || !n_locations ||
	    n_locations > n || firsts[0] || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 1; i < n_locations; i++)
		if (firsts[i] <= firsts[i - 1] || firsts[i] >= n)
			return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		while (which + 1 < n_locations && firsts[which + 1] <= i)
			which++;
		DEV_TRY(cuMemPrefetchAsync_v2(addresses[i], sizes[i], locations[which], 0, stream));
	}
	return CUDA_SUCCESS;
}

/* What is discarded may be read as anything until it is written, and so may stay as it is. */
CUresult cuMemDiscardBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t n,
				unsigned long long flags, CUstream handle)
{
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_entry_stream(handle, &context, &stream));
	if (!addresses || !sizes || !n || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		if (!dev_managed_has(addresses[i], sizes[i]))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t n,
					   CUmemLocation *locations, size_t *firsts,
					   size_t n_locations, unsigned long long flags,
					   CUstream stream)
{
	DEV_TRY(cuMemDiscardBatchAsync(addresses, sizes, n, flags, stream));
	return cuMemPrefetchBatchAsync(addresses, sizes, n, locations, firsts, n_locations, flags,
				       stream);
}

CUresult cuMemDiscardBatchAsync_ptsz(CUdeviceptr *addresses, size_t *sizes, size_t n,
				     unsigned long long flags, CUstream stream)
{
	return cuMemDiscardBatchAsync(addresses, sizes, n, flags,
				      stream ? stream : CU_STREAM_PER_THREAD);
}

CUresult cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr *addresses, size_t *sizes, size_t n,
						CUmemLocation *locations, size_t *firsts,
						size_t n_locations, unsigned long long flags,
						CUstream stream)
{
	return cuMemDiscardAndPrefetchBatchAsync(addresses, sizes, n, locations, firsts,
						 n_locations, flags,
						 stream ? stream : CU_STREAM_PER_THREAD);
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice,
			CUmemLocation location)
{
	bool needs_place = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
			   advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
			   advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
	struct dev_context *context;
	int where = DEV_MANAGED_NONE;

	DEV_TRY(dev_context_enter(&context));
	if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
		return CUDA_ERROR_INVALID_VALUE;
	if (needs_place)
		DEV_TRY(where_is(location, &where));
	if (!dev_managed_has(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return dev_managed_advise(address, bytes, advice, where);
}

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device)
{
	return cuMemAdvise_v2(address, bytes, advice, location_of(device));
}

static CUresult managed_answer(int *ret, size_t n, CUmem_range_attribute which, uint64_t address,
			       size_t bytes)
{
	CUmem_range_attribute plain = which;
	unsigned found = 0;
	int value;

	switch (which) {
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		for (int i = DEV_MANAGED_HOST; i < (int)dev_driver.n_cards && found < n; i++)
			if (dev_managed_accessed_by(address, bytes, i))
				ret[found++] = i;
		while (found < n)
			ret[found++] = CU_DEVICE_INVALID;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		plain = CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		plain = CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;
		break;
	default:
		break;
	}
	if (n != 1)
		return CUDA_ERROR_INVALID_VALUE;
	/* CPU and invalid are the driver's own numbers for host and none */
	value = dev_managed_attribute(address, bytes, plain);
	if (which == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE ||
	    which == CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE)
		*ret = value == DEV_MANAGED_NONE   ? CU_MEM_LOCATION_TYPE_INVALID
		       : value == DEV_MANAGED_HOST ? CU_MEM_LOCATION_TYPE_HOST
						   : CU_MEM_LOCATION_TYPE_DEVICE;
	else
		*ret = value;
	return CUDA_SUCCESS;
}

CUresult cuMemRangeGetAttribute(void *ret_data, size_t data_bytes, CUmem_range_attribute which,
				CUdeviceptr address, size_t bytes)
{
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_data || !data_bytes || data_bytes % sizeof(int) ||
	    which < CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ||
	    which > CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID ||
	    !dev_managed_has(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return managed_answer(ret_data, data_bytes / sizeof(int), which, address, bytes);
}

CUresult cuMemRangeGetAttributes(void **ret_data, size_t *data_bytes, CUmem_range_attribute *which,
				 size_t n, CUdeviceptr address, size_t bytes)
{
	DEV_TRY(dev_driver_enter());
	if (!ret_data || !data_bytes || !which || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		DEV_TRY(cuMemRangeGetAttribute(ret_data[i], data_bytes[i], which[i], address,
					       bytes));
	return CUDA_SUCCESS;
}
