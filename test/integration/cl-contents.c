/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Contents: whatever moves behind the handles, the bytes are those that a program expects. A
 * model in host memory runs beside each test.
 */

#include "base/filesystem.h"
#include "cl-lib.h"

enum { WORDS = 4096, BUFFERS = 8, STEPS = 400 };

static void random_fill(uint64_t *random, cl_uint *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		words[i] = (cl_uint)slu_test_random(random);
}

/* One random operation on the device and on the model. */
static void step(struct cl_bench *b, cl_kernel muladd, cl_mem *bufs, cl_uint (*model)[WORDS],
		 uint64_t *random)
{
	unsigned what = slu_test_random(random) % 8, i = slu_test_random(random) % BUFFERS;
	unsigned k = (i + 1 + slu_test_random(random) % (BUFFERS - 1)) % BUFFERS;
	size_t from = slu_test_random(random) % (WORDS / 2);
	size_t n = 1 + slu_test_random(random) % (WORDS / 2);
	cl_uint value = (cl_uint)slu_test_random(random);
	static cl_uint scratch[WORDS];
	cl_int r;

	switch (what) {
	case 0: /* kernel */
	case 1:
		cl_bench_launch(b->queue, muladd, bufs[i], bufs[k], value, WORDS, 0, NULL, NULL);
		for (size_t w = 0; w < WORDS; w++)
			model[k][w] += model[i][w] * value;
		break;
	case 2: /* blocking write */
		random_fill(random, scratch, n);
		assert_cl(clEnqueueWriteBuffer(b->queue, bufs[i], CL_TRUE, from * 4, n * 4, scratch,
					       0, NULL, NULL));
		memcpy(&model[i][from], scratch, n * 4);
		break;
	case 3: /* fill */
		assert_cl(clEnqueueFillBuffer(b->queue, bufs[i], &value, 4, from * 4, n * 4, 0,
					      NULL, NULL));
		for (size_t w = 0; w < n; w++)
			model[i][from + w] = value;
		break;
	case 4: /* copy */
		assert_cl(clEnqueueCopyBuffer(b->queue, bufs[i], bufs[k], from * 4, 0, n * 4, 0,
					      NULL, NULL));
		memcpy(&model[k][0], &model[i][from], n * 4);
		break;
	case 5: { /* map, change, unmap */
		cl_uint *p =
			clEnqueueMapBuffer(b->queue, bufs[i], CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
					   from * 4, n * 4, 0, NULL, NULL, &r);

		assert_cl(r);
		assert_memory_equal(p, &model[i][from], n * 4);
		p[0] = model[i][from] = value;
		p[n - 1] = model[i][from + n - 1] = value ^ 1;
		assert_cl(clEnqueueUnmapMemObject(b->queue, bufs[i], p, 0, NULL, NULL));
		break;
	}
	case 6: { /* rectangle: 4 rows of 8 words out of rows of 64 */
		size_t at[3] = { 16, from % 32, 0 }, origin[3] = { 0 }, region[3] = { 32, 4, 1 };
		cl_uint rect[32];

		random_fill(random, rect, 32);
		assert_cl(clEnqueueWriteBufferRect(b->queue, bufs[i], CL_TRUE, at, origin, region,
						   256, 0, 32, 0, rect, 0, NULL, NULL));
		for (size_t row = 0; row < 4; row++)
			memcpy(&model[i][(at[1] + row) * 64 + 4], &rect[row * 8], 32);
		memset(rect, 0, sizeof(rect));
		assert_cl(clEnqueueReadBufferRect(b->queue, bufs[i], CL_TRUE, at, origin, region,
						  256, 0, 32, 0, rect, 0, NULL, NULL));
		for (size_t row = 0; row < 4; row++)
			assert_memory_equal(&rect[row * 8], &model[i][(at[1] + row) * 64 + 4], 32);
		break;
	}
	default: /* read */
		cl_bench_expect(b, bufs[i], from * 4, &model[i][from], n);
		break;
	}
}

static void random_operations_leave_what_a_model_leaves(void **state)
{
	static cl_uint model[BUFFERS][WORDS];
	struct cl_bench *b = *state;
	cl_kernel muladd = cl_bench_kernel(b, "muladd");
	uint64_t random = slu_test_seed(4711);
	cl_mem bufs[BUFFERS];

	for (unsigned i = 0; i < BUFFERS; i++) {
		random_fill(&random, model[i], WORDS);
		bufs[i] = cl_bench_buffer(b, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
					  sizeof(model[i]), model[i]);
	}
	for (unsigned n = 0; n < STEPS; n++)
		step(b, muladd, bufs, model, &random);
	for (unsigned i = 0; i < BUFFERS; i++) {
		cl_bench_expect(b, bufs[i], 0, model[i], WORDS);
		assert_cl(clReleaseMemObject(bufs[i]));
	}
	assert_cl(clReleaseKernel(muladd));
}

static void a_sub_buffer_and_its_root_are_the_same_bytes(void **state)
{
	struct cl_bench *b = *state;
	cl_kernel muladd = cl_bench_kernel(b, "muladd");
	cl_buffer_region low = { 0, WORDS * 2 }, high = { WORDS * 2, WORDS * 2 };
	cl_uint words[WORDS], expect[WORDS];
	cl_mem root, other, part[2];
	cl_int r;

	for (unsigned i = 0; i < WORDS; i++)
		words[i] = i * 7 + 1;
	root = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(words), words);
	other = cl_bench_buffer(b, CL_MEM_READ_WRITE, sizeof(words), NULL);
	part[0] = clCreateSubBuffer(root, 0, CL_BUFFER_CREATE_TYPE_REGION, &low, &r);
	assert_cl(r);
	part[1] = clCreateSubBuffer(root, 0, CL_BUFFER_CREATE_TYPE_REGION, &high, &r);
	assert_cl(r);

	cl_bench_launch(b->queue, muladd, part[0], part[1], 3, WORDS / 2, 0, NULL, NULL);
	assert_cl(clEnqueueCopyBuffer(b->queue, root, other, 0, 0, sizeof(words), 0, NULL, NULL));
	memcpy(expect, words, sizeof(words));
	for (unsigned i = 0; i < WORDS / 2; i++)
		expect[WORDS / 2 + i] += expect[i] * 3;
	cl_bench_expect(b, root, 0, expect, WORDS);
	cl_bench_expect(b, other, 0, expect, WORDS);
	cl_bench_expect(b, part[1], 16, &expect[WORDS / 2 + 4], WORDS / 4);

	/* written through the part, while the root's handle is given up */
	assert_cl(clReleaseMemObject(root));
	assert_cl(clEnqueueWriteBuffer(b->queue, part[1], CL_TRUE, 0, 64, words, 0, NULL, NULL));
	memcpy(&expect[WORDS / 2], words, 64);
	cl_bench_launch(b->queue, muladd, part[1], part[0], 5, WORDS / 2, 0, NULL, NULL);
	for (unsigned i = 0; i < WORDS / 2; i++)
		expect[i] += expect[WORDS / 2 + i] * 5;
	cl_bench_expect(b, part[0], 0, expect, WORDS / 2);
	assert_cl(clReleaseMemObject(part[0]));
	cl_bench_expect(b, part[1], 0, &expect[WORDS / 2], WORDS / 2);
	assert_cl(clReleaseMemObject(part[1]));
	assert_cl(clReleaseMemObject(other));
	assert_cl(clReleaseKernel(muladd));
}

/* Of an object that moves, and of one that never does. */
static void a_mapped_pointer_holds(struct cl_bench *b, cl_mem_flags flags)
{
	cl_kernel muladd = cl_bench_kernel(b, "muladd");
	cl_uint words[WORDS] = { 0 }, ones[WORDS];
	cl_mem mapped, in, out;
	cl_uint *p;
	cl_int r;

	for (unsigned i = 0; i < WORDS; i++)
		ones[i] = 1;
	mapped = cl_bench_buffer(b, flags, sizeof(words), NULL);
	in = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(ones), ones);
	out = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(words), words);
	p = clEnqueueMapBuffer(b->queue, mapped, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0,
			       sizeof(words), 0, NULL, NULL, &r);
	assert_cl(r);
	assert_int_equal(cl_bench_mem_uint(mapped, CL_MEM_MAP_COUNT), 1);
	for (unsigned i = 0; i < WORDS; i++) {
		if (i % 256 == 0) {
			cl_bench_launch(b->queue, muladd, in, out, 1, WORDS, 0, NULL, NULL);
			assert_cl(clFinish(b->queue));
		}
		p[i] = words[i] = i ^ 0x5555;
	}
	assert_cl(clEnqueueUnmapMemObject(b->queue, mapped, p, 0, NULL, NULL));
	assert_cl(clFinish(b->queue));
	assert_int_equal(cl_bench_mem_uint(mapped, CL_MEM_MAP_COUNT), 0);
	cl_bench_launch(b->queue, muladd, in, out, 1, WORDS, 0, NULL, NULL);
	cl_bench_expect(b, mapped, 0, words, WORDS);
	for (unsigned i = 0; i < WORDS; i++)
		ones[i] = WORDS / 256 + 1;
	cl_bench_expect(b, out, 0, ones, WORDS);
	assert_cl(clReleaseMemObject(mapped));
	assert_cl(clReleaseMemObject(in));
	assert_cl(clReleaseMemObject(out));
	assert_cl(clReleaseKernel(muladd));
}

static void a_mapped_pointer_holds_while_others_work(void **state)
{
	a_mapped_pointer_holds(*state, 0);
	a_mapped_pointer_holds(*state, CL_MEM_ALLOC_HOST_PTR);
}

static void an_out_of_order_queue_follows_its_events(void **state)
{
	enum { CHAIN = 40 };
	struct cl_bench *b = *state;
	cl_kernel muladd = cl_bench_kernel(b, "muladd");
	cl_uint words[2][WORDS];
	cl_event events[CHAIN];
	cl_mem bufs[2];

	for (unsigned i = 0; i < WORDS; i++) {
		words[0][i] = i;
		words[1][i] = 1;
	}
	for (unsigned i = 0; i < 2; i++)
		bufs[i] = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(words[i]), words[i]);
	for (unsigned n = 0; n < CHAIN; n++) {
		unsigned to = n & 1, from = !to;

		cl_bench_launch(b->out_of_order, muladd, bufs[from], bufs[to], n + 2, WORDS, n != 0,
				n ? &events[n - 1] : NULL, &events[n]);
		for (unsigned i = 0; i < WORDS; i++)
			words[to][i] += words[from][i] * (n + 2);
	}
	assert_cl(clWaitForEvents(1, &events[CHAIN - 1]));
	for (unsigned n = 0; n < CHAIN; n++)
		assert_cl(clReleaseEvent(events[n]));
	for (unsigned i = 0; i < 2; i++) {
		cl_bench_expect(b, bufs[i], 0, words[i], WORDS);
		assert_cl(clReleaseMemObject(bufs[i]));
	}
	assert_cl(clReleaseKernel(muladd));
}

static void an_object_given_up_early_lives_until_its_commands_end(void **state)
{
	struct cl_bench *b = *state;
	cl_kernel muladd = cl_bench_kernel(b, "muladd");
	cl_uint words[WORDS], sum[WORDS] = { 0 };
	cl_mem out = cl_bench_buffer(b, CL_MEM_COPY_HOST_PTR, sizeof(sum), sum);

	for (unsigned n = 1; n <= 50; n++) {
		cl_mem temporary;

		for (unsigned i = 0; i < WORDS; i++) {
			words[i] = i * n;
			sum[i] += words[i] * n;
		}
		temporary = cl_bench_buffer(b, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
					    sizeof(words), words);
		cl_bench_launch(b->queue, muladd, temporary, out, n, WORDS, 0, NULL, NULL);
		assert_cl(clReleaseMemObject(temporary));
	}
	cl_bench_expect(b, out, 0, sum, WORDS);
	assert_cl(clReleaseMemObject(out));
	assert_cl(clReleaseKernel(muladd));
}

static void eight_byte_numbers_are_not_taken_for_objects(void **state)
{
	struct cl_bench *b = *state;
	cl_kernel scalar = cl_bench_kernel(b, "scalar");
	cl_mem out = cl_bench_buffer(b, CL_MEM_READ_WRITE, 64, NULL);
	uint64_t random = slu_test_seed(99);
	size_t n = 16;

	assert_cl(clSetKernelArg(scalar, 0, sizeof(out), &out));
	for (unsigned k = 0; k < 100; k++) {
		cl_ulong value = slu_test_random(&random);
		cl_uint expect[16];

		for (unsigned i = 0; i < n; i++)
			expect[i] = (cl_uint)value + (cl_uint)(value >> 32);
		assert_cl(clSetKernelArg(scalar, 1, sizeof(value), &value));
		assert_cl(
			clEnqueueNDRangeKernel(b->queue, scalar, 1, NULL, &n, NULL, 0, NULL, NULL));
		cl_bench_expect(b, out, 0, expect, 16);
	}
	assert_cl(clReleaseMemObject(out));
	assert_cl(clReleaseKernel(scalar));
}

/* With everything that leaves the device on disk: is there one? */
static bool lacks_disk(void)
{
	const char *torture = getenv("SLUICE_TORTURE");
	struct slu_filesystem fs;

	return torture && !strcmp(torture, "disk") &&
	       (slu_filesystem_look("/var/tmp", &fs) || slu_filesystem_fault(&fs, false));
}

int main(void)
{
	const struct CMUnitTest skipped[] = {
		slu_test_skipped(cl_contents, "/var/tmp is not on disk here"),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_operations_leave_what_a_model_leaves),
		cmocka_unit_test(a_sub_buffer_and_its_root_are_the_same_bytes),
		cmocka_unit_test(a_mapped_pointer_holds_while_others_work),
		cmocka_unit_test(an_out_of_order_queue_follows_its_events),
		cmocka_unit_test(an_object_given_up_early_lives_until_its_commands_end),
		cmocka_unit_test(eight_byte_numbers_are_not_taken_for_objects),
	};

	if (lacks_disk())
		return cmocka_run_group_tests_name("cl-contents", skipped, NULL, NULL);
	return cmocka_run_group_tests_name("cl-contents", tests, cl_bench_setup, cl_bench_teardown);
}
