/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <semaphore.h>

#include "board/board.h"

/*
 * The bus, on a card of 1/256 size: what the engines' timelines say, in the device's own time. How
 * fast this machine is, or how late its threads come, changes nothing here.
 */

#define KIB  1024u
#define MIB  (1u << 20)
#define PART (4u * MIB)

/* rtx5080 by 256, as facts have it: bytes a second */
#define IN_ALONE  (45600000000.0 / 256)
#define OUT_ALONE (37800000000.0 / 256)
#define IN_BOTH	  (34700000000.0 / 256)
#define OUT_BOTH  (28800000000.0 / 256)
#define PAGEABLE  (12000000000.0 / 256) /* assumed */

static struct dev_board *board;
static CUdeviceptr one, two;
static unsigned char *pinned_one, *pinned_two;

struct engines {
	struct dev_board_engine_view in, out;
};

static struct engines look(void)
{
	struct engines e;

	dev_board_look_engine(board, DEV_BOARD_ENGINE_IN, &e.in);
	dev_board_look_engine(board, DEV_BOARD_ENGINE_OUT, &e.out);
	return e;
}

static float elapsed_ms(CUevent from, CUevent to)
{
	float ms;

	assert_cu(cuEventElapsedTime(&ms, from, to));
	return ms;
}

static void assert_near(double value, double wanted, double share)
{
	if (value < wanted * (1 - share) || value > wanted * (1 + share))
		fail_msg("%g instead of %g", value, wanted);
}

static void sizes_and_granule_are_scaled(void **state)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	size_t granule, total, available;

	(void)state;
	assert_cu(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	assert_int_equal(granule, 8 * KIB);
	assert_cu(cuDeviceTotalMem_v2(&total, 0));
	assert_int_equal(total, 64 * MIB);
	/* what the context takes is felt, and seen by nobody on the board */
	assert_cu(cuMemGetInfo_v2(&available, &total));
	assert_int_equal(available, total - 2 * PART - 400 * MIB / 256);
}

static void wait_for_it(void *is_queued)
{
	while (sem_wait(is_queued))
		;
}

/* All of it is queued before any of it begins: an event that comes late is later than the copy. */
static void a_copy_takes_the_time_of_its_direction(void **state)
{
	struct engines before = look(), after;
	CUevent a, b, c;
	CUstream stream;
	sem_t is_queued;

	(void)state;
	assert_int_equal(sem_init(&is_queued, 0, 0), 0);
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_cu(cuLaunchHostFunc(stream, wait_for_it, &is_queued));
	assert_cu(cuEventCreate(&a, 0));
	assert_cu(cuEventCreate(&b, 0));
	assert_cu(cuEventCreate(&c, 0));
	assert_cu(cuEventRecord(a, stream));
	assert_cu(cuMemcpyHtoDAsync_v2(one, pinned_one, PART, stream));
	assert_cu(cuEventRecord(b, stream));
	assert_cu(cuMemcpyDtoHAsync_v2(pinned_one, one, PART, stream));
	assert_cu(cuEventRecord(c, stream));
	assert_int_equal(sem_post(&is_queued), 0);
	assert_cu(cuStreamSynchronize(stream));
	after = look();
	assert_int_equal(after.in.bytes - before.in.bytes, PART);
	assert_int_equal(after.out.bytes - before.out.bytes, PART);
	assert_near((double)(after.in.busy_ns - before.in.busy_ns), PART / IN_ALONE * 1e9, 0.01);
	assert_near((double)(after.out.busy_ns - before.out.busy_ns), PART / OUT_ALONE * 1e9, 0.01);
	assert_near(elapsed_ms(a, b), PART / IN_ALONE * 1e3, 0.01);
	assert_near(elapsed_ms(b, c), PART / OUT_ALONE * 1e3, 0.01);
	assert_cu(cuEventDestroy_v2(a));
	assert_cu(cuEventDestroy_v2(b));
	assert_cu(cuEventDestroy_v2(c));
	assert_cu(cuStreamDestroy_v2(stream));
	sem_destroy(&is_queued);
}

/* Both copies are queued behind one gate, so that they begin together. */
static void run_together(CUdeviceptr first_dst, CUdeviceptr first_src, CUdeviceptr second_dst,
			 CUdeviceptr second_src, unsigned n, float *ret_first_ms,
			 float *ret_second_ms)
{
	CUstream gate, s[2];
	CUevent open, begin[2], end[2];
	sem_t is_queued;

	assert_int_equal(sem_init(&is_queued, 0, 0), 0);
	assert_cu(cuStreamCreate(&gate, CU_STREAM_NON_BLOCKING));
	assert_cu(cuEventCreate(&open, 0));
	assert_cu(cuLaunchHostFunc(gate, wait_for_it, &is_queued));
	assert_cu(cuEventRecord(open, gate));
	for (unsigned i = 0; i < 2; i++) {
		assert_cu(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
		assert_cu(cuEventCreate(&begin[i], 0));
		assert_cu(cuEventCreate(&end[i], 0));
		assert_cu(cuStreamWaitEvent(s[i], open, 0));
		assert_cu(cuEventRecord(begin[i], s[i]));
		for (unsigned j = 0; j < n; j++)
			assert_cu(cuMemcpyAsync(i ? second_dst : first_dst,
						i ? second_src : first_src, PART, s[i]));
		assert_cu(cuEventRecord(end[i], s[i]));
	}
	assert_int_equal(sem_post(&is_queued), 0);
	assert_cu(cuCtxSynchronize());
	*ret_first_ms = elapsed_ms(begin[0], end[0]);
	*ret_second_ms = elapsed_ms(begin[1], end[1]);
	assert_true(elapsed_ms(begin[0], begin[1]) == 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_cu(cuEventDestroy_v2(begin[i]));
		assert_cu(cuEventDestroy_v2(end[i]));
		assert_cu(cuStreamDestroy_v2(s[i]));
	}
	assert_cu(cuEventDestroy_v2(open));
	assert_cu(cuStreamDestroy_v2(gate));
	sem_destroy(&is_queued);
}

/*
 * Over more than 200 ms of queued work, in the device's time; and over so many parts that one which
 * is submitted too late to be beside the other direction's counts for less than what is allowed.
 */
static void opposite_directions_overlap(void **state)
{
	enum { N = 48 };
	double in_s = N * (PART / IN_BOTH), out_s;
	float in_ms, out_ms;

	(void)state;
	run_together(one, (uintptr_t)pinned_one, (uintptr_t)pinned_two, two, N, &in_ms, &out_ms);
	/* beside each other until the faster one is done; the rest of the other one goes alone */
	out_s = in_s + (N * (double)PART - in_s * OUT_BOTH) / OUT_ALONE;
	assert_true(in_s > 0.2);
	assert_near(in_ms, in_s * 1e3, 0.03);
	assert_near(out_ms, out_s * 1e3, 0.03);
}

static void the_same_direction_queues(void **state)
{
	enum { N = 8 };
	double alone = N * (PART / IN_ALONE) * 1e3;
	float first_ms, second_ms;

	(void)state;
	run_together(one, (uintptr_t)pinned_one, two, (uintptr_t)pinned_two, N, &first_ms,
		     &second_ms);
	assert_near(first_ms > second_ms ? first_ms : second_ms, 2 * alone, 0.03);
}

/* The engines are busy as long as with pinned memory: what takes longer is the driver's own copy.
 */
static void pageable_memory_is_slower_and_leaves_the_engines_free(void **state)
{
	struct engines before = look(), after;
	unsigned char *pageable = malloc(PART);
	CUevent a, b, c;

	assert_non_null(pageable);
	memset(pageable, 3, PART);
	assert_cu(cuEventCreate(&a, 0));
	assert_cu(cuEventCreate(&b, 0));
	assert_cu(cuEventCreate(&c, 0));
	assert_cu(cuEventRecord(a, NULL));
	assert_cu(cuMemcpyHtoDAsync_v2(one, pageable, PART, NULL));
	assert_cu(cuEventRecord(b, NULL));
	assert_cu(cuMemcpyDtoHAsync_v2(pageable, one, PART, NULL));
	assert_cu(cuEventRecord(c, NULL));
	assert_cu(cuStreamSynchronize(NULL));
	after = look();
	assert_near((double)(after.in.busy_ns - before.in.busy_ns), PART / IN_ALONE * 1e9, 0.01);
	assert_near((double)(after.out.busy_ns - before.out.busy_ns), PART / OUT_ALONE * 1e9, 0.01);
	/* calls that wait for pageable memory come between: at least this long */
	assert_true(elapsed_ms(a, b) >= PART / PAGEABLE * 1e3 * 0.99);
	assert_true(elapsed_ms(b, c) >= PART / PAGEABLE * 1e3 * 0.99);
	assert_true(PART / PAGEABLE > 2 * PART / IN_ALONE);
	assert_cu(cuEventDestroy_v2(a));
	assert_cu(cuEventDestroy_v2(b));
	assert_cu(cuEventDestroy_v2(c));
	free(pageable);
}

static void copies_inside_the_device_take_no_bus(void **state)
{
	struct engines before = look(), after;

	(void)state;
	assert_cu(cuMemcpyDtoD_v2(two, one, PART));
	assert_cu(cuMemsetD8_v2(two, 1, PART));
	assert_cu(cuCtxSynchronize());
	after = look();
	assert_int_equal(after.in.bytes, before.in.bytes);
	assert_int_equal(after.out.bytes, before.out.bytes);
	assert_int_equal(after.in.n_jobs, before.in.n_jobs);
}

/* Kernels that reach the host's memory pay for the way of every byte. */
static void mapped_memory_takes_the_bus(void **state)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { .type = CU_MEM_LOCATION_TYPE_HOST_NUMA } };
	CUmemAccessDesc access = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUfunction fill = test_function(test_ptx_fill, "fill");
	CUmemGenericAllocationHandle handle;
	struct engines before = look(), after;
	CUevent begin, end;
	CUdeviceptr a;

	(void)state;
	assert_cu(cuEventCreate(&begin, 0));
	assert_cu(cuEventCreate(&end, 0));
	assert_cu(test_fill(fill, one, 1024, 0, NULL));
	assert_cu(cuEventRecord(begin, NULL));
	assert_cu(test_fill(fill, (uintptr_t)pinned_one, MIB / 4, 5, NULL));
	assert_cu(cuEventRecord(end, NULL));
	assert_cu(cuCtxSynchronize());
	after = look();
	assert_int_equal(after.out.bytes - before.out.bytes, MIB);
	assert_int_equal(after.in.bytes, before.in.bytes);
	assert_true(elapsed_ms(begin, end) >= MIB / OUT_ALONE * 1e3 * 0.99);
	assert_int_equal(((uint32_t *)pinned_one)[1000], 1005);

	/* the same with a handle of the host's memory at an address of the device */
	assert_cu(cuMemCreate(&handle, MIB, &prop, 0));
	assert_cu(cuMemAddressReserve(&a, MIB, 0, 0, 0));
	assert_cu(cuMemMap(a, MIB, 0, handle, 0));
	assert_cu(cuMemSetAccess(a, MIB, &access, 1));
	before = look();
	assert_cu(test_fill(fill, a, MIB / 8, 5, NULL));
	assert_cu(cuCtxSynchronize());
	after = look();
	assert_int_equal(after.out.bytes - before.out.bytes, MIB / 2);
	/* and the device's own memory costs nothing */
	assert_cu(test_fill(fill, one, MIB / 4, 5, NULL));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(look().out.bytes, after.out.bytes);
	assert_cu(cuMemUnmap(a, MIB));
	assert_cu(cuMemAddressFree(a, MIB));
	assert_cu(cuMemRelease(handle));
	assert_cu(cuEventDestroy_v2(begin));
	assert_cu(cuEventDestroy_v2(end));
}

static void contents_survive_the_way_over_the_bus(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PART; i++)
		pinned_one[i] = (unsigned char)(i * 31 + i / 4099);
	memset(pinned_two, 0, PART);
	assert_cu(cuMemcpyHtoD_v2(one, pinned_one, PART));
	assert_cu(cuMemcpyDtoD_v2(two, one, PART));
	assert_cu(cuMemcpyDtoH_v2(pinned_two, two, PART));
	assert_memory_equal(pinned_one, pinned_two, PART);
}

static int set_up(void **state)
{
	CUcontext context;
	char path[128];

	(void)state;
	test_device_make(NULL);
	setenv("SLUICE_SOFTGPU_PROFILE", "rtx5080", 1);
	assert_cu(cuInit(0));
	assert_cu(cuDevicePrimaryCtxRetain(&context, 0));
	assert_cu(cuCtxSetCurrent(context));
	assert_cu(cuMemAlloc_v2(&one, PART));
	assert_cu(cuMemAlloc_v2(&two, PART));
	assert_cu(cuMemAllocHost_v2((void **)&pinned_one, PART));
	assert_cu(cuMemAllocHost_v2((void **)&pinned_two, PART));
	snprintf(path, sizeof(path), "%s/softgpu0", test_folder);
	assert_int_equal(dev_board_open(path, NULL, &board), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dev_board_close(board);
	assert_cu(cuDevicePrimaryCtxRelease_v2(0));
	test_device_remove();
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_and_granule_are_scaled),
		cmocka_unit_test(a_copy_takes_the_time_of_its_direction),
		cmocka_unit_test(opposite_directions_overlap),
		cmocka_unit_test(the_same_direction_queues),
		cmocka_unit_test(pageable_memory_is_slower_and_leaves_the_engines_free),
		cmocka_unit_test(copies_inside_the_device_take_no_bus),
		cmocka_unit_test(mapped_memory_takes_the_bus),
		cmocka_unit_test(contents_survive_the_way_over_the_bus),
	};

	return cmocka_run_group_tests_name("softgpu-bus", tests, set_up, tear_down);
}
