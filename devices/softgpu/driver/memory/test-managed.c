/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "board/board.h"

/*
 * Managed memory on a card of 1/256 size: 4 MiB, blocks of 8 KiB, pages of 256 bytes. What moves is
 * read off the engines' books.
 */

#define KIB	 1024u
#define MIB	 (1u << 20)
#define BLOCK	 (8 * KIB)
#define CAPACITY (4 * MIB)

static struct dev_board *board;
static CUfunction fill;

static uint64_t moved(enum dev_board_engine engine)
{
	struct dev_board_engine_view view;

	dev_board_look_engine(board, engine, &view);
	return view.bytes;
}

static uint32_t *managed(size_t bytes)
{
	CUdeviceptr p;

	assert_cu(cuMemAllocManaged(&p, bytes, CU_MEM_ATTACH_GLOBAL));
	return (uint32_t *)(uintptr_t)p;
}

static void run(uint32_t *p, unsigned n, unsigned value)
{
	assert_cu(test_fill(fill, (uintptr_t)p, n, value, NULL));
	assert_cu(cuCtxSynchronize());
}

static void host_and_device_see_the_same_bytes(void **state)
{
	uint32_t *p = managed(64 * KIB), copy[4];
	unsigned is_managed;

	(void)state;
	p[5] = 77;
	run(p + 8, 1000, 5);
	assert_int_equal(p[5], 77);
	assert_int_equal(p[8], 5);
	assert_int_equal(p[1007], 1004);
	assert_cu(
		cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, (uintptr_t)p));
	assert_int_equal(is_managed, 1);
	assert_cu(cuMemcpyDtoH_v2(copy, (uintptr_t)(p + 8), sizeof(copy)));
	assert_int_equal(copy[3], 8);
	assert_cu(cuMemFree_v2((uintptr_t)p));
	assert_int_equal(cuMemFree_v2((uintptr_t)p), CUDA_ERROR_INVALID_VALUE);
}

static void what_the_host_wrote_crosses_the_bus_and_nothing_else(void **state)
{
	uint32_t *p = managed(4 * BLOCK);
	uint64_t before = moved(DEV_BOARD_ENGINE_IN);

	(void)state;
	/* never written: nothing has to come */
	run(p, 4 * BLOCK / 4, 1);
	assert_int_equal(moved(DEV_BOARD_ENGINE_IN) - before, 0);
	assert_cu(cuMemFree_v2((uintptr_t)p));

	p = managed(4 * BLOCK);
	memset(p, 1, 4 * BLOCK);
	run(p, 4 * BLOCK / 4, 1);
	assert_int_equal(moved(DEV_BOARD_ENGINE_IN) - before, 4 * BLOCK);
	/* and it stays */
	run(p, 4 * BLOCK / 4, 2);
	assert_int_equal(moved(DEV_BOARD_ENGINE_IN) - before, 4 * BLOCK);
	assert_cu(cuMemFree_v2((uintptr_t)p));
}

static void a_single_touch_brings_its_batch_only(void **state)
{
	uint32_t *p = managed(4 * BLOCK);
	uint64_t before = moved(DEV_BOARD_ENGINE_IN);

	(void)state;
	memset(p, 1, 4 * BLOCK);
	run(p + BLOCK / 4, 1, 1);
	/* eight pages of thirty-two */
	assert_int_equal(moved(DEV_BOARD_ENGINE_IN) - before, BLOCK / 4);
	/* with the next eight half of the block is there, which is not enough to bring the rest */
	run(p + BLOCK / 4 + BLOCK / 16, 1, 1);
	assert_int_equal(moved(DEV_BOARD_ENGINE_IN) - before, BLOCK / 2);
	run(p + BLOCK / 4 + BLOCK / 8, 1, 1);
	assert_int_equal(moved(DEV_BOARD_ENGINE_IN) - before, BLOCK);
	assert_cu(cuMemFree_v2((uintptr_t)p));
}

static void launches_that_fault_are_logged(void **state)
{
	uint32_t *p = managed(2 * BLOCK);
	int pid, n_faults, n_read;
	char path[128];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/paging", test_folder);
	setenv("SLUICE_SOFTGPU_PAGING_LOG", path, 1);
	run(p, 1, 1);
	/* what a prefetch has brought, and what is there, is no fault */
	assert_cu(cuMemPrefetchAsync((uintptr_t)p, 2 * BLOCK, 0, NULL));
	run(p, 2 * BLOCK / 4, 1);
	unsetenv("SLUICE_SOFTGPU_PAGING_LOG");
	file = fopen(path, "re");
	assert_non_null(file);
	n_read = fscanf(file, "%d %d\n", &pid, &n_faults);
	assert_int_equal(n_read, 2);
	assert_int_equal(pid, getpid());
	assert_int_equal(n_faults, 1);
	assert_int_equal(fgetc(file), EOF);
	fclose(file);
	unlink(path);
	assert_cu(cuMemFree_v2((uintptr_t)p));
}

static void more_than_the_card_has_still_computes(void **state)
{
	unsigned n = CAPACITY / 4 / 2 * 3;
	uint32_t *p = managed(n * 4);
	struct dev_board_view view;
	uint64_t out;

	(void)state;
	memset(p, 0, n * 4);
	out = moved(DEV_BOARD_ENGINE_OUT);
	run(p, n, 9);
	for (unsigned i = 0; i < n; i += 1001)
		assert_int_equal(p[i], 9 + i);
	/* what did not fit had to go */
	assert_int_equal(moved(DEV_BOARD_ENGINE_OUT) - out, n * 4 - CAPACITY);
	assert_int_equal(dev_board_look(board, &view), 0);
	assert_int_equal(view.used_bytes, CAPACITY);
	/* what goes out in the order of its coming is never there when it is needed again */
	out = moved(DEV_BOARD_ENGINE_IN);
	run(p, n, 10);
	assert_int_equal(moved(DEV_BOARD_ENGINE_IN) - out, n * 4);
	assert_int_equal(p[n - 1], 9 + n);
	/* ordinary memory is more important */
	{
		CUdeviceptr plain;

		assert_cu(cuMemAlloc_v2(&plain, CAPACITY));
		run(p, 1000, 3);
		assert_int_equal(p[999], 1002);
		assert_cu(cuMemFree_v2(plain));
	}
	assert_cu(cuMemFree_v2((uintptr_t)p));
	assert_int_equal(dev_board_look(board, &view), 0);
	assert_int_equal(view.used_bytes, 0);
}

static void prefetch_goes_and_comes(void **state)
{
	uint32_t *p = managed(MIB);
	CUdeviceptr address = (uintptr_t)p;
	uint64_t in, out;
	int where;

	(void)state;
	memset(p, 1, MIB);
	in = moved(DEV_BOARD_ENGINE_IN);
	out = moved(DEV_BOARD_ENGINE_OUT);
	assert_cu(cuMemPrefetchAsync(address, MIB, 0, NULL));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(moved(DEV_BOARD_ENGINE_IN) - in, MIB);
	run(p, MIB / 4, 1);
	assert_int_equal(moved(DEV_BOARD_ENGINE_IN) - in, MIB);
	assert_cu(cuMemRangeGetAttribute(&where, sizeof(where),
					 CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, address,
					 MIB));
	assert_int_equal(where, 0);
	assert_cu(cuMemPrefetchAsync(address, MIB, CU_DEVICE_CPU, NULL));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(moved(DEV_BOARD_ENGINE_OUT) - out, MIB);
	assert_int_equal(cuMemPrefetchAsync(address, MIB, 7, NULL), CUDA_ERROR_INVALID_DEVICE);
	assert_int_equal(cuMemPrefetchAsync(address, 2 * MIB, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemFree_v2(address));
}

static void advice_is_kept_and_followed(void **state)
{
	uint32_t *p = managed(2 * BLOCK);
	CUdeviceptr address = (uintptr_t)p;
	int value, by[2];
	uint64_t in;

	(void)state;
	memset(p, 1, 2 * BLOCK);
	assert_cu(cuMemAdvise(address, BLOCK, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
	assert_cu(cuMemAdvise(address, 2 * BLOCK, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
	assert_cu(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
					 address, BLOCK));
	assert_int_equal(value, CU_DEVICE_CPU);
	assert_cu(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
					 address, 2 * BLOCK));
	assert_int_equal(value, CU_DEVICE_INVALID);
	assert_cu(cuMemRangeGetAttribute(by, sizeof(by), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
					 address, 2 * BLOCK));
	assert_int_equal(by[0], 0);
	assert_int_equal(by[1], CU_DEVICE_INVALID);
	in = moved(DEV_BOARD_ENGINE_IN);
	/* used where it lies, each time anew */
	run(p, 64, 1);
	run(p, 64, 2);
	assert_int_equal(moved(DEV_BOARD_ENGINE_IN) - in, 2 * 256);
	assert_cu(cuMemAdvise(address, BLOCK, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 0));
	assert_cu(cuMemAdvise(address, BLOCK, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	assert_cu(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address,
					 BLOCK));
	assert_int_equal(value, 1);
	run(p, BLOCK / 4, 3);
	assert_int_equal(p[100], 103);
	assert_cu(cuMemFree_v2(address));
}

/*
 * The host's own accesses. A page of the host's holds 16 of the card's here; what was written is
 * known by that page, what was read by up to 64 KiB around.
 */
#define OS_PAGE 4096u
#define AROUND	(64 * KIB)
#define LARGE	(8 * AROUND)

static uint32_t *managed_on_card(void)
{
	uint32_t *p = managed(LARGE);

	memset(p, 1, LARGE);
	run(p, LARGE / 4, 1);
	return p;
}

/* What the next run over all of it has to move. */
static void assert_moves(uint32_t *p, uint64_t host_bytes)
{
	uint64_t in = moved(DEV_BOARD_ENGINE_IN), out = moved(DEV_BOARD_ENGINE_OUT);

	run(p, LARGE / 4, 7);
	assert_int_equal(moved(DEV_BOARD_ENGINE_OUT) - out, host_bytes);
	assert_int_equal(moved(DEV_BOARD_ENGINE_IN) - in, host_bytes);
}

static void skip_where_page_tables_are_hidden(void)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		skip();
	close(fd);
}

static void what_the_host_writes_goes_to_the_host_and_nothing_else(void **state)
{
	uint32_t *p;

	(void)state;
	skip_where_page_tables_are_hidden();
	p = managed_on_card();
	assert_moves(p, 0);
	p[3 * OS_PAGE / 4 + 5] = 9;
	assert_moves(p, OS_PAGE);
	assert_int_equal(p[3 * OS_PAGE / 4 + 5], 7 + 3 * OS_PAGE / 4 + 5);
	assert_cu(cuCtxSynchronize());
	/* two that are not neighbours, and a whole block */
	run(p, LARGE / 4, 1);
	p[0] = p[7 * OS_PAGE / 4] = 1;
	p[20 * OS_PAGE / 4] = p[21 * OS_PAGE / 4] = 1;
	assert_moves(p, 4 * OS_PAGE);
	assert_cu(cuMemFree_v2((uintptr_t)p));
}

static void what_the_host_reads_goes_to_the_host_with_its_surroundings(void **state)
{
	uint32_t *p, value;
	uint64_t in, out;

	(void)state;
	skip_where_page_tables_are_hidden();
	p = managed_on_card();
	in = moved(DEV_BOARD_ENGINE_IN);
	out = moved(DEV_BOARD_ENGINE_OUT);
	value = *(volatile uint32_t *)&p[4 * AROUND / 4];
	assert_int_equal(value, 1 + 4 * AROUND / 4);
	run(p, LARGE / 4, 2);
	assert_in_range(moved(DEV_BOARD_ENGINE_OUT) - out, OS_PAGE, AROUND);
	assert_int_equal(moved(DEV_BOARD_ENGINE_IN) - in, moved(DEV_BOARD_ENGINE_OUT) - out);
	/* synchronising finds it as well, and so does freeing */
	out = moved(DEV_BOARD_ENGINE_OUT);
	p[0] = 1;
	assert_cu(cuStreamSynchronize(NULL));
	assert_int_equal(moved(DEV_BOARD_ENGINE_OUT) - out, OS_PAGE);
	p[LARGE / 4 - 1] = 1;
	assert_cu(cuMemFree_v2((uintptr_t)p));
	assert_int_equal(moved(DEV_BOARD_ENGINE_OUT) - out, 2 * OS_PAGE);
}

static void a_block_that_is_mostly_on_the_host_goes_there(void **state)
{
	struct dev_board_view before, after;
	uint64_t out;
	uint32_t *p;

	(void)state;
	skip_where_page_tables_are_hidden();
	assert_int_equal(dev_board_look(board, &before), 0);
	p = managed(2 * BLOCK);
	memset(p, 1, 2 * BLOCK);
	/* three quarters of the block come to the card, and the rest stays */
	assert_cu(cuMemPrefetchAsync((uintptr_t)p, BLOCK / 4 * 3, 0, NULL));
	assert_cu(cuCtxSynchronize());
	out = moved(DEV_BOARD_ENGINE_OUT);
	/* when the half that was touched is on the host, three quarters are */
	p[0] = 1;
	assert_cu(cuCtxSynchronize());
	assert_int_equal(moved(DEV_BOARD_ENGINE_OUT) - out, BLOCK / 4 * 3);
	/* and the granule is free again */
	assert_int_equal(dev_board_look(board, &after), 0);
	assert_int_equal(after.used_bytes, before.used_bytes);
	assert_cu(cuMemFree_v2((uintptr_t)p));
}

static void system_calls_use_managed_memory(void **state)
{
	uint32_t data[OS_PAGE / 4], *p;
	int ends[2];

	(void)state;
	p = managed_on_card();
	assert_int_equal(pipe(ends), 0);
	/* out of memory that is on the card, and into it */
	assert_int_equal(write(ends[1], p + OS_PAGE / 4, OS_PAGE), OS_PAGE);
	assert_int_equal(read(ends[0], data, OS_PAGE), OS_PAGE);
	assert_int_equal(data[0], 1 + OS_PAGE / 4);
	run(p, LARGE / 4, 2);
	memset(data, 0x55, sizeof(data));
	assert_int_equal(write(ends[1], data, OS_PAGE), OS_PAGE);
	assert_int_equal(read(ends[0], p + 2 * OS_PAGE / 4, OS_PAGE), OS_PAGE);
	assert_cu(cuMemcpyDtoH_v2(data, (uintptr_t)(p + 2 * OS_PAGE / 4), 8));
	assert_int_equal(data[1], 0x55555555);
	close(ends[0]);
	close(ends[1]);
	assert_cu(cuMemFree_v2((uintptr_t)p));
}

static void what_a_child_touches_is_not_the_parents_doing(void **state)
{
	uint32_t *p;
	int status;
	pid_t pid;

	(void)state;
	p = managed_on_card();
	pid = fork();
	if (!pid) {
		p[5] = p[6] == 7 ? 55 : 0;
		_exit(p[5] != 55);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_moves(p, 0);
	assert_int_equal(p[5], 12);
	assert_cu(cuMemFree_v2((uintptr_t)p));
}

static void prefetch_brings_what_the_host_has_touched(void **state)
{
	uint32_t *p;
	uint64_t in;

	(void)state;
	skip_where_page_tables_are_hidden();
	p = managed_on_card();
	in = moved(DEV_BOARD_ENGINE_IN);
	p[0] = 1;
	assert_cu(cuMemPrefetchAsync((uintptr_t)p, LARGE, 0, NULL));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(moved(DEV_BOARD_ENGINE_IN) - in, OS_PAGE);
	assert_moves(p, 0);
	assert_cu(cuMemFree_v2((uintptr_t)p));
}

/* Another process needs the card; ours finds its pages gone, brings them back, and is right. */
static void other_processes_take_the_memory(void **state)
{
	unsigned n = CAPACITY / 8;
	uint32_t *p = managed(n * 4);
	int status, ready[2];
	uint64_t in;
	pid_t pid;

	(void)state;
	memset(p, 0, n * 4);
	run(p, n, 1);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		char name[16] = "/proc/self/exe";

		execl(name, name, "--fill", NULL);
		_exit(9);
	}
	close(ready[1]);
	close(ready[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	in = moved(DEV_BOARD_ENGINE_IN);
	run(p, n, 2);
	assert_int_equal(moved(DEV_BOARD_ENGINE_IN) - in, n * 4);
	assert_int_equal(p[n - 1], n + 1);
	assert_cu(cuMemFree_v2((uintptr_t)p));
}

static int fill_the_card(void)
{
	CUcontext context;
	CUdeviceptr p;

	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0))
		return 1;
	return cuMemAlloc_v2(&p, CAPACITY) != CUDA_SUCCESS;
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_and_device_see_the_same_bytes),
		cmocka_unit_test(what_the_host_wrote_crosses_the_bus_and_nothing_else),
		cmocka_unit_test(a_single_touch_brings_its_batch_only),
		cmocka_unit_test(launches_that_fault_are_logged),
		cmocka_unit_test(more_than_the_card_has_still_computes),
		cmocka_unit_test(prefetch_goes_and_comes),
		cmocka_unit_test(advice_is_kept_and_followed),
		cmocka_unit_test(what_the_host_writes_goes_to_the_host_and_nothing_else),
		cmocka_unit_test(what_the_host_reads_goes_to_the_host_with_its_surroundings),
		cmocka_unit_test(a_block_that_is_mostly_on_the_host_goes_there),
		cmocka_unit_test(system_calls_use_managed_memory),
		cmocka_unit_test(what_a_child_touches_is_not_the_parents_doing),
		cmocka_unit_test(prefetch_brings_what_the_host_has_touched),
		cmocka_unit_test(other_processes_take_the_memory),
	};
	CUcontext context;
	char path[128];
	int r;

	if (argc > 1 && !strcmp(argv[1], "--fill"))
		return fill_the_card();
	setenv("SLUICE_SOFTGPU_PROFILE", "rtx5080", 1);
	setenv("SLUICE_SOFTGPU_CONTEXT_OVERHEAD", "0", 1);
	test_device_make("4M");
	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0))
		return 1;
	fill = test_function(test_ptx_fill, "fill");
	snprintf(path, sizeof(path), "%s/softgpu0", test_folder);
	if (dev_board_open(path, NULL, &board))
		return 1;
	r = cmocka_run_group_tests_name("softgpu-managed", tests, NULL, NULL);
	dev_board_close(board);
	test_device_remove();
	return r;
}
