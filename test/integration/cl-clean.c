/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Data that is only read. Kernels that promise not to write an argument and keep that, and others
 * that cast the promise away: whatever is or is not copied when an object leaves the device, the
 * bytes are right. Where everything is evicted between two calls (SLUICE_TORTURE), digests are
 * taken at each eviction, and the tests look at how many bytes came out.
 */

#include "cl-lib.h"

#include <dlfcn.h>

#include "client/client.h"
#include "client/digest.h"
#include "opencl/digest-source.h"

enum { WORDS = 65536, BYTES = WORDS * 4 };

static const char *const source = "kernel void honest(global const uint *in, global uint *out)\n"
				  "{ size_t i = get_global_id(0); out[i] += in[i]; }\n"
				  "kernel void liar(global const uint *in, global uint *out)\n"
				  "{ size_t i = get_global_id(0); out[i] += in[i]; ((global uint "
				  "*)in)[i] = in[i] * 3 + 1; }\n"
				  "kernel void sly(global const uint *in, global uint *out)\n"
				  "{ size_t i = get_global_id(0); out[i] += in[i];\n"
				  "  if (i == 54321) ((global uint *)in)[i] ^= 1; }\n"
				  "kernel void lookup(constant uint *in, global uint *out)\n"
				  "{ size_t i = get_global_id(0); out[i] += in[i & 1023]; }\n"
				  "kernel void blank(read_only image2d_t in, global uint *out)\n"
				  "{ size_t i = get_global_id(0);\n"
				  "  out[i] += read_imageui(in, (int2)(i & 255, i >> 8)).x; }\n";

static cl_program program;

static int setup(void **state)
{
	struct cl_bench *b;
	cl_int r;

	cl_bench_setup(state);
	b = *state;
	program = clCreateProgramWithSource(b->context, 1, (const char **)&source, NULL, &r);
	assert_cl(r);
	assert_cl(clBuildProgram(program, 1, &b->device, "", NULL, NULL));
	return 0;
}

static int teardown(void **state)
{
	assert_cl(clReleaseProgram(program));
	return cl_bench_teardown(state);
}

static cl_kernel kernel_of(const char *name)
{
	cl_int r;
	cl_kernel kernel = clCreateKernel(program, name, &r);

	assert_cl(r);
	return kernel;
}

static void launch(struct cl_bench *b, cl_kernel kernel, cl_mem in, cl_mem out, size_t n)
{
	assert_cl(clSetKernelArg(kernel, 0, sizeof(in), &in));
	assert_cl(clSetKernelArg(kernel, 1, sizeof(out), &out));
	assert_cl(clEnqueueNDRangeKernel(b->queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL));
}

/* Return: false where nobody moves anything. */
static bool look(struct slu_client_counts *ret_counts)
{
	void *library = dlopen("libsluice-client.so", RTLD_NOW | RTLD_NOLOAD);
	void (*counts)(struct slu_client_counts *);

	if (!library || !getenv("SLUICE_TORTURE"))
		return false;
	counts = (void (*)(struct slu_client_counts *))dlsym(library, "slu_client_counts");
	assert_non_null(counts);
	counts(ret_counts);
	dlclose(library);
	return true;
}

static void count_up(cl_uint *words, cl_uint by)
{
	for (cl_uint i = 0; i < WORDS; i++)
		words[i] = i * by + 7;
}

/* -- the kernel that takes digests ------------------------------------------------------------ */

static struct slu_digest digest_on_device(struct cl_bench *b, cl_kernel kernel, cl_mem data,
					  cl_ulong bytes, size_t n_groups, size_t n_local,
					  bool in_chunks)
{
	size_t n_items = n_groups * n_local;
	cl_ulong count = bytes / 16 / n_items + 1, from = in_chunks ? count : 1;
	cl_ulong step = in_chunks ? 1 : n_items;
	cl_ulong parts[2 * 64] = { 0 }, sums[2] = { 0 };
	cl_mem out = cl_bench_buffer(b, 0, sizeof(parts), NULL);

	assert_cl(clSetKernelArg(kernel, 0, sizeof(data), &data));
	assert_cl(clSetKernelArg(kernel, 1, sizeof(bytes), &bytes));
	assert_cl(clSetKernelArg(kernel, 2, sizeof(from), &from));
	assert_cl(clSetKernelArg(kernel, 3, sizeof(step), &step));
	assert_cl(clSetKernelArg(kernel, 4, sizeof(count), &count));
	assert_cl(clSetKernelArg(kernel, 5, sizeof(out), &out));
	assert_cl(clSetKernelArg(kernel, 6, 2 * sizeof(cl_ulong) * n_local, NULL));
	assert_cl(clEnqueueNDRangeKernel(b->queue, kernel, 1, NULL, &n_items, &n_local, 0, NULL,
					 NULL));
	assert_cl(clEnqueueReadBuffer(b->queue, out, CL_TRUE, 0, n_groups * 16, parts, 0, NULL,
				      NULL));
	assert_cl(clReleaseMemObject(out));
	for (size_t i = 0; i < n_groups; i++) {
		sums[0] += parts[2 * i];
		sums[1] += parts[2 * i + 1];
	}
	return slu_digest_end(sums, bytes);
}

static void the_device_and_the_processor_take_the_same_digest(void **state)
{
	static const size_t sizes[] = { 1, 7, 8, 15, 16, 17, 31, 100, 4096, 65521, 262144 };
	static const size_t groups[][2] = { { 1, 1 }, { 3, 1 }, { 8, 1 }, { 4, 64 }, { 64, 2 } };
	const char *text = slu_digest_source;
	uint64_t random = slu_test_seed(815);
	struct cl_bench *b = *state;
	unsigned char *bytes = malloc(262144);
	cl_program ours;
	cl_kernel kernel;
	cl_int r;

	assert_non_null(bytes);
	for (size_t i = 0; i < 262144; i++)
		bytes[i] = (unsigned char)(slu_test_random(&random) >> 40);
	ours = clCreateProgramWithSource(b->context, 1, &text, NULL, &r);
	assert_cl(r);
	assert_cl(clBuildProgram(ours, 1, &b->device, "", NULL, NULL));
	kernel = clCreateKernel(ours, "slu_digest", &r);
	assert_cl(r);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		cl_mem data = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizes[s], bytes);
		struct slu_digest here = slu_digest_of(bytes, sizes[s]);

		for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
			for (unsigned in_chunks = 0; in_chunks < 2; in_chunks++)
				assert_true(slu_digest_is_equal(
					here,
					digest_on_device(b, kernel, data, sizes[s], groups[g][0],
							 groups[g][1], in_chunks)));
		assert_cl(clReleaseMemObject(data));
	}
	assert_cl(clReleaseKernel(kernel));
	assert_cl(clReleaseProgram(ours));
	free(bytes);
}

/* -- promises --------------------------------------------------------------------------------- */

static void what_is_only_read_is_not_copied_out(void **state)
{
	static cl_uint in_words[WORDS], out_words[WORDS];
	struct slu_client_counts before, after;
	struct cl_bench *b = *state;
	cl_kernel honest = kernel_of("honest");
	cl_mem in, out;

	count_up(in_words, 3);
	in = cl_bench_buffer(b, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, BYTES, in_words);
	out = cl_bench_buffer(b, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, BYTES, out_words);
	/* the first contents go out once, and somebody is built who compares */
	for (unsigned i = 0; i < 4; i++)
		launch(b, honest, in, out, WORDS);
	assert_cl(clFinish(b->queue));
	cl_bench_expect(b, in, 0, in_words, WORDS);
	look(&before);
	for (unsigned i = 0; i < 20; i++) {
		launch(b, honest, in, out, WORDS);
		assert_cl(clFinish(b->queue));
	}
	if (look(&after)) {
		uint64_t n_compared = after.n_compared - before.n_compared;

		printf("# %llu comparisons, %llu KiB out in 20 launches that write %u KiB each\n",
		       (unsigned long long)n_compared,
		       (unsigned long long)(after.moved_out_bytes - before.moved_out_bytes) >> 10,
		       BYTES >> 10);
		assert_in_range(n_compared, 10, 21);
		assert_int_equal(after.n_differed, before.n_differed);
		assert_in_range(after.moved_out_bytes - before.moved_out_bytes, 0, 21 * BYTES);
	}
	for (unsigned i = 0; i < WORDS; i++)
		out_words[i] = 24 * in_words[i];
	cl_bench_expect(b, in, 0, in_words, WORDS);
	cl_bench_expect(b, out, 0, out_words, WORDS);
	assert_cl(clReleaseMemObject(in));
	assert_cl(clReleaseMemObject(out));
	assert_cl(clReleaseKernel(honest));
}

static void a_promise_that_is_cast_away_loses_nothing(void **state)
{
	static cl_uint in_words[WORDS], out_words[WORDS];
	struct slu_client_counts before, after;
	struct cl_bench *b = *state;
	cl_kernel honest = kernel_of("honest"), sly = kernel_of("sly"), liar = kernel_of("liar");
	cl_mem in, out;

	count_up(in_words, 5);
	memset(out_words, 0, sizeof(out_words));
	in = cl_bench_buffer(b, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, BYTES, in_words);
	out = cl_bench_buffer(b, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, BYTES, out_words);
	for (unsigned i = 0; i < 4; i++)
		launch(b, honest, in, out, WORDS);
	assert_cl(clFinish(b->queue));
	for (unsigned w = 0; w < WORDS; w++)
		out_words[w] += 4 * in_words[w];
	look(&before);
	/* one bit of 256 KiB, then all of it, and again when it is known for it */
	for (unsigned i = 0; i < 6; i++) {
		launch(b, i % 2 ? liar : sly, in, out, WORDS);
		assert_cl(clFinish(b->queue));
		for (unsigned w = 0; w < WORDS; w++) {
			out_words[w] += in_words[w];
			if (i % 2)
				in_words[w] = in_words[w] * 3 + 1;
			else if (w == 54321)
				in_words[w] ^= 1;
		}
		launch(b, honest, out, out, WORDS);
		for (unsigned w = 0; w < WORDS; w++)
			out_words[w] += out_words[w];
	}
	if (look(&after))
		assert_true(after.n_differed > before.n_differed);
	cl_bench_expect(b, in, 0, in_words, WORDS);
	cl_bench_expect(b, out, 0, out_words, WORDS);
	assert_cl(clReleaseMemObject(in));
	assert_cl(clReleaseMemObject(out));
	assert_cl(clReleaseKernel(honest));
	assert_cl(clReleaseKernel(sly));
	assert_cl(clReleaseKernel(liar));
}

/* hashcat does so: a buffer that it calls read-only is filled by a kernel for the others. */
static void what_is_called_read_only_may_be_written(void **state)
{
	static cl_uint words[WORDS], read[WORDS];
	struct cl_bench *b = *state;
	cl_kernel honest = kernel_of("honest");
	cl_mem in, out;

	count_up(words, 3);
	in = cl_bench_buffer(b, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, BYTES, words);
	out = cl_bench_buffer(b, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, BYTES, words);
	for (cl_uint round = 1; round <= 5; round++) {
		launch(b, honest, in, out, WORDS);
		assert_cl(
			clEnqueueReadBuffer(b->queue, out, CL_TRUE, 0, BYTES, read, 0, NULL, NULL));
		for (cl_uint i = 0; i < WORDS; i++)
			assert_int_equal(read[i], words[i] * (round + 1));
	}
	assert_cl(clReleaseMemObject(in));
	assert_cl(clReleaseMemObject(out));
	assert_cl(clReleaseKernel(honest));
}

static void a_part_that_is_written_makes_the_whole_differ(void **state)
{
	static cl_uint words[WORDS], out_words[WORDS / 2];
	struct cl_bench *b = *state;
	cl_kernel honest = kernel_of("honest"), liar = kernel_of("liar");
	cl_buffer_region low = { 0, BYTES / 2 }, high = { BYTES / 2, BYTES / 2 };
	cl_mem root, parts[2], out;
	cl_int r;

	count_up(words, 11);
	memset(out_words, 0, sizeof(out_words));
	root = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, BYTES, words);
	out = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, BYTES / 2, out_words);
	parts[0] = clCreateSubBuffer(root, 0, CL_BUFFER_CREATE_TYPE_REGION, &low, &r);
	assert_cl(r);
	parts[1] = clCreateSubBuffer(root, 0, CL_BUFFER_CREATE_TYPE_REGION, &high, &r);
	assert_cl(r);
	for (unsigned i = 0; i < 12; i++) {
		unsigned p = i % 2;
		bool lies = i == 7 || i == 10;

		launch(b, lies ? liar : honest, parts[p], out, WORDS / 2);
		assert_cl(clFinish(b->queue));
		for (unsigned w = 0; w < WORDS / 2; w++) {
			cl_uint *word = &words[p * WORDS / 2 + w];

			out_words[w] += *word;
			if (lies)
				*word = *word * 3 + 1;
		}
	}
	cl_bench_expect(b, root, 0, words, WORDS);
	cl_bench_expect(b, out, 0, out_words, WORDS / 2);
	for (unsigned p = 0; p < 2; p++)
		assert_cl(clReleaseMemObject(parts[p]));
	assert_cl(clReleaseMemObject(root));
	assert_cl(clReleaseMemObject(out));
	assert_cl(clReleaseKernel(honest));
	assert_cl(clReleaseKernel(liar));
}

static void images_and_constants_stay_as_they_are(void **state)
{
	static cl_uint words[WORDS], out_words[WORDS];
	const cl_image_format format = { CL_R, CL_UNSIGNED_INT32 };
	const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
				     .image_width = 256,
				     .image_height = WORDS / 256 };
	const size_t origin[3] = { 0 }, region[3] = { 256, WORDS / 256, 1 };
	struct cl_bench *b = *state;
	cl_kernel blank = kernel_of("blank"), lookup = kernel_of("lookup");
	static cl_uint seen[WORDS];
	cl_mem image, table, out;
	cl_int r;

	count_up(words, 13);
	memset(out_words, 0, sizeof(out_words));
	image = clCreateImage(b->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &desc,
			      words, &r);
	assert_cl(r);
	table = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, 4096, words);
	out = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, BYTES, out_words);
	for (unsigned i = 0; i < 8; i++) {
		launch(b, blank, image, out, WORDS);
		launch(b, lookup, table, out, WORDS);
		for (unsigned w = 0; w < WORDS; w++)
			out_words[w] += words[w] + words[w & 1023];
	}
	cl_bench_expect(b, out, 0, out_words, WORDS);
	cl_bench_expect(b, table, 0, words, 1024);
	assert_cl(clEnqueueReadImage(b->queue, image, CL_TRUE, origin, region, 0, 0, seen, 0, NULL,
				     NULL));
	assert_memory_equal(seen, words, sizeof(seen));
	assert_cl(clReleaseMemObject(image));
	assert_cl(clReleaseMemObject(table));
	assert_cl(clReleaseMemObject(out));
	assert_cl(clReleaseKernel(blank));
	assert_cl(clReleaseKernel(lookup));
}

/* Whoever writes, and by what way: a model in host memory runs beside it. */
static void random_promises_leave_what_a_model_leaves(void **state)
{
	enum { BUFFERS = 4, STEPS = 200, FEW = 4096 };
	static cl_uint model[BUFFERS][FEW];
	uint64_t random = slu_test_seed(42);
	struct cl_bench *b = *state;
	cl_kernel honest = kernel_of("honest"), liar = kernel_of("liar");
	cl_mem bufs[BUFFERS];

	for (unsigned i = 0; i < BUFFERS; i++) {
		for (unsigned w = 0; w < FEW; w++)
			model[i][w] = w * 17 + i;
		bufs[i] = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(model[i]), model[i]);
	}
	for (unsigned n = 0; n < STEPS; n++) {
		unsigned i = slu_test_random(&random) % BUFFERS;
		unsigned k = (i + 1 + slu_test_random(&random) % (BUFFERS - 1)) % BUFFERS;
		unsigned what = slu_test_random(&random) % 8;
		cl_uint value = (cl_uint)slu_test_random(&random);

		if (what == 0) {
			assert_cl(clEnqueueFillBuffer(b->queue, bufs[i], &value, 4, 64, 4096, 0,
						      NULL, NULL));
			for (unsigned w = 0; w < 1024; w++)
				model[i][16 + w] = value;
			continue;
		}
		launch(b, what == 1 ? liar : honest, bufs[i], bufs[k], FEW);
		for (unsigned w = 0; w < FEW; w++) {
			model[k][w] += model[i][w];
			if (what == 1)
				model[i][w] = model[i][w] * 3 + 1;
		}
		if (what == 2)
			cl_bench_expect(b, bufs[i], 0, model[i], FEW);
	}
	for (unsigned i = 0; i < BUFFERS; i++) {
		cl_bench_expect(b, bufs[i], 0, model[i], FEW);
		assert_cl(clReleaseMemObject(bufs[i]));
	}
	assert_cl(clReleaseKernel(honest));
	assert_cl(clReleaseKernel(liar));
}

/* The last command of an object ends after the program has released it: then the object goes, and
 * others are just making memory free. */
static void what_is_only_read_may_go_while_it_is_compared(void **state)
{
	enum { ROUNDS = 300, N = 4096 };
	cl_kernel kernel = kernel_of("honest");
	struct cl_bench *b = *state;
	static cl_uint words[N];
	cl_mem out = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(words), words);
	cl_uint sum = 0;

	for (cl_uint i = 0; i < ROUNDS; i++) {
		cl_mem in;

		for (cl_uint k = 0; k < N; k++)
			words[k] = i * k;
		sum += i * (N - 1);
		in = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(words), words);
		launch(b, kernel, in, out, N);
		assert_cl(clReleaseMemObject(in));
	}
	assert_cl(clEnqueueReadBuffer(b->queue, out, CL_TRUE, 0, sizeof(words), words, 0, NULL,
				      NULL));
	assert_int_equal(words[N - 1], sum);
	assert_cl(clReleaseMemObject(out));
	assert_cl(clReleaseKernel(kernel));
}

static void a_program_sees_its_own_build_options(void **state)
{
	static const char *const all[] = { "", "-DA=1", "-DA=1 -cl-kernel-arg-info" };
	const char *text = "kernel void a(global const uint *p, global uint *q) { *q = *p; }";
	struct cl_bench *b = *state;

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char seen[64], few[4];
		cl_program made;
		size_t size = 0;
		cl_int r;

		made = clCreateProgramWithSource(b->context, 1, &text, NULL, &r);
		assert_cl(r);
		assert_cl(clBuildProgram(made, 1, &b->device, all[i], NULL, NULL));
		assert_cl(clGetProgramBuildInfo(made, b->device, CL_PROGRAM_BUILD_OPTIONS,
						sizeof(seen), seen, &size));
		assert_string_equal(seen, all[i]);
		assert_int_equal(size, strlen(all[i]) + 1);
		if (i)
			assert_int_equal(clGetProgramBuildInfo(made, b->device,
							       CL_PROGRAM_BUILD_OPTIONS,
							       sizeof(few), few, NULL),
					 CL_INVALID_VALUE);
		assert_cl(clReleaseProgram(made));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_device_and_the_processor_take_the_same_digest),
		cmocka_unit_test(what_is_only_read_is_not_copied_out),
		cmocka_unit_test(a_promise_that_is_cast_away_loses_nothing),
		cmocka_unit_test(what_is_called_read_only_may_be_written),
		cmocka_unit_test(a_part_that_is_written_makes_the_whole_differ),
		cmocka_unit_test(images_and_constants_stay_as_they_are),
		cmocka_unit_test(random_promises_leave_what_a_model_leaves),
		cmocka_unit_test(what_is_only_read_may_go_while_it_is_compared),
		cmocka_unit_test(a_program_sees_its_own_build_options),
	};

	return cmocka_run_group_tests_name("cl-clean", tests, setup, teardown);
}
