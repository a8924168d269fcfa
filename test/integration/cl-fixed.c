/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is not simply a buffer: images, buffers in the program's memory, shared virtual memory,
 * native kernels. Whatever comes and goes meanwhile, nothing of it shows.
 */

#include "cl-lib.h"

enum { WORDS = 4096, SIDE = 32 };

static void fill(cl_uint *words, size_t n, cl_uint by)
{
	for (size_t i = 0; i < n; i++)
		words[i] = (cl_uint)i * by + 1;
}

static cl_mem make_image(struct cl_bench *b, cl_mem_flags flags, cl_mem buffer, void *host)
{
	cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
	cl_image_desc desc = { .image_type = buffer ? CL_MEM_OBJECT_IMAGE1D_BUFFER
						    : CL_MEM_OBJECT_IMAGE2D,
			       .image_width = buffer ? SIDE * SIDE : SIDE,
			       .image_height = buffer ? 0 : SIDE,
			       .mem_object = buffer };
	cl_int r;
	cl_mem image = clCreateImage(b->context, flags, &format, &desc, host, &r);

	assert_cl(r);
	return image;
}

static void an_image_keeps_its_pixels(void **state)
{
	struct cl_bench *b = *state;
	size_t origin[3] = { 0 }, region[3] = { SIDE, SIDE, 1 }, width = 0;
	cl_uint pixels[SIDE * SIDE], read[SIDE * SIDE];
	cl_mem image, copy, buffer;

	fill(pixels, SIDE * SIDE, 77);
	image = make_image(b, CL_MEM_COPY_HOST_PTR, NULL, pixels);
	copy = make_image(b, 0, NULL, NULL);
	buffer = cl_bench_buffer(b, 0, sizeof(pixels), NULL);
	assert_int_equal(cl_bench_mem_uint(image, CL_MEM_TYPE), CL_MEM_OBJECT_IMAGE2D);
	assert_cl(clGetImageInfo(image, CL_IMAGE_WIDTH, sizeof(width), &width, NULL));
	assert_int_equal(width, SIDE);
	assert_cl(clEnqueueCopyImage(b->queue, image, copy, origin, origin, region, 0, NULL, NULL));
	cl_bench_disturb(b);
	assert_cl(clEnqueueCopyImageToBuffer(b->queue, copy, buffer, origin, region, 0, 0, NULL,
					     NULL));
	cl_bench_disturb(b);
	cl_bench_expect(b, buffer, 0, pixels, SIDE * SIDE);
	pixels[5] = 4711;
	assert_cl(
		clEnqueueWriteBuffer(b->queue, buffer, CL_TRUE, 20, 4, &pixels[5], 0, NULL, NULL));
	assert_cl(clEnqueueCopyBufferToImage(b->queue, buffer, image, 0, origin, region, 0, NULL,
					     NULL));
	assert_cl(clEnqueueReadImage(b->queue, image, CL_TRUE, origin, region, 0, 0, read, 0, NULL,
				     NULL));
	assert_memory_equal(read, pixels, sizeof(pixels));
	assert_cl(clReleaseMemObject(image));
	assert_cl(clReleaseMemObject(copy));
	assert_cl(clReleaseMemObject(buffer));
}

static void an_image_on_a_buffer_is_its_bytes(void **state)
{
	struct cl_bench *b = *state;
	size_t origin[3] = { 0 }, region[3] = { SIDE * SIDE, 1, 1 };
	cl_uint pixels[SIDE * SIDE], read[SIDE * SIDE];
	cl_mem buffer, image, below = NULL;

	fill(pixels, SIDE * SIDE, 5);
	buffer = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(pixels), pixels);
	cl_bench_disturb(b);
	image = make_image(b, 0, buffer, NULL);
	assert_cl(clGetMemObjectInfo(image, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(below), &below,
				     NULL));
	assert_ptr_equal(below, buffer);
	cl_bench_disturb(b);
	assert_cl(clEnqueueReadImage(b->queue, image, CL_TRUE, origin, region, 0, 0, read, 0, NULL,
				     NULL));
	assert_memory_equal(read, pixels, sizeof(pixels));
	fill(pixels, SIDE * SIDE, 9);
	assert_cl(clEnqueueWriteImage(b->queue, image, CL_TRUE, origin, region, 0, 0, pixels, 0,
				      NULL, NULL));
	cl_bench_disturb(b);
	cl_bench_expect(b, buffer, 0, pixels, SIDE * SIDE);
	assert_cl(clReleaseMemObject(image));
	cl_bench_disturb(b);
	cl_bench_expect(b, buffer, 0, pixels, SIDE * SIDE);
	assert_cl(clReleaseMemObject(buffer));
}

static void a_buffer_in_host_memory_is_that_memory(void **state)
{
	struct cl_bench *b = *state;
	cl_kernel muladd = cl_bench_kernel(b, "muladd");
	cl_uint *mine = aligned_alloc(4096, WORDS * 4), ones[WORDS];
	cl_buffer_region half = { WORDS * 2, WORDS * 2 };
	cl_mem buffer, in, part;
	void *host = NULL;
	cl_uint *p;
	cl_int r;

	assert_non_null(mine);
	fill(mine, WORDS, 3);
	fill(ones, WORDS, 0);
	buffer = cl_bench_buffer(b, CL_MEM_USE_HOST_PTR, WORDS * 4, mine);
	in = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(ones), ones);
	assert_cl(clGetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof(host), &host, NULL));
	assert_ptr_equal(host, mine);
	cl_bench_launch(b->queue, muladd, in, buffer, 10, WORDS, 0, NULL, NULL);
	cl_bench_disturb(b);
	p = clEnqueueMapBuffer(b->queue, buffer, CL_TRUE, CL_MAP_READ, 0, WORDS * 4, 0, NULL, NULL,
			       &r);
	assert_cl(r);
	assert_ptr_equal(p, mine);
	for (unsigned i = 0; i < WORDS; i++)
		assert_int_equal(mine[i], i * 3 + 11);
	assert_cl(clEnqueueUnmapMemObject(b->queue, buffer, p, 0, NULL, NULL));
	part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &r);
	assert_cl(r);
	cl_bench_launch(b->queue, muladd, in, part, 1, WORDS / 2, 0, NULL, NULL);
	cl_bench_disturb(b);
	p = clEnqueueMapBuffer(b->queue, buffer, CL_TRUE, CL_MAP_READ, 0, WORDS * 4, 0, NULL, NULL,
			       &r);
	assert_cl(r);
	for (unsigned i = 0; i < WORDS; i++)
		assert_int_equal(p[i], i * 3 + 11 + (i >= WORDS / 2));
	assert_cl(clEnqueueUnmapMemObject(b->queue, buffer, p, 0, NULL, NULL));
	assert_cl(clFinish(b->queue));
	assert_cl(clReleaseMemObject(part));
	assert_cl(clReleaseMemObject(buffer));
	assert_cl(clReleaseMemObject(in));
	assert_cl(clReleaseKernel(muladd));
	free(mine);
}

static void shared_virtual_memory_stays_at_its_address(void **state)
{
	struct cl_bench *b = *state;
	cl_kernel muladd = cl_bench_kernel(b, "muladd");
	cl_uint ones[WORDS], factor = 7, *shared, *second;
	size_t n = WORDS;
	cl_event event;
	cl_mem in;

	shared = clSVMAlloc(b->context, CL_MEM_READ_WRITE, WORDS * 4, 0);
	second = clSVMAlloc(b->context, CL_MEM_READ_WRITE, WORDS * 4, 0);
	assert_non_null(shared);
	assert_non_null(second);
	fill(ones, WORDS, 0);
	in = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(ones), ones);
	assert_cl(clEnqueueSVMMemFill(b->queue, shared, &factor, 4, WORDS * 4, 0, NULL, NULL));
	assert_cl(clSetKernelArg(muladd, 0, sizeof(in), &in));
	assert_cl(clSetKernelArgSVMPointer(muladd, 1, shared));
	assert_cl(clSetKernelArg(muladd, 2, sizeof(factor), &factor));
	cl_bench_disturb(b);
	assert_cl(clEnqueueNDRangeKernel(b->queue, muladd, 1, NULL, &n, NULL, 0, NULL, NULL));
	assert_cl(clEnqueueSVMMemcpy(b->queue, CL_TRUE, second, shared, WORDS * 4, 0, NULL, NULL));
	assert_cl(
		clEnqueueSVMMap(b->queue, CL_TRUE, CL_MAP_READ, second, WORDS * 4, 0, NULL, NULL));
	for (unsigned i = 0; i < WORDS; i++)
		assert_int_equal(second[i], 14);
	assert_cl(clEnqueueSVMUnmap(b->queue, second, 0, NULL, NULL));
	assert_cl(clEnqueueSVMFree(b->queue, 1, (void *[]){ second }, NULL, NULL, 0, NULL, &event));
	assert_cl(clWaitForEvents(1, &event));
	assert_cl(clReleaseEvent(event));
	clSVMFree(b->context, shared);
	assert_cl(clReleaseMemObject(in));
	assert_cl(clReleaseKernel(muladd));
}

struct native {
	cl_uint *words; /* filled in by the driver */
	cl_uint add;
};

static void CL_CALLBACK add_native(void *data)
{
	struct native *args = data;

	for (unsigned i = 0; i < WORDS; i++)
		args->words[i] += args->add;
}

static void a_native_kernel_reaches_its_object(void **state)
{
	struct cl_bench *b = *state;
	struct native args = { .add = 100 };
	const void *where = &args.words;
	cl_uint words[WORDS];
	cl_mem buffer;

	fill(words, WORDS, 2);
	buffer = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(words), words);
	cl_bench_disturb(b);
	assert_cl(clEnqueueNativeKernel(b->queue, add_native, &args, sizeof(args), 1, &buffer,
					&where, 0, NULL, NULL));
	cl_bench_disturb(b);
	for (unsigned i = 0; i < WORDS; i++)
		words[i] += 100;
	cl_bench_expect(b, buffer, 0, words, WORDS);
	assert_cl(clReleaseMemObject(buffer));
}

static void migration_leaves_the_contents(void **state)
{
	struct cl_bench *b = *state;
	cl_uint words[WORDS];
	cl_mem bufs[2];

	fill(words, WORDS, 13);
	for (unsigned i = 0; i < 2; i++)
		bufs[i] = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(words), words);
	cl_bench_disturb(b);
	assert_cl(clEnqueueMigrateMemObjects(b->queue, 2, bufs, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL,
					     NULL));
	cl_bench_disturb(b);
	assert_cl(clEnqueueMigrateMemObjects(b->queue, 2, bufs, 0, 0, NULL, NULL));
	for (unsigned i = 0; i < 2; i++) {
		cl_bench_expect(b, bufs[i], 0, words, WORDS);
		assert_cl(clReleaseMemObject(bufs[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_keeps_its_pixels),
		cmocka_unit_test(an_image_on_a_buffer_is_its_bytes),
		cmocka_unit_test(a_buffer_in_host_memory_is_that_memory),
		cmocka_unit_test(shared_virtual_memory_stays_at_its_address),
		cmocka_unit_test(a_native_kernel_reaches_its_object),
		cmocka_unit_test(migration_leaves_the_contents),
	};

	return cmocka_run_group_tests_name("cl-fixed", tests, cl_bench_setup, cl_bench_teardown);
}
