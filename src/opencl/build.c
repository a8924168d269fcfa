/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Builds programs so that the driver can answer what their kernels declare (argument.h): the layer
 * adds the option for it behind those of the program. It does so only under a daemon, and only for
 * sources; binaries have the answers or not. The program sees its own options, and no answer for
 * which it did not build.
 */

#include <stdlib.h>
#include <string.h>

#include "opencl/device.h"
#include "opencl/layer.h"

/* Twice: no program writes it so, and we know it again. */
#define OPTION " -cl-kernel-arg-info -cl-kernel-arg-info"

static bool has_source(cl_program program)
{
	size_t size = 0;

	return slu_layer_next.clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &size) ==
		       CL_SUCCESS &&
	       size > 1;
}

/* The program's options and ours, or NULL where they stay as they are. */
static char *options_extend(cl_program program, const char *options)
{
	size_t length = options ? strlen(options) : 0;
	char *all;

	if (!slu_device_expects_manager() || !slu_layer_next.clGetKernelArgInfo ||
	    !has_source(program))
		return NULL;
	all = malloc(length + sizeof(OPTION));
	if (!all)
		return NULL;
	if (length)
		memcpy(all, options, length);
	memcpy(all + length, OPTION, sizeof(OPTION));
	return all;
}

/* A driver that does not know the option gets the call as it was. */
static bool is_unknown(cl_int r)
{
	return r == CL_INVALID_BUILD_OPTIONS || r == CL_INVALID_COMPILER_OPTIONS;
}

cl_int slu_call_clBuildProgram(cl_program program, cl_uint n_devices, const cl_device_id *devices,
			       const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
			       void *data)
{
	char *all = options_extend(program, options);
	cl_int r = CL_INVALID_BUILD_OPTIONS;

	if (all)
		r = slu_layer_next.clBuildProgram(program, n_devices, devices, all, notify, data);
	if (!all || is_unknown(r))
		r = slu_layer_next.clBuildProgram(program, n_devices, devices, options, notify,
						  data);
	free(all);
	return r;
}

cl_int slu_call_clCompileProgram(cl_program program, cl_uint n_devices, const cl_device_id *devices,
				 const char *options, cl_uint n_headers, const cl_program *headers,
				 const char **names, void(CL_CALLBACK *notify)(cl_program, void *),
				 void *data)
{
	char *all = options_extend(program, options);
	cl_int r = CL_INVALID_COMPILER_OPTIONS;

	if (all)
		r = slu_layer_next.clCompileProgram(program, n_devices, devices, all, n_headers,
						    headers, names, notify, data);
	if (!all || is_unknown(r))
		r = slu_layer_next.clCompileProgram(program, n_devices, devices, options, n_headers,
						    headers, names, notify, data);
	free(all);
	return r;
}

/*
 * Takes ours off. Where there was nothing before it, a driver may have taken the space away.
 * Return: whether it was there.
 */
static bool options_cut_off(char *all)
{
	const char *ours = OPTION;
	size_t n = strlen(all);

	if (!strcmp(all, ours + 1)) {
		all[0] = '\0';
		return true;
	}
	if (n < strlen(ours) || strcmp(all + n - strlen(ours), ours) != 0)
		return false;
	all[n - strlen(ours)] = '\0';
	return true;
}

/* The options as the driver has them, to be freed; NULL where it does not say. */
static char *options_ask(cl_program program, cl_device_id device)
{
	size_t length = 0;
	char *all;

	if (slu_layer_next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, 0, NULL,
						 &length) != CL_SUCCESS)
		return NULL;
	all = calloc(1, length + 1);
	if (all && slu_layer_next.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS,
							length, all, NULL) != CL_SUCCESS) {
		free(all);
		return NULL;
	}
	return all;
}

cl_int slu_call_clGetProgramBuildInfo(cl_program program, cl_device_id device,
				      cl_program_build_info what, size_t size, void *param,
				      size_t *ret_size)
{
	char *all = what == CL_PROGRAM_BUILD_OPTIONS ? options_ask(program, device) : NULL;
	cl_int r;

	if (!all)
		return slu_layer_next.clGetProgramBuildInfo(program, device, what, size, param,
							    ret_size);
	options_cut_off(all);
	r = slu_layer_answer(all, strlen(all) + 1, size, param, ret_size);
	free(all);
	return r;
}

/* Whether the driver can say what it can only because of us. */
static bool is_our_doing(cl_kernel kernel)
{
	cl_program program = NULL;
	cl_device_id devices[16];
	char *all = NULL;
	bool is_ours;

	if (slu_layer_next.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program,
					   NULL) == CL_SUCCESS &&
	    slu_layer_next.clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof(devices), devices,
					    NULL) == CL_SUCCESS)
		all = options_ask(program, devices[0]);
	is_ours = all && options_cut_off(all) && !strstr(all, "-cl-kernel-arg-info");
	free(all);
	return is_ours;
}

cl_int slu_call_clGetKernelArgInfo(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what,
				   size_t size, void *param, size_t *ret_size)
{
	cl_int r = slu_layer_next.clGetKernelArgInfo(kernel, index, what, size, param, ret_size);

	if (r == CL_SUCCESS && is_our_doing(kernel))
		return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
	return r;
}
