/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The layer's two entry points. The dispatch table that the loader gets is the driver's, with our
 * functions in the places that calls.def names and the driver has.
 *
 * ocl-icd cuts OPENCL_LAYERS at its first colon, in the memory of the environment itself, and
 * children would get the first layer alone. When the first layer is initialised, what was cut off
 * still follows the cut. It must not be read there (nothing says that it is there), but it can be
 * seen in /proc/self/environ, where the rest of the value is an entry of its own that names
 * no variable. Where the variable was set by the program itself, it is not in that file;
 * SLUICE_OPENCL_LAYERS, if it continues what is left, has the whole list then.
 */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "limiter/limiter.h"

#include <CL/cl_layer.h>

#define LAYERS	     "OPENCL_LAYERS"
#define LAYERS_SPARE "SLUICE_OPENCL_LAYERS"

cl_icd_dispatch dev_limiter_driver;
struct slu_lock dev_limiter_lock = SLU_LOCK_INIT(SLU_LOCK_FRONT);

static cl_icd_dispatch dispatch;

/* The environment as the kernel sees it; NULL where it cannot be read. */
static char *read_environ(size_t *ret_size)
{
	slu_cleanup(slu_freep) char *text = NULL;
	slu_cleanup(slu_closep) int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	size_t size = 0;

	while (fd >= 0) {
		char *more = realloc(text, size + 65537);
		ssize_t n;

		if (!more)
			return NULL;
		text = more;
		n = read(fd, text + size, 65536);
		if (n < 0)
			return NULL;
		size += (size_t)n;
		text[size] = '\0';
		if (!n)
			break;
	}
	*ret_size = size;
	return slu_steal_ptr(text);
}

static char *entry_join(const char *a, const char *b)
{
	char *text = malloc(strlen(a) + strlen(b) + 2);

	return text ? strcat(strcat(strcpy(text, a), ":"), b) : NULL;
}

static void mend_layers(void)
{
	slu_cleanup(slu_freep) char *text = NULL, *whole = NULL;
	const char *left = getenv(LAYERS), *spare = getenv(LAYERS_SPARE), *rest;
	size_t size = 0, name = strlen(LAYERS "=");

	if (!left)
		return;
	if (spare && !strncmp(spare, left, strlen(left))) {
		if (spare[strlen(left)] == ':')
			setenv(LAYERS, spare, 1);
		return;
	}
	text = read_environ(&size);
	for (char *entry = text; entry && entry < text + size; entry += strlen(entry) + 1) {
		if (strncmp(entry, LAYERS "=", name) || strcmp(entry + name, left))
			continue;
		rest = entry + strlen(entry) + 1;
		if (rest < text + size && *rest && !strchr(rest, '='))
			whole = entry_join(left, rest);
		if (whole)
			setenv(LAYERS, whole, 1);
		return;
	}
}

CL_API_ENTRY __attribute__((visibility("default"))) cl_int CL_API_CALL
clGetLayerInfo(cl_layer_info what, size_t size, void *to, size_t *ret_size)
{
	static const char name[] = "sluice limiter";
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *value = what == CL_LAYER_NAME ? (const void *)name : &version;
	size_t value_size = what == CL_LAYER_NAME ? sizeof(name) : sizeof(version);

	if (what != CL_LAYER_NAME && what != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (to && size < value_size)
		return CL_INVALID_VALUE;
	if (to)
		memcpy(to, value, value_size);
	if (ret_size)
		*ret_size = value_size;
	return CL_SUCCESS;
}

CL_API_ENTRY __attribute__((visibility("default"))) cl_int CL_API_CALL
clInitLayer(cl_uint n_entries, const cl_icd_dispatch *target, cl_uint *ret_n_entries,
	    const cl_icd_dispatch **ret_dispatch)
{
	const size_t n_known = sizeof(dispatch) / sizeof(void *);
	bool is_off;

	if (!target || !ret_n_entries || !ret_dispatch)
		return CL_INVALID_VALUE;
	memcpy(&dev_limiter_driver, target, SLU_MIN((size_t)n_entries, n_known) * sizeof(void *));
	dispatch = dev_limiter_driver;
	/* settings that are wrong leave no memory, and so no device */
	is_off = !dev_limiter_settings_read() && !dev_limiter_settings.memory_bytes;
	if (!is_off) {
#define DEV_CALL(name)               \
	if (dev_limiter_driver.name) \
		dispatch.name = dev_limiter_##name;
#include "limiter/calls.def"
#undef DEV_CALL
	}
	mend_layers();
	*ret_n_entries = (cl_uint)n_known;
	*ret_dispatch = &dispatch;
	return CL_SUCCESS;
}

CL_API_ENTRY __attribute__((visibility("default"))) cl_int CL_API_CALL
clInitLayerWithProperties(cl_uint n_entries, const cl_icd_dispatch *target, cl_uint *ret_n_entries,
			  const cl_icd_dispatch **ret_dispatch, const cl_properties *properties);

/* What loaders of Khronos look for since 2025; the headers may be older. We know no property. */
CL_API_ENTRY __attribute__((visibility("default"))) cl_int CL_API_CALL
clInitLayerWithProperties(cl_uint n_entries, const cl_icd_dispatch *target, cl_uint *ret_n_entries,
			  const cl_icd_dispatch **ret_dispatch, const cl_properties *properties)
{
	if (properties && *properties)
		return CL_INVALID_PROPERTY;
	return clInitLayer(n_entries, target, ret_n_entries, ret_dispatch);
}
