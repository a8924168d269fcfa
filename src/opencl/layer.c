/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The entry points of the loader, and what layer.h declares. clInitLayer() runs inside the loader's
 * own initialisation: it may call nothing of OpenCL, and only fills tables.
 *
 * The order of layers: OPENCL_LAYERS=limiter.so:sluice.so. The first is nearest the driver. This
 * layer must be nearest the program, so that the layers below see only real handles.
 */

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "client/client.h"
#include "opencl/ending.h"
#include "opencl/environment.h"
#include "opencl/layer.h"

cl_icd_dispatch slu_layer_table;
struct slu_lock slu_layer_lock = SLU_LOCK_INIT(SLU_LOCK_FRONT);
pthread_cond_t slu_layer_changed = PTHREAD_COND_INITIALIZER;

/* What is not ours stays NULL: the loader fills it from below. */
static const cl_icd_dispatch calls = {
#define SLU_CALL(name, meaning) .name = slu_call_##name,
#include "opencl/calls.def"
#undef SLU_CALL
};

cl_int slu_layer_error(int r)
{
	if (!r)
		return CL_SUCCESS;
	if (r == SLU_CLIENT_E_NO_MEMORY)
		return CL_MEM_OBJECT_ALLOCATION_FAILURE;
	return r == -ENOMEM ? CL_OUT_OF_HOST_MEMORY : CL_OUT_OF_RESOURCES;
}

cl_int slu_layer_answer(const void *value, size_t size, size_t param_size, void *param,
			size_t *ret_size)
{
	if (param && param_size < size)
		return CL_INVALID_VALUE;
	if (param && size)
		memcpy(param, value, size);
	if (ret_size)
		*ret_size = size;
	return CL_SUCCESS;
}

SLU_CLIENT_API cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *param,
						 size_t *ret_size)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	static const char name[] = "sluice";

	switch (what) {
	case CL_LAYER_API_VERSION:
		return slu_layer_answer(&version, sizeof(version), size, param, ret_size);
	case CL_LAYER_NAME:
		return slu_layer_answer(name, sizeof(name), size, param, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

/* No driver lives on in a child; but what the child gives up must not wait for a parent's thread.
 */
static void layer_forked(void)
{
	slu_lock_init(&slu_layer_lock, SLU_LOCK_FRONT);
	pthread_cond_init(&slu_layer_changed, NULL);
}

SLU_CLIENT_API cl_int CL_API_CALL clInitLayer(cl_uint n_entries, const cl_icd_dispatch *target,
					      cl_uint *ret_n_entries,
					      const cl_icd_dispatch **ret_dispatch)
{
	const cl_uint n_ours = sizeof(calls) / sizeof(void *);
	Dl_info self;

	if (!target || !ret_n_entries || !ret_dispatch)
		return CL_INVALID_VALUE;
	slu_ending_watch();
	pthread_atfork(NULL, NULL, layer_forked);
	memcpy(&slu_layer_table, target, SLU_MIN(n_entries, n_ours) * sizeof(void *));
	if (dladdr((void *)clInitLayer, &self) && self.dli_fname)
		slu_environment_restore(self.dli_fname);
	*ret_n_entries = SLU_MIN(n_entries, n_ours);
	*ret_dispatch = &calls;
	return CL_SUCCESS;
}

/* -- what Khronos' loaders look for since 2025; headers may be older ------------------------- */

SLU_CLIENT_API cl_int CL_API_CALL clInitLayerWithProperties(cl_uint n_entries,
							    const cl_icd_dispatch *target,
							    cl_uint *ret_n_entries,
							    const cl_icd_dispatch **ret_dispatch,
							    const cl_properties *properties);
SLU_CLIENT_API cl_int CL_API_CALL clDeinitLayer(void);

/* We know no property. */
SLU_CLIENT_API cl_int CL_API_CALL clInitLayerWithProperties(cl_uint n_entries,
							    const cl_icd_dispatch *target,
							    cl_uint *ret_n_entries,
							    const cl_icd_dispatch **ret_dispatch,
							    const cl_properties *properties)
{
	if (properties && *properties)
		return CL_INVALID_PROPERTY;
	return clInitLayer(n_entries, target, ret_n_entries, ret_dispatch);
}

/* The loader unloads the drivers next. */
SLU_CLIENT_API cl_int CL_API_CALL clDeinitLayer(void)
{
	slu_ending_begin();
	return CL_SUCCESS;
}
