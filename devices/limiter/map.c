/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/queue.h>

#include "limiter/bus.h"
#include "limiter/fault.h"
#include "limiter/map.h"

struct map {
	LIST_ENTRY(map) link;
	cl_mem mem;
	const void *pointer;
	uint64_t bytes; /* that come back in */
};

static LIST_HEAD(, map) maps = LIST_HEAD_INITIALIZER(maps); /* guarded by dev_limiter_lock */

uint64_t dev_limiter_map_bytes_out(cl_map_flags flags, uint64_t bytes)
{
	return flags & CL_MAP_WRITE_INVALIDATE_REGION ? 0 : bytes;
}

void dev_limiter_map_note(cl_mem mem, const void *pointer, cl_map_flags flags, uint64_t bytes)
{
	struct map *map = malloc(sizeof(*map));

	if (!map)
		return;
	*map = (struct map){ .mem = mem, .pointer = pointer };
	if (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION))
		map->bytes = bytes;
	slu_lock_take(&dev_limiter_lock);
	LIST_INSERT_HEAD(&maps, map, link);
	slu_lock_give(&dev_limiter_lock);
}

uint64_t dev_limiter_map_forget(cl_mem mem, const void *pointer)
{
	uint64_t bytes = 0;
	struct map *map;

	slu_lock_take(&dev_limiter_lock);
	LIST_FOREACH (map, &maps, link)
		if (map->mem == mem && map->pointer == pointer)
			break;
	if (map) {
		bytes = map->bytes;
		LIST_REMOVE(map, link);
	}
	slu_lock_give(&dev_limiter_lock);
	free(map);
	return bytes;
}

/* Return: whether the map may go on; else *@ret_r says why. */
static bool map_admit(cl_command_queue queue, cl_mem mem, cl_int *ret_r)
{
	struct dev_limiter_device *device = dev_limiter_queue_device(queue);
	cl_int r = CL_OUT_OF_RESOURCES;

	if (!dev_limiter_fault_meet(device, DEV_LIMITER_FAULT_READ))
		r = dev_limiter_memory_use(device, 1, &mem);
	if (r && ret_r)
		*ret_r = r;
	return !r;
}

static void *map_finish(struct dev_limiter_passage *p, cl_mem mem, void *pointer,
			cl_map_flags flags, uint64_t bytes, cl_int r, cl_int *ret_r)
{
	r = dev_limiter_bus_end(p, r);
	if (!r)
		dev_limiter_map_note(mem, pointer, flags, bytes);
	if (ret_r)
		*ret_r = r;
	return r ? NULL : pointer;
}

void *CL_API_CALL dev_limiter_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem,
						 cl_bool blocking, cl_map_flags flags,
						 size_t offset, size_t bytes, cl_uint n_wait,
						 const cl_event *wait, cl_event *event,
						 cl_int *ret_r)
{
	uint64_t moved = dev_limiter_memory_is_host(mem) ? 0 : bytes;
	struct dev_limiter_passage p;
	cl_int r = CL_SUCCESS;
	void *pointer;

	if (!map_admit(queue, mem, ret_r))
		return NULL;
	dev_limiter_bus_begin(&p, queue, DEV_BOARD_ENGINE_OUT,
			      dev_limiter_map_bytes_out(flags, moved), blocking, n_wait, wait,
			      event);
	pointer = dev_limiter_driver.clEnqueueMapBuffer(queue, mem, p.blocking, flags, offset,
							bytes, p.n_wait, p.wait, p.event, &r);
	return map_finish(&p, mem, pointer, flags, moved, r, ret_r);
}

void *CL_API_CALL dev_limiter_clEnqueueMapImage(cl_command_queue queue, cl_mem image,
						cl_bool blocking, cl_map_flags flags,
						const size_t *origin, const size_t *region,
						size_t *row, size_t *slice, cl_uint n_wait,
						const cl_event *wait, cl_event *event,
						cl_int *ret_r)
{
	struct dev_limiter_passage p;
	cl_int r = CL_SUCCESS;
	uint64_t moved = 0;
	size_t element = 0;
	void *pointer;

	if (!map_admit(queue, image, ret_r))
		return NULL;
	dev_limiter_driver.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element,
					  NULL);
	if (region && !dev_limiter_memory_is_host(image))
		moved = (uint64_t)region[0] * region[1] * region[2] * element;
	dev_limiter_bus_begin(&p, queue, DEV_BOARD_ENGINE_OUT,
			      dev_limiter_map_bytes_out(flags, moved), blocking, n_wait, wait,
			      event);
	pointer = dev_limiter_driver.clEnqueueMapImage(queue, image, p.blocking, flags, origin,
						       region, row, slice, p.n_wait, p.wait,
						       p.event, &r);
	return map_finish(&p, image, pointer, flags, moved, r, ret_r);
}

cl_int CL_API_CALL dev_limiter_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem mem,
						       void *pointer, cl_uint n_wait,
						       const cl_event *wait, cl_event *event)
{
	struct dev_limiter_passage p;
	uint64_t bytes;
	cl_int r;

	if (dev_limiter_fault_meet(dev_limiter_queue_device(queue), DEV_LIMITER_FAULT_WRITE))
		return CL_OUT_OF_RESOURCES;
	bytes = dev_limiter_map_forget(mem, pointer);
	dev_limiter_bus_begin(&p, queue, DEV_BOARD_ENGINE_IN, bytes, CL_FALSE, n_wait, wait, event);
	r = dev_limiter_driver.clEnqueueUnmapMemObject(queue, mem, pointer, p.n_wait, p.wait,
						       p.event);
	return dev_limiter_bus_end(&p, r);
}
