/* SPDX-License-Identifier: Apache-2.0 */

/* What can be asked about a device. */

#include <stdio.h>
#include <string.h>

#include "softgpu/driver/api/entry.h"

static const int block_sizes[] = DEV_LIMITS_BLOCK_SIZES, grid_sizes[] = DEV_LIMITS_GRID_SIZES;

CUresult cuDeviceGet(CUdevice *ret_device, int ordinal)
{
	struct dev_card *card;

	if (!ret_device)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_driver_card(ordinal, &card));
	*ret_device = ordinal;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *ret_n)
{
	DEV_TRY(dev_driver_enter());
	if (!ret_n)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_n = (int)dev_driver.n_cards;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_card(device, &card));
	if (!name || size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, (size_t)size, "%s", dev_board_identity(card->board)->name);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *ret_uuid, CUdevice device)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_card(device, &card));
	if (!ret_uuid)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(ret_uuid->bytes, dev_board_identity(card->board)->uuid, sizeof(ret_uuid->bytes));
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *ret_uuid, CUdevice device)
{
	return cuDeviceGetUuid_v2(ret_uuid, device);
}

CUresult cuDeviceTotalMem_v2(size_t *ret_bytes, CUdevice device)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_card(device, &card));
	if (!ret_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_bytes = card->capacity_bytes;
	return CUDA_SUCCESS;
}

/* Long: one switch with a case for each attribute. */
static int device_attribute(const struct dev_card *card, CUdevice_attribute which,
			    bool *ret_is_known)
{
	const struct dev_limits *limits = dev_driver.settings.limits;

	*ret_is_known = true;
	switch (which) {
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		return DEV_LIMITS_BLOCK_THREADS;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
		return block_sizes[which - CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X];
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
		return grid_sizes[which - CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X];
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
		return (int)limits->n_threads;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
		return (int)limits->n_blocks;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
		return DEV_LIMITS_SHARED_BYTES;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
		return (int)limits->shared_bytes_optin;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
		return (int)limits->shared_bytes;
	case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
		return (int)limits->shared_bytes_reserved;
	case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
		return DEV_LIMITS_CONSTANT_BYTES;
	case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
		return DEV_LIMITS_WARP_THREADS;
	case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
		return 0x7fffffff;
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
		return DEV_LIMITS_N_REGISTERS;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
	case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
		return 1000000;
	case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
		return 256;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
		return 4 << 20;
	case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
	case CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT:
		return DEV_LIMITS_TEXTURE_ALIGN;
	case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT:
		return DEV_LIMITS_PITCH_ALIGN;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH:
		return DEV_LIMITS_TEXTURE_WIDTH;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT:
		return DEV_LIMITS_TEXTURE_HEIGHT;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH:
		return DEV_LIMITS_LINEAR_PITCH;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH:
		return DEV_LIMITS_LINEAR_TEXELS;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH:
		return DEV_LIMITS_TEXTURE_3D;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH:
		return DEV_LIMITS_LAYERED_WIDTH;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS:
		return DEV_LIMITS_LAYERS;
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS:
	case CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS:
		return DEV_LIMITS_CUBE_FACES;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		return (int)dev_driver.settings.n_multiprocessors;
	case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
		return 2;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		return (int)dev_driver.settings.capability / 10;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		return (int)dev_driver.settings.capability % 10;
	case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
		return (int)card->number;
	case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO:
		return 2;
	case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
	case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
	case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
	case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
	case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
	case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
	case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
	case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
	case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
		return 1;
	case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
		return CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	case CU_DEVICE_ATTRIBUTE_NUMA_ID:
		return -1;
	default:
		/* everything else is something this device does not have: zero of it */
		*ret_is_known = which >= 1 && which < CU_DEVICE_ATTRIBUTE_MAX;
		return 0;
	}
}

CUresult cuDeviceGetAttribute(int *ret_value, CUdevice_attribute which, CUdevice device)
{
	struct dev_card *card;
	bool is_known;
	int value;

	DEV_TRY(dev_driver_card(device, &card));
	if (!ret_value)
		return CUDA_ERROR_INVALID_VALUE;
	value = device_attribute(card, which, &is_known);
	if (!is_known)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_value = value;
	return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int *ret_major, int *ret_minor, CUdevice device)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_card(device, &card));
	if (!ret_major || !ret_minor)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_major = (int)dev_driver.settings.capability / 10;
	*ret_minor = (int)dev_driver.settings.capability % 10;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop *ret_properties, CUdevice device)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_card(device, &card));
	if (!ret_properties)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_properties = (CUdevprop){
		.maxThreadsPerBlock = DEV_LIMITS_BLOCK_THREADS,
		.maxThreadsDim = DEV_LIMITS_BLOCK_SIZES,
		.maxGridSize = DEV_LIMITS_GRID_SIZES,
		.sharedMemPerBlock = DEV_LIMITS_SHARED_BYTES,
		.totalConstantMemory = DEV_LIMITS_CONSTANT_BYTES,
		.SIMDWidth = DEV_LIMITS_WARP_THREADS,
		.memPitch = 0x7fffffff,
		.regsPerBlock = DEV_LIMITS_N_REGISTERS,
		.clockRate = 1000000,
		.textureAlign = 512,
	};
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice device)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_card(device, &card));
	if (!text || size < 13)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(text, (size_t)size, "0000:00:%02x.0", card->number);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *ret_device, const char *text)
{
	unsigned domain = 0, bus, number;
	struct dev_card *card;

	DEV_TRY(dev_driver_enter());
	if (!ret_device || !text)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(text, "%x:%x:%x", &domain, &bus, &number) != 3) {
		domain = 0;
		if (sscanf(text, "%x:%x", &bus, &number) != 2)
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (domain || bus)
		return CUDA_ERROR_INVALID_DEVICE;
	DEV_TRY(dev_driver_card_numbered(number, &card));
	*ret_device = (CUdevice)card->index;
	return CUDA_SUCCESS;
}
