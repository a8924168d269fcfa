/* SPDX-License-Identifier: Apache-2.0 */

#include "opencl/hasher.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "opencl/context.h"
#include "opencl/digest-source.h"
#include "opencl/headroom.h"

#define TRIES_MAX 8

/* A processor's core walks through memory of its own; a GPU's items take neighbouring blocks. */
#define CHUNKED_GROUPS	   4 /* a compute unit */
#define INTERLEAVED_GROUPS 16
#define INTERLEAVED_ITEMS  64
#define GROUPS_MAX	   2048

struct slu_hasher *slu_hasher_get(struct slu_context_place *place)
{
	struct slu_hasher *h = &place->hasher;

	slu_layer_take();
	if (h->state == SLU_HASHER_NONE)
		h->state = SLU_HASHER_WANTED;
	slu_layer_give();
	return h->state == SLU_HASHER_READY ? h : NULL;
}

/* -- building --------------------------------------------------------------------------------- */

static cl_int hasher_choose_size(struct slu_hasher *h, cl_device_id device)
{
	cl_device_type type = 0;
	cl_bool is_little = CL_FALSE;
	cl_uint n_units = 1;

	if (slu_layer_next.clGetDeviceInfo(device, CL_DEVICE_ENDIAN_LITTLE, sizeof(is_little),
					   &is_little, NULL) != CL_SUCCESS ||
	    !is_little)
		return CL_INVALID_DEVICE;
	slu_layer_next.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	slu_layer_next.clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(n_units),
				       &n_units, NULL);
	h->is_in_chunks = type & CL_DEVICE_TYPE_CPU;
	h->n_local = h->is_in_chunks ? 1 : INTERLEAVED_ITEMS;
	h->n_groups = n_units * (h->is_in_chunks ? CHUNKED_GROUPS : INTERLEAVED_GROUPS);
	h->n_groups = SLU_MAX(h->n_groups, (size_t)1);
	h->n_groups = SLU_MIN(h->n_groups, (size_t)GROUPS_MAX);
	return CL_SUCCESS;
}

static cl_int hasher_make_kernel(struct slu_hasher *h, const struct slu_context *context,
				 cl_device_id device)
{
	const char *source = slu_digest_source;
	size_t most = 0;
	cl_int r;

	h->program =
		slu_layer_next.clCreateProgramWithSource(context->handle, 1, &source, NULL, &r);
	if (r == CL_SUCCESS)
		r = slu_layer_next.clBuildProgram(h->program, 1, &device, "", NULL, NULL);
	if (r != CL_SUCCESS)
		return r;
	h->kernel = slu_layer_next.clCreateKernel(h->program, "slu_digest", &r);
	if (r != CL_SUCCESS)
		return r;
	r = slu_layer_next.clGetKernelWorkGroupInfo(h->kernel, device, CL_KERNEL_WORK_GROUP_SIZE,
						    sizeof(most), &most, NULL);
	while (r == CL_SUCCESS && most && h->n_local > most)
		h->n_local /= 2;
	return r;
}

static cl_int hasher_make(struct slu_hasher *h, const struct slu_context *context,
			  cl_device_id device)
{
	cl_int r = hasher_choose_size(h, device);

	if (r == CL_SUCCESS)
		h->queue = slu_layer_next.clCreateCommandQueue(context->handle, device,
							       CL_QUEUE_PROFILING_ENABLE, &r);
	if (r == CL_SUCCESS)
		h->sums =
			slu_layer_next.clCreateBuffer(context->handle, CL_MEM_READ_WRITE,
						      h->n_groups * 2 * sizeof(uint64_t), NULL, &r);
	return r == CL_SUCCESS ? hasher_make_kernel(h, context, device) : r;
}

void slu_hasher_build(const struct slu_context *context, struct slu_context_place *place)
{
	struct slu_hasher *h = &place->hasher;
	enum slu_hasher_state state = SLU_HASHER_READY;
	bool is_mine;
	cl_int r;

	slu_layer_take();
	is_mine = h->state == SLU_HASHER_WANTED;
	if (is_mine)
		h->state = SLU_HASHER_BUILDING;
	slu_layer_give();
	if (!is_mine)
		return;
	r = hasher_make(h, context, place->handle);
	if (r != CL_SUCCESS) {
		slu_hasher_deinit(h);
		state = slu_headroom_is_refusal(r) && ++h->n_tries < TRIES_MAX ? SLU_HASHER_WANTED
									       : SLU_HASHER_FAILED;
	}
	slu_layer_take();
	h->state = state;
	slu_layer_give();
}

cl_uint slu_hasher_n_hidden(const struct slu_hasher *h)
{
	return h->state == SLU_HASHER_READY ? 3 : 0; /* by queue, program and buffer */
}

void slu_hasher_deinit(struct slu_hasher *h)
{
	if (h->kernel)
		slu_layer_next.clReleaseKernel(slu_steal_ptr(h->kernel));
	if (h->program)
		slu_layer_next.clReleaseProgram(slu_steal_ptr(h->program));
	if (h->sums)
		slu_layer_next.clReleaseMemObject(slu_steal_ptr(h->sums));
	if (h->queue)
		slu_layer_next.clReleaseCommandQueue(slu_steal_ptr(h->queue));
}

/* -- digests ---------------------------------------------------------------------------------- */

static cl_int hasher_set_args(struct slu_hasher *h, cl_mem data, uint64_t bytes)
{
	uint64_t n_items = h->n_groups * h->n_local, n_blocks = bytes / SLU_DIGEST_BLOCK;
	cl_ulong size = bytes, count = n_blocks / n_items + 1;
	cl_ulong from = h->is_in_chunks ? count : 1, step = h->is_in_chunks ? 1 : n_items;
	const struct {
		size_t size;
		const void *value;
	} args[] = {
		{ sizeof(data), &data },
		{ sizeof(size), &size },
		{ sizeof(from), &from },
		{ sizeof(step), &step },
		{ sizeof(count), &count },
		{ sizeof(h->sums), &h->sums },
		{ 2 * sizeof(cl_ulong) * h->n_local, NULL },
	};
	cl_int r = CL_SUCCESS;

	for (cl_uint i = 0; i < SLU_ARRAY_SIZE(args) && r == CL_SUCCESS; i++)
		r = slu_layer_next.clSetKernelArg(h->kernel, i, args[i].size, args[i].value);
	return r;
}

static cl_int hasher_submit(struct slu_hasher *h, const struct slu_proxy *root,
			    struct slu_hashing_job *job)
{
	size_t n_items = h->n_groups * h->n_local, sums_bytes = h->n_groups * 2 * sizeof(uint64_t);
	cl_int r;

	r = hasher_set_args(h, root->real, root->size_bytes);
	if (r == CL_SUCCESS)
		r = slu_layer_next.clEnqueueNDRangeKernel(h->queue, h->kernel, 1, NULL, &n_items,
							  &h->n_local, 0, NULL, &job->kernel);
	if (r == CL_SUCCESS)
		r = slu_layer_next.clEnqueueReadBuffer(h->queue, h->sums, CL_FALSE, 0, sums_bytes,
						       job->sums, 0, NULL, &job->event);
	/* a driver may keep what a kernel has as an argument, and the object must be able to go */
	slu_layer_next.clSetKernelArg(h->kernel, 0, sizeof(h->sums), &h->sums);
	if (r == CL_SUCCESS)
		slu_layer_next.clFlush(h->queue);
	else
		slu_layer_next.clFinish(h->queue);
	return r;
}

cl_int slu_hasher_begin(struct slu_hasher *h, const struct slu_proxy *root,
			struct slu_hashing_job *ret_job)
{
	struct slu_hashing_job job = { .bytes = root->size_bytes };
	cl_int r;

	job.sums = calloc(h->n_groups, 2 * sizeof(uint64_t));
	if (!job.sums)
		return CL_OUT_OF_HOST_MEMORY;
	r = hasher_submit(h, root, &job);
	if (r != CL_SUCCESS) {
		if (job.kernel)
			slu_layer_next.clReleaseEvent(job.kernel);
		free(job.sums);
		return r;
	}
	job.n_groups = h->n_groups;
	*ret_job = job;
	return CL_SUCCESS;
}

static uint64_t hasher_measure(cl_event event)
{
	cl_ulong start = 0, end = 0;

	if (slu_layer_next.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start),
						   &start, NULL) != CL_SUCCESS ||
	    slu_layer_next.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end),
						   &end, NULL) != CL_SUCCESS)
		return 0;
	return slu_sub_floor(end, start);
}

cl_int slu_hasher_end(struct slu_hashing_job *job, struct slu_digest *ret_digest, uint64_t *ret_ns)
{
	uint64_t sums[2] = { 0 };
	cl_int r = slu_layer_next.clWaitForEvents(1, &job->event);

	*ret_ns = r == CL_SUCCESS ? hasher_measure(job->kernel) : 0;
	slu_layer_next.clReleaseEvent(job->kernel);
	slu_layer_next.clReleaseEvent(job->event);
	for (size_t i = 0; i < job->n_groups; i++) {
		sums[0] += job->sums[2 * i];
		sums[1] += job->sums[2 * i + 1];
	}
	free(job->sums);
	if (r == CL_SUCCESS)
		*ret_digest = slu_digest_end(sums, job->bytes);
	return r;
}
