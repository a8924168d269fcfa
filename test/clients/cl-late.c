/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Makes objects, uses them for the first time when standard input says so, in one of the ways that
 * a program has, and looks at every byte in the end. A driver that gives memory only at the first
 * use meets it here, with whatever others took meanwhile.
 */

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clEnqueueTask */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl-util.h"

#define BYTES ((size_t)4 << 20)
#define SIDE  ((size_t)1 << 10) /* of an image of words */
#define BYTE  0x5a

static const char source[] = "kernel void set(global uint *p) {\n"
			     "  p[get_global_id(0)] = 0x5a5a5a5au;\n"
			     "}\n"
			     "kernel void set_all(global uint *p, uint n) {\n"
			     "  for (uint i = 0; i < n; i++)\n"
			     "    p[i] = 0x5a5a5a5au;\n"
			     "}\n";

static const size_t origin[3], image_region[3] = { SIDE, SIDE, 1 },
			       rect_region[3] = { BYTES / SIDE, SIDE, 1 };
static struct cl_bench b;
static cl_mem first, second;
static uint8_t *host;

static void read_buffer(void)
{
	cl_check(clEnqueueReadBuffer(b.queue, first, CL_TRUE, 0, BYTES, host, 0, NULL, NULL),
		 "clEnqueueReadBuffer");
}

static void write_buffer(void)
{
	cl_check(clEnqueueWriteBuffer(b.queue, first, CL_TRUE, 0, BYTES, host, 0, NULL, NULL),
		 "clEnqueueWriteBuffer");
}

/* Who does not wait cannot go to the host copy. */
static void write_later(void)
{
	cl_check(clEnqueueWriteBuffer(b.queue, first, CL_FALSE, 0, BYTES, host, 0, NULL, NULL),
		 "clEnqueueWriteBuffer");
}

static void read_rect(void)
{
	cl_check(clEnqueueReadBufferRect(b.queue, first, CL_TRUE, origin, origin, rect_region, 0, 0,
					 0, 0, host, 0, NULL, NULL),
		 "clEnqueueReadBufferRect");
}

static void write_rect(void)
{
	cl_check(clEnqueueWriteBufferRect(b.queue, first, CL_TRUE, origin, origin, rect_region, 0,
					  0, 0, 0, host, 0, NULL, NULL),
		 "clEnqueueWriteBufferRect");
}

static void fill(void)
{
	const uint8_t byte = BYTE;

	cl_check(clEnqueueFillBuffer(b.queue, first, &byte, 1, 0, BYTES, 0, NULL, NULL),
		 "clEnqueueFillBuffer");
}

static void copy(void)
{
	cl_check(clEnqueueCopyBuffer(b.queue, second, first, 0, 0, BYTES, 0, NULL, NULL),
		 "clEnqueueCopyBuffer");
}

static void copy_rect(void)
{
	cl_check(clEnqueueCopyBufferRect(b.queue, second, first, origin, origin, rect_region, 0, 0,
					 0, 0, 0, NULL, NULL),
		 "clEnqueueCopyBufferRect");
}

static void set_by_pointer(cl_mem mem, void *p, cl_int r, const char *what)
{
	cl_check(r, what);
	memset(p, BYTE, BYTES);
	cl_check(clEnqueueUnmapMemObject(b.queue, mem, p, 0, NULL, NULL),
		 "clEnqueueUnmapMemObject");
}

static void map(void)
{
	cl_int r;
	void *p = clEnqueueMapBuffer(b.queue, first, CL_TRUE, CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL,
				     &r);

	set_by_pointer(first, p, r, "clEnqueueMapBuffer");
}

static cl_kernel kernel_on(const char *name)
{
	cl_int r;
	cl_kernel kernel = clCreateKernel(b.program, name, &r);

	cl_check(r, "clCreateKernel");
	cl_check(clSetKernelArg(kernel, 0, sizeof(cl_mem), &first), "clSetKernelArg");
	return kernel;
}

static void launch(void)
{
	cl_kernel kernel = kernel_on("set");

	cl_launch(&b, kernel, BYTES / 4);
	cl_check(clReleaseKernel(kernel), "clReleaseKernel");
}

static void task(void)
{
	const cl_uint n = BYTES / 4;
	cl_kernel kernel = kernel_on("set_all");

	cl_check(clSetKernelArg(kernel, 1, sizeof(n), &n), "clSetKernelArg");
	cl_check(clEnqueueTask(b.queue, kernel, 0, NULL, NULL), "clEnqueueTask");
	cl_check(clReleaseKernel(kernel), "clReleaseKernel");
}

static void CL_CALLBACK set_natively(void *args)
{
	memset(*(void **)args, BYTE, BYTES);
}

static void native(void)
{
	void *p = NULL;
	const void *where = &p;

	cl_check(clEnqueueNativeKernel(b.queue, set_natively, &p, sizeof(p), 1, &first, &where, 0,
				       NULL, NULL),
		 "clEnqueueNativeKernel");
}

static void migrate(void)
{
	cl_check(clEnqueueMigrateMemObjects(b.queue, 1, &first, 0, 0, NULL, NULL),
		 "clEnqueueMigrateMemObjects");
}

static void write_part(void)
{
	const cl_buffer_region region = { BYTES / 2, BYTES / 2 };
	cl_int r;
	cl_mem part = clCreateSubBuffer(first, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &r);

	cl_check(r, "clCreateSubBuffer");
	cl_check(clEnqueueWriteBuffer(b.queue, part, CL_FALSE, 0, BYTES / 2, host, 0, NULL, NULL),
		 "clEnqueueWriteBuffer");
	cl_check(clReleaseMemObject(part), "clReleaseMemObject");
}

static void read_image(void)
{
	cl_check(clEnqueueReadImage(b.queue, first, CL_TRUE, origin, image_region, 0, 0, host, 0,
				    NULL, NULL),
		 "clEnqueueReadImage");
}

static void write_image(void)
{
	cl_check(clEnqueueWriteImage(b.queue, first, CL_TRUE, origin, image_region, 0, 0, host, 0,
				     NULL, NULL),
		 "clEnqueueWriteImage");
}

static void fill_image(void)
{
	const cl_uint color[4] = { 0x5a5a5a5au, 0, 0, 0 };

	cl_check(clEnqueueFillImage(b.queue, first, color, origin, image_region, 0, NULL, NULL),
		 "clEnqueueFillImage");
}

static void copy_image(void)
{
	cl_check(clEnqueueCopyImage(b.queue, second, first, origin, origin, image_region, 0, NULL,
				    NULL),
		 "clEnqueueCopyImage");
}

static void image_to_buffer(void)
{
	cl_check(clEnqueueCopyImageToBuffer(b.queue, second, first, origin, image_region, 0, 0,
					    NULL, NULL),
		 "clEnqueueCopyImageToBuffer");
}

static void buffer_to_image(void)
{
	cl_check(clEnqueueCopyBufferToImage(b.queue, second, first, 0, origin, image_region, 0,
					    NULL, NULL),
		 "clEnqueueCopyBufferToImage");
}

static void map_image(void)
{
	size_t row;
	cl_int r;
	void *p = clEnqueueMapImage(b.queue, first, CL_TRUE, CL_MAP_WRITE, origin, image_region,
				    &row, NULL, 0, NULL, NULL, &r);

	set_by_pointer(first, p, r, "clEnqueueMapImage");
}

static const struct way {
	const char *name;
	char kinds[2]; /* of the first object and the second: buffer, image, or none */
	bool fills;    /* the first one is full of BYTE then */
	void (*use)(void);
} ways[] = {
	{ "write", "b", true, write_buffer },
	{ "write-later", "b", true, write_later },
	{ "read", "b", false, read_buffer },
	{ "write-rect", "b", true, write_rect },
	{ "read-rect", "b", false, read_rect },
	{ "fill", "b", true, fill },
	{ "copy", "bb", false, copy },
	{ "copy-rect", "bb", false, copy_rect },
	{ "map", "b", true, map },
	{ "launch", "b", true, launch },
	{ "task", "b", true, task },
	{ "native", "b", true, native },
	{ "migrate", "b", false, migrate },
	{ "write-part", "b", false, write_part },
	{ "write-image", "i", true, write_image },
	{ "read-image", "i", false, read_image },
	{ "fill-image", "i", true, fill_image },
	{ "copy-image", "ii", false, copy_image },
	{ "image-to-buffer", "bi", false, image_to_buffer },
	{ "buffer-to-image", "ib", false, buffer_to_image },
	{ "map-image", "i", true, map_image },
};

static cl_mem make(char kind)
{
	const cl_image_format format = { CL_R, CL_UNSIGNED_INT32 };
	const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
				     .image_width = SIDE,
				     .image_height = SIDE };
	cl_mem image;
	cl_int r;

	if (!kind)
		return NULL;
	if (kind == 'b')
		return cl_buffer(&b, BYTES);
	image = clCreateImage(b.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &r);
	cl_check(r, "clCreateImage");
	return image;
}

static void check(const struct way *way)
{
	memset(host, 0, BYTES);
	if (way->kinds[0] == 'i')
		read_image();
	else
		read_buffer();
	for (size_t i = 0; i < BYTES; i++)
		if (host[i] != BYTE) {
			fprintf(stderr, "byte %zu: %02x instead of %02x\n", i, host[i], BYTE);
			exit(CL_EXIT_WRONG);
		}
}

int main(int argc, char **argv)
{
	static const char usage[] =
		"usage: cl-late [WAY]\n"
		"Makes objects on the first OpenCL device, uses them for the first time at the end "
		"of standard input, and checks them. Without a WAY it prints those that there "
		"are.\n"
		"\n" CL_EXIT_TEXT;
	const struct client_option options[] = { { 0 } };
	const char *name = client_options(argc, argv, options, usage);
	const struct way *way = NULL;
	cl_mem before[2];

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!name)
			puts(ways[i].name);
		else if (!strcmp(ways[i].name, name))
			way = &ways[i];
	if (!name)
		return CL_EXIT_RIGHT;
	if (!way)
		client_misused(usage);
	host = malloc(BYTES);
	if (!host)
		exit(CL_EXIT_NO_MEMORY);
	memset(host, BYTE, BYTES);
	cl_open(&b, source, 0);
	for (unsigned i = 0; i < 2; i++) { /* it has the device when it makes the others */
		before[i] = first = make('b');
		launch();
		cl_check(clFinish(b.queue), "clFinish");
	}
	first = make(way->kinds[0]);
	second = make(way->kinds[1]);
	client_wait();
	way->use();
	cl_check(clFinish(b.queue), "clFinish");
	if (!way->fills) { /* what was read is of no interest */
		memset(host, BYTE, BYTES);
		if (way->kinds[0] == 'i')
			write_image();
		else
			write_buffer();
	}
	check(way);
	for (unsigned i = 0; i < 2; i++) {
		first = before[i];
		check(&ways[0]);
	}
	cl_close(&b);
	return CL_EXIT_RIGHT;
}
