/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include "base/util.h"
#include "softgpu/driver/visible.h"

/* CUDA_VISIBLE_DEVICES: what a list means, and what a program then sees of a machine with three. */

static const uint8_t uuids[3][16] = { { 0x1a, 0x2b }, { 0x1a, 0x2c }, { 0xff } };

static void a_list_means_what_the_driver_makes_of_it(void **state)
{
	static const struct {
		const char *list;
		unsigned n, numbers[3];
	} rows[] = {
		{ NULL, 3, { 0, 1, 2 } },
		{ "", 0, { 0 } },
		{ "-1", 0, { 0 } },
		{ "NoDevFiles", 0, { 0 } },
		{ "1", 1, { 1 } },
		{ "2,0", 2, { 2, 0 } },
		{ " 2 , 0", 2, { 2, 0 } },
		{ "0,3,1", 1, { 0 } },
		{ "0,-1,1", 1, { 0 } },
		{ "0,,1", 1, { 0 } },
		{ "1x,2y", 2, { 1, 2 } },
		{ "0,1,0", 0, { 0 } },
		{ "99999999999999999999", 0, { 0 } },
		{ "GPU-ff", 1, { 2 } },
		{ "GPU-FF,GPU-1a2c,0", 3, { 2, 1, 0 } },
		{ "GPU-1a,0", 0, { 0 } },
		{ "0,GPU-1a", 1, { 0 } },
		{ "0,GPU-dead,1", 1, { 0 } },
		{ "2,GPU-ff", 0, { 0 } },
		{ "GPU-1a2b0000-0000-0000-0000-000000000000", 1, { 0 } },
		{ "GPU-1a2b0000-0000-0000-0000-0000000000000", 0, { 0 } },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		unsigned numbers[3];
		unsigned n = dev_visible_choose(rows[i].list, 3, uuids, numbers);

		if (n != rows[i].n || memcmp(numbers, rows[i].numbers, n * sizeof(*numbers)))
			fail_msg("'%s' makes %u visible", rows[i].list, n);
	}
}

/* In a child that sees the devices of @list; its exit status is what @run returns. */
static int run_with(const char *list, int (*run)(int fd), int fd)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		setenv("CUDA_VISIBLE_DEVICES", list, 1);
		_exit(run(fd));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int init_result(int fd)
{
	(void)fd;
	return (int)cuInit(0);
}

static void who_may_see_none_is_told_that_there_is_no_device(void **state)
{
	(void)state;
	assert_int_equal(run_with("", init_result, -1), CUDA_ERROR_NO_DEVICE);
	assert_int_equal(run_with("-1", init_result, -1), CUDA_ERROR_NO_DEVICE);
	assert_int_equal(run_with("1", init_result, -1), CUDA_SUCCESS);
}

static int view_in_order(int fd)
{
	char address[16];
	CUuuid of_first, of_second;
	CUdevice device;
	int n;

	(void)fd;
	if (cuInit(0) || cuDeviceGetCount(&n) || n != 2)
		return 1;
	if (cuDeviceGetPCIBusId(address, sizeof(address), 0) || strcmp(address, "0000:00:02.0"))
		return 2;
	if (cuDeviceGetByPCIBusId(&device, "0000:00:00.0") || device != 1)
		return 3;
	if (cuDeviceGetByPCIBusId(&device, "0000:00:01.0") != CUDA_ERROR_INVALID_DEVICE)
		return 4;
	if (cuDeviceGetUuid_v2(&of_first, 0) || cuDeviceGetUuid_v2(&of_second, 1) ||
	    !memcmp(&of_first, &of_second, sizeof(of_first)))
		return 5;
	return 0;
}

static void devices_are_counted_in_the_order_of_the_list(void **state)
{
	(void)state;
	assert_int_equal(run_with("2,0", view_in_order, -1), 0);
}

/* Keeps the memory until the reader closes its end. */
static int share_memory(int fd)
{
	CUipcMemHandle handle;
	CUcontext context;
	CUdeviceptr p;
	char end;

	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuMemAlloc_v2(&p, 4096) ||
	    cuMemsetD32_v2(p, 77, 1024) || cuCtxSynchronize() || cuIpcGetMemHandle(&handle, p))
		return 1;
	if (write(fd, &handle, sizeof(handle)) != sizeof(handle))
		return 2;
	return read(fd, &end, 1) == 0 ? 0 : 3;
}

static int open_memory(int fd)
{
	CUipcMemHandle handle;
	CUcontext context;
	CUdeviceptr p;
	uint32_t word = 0;

	if (read(fd, &handle, sizeof(handle)) != sizeof(handle))
		return 1;
	/* the second of its two devices is the first and only one of the other process */
	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 1))
		return 2;
	if (cuIpcOpenMemHandle_v2(&p, handle, 1))
		return 3;
	if (cuMemcpyDtoH_v2(&word, p, 4) || word != 77)
		return 4;
	return 0;
}

static void processes_that_count_differently_share_memory(void **state)
{
	int fds[2], status;
	pid_t owner;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	fflush(NULL);
	owner = fork();
	assert_true(owner >= 0);
	if (!owner) {
		setenv("CUDA_VISIBLE_DEVICES", "1", 1);
		close(fds[0]);
		_exit(share_memory(fds[1]));
	}
	close(fds[1]);
	assert_int_equal(run_with("2,1", open_memory, fds[0]), 0);
	close(fds[0]);
	assert_int_equal(waitpid(owner, &status, 0), owner);
	assert_int_equal(status, 0);
}

static int set_up(void **state)
{
	(void)state;
	test_device_make("32M");
	setenv("SLUICE_SOFTGPU_DEVICES", "3", 1);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_means_what_the_driver_makes_of_it),
		cmocka_unit_test(who_may_see_none_is_told_that_there_is_no_device),
		cmocka_unit_test(devices_are_counted_in_the_order_of_the_list),
		cmocka_unit_test(processes_that_count_differently_share_memory),
	};

	return cmocka_run_group_tests_name("softgpu-visible", tests, set_up, test_device_tear_down);
}
