/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Mappings. The program holds a pointer from the mapping to the unmapping, and the unit stays in
 * place meanwhile. After the unmapping is submitted the unit may move again: the event of that
 * command names the unit, so it does not move before the bytes are back.
 */

#include "opencl/bracket.h"

static void *map_answer(void *pointer, cl_int r, cl_int *errcode_ret)
{
	if (errcode_ret)
		*errcode_ret = r;
	return r == CL_SUCCESS ? pointer : NULL;
}

static bool maps_for_writing(cl_map_flags flags)
{
	return flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION);
}

static enum slu_access map_access_of(cl_map_flags flags)
{
	return maps_for_writing(flags) ? SLU_ACCESS_WRITE : SLU_ACCESS_READ;
}

static cl_int check_host_access(const struct slu_proxy *proxy, cl_map_flags flags)
{
	if ((flags & CL_MAP_READ) &&
	    (proxy->flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)))
		return CL_INVALID_OPERATION;
	if (maps_for_writing(flags) &&
	    (proxy->flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)))
		return CL_INVALID_OPERATION;
	return CL_SUCCESS;
}

static void map_note(struct slu_proxy *proxy)
{
	slu_layer_take();
	proxy->n_maps++;
	slu_layer_give();
	slu_bracket_hold(proxy->root, SLU_FROZEN_MAPPED);
}

static void unmap_note(struct slu_proxy *proxy)
{
	bool was_mapped;

	slu_layer_take();
	was_mapped = proxy->n_maps;
	proxy->n_maps -= was_mapped;
	slu_layer_give();
	if (was_mapped)
		slu_bracket_unhold(proxy->root);
}

static cl_int map_begin(struct slu_bracket *b, cl_command_queue queue, struct slu_name *name,
			cl_map_flags flags)
{
	cl_int r = slu_bracket_open(b, queue, 1, name);

	b->is_slow = true; /* the hold may wait, which is forbidden inside the gate */
	if (!r)
		r = check_host_access(name->proxy, flags);
	return r ? r : slu_bracket_enter(b);
}

void *slu_call_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
				  cl_map_flags flags, size_t offset, size_t size, cl_uint n_wait,
				  const cl_event *wait, cl_event *event, cl_int *errcode_ret)
{
	struct slu_name name = { buffer, map_access_of(flags) };
	struct slu_bracket b;
	void *pointer = NULL;
	cl_int r;

	do {
		r = map_begin(&b, queue, &name, flags);
		if (!r)
			pointer = slu_layer_next.clEnqueueMapBuffer(queue, name.real, CL_FALSE,
								    flags, offset, size, n_wait,
								    wait, &b.event, &r);
	} while (slu_bracket_again(&b, r));
	if (!r)
		map_note(name.proxy);
	r = slu_bracket_end(&b, r, blocking, n_wait, wait, event);
	return map_answer(pointer, r, errcode_ret);
}

void *slu_call_clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
				 cl_map_flags flags, const size_t *origin, const size_t *region,
				 size_t *row_pitch, size_t *slice_pitch, cl_uint n_wait,
				 const cl_event *wait, cl_event *event, cl_int *errcode_ret)
{
	struct slu_name name = { image, map_access_of(flags) };
	struct slu_bracket b;
	void *pointer = NULL;
	cl_int r;

	do {
		r = map_begin(&b, queue, &name, flags);
		if (!r)
			pointer = slu_layer_next.clEnqueueMapImage(
				queue, name.real, CL_FALSE, flags, origin, region, row_pitch,
				slice_pitch, n_wait, wait, &b.event, &r);
	} while (slu_bracket_again(&b, r));
	if (!r)
		map_note(name.proxy);
	r = slu_bracket_end(&b, r, blocking, n_wait, wait, event);
	return map_answer(pointer, r, errcode_ret);
}

cl_int slu_call_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem object, void *pointer,
					cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	struct slu_name name = { object, SLU_ACCESS_READ };
	struct slu_bracket b;
	cl_int r = slu_bracket_begin(&b, queue, 1, &name);
	bool is_done;

	if (!r)
		r = slu_layer_next.clEnqueueUnmapMemObject(queue, name.real, pointer, n_wait, wait,
							   &b.event);
	is_done = !r;
	r = slu_bracket_end(&b, r, CL_FALSE, n_wait, wait, event);
	if (is_done)
		unmap_note(name.proxy);
	return r;
}
