/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads large allocations over and over, as a model's weights are read, and writes a small one.
 * Each thread of a kernel adds up its share of a buffer's words, weighted by their places, and puts
 * that into a running value: x becomes 5 * x + sum. So a buffer that was lost, stale or exchanged
 * with another is seen at the end, when the values are compared with those that the processor
 * computes.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "cuda-util.h"

static const char usage[] =
	"usage: cuda-read [OPTION]...\n"
	"Reads memory of a CUDA device in rounds, and checks the results.\n"
	"\n"
	"  -m, --mib N        MiB in all (default 16)\n"
	"  -b, --buffers N    in so many allocations (default 4)\n"
	"  -r, --rounds N     every allocation is read so many times (default 10)\n"
	"  -s, --seed N       of contents (default 1)\n"
	"  -c, --change N     every N-th read also writes the words that it read first; 0: none\n"
	"                     (default 0)\n"
	"  -a, --async        the memory comes from the device's memory pool\n"
	"  -g, --graphs       launches are nodes of graphs, next to sets and copies; their "
	"parameters\n"
	"                     change by all calls that change them\n"
	"  -e, --endless      rounds until the end of standard input; N rounds at least\n"
	"  -h, --help\n"
	"\n" CUDA_EXIT_TEXT;

enum { THREADS = 1024, BLOCK = 128 };

static const char ptx[] =
	".version 6.3\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry fill(.param .u64 p, .param .u32 n, .param .u32 seed)\n"
	"{\n"
	"	.reg .pred %q<2>;\n"
	"	.reg .b32 %r<8>;\n"
	"	.reg .b64 %d<4>;\n"
	"	ld.param.u64 %d1, [p];\n"
	"	ld.param.u32 %r1, [n];\n"
	"	ld.param.u32 %r2, [seed];\n"
	"	mov.u32 %r3, %ctaid.x;\n"
	"	mov.u32 %r4, %ntid.x;\n"
	"	mov.u32 %r5, %tid.x;\n"
	"	mad.lo.u32 %r6, %r3, %r4, %r5;\n"
	"	setp.ge.u32 %q1, %r6, %r1;\n"
	"	@%q1 bra DONE;\n"
	"	mul.lo.u32 %r7, %r6, 0x9e3779b9;\n"
	"	xor.b32 %r7, %r7, %r2;\n"
	"	mul.wide.u32 %d2, %r6, 4;\n"
	"	add.u64 %d3, %d1, %d2;\n"
	"	st.global.u32 [%d3], %r7;\n"
	"DONE:\n"
	"	ret;\n"
	"}\n"
	/* thread i reads the words i, i + 1024, and so on; @plus is added to word i after that */
	".visible .entry look(.param .u64 p, .param .u64 out, .param .u32 n, .param .u32 plus)\n"
	"{\n"
	"	.reg .pred %q<3>;\n"
	"	.reg .b32 %r<12>;\n"
	"	.reg .b64 %d<8>;\n"
	"	ld.param.u64 %d1, [p];\n"
	"	ld.param.u64 %d2, [out];\n"
	"	ld.param.u32 %r1, [n];\n"
	"	ld.param.u32 %r2, [plus];\n"
	"	mov.u32 %r3, %ctaid.x;\n"
	"	mov.u32 %r4, %ntid.x;\n"
	"	mov.u32 %r5, %tid.x;\n"
	"	mad.lo.u32 %r6, %r3, %r4, %r5;\n"
	"	mul.wide.u32 %d3, %r6, 4;\n"
	"	add.u64 %d4, %d1, %d3;\n"
	"	add.u64 %d5, %d2, %d3;\n"
	"	mov.u64 %d6, %d4;\n"
	"	mov.u32 %r7, %r6;\n"
	"	mov.u32 %r8, 0;\n"
	"WORD:\n"
	"	setp.ge.u32 %q1, %r7, %r1;\n"
	"	@%q1 bra PUT;\n"
	"	ld.global.u32 %r9, [%d4];\n"
	"	shl.b32 %r10, %r7, 1;\n"
	"	add.u32 %r10, %r10, 1;\n"
	"	mad.lo.u32 %r8, %r9, %r10, %r8;\n"
	"	add.u32 %r7, %r7, 1024;\n"
	"	add.u64 %d4, %d4, 4096;\n"
	"	bra WORD;\n"
	"PUT:\n"
	"	ld.global.u32 %r9, [%d5];\n"
	"	mad.lo.u32 %r9, %r9, 5, %r8;\n"
	"	st.global.u32 [%d5], %r9;\n"
	"	setp.eq.u32 %q2, %r2, 0;\n"
	"	@%q2 bra DONE;\n"
	"	ld.global.u32 %r9, [%d6];\n"
	"	add.u32 %r9, %r9, %r2;\n"
	"	st.global.u32 [%d6], %r9;\n"
	"DONE:\n"
	"	ret;\n"
	"}\n";

static struct {
	uint64_t mib, n_buffers, n_rounds, seed, change;
	bool is_async, is_endless, has_graphs;
} o = { .mib = 16, .n_buffers = 4, .n_rounds = 10, .seed = 1 };

static CUfunction fill, look;
static CUdeviceptr *buffers, out;
static uint32_t n_words; /* of each buffer */
static uint32_t *sums;	 /* of each buffer and thread, as they are now */
static uint32_t values[THREADS];
static uint64_t n_looks;

/* A buffer's executable graph: it is looked at, a mark is set to a number and copied. */
static struct look_graph {
	CUgraph graph;
	CUgraphNode look, set, copy;
	CUgraphExec exec;
	uint32_t number; /* what its mark was set to */
} * graphs;
static CUdeviceptr marks; /* two words for each buffer */

static CUdeviceptr allocate(size_t bytes)
{
	CUdeviceptr p;

	if (o.is_async)
		CHECK(cuMemAllocAsync(&p, bytes, NULL));
	else
		CHECK(cuMemAlloc_v2(&p, bytes));
	return p;
}

static void buffer_fill(uint64_t number)
{
	uint32_t seed = (uint32_t)(o.seed * 1000003u + number);
	void *params[] = { &buffers[number], &n_words, &seed };

	buffers[number] = allocate((size_t)n_words * 4);
	CHECK(cuLaunchKernel(fill, (n_words + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL,
			     params, NULL));
	for (uint32_t i = 0; i < n_words; i++)
		sums[number * THREADS + i % THREADS] += ((i * 0x9e3779b9u) ^ seed) * (2 * i + 1);
}

static CUDA_MEMSET_NODE_PARAMS set_params(uint64_t number)
{
	return (CUDA_MEMSET_NODE_PARAMS){ .dst = marks + number * 8,
					  .value = graphs[number].number,
					  .elementSize = 4,
					  .width = 1,
					  .height = 1 };
}

static CUgraph graph_make(uint64_t number, const CUDA_KERNEL_NODE_PARAMS *kernel,
			  struct look_graph *nodes)
{
	CUDA_MEMSET_NODE_PARAMS set = set_params(number);
	CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .srcDevice = marks + number * 8,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = marks + number * 8 + 4,
			       .WidthInBytes = 4,
			       .Height = 1,
			       .Depth = 1 };
	CUgraph graph;

	CHECK(cuGraphCreate(&graph, 0));
	CHECK(cuGraphAddKernelNode_v2(&nodes->look, graph, NULL, 0, kernel));
	CHECK(cuGraphAddMemsetNode(&nodes->set, graph, &nodes->look, 1, &set, cuda_context));
	CHECK(cuGraphAddMemcpyNode(&nodes->copy, graph, &nodes->set, 1, &copy, cuda_context));
	return graph;
}

/* Made once, then changed node by node, or as a whole. */
static void graph_run(uint64_t number, void **params)
{
	CUDA_KERNEL_NODE_PARAMS kernel = { .func = look,
					   .gridDimX = THREADS / BLOCK,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = BLOCK,
					   .blockDimY = 1,
					   .blockDimZ = 1,
					   .kernelParams = params };
	struct look_graph *g = &graphs[number], other;
	CUgraphExecUpdateResultInfo info;
	CUDA_MEMSET_NODE_PARAMS set;

	g->number++;
	set = set_params(number);
	if (!g->exec) {
		g->graph = graph_make(number, &kernel, g);
		CHECK(cuGraphInstantiateWithFlags(&g->exec, g->graph, 0));
	} else if (g->number % 7 == 0) {
		CUgraph graph = graph_make(number, &kernel, &other);

		CHECK(cuGraphExecUpdate_v2(g->exec, graph, &info));
		CHECK(cuGraphDestroy(graph));
	} else {
		CHECK(cuGraphExecMemsetNodeSetParams(g->exec, g->set, &set, cuda_context));
		CHECK(cuGraphExecKernelNodeSetParams_v2(g->exec, g->look, &kernel));
	}
	CHECK(cuGraphLaunch(g->exec, NULL));
}

static void graphs_open(void)
{
	marks = allocate(o.n_buffers * 8);
	CHECK(cuMemsetD8Async(marks, 0, o.n_buffers * 8, NULL));
}

static bool marks_are_right(void)
{
	bool is_right = true;

	for (uint64_t b = 0; b < o.n_buffers; b++) {
		uint32_t seen[2];

		CHECK(cuMemcpyDtoH_v2(seen, marks + b * 8, sizeof(seen)));
		is_right &= seen[0] == graphs[b].number && seen[1] == graphs[b].number;
		CHECK(cuGraphExecDestroy(graphs[b].exec));
		CHECK(cuGraphDestroy(graphs[b].graph));
	}
	CHECK(cuMemFree_v2(marks));
	return is_right;
}

/* The kernel and the processor do the same. */
static void buffer_look(uint64_t number)
{
	uint32_t plus = o.change && ++n_looks % o.change == 0 ? 12345 : 0;
	void *params[] = { &buffers[number], &out, &n_words, &plus };

	if (o.has_graphs)
		graph_run(number, params);
	else
		CHECK(cuLaunchKernel(look, THREADS / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, params,
				     NULL));
	for (uint32_t i = 0; i < THREADS; i++) {
		uint32_t *sum = &sums[number * THREADS + i];

		values[i] = 5 * values[i] + *sum;
		*sum += plus * (2 * i + 1);
	}
}

static bool results_are_right(void)
{
	static uint32_t seen[THREADS];

	CHECK(cuMemcpyDtoH_v2(seen, out, sizeof(seen)));
	for (uint32_t i = 0; i < THREADS; i++)
		if (seen[i] != values[i]) {
			fprintf(stderr, "thread %u: %08x instead of %08x\n", i, seen[i], values[i]);
			return false;
		}
	return true;
}

static void read_command_line(int argc, char **argv)
{
	const struct client_option options[] = {
		CLIENT_NUMBER('m', "mib", o.mib, 1, 1024),
		CLIENT_NUMBER('b', "buffers", o.n_buffers, 1, 1 << 16),
		CLIENT_NUMBER('r', "rounds", o.n_rounds, 1, 1 << 30),
		CLIENT_NUMBER('s', "seed", o.seed, 0, UINT32_MAX),
		CLIENT_NUMBER('c', "change", o.change, 0, UINT32_MAX),
		CLIENT_FLAG('a', "async", o.is_async),
		CLIENT_FLAG('g', "graphs", o.has_graphs),
		CLIENT_FLAG('e', "endless", o.is_endless),
		{ 0 },
	};

	if (client_options(argc, argv, options, usage) || (o.mib << 18) / o.n_buffers < THREADS)
		client_misused(usage);
}

int main(int argc, char **argv)
{
	bool is_right;

	read_command_line(argc, argv);
	cuda_open();
	fill = cuda_function(ptx, "fill");
	look = cuda_function(ptx, "look");
	n_words = (uint32_t)((o.mib << 18) / o.n_buffers);
	buffers = calloc(o.n_buffers, sizeof(*buffers));
	sums = calloc(o.n_buffers * THREADS, sizeof(*sums));
	graphs = calloc(o.n_buffers, sizeof(*graphs));
	if (!buffers || !sums || !graphs)
		return CUDA_EXIT_NO_MEMORY;
	for (uint64_t b = 0; b < o.n_buffers; b++)
		buffer_fill(b);
	out = allocate(sizeof(values));
	CHECK(cuMemcpyHtoD_v2(out, values, sizeof(values)));
	if (o.has_graphs)
		graphs_open();
	for (uint64_t r = 0; r < o.n_rounds || (o.is_endless && client_input_is_quiet()); r++) {
		for (uint64_t b = 0; b < o.n_buffers; b++)
			buffer_look(b);
		CHECK(cuCtxSynchronize());
	}
	is_right = results_are_right();
	if (o.has_graphs)
		is_right &= marks_are_right();
	for (uint64_t b = 0; b < o.n_buffers; b++)
		CHECK(cuMemFree_v2(buffers[b]));
	CHECK(cuMemFree_v2(out));
	cuda_close();
	free(buffers);
	free(sums);
	free(graphs);
	printf("cuda-read: %llu MiB in %llu allocations, seed %llu: %s\n",
	       (unsigned long long)o.mib, (unsigned long long)o.n_buffers,
	       (unsigned long long)o.seed, is_right ? "right" : "wrong");
	return is_right ? CUDA_EXIT_RIGHT : CUDA_EXIT_WRONG;
}
