/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The devices, and what they say of themselves: a GPU with memory of its own, of the board's size
 * and with the board's UUID, so that the daemon can tell which device a program means. All root
 * devices of all platforms are numbered once, in the loader's order; number n has the board
 * whose name ends in the configured number + n.
 *
 * Command buffers are hidden: their copies would not take the bus.
 */

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/size.h"
#include "base/util.h"
#include "limiter/limiter.h"

#define UUID_EXTENSION "cl_khr_device_uuid"
#define HIDDEN_PREFIX  "cl_khr_command_buffer"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct dev_limiter_device devices[DEV_LIMITER_DEVICES_MAX]; /* constant after @once */
static unsigned n_devices;					   /* as this */

static int board_path(unsigned index, char *ret_path, size_t size)
{
	const char *name = dev_limiter_settings.board;
	size_t stem = strlen(name), length;
	unsigned long number;
	int r;

	while (stem && isdigit((unsigned char)name[stem - 1]))
		stem--;
	number = strtoul(name + stem, NULL, 10);
	r = dev_board_folder(ret_path, size);
	if (r)
		return slu_fold(r);
	length = strlen(ret_path);
	if (!index)
		r = snprintf(ret_path + length, size - length, "/%s", name);
	else
		r = snprintf(ret_path + length, size - length, "/%.*s%lu", (int)stem, name,
			     number + index);
	return r < 0 || (size_t)r >= size - length ? slu_error(-ENAMETOOLONG) : 0;
}

static int open_board(unsigned index, struct dev_board **ret_board)
{
	struct dev_board_identity identity = {
		.capacity_bytes = dev_limiter_settings.memory_bytes,
		.granule_bytes = 1,
	};
	char path[PATH_MAX], has[SLU_SIZE_STRING_MAX], wanted[SLU_SIZE_STRING_MAX];
	struct dev_board *board;
	uint64_t capacity;
	int r;

	r = board_path(index, path, sizeof(path));
	if (r) {
		fprintf(stderr, "sluice limiter: no folder for boards: %s; no device\n",
			strerror(-r));
		return slu_fold(r);
	}
	snprintf(identity.name, sizeof(identity.name), "%s", strrchr(path, '/') + 1);
	if (getrandom(identity.uuid, sizeof(identity.uuid), 0) != (ssize_t)sizeof(identity.uuid))
		return slu_error(-EIO);
	r = dev_board_open(path, &identity, &board);
	if (r) {
		fprintf(stderr, "sluice limiter: board %s: %s; no device\n", path, strerror(-r));
		return slu_fold(r);
	}
	capacity = dev_board_identity(board)->capacity_bytes;
	if (capacity != dev_limiter_settings.memory_bytes) {
		fprintf(stderr,
			"sluice limiter: board %s has %s and not %s: remove it, or name another "
			"with SLUICE_LIMITER_BOARD; no device\n",
			path, slu_size_format(has, capacity),
			slu_size_format(wanted, dev_limiter_settings.memory_bytes));
		dev_board_close(board);
		return slu_error(-EEXIST);
	}
	*ret_board = board;
	return 0;
}

static void find_devices_of(cl_platform_id platform)
{
	cl_device_id ids[DEV_LIMITER_DEVICES_MAX];
	cl_uint n = 0;

	if (dev_limiter_driver.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEV_LIMITER_DEVICES_MAX,
					      ids, &n))
		return;
	for (cl_uint i = 0; i < SLU_MIN(n, (cl_uint)DEV_LIMITER_DEVICES_MAX); i++) {
		struct dev_limiter_device *device = &devices[n_devices];

		if (n_devices == DEV_LIMITER_DEVICES_MAX || open_board(n_devices, &device->board))
			return;
		device->id = ids[i];
		device->capacity_bytes = dev_board_identity(device->board)->capacity_bytes;
		n_devices++;
	}
}

static void find_devices(void)
{
	cl_platform_id platforms[16];
	cl_uint n = 0;

	if (!dev_limiter_settings.memory_bytes ||
	    dev_limiter_driver.clGetPlatformIDs(SLU_ARRAY_SIZE(platforms), platforms, &n))
		return;
	for (cl_uint i = 0; i < SLU_MIN(n, (cl_uint)SLU_ARRAY_SIZE(platforms)); i++)
		find_devices_of(platforms[i]);
}

struct dev_limiter_device *dev_limiter_device_find(cl_device_id id)
{
	pthread_once(&once, find_devices);
	while (id) {
		cl_device_id parent = NULL;

		for (unsigned i = 0; i < n_devices; i++)
			if (devices[i].id == id)
				return &devices[i];
		if (dev_limiter_driver.clGetDeviceInfo(id, CL_DEVICE_PARENT_DEVICE, sizeof(parent),
						       &parent, NULL))
			return NULL;
		id = parent;
	}
	return NULL;
}

bool dev_limiter_device_counts_uses(void)
{
	pthread_once(&once, find_devices);
	return dev_limiter_settings.fails_lazily || n_devices > 1;
}

cl_int CL_API_CALL dev_limiter_clGetDeviceIDs(cl_platform_id platform, cl_device_type type,
					      cl_uint n_entries, cl_device_id *ids, cl_uint *ret_n)
{
	const cl_device_type known = CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU |
				     CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR |
				     CL_DEVICE_TYPE_CUSTOM;

	pthread_once(&once, find_devices);
	if (type != CL_DEVICE_TYPE_ALL && (!type || (type & ~known)))
		return CL_INVALID_DEVICE_TYPE;
	if (!n_devices)
		return CL_DEVICE_NOT_FOUND;
	/* each of them is a GPU now, whatever it was */
	if (type == CL_DEVICE_TYPE_ALL || (type & CL_DEVICE_TYPE_GPU))
		type = CL_DEVICE_TYPE_ALL;
	else if (!(type & CL_DEVICE_TYPE_DEFAULT))
		return CL_DEVICE_NOT_FOUND;
	return dev_limiter_driver.clGetDeviceIDs(platform, type, n_entries, ids, ret_n);
}

static cl_int device_answer(const void *value, size_t value_size, size_t size, void *to,
			    size_t *ret_size)
{
	if (to && size < value_size)
		return CL_INVALID_VALUE;
	if (to)
		memcpy(to, value, value_size);
	if (ret_size)
		*ret_size = value_size;
	return CL_SUCCESS;
}

/* The driver's list of names, without what is hidden and with the UUID's. */
static cl_int answer_extensions(cl_device_id id, size_t size, void *to, size_t *ret_size)
{
	char *names, *word, *rest = NULL, *list;
	bool has_uuid = false;
	size_t n = 0;
	cl_int r;

	r = dev_limiter_driver.clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &n);
	if (r)
		return r;
	names = calloc(1, n + 1);
	list = calloc(1, n + sizeof(UUID_EXTENSION) + 2);
	if (!names || !list) {
		r = CL_OUT_OF_HOST_MEMORY;
	} else {
		r = dev_limiter_driver.clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, n, names, NULL);
		for (word = strtok_r(names, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
			if (!strncmp(word, HIDDEN_PREFIX, strlen(HIDDEN_PREFIX)))
				continue;
			has_uuid |= !strcmp(word, UUID_EXTENSION);
			if (*list)
				strcat(list, " ");
			strcat(list, word);
		}
		if (!has_uuid)
			strcat(strcat(list, *list ? " " : ""), UUID_EXTENSION);
		if (!r)
			r = device_answer(list, strlen(list) + 1, size, to, ret_size);
	}
	free(names);
	free(list);
	return r;
}

static cl_int answer_versions(cl_device_id id, size_t size, void *to, size_t *ret_size)
{
	cl_name_version *list;
	bool has_uuid = false;
	size_t n = 0, kept = 0;
	cl_int r;

	r = dev_limiter_driver.clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS_WITH_VERSION, 0, NULL, &n);
	if (r)
		return r;
	list = calloc(1, n + sizeof(*list));
	if (!list)
		return CL_OUT_OF_HOST_MEMORY;
	r = dev_limiter_driver.clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS_WITH_VERSION, n, list,
					       NULL);
	for (size_t i = 0; i < n / sizeof(*list); i++) {
		if (!strncmp(list[i].name, HIDDEN_PREFIX, strlen(HIDDEN_PREFIX)))
			continue;
		has_uuid |= !strcmp(list[i].name, UUID_EXTENSION);
		list[kept++] = list[i];
	}
	if (!has_uuid) {
		list[kept].version = CL_MAKE_VERSION(1, 0, 0);
		strcpy(list[kept++].name, UUID_EXTENSION);
	}
	if (!r)
		r = device_answer(list, kept * sizeof(*list), size, to, ret_size);
	free(list);
	return r;
}

cl_int CL_API_CALL dev_limiter_clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t size,
					       void *to, size_t *ret_size)
{
	struct dev_limiter_device *device = dev_limiter_device_find(id);
	static const cl_uchar no_luid[CL_LUID_SIZE_KHR];
	const cl_bool no = CL_FALSE;
	const cl_uint zero = 0;
	cl_device_type type;
	cl_ulong bytes;
	cl_int r;

	if (!device)
		return dev_limiter_driver.clGetDeviceInfo(id, what, size, to, ret_size);
	switch (what) {
	case CL_DEVICE_TYPE:
		r = dev_limiter_driver.clGetDeviceInfo(id, what, sizeof(type), &type, NULL);
		type = (type & CL_DEVICE_TYPE_DEFAULT) | CL_DEVICE_TYPE_GPU;
		return r ? r : device_answer(&type, sizeof(type), size, to, ret_size);
	case CL_DEVICE_HOST_UNIFIED_MEMORY:
		return device_answer(&no, sizeof(no), size, to, ret_size);
	case CL_DEVICE_GLOBAL_MEM_SIZE:
		bytes = device->capacity_bytes;
		return device_answer(&bytes, sizeof(bytes), size, to, ret_size);
	case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
		r = dev_limiter_driver.clGetDeviceInfo(id, what, sizeof(bytes), &bytes, NULL);
		bytes = SLU_MIN(bytes, (cl_ulong)device->capacity_bytes);
		return r ? r : device_answer(&bytes, sizeof(bytes), size, to, ret_size);
	case CL_DEVICE_EXTENSIONS:
		return answer_extensions(id, size, to, ret_size);
	case CL_DEVICE_EXTENSIONS_WITH_VERSION:
		return answer_versions(id, size, to, ret_size);
	case CL_DEVICE_UUID_KHR:
	case CL_DRIVER_UUID_KHR:
		return device_answer(dev_board_identity(device->board)->uuid, CL_UUID_SIZE_KHR,
				     size, to, ret_size);
	case CL_DEVICE_LUID_VALID_KHR:
		return device_answer(&no, sizeof(no), size, to, ret_size);
	case CL_DEVICE_LUID_KHR:
		return device_answer(no_luid, sizeof(no_luid), size, to, ret_size);
	case CL_DEVICE_NODE_MASK_KHR:
		return device_answer(&zero, sizeof(zero), size, to, ret_size);
	default:
		return dev_limiter_driver.clGetDeviceInfo(id, what, size, to, ret_size);
	}
}

static bool is_hidden(const char *name)
{
	return name && strstr(name, "CommandBuffer");
}

void *CL_API_CALL dev_limiter_clGetExtensionFunctionAddress(const char *name)
{
	return is_hidden(name) ? NULL : dev_limiter_driver.clGetExtensionFunctionAddress(name);
}

void *CL_API_CALL dev_limiter_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
								       const char *name)
{
	if (is_hidden(name))
		return NULL;
	return dev_limiter_driver.clGetExtensionFunctionAddressForPlatform(platform, name);
}
