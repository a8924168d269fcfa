/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An OpenCL layer that makes a driver say it has what others have and PoCL has not: variables of
 * programs (CL_MORE_GLOBALS bytes of each), and pipes, which are buffers below. So what Sluice does
 * with them can be seen in real programs.
 */

#define CL_TARGET_OPENCL_VERSION 300

#include <stdlib.h>
#include <string.h>

#include <CL/cl_layer.h>

static cl_icd_dispatch next, ours;

static cl_int CL_API_CALL get_build_info(cl_program program, cl_device_id device,
					 cl_program_build_info what, size_t size, void *param,
					 size_t *ret_size)
{
	const char *globals = getenv("CL_MORE_GLOBALS");
	size_t bytes = globals ? strtoul(globals, NULL, 0) : 0;

	if (what != CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE)
		return next.clGetProgramBuildInfo(program, device, what, size, param, ret_size);
	if (param && size < sizeof(bytes))
		return CL_INVALID_VALUE;
	if (param)
		memcpy(param, &bytes, sizeof(bytes));
	if (ret_size)
		*ret_size = sizeof(bytes);
	return CL_SUCCESS;
}

static cl_mem CL_API_CALL create_pipe(cl_context context, cl_mem_flags flags, cl_uint packet_size,
				      cl_uint max_packets, const cl_pipe_properties *properties,
				      cl_int *errcode_ret)
{
	return next.clCreateBuffer(context, flags, (size_t)packet_size * max_packets, NULL,
				   errcode_ret);
}

cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *param, size_t *ret_size)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

	if (what != CL_LAYER_API_VERSION || (param && size < sizeof(version)))
		return CL_INVALID_VALUE;
	if (param)
		memcpy(param, &version, sizeof(version));
	if (ret_size)
		*ret_size = sizeof(version);
	return CL_SUCCESS;
}

cl_int CL_API_CALL clInitLayer(cl_uint n_entries, const cl_icd_dispatch *target,
			       cl_uint *ret_n_entries, const cl_icd_dispatch **ret_dispatch)
{
	size_t bytes = n_entries * sizeof(void *);

	memcpy(&next, target, bytes < sizeof(next) ? bytes : sizeof(next));
	ours = next;
	ours.clGetProgramBuildInfo = get_build_info;
	ours.clCreatePipe = create_pipe;
	*ret_n_entries = sizeof(ours) / sizeof(void *);
	*ret_dispatch = &ours;
	return CL_SUCCESS;
}
