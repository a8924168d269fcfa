/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Memory objects: charged when they are made (or, where failures come late, when a command first
 * names them), given back when the driver destroys them. The driver's own destructor callback
 * tells when that is, so commands in flight and references of any kind are its business. Ours is
 * the first callback of an object, and therefore the last that is called.
 *
 *   buffers and pipes   memory is taken before the driver is asked: their size is known
 *   images              after it, because only the driver knows what an image takes
 *   children            (sub-buffers, images of buffers) take nothing; what is asked of them is
 *                       answered by the root
 *
 * An object of a context with several devices has a place on each. At its creation nobody knows
 * where it will be used, so nothing is taken; on each device its memory is taken by the first
 * command there that names it, and kept until its end.
 */

#include <stdlib.h>

#include "limiter/bus.h"
#include "limiter/fault.h"
#include "limiter/hash.h"
#include "limiter/limiter.h"

struct object {
	UT_hash_handle hh;
	cl_mem mem;	   /* the key */
	cl_mem root;	   /* itself, or the object that it is a part of */
	uint64_t bytes;	   /* constant */
	bool is_host;	   /* constant: CL_MEM_ALLOC_HOST_PTR */
	unsigned n_places; /* constant: devices of its context; 0 of a child */
	struct place {
		struct dev_limiter_device *device; /* constant */
		struct dev_limiter_charge charge;  /* guarded by dev_limiter_lock */
	} places[];
};

static struct object *objects; /* guarded by dev_limiter_lock */

static struct object *find_locked(cl_mem mem)
{
	struct object *object;

	HASH_FIND_PTR(objects, &mem, object);
	return object;
}

static struct object *find_root_locked(cl_mem mem)
{
	struct object *object = find_locked(mem);

	while (object && object->root != object->mem)
		object = find_locked(object->root);
	return object;
}

bool dev_limiter_memory_is_known(cl_mem mem)
{
	bool known;

	slu_lock_take(&dev_limiter_lock);
	known = find_locked(mem) != NULL;
	slu_lock_give(&dev_limiter_lock);
	return known;
}

bool dev_limiter_memory_is_host(cl_mem mem)
{
	struct object *object;
	bool is_host;

	slu_lock_take(&dev_limiter_lock);
	object = find_root_locked(mem);
	is_host = object && object->is_host;
	slu_lock_give(&dev_limiter_lock);
	return is_host;
}

/* Guarded by dev_limiter_lock once the object is known. */
static bool charge_object(struct object *object, const struct dev_limiter_device *device)
{
	for (unsigned i = 0; i < object->n_places; i++) {
		struct place *place = &object->places[i];

		if (place->device == device && !place->charge.device &&
		    dev_limiter_charge_object(&place->charge, place->device, object->bytes))
			return false;
	}
	return true;
}

cl_int dev_limiter_memory_use(const struct dev_limiter_device *device, cl_uint n_mems,
			      const cl_mem *mems)
{
	cl_int r = CL_SUCCESS;

	if (!dev_limiter_device_counts_uses())
		return CL_SUCCESS;
	slu_lock_take(&dev_limiter_lock);
	for (cl_uint i = 0; i < n_mems && !r; i++) {
		struct object *object = mems[i] ? find_root_locked(mems[i]) : NULL;

		if (object && !object->is_host && !charge_object(object, device))
			r = CL_MEM_OBJECT_ALLOCATION_FAILURE;
	}
	slu_lock_give(&dev_limiter_lock);
	return r;
}

static void give_charges(struct object *object)
{
	for (unsigned i = 0; i < object->n_places; i++)
		dev_limiter_charge_give(&object->places[i].charge);
}

static void CL_CALLBACK memory_destroyed(cl_mem mem, void *data)
{
	struct object *object = data;

	(void)mem;
	slu_lock_take(&dev_limiter_lock);
	HASH_DEL(objects, object);
	slu_lock_give(&dev_limiter_lock);
	give_charges(object);
	free(object);
}

static cl_mem memory_refuse(struct object *object, cl_int r, cl_int *ret_r)
{
	if (object)
		give_charges(object);
	free(object);
	if (ret_r)
		*ret_r = r;
	return NULL;
}

/* Before the driver is asked. NULL: refused with *@ret_code. */
static struct object *memory_prepare(const struct dev_limiter_devices *devices, uint64_t bytes,
				     cl_mem_flags flags, cl_int *ret_code)
{
	struct object *object;
	bool is_at_once;

	if (dev_limiter_fault_meet(devices->list[0], DEV_LIMITER_FAULT_CREATE)) {
		*ret_code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
		return NULL;
	}
	object = calloc(1, sizeof(*object) + devices->n * sizeof(object->places[0]));
	if (!object) {
		*ret_code = CL_OUT_OF_HOST_MEMORY;
		return NULL;
	}
	object->bytes = bytes;
	object->is_host = flags & CL_MEM_ALLOC_HOST_PTR;
	object->n_places = bytes ? devices->n : 0;
	for (unsigned i = 0; i < object->n_places; i++)
		object->places[i].device = devices->list[i];
	is_at_once =
		object->n_places == 1 && !object->is_host && !dev_limiter_settings.fails_lazily;
	if (is_at_once && !charge_object(object, devices->list[0])) {
		free(object);
		*ret_code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
		return NULL;
	}
	return object;
}

/* After the driver has made it: from now on the driver says when it ends. */
static cl_mem memory_adopt(struct object *object, cl_mem mem, cl_mem root, cl_int *ret_r)
{
	cl_int r = CL_OUT_OF_HOST_MEMORY;
	bool is_added;

	object->mem = mem;
	object->root = root ? root : mem;
	slu_lock_take(&dev_limiter_lock);
	HASH_ADD_PTR(objects, mem, object);
	is_added = object->hh.tbl;
	slu_lock_give(&dev_limiter_lock);
	if (is_added)
		r = dev_limiter_driver.clSetMemObjectDestructorCallback(mem, memory_destroyed,
									object);
	if (!r)
		return mem;
	if (is_added) {
		slu_lock_take(&dev_limiter_lock);
		HASH_DEL(objects, object);
		slu_lock_give(&dev_limiter_lock);
	}
	dev_limiter_driver.clReleaseMemObject(mem);
	return memory_refuse(object, r, ret_r);
}

/* For each of them. */
static bool is_too_large(const struct dev_limiter_devices *devices, uint64_t bytes)
{
	for (unsigned i = 0; i < devices->n; i++) {
		cl_ulong max_bytes = 0;

		dev_limiter_clGetDeviceInfo(devices->list[i]->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE,
					    sizeof(max_bytes), &max_bytes, NULL);
		if (bytes <= max_bytes)
			return false;
	}
	return true;
}

/* The first contents of an object on one device; those of others go in with their first use. */
static void bring_contents(const struct dev_limiter_devices *devices, cl_mem_flags flags,
			   uint64_t bytes)
{
	if (devices->n == 1 && (flags & CL_MEM_COPY_HOST_PTR) && !(flags & CL_MEM_ALLOC_HOST_PTR))
		dev_limiter_bus_take(devices->list[0], DEV_BOARD_ENGINE_IN, bytes);
}

static cl_mem create_buffer(cl_context context, const cl_mem_properties *properties,
			    cl_mem_flags flags, size_t bytes, void *host, cl_int *ret_r)
{
	struct dev_limiter_devices devices = dev_limiter_context_devices(context);
	struct object *object = NULL;
	cl_int r = CL_SUCCESS;
	cl_mem mem;

	if (devices.n) {
		if (is_too_large(&devices, bytes))
			return memory_refuse(NULL, CL_INVALID_BUFFER_SIZE, ret_r);
		object = memory_prepare(&devices, bytes, flags, &r);
		if (!object)
			return memory_refuse(NULL, r, ret_r);
	}
	if (properties)
		mem = dev_limiter_driver.clCreateBufferWithProperties(context, properties, flags,
								      bytes, host, &r);
	else
		mem = dev_limiter_driver.clCreateBuffer(context, flags, bytes, host, &r);
	if (!mem)
		return memory_refuse(object, r, ret_r);
	if (devices.n) {
		mem = memory_adopt(object, mem, NULL, &r);
		if (mem)
			bring_contents(&devices, flags, bytes);
	}
	if (ret_r)
		*ret_r = r;
	return mem;
}

cl_mem CL_API_CALL dev_limiter_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes,
					      void *host, cl_int *ret_r)
{
	return create_buffer(context, NULL, flags, bytes, host, ret_r);
}

cl_mem CL_API_CALL dev_limiter_clCreateBufferWithProperties(cl_context context,
							    const cl_mem_properties *properties,
							    cl_mem_flags flags, size_t bytes,
							    void *host, cl_int *ret_r)
{
	static const cl_mem_properties none[] = { 0 };

	return create_buffer(context, properties ? properties : none, flags, bytes, host, ret_r);
}

cl_mem CL_API_CALL dev_limiter_clCreateSubBuffer(cl_mem parent, cl_mem_flags flags,
						 cl_buffer_create_type type, const void *info,
						 cl_int *ret_r)
{
	cl_mem mem = dev_limiter_driver.clCreateSubBuffer(parent, flags, type, info, ret_r);
	struct object *object;

	if (!mem || !dev_limiter_memory_is_known(parent))
		return mem;
	object = calloc(1, sizeof(*object));
	if (!object) {
		dev_limiter_driver.clReleaseMemObject(mem);
		return memory_refuse(NULL, CL_OUT_OF_HOST_MEMORY, ret_r);
	}
	return memory_adopt(object, mem, parent, ret_r);
}

cl_mem CL_API_CALL dev_limiter_clCreatePipe(cl_context context, cl_mem_flags flags,
					    cl_uint packet_bytes, cl_uint n_packets,
					    const cl_pipe_properties *properties, cl_int *ret_r)
{
	struct dev_limiter_devices devices = dev_limiter_context_devices(context);
	struct object *object = NULL;
	cl_int r = CL_SUCCESS;
	cl_mem mem;

	if (devices.n) {
		object = memory_prepare(&devices, (uint64_t)packet_bytes * n_packets, 0, &r);
		if (!object)
			return memory_refuse(NULL, r, ret_r);
	}
	mem = dev_limiter_driver.clCreatePipe(context, flags, packet_bytes, n_packets, properties,
					      &r);
	if (!mem)
		return memory_refuse(object, r, ret_r);
	if (devices.n)
		mem = memory_adopt(object, mem, NULL, &r);
	if (ret_r)
		*ret_r = r;
	return mem;
}

/* An image that the driver has made with @r; it goes again if it does not fit. */
static cl_mem take_image(cl_context context, cl_mem mem, cl_mem_flags flags, cl_int r,
			 cl_int *ret_r)
{
	struct dev_limiter_devices devices = dev_limiter_context_devices(context);
	struct object *object;
	cl_mem root = NULL;
	size_t bytes = 0;

	if (!mem)
		return memory_refuse(NULL, r, ret_r);
	if (devices.n) {
		dev_limiter_driver.clGetMemObjectInfo(mem, CL_MEM_ASSOCIATED_MEMOBJECT,
						      sizeof(root), &root, NULL);
		dev_limiter_driver.clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof(bytes), &bytes,
						      NULL);
		object = memory_prepare(&devices, root ? 0 : bytes, flags, &r);
		if (!object) {
			dev_limiter_driver.clReleaseMemObject(mem);
			return memory_refuse(NULL, r, ret_r);
		}
		mem = memory_adopt(object, mem, root, &r);
		if (mem && !root)
			bring_contents(&devices, flags, bytes);
	}
	if (ret_r)
		*ret_r = r;
	return mem;
}

cl_mem CL_API_CALL dev_limiter_clCreateImage(cl_context context, cl_mem_flags flags,
					     const cl_image_format *format,
					     const cl_image_desc *desc, void *host, cl_int *ret_r)
{
	cl_int r = CL_SUCCESS;
	cl_mem mem = dev_limiter_driver.clCreateImage(context, flags, format, desc, host, &r);

	return take_image(context, mem, flags, r, ret_r);
}

cl_mem CL_API_CALL dev_limiter_clCreateImageWithProperties(
	cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
	const cl_image_format *format, const cl_image_desc *desc, void *host, cl_int *ret_r)
{
	cl_int r = CL_SUCCESS;
	cl_mem mem = dev_limiter_driver.clCreateImageWithProperties(context, properties, flags,
								    format, desc, host, &r);

	return take_image(context, mem, flags, r, ret_r);
}

cl_mem CL_API_CALL dev_limiter_clCreateImage2D(cl_context context, cl_mem_flags flags,
					       const cl_image_format *format, size_t width,
					       size_t height, size_t pitch, void *host,
					       cl_int *ret_r)
{
	cl_int r = CL_SUCCESS;
	cl_mem mem = dev_limiter_driver.clCreateImage2D(context, flags, format, width, height,
							pitch, host, &r);

	return take_image(context, mem, flags, r, ret_r);
}

cl_mem CL_API_CALL dev_limiter_clCreateImage3D(cl_context context, cl_mem_flags flags,
					       const cl_image_format *format, size_t width,
					       size_t height, size_t depth, size_t row_pitch,
					       size_t slice_pitch, void *host, cl_int *ret_r)
{
	cl_int r = CL_SUCCESS;
	cl_mem mem = dev_limiter_driver.clCreateImage3D(context, flags, format, width, height,
							depth, row_pitch, slice_pitch, host, &r);

	return take_image(context, mem, flags, r, ret_r);
}
