/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The ways in which cl-paths changes an object: every sort of command that a program has, each to
 * the same end, one step of every word. A kind of object that a way cannot take is changed by a
 * kernel.
 */

#include <string.h>

#include "cl-paths.h"

static void launch(cl_kernel kernel, size_t n)
{
	cl_check(clEnqueueNDRangeKernel(paths.queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL),
		 "clEnqueueNDRangeKernel");
}

static void step_host(void)
{
	for (size_t i = 0; i < paths.n_words; i++)
		paths.host[i] = paths_step_word(paths.host[i], (uint32_t)i);
}

static void run(cl_mem mem, cl_uint from, size_t n)
{
	cl_check(clSetKernelArg(paths.advance, 0, sizeof(mem), &mem), "clSetKernelArg");
	cl_check(clSetKernelArg(paths.advance, 1, sizeof(from), &from), "clSetKernelArg");
	launch(paths.advance, n);
}

static void by_kernel(struct paths_object *t)
{
	const size_t origin[3] = { 0 }, region[3] = { PATHS_WIDTH, paths_rows(), 1 };

	if (t->kind != PATHS_IMAGE) {
		run(t->mem, 0, paths.n_words);
		return;
	}
	cl_check(clEnqueueCopyImage(paths.queue, t->mem, paths.scratch_image, origin, origin,
				    region, 0, NULL, NULL),
		 "clEnqueueCopyImage");
	cl_check(clSetKernelArg(paths.advance_image, 0, sizeof(cl_mem), &paths.scratch_image),
		 "clSetKernelArg");
	cl_check(clSetKernelArg(paths.advance_image, 1, sizeof(cl_mem), &t->mem), "clSetKernelArg");
	cl_check(clEnqueueNDRangeKernel(paths.queue, paths.advance_image, 2, NULL, region, NULL, 0,
					NULL, NULL),
		 "clEnqueueNDRangeKernel");
}

static void by_table(struct paths_object *t)
{
	struct paths_object *table =
		&paths.objects[PATHS_TABLE * paths.n_objects + paths_random() % paths.n_objects];

	if (t->kind == PATHS_IMAGE) {
		by_kernel(t);
		return;
	}
	cl_check(clSetKernelArg(paths.look, 0, sizeof(cl_mem), &t->mem), "clSetKernelArg");
	cl_check(clSetKernelArg(paths.look, 1, sizeof(cl_mem), &table->mem), "clSetKernelArg");
	launch(paths.look, paths.n_words);
}

static void by_host(struct paths_object *t)
{
	paths_read(t);
	step_host();
	paths_write(t);
}

static void by_map(struct paths_object *t)
{
	const size_t origin[3] = { 0 }, region[3] = { PATHS_WIDTH, paths_rows(), 1 };
	size_t row = PATHS_WIDTH * 16, slice;
	char *p;
	cl_int r;

	if (t->kind == PATHS_IMAGE)
		p = clEnqueueMapImage(paths.queue, t->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
				      origin, region, &row, &slice, 0, NULL, NULL, &r);
	else
		p = clEnqueueMapBuffer(paths.queue, t->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
				       paths_bytes(), 0, NULL, NULL, &r);
	cl_check(r, t->kind == PATHS_IMAGE ? "clEnqueueMapImage" : "clEnqueueMapBuffer");
	for (size_t i = 0; i < paths.n_words; i++) {
		size_t y = i / (PATHS_WIDTH * 4), x = i % (PATHS_WIDTH * 4);
		uint32_t *word = (uint32_t *)(p + y * row) + x;

		*word = paths_step_word(*word, (uint32_t)i);
	}
	cl_check(clEnqueueUnmapMemObject(paths.queue, t->mem, p, 0, NULL, NULL),
		 "clEnqueueUnmapMemObject");
}

static void by_parts(struct paths_object *t)
{
	size_t half = paths.n_words / 2 & ~(size_t)1023;
	const size_t from[] = { 0, half }, n[] = { half, paths.n_words - half };

	if (t->kind == PATHS_IMAGE) {
		by_kernel(t);
		return;
	}
	for (unsigned i = 0; i < 2; i++) {
		cl_buffer_region region = { from[i] * 4, n[i] * 4 };
		cl_mem part;
		cl_int r;

		part = clCreateSubBuffer(t->mem, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
					 &region, &r);
		cl_check(r, "clCreateSubBuffer");
		run(part, (cl_uint)from[i], n[i]);
		cl_check(clReleaseMemObject(part), "clReleaseMemObject");
	}
}

static void by_copy(struct paths_object *t)
{
	if (t->kind == PATHS_IMAGE) {
		by_kernel(t);
		return;
	}
	cl_check(clEnqueueCopyBuffer(paths.queue, t->mem, paths.scratch, 0, 0, paths_bytes(), 0,
				     NULL, NULL),
		 "clEnqueueCopyBuffer");
	run(paths.scratch, 0, paths.n_words);
	cl_check(clEnqueueCopyBuffer(paths.queue, paths.scratch, t->mem, 0, 0, paths_bytes(), 0,
				     NULL, NULL),
		 "clEnqueueCopyBuffer");
}

static void by_new_object(struct paths_object *t)
{
	paths_read(t);
	cl_check(clReleaseMemObject(t->mem), "clReleaseMemObject");
	step_host();
	paths_make(t);
}

static void by_migration(struct paths_object *t)
{
	cl_check(clEnqueueMigrateMemObjects(paths.queue, 1, &t->mem, 0, 0, NULL, NULL),
		 "clEnqueueMigrateMemObjects");
	by_kernel(t);
}

/* By a fill and a kernel that takes what it filled away again; an image is written anew behind it.
 */
static void by_fill(struct paths_object *t)
{
	const size_t origin[3] = { 0 }, region[3] = { PATHS_WIDTH, paths_rows(), 1 };
	cl_uint value = (cl_uint)paths_random(), colour[4] = { value, value, value, value };

	if (t->kind == PATHS_IMAGE) {
		paths_read(t);
		step_host();
		cl_check(clEnqueueFillImage(paths.queue, t->mem, colour, origin, region, 0, NULL,
					    NULL),
			 "clEnqueueFillImage");
		paths_write(t);
		return;
	}
	cl_check(clEnqueueFillBuffer(paths.queue, paths.scratch, &value, sizeof(value), 0,
				     paths_bytes(), 0, NULL, NULL),
		 "clEnqueueFillBuffer");
	cl_check(clSetKernelArg(paths.plus, 0, sizeof(cl_mem), &t->mem), "clSetKernelArg");
	cl_check(clSetKernelArg(paths.plus, 1, sizeof(cl_mem), &paths.scratch), "clSetKernelArg");
	cl_check(clSetKernelArg(paths.plus, 2, sizeof(value), &value), "clSetKernelArg");
	launch(paths.plus, paths.n_words);
}

static void by_rect(struct paths_object *t)
{
	const size_t row = PATHS_WIDTH * sizeof(uint32_t), origin[3] = { 0 };
	const size_t region[3] = { row, paths.n_words / PATHS_WIDTH, 1 };

	if (t->kind == PATHS_IMAGE) {
		by_kernel(t);
		return;
	}
	cl_check(clEnqueueCopyBufferRect(paths.queue, t->mem, paths.scratch, origin, origin, region,
					 row, 0, row, 0, 0, NULL, NULL),
		 "clEnqueueCopyBufferRect");
	cl_check(clEnqueueReadBufferRect(paths.queue, paths.scratch, CL_TRUE, origin, origin,
					 region, row, 0, row, 0, paths.host, 0, NULL, NULL),
		 "clEnqueueReadBufferRect");
	step_host();
	cl_check(clEnqueueWriteBufferRect(paths.queue, t->mem, CL_TRUE, origin, origin, region, row,
					  0, row, 0, paths.host, 0, NULL, NULL),
		 "clEnqueueWriteBufferRect");
}

struct native {
	uint32_t *words; /* filled in by the driver */
	size_t n;
};

static void CL_CALLBACK step_native(void *data)
{
	struct native *args = data;

	for (size_t i = 0; i < args->n; i++)
		args->words[i] = paths_step_word(args->words[i], (uint32_t)i);
}

static void by_native(struct paths_object *t)
{
	struct native args = { .n = paths.n_words };
	const void *where = &args.words;

	if (t->kind == PATHS_IMAGE || !paths.has_native) {
		by_kernel(t);
		return;
	}
	cl_check(clEnqueueNativeKernel(paths.queue, step_native, &args, sizeof(args), 1, &t->mem,
				       &where, 0, NULL, NULL),
		 "clEnqueueNativeKernel");
}

static void free_shared(void *shared)
{
	if (paths_random() % 2) {
		clSVMFree(paths.context, shared);
		return;
	}
	cl_check(clEnqueueSVMFree(paths.queue, 1, &shared, NULL, NULL, 0, NULL, NULL),
		 "clEnqueueSVMFree");
}

static void by_shared(struct paths_object *t)
{
	cl_uint from = 0;
	void *shared;

	if (!paths.has_shared) {
		by_host(t);
		return;
	}
	shared = clSVMAlloc(paths.context, CL_MEM_READ_WRITE, paths_bytes(), 0);
	cl_check(shared ? CL_SUCCESS : CL_MEM_OBJECT_ALLOCATION_FAILURE, "clSVMAlloc");
	paths_read(t);
	cl_check(clEnqueueSVMMemcpy(paths.queue, CL_TRUE, shared, paths.host, paths_bytes(), 0,
				    NULL, NULL),
		 "clEnqueueSVMMemcpy");
	cl_check(clSetKernelArgSVMPointer(paths.advance, 0, shared), "clSetKernelArgSVMPointer");
	cl_check(clSetKernelArg(paths.advance, 1, sizeof(from), &from), "clSetKernelArg");
	launch(paths.advance, paths.n_words);
	cl_check(clEnqueueSVMMap(paths.queue, CL_TRUE, CL_MAP_READ, shared, paths_bytes(), 0, NULL,
				 NULL),
		 "clEnqueueSVMMap");
	memcpy(paths.host, shared, paths_bytes());
	cl_check(clEnqueueSVMUnmap(paths.queue, shared, 0, NULL, NULL), "clEnqueueSVMUnmap");
	paths_write(t);
	free_shared(shared);
}

/* While the command cannot begin, another queue, if there is one, reads what may have to come in.
 */
static void by_user_event(struct paths_object *t)
{
	struct paths_object *table = &paths.objects[PATHS_TABLE * paths.n_objects];
	cl_command_queue here = paths.queue;
	cl_event user, done;
	cl_uint from = 0;
	cl_int r;

	if (t->kind == PATHS_IMAGE) {
		by_kernel(t);
		return;
	}
	user = clCreateUserEvent(paths.context, &r);
	cl_check(r, "clCreateUserEvent");
	cl_check(clSetKernelArg(paths.advance, 0, sizeof(cl_mem), &t->mem), "clSetKernelArg");
	cl_check(clSetKernelArg(paths.advance, 1, sizeof(from), &from), "clSetKernelArg");
	cl_check(clEnqueueNDRangeKernel(paths.queue, paths.advance, 1, NULL, &paths.n_words, NULL,
					1, &user, &done),
		 "clEnqueueNDRangeKernel");
	for (uint64_t i = 0; i < paths.n_devices; i++)
		if (paths.queues[i] != here) {
			paths.queue = paths.queues[i];
			paths_read(table);
		}
	paths.queue = here;
	cl_check(clSetUserEventStatus(user, CL_COMPLETE), "clSetUserEventStatus");
	cl_check(clWaitForEvents(1, &done), "clWaitForEvents");
	cl_check(clReleaseEvent(user), "clReleaseEvent");
	cl_check(clReleaseEvent(done), "clReleaseEvent");
}

void paths_step(struct paths_object *t, uint64_t number)
{
	static void (*const ways[])(struct paths_object *) = {
		by_kernel,    by_table, by_host, by_map,    by_parts,  by_copy,	      by_new_object,
		by_migration, by_fill,	by_rect, by_native, by_shared, by_user_event,
	};

	ways[number % (sizeof(ways) / sizeof(ways[0]))](t);
	t->n_steps++;
}
