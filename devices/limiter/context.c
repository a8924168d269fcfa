/* SPDX-License-Identifier: Apache-2.0 */

/* Contexts: each takes hidden memory on every one of its devices. */

#include <stdlib.h>

#include "base/util.h"
#include "limiter/limiter.h"

static void context_add(struct dev_limiter_devices *devices, struct dev_limiter_device *device)
{
	for (unsigned i = 0; i < devices->n; i++)
		if (devices->list[i] == device)
			return;
	devices->list[devices->n++] = device;
}

struct dev_limiter_devices dev_limiter_context_devices(cl_context context)
{
	struct dev_limiter_devices devices = { 0 };
	cl_device_id *ids;
	size_t size = 0;

	if (dev_limiter_driver.clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size))
		return devices;
	ids = calloc(1, size + sizeof(*ids));
	if (!ids)
		return devices;
	if (!dev_limiter_driver.clGetContextInfo(context, CL_CONTEXT_DEVICES, size, ids, NULL))
		for (size_t i = 0; i < size / sizeof(*ids); i++) {
			struct dev_limiter_device *device = dev_limiter_device_find(ids[i]);

			if (device)
				context_add(&devices, device);
		}
	free(ids);
	return devices;
}

/* What a context has taken on each of its devices. */
struct overhead {
	unsigned n;
	struct dev_limiter_charge charges[];
};

static void give_back(struct overhead *overhead)
{
	for (unsigned i = 0; i < overhead->n; i++)
		dev_limiter_charge_give(&overhead->charges[i]);
	free(overhead);
}

static void CL_CALLBACK context_destroyed(cl_context context, void *data)
{
	(void)context;
	give_back(data);
}

static cl_int context_take(struct overhead *overhead, const struct dev_limiter_devices *devices)
{
	for (unsigned i = 0; i < devices->n; i++)
		if (dev_limiter_charge_take(&overhead->charges[i], devices->list[i], 0,
					    dev_limiter_settings.overhead_bytes))
			return CL_OUT_OF_RESOURCES;
	return CL_SUCCESS;
}

/* Charges a fresh context; one that does not fit is released again. */
static cl_context context_charged(cl_context context, cl_int *ret_r)
{
	struct dev_limiter_devices devices = dev_limiter_context_devices(context);
	struct overhead *overhead;
	cl_int r;

	/* without the call that tells of its end (before OpenCL 3.0) the overhead is not played */
	if (!devices.n || !dev_limiter_driver.clSetContextDestructorCallback)
		return context;
	overhead = calloc(1, sizeof(*overhead) + devices.n * sizeof(overhead->charges[0]));
	if (!overhead) {
		r = CL_OUT_OF_HOST_MEMORY;
	} else {
		overhead->n = devices.n;
		r = context_take(overhead, &devices);
		if (!r)
			r = dev_limiter_driver.clSetContextDestructorCallback(
				context, context_destroyed, overhead);
		if (!r)
			return context;
		give_back(overhead);
	}
	dev_limiter_driver.clReleaseContext(context);
	if (ret_r)
		*ret_r = r;
	return NULL;
}

cl_context CL_API_CALL dev_limiter_clCreateContext(
	const cl_context_properties *properties, cl_uint n_devices, const cl_device_id *devices,
	void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data,
	cl_int *ret_r)
{
	cl_context context = dev_limiter_driver.clCreateContext(properties, n_devices, devices,
								notify, data, ret_r);

	return context ? context_charged(context, ret_r) : NULL;
}

cl_context CL_API_CALL dev_limiter_clCreateContextFromType(
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
		dev_limiter_driver.clGetPlatformIDs(1, &platform, NULL);
	r = dev_limiter_clGetDeviceIDs(platform, type, 0, NULL, &n);
	if (r) {
		if (ret_r)
			*ret_r = r;
		return NULL;
	}
	if (type & CL_DEVICE_TYPE_GPU)
		type = CL_DEVICE_TYPE_ALL;
	context = dev_limiter_driver.clCreateContextFromType(properties, type, notify, data, ret_r);
	return context ? context_charged(context, ret_r) : NULL;
}
