/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <pthread.h>
#include <stdbool.h>

/*
 * Threads that allocate, compute and free on one small device, each in streams of its own, and look
 * at every byte: memory of all kinds comes and goes, and addresses are used again, while kernels of
 * the others run. The kernel is a scan in a single pass, whose blocks wait for each other.
 */

#define MIB	  (1u << 20)
#define N_THREADS 4u
#define N_ROUNDS  80u
#define N_MAX	  3000u

/* scan(in, state, out): out[i] = in[0] + … + in[i], a block each; @state begins as zeroes */
static const char ptx_scan[] =
	TEST_PTX_HEAD ".visible .entry scan(.param .u64 in, .param .u64 state, .param .u64 out)\n"
		      "{\n"
		      "	.reg .pred %q<4>;\n"
		      "	.reg .b32 %r<8>;\n"
		      "	.reg .b64 %d<8>;\n"
		      "	ld.param.u64 %d1, [in];\n"
		      "	ld.param.u64 %d2, [state];\n"
		      "	ld.param.u64 %d3, [out];\n"
		      /* blocks count themselves, so that whoever is waited for has begun */
		      "	atom.global.add.u32 %r1, [%d2], 1;\n"
		      "	mul.wide.u32 %d4, %r1, 4;\n"
		      "	add.u64 %d5, %d1, %d4;\n"
		      "	ld.global.u32 %r2, [%d5];\n"
		      "	mad.wide.u32 %d6, %r1, 8, %d2;\n"
		      "	setp.eq.u32 %q1, %r1, 0;\n"
		      "	@%q1 bra DONE;\n"
		      "	mov.u32 %r3, 1;\n"
		      "	st.relaxed.gpu.global.v2.u32 [%d6+8], {%r3, %r2};\n"
		      "	mov.u64 %d7, %d6;\n"
		      "LOOK:\n"
		      "	ld.relaxed.gpu.global.v2.u32 {%r4, %r5}, [%d7];\n"
		      "	setp.eq.u32 %q2, %r4, 0;\n"
		      "	@%q2 bra LOOK;\n"
		      "	add.u32 %r2, %r2, %r5;\n"
		      "	sub.u64 %d7, %d7, 8;\n"
		      "	setp.eq.u32 %q3, %r4, 1;\n"
		      "	@%q3 bra LOOK;\n"
		      "DONE:\n"
		      "	mov.u32 %r6, 2;\n"
		      "	st.relaxed.gpu.global.v2.u32 [%d6+8], {%r6, %r2};\n"
		      "	add.u64 %d5, %d3, %d4;\n"
		      "	st.global.u32 [%d5], %r2;\n"
		      "	ret;\n"
		      "}\n";

static CUcontext context;
static CUfunction shared_scan;

struct worker {
	pthread_t thread;
	unsigned number;
	uint64_t seed;
	CUstream stream;
	unsigned n;
	uint32_t in[N_MAX], out[N_MAX];
};

static unsigned draw(struct worker *w, unsigned limit)
{
	return (unsigned)(slu_test_random(&w->seed) % limit);
}

static CUdeviceptr take(struct worker *w, bool is_ordered, size_t bytes)
{
	CUdeviceptr address;

	if (is_ordered)
		assert_cu(cuMemAllocAsync(&address, bytes, w->stream));
	else
		assert_cu(cuMemAlloc_v2(&address, bytes));
	return address;
}

static void give(struct worker *w, bool is_ordered, CUdeviceptr address)
{
	if (is_ordered)
		assert_cu(cuMemFreeAsync(address, w->stream));
	else
		assert_cu(cuMemFree_v2(address));
}

static void scan(struct worker *w, CUfunction function, bool is_ordered)
{
	size_t bytes = w->n * 4, state_bytes = 8 + w->n * 8;
	/* now and then a large one, which has granules of its own */
	CUdeviceptr in = take(w, is_ordered, draw(w, 4) ? bytes : 2 * MIB);
	CUdeviceptr state = take(w, is_ordered, state_bytes), out = take(w, is_ordered, bytes);
	void *params[] = { &in, &state, &out };

	assert_cu(cuMemcpyHtoDAsync_v2(in, w->in, bytes, w->stream));
	assert_cu(cuMemsetD8Async(state, 0, state_bytes, w->stream));
	assert_cu(cuLaunchKernel(function, w->n, 1, 1, 1, 1, 1, 0, w->stream, params, NULL));
	assert_cu(cuMemcpyDtoHAsync_v2(w->out, out, bytes, w->stream));
	give(w, is_ordered, in);
	give(w, is_ordered, state);
	give(w, is_ordered, out);
	assert_cu(cuStreamSynchronize(w->stream));
}

static void scan_as_a_new_module(struct worker *w)
{
	CUfunction function;
	CUmodule module;

	assert_cu(cuModuleLoadData(&module, ptx_scan));
	assert_cu(cuModuleGetFunction(&function, module, "scan"));
	scan(w, function, draw(w, 2));
	assert_cu(cuModuleUnload(module));
}

/* The same bytes through a mapping of the program's own. */
static void scan_what_is_mapped(struct worker *w)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemAccessDesc access = { .location = prop.location,
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	size_t bytes = w->n * 4;
	CUmemGenericAllocationHandle handle;
	CUdeviceptr in, state, out;
	void *params[] = { &in, &state, &out };

	assert_cu(cuMemCreate(&handle, 2 * MIB, &prop, 0));
	assert_cu(cuMemAddressReserve(&in, 2 * MIB, 0, 0, 0));
	assert_cu(cuMemMap(in, 2 * MIB, 0, handle, 0));
	assert_cu(cuMemSetAccess(in, 2 * MIB, &access, 1));
	assert_cu(cuMemRelease(handle));
	state = in + MIB;
	out = in + MIB / 2;
	assert_cu(cuMemcpyHtoDAsync_v2(in, w->in, bytes, w->stream));
	assert_cu(cuMemsetD8Async(state, 0, 8 + w->n * 8, w->stream));
	assert_cu(cuLaunchKernel(shared_scan, w->n, 1, 1, 1, 1, 1, 0, w->stream, params, NULL));
	assert_cu(cuMemcpyDtoHAsync_v2(w->out, out, bytes, w->stream));
	assert_cu(cuStreamSynchronize(w->stream));
	assert_cu(cuMemUnmap(in, 2 * MIB));
	assert_cu(cuMemAddressFree(in, 2 * MIB));
}

static void check(struct worker *w, unsigned round)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < w->n; i++) {
		sum += w->in[i];
		if (w->out[i] != sum)
			fail_msg("thread %u, round %u: sum %u of %u is %u, not %u", w->number,
				 round, i, w->n, w->out[i], sum);
	}
}

static void *worker_main(void *data)
{
	struct worker *w = data;

	assert_cu(cuCtxSetCurrent(context));
	for (unsigned round = 0; round < N_ROUNDS; round++) {
		assert_cu(cuStreamCreate(&w->stream, draw(w, 2) ? CU_STREAM_NON_BLOCKING : 0));
		w->n = 1 + draw(w, N_MAX);
		for (unsigned i = 0; i < w->n; i++)
			w->in[i] = draw(w, 1000);
		switch (draw(w, 6)) {
		case 0:
			scan_as_a_new_module(w);
			break;
		case 1:
			scan_what_is_mapped(w);
			break;
		default:
			scan(w, shared_scan, draw(w, 2));
			break;
		}
		check(w, round);
		assert_cu(cuStreamDestroy_v2(w->stream));
	}
	return NULL;
}

static void threads_that_allocate_and_free_disturb_nobody(void **state)
{
	static struct worker workers[N_THREADS];
	uint64_t seed = slu_test_seed(1);

	(void)state;
	shared_scan = test_function(ptx_scan, "scan");
	for (unsigned i = 0; i < N_THREADS; i++) {
		workers[i].number = i;
		workers[i].seed = seed + i;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]),
				 0);
	}
	for (unsigned i = 0; i < N_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	assert_cu(cuCtxSynchronize());
}

static int set_up(void **state)
{
	(void)state;
	context = test_context_make("40M");
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_allocate_and_free_disturb_nobody),
	};

	return cmocka_run_group_tests_name("softgpu-churn", tests, set_up, test_device_tear_down);
}
