/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Which extensions a program sees, which of their functions it gets, and the size of the device's
 * memory that it sees, over a driver that has everything.
 */

#include "lib/test.h"

#include "base/util.h"
#include "opencl/layer.h"

static const char words[] = "cl_khr_fp64 cl_khr_command_buffer cl_khr_semaphore  cl_khr_gl_sharing "
			    "cl_khr_external_memory "
			    "cl_ext_device_fission cl_arm_shared_virtual_memory";
static const char seen_words[] = "cl_khr_fp64 cl_khr_gl_sharing cl_ext_device_fission";

static const cl_name_version versions[] = { { 1, "cl_khr_semaphore" },
					    { 2, "cl_khr_fp64" },
					    { 3, "cl_khr_command_buffer" } };

static char the_drivers;

/* What the driver says of its device. */
static const char *version;
static cl_ulong total_bytes, max_bytes;

static void *CL_API_CALL get_address(cl_platform_id platform, const char *name)
{
	return &the_drivers;
}

static void *CL_API_CALL get_old_address(const char *name)
{
	return &the_drivers;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info what, size_t size,
					  void *param, size_t *ret_size)
{
	if (what == CL_DEVICE_VERSION)
		return slu_layer_answer(version, strlen(version) + 1, size, param, ret_size);
	if (what == CL_DEVICE_GLOBAL_MEM_SIZE)
		return slu_layer_answer(&total_bytes, sizeof(total_bytes), size, param, ret_size);
	if (what == CL_DEVICE_MAX_MEM_ALLOC_SIZE)
		return slu_layer_answer(&max_bytes, sizeof(max_bytes), size, param, ret_size);
	if (what == CL_DEVICE_EXTENSIONS)
		return slu_layer_answer(words, sizeof(words), size, param, ret_size);
	return slu_layer_answer(versions, sizeof(versions), size, param, ret_size);
}

static int setup(void **state)
{
	slu_layer_next.clGetExtensionFunctionAddressForPlatform = get_address;
	slu_layer_next.clGetExtensionFunctionAddress = get_old_address;
	slu_layer_next.clGetDeviceInfo = get_device_info;
	return 0;
}

static void only_what_takes_no_object_is_the_drivers(void **state)
{
	enum whose { NOBODYS, OURS, DRIVERS };
	static const struct {
		const char *name;
		enum whose whose;
	} rows[] = {
		{ "clCreateBuffer", OURS },
		{ "clCreateFromEGLImageKHR", OURS },
		{ "clEnqueueMarkerWithWaitListKHR", OURS },
		{ "clGetGLContextInfoKHR", DRIVERS },
		{ "clCreateEventFromGLsyncKHR", DRIVERS },
		{ "clGetKernelSubGroupInfoKHR", DRIVERS },
		{ "clCreateSubDevicesEXT", DRIVERS },
		{ "clRetainDeviceEXT", DRIVERS },
		{ "clReleaseDeviceEXT", DRIVERS },
		{ "clIcdGetPlatformIDsKHR", DRIVERS },
		{ "clCreateSemaphoreWithPropertiesKHR", NOBODYS },
		{ "clEnqueueWaitSemaphoresKHR", NOBODYS },
		{ "clEnqueueSignalSemaphoresKHR", NOBODYS },
		{ "clCreateCommandBufferKHR", NOBODYS },
		{ "clCommandNDRangeKernelKHR", NOBODYS },
		{ "clSetKernelArgMemPointerINTEL", NOBODYS },
		{ "clSVMAllocARM", NOBODYS },
		{ "clWhoeverKnows", NOBODYS },
		{ NULL, NOBODYS },
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		const void *got[] = {
			slu_call_clGetExtensionFunctionAddressForPlatform(NULL, rows[i].name),
			slu_call_clGetExtensionFunctionAddress(rows[i].name),
		};

		print_message("# %s\n", rows[i].name ? rows[i].name : "no name");
		assert_ptr_equal(got[0], got[1]);
		if (rows[i].whose == OURS)
			assert_true(got[0] && got[0] != &the_drivers);
		else
			assert_ptr_equal(got[0], rows[i].whose == DRIVERS ? &the_drivers : NULL);
	}
}

static void what_would_lead_past_us_is_not_in_the_lists(void **state)
{
	cl_name_version seen[SLU_ARRAY_SIZE(versions)];
	char list[sizeof(words)];
	size_t size = 0;

	assert_int_equal(
		slu_call_clGetDeviceInfo(NULL, CL_DEVICE_EXTENSIONS, sizeof(list), list, &size),
		CL_SUCCESS);
	assert_string_equal(list, seen_words);
	assert_int_equal(size, sizeof(seen_words));
	assert_int_equal(slu_call_clGetDeviceInfo(NULL, CL_DEVICE_EXTENSIONS_WITH_VERSION,
						  sizeof(seen), seen, &size),
			 CL_SUCCESS);
	assert_int_equal(size, sizeof(seen[0]));
	assert_string_equal(seen[0].name, "cl_khr_fp64");
}

static void the_largest_object_is_a_share_of_a_shared_device(void **state)
{
	static const struct {
		const char *what, *version;
		bool is_shared;
		uint64_t total_mib, driver_mib, expect_mib;
	} rows[] = {
		{ "nobody shares it", "OpenCL 3.0 x", false, 24576, 24576, 24576 },
		{ "a quarter", "OpenCL 3.0 x", true, 24576, 24576, 6144 },
		{ "the minimum", "OpenCL 3.0 x", true, 64, 64, 32 },
		{ "the minimum of old", "OpenCL 1.2 x", true, 256, 256, 128 },
		{ "not more than the driver says", "OpenCL 1.2 x", true, 64, 64, 64 },
		{ "the driver says less", "OpenCL 3.0 x", true, 24576, 4096, 4096 },
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		cl_ulong seen = 0;
		size_t size = 0;

		print_message("# %s\n", rows[i].what);
		version = rows[i].version;
		total_bytes = rows[i].total_mib * SLU_MIB;
		max_bytes = rows[i].driver_mib * SLU_MIB;
		if (rows[i].is_shared)
			setenv("SLUICE_SOCKET", "/nowhere", 1);
		else
			unsetenv("SLUICE_SOCKET");
		assert_int_equal(slu_call_clGetDeviceInfo(NULL, CL_DEVICE_MAX_MEM_ALLOC_SIZE,
							  sizeof(seen), &seen, &size),
				 CL_SUCCESS);
		assert_int_equal(seen, rows[i].expect_mib * SLU_MIB);
		assert_int_equal(size, sizeof(seen));
	}
	unsetenv("SLUICE_SOCKET");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_takes_no_object_is_the_drivers),
		cmocka_unit_test(what_would_lead_past_us_is_not_in_the_lists),
		cmocka_unit_test(the_largest_object_is_a_share_of_a_shared_device),
	};

	return cmocka_run_group_tests_name("extension", tests, setup, NULL);
}
