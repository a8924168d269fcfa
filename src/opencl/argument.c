/* SPDX-License-Identifier: Apache-2.0 */

#include "opencl/argument.h"

static bool argument_ask(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, size_t size,
			 void *ret_value)
{
	return slu_layer_next.clGetKernelArgInfo &&
	       slu_layer_next.clGetKernelArgInfo(kernel, index, what, size, ret_value, NULL) ==
		       CL_SUCCESS;
}

static enum slu_access image_access(cl_kernel kernel, cl_uint index)
{
	cl_kernel_arg_access_qualifier access;

	return argument_ask(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof(access),
			    &access) &&
			       access == CL_KERNEL_ARG_ACCESS_READ_ONLY
		       ? SLU_ACCESS_READ
		       : SLU_ACCESS_WRITE;
}

static enum slu_access pointer_access(cl_kernel kernel, cl_uint index)
{
	cl_kernel_arg_address_qualifier space;
	cl_kernel_arg_type_qualifier type;

	if (argument_ask(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(space), &space) &&
	    space == CL_KERNEL_ARG_ADDRESS_CONSTANT)
		return SLU_ACCESS_SUSPECT;
	if (argument_ask(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof(type), &type) &&
	    (type & CL_KERNEL_ARG_TYPE_CONST))
		return SLU_ACCESS_SUSPECT;
	return SLU_ACCESS_WRITE;
}

enum slu_access slu_argument_access(cl_kernel kernel, cl_uint index, cl_mem_object_type type)
{
	return type == CL_MEM_OBJECT_BUFFER ? pointer_access(kernel, index)
					    : image_access(kernel, index);
}
