/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is charged beside objects: a program's global variables, and shared virtual memory. Over a
 * driver that does nothing but say that there are such.
 */

#include "lib/test.h"

#include "base/util.h"
#include "opencl/device.h"
#include "opencl/layer.h"

#include "../../bench/cl-costs.h"

enum { GLOBALS = 12288, SHARED = 8192 };

static size_t globals;
static char a_program;

static cl_int CL_API_CALL get_kernel_info(cl_kernel kernel, cl_kernel_info what, size_t size,
					  void *param, size_t *ret_size)
{
	cl_program program = (cl_program)(void *)&a_program;
	cl_context context = cl_costs_driver()->clCreateContext(NULL, 0, NULL, NULL, NULL, NULL);

	switch (what) {
	case CL_KERNEL_PROGRAM:
		return slu_layer_answer(&program, sizeof(program), size, param, ret_size);
	case CL_KERNEL_CONTEXT:
		return slu_layer_answer(&context, sizeof(context), size, param, ret_size);
	default:
		return cl_costs_driver()->clGetKernelInfo(kernel, what, size, param, ret_size);
	}
}

static cl_int CL_API_CALL get_build_info(cl_program program, cl_device_id device,
					 cl_program_build_info what, size_t size, void *param,
					 size_t *ret_size)
{
	return slu_layer_answer(&globals, sizeof(globals), size, param, ret_size);
}

/* Each kernel is one of its own. */
static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name,
					   cl_int *errcode_ret)
{
	static char kernels[8];
	static unsigned n;

	return (cl_kernel)(void *)&kernels[n++ % 8];
}

static void *CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t size,
				   cl_uint alignment)
{
	static char memory[SHARED];

	return memory;
}

static void CL_API_CALL svm_free(cl_context context, void *address)
{
}

static uint64_t owned(void)
{
	cl_device_id device;

	assert_int_equal(cl_costs_driver()->clGetContextInfo(NULL, CL_CONTEXT_DEVICES,
							     sizeof(device), &device, NULL),
			 CL_SUCCESS);
	return slu_client_device_owned(slu_device_get(device)->client);
}

static int setup(void **state)
{
	slu_layer_next = *cl_costs_driver();
	slu_layer_next.clGetKernelInfo = get_kernel_info;
	slu_layer_next.clGetProgramBuildInfo = get_build_info;
	slu_layer_next.clCreateKernel = create_kernel;
	slu_layer_next.clSVMAlloc = svm_alloc;
	slu_layer_next.clSVMFree = svm_free;
	return 0;
}

static void globals_are_charged_while_a_kernel_lives(void **state)
{
	uint64_t before = owned();
	cl_kernel first, second;

	globals = GLOBALS;
	first = slu_call_clCreateKernel(NULL, "a", NULL);
	assert_int_equal(owned(), before + GLOBALS);
	second = slu_call_clCreateKernel(NULL, "b", NULL);
	assert_int_equal(owned(), before + GLOBALS);
	slu_call_clReleaseKernel(first);
	assert_int_equal(owned(), before + GLOBALS);
	slu_call_clReleaseKernel(second);
	assert_int_equal(owned(), before);
}

static void a_program_without_globals_costs_nothing(void **state)
{
	uint64_t before = owned();
	cl_kernel kernel;

	globals = 0;
	kernel = slu_call_clCreateKernel(NULL, "a", NULL);
	assert_int_equal(owned(), before);
	slu_call_clReleaseKernel(kernel);
	assert_int_equal(owned(), before);
}

static void shared_virtual_memory_is_charged_until_it_is_freed(void **state)
{
	cl_context context = slu_layer_next.clCreateContext(NULL, 0, NULL, NULL, NULL, NULL);
	uint64_t before = owned();
	void *address = slu_call_clSVMAlloc(context, 0, SHARED, 0);

	assert_non_null(address);
	assert_int_equal(owned(), before + SHARED);
	slu_call_clSVMFree(context, address);
	assert_int_equal(owned(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(globals_are_charged_while_a_kernel_lives),
		cmocka_unit_test(a_program_without_globals_costs_nothing),
		cmocka_unit_test(shared_virtual_memory_is_charged_until_it_is_freed),
	};

	return cmocka_run_group_tests_name("program", tests, setup, NULL);
}
