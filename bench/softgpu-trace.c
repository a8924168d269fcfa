/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels whose launches can be traced (SLUICE_SOFTGPU_TRACE), and how long they take: one that
 * goes over memory in order, and one that comes to another page with every access. Prints the
 * seconds of each, the best of several rounds, in the time of all processors that it took.
 */
#include "lib/softgpu.h"

#include <time.h>

#define BYTES	(32u << 20)
#define N_BEST	7
#define N_HOPS	64u
#define THREADS 256u
#define BLOCKS	64u

/* hop(p, n): adds to n words, each 64 KiB + 4 bytes after the one before, around 32 MiB */
static const char ptx_hop[] = TEST_PTX_HEAD ".visible .entry hop(.param .u64 p, .param .u32 n)\n"
					    "{\n"
					    "	.reg .pred %q<2>;\n"
					    "	.reg .b32 %r<10>;\n"
					    "	.reg .b64 %d<5>;\n"
					    "	ld.param.u64 %d1, [p];\n"
					    "	ld.param.u32 %r1, [n];\n"
					    "	mov.u32 %r2, %ctaid.x;\n"
					    "	mov.u32 %r3, %ntid.x;\n"
					    "	mov.u32 %r4, %tid.x;\n"
					    "	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
					    "	shl.b32 %r5, %r5, 2;\n"
					    "AGAIN:\n"
					    "	and.b32 %r5, %r5, 33554431;\n"
					    "	cvt.u64.u32 %d2, %r5;\n"
					    "	add.s64 %d3, %d1, %d2;\n"
					    "	ld.global.u32 %r6, [%d3];\n"
					    "	add.s32 %r6, %r6, 1;\n"
					    "	st.global.u32 [%d3], %r6;\n"
					    "	add.s32 %r5, %r5, 65540;\n"
					    "	sub.s32 %r1, %r1, 1;\n"
					    "	setp.ne.u32 %q1, %r1, 0;\n"
					    "	@%q1 bra AGAIN;\n"
					    "	ret;\n"
					    "}\n";

static CUfunction fill, hop;
static CUdeviceptr p;

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void go_in_order(void)
{
	assert_cu(test_fill(fill, p, BYTES / 4, 1, NULL));
}

static void hop_about(void)
{
	unsigned n = N_HOPS;
	void *params[] = { &p, &n };

	assert_cu(cuLaunchKernel(hop, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
}

static double best_of(void (*launch)(void))
{
	double best = 1e9;

	for (unsigned i = 0; i <= N_BEST; i++) {
		double begin = now_s(), took;

		launch();
		assert_cu(cuCtxSynchronize());
		took = now_s() - begin;
		/* the first one loads the kernel */
		if (i && took < best)
			best = took;
	}
	return best;
}

int main(void)
{
	CUcontext context;

	test_device_make("64M");
	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0))
		return 1;
	fill = test_function(test_ptx_fill, "fill");
	hop = test_function(ptx_hop, "hop");
	assert_cu(cuMemAlloc_v2(&p, BYTES));
	printf("order %.6f\n", best_of(go_in_order));
	printf("hops %.6f\n", best_of(hop_about));
	test_device_remove();
	return 0;
}
