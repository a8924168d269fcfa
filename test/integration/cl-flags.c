/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a program says about an object when it makes it: what is wrong is refused, what is asked is
 * answered as it was said, what was promised is kept. All of it holds on the plain driver too.
 */

#include "cl-lib.h"

enum { WORDS = 1024 };

/* -- creation --------------------------------------------------------------------------------- */

static void wrong_creations_fail_at_once(void **state)
{
	struct cl_bench *b = *state;
	char bytes[64] = { 0 };
	const struct {
		const char *what;
		cl_mem_flags flags;
		size_t size;
		void *host;
		cl_int expect;
	} rows[] = {
		{ "no bytes", 0, 0, NULL, CL_INVALID_BUFFER_SIZE },
		{ "two kinds of access", CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 64, NULL,
		  CL_INVALID_VALUE },
		{ "read-write and read-only", CL_MEM_READ_WRITE | CL_MEM_READ_ONLY, 64, NULL,
		  CL_INVALID_VALUE },
		{ "use and copy", CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, 64, bytes,
		  CL_INVALID_VALUE },
		{ "use and alloc", CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR, 64, bytes,
		  CL_INVALID_VALUE },
		{ "two host promises", CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS, 64, NULL,
		  CL_INVALID_VALUE },
		{ "copy of nothing", CL_MEM_COPY_HOST_PTR, 64, NULL, CL_INVALID_HOST_PTR },
		{ "use of nothing", CL_MEM_USE_HOST_PTR, 64, NULL, CL_INVALID_HOST_PTR },
		{ "a pointer for nothing", CL_MEM_READ_WRITE, 64, bytes, CL_INVALID_HOST_PTR },
		{ "an unknown flag", UINT64_C(1) << 40, 64, NULL, CL_INVALID_VALUE },
		{ "larger than any object", 0, (size_t)1 << 60, NULL, CL_INVALID_BUFFER_SIZE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cl_int r = CL_SUCCESS;

		print_message("# %s\n", rows[i].what);
		assert_null(
			clCreateBuffer(b->context, rows[i].flags, rows[i].size, rows[i].host, &r));
		assert_int_equal(r, rows[i].expect);
		assert_null(clCreateBuffer(b->context, rows[i].flags, rows[i].size, rows[i].host,
					   NULL));
	}
}

static void wrong_sub_buffers_fail_at_once(void **state)
{
	struct cl_bench *b = *state;
	cl_mem root = cl_bench_buffer(b, CL_MEM_READ_ONLY, 4096, NULL), part;
	cl_buffer_region whole = { 0, 4096 }, past = { 4096, 4096 }, none = { 0, 0 };
	cl_buffer_region odd = { 1, 64 };
	cl_int r;

	assert_null(clCreateSubBuffer(root, 0, CL_BUFFER_CREATE_TYPE_REGION, &past, &r));
	assert_int_equal(r, CL_INVALID_VALUE);
	assert_null(clCreateSubBuffer(root, 0, CL_BUFFER_CREATE_TYPE_REGION, &none, &r));
	assert_int_equal(r, CL_INVALID_BUFFER_SIZE);
	assert_null(clCreateSubBuffer(root, 0, CL_BUFFER_CREATE_TYPE_REGION, NULL, &r));
	assert_int_equal(r, CL_INVALID_VALUE);
	assert_null(clCreateSubBuffer(root, 0, 0x7777, &whole, &r));
	assert_int_equal(r, CL_INVALID_VALUE);
	assert_null(clCreateSubBuffer(root, 0, CL_BUFFER_CREATE_TYPE_REGION, &odd, &r));
	assert_int_equal(r, CL_MISALIGNED_SUB_BUFFER_OFFSET);
	assert_null(clCreateSubBuffer(root, CL_MEM_WRITE_ONLY, CL_BUFFER_CREATE_TYPE_REGION, &whole,
				      &r));
	assert_int_equal(r, CL_INVALID_VALUE);
	assert_null(clCreateSubBuffer(NULL, 0, CL_BUFFER_CREATE_TYPE_REGION, &whole, &r));
	assert_int_equal(r, CL_INVALID_MEM_OBJECT);
	part = clCreateSubBuffer(root, 0, CL_BUFFER_CREATE_TYPE_REGION, &whole, &r);
	assert_cl(r);
	assert_null(clCreateSubBuffer(part, 0, CL_BUFFER_CREATE_TYPE_REGION, &whole, &r));
	assert_int_equal(r, CL_INVALID_MEM_OBJECT);
	assert_cl(clReleaseMemObject(part));
	assert_cl(clReleaseMemObject(root));
}

/* -- questions -------------------------------------------------------------------------------- */

static void questions_are_answered_as_by_the_driver(void **state)
{
	struct cl_bench *b = *state;
	cl_buffer_region region = { 1024, 512 };
	cl_mem_flags flags = 0;
	cl_mem root, part, above = NULL;
	cl_context context = NULL;
	size_t size = 0, offset = 0, needed = 0;
	void *host = b;
	cl_int r;

	root = cl_bench_buffer(b, CL_MEM_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS, 4096, NULL);
	part = clCreateSubBuffer(root, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &r);
	assert_cl(r);
	assert_int_equal(cl_bench_mem_uint(root, CL_MEM_TYPE), CL_MEM_OBJECT_BUFFER);
	assert_cl(clGetMemObjectInfo(root, CL_MEM_FLAGS, sizeof(flags), &flags, NULL));
	assert_int_equal(flags, CL_MEM_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS);
	assert_cl(clGetMemObjectInfo(part, CL_MEM_FLAGS, sizeof(flags), &flags, NULL));
	assert_int_equal(flags & CL_MEM_WRITE_ONLY, CL_MEM_WRITE_ONLY);
	assert_cl(clGetMemObjectInfo(part, CL_MEM_SIZE, sizeof(size), &size, &needed));
	assert_int_equal(size, 512);
	assert_int_equal(needed, sizeof(size));
	assert_cl(clGetMemObjectInfo(part, CL_MEM_OFFSET, sizeof(offset), &offset, NULL));
	assert_int_equal(offset, 1024);
	assert_cl(
		clGetMemObjectInfo(part, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(above), &above, NULL));
	assert_ptr_equal(above, root);
	assert_cl(
		clGetMemObjectInfo(root, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(above), &above, NULL));
	assert_null(above);
	assert_cl(clGetMemObjectInfo(root, CL_MEM_CONTEXT, sizeof(context), &context, NULL));
	assert_ptr_equal(context, b->context);
	assert_cl(clGetMemObjectInfo(root, CL_MEM_HOST_PTR, sizeof(host), &host, NULL));
	assert_null(host);
	assert_int_equal(clGetMemObjectInfo(root, CL_MEM_SIZE, 1, &size, NULL), CL_INVALID_VALUE);
	assert_int_equal(clGetMemObjectInfo(root, 0x7777, sizeof(size), &size, NULL),
			 CL_INVALID_VALUE);
	assert_int_equal(clGetMemObjectInfo(NULL, CL_MEM_SIZE, sizeof(size), &size, NULL),
			 CL_INVALID_MEM_OBJECT);
	assert_cl(clReleaseMemObject(part));
	assert_cl(clReleaseMemObject(root));
}

static cl_mem make_on(struct cl_bench *b, cl_mem_flags flags, cl_mem buffer)
{
	const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
	const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER,
				     .image_width = WORDS / 2,
				     .mem_object = buffer };
	cl_int r;
	cl_mem image = clCreateImage(b->context, flags, &format, &desc, NULL, &r);

	assert_cl(r);
	return image;
}

/* Of a buffer, a part of it and an image on it, which say nothing themselves, and one that does. */
static void flags_are_told_as_they_were_given(void **state)
{
	struct cl_bench *b = *state;
	static cl_uint words[WORDS] __attribute__((aligned(4096)));
	const struct {
		const char *what;
		cl_mem_flags given, told;
	} rows[] = {
		{ "nothing", 0, CL_MEM_READ_WRITE },
		{ "written only", CL_MEM_WRITE_ONLY, CL_MEM_WRITE_ONLY },
		{ "no access", CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_NO_ACCESS },
		{ "host writes", CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_WRITE_ONLY },
		{ "host reads", CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_READ_ONLY },
		{ "copied", CL_MEM_COPY_HOST_PTR, CL_MEM_COPY_HOST_PTR },
		{ "copied, read only", CL_MEM_COPY_HOST_PTR | CL_MEM_READ_ONLY,
		  CL_MEM_COPY_HOST_PTR | CL_MEM_READ_ONLY },
		{ "in host memory", CL_MEM_USE_HOST_PTR, CL_MEM_USE_HOST_PTR },
		{ "there, without access", CL_MEM_USE_HOST_PTR | CL_MEM_HOST_NO_ACCESS,
		  CL_MEM_USE_HOST_PTR | CL_MEM_HOST_NO_ACCESS },
		{ "the driver's host memory", CL_MEM_ALLOC_HOST_PTR, CL_MEM_ALLOC_HOST_PTR },
	};
	const cl_mem_flags access = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
	cl_buffer_region half = { 0, WORDS * 2 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool has_words = rows[i].given & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
		cl_mem whole, part, image, read;
		cl_int r;

		print_message("# %s\n", rows[i].what);
		whole = cl_bench_buffer(b, rows[i].given, sizeof(words), has_words ? words : NULL);
		cl_bench_disturb(b);
		part = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &r);
		assert_cl(r);
		image = make_on(b, 0, whole);
		cl_bench_disturb(b);
		read = make_on(b, rows[i].given & access, whole);
		cl_bench_disturb(b);
		assert_int_equal(cl_bench_flags(whole), rows[i].told);
		assert_int_equal(cl_bench_flags(part), rows[i].told);
		assert_int_equal(cl_bench_flags(image), rows[i].told);
		assert_int_equal(cl_bench_flags(read), rows[i].told);
		assert_cl(clReleaseMemObject(read));
		assert_cl(clReleaseMemObject(image));
		assert_cl(clReleaseMemObject(part));
		assert_cl(clReleaseMemObject(whole));
	}
}

static void shared_virtual_memory_is_known_again(void **state)
{
	struct cl_bench *b = *state;
	cl_uint *shared = clSVMAlloc(b->context, CL_MEM_READ_WRITE, WORDS * 4, 0);
	static cl_uint mine[WORDS] __attribute__((aligned(4096)));
	cl_mem in_shared, in_mine, none;

	assert_non_null(shared);
	in_shared = cl_bench_buffer(b, CL_MEM_USE_HOST_PTR, WORDS * 4, shared);
	in_mine = cl_bench_buffer(b, CL_MEM_USE_HOST_PTR, WORDS * 4, mine);
	none = cl_bench_buffer(b, 0, WORDS * 4, NULL);
	cl_bench_disturb(b);
	assert_int_equal(cl_bench_mem_uint(in_shared, CL_MEM_USES_SVM_POINTER), CL_TRUE);
	assert_int_equal(cl_bench_mem_uint(in_mine, CL_MEM_USES_SVM_POINTER), CL_FALSE);
	assert_int_equal(cl_bench_mem_uint(none, CL_MEM_USES_SVM_POINTER), CL_FALSE);
	assert_cl(clReleaseMemObject(none));
	assert_cl(clReleaseMemObject(in_mine));
	assert_cl(clReleaseMemObject(in_shared));
	clSVMFree(b->context, shared);
}

/* -- host promises ---------------------------------------------------------------------------- */

static void promises_about_the_host_are_kept(void **state)
{
	struct cl_bench *b = *state;
	const cl_mem_flags flags[] = { CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY,
				       CL_MEM_HOST_WRITE_ONLY };
	cl_kernel muladd = cl_bench_kernel(b, "muladd");

	for (unsigned i = 0; i < 3; i++) {
		bool may_read = flags[i] == CL_MEM_HOST_READ_ONLY;
		bool may_write = flags[i] == CL_MEM_HOST_WRITE_ONLY;
		cl_uint words[WORDS] = { 0 };
		cl_mem kept, copy;
		cl_int r;

		for (unsigned w = 0; w < WORDS; w++)
			words[w] = w + i;
		kept = cl_bench_buffer(b, flags[i] | CL_MEM_COPY_HOST_PTR, sizeof(words), words);
		copy = cl_bench_buffer(b, 0, sizeof(words), NULL);
		assert_int_equal(
			clEnqueueReadBuffer(b->queue, kept, CL_TRUE, 0, 64, words, 0, NULL, NULL),
			may_read ? CL_SUCCESS : CL_INVALID_OPERATION);
		assert_int_equal(
			clEnqueueWriteBuffer(b->queue, kept, CL_TRUE, 0, 64, words, 0, NULL, NULL),
			may_write ? CL_SUCCESS : CL_INVALID_OPERATION);
		assert_null(clEnqueueMapBuffer(b->queue, kept, CL_TRUE,
					       may_read ? CL_MAP_WRITE : CL_MAP_READ, 0, 64, 0,
					       NULL, NULL, &r));
		assert_int_equal(r, CL_INVALID_OPERATION);

		/* and yet its bytes come and go */
		cl_bench_launch(b->queue, muladd, copy, copy, 0, WORDS, 0, NULL, NULL);
		assert_cl(clEnqueueCopyBuffer(b->queue, kept, copy, 0, 0, sizeof(words), 0, NULL,
					      NULL));
		cl_bench_expect(b, copy, 0, words, WORDS);
		assert_cl(clReleaseMemObject(kept));
		assert_cl(clReleaseMemObject(copy));
	}
	assert_cl(clReleaseKernel(muladd));
}

/* What was promised of a buffer is promised of the image on it. */
static void an_image_keeps_the_promises_of_its_buffer(void **state)
{
	struct cl_bench *b = *state;
	const size_t zero[3] = { 0 }, region[3] = { WORDS / 2, 1, 1 };
	const cl_mem_flags flags[] = { CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY,
				       CL_MEM_HOST_WRITE_ONLY, 0 };
	static cl_uint pixels[WORDS];

	for (unsigned i = 0; i < 4; i++) {
		bool may_read = !flags[i] || flags[i] == CL_MEM_HOST_READ_ONLY;
		bool may_write = !flags[i] || flags[i] == CL_MEM_HOST_WRITE_ONLY;
		cl_mem buffer = cl_bench_buffer(b, flags[i], sizeof(pixels), NULL);
		cl_mem image = make_on(b, 0, buffer);
		size_t row, slice;
		void *p;
		cl_int r;

		cl_bench_disturb(b);
		assert_int_equal(clEnqueueReadImage(b->queue, image, CL_TRUE, zero, region, 0, 0,
						    pixels, 0, NULL, NULL),
				 may_read ? CL_SUCCESS : CL_INVALID_OPERATION);
		assert_int_equal(clEnqueueWriteImage(b->queue, image, CL_TRUE, zero, region, 0, 0,
						     pixels, 0, NULL, NULL),
				 may_write ? CL_SUCCESS : CL_INVALID_OPERATION);
		p = clEnqueueMapImage(b->queue, image, CL_TRUE, CL_MAP_READ, zero, region, &row,
				      &slice, 0, NULL, NULL, &r);
		assert_int_equal(r, may_read ? CL_SUCCESS : CL_INVALID_OPERATION);
		if (p)
			assert_cl(clEnqueueUnmapMemObject(b->queue, image, p, 0, NULL, NULL));
		assert_cl(clFinish(b->queue));
		assert_cl(clReleaseMemObject(image));
		assert_cl(clReleaseMemObject(buffer));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_creations_fail_at_once),
		cmocka_unit_test(wrong_sub_buffers_fail_at_once),
		cmocka_unit_test(questions_are_answered_as_by_the_driver),
		cmocka_unit_test(flags_are_told_as_they_were_given),
		cmocka_unit_test(shared_virtual_memory_is_known_again),
		cmocka_unit_test(promises_about_the_host_are_kept),
		cmocka_unit_test(an_image_keeps_the_promises_of_its_buffer),
	};

	return cmocka_run_group_tests_name("cl-flags", tests, cl_bench_setup, cl_bench_teardown);
}
