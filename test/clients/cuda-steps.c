/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Many small kernels, as a simulation has them: in every step each stream gets a few, the streams
 * wait for each other by events, a few bytes come back to the host, and the program waits for them
 * now and then. There is hardly any work in the kernels, so what calls cost is what this program
 * takes.
 */

#include <stdio.h>

#include "cuda-util.h"

static const char usage[] =
	"usage: cuda-steps [OPTION]...\n"
	"Launches many small kernels in several streams.\n"
	"\n"
	"  -n, --steps N    (default 1000)\n"
	"  -S, --streams N  (default 4)\n"
	"  -k, --kernels N  a stream and step (default 4)\n"
	"  -y, --sync N     wait for all streams after so many steps (default 10)\n"
	"  -h, --help\n"
	"\n" CUDA_EXIT_TEXT;

static const char ptx[] = ".version 6.3\n"
			  ".target sm_75\n"
			  ".address_size 64\n"
			  ".visible .entry add(.param .u64 p, .param .u32 n)\n"
			  "{\n"
			  "	.reg .b32 %r<4>;\n"
			  "	.reg .b64 %d<3>;\n"
			  "	ld.param.u64 %d1, [p];\n"
			  "	ld.param.u32 %r1, [n];\n"
			  "	cvta.to.global.u64 %d2, %d1;\n"
			  "	ld.global.u32 %r2, [%d2];\n"
			  "	add.u32 %r3, %r2, %r1;\n"
			  "	st.global.u32 [%d2], %r3;\n"
			  "	ret;\n"
			  "}\n";

enum { STREAMS_MAX = 64 };

static uint64_t n_steps = 1000, n_streams = 4, n_kernels = 4, n_sync = 10;
static CUstream streams[STREAMS_MAX];
static CUevent ends[STREAMS_MAX];
static CUdeviceptr words[STREAMS_MAX];
static uint32_t *host;

static void step(CUfunction add)
{
	for (uint64_t i = 0; i < n_streams; i++) {
		CUdeviceptr p = words[i];
		uint32_t one = 1;
		void *params[] = { &p, &one };

		/* what a stream does is in order behind what the one before did in the last step */
		CHECK(cuStreamWaitEvent(streams[i], ends[(i + 1) % n_streams], 0));
		for (uint64_t k = 0; k < n_kernels; k++)
			CHECK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, streams[i], params, NULL));
		CHECK(cuMemcpyDtoHAsync_v2(&host[i], p, sizeof(host[i]), streams[i]));
		CHECK(cuEventRecord(ends[i], streams[i]));
	}
}

int main(int argc, char **argv)
{
	const struct client_option options[] = {
		CLIENT_NUMBER('n', "steps", n_steps, 1, 1 << 30),
		CLIENT_NUMBER('S', "streams", n_streams, 1, STREAMS_MAX),
		CLIENT_NUMBER('k', "kernels", n_kernels, 1, 1 << 20),
		CLIENT_NUMBER('y', "sync", n_sync, 1, 1 << 30),
		{ 0 },
	};
	CUfunction add;

	if (client_options(argc, argv, options, usage))
		client_misused(usage);
	cuda_open();
	add = cuda_function(ptx, "add");
	CHECK(cuMemAllocHost_v2((void **)&host, STREAMS_MAX * sizeof(*host)));
	for (uint64_t i = 0; i < n_streams; i++) {
		uint32_t zero = 0;

		CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
		CHECK(cuEventCreate(&ends[i], CU_EVENT_DISABLE_TIMING));
		CHECK(cuMemAlloc_v2(&words[i], sizeof(zero)));
		CHECK(cuMemcpyHtoD_v2(words[i], &zero, sizeof(zero)));
	}
	for (uint64_t n = 1; n <= n_steps; n++) {
		step(add);
		for (uint64_t i = 0; i < n_streams && n % n_sync == 0; i++)
			CHECK(cuStreamSynchronize(streams[i]));
	}
	CHECK(cuCtxSynchronize());
	for (uint64_t i = 0; i < n_streams; i++)
		if (host[i] != (uint32_t)(n_steps * n_kernels)) {
			fprintf(stderr, "stream %u: %u instead of %u\n", (unsigned)i, host[i],
				(unsigned)(n_steps * n_kernels));
			return CUDA_EXIT_WRONG;
		}
	printf("cuda-steps: %llu steps: right\n", (unsigned long long)n_steps);
	cuda_close();
	return CUDA_EXIT_RIGHT;
}
