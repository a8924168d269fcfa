/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the software GPU's bus and its managed memory do, in the device's own time, on a card of
 * 1/256 size (rtx5080), so that the figures are the full card's. One JSON object a figure.
 *
 * bus: two copies in one direction, and in opposite ones, over 200 ms and more of queued work, as
 * shares of what the profile promises.
 *
 * managed: a kernel that goes over one and a half times the card again and again: how many bytes a
 * fault brings, and the share of the bus's bandwidth that comes of it; with the default
 * prefetching, or with SLUICE_SOFTGPU_PREFETCH. It is what moving memory in whole pieces has to
 * beat.
 *
 * explicit: the same work with copies in pieces of 256 KiB, there and back, several on their way:
 * what the bus allows somebody who knows what comes next.
 *
 * Of the last two the best of several rounds: the device's time goes on while others have the
 * processor.
 */
#include "lib/softgpu.h"

#include "board/board.h"

#define MIB   (1u << 20)
#define SCALE 256.0
#define PART  (4u * MIB)
#define N     16u

/* rtx5080: bytes a second */
#define IN_ALONE (45600e6 / SCALE)
#define IN_BOTH	 (34700e6 / SCALE)
#define OUT_BOTH (28800e6 / SCALE)

/* of the managed and the explicit way */
#define N_BEST	  3
#define PIECE	  (MIB / 4)
#define N_STREAMS 8u

static struct dev_board *board;

static double elapsed_s(CUevent from, CUevent to)
{
	float ms;

	assert_cu(cuEventElapsedTime(&ms, from, to));
	return ms / 1e3;
}

/* Return: the time of N copies to the device in one stream, beside those of @other. */
static double run_pair(CUdeviceptr to, void *pinned, CUdeviceptr second_dst, CUdeviceptr second_src,
		       double *ret_span_s)
{
	CUstream gate, streams[2];
	CUevent open, begin, ends[2];
	double one, two;

	assert_cu(cuStreamCreate(&gate, CU_STREAM_NON_BLOCKING));
	assert_cu(cuEventCreate(&open, 0));
	assert_cu(cuEventCreate(&begin, 0));
	assert_cu(cuMemcpyHtoDAsync_v2(to, pinned, PART, gate));
	assert_cu(cuEventRecord(open, gate));
	for (unsigned i = 0; i < 2; i++) {
		assert_cu(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
		assert_cu(cuEventCreate(&ends[i], 0));
		assert_cu(cuStreamWaitEvent(streams[i], open, 0));
		if (!i)
			assert_cu(cuEventRecord(begin, streams[0]));
		for (unsigned j = 0; j < N; j++)
			assert_cu(i ? cuMemcpyAsync(second_dst, second_src, PART, streams[1])
				    : cuMemcpyHtoDAsync_v2(to, pinned, PART, streams[0]));
		assert_cu(cuEventRecord(ends[i], streams[i]));
	}
	assert_cu(cuCtxSynchronize());
	one = elapsed_s(begin, ends[0]);
	two = elapsed_s(begin, ends[1]);
	*ret_span_s = one > two ? one : two;
	return one;
}

static void measure_bus(void)
{
	double span_s, in_s, bytes = (double)N * PART;
	CUdeviceptr a, b;
	void *first, *second;

	assert_cu(cuMemAlloc_v2(&a, PART));
	assert_cu(cuMemAlloc_v2(&b, PART));
	assert_cu(cuMemAllocHost_v2(&first, PART));
	assert_cu(cuMemAllocHost_v2(&second, PART));
	run_pair(a, first, b, (uintptr_t)second, &span_s);
	printf("{\"name\": \"softgpu-bus.same_share\", \"value\": %.4f, \"unit\": \"ratio\", "
	       "\"bound\": 1, \"goal\": 0.97, \"valid\": true, \"queued_ms\": %.0f}\n",
	       2 * bytes / IN_ALONE / span_s, span_s * 1e3);
	in_s = run_pair(a, first, (uintptr_t)second, b, &span_s);
	printf("{\"name\": \"softgpu-bus.opposite_share\", \"value\": %.4f, \"unit\": \"ratio\", "
	       "\"bound\": 1, \"goal\": 0.97, \"valid\": true, \"queued_ms\": %.0f}\n",
	       bytes / IN_BOTH / in_s, span_s * 1e3);
}

/* How much the programs of this card have that is one and a half times it. */
static size_t size_of_work(void)
{
	size_t total, available;

	assert_cu(cuMemGetInfo_v2(&available, &total));
	return available / 2 * 3;
}

static void measure_managed(void)
{
	struct dev_board_engine_view before, after;
	CUfunction fill = test_function(test_ptx_fill, "fill");
	const char *prefetch = getenv("SLUICE_SOFTGPU_PREFETCH");
	double s = 1e9, moved = 0, n_faults = 1;
	size_t bytes = size_of_work();
	CUevent begin, end;
	CUdeviceptr p;

	assert_cu(cuMemAllocManaged(&p, bytes, CU_MEM_ATTACH_GLOBAL));
	memset((void *)(uintptr_t)p, 1, bytes);
	assert_cu(cuEventCreate(&begin, 0));
	assert_cu(cuEventCreate(&end, 0));
	assert_cu(test_fill(fill, p, (unsigned)(bytes / 4), 0, NULL));
	assert_cu(cuCtxSynchronize());
	for (unsigned i = 0; i < N_BEST; i++) {
		dev_board_look_engine(board, DEV_BOARD_ENGINE_IN, &before);
		assert_cu(cuEventRecord(begin, NULL));
		assert_cu(test_fill(fill, p, (unsigned)(bytes / 4), 1, NULL));
		assert_cu(cuEventRecord(end, NULL));
		assert_cu(cuCtxSynchronize());
		dev_board_look_engine(board, DEV_BOARD_ENGINE_IN, &after);
		if (elapsed_s(begin, end) >= s)
			continue;
		s = elapsed_s(begin, end);
		moved = (double)(after.bytes - before.bytes);
		n_faults = (double)(after.n_jobs - before.n_jobs);
	}
	printf("{\"name\": \"softgpu-managed.mb_a_fault\", \"value\": %.3f, \"unit\": \"MB\", "
	       "\"bound\": null, \"goal\": null, \"valid\": true, \"prefetch\": \"%s\", "
	       "\"seconds\": %.3f}\n",
	       moved * SCALE / 1e6 / n_faults, prefetch ? prefetch : "51", s);
	/* what comes has to go as well, and the way out is the slower one, but for both ends */
	printf("{\"name\": \"softgpu-managed.bus_share\", \"value\": %.4f, \"unit\": \"ratio\", "
	       "\"bound\": %.4f, \"goal\": null, \"valid\": true, \"prefetch\": \"%s\", "
	       "\"gb_per_s\": %.2f}\n",
	       moved / s / IN_ALONE, OUT_BOTH / IN_ALONE, prefetch ? prefetch : "51",
	       moved * SCALE / s / 1e9);
}

/* One round over all of @host, a piece at a time: in, computed, out. */
static double move_all(CUfunction fill, uint8_t *host, size_t bytes, const CUdeviceptr *places,
		       const CUstream *streams)
{
	CUevent begin, ends[N_STREAMS];
	double s = 0;

	assert_cu(cuEventCreate(&begin, 0));
	assert_cu(cuEventRecord(begin, streams[0]));
	for (size_t at = 0, i = 0; at < bytes; at += PIECE, i = (i + 1) % N_STREAMS) {
		assert_cu(cuMemcpyHtoDAsync_v2(places[i], host + at, PIECE, streams[i]));
		assert_cu(test_fill(fill, places[i], PIECE / 4, (unsigned)at, streams[i]));
		assert_cu(cuMemcpyDtoHAsync_v2(host + at, places[i], PIECE, streams[i]));
	}
	for (unsigned i = 0; i < N_STREAMS; i++) {
		assert_cu(cuEventCreate(&ends[i], 0));
		assert_cu(cuEventRecord(ends[i], streams[i]));
	}
	assert_cu(cuCtxSynchronize());
	for (unsigned i = 0; i < N_STREAMS; i++)
		s = elapsed_s(begin, ends[i]) > s ? elapsed_s(begin, ends[i]) : s;
	return s;
}

static void measure_explicit(void)
{
	CUfunction fill = test_function(test_ptx_fill, "fill");
	size_t bytes = size_of_work() / PIECE * PIECE;
	CUdeviceptr places[N_STREAMS];
	CUstream streams[N_STREAMS];
	double s = 1e9;
	void *host;

	assert_cu(cuMemAllocHost_v2(&host, bytes));
	for (unsigned i = 0; i < N_STREAMS; i++) {
		assert_cu(cuMemAlloc_v2(&places[i], PIECE));
		assert_cu(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	}
	for (unsigned i = 0; i <= N_BEST; i++) {
		double round_s = move_all(fill, host, bytes, places, streams);

		if (i && round_s < s)
			s = round_s;
	}
	printf("{\"name\": \"softgpu-managed.explicit_share\", \"value\": %.4f, "
	       "\"unit\": \"ratio\", \"bound\": %.4f, \"goal\": null, \"valid\": true, "
	       "\"gb_per_s\": %.2f, \"seconds\": %.3f}\n",
	       (double)bytes / s / IN_ALONE, OUT_BOTH / IN_ALONE, (double)bytes * SCALE / s / 1e9,
	       s);
}

int main(int argc, char **argv)
{
	CUcontext context;
	char path[128];

	setenv("SLUICE_SOFTGPU_PROFILE", "rtx5080", 1);
	setenv("SLUICE_SOFTGPU_CONTEXT_OVERHEAD", "0", 1);
	test_device_make(argc > 1 ? "16M" : NULL);
	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0))
		return 1;
	snprintf(path, sizeof(path), "%s/softgpu0", test_folder);
	if (dev_board_open(path, NULL, &board))
		return 1;
	if (argc > 1 && !strcmp(argv[1], "explicit"))
		measure_explicit();
	else if (argc > 1)
		measure_managed();
	else
		measure_bus();
	dev_board_close(board);
	test_device_remove();
	return 0;
}
