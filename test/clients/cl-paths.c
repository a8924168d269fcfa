/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Objects of every kind in one context over all devices, changed in every way that a program has:
 * buffers, buffers in the program's own memory, images, and tables that kernels only read; by
 * kernels, native ones too, reads and writes, maps, sub-buffers, copies, fills, rectangles, by way
 * of shared virtual memory, behind a user event, after a migration, and by being made anew
 * (cl-ways.c). Each change is made on a device that is chosen at random. As in cl-fill a word's
 * value after any number of changes is known, so one that was lost, stale or changed twice is seen
 * at the end.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl-paths.h"
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
	"kernel void plus(global uint *p, global const uint *filled, uint value) {\n"
	"  uint i = get_global_id(0);\n"
	"  p[i] = step_word(p[i], i) + (filled[i] ^ value);\n"
	"}\n"
	"kernel void advance_image(read_only image2d_t from, write_only image2d_t to) {\n"
	"  int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
	"  uint i = (at.y * get_global_size(0) + at.x) * 4;\n"
	"  uint4 x = read_imageui(from, at);\n"
	"  write_imageui(to, at, x * 1664525u + 2 * (i + (uint4)(0, 1, 2, 3)) + 1);\n"
	"}\n";

static struct {
	uint64_t kib, n_rounds, seed;
	bool is_endless;
} o = { .kib = 256, .n_rounds = 10, .seed = 1 };

struct paths paths = { .n_objects = 2, .n_devices = 2 };
static uint64_t n_changes; /* with another beginning for each seed */

uint64_t paths_random(void)
{
	static uint64_t x;

	if (!x)
		x = o.seed * 2654435761u + 1;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static uint32_t first_word(const struct paths_object *t, size_t i)
{
	if (t->kind == PATHS_TABLE)
		return (uint32_t)i * 0x85ebca6bu;
	return ((uint32_t)i * 0x9e3779b9u) ^ (uint32_t)(o.seed * 1000003u + t->number);
}

static cl_mem make_image(cl_mem_flags flags, void *contents)
{
	const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT32 };
	const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
				     .image_width = PATHS_WIDTH,
				     .image_height = paths_rows() };
	cl_int r;
	cl_mem mem = clCreateImage(paths.context, flags, &format, &desc, contents, &r);

	cl_check(r, "clCreateImage");
	return mem;
}

static cl_mem make_buffer(cl_mem_flags flags, void *contents)
{
	cl_int r;
	cl_mem mem = clCreateBuffer(paths.context, flags, paths_bytes(), contents, &r);

	cl_check(r, "clCreateBuffer");
	return mem;
}

void paths_make(struct paths_object *t)
{
	if (t->kind == PATHS_HOST)
		memcpy(t->own, paths.host, paths_bytes());
	t->mem = t->kind == PATHS_IMAGE	 ? make_image(CL_MEM_COPY_HOST_PTR, paths.host)
		 : t->kind == PATHS_HOST ? make_buffer(CL_MEM_USE_HOST_PTR, t->own)
					 : make_buffer(CL_MEM_COPY_HOST_PTR, paths.host);
}

void paths_read(const struct paths_object *t)
{
	const size_t origin[3] = { 0 }, region[3] = { PATHS_WIDTH, paths_rows(), 1 };

	if (t->kind == PATHS_IMAGE)
		cl_check(clEnqueueReadImage(paths.queue, t->mem, CL_TRUE, origin, region, 0, 0,
					    paths.host, 0, NULL, NULL),
			 "clEnqueueReadImage");
	else
		cl_check(clEnqueueReadBuffer(paths.queue, t->mem, CL_TRUE, 0, paths_bytes(),
					     paths.host, 0, NULL, NULL),
			 "clEnqueueReadBuffer");
}

void paths_write(const struct paths_object *t)
{
	const size_t origin[3] = { 0 }, region[3] = { PATHS_WIDTH, paths_rows(), 1 };

	if (t->kind == PATHS_IMAGE)
		cl_check(clEnqueueWriteImage(paths.queue, t->mem, CL_TRUE, origin, region, 0, 0,
					     paths.host, 0, NULL, NULL),
			 "clEnqueueWriteImage");
	else
		cl_check(clEnqueueWriteBuffer(paths.queue, t->mem, CL_TRUE, 0, paths_bytes(),
					      paths.host, 0, NULL, NULL),
			 "clEnqueueWriteBuffer");
}

static void change(struct paths_object *t)
{
	cl_command_queue before = paths.queue;

	paths.queue = paths.queues[paths_random() % paths.n_devices];
	/* the order of commands in two queues is the program's affair */
	if (paths.queue != before)
		cl_check(clFinish(before), "clFinish");
	if (t->kind == PATHS_TABLE) {
		if (paths_random() % 4 == 0) /* the same again */
			paths_read(t), paths_write(t);
		return;
	}
	paths_step(t, n_changes++);
}

static void verify(const struct paths_object *t)
{
	paths_read(t);
	for (size_t i = 0; i < paths.n_words; i++) {
		uint32_t x = first_word(t, i);

		for (uint64_t n = 0; n < t->n_steps; n++)
			x = paths_step_word(x, (uint32_t)i);
		if (x == paths.host[i])
			continue;
		fprintf(stderr, "object %llu of kind %u word %zu after %llu steps: %08x not %08x\n",
			(unsigned long long)t->number, t->kind, i, (unsigned long long)t->n_steps,
			paths.host[i], x);
		exit(CL_EXIT_WRONG);
	}
}

/* -- beginning and end --------------------------------------------------------------------------
 */

static void ask_device(cl_device_id device)
{
	cl_device_exec_capabilities kernels = 0;
	cl_device_svm_capabilities shared = 0;
	cl_bool images = CL_FALSE;

	clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof(images), &images, NULL);
	clGetDeviceInfo(device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(kernels), &kernels, NULL);
	clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(shared), &shared, NULL);
	paths.has_images = paths.has_images && images;
	paths.has_native = paths.has_native && (kernels & CL_EXEC_NATIVE_KERNEL);
	paths.has_shared = paths.has_shared && (shared & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER);
}

static cl_kernel make_kernel(cl_program program, const char *name)
{
	cl_int r;
	cl_kernel kernel = clCreateKernel(program, name, &r);

	cl_check(r, "clCreateKernel");
	return kernel;
}

static void open_devices(void)
{
	cl_device_id devices[PATHS_DEVICES_MAX];
	const char *text = source;
	cl_platform_id platform;
	cl_program program;
	cl_uint n = 0;
	cl_int r;

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, PATHS_DEVICES_MAX, devices, &n))
		exit(CL_EXIT_NO_DEVICE);
	if (n < paths.n_devices)
		paths.n_devices = n;
	paths.context = clCreateContext(NULL, (cl_uint)paths.n_devices, devices, NULL, NULL, &r);
	cl_check(r, "clCreateContext");
	paths.has_images = paths.has_native = paths.has_shared = true;
	for (uint64_t i = 0; i < paths.n_devices; i++) {
		paths.queues[i] =
			clCreateCommandQueueWithProperties(paths.context, devices[i], NULL, &r);
		cl_check(r, "clCreateCommandQueueWithProperties");
		ask_device(devices[i]);
	}
	paths.queue = paths.queues[0];
	program = clCreateProgramWithSource(paths.context, 1, &text, NULL, &r);
	cl_check(r, "clCreateProgramWithSource");
	cl_check(clBuildProgram(program, (cl_uint)paths.n_devices, devices, "", NULL, NULL),
		 "clBuildProgram");
	paths.advance = make_kernel(program, "advance");
	paths.look = make_kernel(program, "look");
	paths.plus = make_kernel(program, "plus");
	paths.advance_image = make_kernel(program, "advance_image");
	cl_check(clReleaseProgram(program), "clReleaseProgram");
}

static void make_objects(void)
{
	paths.n_words = (size_t)o.kib * 256;
	paths.host = malloc(paths_bytes());
	paths.objects = calloc(_PATHS_KIND_MAX * paths.n_objects, sizeof(*paths.objects));
	if (!paths.host || !paths.objects)
		exit(CL_EXIT_NO_MEMORY);
	for (uint64_t k = 0; k < _PATHS_KIND_MAX * paths.n_objects; k++) {
		struct paths_object *t = &paths.objects[k];

		t->kind = (enum paths_kind)(k / paths.n_objects);
		t->number = k;
		if (t->kind == PATHS_HOST)
			t->own = aligned_alloc(4096, paths_bytes());
		if (t->kind == PATHS_IMAGE && !paths.has_images)
			continue;
		for (size_t i = 0; i < paths.n_words; i++)
			paths.host[i] = first_word(t, i);
		paths_make(t);
	}
	paths.scratch = make_buffer(CL_MEM_READ_WRITE, NULL);
	if (paths.has_images)
		paths.scratch_image = make_image(CL_MEM_READ_WRITE, NULL);
}

static void release_all(void)
{
	for (uint64_t i = 0; i < paths.n_devices; i++)
		cl_check(clFinish(paths.queues[i]), "clFinish");
	for (uint64_t k = 0; k < _PATHS_KIND_MAX * paths.n_objects; k++) {
		if (paths.objects[k].mem)
			cl_check(clReleaseMemObject(paths.objects[k].mem), "clReleaseMemObject");
		free(paths.objects[k].own);
	}
	cl_check(clReleaseMemObject(paths.scratch), "clReleaseMemObject");
	if (paths.scratch_image)
		cl_check(clReleaseMemObject(paths.scratch_image), "clReleaseMemObject");
	cl_check(clReleaseKernel(paths.advance), "clReleaseKernel");
	cl_check(clReleaseKernel(paths.look), "clReleaseKernel");
	cl_check(clReleaseKernel(paths.plus), "clReleaseKernel");
	cl_check(clReleaseKernel(paths.advance_image), "clReleaseKernel");
	for (uint64_t i = 0; i < paths.n_devices; i++)
		cl_check(clReleaseCommandQueue(paths.queues[i]), "clReleaseCommandQueue");
	cl_check(clReleaseContext(paths.context), "clReleaseContext");
	free(paths.objects);
	free(paths.host);
}

int main(int argc, char **argv)
{
	const struct client_option options[] = {
		CLIENT_NUMBER('k', "kib", o.kib, 16, 1 << 20),
		CLIENT_NUMBER('b', "objects", paths.n_objects, 1, 1000),
		CLIENT_NUMBER('r', "rounds", o.n_rounds, 0, 1000000),
		CLIENT_NUMBER('s', "seed", o.seed, 0, UINT32_MAX),
		CLIENT_NUMBER('d', "devices", paths.n_devices, 1, PATHS_DEVICES_MAX),
		CLIENT_FLAG('e', "endless", o.is_endless),
		{ 0 },
	};

	if (client_options(argc, argv, options, usage))
		client_misused(usage);
	open_devices();
	make_objects();
	n_changes = paths_random() % 64;
	for (uint64_t round = 0; round < o.n_rounds || (o.is_endless && client_input_is_quiet());
	     round++)
		for (uint64_t k = 0; k < _PATHS_KIND_MAX * paths.n_objects; k++)
			if (paths.objects[k].mem)
				change(&paths.objects[k]);
	for (uint64_t k = 0; k < _PATHS_KIND_MAX * paths.n_objects; k++)
		if (paths.objects[k].mem)
			verify(&paths.objects[k]);
	release_all();
	return CL_EXIT_RIGHT;
}
