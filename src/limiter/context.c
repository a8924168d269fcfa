/* SPDX-License-Identifier: Apache-2.0 */

/* Contexts: each takes hidden memory on its first device, as a real one does on every card. */

#include <stdlib.h>

#include "base/util.h"
#include "limiter/limiter.h"

struct slu_limiter_device *slu_limiter_context_device(cl_context context)
{
	cl_device_id ids[SLU_LIMITER_DEVICES_MAX];
	size_t size = 0;

	if (slu_limiter_driver.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(ids), ids,
						&size) ||
	    size < sizeof(ids[0]))
		return NULL;
	return slu_limiter_device_find(ids[0]);
}

static void CL_CALLBACK destroyed(cl_context context, void *data)
{
	struct slu_limiter_charge *charge = data;

	(void)context;
	slu_limiter_charge_give(charge);
	free(charge);
}

/* Charges a fresh context; one that finds no room is released again. */
static cl_context charged(cl_context context, cl_int *ret_r)
{
	struct slu_limiter_device *device = slu_limiter_context_device(context);
	struct slu_limiter_charge *charge;
	cl_int r = CL_SUCCESS;

	/* without the call that tells of its end (before OpenCL 3.0) the overhead is not played */
	if (!device || !slu_limiter_driver.clSetContextDestructorCallback)
		return context;
	charge = calloc(1, sizeof(*charge));
	if (!charge)
		r = CL_OUT_OF_HOST_MEMORY;
	else if (slu_limiter_charge_take(charge, device, 0, slu_limiter_settings.overhead_bytes))
		r = CL_OUT_OF_RESOURCES;
	else
		r = slu_limiter_driver.clSetContextDestructorCallback(context, destroyed, charge);
	if (!r)
		return context;
	if (charge)
		slu_limiter_charge_give(charge);
	free(charge);
	slu_limiter_driver.clReleaseContext(context);
	if (ret_r)
		*ret_r = r;
	return NULL;
}

cl_context CL_API_CALL slu_limiter_clCreateContext(
	const cl_context_properties *properties, cl_uint n_devices, const cl_device_id *devices,
	void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data,
	cl_int *ret_r)
{
	cl_context context = slu_limiter_driver.clCreateContext(properties, n_devices, devices,
								notify, data, ret_r);

	return context ? charged(context, ret_r) : NULL;
}

cl_context CL_API_CALL slu_limiter_clCreateContextFromType(
	const cl_context_properties *properties, cl_device_type type,
	void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data,
	cl_int *ret_r)
{
	cl_platform_id platform = NULL;
	cl_context context;
	cl_uint n;
	cl_int r;

	for (const cl_context_properties *p = properties; p && *p; p += 2)
		if (*p == CL_CONTEXT_PLATFORM)
			platform = (cl_platform_id)p[1];
	if (!platform)
		slu_limiter_driver.clGetPlatformIDs(1, &platform, NULL);
	r = slu_limiter_clGetDeviceIDs(platform, type, 0, NULL, &n);
	if (r) {
		if (ret_r)
			*ret_r = r;
		return NULL;
	}
	if (type & CL_DEVICE_TYPE_GPU)
		type = CL_DEVICE_TYPE_ALL;
	context = slu_limiter_driver.clCreateContextFromType(properties, type, notify, data, ret_r);
	return context ? charged(context, ret_r) : NULL;
}
