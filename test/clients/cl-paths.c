/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Objects of every kind in one context over all devices, changed in every way that a program has:
 * buffers, buffers in the program's own memory, images, and tables that kernels only read; by
 * kernels, reads and writes, maps, sub-buffers, copies, migration, and by being made anew. Each
 * change is made on a device that is chosen at random. As in cl-fill a word's value after any
 * number of changes is known, so one that was lost, stale or changed twice is seen at the end.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl-util.h"
#include "client.h"

static const char usage[] =
	"usage: cl-paths [OPTION]...\n"
	"Changes objects of every kind on all OpenCL devices, checks every word.\n"
	"\n"
	"  -k, --kib N        KiB an object (default 256)\n"
	"  -b, --objects N    so many objects of each kind (default 2)\n"
	"  -r, --rounds N     every object is changed so many times (default 10)\n"
	"  -s, --seed N       of contents and order (default 1)\n"
	"  -d, --devices N    of the platform, at most (default 2)\n"
	"  -e, --endless      rounds until the end of standard input; N rounds at least\n"
	"  -h, --help\n"
	"\n" CL_EXIT_TEXT;

static const char source[] =
	"uint step_word(uint x, uint i) { return x * 1664525u + 2 * i + 1; }\n"
	"kernel void advance(global uint *p, uint from) {\n"
	"  uint i = get_global_id(0);\n"
	"  p[i] = step_word(p[i], i + from);\n"
	"}\n"
	"kernel void look(global uint *p, global const uint *table) {\n"
	"  uint i = get_global_id(0);\n"
	"  p[i] = step_word(p[i], i) + (table[i] ^ (i * 0x85ebca6bu));\n"
	"}\n"
	"kernel void advance_image(read_only image2d_t from, write_only image2d_t to) {\n"
	"  int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
	"  uint i = (at.y * get_global_size(0) + at.x) * 4;\n"
	"  uint4 x = read_imageui(from, at);\n"
	"  write_imageui(to, at, x * 1664525u + 2 * (i + (uint4)(0, 1, 2, 3)) + 1);\n"
	"}\n";

#define DEVICES_MAX 8
#define IMAGE_WIDTH 64 /* pixels of four words */

enum kind { BUFFER, HOST, IMAGE, TABLE, N_KINDS };

struct object {
	enum kind kind;
	cl_mem mem;
	uint32_t *own; /* of a HOST */
	uint64_t number, n_steps;
};

static struct {
	uint64_t kib, n_objects, n_rounds, seed, n_devices;
	bool is_endless;
} o = { .kib = 256, .n_objects = 2, .n_rounds = 10, .seed = 1, .n_devices = 2 };

static cl_context context;
static cl_command_queue queues[DEVICES_MAX], queue; /* the one of this change */
static cl_kernel advance, look, advance_image;
static cl_mem scratch, scratch_image;
static struct object *objects;
static uint32_t *host;
static size_t n_words;
static bool has_images;

static uint64_t next_random(void)
{
	static uint64_t x;

	if (!x)
		x = o.seed * 2654435761u + 1;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static uint32_t step_word(uint32_t x, uint32_t i)
{
	return x * 1664525u + 2 * i + 1;
}

static uint32_t first_word(const struct object *t, size_t i)
{
	if (t->kind == TABLE)
		return (uint32_t)i * 0x85ebca6bu;
	return ((uint32_t)i * 0x9e3779b9u) ^ (uint32_t)(o.seed * 1000003u + t->number);
}

static size_t bytes(void)
{
	return n_words * sizeof(uint32_t);
}

static size_t n_rows(void)
{
	return n_words / (4 * IMAGE_WIDTH);
}

static cl_mem make_image(cl_mem_flags flags, void *contents)
{
	const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT32 };
	const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
				     .image_width = IMAGE_WIDTH,
				     .image_height = n_rows() };
	cl_int r;
	cl_mem mem = clCreateImage(context, flags, &format, &desc, contents, &r);

	cl_check(r, "clCreateImage");
	return mem;
}

static cl_mem make_buffer(cl_mem_flags flags, void *contents)
{
	cl_int r;
	cl_mem mem = clCreateBuffer(context, flags, bytes(), contents, &r);

	cl_check(r, "clCreateBuffer");
	return mem;
}

/* With the contents that are in `host`. */
static void make(struct object *t)
{
	if (t->kind == HOST)
		memcpy(t->own, host, bytes());
	t->mem = t->kind == IMAGE  ? make_image(CL_MEM_COPY_HOST_PTR, host)
		 : t->kind == HOST ? make_buffer(CL_MEM_USE_HOST_PTR, t->own)
				   : make_buffer(CL_MEM_COPY_HOST_PTR, host);
}

static void read_all(const struct object *t)
{
	const size_t origin[3] = { 0 }, region[3] = { IMAGE_WIDTH, n_rows(), 1 };

	if (t->kind == IMAGE)
		cl_check(clEnqueueReadImage(queue, t->mem, CL_TRUE, origin, region, 0, 0, host, 0,
					    NULL, NULL),
			 "clEnqueueReadImage");
	else
		cl_check(clEnqueueReadBuffer(queue, t->mem, CL_TRUE, 0, bytes(), host, 0, NULL,
					     NULL),
			 "clEnqueueReadBuffer");
}

static void write_all(const struct object *t)
{
	const size_t origin[3] = { 0 }, region[3] = { IMAGE_WIDTH, n_rows(), 1 };

	if (t->kind == IMAGE)
		cl_check(clEnqueueWriteImage(queue, t->mem, CL_TRUE, origin, region, 0, 0, host, 0,
					     NULL, NULL),
			 "clEnqueueWriteImage");
	else
		cl_check(clEnqueueWriteBuffer(queue, t->mem, CL_TRUE, 0, bytes(), host, 0, NULL,
					      NULL),
			 "clEnqueueWriteBuffer");
}

static void run(cl_mem mem, cl_uint from, size_t n)
{
	cl_check(clSetKernelArg(advance, 0, sizeof(mem), &mem), "clSetKernelArg");
	cl_check(clSetKernelArg(advance, 1, sizeof(from), &from), "clSetKernelArg");
	cl_check(clEnqueueNDRangeKernel(queue, advance, 1, NULL, &n, NULL, 0, NULL, NULL),
		 "clEnqueueNDRangeKernel");
}

/* -- changes: each makes one step of every word ------------------------------------------------ */

static void by_kernel(struct object *t)
{
	const size_t origin[3] = { 0 }, region[3] = { IMAGE_WIDTH, n_rows(), 1 };

	if (t->kind != IMAGE) {
		run(t->mem, 0, n_words);
		return;
	}
	cl_check(clEnqueueCopyImage(queue, t->mem, scratch_image, origin, origin, region, 0, NULL,
				    NULL),
		 "clEnqueueCopyImage");
	cl_check(clSetKernelArg(advance_image, 0, sizeof(cl_mem), &scratch_image),
		 "clSetKernelArg");
	cl_check(clSetKernelArg(advance_image, 1, sizeof(cl_mem), &t->mem), "clSetKernelArg");
	cl_check(clEnqueueNDRangeKernel(queue, advance_image, 2, NULL, region, NULL, 0, NULL, NULL),
		 "clEnqueueNDRangeKernel");
}

static void by_table(struct object *t)
{
	struct object *table = &objects[TABLE * o.n_objects + next_random() % o.n_objects];

	if (t->kind == IMAGE) {
		by_kernel(t);
		return;
	}
	cl_check(clSetKernelArg(look, 0, sizeof(cl_mem), &t->mem), "clSetKernelArg");
	cl_check(clSetKernelArg(look, 1, sizeof(cl_mem), &table->mem), "clSetKernelArg");
	cl_check(clEnqueueNDRangeKernel(queue, look, 1, NULL, &n_words, NULL, 0, NULL, NULL),
		 "clEnqueueNDRangeKernel");
}

static void by_host(struct object *t)
{
	read_all(t);
	for (size_t i = 0; i < n_words; i++)
		host[i] = step_word(host[i], (uint32_t)i);
	write_all(t);
}

static void by_map(struct object *t)
{
	const size_t origin[3] = { 0 }, region[3] = { IMAGE_WIDTH, n_rows(), 1 };
	size_t row = IMAGE_WIDTH * 16, slice;
	char *p;
	cl_int r;

	if (t->kind == IMAGE)
		p = clEnqueueMapImage(queue, t->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, origin,
				      region, &row, &slice, 0, NULL, NULL, &r);
	else
		p = clEnqueueMapBuffer(queue, t->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
				       bytes(), 0, NULL, NULL, &r);
	cl_check(r, t->kind == IMAGE ? "clEnqueueMapImage" : "clEnqueueMapBuffer");
	for (size_t i = 0; i < n_words; i++) {
		size_t y = i / (IMAGE_WIDTH * 4), x = i % (IMAGE_WIDTH * 4);
		uint32_t *word = (uint32_t *)(p + y * row) + x;

		*word = step_word(*word, (uint32_t)i);
	}
	cl_check(clEnqueueUnmapMemObject(queue, t->mem, p, 0, NULL, NULL),
		 "clEnqueueUnmapMemObject");
}

static void by_parts(struct object *t)
{
	size_t half = n_words / 2 & ~(size_t)1023;
	const size_t from[] = { 0, half }, n[] = { half, n_words - half };

	if (t->kind == IMAGE) {
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

static void by_copy(struct object *t)
{
	if (t->kind == IMAGE) {
		by_kernel(t);
		return;
	}
	cl_check(clEnqueueCopyBuffer(queue, t->mem, scratch, 0, 0, bytes(), 0, NULL, NULL),
		 "clEnqueueCopyBuffer");
	run(scratch, 0, n_words);
	cl_check(clEnqueueCopyBuffer(queue, scratch, t->mem, 0, 0, bytes(), 0, NULL, NULL),
		 "clEnqueueCopyBuffer");
}

static void by_new_object(struct object *t)
{
	read_all(t);
	cl_check(clReleaseMemObject(t->mem), "clReleaseMemObject");
	for (size_t i = 0; i < n_words; i++)
		host[i] = step_word(host[i], (uint32_t)i);
	make(t);
}

static void by_migration(struct object *t)
{
	cl_check(clEnqueueMigrateMemObjects(queue, 1, &t->mem, 0, 0, NULL, NULL),
		 "clEnqueueMigrateMemObjects");
	by_kernel(t);
}

static void change(struct object *t)
{
	static void (*const ways[])(struct object *) = { by_kernel,	by_table,    by_host,
							 by_map,	by_parts,    by_copy,
							 by_new_object, by_migration };
	cl_command_queue before = queue;

	queue = queues[next_random() % o.n_devices];
	/* the order of commands in two queues is the program's affair */
	if (queue != before)
		cl_check(clFinish(before), "clFinish");
	if (t->kind == TABLE) {
		if (next_random() % 4 == 0) /* the same again */
			read_all(t), write_all(t);
		return;
	}
	ways[next_random() % (sizeof(ways) / sizeof(ways[0]))](t);
	t->n_steps++;
}

static void verify(const struct object *t)
{
	read_all(t);
	for (size_t i = 0; i < n_words; i++) {
		uint32_t x = first_word(t, i);

		for (uint64_t n = 0; n < t->n_steps; n++)
			x = step_word(x, (uint32_t)i);
		if (x == host[i])
			continue;
		fprintf(stderr, "object %llu of kind %u word %zu after %llu steps: %08x not %08x\n",
			(unsigned long long)t->number, t->kind, i, (unsigned long long)t->n_steps,
			host[i], x);
		exit(CL_EXIT_WRONG);
	}
}

/* -- beginning and end --------------------------------------------------------------------------
 */

static void open_devices(void)
{
	cl_device_id devices[DEVICES_MAX];
	const char *text = source;
	cl_platform_id platform;
	cl_program program;
	cl_uint n = 0;
	cl_int r;

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES_MAX, devices, &n))
		exit(CL_EXIT_NO_DEVICE);
	if (n < o.n_devices)
		o.n_devices = n;
	context = clCreateContext(NULL, (cl_uint)o.n_devices, devices, NULL, NULL, &r);
	cl_check(r, "clCreateContext");
	has_images = true;
	for (uint64_t i = 0; i < o.n_devices; i++) {
		cl_bool has = CL_FALSE;

		queues[i] = clCreateCommandQueueWithProperties(context, devices[i], NULL, &r);
		cl_check(r, "clCreateCommandQueueWithProperties");
		clGetDeviceInfo(devices[i], CL_DEVICE_IMAGE_SUPPORT, sizeof(has), &has, NULL);
		has_images = has_images && has;
	}
	queue = queues[0];
	program = clCreateProgramWithSource(context, 1, &text, NULL, &r);
	cl_check(r, "clCreateProgramWithSource");
	cl_check(clBuildProgram(program, (cl_uint)o.n_devices, devices, "", NULL, NULL),
		 "clBuildProgram");
	advance = clCreateKernel(program, "advance", &r);
	cl_check(r, "clCreateKernel");
	look = clCreateKernel(program, "look", &r);
	cl_check(r, "clCreateKernel");
	advance_image = clCreateKernel(program, "advance_image", &r);
	cl_check(r, "clCreateKernel");
	cl_check(clReleaseProgram(program), "clReleaseProgram");
}

static void make_objects(void)
{
	n_words = (size_t)o.kib * 256;
	host = malloc(bytes());
	objects = calloc(N_KINDS * o.n_objects, sizeof(*objects));
	if (!host || !objects)
		exit(CL_EXIT_NO_MEMORY);
	for (uint64_t k = 0; k < N_KINDS * o.n_objects; k++) {
		struct object *t = &objects[k];

		t->kind = (enum kind)(k / o.n_objects);
		t->number = k;
		if (t->kind == HOST)
			t->own = aligned_alloc(4096, bytes());
		if (t->kind == IMAGE && !has_images)
			continue;
		for (size_t i = 0; i < n_words; i++)
			host[i] = first_word(t, i);
		make(t);
	}
	scratch = make_buffer(CL_MEM_READ_WRITE, NULL);
	if (has_images)
		scratch_image = make_image(CL_MEM_READ_WRITE, NULL);
}

static void release_all(void)
{
	for (uint64_t i = 0; i < o.n_devices; i++)
		cl_check(clFinish(queues[i]), "clFinish");
	for (uint64_t k = 0; k < N_KINDS * o.n_objects; k++) {
		if (objects[k].mem)
			cl_check(clReleaseMemObject(objects[k].mem), "clReleaseMemObject");
		free(objects[k].own);
	}
	cl_check(clReleaseMemObject(scratch), "clReleaseMemObject");
	if (scratch_image)
		cl_check(clReleaseMemObject(scratch_image), "clReleaseMemObject");
	cl_check(clReleaseKernel(advance), "clReleaseKernel");
	cl_check(clReleaseKernel(look), "clReleaseKernel");
	cl_check(clReleaseKernel(advance_image), "clReleaseKernel");
	for (uint64_t i = 0; i < o.n_devices; i++)
		cl_check(clReleaseCommandQueue(queues[i]), "clReleaseCommandQueue");
	cl_check(clReleaseContext(context), "clReleaseContext");
	free(objects);
	free(host);
}

int main(int argc, char **argv)
{
	const struct client_option options[] = {
		CLIENT_NUMBER('k', "kib", o.kib, 16, 1 << 20),
		CLIENT_NUMBER('b', "objects", o.n_objects, 1, 1000),
		CLIENT_NUMBER('r', "rounds", o.n_rounds, 0, 1000000),
		CLIENT_NUMBER('s', "seed", o.seed, 0, UINT32_MAX),
		CLIENT_NUMBER('d', "devices", o.n_devices, 1, DEVICES_MAX),
		CLIENT_FLAG('e', "endless", o.is_endless),
		{ 0 },
	};

	if (client_options(argc, argv, options, usage))
		client_misused(usage);
	open_devices();
	make_objects();
	for (uint64_t round = 0; round < o.n_rounds || (o.is_endless && client_input_is_quiet());
	     round++)
		for (uint64_t k = 0; k < N_KINDS * o.n_objects; k++)
			if (objects[k].mem)
				change(&objects[k]);
	for (uint64_t k = 0; k < N_KINDS * o.n_objects; k++)
		if (objects[k].mem)
			verify(&objects[k]);
	release_all();
	return CL_EXIT_RIGHT;
}
