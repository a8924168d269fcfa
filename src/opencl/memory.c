/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The release of an object may be deferred. A program may give up an object while its commands are
 * queued; OpenCL keeps it until they have ended. So does the account: a thread of the layer frees
 * the unit and calls the destructor callbacks after the last command that names it.
 */

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "opencl/bracket.h"
#include "opencl/memory.h"

static void proxy_notify(struct slu_proxy *proxy)
{
	for (;;) {
		struct slu_proxy_notify *first;

		slu_layer_take();
		first = proxy->notify;
		if (first)
			proxy->notify = first->next;
		slu_layer_give();
		if (!first)
			return;
		slu_lock_assert_none();
		first->call(slu_proxy_handle(proxy), first->data);
		free(first);
	}
}

static void release_child(struct slu_proxy *proxy)
{
	struct slu_proxy *parent = proxy->parent;
	cl_mem real;

	slu_layer_take();
	LIST_REMOVE(proxy, sibling);
	real = slu_steal_ptr(proxy->real);
	slu_layer_give();
	if (real)
		slu_layer_next.clReleaseMemObject(real);
	slu_proxy_free(proxy);
	if (slu_proxy_unref(parent))
		slu_memory_release_later(parent);
}

/* Our own queues in the context go before the object's reference of it does. */
static void release_root(struct slu_proxy *proxy)
{
	cl_context context = proxy->context->handle;
	bool holds_context;
	cl_mem real;

	slu_command_forget(proxy);
	if (proxy->unit) {
		if (proxy->n_held)
			slu_client_unit_freeze(proxy->unit, SLU_FROZEN_NO);
		slu_client_unit_free(slu_steal_ptr(proxy->unit));
	}
	real = slu_steal_ptr(proxy->real);
	holds_context = proxy->holds_context;
	proxy->holds_context = false;
	slu_context_unref(proxy->context);
	slu_proxy_free(proxy);
	if (real)
		slu_layer_next.clReleaseMemObject(real);
	if (holds_context)
		slu_layer_next.clReleaseContext(context);
}

static void release_now(struct slu_proxy *proxy)
{
	proxy_notify(proxy);
	if (proxy->root == proxy)
		release_root(proxy);
	else
		release_child(proxy);
}

static void release_run(struct slu_worker_job *job)
{
	release_now(slu_container_of(job, struct slu_proxy, release_job));
}

static bool release_count_down(struct slu_proxy *proxy)
{
	bool is_last;

	slu_layer_take();
	is_last = --proxy->n_awaited == 0;
	slu_layer_give();
	return is_last;
}

static void CL_CALLBACK command_ended(cl_event event, cl_int status, void *data)
{
	struct slu_proxy *proxy = data;

	if (release_count_down(proxy))
		slu_worker_push(&proxy->release_job);
}

void slu_memory_release_later(struct slu_proxy *proxy)
{
	proxy->release_job.run = release_run;
	if (proxy->root != proxy || !slu_command_look_all(proxy)) {
		release_now(proxy);
		return;
	}
	proxy->n_awaited = 1; /* our own, so that no command is the last before all are watched */
	slu_command_watch(proxy, command_ended, proxy);
	if (release_count_down(proxy))
		release_now(proxy);
}

bool slu_memory_reserve(const struct slu_context *context, uint64_t bytes,
			struct slu_reserve *ret_reserve)
{
	struct slu_client_device *client = context->payer ? context->payer->client : NULL;

	if (client && !slu_client_device_reserve(client, bytes, bytes))
		return false;
	*ret_reserve = (struct slu_reserve){ client, client ? bytes : 0 };
	return true;
}

void slu_memory_unreserve(struct slu_reserve *reserve)
{
	if (reserve->client)
		slu_client_device_unreserve(reserve->client, reserve->bytes);
	reserve->bytes = 0;
}

static void proxy_charge(struct slu_proxy *proxy, enum slu_frozen why, struct slu_reserve *reserve)
{
	struct slu_device *device = proxy->context->payer;

	proxy->device = device;
	if (device && device->client &&
	    slu_client_unit_new_reserved(device->client, proxy->size_bytes, why, &reserve->bytes,
					 proxy, &proxy->unit))
		proxy->unit = NULL;
}

struct slu_proxy *slu_memory_charge(cl_context context, size_t size, enum slu_frozen why,
				    struct slu_reserve *reserve)
{
	struct slu_proxy *proxy;

	if (slu_proxy_new(&proxy))
		return NULL;
	if (slu_context_get(context, &proxy->context)) {
		slu_proxy_unref(proxy);
		slu_proxy_free(proxy);
		return NULL;
	}
	proxy->size_bytes = size;
	proxy_charge(proxy, why, reserve);
	if (proxy->unit)
		return proxy;
	slu_memory_discharge(proxy);
	return NULL;
}

void slu_memory_discharge(struct slu_proxy *charged)
{
	slu_client_unit_free(slu_steal_ptr(charged->unit));
	slu_context_unref(charged->context);
	slu_proxy_unref(charged);
	slu_proxy_free(charged);
}

cl_int slu_memory_adopt(cl_context context, cl_mem real, enum slu_frozen why,
			struct slu_reserve *reserve, struct slu_proxy *parent,
			struct slu_proxy **ret_proxy)
{
	struct slu_proxy *proxy;
	size_t size = 0;
	cl_int r;

	if (slu_proxy_new(&proxy)) {
		slu_layer_next.clReleaseMemObject(real);
		return CL_OUT_OF_HOST_MEMORY;
	}
	if (!parent) {
		r = slu_context_get(context, &proxy->context);
		if (r) {
			slu_layer_next.clReleaseMemObject(real);
			slu_proxy_free(proxy);
			return r;
		}
	} else {
		proxy->context = parent->context;
	}
	slu_layer_next.clGetMemObjectInfo(real, CL_MEM_TYPE, sizeof(proxy->type), &proxy->type,
					  NULL);
	slu_layer_next.clGetMemObjectInfo(real, CL_MEM_FLAGS, sizeof(proxy->flags), &proxy->flags,
					  NULL);
	slu_layer_next.clGetMemObjectInfo(real, CL_MEM_SIZE, sizeof(size), &size, NULL);
	proxy->dispatch = proxy->context->dispatch;
	proxy->size_bytes = size;
	proxy->real = real;
	proxy->generation = parent ? parent->root->generation : 1;
	if (parent) {
		proxy->parent = parent;
		proxy->root = parent->root;
		slu_proxy_ref(parent);
		slu_layer_take();
		LIST_INSERT_HEAD(&proxy->root->children, proxy, sibling);
		slu_layer_give();
	} else if (why != SLU_FROZEN_NO) {
		proxy_charge(proxy, why, reserve);
	}
	*ret_proxy = proxy;
	return CL_SUCCESS;
}

cl_mem slu_memory_hand_out(cl_context context, cl_mem real, cl_int r, enum slu_frozen why,
			   struct slu_reserve *reserve, cl_int *errcode_ret)
{
	struct slu_proxy *proxy = NULL;

	if (r == CL_SUCCESS)
		r = slu_memory_adopt(context, real, why, reserve, NULL, &proxy);
	return slu_memory_answer(r ? NULL : slu_proxy_handle(proxy), r, errcode_ret);
}

/* -- the calls -------------------------------------------------------------------------------- */

cl_int slu_call_clRetainMemObject(cl_mem handle)
{
	struct slu_proxy *proxy = slu_proxy_find(handle);

	if (!proxy)
		return CL_INVALID_MEM_OBJECT;
	slu_proxy_ref(proxy);
	return CL_SUCCESS;
}

cl_int slu_call_clReleaseMemObject(cl_mem handle)
{
	struct slu_proxy *proxy = slu_proxy_find(handle);

	if (!proxy)
		return CL_INVALID_MEM_OBJECT;
	if (slu_proxy_unref(proxy))
		slu_memory_release_later(proxy);
	return CL_SUCCESS;
}

cl_int slu_call_clSetMemObjectDestructorCallback(cl_mem handle,
						 void(CL_CALLBACK *call)(cl_mem, void *),
						 void *data)
{
	struct slu_proxy *proxy = slu_proxy_find(handle);
	struct slu_proxy_notify *first;

	if (!proxy)
		return CL_INVALID_MEM_OBJECT;
	if (!call)
		return CL_INVALID_VALUE;
	first = malloc(sizeof(*first));
	if (!first)
		return CL_OUT_OF_HOST_MEMORY;
	*first = (struct slu_proxy_notify){ .call = call, .data = data };
	slu_layer_take();
	first->next = proxy->notify;
	proxy->notify = first;
	slu_layer_give();
	return CL_SUCCESS;
}
