/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL driver that only tells about itself: a second platform for who lists them all. */

#define CL_TARGET_OPENCL_VERSION 300

#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <string.h>

CL_API_ENTRY cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint n, cl_platform_id *platforms,
						       cl_uint *ret_n);

static const cl_icd_dispatch calls;

/* What loaders look at comes first. */
struct _cl_platform_id {
	const cl_icd_dispatch *dispatch;
};
struct _cl_device_id {
	const cl_icd_dispatch *dispatch;
};

static struct _cl_platform_id platform = { &calls };
static struct _cl_device_id device = { &calls };

static cl_int answer(const void *value, size_t value_size, size_t size, void *to, size_t *ret_size)
{
	if (to && size < value_size)
		return CL_INVALID_VALUE;
	if (to)
		memcpy(to, value, value_size);
	if (ret_size)
		*ret_size = value_size;
	return CL_SUCCESS;
}

static cl_int answer_text(const char *text, size_t size, void *to, size_t *ret_size)
{
	return answer(text, strlen(text) + 1, size, to, ret_size);
}

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id asked, cl_platform_info what,
						  size_t size, void *to, size_t *ret_size)
{
	switch (what) {
	case CL_PLATFORM_NAME:
		return answer_text("Stub Platform", size, to, ret_size);
	case CL_PLATFORM_VENDOR:
		return answer_text("Sluice", size, to, ret_size);
	case CL_PLATFORM_VERSION:
		return answer_text("OpenCL 1.2 stub", size, to, ret_size);
	case CL_PLATFORM_PROFILE:
		return answer_text("FULL_PROFILE", size, to, ret_size);
	case CL_PLATFORM_EXTENSIONS:
		return answer_text("cl_khr_icd", size, to, ret_size);
	case CL_PLATFORM_ICD_SUFFIX_KHR:
		return answer_text("STUB", size, to, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int CL_API_CALL device_ids(cl_platform_id asked, cl_device_type type, cl_uint n,
				     cl_device_id *devices, cl_uint *ret_n)
{
	if (!(type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)))
		return CL_DEVICE_NOT_FOUND;
	if (devices && n)
		devices[0] = &device;
	if (ret_n)
		*ret_n = 1;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL device_info(cl_device_id asked, cl_device_info what, size_t size,
				      void *to, size_t *ret_size)
{
	const cl_device_type type = CL_DEVICE_TYPE_GPU;
	const cl_platform_id mine = &platform;
	const cl_ulong bytes = 1ul << 30;

	switch (what) {
	case CL_DEVICE_NAME:
		return answer_text("stub device", size, to, ret_size);
	case CL_DEVICE_EXTENSIONS:
		return answer_text("", size, to, ret_size);
	case CL_DEVICE_TYPE:
		return answer(&type, sizeof(type), size, to, ret_size);
	case CL_DEVICE_PLATFORM:
		return answer(&mine, sizeof(mine), size, to, ret_size);
	case CL_DEVICE_GLOBAL_MEM_SIZE:
		return answer(&bytes, sizeof(bytes), size, to, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

static const cl_icd_dispatch calls = {
	.clGetPlatformInfo = clGetPlatformInfo,
	.clGetDeviceIDs = device_ids,
	.clGetDeviceInfo = device_info,
};

CL_API_ENTRY cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint n, cl_platform_id *platforms,
						       cl_uint *ret_n)
{
	if (platforms && n)
		platforms[0] = &platform;
	if (ret_n)
		*ret_n = 1;
	return CL_SUCCESS;
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
	return !strcmp(name, "clIcdGetPlatformIDsKHR") ? (void *)clIcdGetPlatformIDsKHR : NULL;
}
