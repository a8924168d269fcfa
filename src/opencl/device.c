/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "opencl/device.h"

static struct slu_device devices[SLU_WIRE_DEVICES_MAX]; /* guarded by the layer's lock */

static cl_device_id device_root_of(cl_device_id handle)
{
	for (;;) {
		cl_device_id parent = NULL;

		if (slu_layer_next.clGetDeviceInfo(handle, CL_DEVICE_PARENT_DEVICE, sizeof(parent),
						   &parent, NULL) != CL_SUCCESS ||
		    !parent)
			return handle;
		handle = parent;
	}
}

static void device_ask_string(cl_device_id handle, cl_device_info what, char *buf, size_t size)
{
	size_t length = 0;

	buf[0] = '\0';
	if (slu_layer_next.clGetDeviceInfo(handle, what, size - 1, buf, &length) == CL_SUCCESS)
		buf[SLU_MIN(length, size - 1)] = '\0';
	else
		buf[0] = '\0';
}

static uint64_t string_hash(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
	return h;
}

/*
 * A device without a UUID is named by its platform, its name and its place among the platform's
 * devices: alike in every process of this machine, which is what it takes.
 */
static void device_make_uuid(cl_device_id handle, const char *name, uint8_t uuid[static 16])
{
	cl_device_id all[64];
	cl_platform_id platform = NULL;
	cl_uint n = 0, index = 0;
	char vendor[128] = "";
	uint64_t h[2];

	slu_layer_next.clGetDeviceInfo(handle, CL_DEVICE_PLATFORM, sizeof(platform), &platform,
				       NULL);
	if (platform) {
		slu_layer_next.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(vendor) - 1,
						 vendor, NULL);
		if (slu_layer_next.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, SLU_ARRAY_SIZE(all),
						  all, &n) != CL_SUCCESS)
			n = 0;
	}
	n = SLU_MIN(n, (cl_uint)SLU_ARRAY_SIZE(all));
	while (index < n && all[index] != handle)
		index++;
	h[0] = string_hash(string_hash(UINT64_C(0xcbf29ce484222325), vendor), name) ^ index;
	h[1] = string_hash(string_hash(h[0] * UINT64_C(0x9e3779b97f4a7c15), name), vendor) + index;
	memcpy(uuid, h, 16);
}

bool slu_device_expects_manager(void)
{
	return secure_getenv("SLUICE_SOCKET") || secure_getenv("SLUICE_TORTURE");
}

/* By the version's own specification. */
static cl_ulong least_max_alloc(cl_device_id handle)
{
	char version[64] = "";

	slu_layer_next.clGetDeviceInfo(handle, CL_DEVICE_VERSION, sizeof(version), version, NULL);
	return strncmp(version, "OpenCL 1.", 9) == 0 ? 128 * SLU_MIB : 32 * SLU_MIB;
}

cl_int slu_device_ask_max_alloc(cl_device_id handle, cl_ulong *ret_bytes)
{
	cl_ulong most, total, share;
	cl_int r;

	r = slu_layer_next.clGetDeviceInfo(handle, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(most),
					   &most, NULL);
	if (r != CL_SUCCESS)
		return r;
	if (slu_device_expects_manager() &&
	    slu_layer_next.clGetDeviceInfo(handle, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(total), &total,
					   NULL) == CL_SUCCESS) {
		share = SLU_MAX(total / 4, least_max_alloc(handle));
		most = SLU_MIN(most, share);
	}
	*ret_bytes = most;
	return CL_SUCCESS;
}

static void device_identify(cl_device_id handle, struct slu_hello_device *ret_identity)
{
	struct slu_hello_device id = { .mode = SLU_MODE_LAUNCH };
	cl_device_pci_bus_info_khr pci;
	cl_ulong total = 0;
	char extensions[8192];

	device_ask_string(handle, CL_DEVICE_NAME, id.name, sizeof(id.name));
	device_ask_string(handle, CL_DEVICE_EXTENSIONS, extensions, sizeof(extensions));
	slu_layer_next.clGetDeviceInfo(handle, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(total), &total,
				       NULL);
	id.total_bytes = total;
	if (!strstr(extensions, "cl_khr_device_uuid") ||
	    slu_layer_next.clGetDeviceInfo(handle, CL_DEVICE_UUID_KHR, sizeof(id.uuid), id.uuid,
					   NULL) != CL_SUCCESS)
		device_make_uuid(handle, id.name, id.uuid);
	if (strstr(extensions, "cl_khr_pci_bus_info") &&
	    slu_layer_next.clGetDeviceInfo(handle, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof(pci), &pci,
					   NULL) == CL_SUCCESS)
		snprintf(id.pci, sizeof(id.pci), "%04x:%02x:%02x.%x", pci.pci_domain & 0xffff,
			 pci.pci_bus & 0xff, pci.pci_device & 0xff, pci.pci_function & 0xf);
	*ret_identity = id;
}

struct slu_device *slu_device_get(cl_device_id handle)
{
	struct slu_device *device = NULL;
	struct slu_client_device *client = NULL;
	struct slu_hello_device identity;
	bool is_bounded;

	if (!handle)
		return NULL;
	handle = device_root_of(handle);

	slu_layer_take();
	for (size_t i = 0; i < SLU_ARRAY_SIZE(devices) && !device; i++)
		if (devices[i].state == SLU_DEVICE_NONE || devices[i].handle == handle)
			device = &devices[i];
	if (device && device->state == SLU_DEVICE_NONE) {
		device->handle = handle;
		device->state = SLU_DEVICE_ADDING;
		slu_layer_give();

		device_identify(handle, &identity);
		atomic_store(&device->is_eager, !slu_device_expects_manager());
		if (slu_client_device_add(&identity, SLU_MODE_LAUNCH, &slu_device_backend, device,
					  &client) < 0)
			client = NULL;
		is_bounded = client && slu_client_device_has_daemon(client);

		slu_layer_take();
		device->client = client;
		if (client) {
			device->index = slu_client_device_index(client);
			atomic_store(&device->is_managed, is_bounded);
		}
		atomic_store(&device->lease, SLU_WIRE_DEVICES_MAX + (uint64_t)(device - devices));
		device->state = SLU_DEVICE_KNOWN;
		pthread_cond_broadcast(&slu_layer_changed);
	}
	while (device && device->state != SLU_DEVICE_KNOWN)
		slu_lock_wait(&slu_layer_lock, &slu_layer_changed, NULL);
	slu_layer_give();
	return device;
}
