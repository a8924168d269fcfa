/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Virtual memory management: physical handles, reserved addresses, mappings, access. These calls
 * need no context. They count as unsafe while somebody captures.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/fault.h"
#include "softgpu/driver/memory/ticket.h"

static CUresult window_result(int r)
{
	switch (r) {
	case 0:
		return CUDA_SUCCESS;
	case DEV_WINDOW_E_INVALID:
		return CUDA_ERROR_INVALID_VALUE;
	case DEV_WINDOW_E_FULL:
		return CUDA_ERROR_OUT_OF_MEMORY;
	default:
		return dev_driver_result(r);
	}
}

static CUresult vmm_fault(enum dev_fault_kind kind, CUresult error)
{
	uint64_t extra_ns;

	return dev_fault_next(kind, &extra_ns) == DEV_FAULT_FAIL ? error : CUDA_SUCCESS;
}

static bool is_host(CUmemLocationType type)
{
	return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}

/* What is not made here is refused, and not silently made otherwise. */
static CUresult check_prop(const CUmemAllocationProp *prop, struct dev_card **ret_card)
{
	if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->allocFlags.compressionType || prop->allocFlags.usage)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	*ret_card = NULL;
	if (is_host(prop->location.type))
		return prop->location.id < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	return dev_driver_card(prop->location.id, ret_card);
}

CUresult cuMemGetAllocationGranularity(size_t *ret_bytes, const CUmemAllocationProp *prop,
				       CUmemAllocationGranularity_flags option)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_enter());
	if (!ret_bytes || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(check_prop(prop, &card));
	*ret_bytes = dev_driver.window.granule_bytes;
	return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *ret_handle, size_t bytes,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct dev_phys *phys;
	struct dev_card *card;
	int r;

	DEV_TRY(dev_driver_enter());
	if (!ret_handle || flags || !bytes || bytes % dev_driver.window.granule_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(check_prop(prop, &card));
	DEV_TRY(dev_capture_unsafe());
	if (dev_fault_refuses(card ? bytes : 0))
		return CUDA_ERROR_OUT_OF_MEMORY;
	dev_driver_change_begin();
	r = card ? dev_phys_new(card, bytes, &phys) : dev_phys_new_host(bytes, false, &phys);
	dev_driver_change_end();
	if (r)
		return r == DEV_CARD_E_FULL ? CUDA_ERROR_OUT_OF_MEMORY : dev_driver_result(r);
	phys->prop = *prop;
	*ret_handle = (CUmemGenericAllocationHandle)(uintptr_t)phys;
	return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	CUresult result = CUDA_SUCCESS;
	struct dev_phys *phys;

	DEV_TRY(dev_driver_enter());
	DEV_TRY(dev_capture_unsafe());
	dev_driver_lock();
	phys = dev_phys_get(handle);
	if (!phys || !phys->n_handle_refs) {
		result = CUDA_ERROR_INVALID_VALUE;
	} else {
		phys->n_handle_refs--;
		dev_phys_unref(phys);
	}
	dev_driver_unlock();
	return result;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret_handle, void *address)
{
	CUresult result = CUDA_SUCCESS;
	struct dev_mapping *m;

	DEV_TRY(dev_driver_enter());
	if (!ret_handle)
		return CUDA_ERROR_INVALID_VALUE;
	dev_driver_lock();
	m = dev_window_mapping(&dev_driver.window, (uintptr_t)address);
	if (!m) {
		result = CUDA_ERROR_INVALID_VALUE;
	} else {
		m->phys->n_refs++;
		m->phys->n_handle_refs++;
		*ret_handle = (CUmemGenericAllocationHandle)(uintptr_t)m->phys;
	}
	dev_driver_unlock();
	return result;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *ret_prop,
						CUmemGenericAllocationHandle handle)
{
	struct dev_phys *phys;

	DEV_TRY(dev_driver_enter());
	phys = dev_phys_get(handle);
	if (!ret_prop || !phys)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_prop = phys->prop;
	return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *ret_address, size_t bytes, size_t align, CUdeviceptr hint,
			     unsigned long long flags)
{
	uint64_t address;
	int r;

	DEV_TRY(dev_driver_enter());
	if (!ret_address || flags)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_capture_unsafe());
	dev_driver_lock();
	r = dev_window_reserve(&dev_driver.window, bytes, align, hint, &address);
	dev_driver_unlock();
	DEV_TRY(window_result(r));
	*ret_address = address;
	return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
	int r;

	DEV_TRY(dev_driver_enter());
	DEV_TRY(dev_capture_unsafe());
	dev_driver_lock();
	r = dev_window_release(&dev_driver.window, address, bytes);
	dev_driver_unlock();
	return window_result(r);
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
		  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct dev_phys *phys;
	int r = DEV_WINDOW_E_INVALID;

	DEV_TRY(dev_driver_enter());
	if (offset || flags)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_capture_unsafe());
	DEV_TRY(vmm_fault(DEV_FAULT_MAP, CUDA_ERROR_MAP_FAILED));
	dev_driver_lock();
	phys = dev_phys_get(handle);
	if (phys && phys->n_handle_refs && phys->bytes == bytes)
		r = dev_window_map(&dev_driver.window, address, phys);
	dev_driver_unlock();
	return window_result(r);
}

/* What an allocation lies on is not the program's to change. */
static bool is_internal_locked(uint64_t address, uint64_t bytes)
{
	const struct dev_mapping *first = dev_window_mapping(&dev_driver.window, address);
	const struct dev_mapping *last =
		bytes ? dev_window_mapping(&dev_driver.window, address + bytes - 1) : NULL;

	return (first && first->phys->is_internal) || (last && last->phys->is_internal);
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes)
{
	int r;

	DEV_TRY(dev_driver_enter());
	DEV_TRY(dev_capture_unsafe());
	DEV_TRY(vmm_fault(DEV_FAULT_UNMAP, CUDA_ERROR_UNMAP_FAILED));
	dev_driver_lock();
	r = is_internal_locked(address, bytes)
		    ? DEV_WINDOW_E_INVALID
		    : dev_window_unmap(&dev_driver.window, address, bytes);
	dev_driver_unlock();
	return window_result(r);
}

static CUresult vmm_whose(const CUmemLocation *location, int *ret_card)
{
	struct dev_card *card;

	if (is_host(location->type)) {
		*ret_card = -1;
		return CUDA_SUCCESS;
	}
	if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_card = location->id;
	return dev_driver_card(location->id, &card);
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *descs, size_t n)
{
	int cards[DEV_SETTINGS_DEVICES_MAX + 1];
	int r = 0;

	DEV_TRY(dev_driver_enter());
	if (!descs || !n || n > DEV_SETTINGS_DEVICES_MAX + 1)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		DEV_TRY(vmm_whose(&descs[i].location, &cards[i]));
		if (descs[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
		    descs[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
		    descs[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			return CUDA_ERROR_INVALID_VALUE;
	}
	DEV_TRY(dev_capture_unsafe());
	DEV_TRY(vmm_fault(DEV_FAULT_ACCESS, CUDA_ERROR_UNKNOWN));
	dev_driver_lock();
	if (is_internal_locked(address, bytes))
		r = DEV_WINDOW_E_INVALID;
	/* the driver's flags are the table's bits */
	for (size_t i = 0; i < n && !r; i++)
		r = dev_window_set_access(&dev_driver.window, address, bytes, cards[i],
					  (uint8_t)descs[i].flags);
	dev_driver_unlock();
	return window_result(r);
}

CUresult cuMemGetAccess(unsigned long long *ret_flags, const CUmemLocation *location,
			CUdeviceptr address)
{
	CUresult result = CUDA_SUCCESS;
	struct dev_mapping *m;
	int card;

	DEV_TRY(dev_driver_enter());
	if (!ret_flags || !location)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(vmm_whose(location, &card));
	dev_driver_lock();
	m = dev_window_mapping(&dev_driver.window, address);
	if (!m)
		result = CUDA_ERROR_INVALID_VALUE;
	else if (card >= 0)
		*ret_flags = m->access[card];
	else
		*ret_flags = (m->is_host_readable ? CU_MEM_ACCESS_FLAGS_PROT_READ : 0) |
			     (m->is_host_writable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : 0);
	dev_driver_unlock();
	return result;
}

/* -- between processes ---------------------------------------------------------------------- */

/*
 * The descriptor of a card's memory is a small sealed file with its ticket; that of the host's
 * memory is the memory itself. The first keeps nothing alive: the memory lives as long as somebody
 * holds a handle or a mapping of it.
 */
CUresult cuMemExportToShareableHandle(void *ret_shareable, CUmemGenericAllocationHandle handle,
				      CUmemAllocationHandleType type, unsigned long long flags)
{
	struct dev_card_ticket ticket;
	struct dev_phys *phys;
	int r = -EINVAL, fd = -1;

	DEV_TRY(dev_driver_enter());
	if (!ret_shareable || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	dev_driver_lock();
	phys = dev_phys_get(handle);
	if (phys && phys->n_handle_refs && (phys->prop.requestedHandleTypes & (unsigned)type)) {
		r = phys->card ? dev_phys_export(phys) : 0;
		if (!phys->card)
			fd = fcntl(phys->host_fd, F_DUPFD_CLOEXEC, 0);
		ticket = phys->ticket;
	}
	dev_driver_unlock();
	DEV_TRY(dev_driver_result(r));
	if (fd < 0 && dev_ticket_write(&ticket, sizeof(ticket), &fd))
		return CUDA_ERROR_OPERATING_SYSTEM;
	*(int *)ret_shareable = fd;
	return CUDA_SUCCESS;
}

static CUresult vmm_import(int fd, struct dev_phys **ret_phys)
{
	struct dev_card_ticket ticket;
	int seals = fcntl(fd, F_GET_SEALS), own, r;
	struct dev_card *card;
	struct stat st;

	if (seals < 0 || fstat(fd, &st) < 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!(seals & F_SEAL_WRITE)) {
		if (!st.st_size || (uint64_t)st.st_size % dev_driver.window.granule_bytes)
			return CUDA_ERROR_INVALID_VALUE;
		own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (own < 0)
			return CUDA_ERROR_OPERATING_SYSTEM;
		return dev_driver_result(dev_phys_import_host(own, (uint64_t)st.st_size, ret_phys));
	}
	if (dev_ticket_read(fd, sizeof(ticket), &ticket))
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_driver_card_numbered(ticket.card, &card));
	r = dev_phys_import(card, &ticket, ret_phys);
	return r == -ENOENT ? CUDA_ERROR_INVALID_VALUE : dev_driver_result(r);
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *ret_handle, void *shareable,
					CUmemAllocationHandleType type)
{
	struct dev_phys *phys;

	DEV_TRY(dev_driver_enter());
	if (!ret_handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_capture_unsafe());
	DEV_TRY(vmm_import((int)(intptr_t)shareable, &phys));
	phys->prop = (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = type,
		.location = { phys->card ? CU_MEM_LOCATION_TYPE_DEVICE
					 : CU_MEM_LOCATION_TYPE_HOST_NUMA,
			      phys->card ? (int)phys->card->index : 0 },
	};
	*ret_handle = (CUmemGenericAllocationHandle)(uintptr_t)phys;
	return CUDA_SUCCESS;
}
