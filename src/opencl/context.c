/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>

#include "base/util.h"
#include "opencl/context.h"
#include "opencl/headroom.h"

#define DUMMY_BYTES 64

static struct slu_table contexts; /* guarded by the layer's lock */

static cl_int context_ask_devices(cl_context handle, cl_device_id **ret_devices, size_t *ret_n)
{
	cl_device_id *devices;
	size_t size = 0;

	if (!handle || slu_layer_next.clGetContextInfo(handle, CL_CONTEXT_DEVICES, 0, NULL,
						       &size) != CL_SUCCESS)
		return CL_INVALID_CONTEXT;
	devices = malloc(SLU_MAX(size, sizeof(*devices)));
	if (!devices)
		return CL_OUT_OF_HOST_MEMORY;
	if (size < sizeof(*devices) ||
	    slu_layer_next.clGetContextInfo(handle, CL_CONTEXT_DEVICES, size, devices, NULL) !=
		    CL_SUCCESS) {
		free(devices);
		return CL_INVALID_CONTEXT;
	}
	*ret_devices = devices;
	*ret_n = size / sizeof(*devices);
	return CL_SUCCESS;
}

static void context_add_place(struct slu_context *context, cl_device_id handle)
{
	struct slu_device *device = slu_device_get(handle);

	if (!device || slu_context_place(context, device))
		return;
	context->places[context->n_places].device = device;
	context->places[context->n_places++].handle = handle;
}

static void context_learn_bounds(struct slu_context *context, cl_device_id handle)
{
	cl_ulong max = 0;
	cl_uint align_bits = 0;

	slu_layer_next.clGetDeviceInfo(handle, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(max), &max,
				       NULL);
	slu_layer_next.clGetDeviceInfo(handle, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(align_bits),
				       &align_bits, NULL);
	context->max_alloc_bytes = SLU_MAX(context->max_alloc_bytes, (uint64_t)max);
	if (align_bits >= 8)
		context->align_bytes = SLU_MIN(context->align_bytes, (uint64_t)align_bits / 8);
}

static cl_int context_learn(cl_context handle, struct slu_context **ret_context)
{
	struct slu_context *context;
	cl_device_id *devices;
	size_t n;
	cl_int r;

	r = context_ask_devices(handle, &devices, &n);
	if (r)
		return r;
	context = calloc(1, sizeof(*context) + n * sizeof(context->places[0]));
	if (!context) {
		free(devices);
		return CL_OUT_OF_HOST_MEMORY;
	}
	context->handle = handle;
	context->dispatch = *(const void **)handle;
	context->first = devices[0];
	context->payer = slu_device_get(devices[0]);
	context->align_bytes = UINT32_MAX;
	context->is_managed = true;
	for (size_t i = 0; i < n; i++) {
		struct slu_device *device = slu_device_get(devices[i]);

		context_add_place(context, devices[i]);
		context_learn_bounds(context, devices[i]);
		context->is_managed = context->is_managed && device && device->client;
	}
	free(devices);
	*ret_context = context;
	return CL_SUCCESS;
}

static struct slu_context *context_find_locked(cl_context handle)
{
	struct slu_table_node *node = slu_table_find(&contexts, handle);

	return node ? slu_container_of(node, struct slu_context, node) : NULL;
}

cl_int slu_context_get(cl_context handle, struct slu_context **ret_context)
{
	struct slu_context *context, *fresh = NULL;
	struct slu_table_node *old;
	cl_int r;

	slu_layer_take();
	context = context_find_locked(handle);
	if (context)
		context->n_objects++;
	slu_layer_give();

	if (!context) {
		r = context_learn(handle, &fresh);
		if (r)
			return r;
		slu_layer_take();
		context = context_find_locked(handle);
		if (!context && !slu_table_put(&contexts, handle, &fresh->node, &old)) {
			context = fresh;
			fresh = NULL;
		}
		if (context)
			context->n_objects++;
		slu_layer_give();
		free(fresh);
	}
	if (!context)
		return CL_OUT_OF_HOST_MEMORY;
	*ret_context = context;
	return CL_SUCCESS;
}

static void context_leave_place(struct slu_context_place *place)
{
	for (unsigned d = 0; d < _SLU_DIRECTION_MAX; d++)
		if (place->queue[d])
			slu_layer_next.clReleaseCommandQueue(place->queue[d]);
	slu_hasher_deinit(&place->hasher);
}

void slu_context_unref(struct slu_context *context)
{
	bool is_last;

	slu_layer_take();
	is_last = --context->n_objects == 0;
	if (is_last)
		slu_table_remove(&contexts, &context->node);
	slu_layer_give();
	if (!is_last)
		return;

	for (unsigned i = 0; i < context->n_places; i++)
		context_leave_place(&context->places[i]);
	while (context->dummies) {
		struct slu_context_dummy *dummy = context->dummies;

		context->dummies = dummy->next;
		slu_layer_next.clReleaseMemObject(dummy->mem);
		free(dummy);
	}
	free(context);
}

struct slu_context_place *slu_context_place(struct slu_context *context,
					    const struct slu_device *device)
{
	for (unsigned i = 0; i < context->n_places; i++)
		if (context->places[i].device == device)
			return &context->places[i];
	return NULL;
}

struct slu_device *slu_context_device_of(const struct slu_context *context,
					 const struct slu_unit *unit)
{
	unsigned index = __atomic_load_n(&unit->device, __ATOMIC_RELAXED);

	for (unsigned i = 0; i < context->n_places; i++)
		if (context->places[i].device->index == index)
			return context->places[i].device;
	return context->payer;
}

cl_command_queue slu_context_queue(struct slu_context *context, const struct slu_device *device,
				   enum slu_direction direction)
{
	struct slu_context_place *place = slu_context_place(context, device);
	cl_command_queue queue, fresh;
	cl_int r;

	if (!place)
		return NULL;
	slu_layer_take();
	queue = place->queue[direction];
	slu_layer_give();
	if (queue)
		return queue;

	fresh = slu_layer_next.clCreateCommandQueue(context->handle, place->handle, 0, &r);
	if (r != CL_SUCCESS)
		return NULL;
	slu_layer_take();
	queue = place->queue[direction];
	if (!queue) {
		queue = place->queue[direction] = fresh;
		fresh = NULL;
	}
	slu_layer_give();
	if (fresh)
		slu_layer_next.clReleaseCommandQueue(fresh);
	return queue;
}

static cl_mem dummy_find_locked(const struct slu_context *context, cl_mem_object_type type,
				cl_mem_flags access)
{
	const struct slu_context_dummy *dummy;

	for (dummy = context->dummies; dummy; dummy = dummy->next)
		if (dummy->type == type && dummy->access == access)
			return dummy->mem;
	return NULL;
}

/* One pixel in a format that every device with images has. */
static cl_mem dummy_make(struct slu_context *context, cl_mem_object_type type, cl_mem_flags access)
{
	const cl_image_format format = { CL_RGBA, CL_UNORM_INT8 };
	cl_image_desc desc = {
		.image_type = type,
		.image_width = 1,
		.image_height = 1,
		.image_depth = 1,
		.image_array_size = 1,
	};
	cl_mem mem;
	cl_int r;

	if (type == CL_MEM_OBJECT_BUFFER) {
		mem = slu_layer_next.clCreateBuffer(context->handle, CL_MEM_READ_WRITE, DUMMY_BYTES,
						    NULL, &r);
		return r == CL_SUCCESS ? mem : NULL;
	}
	if (type == CL_MEM_OBJECT_IMAGE1D_BUFFER)
		desc.mem_object = slu_context_dummy(context, CL_MEM_OBJECT_BUFFER, 0);
	mem = slu_layer_next.clCreateImage(context->handle, access, &format, &desc, NULL, &r);
	return r == CL_SUCCESS ? mem : NULL;
}

cl_mem slu_context_dummy(struct slu_context *context, cl_mem_object_type type, cl_mem_flags access)
{
	struct slu_context_dummy *fresh;
	cl_mem mem;

	slu_layer_take();
	mem = dummy_find_locked(context, type, access);
	slu_layer_give();
	if (mem)
		return mem;

	fresh = malloc(sizeof(*fresh));
	mem = fresh ? dummy_make(context, type, access) : NULL;
	if (!mem) {
		free(fresh);
		return NULL;
	}
	*fresh = (struct slu_context_dummy){ .type = type, .access = access, .mem = mem };
	slu_layer_take();
	mem = dummy_find_locked(context, type, access);
	if (!mem) {
		fresh->next = context->dummies;
		context->dummies = fresh;
		mem = fresh->mem;
		fresh = NULL;
	}
	slu_layer_give();
	if (fresh) { /* another thread was faster */
		slu_layer_next.clReleaseMemObject(fresh->mem);
		free(fresh);
	}
	return mem;
}

cl_uint slu_context_n_hidden(cl_context handle)
{
	struct slu_context *context;
	cl_uint n = 0;

	slu_layer_take();
	context = context_find_locked(handle);
	if (context) {
		const struct slu_context_dummy *dummy;

		for (unsigned i = 0; i < context->n_places; i++) {
			const struct slu_context_place *place = &context->places[i];

			n += (place->queue[SLU_DIRECTION_IN] != NULL) +
			     (place->queue[SLU_DIRECTION_OUT] != NULL) +
			     slu_hasher_n_hidden(&place->hasher);
		}
		for (dummy = context->dummies; dummy; dummy = dummy->next)
			n++;
	}
	slu_layer_give();
	return n;
}

/* -- the calls -------------------------------------------------------------------------------- */

struct making {
	struct slu_headroom headroom;
	const cl_context_properties *properties;
	cl_device_type type; /* where no devices are given */
	cl_uint n_devices;
	const cl_device_id *devices;
	void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *);
	void *data;
	cl_context made;
};

static cl_int context_attempt(struct slu_headroom *headroom)
{
	struct making *m = slu_container_of(headroom, struct making, headroom);
	cl_int r = CL_SUCCESS;

	if (m->devices)
		m->made = slu_layer_next.clCreateContext(m->properties, m->n_devices, m->devices,
							 m->notify, m->data, &r);
	else
		m->made = slu_layer_next.clCreateContextFromType(m->properties, m->type, m->notify,
								 m->data, &r);
	return r;
}

/* The device is added to the client only when the driver has refused and others must give way. */
static cl_context context_make(struct making *m, cl_device_id device, cl_int *errcode_ret)
{
	cl_int r = context_attempt(&m->headroom);

	if (slu_headroom_is_refusal(r) && device)
		r = slu_headroom_try(&m->headroom, slu_device_get(device), 0);
	if (errcode_ret)
		*errcode_ret = r;
	return r == CL_SUCCESS ? m->made : NULL;
}

cl_context slu_call_clCreateContext(const cl_context_properties *properties, cl_uint n_devices,
				    const cl_device_id *devices,
				    void(CL_CALLBACK *notify)(const char *, const void *, size_t,
							      void *),
				    void *data, cl_int *errcode_ret)
{
	struct making m = { .headroom.attempt = context_attempt,
			    .properties = properties,
			    .n_devices = n_devices,
			    .devices = devices,
			    .notify = notify,
			    .data = data };

	if (!devices || !n_devices)
		return slu_layer_next.clCreateContext(properties, n_devices, devices, notify, data,
						      errcode_ret);
	return context_make(&m, devices[0], errcode_ret);
}

cl_context slu_call_clCreateContextFromType(const cl_context_properties *properties,
					    cl_device_type type,
					    void(CL_CALLBACK *notify)(const char *, const void *,
								      size_t, void *),
					    void *data, cl_int *errcode_ret)
{
	struct making m = { .headroom.attempt = context_attempt,
			    .properties = properties,
			    .type = type,
			    .notify = notify,
			    .data = data };
	cl_platform_id platform = NULL;
	cl_device_id device = NULL;

	for (size_t i = 0; properties && properties[i]; i += 2)
		if (properties[i] == CL_CONTEXT_PLATFORM)
			platform = (cl_platform_id)properties[i + 1];
	if (!platform)
		slu_layer_next.clGetPlatformIDs(1, &platform, NULL);
	if (platform && slu_layer_next.clGetDeviceIDs(platform, type, 1, &device, NULL))
		device = NULL;
	return context_make(&m, device, errcode_ret);
}
