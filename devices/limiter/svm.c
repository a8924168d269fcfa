/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Shared virtual memory. Coarse-grained memory lies on the device: it counts, and copies to and
 * from ordinary memory, maps and unmaps cross the bus. Fine-grained memory counts too, but maps
 * cost nothing, because nobody needs them.
 */

#include <stdlib.h>
#include <sys/queue.h>

#include "limiter/bus.h"
#include "limiter/fault.h"
#include "limiter/map.h"

struct svm {
	LIST_ENTRY(svm) link;
	const char *pointer;
	size_t bytes;
	bool is_fine;
	struct dev_limiter_charge charge;
};

static LIST_HEAD(, svm) svms = LIST_HEAD_INITIALIZER(svms); /* guarded by dev_limiter_lock */

static struct svm *find_locked(const void *pointer)
{
	struct svm *svm;

	LIST_FOREACH (svm, &svms, link)
		if ((const char *)pointer >= svm->pointer &&
		    (const char *)pointer < svm->pointer + svm->bytes)
			return svm;
	return NULL;
}

enum svm_kind {
	SVM_NONE,
	SVM_COARSE,
	SVM_FINE,
};

static enum svm_kind kind_of(const void *pointer)
{
	enum svm_kind kind = SVM_NONE;
	struct svm *svm;

	slu_lock_take(&dev_limiter_lock);
	svm = find_locked(pointer);
	if (svm)
		kind = svm->is_fine ? SVM_FINE : SVM_COARSE;
	slu_lock_give(&dev_limiter_lock);
	return kind;
}

static void svm_forget(const void *pointer)
{
	struct svm *svm;

	slu_lock_take(&dev_limiter_lock);
	svm = find_locked(pointer);
	if (svm)
		LIST_REMOVE(svm, link);
	slu_lock_give(&dev_limiter_lock);
	if (svm)
		dev_limiter_charge_give(&svm->charge);
	free(svm);
}

void *CL_API_CALL dev_limiter_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t bytes,
					 cl_uint alignment)
{
	struct dev_limiter_device *device = dev_limiter_context_devices(context).list[0];
	struct svm *svm;
	void *pointer;

	if (!device)
		return dev_limiter_driver.clSVMAlloc(context, flags, bytes, alignment);
	if (dev_limiter_fault_meet(device, DEV_LIMITER_FAULT_CREATE))
		return NULL;
	svm = calloc(1, sizeof(*svm));
	if (!svm)
		return NULL;
	pointer = NULL;
	if (!dev_limiter_charge_object(&svm->charge, device, bytes)) {
		pointer = dev_limiter_driver.clSVMAlloc(context, flags, bytes, alignment);
		if (!pointer)
			dev_limiter_charge_give(&svm->charge);
	}
	if (!pointer) {
		free(svm);
		return NULL;
	}
	svm->pointer = pointer;
	svm->bytes = bytes;
	svm->is_fine = flags & CL_MEM_SVM_FINE_GRAIN_BUFFER;
	slu_lock_take(&dev_limiter_lock);
	LIST_INSERT_HEAD(&svms, svm, link);
	slu_lock_give(&dev_limiter_lock);
	return pointer;
}

void CL_API_CALL dev_limiter_clSVMFree(cl_context context, void *pointer)
{
	svm_forget(pointer);
	dev_limiter_driver.clSVMFree(context, pointer);
}

struct late_free {
	cl_uint n;
	void *pointers[];
};

static void CL_CALLBACK svm_freed(cl_event event, cl_int status, void *data)
{
	struct late_free *late = data;

	(void)event;
	(void)status;
	for (cl_uint i = 0; i < late->n; i++)
		svm_forget(late->pointers[i]);
	free(late);
}

cl_int CL_API_CALL dev_limiter_clEnqueueSVMFree(cl_command_queue queue, cl_uint n, void *pointers[],
						void(CL_CALLBACK *by)(cl_command_queue, cl_uint,
								      void *[], void *),
						void *data, cl_uint n_wait, const cl_event *wait,
						cl_event *event)
{
	struct late_free *late;
	cl_event own = NULL;
	cl_int r;

	late = malloc(sizeof(*late) + n * sizeof(late->pointers[0]));
	if (!late)
		return CL_OUT_OF_HOST_MEMORY;
	late->n = pointers ? n : 0;
	for (cl_uint i = 0; i < late->n; i++)
		late->pointers[i] = pointers[i];
	r = dev_limiter_driver.clEnqueueSVMFree(queue, n, pointers, by, data, n_wait, wait, &own);
	if (r) {
		free(late);
		return r;
	}
	dev_limiter_queue_note(queue, NULL);
	if (dev_limiter_driver.clSetEventCallback(own, CL_COMPLETE, svm_freed, late))
		svm_freed(own, CL_COMPLETE, late);
	if (event)
		*event = own;
	else
		dev_limiter_driver.clReleaseEvent(own);
	return r;
}

cl_int CL_API_CALL dev_limiter_clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool blocking,
						  void *to, const void *from, size_t bytes,
						  cl_uint n_wait, const cl_event *wait,
						  cl_event *event)
{
	bool is_in = kind_of(to) != SVM_NONE, is_out = kind_of(from) != SVM_NONE;
	struct dev_limiter_passage p;
	cl_int r;

	if (dev_limiter_fault_meet(dev_limiter_queue_device(queue),
				   is_in == is_out ? DEV_LIMITER_FAULT_ENQUEUE
				   : is_in	   ? DEV_LIMITER_FAULT_WRITE
						   : DEV_LIMITER_FAULT_READ))
		return CL_OUT_OF_RESOURCES;
	dev_limiter_bus_begin(&p, queue, is_in ? DEV_BOARD_ENGINE_IN : DEV_BOARD_ENGINE_OUT,
			      is_in != is_out ? bytes : 0, blocking, n_wait, wait, event);
	r = dev_limiter_driver.clEnqueueSVMMemcpy(queue, p.blocking, to, from, bytes, p.n_wait,
						  p.wait, p.event);
	return dev_limiter_bus_end(&p, r);
}

cl_int CL_API_CALL dev_limiter_clEnqueueSVMMemFill(cl_command_queue queue, void *pointer,
						   const void *pattern, size_t pattern_bytes,
						   size_t bytes, cl_uint n_wait,
						   const cl_event *wait, cl_event *event)
{
	if (dev_limiter_fault_meet(dev_limiter_queue_device(queue), DEV_LIMITER_FAULT_ENQUEUE))
		return CL_OUT_OF_RESOURCES;
	dev_limiter_queue_note(queue, NULL);
	return dev_limiter_driver.clEnqueueSVMMemFill(queue, pointer, pattern, pattern_bytes, bytes,
						      n_wait, wait, event);
}

cl_int CL_API_CALL dev_limiter_clEnqueueSVMMap(cl_command_queue queue, cl_bool blocking,
					       cl_map_flags flags, void *pointer, size_t bytes,
					       cl_uint n_wait, const cl_event *wait,
					       cl_event *event)
{
	uint64_t moved = kind_of(pointer) == SVM_COARSE ? bytes : 0;
	struct dev_limiter_passage p;
	cl_int r;

	if (dev_limiter_fault_meet(dev_limiter_queue_device(queue), DEV_LIMITER_FAULT_READ))
		return CL_OUT_OF_RESOURCES;
	dev_limiter_bus_begin(&p, queue, DEV_BOARD_ENGINE_OUT,
			      dev_limiter_map_bytes_out(flags, moved), blocking, n_wait, wait,
			      event);
	r = dev_limiter_driver.clEnqueueSVMMap(queue, p.blocking, flags, pointer, bytes, p.n_wait,
					       p.wait, p.event);
	r = dev_limiter_bus_end(&p, r);
	if (!r)
		dev_limiter_map_note(NULL, pointer, flags, moved);
	return r;
}

cl_int CL_API_CALL dev_limiter_clEnqueueSVMUnmap(cl_command_queue queue, void *pointer,
						 cl_uint n_wait, const cl_event *wait,
						 cl_event *event)
{
	struct dev_limiter_passage p;
	cl_int r;

	if (dev_limiter_fault_meet(dev_limiter_queue_device(queue), DEV_LIMITER_FAULT_WRITE))
		return CL_OUT_OF_RESOURCES;
	dev_limiter_bus_begin(&p, queue, DEV_BOARD_ENGINE_IN, dev_limiter_map_forget(NULL, pointer),
			      CL_FALSE, n_wait, wait, event);
	r = dev_limiter_driver.clEnqueueSVMUnmap(queue, pointer, p.n_wait, p.wait, p.event);
	return dev_limiter_bus_end(&p, r);
}

cl_int CL_API_CALL dev_limiter_clEnqueueSVMMigrateMem(cl_command_queue queue, cl_uint n,
						      const void **pointers, const size_t *sizes,
						      cl_mem_migration_flags flags, cl_uint n_wait,
						      const cl_event *wait, cl_event *event)
{
	dev_limiter_queue_note(queue, NULL);
	return dev_limiter_driver.clEnqueueSVMMigrateMem(queue, n, pointers, sizes, flags, n_wait,
							 wait, event);
}
