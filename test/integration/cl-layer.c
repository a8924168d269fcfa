/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is different with the layer: stale handles are safe, and no extension leads past us.
 */

#include "cl-lib.h"

#include <unistd.h>

static void a_stale_handle_is_invalid(void **state)
{
	struct cl_bench *b = *state;
	cl_kernel muladd = cl_bench_kernel(b, "muladd");
	cl_mem gone = cl_bench_buffer(b, 0, 64, NULL), other = cl_bench_buffer(b, 0, 64, NULL);
	cl_uint word = 0;
	size_t n = 1;

	assert_cl(clSetKernelArg(muladd, 0, sizeof(gone), &gone));
	assert_cl(clSetKernelArg(muladd, 1, sizeof(other), &other));
	assert_cl(clSetKernelArg(muladd, 2, sizeof(word), &word));
	assert_cl(clReleaseMemObject(gone));
	assert_int_equal(clReleaseMemObject(gone), CL_INVALID_MEM_OBJECT);
	assert_int_equal(clRetainMemObject(gone), CL_INVALID_MEM_OBJECT);
	assert_int_equal(clSetKernelArg(muladd, 0, sizeof(gone), &gone), CL_INVALID_MEM_OBJECT);
	assert_int_equal(clEnqueueReadBuffer(b->queue, gone, CL_TRUE, 0, 4, &word, 0, NULL, NULL),
			 CL_INVALID_MEM_OBJECT);
	assert_int_equal(clEnqueueNDRangeKernel(b->queue, muladd, 1, NULL, &n, NULL, 0, NULL, NULL),
			 CL_INVALID_KERNEL_ARGS);
	assert_cl(clReleaseMemObject(other));
	assert_cl(clReleaseKernel(muladd));
}

static void a_command_of_nobody_s_object_is_refused(void **state)
{
	struct cl_bench *b = *state;
	cl_mem known = cl_bench_buffer(b, 0, 64, NULL);
	cl_uint word = 0;

	assert_int_equal(clEnqueueWriteBuffer(b->queue, NULL, CL_TRUE, 0, 4, &word, 0, NULL, NULL),
			 CL_INVALID_MEM_OBJECT);
	assert_int_equal(
		clEnqueueWriteBuffer(b->queue, (cl_mem)&word, CL_TRUE, 0, 4, &word, 0, NULL, NULL),
		CL_INVALID_MEM_OBJECT);
	assert_int_equal(
		clEnqueueCopyBuffer(b->queue, known, (cl_mem)&word, 0, 0, 4, 0, NULL, NULL),
		CL_INVALID_MEM_OBJECT);
	assert_int_equal(clEnqueueWriteBuffer(NULL, known, CL_TRUE, 0, 4, &word, 0, NULL, NULL),
			 CL_INVALID_COMMAND_QUEUE);
	assert_cl(clReleaseMemObject(known));
}

static void no_extension_leads_past_the_layer(void **state)
{
	struct cl_bench *b = *state;
	size_t size = 0;
	char *list;

	assert_cl(clGetDeviceInfo(b->device, CL_DEVICE_EXTENSIONS, 0, NULL, &size));
	list = malloc(size);
	assert_non_null(list);
	assert_cl(clGetDeviceInfo(b->device, CL_DEVICE_EXTENSIONS, size, list, NULL));
	assert_int_equal(strlen(list) + 1, size);
	assert_null(strstr(list, "cl_khr_command_buffer"));
	assert_non_null(strstr(list, "cl_khr_"));
	free(list);
	assert_null(
		clGetExtensionFunctionAddressForPlatform(b->platform, "clCommandNDRangeKernelKHR"));
	assert_null(clGetExtensionFunctionAddressForPlatform(b->platform,
							     "clSetContentSizeBufferPoCL"));
	assert_null(clGetExtensionFunctionAddress("clCommandCopyBufferKHR"));
	assert_non_null(clGetExtensionFunctionAddressForPlatform(b->platform, "clCreateBuffer"));
}

/* The loader has cut the variable by now; what a child inherits is whole. */
static void children_inherit_all_layers(void **state)
{
	const char *whole = getenv("TEST_LAYERS"), *now = getenv("OPENCL_LAYERS");

	assert_non_null(whole);
	assert_non_null(now);
	assert_string_equal(now, whole);
}

/* The limiter's board is this test's own; one that an older build left is of no use. */
static void forget_board(void)
{
	const char *folder = getenv("SLUICE_BOARDS"), *name = getenv("SLUICE_LIMITER_BOARD");
	char path[4096];

	if (folder && name &&
	    snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path))
		unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stale_handle_is_invalid),
		cmocka_unit_test(a_command_of_nobody_s_object_is_refused),
		cmocka_unit_test(no_extension_leads_past_the_layer),
		cmocka_unit_test(children_inherit_all_layers),
	};

	forget_board();
	return cmocka_run_group_tests_name("cl-layer", tests, cl_bench_setup, cl_bench_teardown);
}
