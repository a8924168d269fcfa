/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Extensions. Their functions are bare pointers into the driver; one that takes a cl_mem would get
 * a proxy. So the address of a core call is the layer's. A program gets an extension's function if
 * that is known to take no object and to give away no address; all others get NULL. The lists leave
 * out the extensions that are useless without such functions.
 */

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "opencl/device.h"
#include "opencl/layer.h"

/*
 * Recorded handles, device addresses, objects made from other APIs' memory; and semaphores, because
 * a command that waits for one looks like a command that runs (docs/decisions/0015).
 */
static const char *const hidden[] = {
	"cl_khr_command_buffer",
	"cl_khr_command_buffer_mutable_dispatch",
	"cl_khr_command_buffer_multi_device",
	"cl_ext_buffer_device_address",
	"cl_ext_cxx_for_opencl_buffer_device_address",
	"cl_khr_external_memory",
	"cl_khr_external_memory_dma_buf",
	"cl_khr_external_memory_dx",
	"cl_khr_external_memory_opaque_fd",
	"cl_khr_external_memory_win32",
	"cl_khr_semaphore",
	"cl_khr_external_semaphore",
	"cl_khr_external_semaphore_dx_fence",
	"cl_khr_external_semaphore_opaque_fd",
	"cl_khr_external_semaphore_sync_fd",
	"cl_khr_external_semaphore_win32",
	"cl_ext_image_requirements_info",
	"cl_ext_migrate_memobject",
	"cl_intel_unified_shared_memory",
	"cl_intel_mem_alloc_buffer_location",
	"cl_intel_create_buffer_with_properties",
	"cl_intel_va_api_media_sharing",
	"cl_pocl_content_size",
	"cl_pocl_svm_rect",
	"cl_amd_bus_addressable_memory",
	"cl_arm_import_memory",
	"cl_arm_import_memory_host",
	"cl_arm_import_memory_dma_buf",
	"cl_arm_import_memory_protected",
	"cl_arm_shared_virtual_memory",
	"cl_img_generate_mipmap",
	"cl_img_use_gralloc_ptr",
	"cl_qcom_ext_host_ptr",
	"cl_nv_create_buffer",
};

static const char *const harmless[] = {
	"clIcdGetPlatformIDsKHR",
	"clGetICDLoaderInfoOCLICD",
	"clGetKernelSuggestedLocalWorkSizeKHR",
	"clCreateProgramWithILKHR",
	"clTerminateContextKHR",
	"clGetSupportedGLTextureFormatsINTEL",
	"clGetGLContextInfoKHR",
	"clCreateEventFromGLsyncKHR",
	"clCreateEventFromEGLSyncKHR",
	"clGetKernelSubGroupInfoKHR",
	"clCreateSubDevicesEXT",
	"clRetainDeviceEXT",
	"clReleaseDeviceEXT",
	"clGetDeviceImageInfoQCOM",
	"clCreateAcceleratorINTEL",
	"clGetAcceleratorInfoINTEL",
	"clRetainAcceleratorINTEL",
	"clReleaseAcceleratorINTEL",
	"clLogMessagesToSystemLogAPPLE",
	"clLogMessagesToStdoutAPPLE",
	"clLogMessagesToStderrAPPLE",
};

struct entry {
	const char *name;
	void *call;
};

/* clang-format off */
static const struct entry ours[] = {
#define SLU_CALL(name, meaning) { #name, (void *)slu_call_##name },
#include "opencl/calls.def"
#undef SLU_CALL
};

/* The older names of calls that are ours. */
static const struct entry aliases[] = {
	{ "clCreateCommandQueueWithPropertiesKHR", (void *)slu_call_clCreateCommandQueueWithProperties },
	{ "clEnqueueMarkerWithWaitListKHR",        (void *)slu_call_clEnqueueMarkerWithWaitList },
	{ "clCreateBufferWithPropertiesINTEL",     (void *)slu_call_clCreateBufferWithProperties },
	{ "clSetMemObjectDestructorAPPLE",         (void *)slu_call_clSetMemObjectDestructorCallback },
};
/* clang-format on */

static bool name_is_in(const char *const *list, size_t n, const char *name, size_t length)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == length && !memcmp(list[i], name, length))
			return true;
	return false;
}

static bool extension_is_hidden(const char *name, size_t length)
{
	return name_is_in(hidden, SLU_ARRAY_SIZE(hidden), name, length);
}

/* Return: true if the answer is known here. */
static bool extension_route(const char *name, void **ret_call)
{
	*ret_call = NULL;
	if (!name)
		return true;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(ours); i++)
		if (!strcmp(ours[i].name, name)) {
			*ret_call = ours[i].call;
			return true;
		}
	for (size_t i = 0; i < SLU_ARRAY_SIZE(aliases); i++)
		if (!strcmp(aliases[i].name, name)) {
			*ret_call = aliases[i].call;
			return true;
		}
	return !name_is_in(harmless, SLU_ARRAY_SIZE(harmless), name, strlen(name));
}

/* Takes the hidden words out of @list in place. Return: the new length with the end's zero. */
static size_t filter_words(char *list)
{
	char *to = list, *from = list;

	while (*from) {
		size_t length = strcspn(from, " ");

		if (length && !extension_is_hidden(from, length)) {
			if (to != list)
				*to++ = ' ';
			memmove(to, from, length);
			to += length;
		}
		from += length;
		from += strspn(from, " ");
	}
	*to = '\0';
	return (size_t)(to - list) + 1;
}

static size_t filter_versions(cl_name_version *list, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!extension_is_hidden(list[i].name, strnlen(list[i].name, sizeof(list[i].name))))
			list[kept++] = list[i];
	return kept * sizeof(*list);
}

/* The driver's answer about a list of extensions, filtered; @ask asks a platform or a device. */
static cl_int answer_filtered(cl_int (*ask)(void *, cl_uint, size_t, void *, size_t *), void *whom,
			      cl_uint what, bool is_words, size_t size, void *param,
			      size_t *ret_size)
{
	size_t full = 0;
	char *list;
	cl_int r;

	r = ask(whom, what, 0, NULL, &full);
	if (r != CL_SUCCESS)
		return r;
	list = calloc(1, full + 1);
	if (!list)
		return CL_OUT_OF_HOST_MEMORY;
	r = ask(whom, what, full, list, NULL);
	if (r == CL_SUCCESS) {
		full = is_words ? filter_words(list)
				: filter_versions((cl_name_version *)list,
						  full / sizeof(cl_name_version));
		r = slu_layer_answer(list, full, size, param, ret_size);
	}
	free(list);
	return r;
}

static cl_int ask_platform(void *whom, cl_uint what, size_t size, void *param, size_t *ret_size)
{
	return slu_layer_next.clGetPlatformInfo(whom, what, size, param, ret_size);
}

static cl_int ask_device(void *whom, cl_uint what, size_t size, void *param, size_t *ret_size)
{
	return slu_layer_next.clGetDeviceInfo(whom, what, size, param, ret_size);
}

/* -- the calls -------------------------------------------------------------------------------- */

cl_int slu_call_clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size,
				  void *param, size_t *ret_size)
{
	if (what != CL_PLATFORM_EXTENSIONS && what != CL_PLATFORM_EXTENSIONS_WITH_VERSION)
		return slu_layer_next.clGetPlatformInfo(platform, what, size, param, ret_size);
	return answer_filtered(ask_platform, platform, what, what == CL_PLATFORM_EXTENSIONS, size,
			       param, ret_size);
}

cl_int slu_call_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *param,
				size_t *ret_size)
{
	cl_ulong bytes;
	cl_int r;

	if (what == CL_DEVICE_MAX_MEM_ALLOC_SIZE) {
		r = slu_device_ask_max_alloc(device, &bytes);
		return r ? r : slu_layer_answer(&bytes, sizeof(bytes), size, param, ret_size);
	}
	if (what != CL_DEVICE_EXTENSIONS && what != CL_DEVICE_EXTENSIONS_WITH_VERSION)
		return slu_layer_next.clGetDeviceInfo(device, what, size, param, ret_size);
	return answer_filtered(ask_device, device, what, what == CL_DEVICE_EXTENSIONS, size, param,
			       ret_size);
}

void *slu_call_clGetExtensionFunctionAddress(const char *name)
{
	void *call;

	if (extension_route(name, &call))
		return call;
	return slu_layer_next.clGetExtensionFunctionAddress(name);
}

void *slu_call_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
	void *call;

	if (extension_route(name, &call))
		return call;
	return slu_layer_next.clGetExtensionFunctionAddressForPlatform(platform, name);
}
