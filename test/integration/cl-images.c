/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Images of every kind: whatever moves behind the handles, the pixels are those that a program
 * expects. A model in host memory runs beside each test.
 */

#include "cl-lib.h"

enum { WIDTH = 37, HEIGHT = 11, LAYERS = 5, PIXELS = WIDTH * HEIGHT * LAYERS, GAP = 3 };

static const char *const source =
	"const sampler_t plain = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | "
	"CLK_FILTER_NEAREST;\n"
	"kernel void turn(read_only image2d_t in, write_only image2d_t out, uint add)\n"
	"{ int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
	"  write_imageui(out, at, read_imageui(in, plain, at).wzyx + add); }\n"
	"kernel void gather(read_only image1d_buffer_t in, global uint *out)\n"
	"{ int i = get_global_id(0); uint4 p = read_imageui(in, i);\n"
	"  out[i] = p.x | p.y << 8 | p.z << 16 | p.w << 24; }\n";

struct kind {
	const char *name;
	cl_mem_object_type type;
	size_t size[3]; /* as origin and region count them */
};

static const struct kind kinds[] = {
	{ "1D", CL_MEM_OBJECT_IMAGE1D, { WIDTH, 1, 1 } },
	{ "1D array", CL_MEM_OBJECT_IMAGE1D_ARRAY, { WIDTH, LAYERS, 1 } },
	{ "2D", CL_MEM_OBJECT_IMAGE2D, { WIDTH, HEIGHT, 1 } },
	{ "2D array", CL_MEM_OBJECT_IMAGE2D_ARRAY, { WIDTH, HEIGHT, LAYERS } },
	{ "3D", CL_MEM_OBJECT_IMAGE3D, { WIDTH, HEIGHT, LAYERS } },
};

static const size_t zero[3];

static cl_image_desc describe(const struct kind *k)
{
	bool is_array =
		k->type == CL_MEM_OBJECT_IMAGE1D_ARRAY || k->type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
	bool is_flat = k->type == CL_MEM_OBJECT_IMAGE1D || k->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;

	return (cl_image_desc){
		.image_type = k->type,
		.image_width = k->size[0],
		.image_height = is_flat ? 0 : k->size[1],
		.image_depth = k->type == CL_MEM_OBJECT_IMAGE3D ? k->size[2] : 0,
		.image_array_size = is_array ? (is_flat ? k->size[1] : k->size[2]) : 0,
	};
}

static cl_mem make(struct cl_bench *b, const cl_image_desc *desc, cl_mem_flags flags, void *host)
{
	const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
	cl_int r;
	cl_mem image = clCreateImage(b->context, flags, &format, desc, host, &r);

	assert_cl(r);
	return image;
}

static size_t n_pixels(const struct kind *k)
{
	return k->size[0] * k->size[1] * k->size[2];
}

static void fill(cl_uint *pixels, size_t n, cl_uint by)
{
	for (size_t i = 0; i < n; i++)
		pixels[i] = (cl_uint)(i + 1) * by;
}

static void expect(struct cl_bench *b, cl_mem image, const struct kind *k, const cl_uint *model)
{
	static cl_uint read[PIXELS];

	memset(read, 0xa5, sizeof(read));
	assert_cl(clEnqueueReadImage(b->queue, image, CL_TRUE, zero, k->size, 0, 0, read, 0, NULL,
				     NULL));
	assert_memory_equal(read, model, n_pixels(k) * 4);
}

static void every_kind_keeps_its_pixels(void **state)
{
	struct cl_bench *b = *state;
	static cl_uint model[PIXELS], part[PIXELS];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct kind *k = &kinds[i];
		size_t origin[3] = { 3, k->size[1] / 2, k->size[2] / 2 }, region[3] = { 7, 1, 1 };
		cl_image_desc desc = describe(k);
		cl_uint colour[4] = { 1, 2, 3, 4 };
		cl_mem image, copy;
		size_t at;

		fill(model, n_pixels(k), 77 + (cl_uint)i);
		image = make(b, &desc, CL_MEM_COPY_HOST_PTR, model);
		copy = make(b, &desc, 0, NULL);
		assert_int_equal(cl_bench_mem_uint(image, CL_MEM_TYPE), k->type);
		cl_bench_disturb(b);
		expect(b, image, k, model);

		at = (origin[2] * k->size[1] + origin[1]) * k->size[0] + origin[0];
		fill(part, 7, 1234567);
		memcpy(&model[at], part, 28);
		assert_cl(clEnqueueWriteImage(b->queue, image, CL_FALSE, origin, region, 0, 0, part,
					      0, NULL, NULL));
		cl_bench_disturb(b);
		assert_cl(clEnqueueCopyImage(b->queue, image, copy, zero, zero, k->size, 0, NULL,
					     NULL));
		cl_bench_disturb(b);
		expect(b, copy, k, model);

		region[0] = 2;
		for (size_t p = 0; p < 2; p++)
			model[at + p] = 0x04030201;
		assert_cl(
			clEnqueueFillImage(b->queue, copy, colour, origin, region, 0, NULL, NULL));
		cl_bench_disturb(b);
		expect(b, copy, k, model);
		assert_cl(clReleaseMemObject(image));
		assert_cl(clReleaseMemObject(copy));
	}
}

/* Rows and slices with gaps between them, copied at the creation or used in place. */
static void gaps_between_rows_are_no_pixels(void **state)
{
	struct cl_bench *b = *state;
	enum { ROW = WIDTH + GAP, SLICE = ROW * (HEIGHT + GAP) };
	static cl_uint model[PIXELS];
	cl_uint *given = aligned_alloc(4096, 4096 * (SLICE * LAYERS * 4 / 4096 + 1));

	assert_non_null(given);
	for (unsigned in_place = 0; in_place < 2; in_place++)
		for (size_t i = 2; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			const struct kind *k = &kinds[i];
			cl_image_desc desc = describe(k);
			cl_mem image;

			desc.image_row_pitch = ROW * 4;
			desc.image_slice_pitch = k->type == CL_MEM_OBJECT_IMAGE2D ? 0 : SLICE * 4;
			fill(given, SLICE * LAYERS, 3);
			for (size_t z = 0; z < k->size[2]; z++)
				for (size_t y = 0; y < k->size[1]; y++)
					memcpy(&model[(z * k->size[1] + y) * WIDTH],
					       &given[z * SLICE + y * ROW], WIDTH * 4);
			image = make(b, &desc,
				     in_place ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR, given);
			cl_bench_disturb(b);
			expect(b, image, k, model);
			assert_cl(clReleaseMemObject(image));
		}
	free(given);
}

static void an_image_in_host_memory_is_that_memory(void **state)
{
	struct cl_bench *b = *state;
	static cl_uint model[PIXELS];
	const struct kind *k = &kinds[2];
	cl_image_desc desc = describe(k);
	cl_uint *mine = aligned_alloc(4096, 4096), colour[4] = { 9, 9, 9, 9 };
	size_t region[3] = { WIDTH, 1, 1 }, row = 0;
	cl_mem image;
	cl_uint *p;
	cl_int r;

	assert_non_null(mine);
	fill(mine, n_pixels(k), 3);
	memcpy(model, mine, n_pixels(k) * 4);
	image = make(b, &desc, CL_MEM_USE_HOST_PTR, mine);
	cl_bench_disturb(b);
	assert_cl(clEnqueueFillImage(b->queue, image, colour, zero, region, 0, NULL, NULL));
	for (unsigned i = 0; i < WIDTH; i++)
		model[i] = 0x09090909;
	cl_bench_disturb(b);
	p = clEnqueueMapImage(b->queue, image, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, zero, k->size,
			      &row, NULL, 0, NULL, NULL, &r);
	assert_cl(r);
	assert_ptr_equal(p, mine);
	assert_int_equal(row, WIDTH * 4);
	assert_memory_equal(p, model, n_pixels(k) * 4);
	p[40] = model[40] = 4711;
	cl_bench_disturb(b);
	assert_cl(clEnqueueUnmapMemObject(b->queue, image, p, 0, NULL, NULL));
	cl_bench_disturb(b);
	expect(b, image, k, model);
	assert_cl(clReleaseMemObject(image));
	free(mine);
}

static cl_kernel kernel_of(struct cl_bench *b, const char *name)
{
	cl_program program;
	cl_kernel kernel;
	cl_int r;

	program = clCreateProgramWithSource(b->context, 1, (const char **)&source, NULL, &r);
	assert_cl(r);
	assert_cl(clBuildProgram(program, 1, &b->device, NULL, NULL, NULL));
	kernel = clCreateKernel(program, name, &r);
	assert_cl(r);
	assert_cl(clReleaseProgram(program));
	return kernel;
}

static cl_uint turned(cl_uint pixel, cl_uint add)
{
	cl_uint out = 0;

	for (unsigned i = 0; i < 4; i++)
		out |= (((pixel >> (8 * (3 - i))) + add) & 0xff) << (8 * i);
	return out;
}

/* Two images by turns, as filters do it. */
static void kernels_read_and_write_them(void **state)
{
	struct cl_bench *b = *state;
	static cl_uint model[PIXELS];
	const struct kind *k = &kinds[2];
	cl_image_desc desc = describe(k);
	cl_kernel turn = kernel_of(b, "turn");
	size_t global[2] = { WIDTH, HEIGHT };
	cl_mem images[2];
	cl_uint add = 0;

	for (size_t i = 0; i < n_pixels(k); i++)
		model[i] = (cl_uint)(i * 7 % 50) * 0x01010101;
	images[0] = make(b, &desc, CL_MEM_COPY_HOST_PTR, model);
	images[1] = make(b, &desc, 0, NULL);
	for (unsigned round = 0; round < 40; round++) {
		add = round % 3;
		assert_cl(clSetKernelArg(turn, 0, sizeof(cl_mem), &images[round % 2]));
		assert_cl(clSetKernelArg(turn, 1, sizeof(cl_mem), &images[1 - round % 2]));
		assert_cl(clSetKernelArg(turn, 2, sizeof(add), &add));
		assert_cl(clEnqueueNDRangeKernel(b->queue, turn, 2, NULL, global, NULL, 0, NULL,
						 NULL));
		for (size_t i = 0; i < n_pixels(k); i++)
			model[i] = turned(model[i], add);
		if (round % 7 == 0)
			cl_bench_disturb(b);
	}
	expect(b, images[0], k, model);
	for (unsigned i = 0; i < 2; i++)
		assert_cl(clReleaseMemObject(images[i]));
	assert_cl(clReleaseKernel(turn));
}

static void a_kernel_reads_a_buffer_as_an_image(void **state)
{
	struct cl_bench *b = *state;
	enum { WORDS = 4096 };
	static cl_uint model[WORDS];
	cl_kernel gather = kernel_of(b, "gather"), muladd = cl_bench_kernel(b, "muladd");
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 1024 };
	cl_mem buffer, image, out;
	size_t n = 1024, bytes = 0;

	fill(model, WORDS, 99);
	buffer = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(model), model);
	out = cl_bench_buffer(b, 0, sizeof(model), NULL);
	desc.mem_object = buffer;
	cl_bench_disturb(b);
	image = make(b, &desc, CL_MEM_READ_ONLY, NULL);
	assert_cl(clGetImageInfo(image, CL_IMAGE_WIDTH, sizeof(bytes), &bytes, NULL));
	assert_int_equal(bytes, 1024);
	assert_cl(clSetKernelArg(gather, 0, sizeof(image), &image));
	assert_cl(clSetKernelArg(gather, 1, sizeof(out), &out));
	cl_bench_disturb(b);
	for (unsigned round = 0; round < 3; round++) {
		cl_bench_launch(b->queue, muladd, buffer, buffer, 1, WORDS, 0, NULL, NULL);
		for (unsigned i = 0; i < WORDS; i++)
			model[i] += model[i];
		cl_bench_disturb(b);
		assert_cl(
			clEnqueueNDRangeKernel(b->queue, gather, 1, NULL, &n, NULL, 0, NULL, NULL));
		cl_bench_disturb(b);
		cl_bench_expect(b, out, 0, model, 1024);
	}
	assert_cl(clReleaseMemObject(image));
	assert_cl(clReleaseMemObject(buffer));
	assert_cl(clReleaseMemObject(out));
	assert_cl(clReleaseKernel(gather));
	assert_cl(clReleaseKernel(muladd));
}

static void it_is_told_as_it_was_described(void **state)
{
	struct cl_bench *b = *state;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		static const cl_image_info what[] = { CL_IMAGE_WIDTH,	     CL_IMAGE_HEIGHT,
						      CL_IMAGE_DEPTH,	     CL_IMAGE_ARRAY_SIZE,
						      CL_IMAGE_ELEMENT_SIZE, CL_IMAGE_ROW_PITCH };
		cl_image_desc desc = describe(&kinds[i]);
		const size_t expected[] = { desc.image_width,
					    desc.image_height,
					    desc.image_depth,
					    desc.image_array_size,
					    4,
					    WIDTH * 4 };
		cl_mem image = make(b, &desc, CL_MEM_HOST_NO_ACCESS, NULL), below = image;
		cl_mem_flags flags = 0;
		cl_image_format format;
		size_t size;

		cl_bench_disturb(b);
		for (unsigned k = 0; k < sizeof(what) / sizeof(what[0]); k++) {
			size = 4711;
			assert_cl(clGetImageInfo(image, what[k], sizeof(size), &size, NULL));
			assert_int_equal(size, expected[k]);
		}
		assert_cl(clGetImageInfo(image, CL_IMAGE_FORMAT, sizeof(format), &format, NULL));
		assert_int_equal(format.image_channel_order, CL_RGBA);
		assert_cl(clGetImageInfo(image, CL_IMAGE_BUFFER, sizeof(below), &below, NULL));
		assert_null(below);
		assert_int_equal(clGetImageInfo(image, CL_MEM_SIZE, sizeof(size), &size, NULL),
				 CL_INVALID_VALUE);
		assert_cl(clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof(size), &size, NULL));
		assert_int_equal(size, n_pixels(&kinds[i]) * 4);
		assert_cl(clGetMemObjectInfo(image, CL_MEM_FLAGS, sizeof(flags), &flags, NULL));
		assert_true(flags & CL_MEM_HOST_NO_ACCESS);
		assert_cl(clReleaseMemObject(image));
	}
}

static void a_promise_not_to_look_is_kept(void **state)
{
	struct cl_bench *b = *state;
	static cl_uint pixels[PIXELS];
	const struct kind *k = &kinds[2];
	cl_image_desc desc = describe(k);
	cl_mem none = make(b, &desc, CL_MEM_HOST_NO_ACCESS, NULL);
	cl_mem only = make(b, &desc, CL_MEM_HOST_WRITE_ONLY, NULL);
	size_t row;
	cl_int r;

	assert_int_equal(clEnqueueReadImage(b->queue, only, CL_TRUE, zero, k->size, 0, 0, pixels, 0,
					    NULL, NULL),
			 CL_INVALID_OPERATION);
	assert_cl(clEnqueueWriteImage(b->queue, only, CL_TRUE, zero, k->size, 0, 0, pixels, 0, NULL,
				      NULL));
	assert_int_equal(clEnqueueWriteImage(b->queue, none, CL_TRUE, zero, k->size, 0, 0, pixels,
					     0, NULL, NULL),
			 CL_INVALID_OPERATION);
	assert_null(clEnqueueMapImage(b->queue, none, CL_TRUE, CL_MAP_READ, zero, k->size, &row,
				      NULL, 0, NULL, NULL, &r));
	assert_int_equal(r, CL_INVALID_OPERATION);
	assert_cl(clReleaseMemObject(none));
	assert_cl(clReleaseMemObject(only));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_keeps_its_pixels),
		cmocka_unit_test(gaps_between_rows_are_no_pixels),
		cmocka_unit_test(an_image_in_host_memory_is_that_memory),
		cmocka_unit_test(kernels_read_and_write_them),
		cmocka_unit_test(a_kernel_reads_a_buffer_as_an_image),
		cmocka_unit_test(it_is_told_as_it_was_described),
		cmocka_unit_test(a_promise_not_to_look_is_kept),
	};

	return cmocka_run_group_tests_name("cl-images", tests, cl_bench_setup, cl_bench_teardown);
}
