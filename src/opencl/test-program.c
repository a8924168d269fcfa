/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Charges for memory that does not move: a program's global variables, shared virtual memory,
 * pipes. The driver does nothing but claim to have them, and refuses them on request.
 */

#include "lib/test.h"

#include <sched.h>

#include "base/util.h"
#include "opencl/device.h"
#include "opencl/layer.h"

#include "../../bench/cl-costs.h"

enum { GLOBALS = 12288, SHARED = 8192, PIPE = 16384 };

static size_t globals;
static unsigned n_refusals; /* that are still to come */
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

	if (!n_refusals)
		return memory;
	n_refusals--;
	return NULL;
}

static void *again; /* what another thread is given while an address is freed */
static bool is_given_again;

static void CL_API_CALL svm_free(cl_context context, void *address)
{
	if (!is_given_again)
		return;
	is_given_again = false;
	again = slu_call_clSVMAlloc(context, 0, SHARED, 0);
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info what, size_t size,
					  void *param, size_t *ret_size)
{
	cl_device_svm_capabilities has = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;

	if (what == CL_DEVICE_SVM_CAPABILITIES)
		return slu_layer_answer(&has, sizeof(has), size, param, ret_size);
	return cl_costs_driver()->clGetDeviceInfo(device, what, size, param, ret_size);
}

static cl_int CL_API_CALL enqueue_free(cl_command_queue queue, cl_uint n, void *addresses[],
				       void(CL_CALLBACK *call)(cl_command_queue, cl_uint, void *[],
							       void *),
				       void *data, cl_uint n_wait, const cl_event *wait,
				       cl_event *event)
{
	return cl_costs_driver()->clEnqueueMarkerWithWaitList(queue, n_wait, wait, event);
}

static cl_int CL_API_CALL set_no_callback(cl_event event, cl_int type,
					  void(CL_CALLBACK *call)(cl_event, cl_int, void *),
					  void *data)
{
	return CL_OUT_OF_HOST_MEMORY;
}

static struct {
	void(CL_CALLBACK *call)(cl_event, cl_int, void *);
	void *data;
} kept;

static cl_int CL_API_CALL keep_callback(cl_event event, cl_int type,
					void(CL_CALLBACK *call)(cl_event, cl_int, void *),
					void *data)
{
	kept.call = call;
	kept.data = data;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL enqueue_no_free(cl_command_queue queue, cl_uint n, void *addresses[],
					  void(CL_CALLBACK *call)(cl_command_queue, cl_uint,
								  void *[], void *),
					  void *data, cl_uint n_wait, const cl_event *wait,
					  cl_event *event)
{
	return CL_OUT_OF_RESOURCES;
}

static cl_mem CL_API_CALL create_pipe(cl_context context, cl_mem_flags flags, cl_uint packet_size,
				      cl_uint max_packets, const cl_pipe_properties *properties,
				      cl_int *errcode_ret)
{
	if (!n_refusals)
		return cl_costs_driver()->clCreateBuffer(context, flags, packet_size * max_packets,
							 NULL, errcode_ret);
	n_refusals--;
	*errcode_ret = CL_MEM_OBJECT_ALLOCATION_FAILURE;
	return NULL;
}

static cl_int CL_API_CALL get_mem_info(cl_mem object, cl_mem_info what, size_t size, void *param,
				       size_t *ret_size)
{
	cl_mem_object_type type = CL_MEM_OBJECT_PIPE;
	cl_mem_flags flags = CL_MEM_READ_WRITE;
	size_t bytes = PIPE;

	switch (what) {
	case CL_MEM_TYPE:
		return slu_layer_answer(&type, sizeof(type), size, param, ret_size);
	case CL_MEM_FLAGS:
		return slu_layer_answer(&flags, sizeof(flags), size, param, ret_size);
	case CL_MEM_SIZE:
		return slu_layer_answer(&bytes, sizeof(bytes), size, param, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
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
	slu_layer_next.clGetDeviceInfo = get_device_info;
	slu_layer_next.clEnqueueSVMFree = enqueue_free;
	slu_layer_next.clSetEventCallback = set_no_callback;
	slu_layer_next.clCreatePipe = create_pipe;
	slu_layer_next.clGetMemObjectInfo = get_mem_info;
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

static void shared_virtual_memory_is_asked_for_again_with_headroom(void **state)
{
	cl_context context = slu_layer_next.clCreateContext(NULL, 0, NULL, NULL, NULL, NULL);
	uint64_t before = owned();
	void *address;

	n_refusals = 2; /* both before others give way */
	address = slu_call_clSVMAlloc(context, 0, SHARED, 0);
	assert_non_null(address);
	assert_int_equal(owned(), before + SHARED);
	slu_call_clSVMFree(context, address);
	assert_int_equal(owned(), before);
}

static void what_no_headroom_can_help_is_not_asked_for_again(void **state)
{
	cl_context context = slu_layer_next.clCreateContext(NULL, 0, NULL, NULL, NULL, NULL);
	static const struct {
		const char *what;
		cl_svm_mem_flags flags;
		size_t size;
		cl_uint alignment;
	} rows[] = {
		{ "no bytes", 0, 0, 0 },
		{ "larger than any object", 0, (size_t)1 << 60, 0 },
		{ "an odd alignment", 0, SHARED, 3 },
		{ "two kinds of access", CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, SHARED, 0 },
		{ "a kind that the device has not", CL_MEM_SVM_FINE_GRAIN_BUFFER, SHARED, 0 },
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		print_message("# %s\n", rows[i].what);
		n_refusals = 10;
		assert_null(slu_call_clSVMAlloc(context, rows[i].flags, rows[i].size,
						rows[i].alignment));
		assert_int_equal(n_refusals, 9);
	}
	n_refusals = 0;
}

static void bytes_come_back_where_nobody_tells_of_the_end(void **state)
{
	cl_context context = slu_layer_next.clCreateContext(NULL, 0, NULL, NULL, NULL, NULL);
	cl_command_queue queue = slu_call_clCreateCommandQueue(context, NULL, 0, NULL);
	uint64_t before = owned();
	void *address = slu_call_clSVMAlloc(context, 0, SHARED, 0);

	assert_int_equal(owned(), before + SHARED);
	assert_int_equal(slu_call_clEnqueueSVMFree(queue, 1, &address, NULL, NULL, 0, NULL, NULL),
			 CL_SUCCESS);
	assert_int_equal(owned(), before);
	slu_call_clReleaseCommandQueue(queue);
}

static void an_address_that_is_given_again_before_its_end_is_told_counts_twice(void **state)
{
	cl_context context = slu_layer_next.clCreateContext(NULL, 0, NULL, NULL, NULL, NULL);
	cl_command_queue queue = slu_call_clCreateCommandQueue(context, NULL, 0, NULL);
	uint64_t before = owned();
	void *address = slu_call_clSVMAlloc(context, 0, SHARED, 0);

	slu_layer_next.clSetEventCallback = keep_callback;
	assert_int_equal(slu_call_clEnqueueSVMFree(queue, 1, &address, NULL, NULL, 0, NULL, NULL),
			 CL_SUCCESS);
	assert_ptr_equal(slu_call_clSVMAlloc(context, 0, SHARED, 0), address);
	assert_int_equal(owned(), before + 2 * SHARED);
	kept.call(NULL, CL_COMPLETE, kept.data);
	while (owned() != before + SHARED) /* a thread of ours gives them back */
		sched_yield();
	slu_call_clSVMFree(context, address);
	assert_int_equal(owned(), before);
	slu_call_clReleaseCommandQueue(queue);
}

static void an_address_that_is_given_again_while_it_is_freed_stays_charged(void **state)
{
	cl_context context = slu_layer_next.clCreateContext(NULL, 0, NULL, NULL, NULL, NULL);
	uint64_t before = owned();
	void *address = slu_call_clSVMAlloc(context, 0, SHARED, 0);

	is_given_again = true;
	slu_call_clSVMFree(context, address);
	assert_ptr_equal(again, address);
	assert_int_equal(owned(), before + SHARED);
	slu_call_clSVMFree(context, again);
	assert_int_equal(owned(), before);
}

static void what_was_not_freed_after_all_stays_charged(void **state)
{
	cl_context context = slu_layer_next.clCreateContext(NULL, 0, NULL, NULL, NULL, NULL);
	cl_command_queue queue = slu_call_clCreateCommandQueue(context, NULL, 0, NULL);
	uint64_t before = owned();
	void *address = slu_call_clSVMAlloc(context, 0, SHARED, 0);

	slu_layer_next.clEnqueueSVMFree = enqueue_no_free;
	assert_int_equal(slu_call_clEnqueueSVMFree(queue, 1, &address, NULL, NULL, 0, NULL, NULL),
			 CL_OUT_OF_RESOURCES);
	assert_int_equal(owned(), before + SHARED);
	slu_call_clSVMFree(context, address);
	assert_int_equal(owned(), before);
	slu_call_clReleaseCommandQueue(queue);
}

static void a_pipe_is_charged_and_asked_for_again_with_headroom(void **state)
{
	cl_context context = slu_layer_next.clCreateContext(NULL, 0, NULL, NULL, NULL, NULL);
	uint64_t before = owned();
	cl_int r = CL_OUT_OF_RESOURCES;
	cl_mem pipe;

	n_refusals = 1;
	pipe = slu_call_clCreatePipe(context, 0, 4, PIPE / 4, NULL, &r);
	assert_int_equal(r, CL_SUCCESS);
	assert_non_null(pipe);
	assert_int_equal(owned(), before + PIPE);
	assert_int_equal(slu_call_clReleaseMemObject(pipe), CL_SUCCESS);
	assert_int_equal(owned(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(globals_are_charged_while_a_kernel_lives),
		cmocka_unit_test(a_program_without_globals_costs_nothing),
		cmocka_unit_test(shared_virtual_memory_is_charged_until_it_is_freed),
		cmocka_unit_test(shared_virtual_memory_is_asked_for_again_with_headroom),
		cmocka_unit_test(what_no_headroom_can_help_is_not_asked_for_again),
		cmocka_unit_test(bytes_come_back_where_nobody_tells_of_the_end),
		cmocka_unit_test(
			an_address_that_is_given_again_before_its_end_is_told_counts_twice),
		cmocka_unit_test(an_address_that_is_given_again_while_it_is_freed_stays_charged),
		cmocka_unit_test(what_was_not_freed_after_all_stays_charged),
		cmocka_unit_test(a_pipe_is_charged_and_asked_for_again_with_headroom),
	};

	return cmocka_run_group_tests_name("program", tests, setup, NULL);
}
