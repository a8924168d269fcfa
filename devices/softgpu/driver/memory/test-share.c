/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>

#include "board/board.h"

/*
 * Several processes on one device. This process never starts the driver itself: it forks children
 * that do, speaks with them over pipes, and looks at the board as an outsider.
 */

#define MIB	 (UINT64_C(1) << 20)
#define CAPACITY (32 * MIB)

#define LATEST_KILL_NS 5000000

static struct dev_board *board;

struct child {
	pid_t pid;
	int to, from;
};

/* -- in a child: one letter and a number each way ------------------------------------------- */

struct word {
	char what;
	uint64_t number;
};

static bool take_word(int fd, struct word *word)
{
	return read(fd, word, sizeof(*word)) == (ssize_t)sizeof(*word);
}

static void say(int fd, char what, uint64_t number)
{
	struct word word = { .what = what, .number = number };

	if (write(fd, &word, sizeof(word)) != (ssize_t)sizeof(word))
		_exit(9);
}

static uint64_t dirt_in(CUdeviceptr p, uint64_t bytes)
{
	unsigned char *host = malloc(bytes);
	uint64_t n = 0;

	if (!host || cuMemcpyDtoH_v2(host, p, bytes))
		_exit(8);
	for (uint64_t i = 0; i < bytes; i++)
		n += host[i] != 0;
	free(host);
	return n;
}

static _Noreturn void serve(int in, int out)
{
	CUdeviceptr all[64], p = 0;
	unsigned n = 0;
	CUcontext context;
	struct word word;
	size_t available, total;
	CUfunction fill = NULL;
	CUipcMemHandle shared;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		_exit(7);
	say(out, 'r', 0);
	while (take_word(in, &word)) {
		switch (word.what) {
		case 'a': /* allocate */
			say(out, 'a', cuMemAlloc_v2(&p, word.number));
			all[n++ % 64] = p;
			break;
		case 'd': /* make the last one dirty */
			say(out, 'd', cuMemsetD8_v2(p, 0xdb, word.number) || cuCtxSynchronize());
			break;
		case 'z': /* how much of the last one is not zero */
			say(out, 'z', dirt_in(p, word.number));
			break;
		case 'f': /* free the last one */
			say(out, 'f', cuMemFree_v2(all[--n % 64]));
			break;
		case 'g': /* free bytes of the device */
			if (cuMemGetInfo_v2(&available, &total))
				_exit(6);
			say(out, 'g', available);
			break;
		case 'k': /* run kernels on the last one */
			if (!fill)
				fill = test_function(test_ptx_fill, "fill");
			for (uint64_t i = 0; i < word.number; i++)
				if (test_fill(fill, p, 1024, (unsigned)i, NULL))
					_exit(5);
			say(out, 'k', cuCtxSynchronize());
			break;
		case 'm': /* managed memory, which a kernel brings in */
			if (!fill)
				fill = test_function(test_ptx_fill, "fill");
			if (cuMemAllocManaged(&p, word.number, CU_MEM_ATTACH_GLOBAL))
				_exit(10);
			say(out, 'm',
			    test_fill(fill, p, (unsigned)word.number / 4, 1, NULL) ||
				    cuCtxSynchronize());
			break;
		case 'p': /* memory in the order of streams */
			say(out, 'p',
			    cuMemAllocAsync(&p, word.number, NULL) || cuMemFreeAsync(p, NULL));
			break;
		case 'x': /* memory that others could open */
			say(out, 'x',
			    cuMemAlloc_v2(&p, word.number) || cuIpcGetMemHandle(&shared, p));
			break;
		case 'q':
			_exit(0);
		default:
			_exit(4);
		}
	}
	_exit(3);
}

/* -- in the parent -------------------------------------------------------------------------- */

static uint64_t listen_to(struct child *c, char what)
{
	struct word word = { 0 };

	assert_true(take_word(c->from, &word));
	assert_int_equal(word.what, what);
	return word.number;
}

static void tell(struct child *c, char what, uint64_t number)
{
	struct word word = { .what = what, .number = number };

	assert_int_equal(write(c->to, &word, sizeof(word)), sizeof(word));
}

static uint64_t ask(struct child *c, char what, uint64_t number)
{
	tell(c, what, number);
	return listen_to(c, what);
}

static struct child start(void)
{
	int down[2], up[2];
	struct child c;

	assert_int_equal(pipe2(down, O_CLOEXEC), 0);
	assert_int_equal(pipe2(up, O_CLOEXEC), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (!c.pid) {
		close(down[1]);
		close(up[0]);
		serve(down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	c.to = down[1];
	c.from = up[0];
	listen_to(&c, 'r');
	return c;
}

static void stop(struct child *c, int signal_number)
{
	int status;

	if (signal_number)
		kill(c->pid, signal_number);
	else
		tell(c, 'q', 0);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	if (!signal_number)
		assert_int_equal(status, 0);
	close(c->to);
	close(c->from);
}

static uint64_t used(void)
{
	return dev_board_true_used(board);
}

static void capacity_is_shared_between_processes(void **state)
{
	struct child a = start(), b = start();

	(void)state;
	assert_int_equal(ask(&a, 'a', 20 * MIB), CUDA_SUCCESS);
	assert_int_equal(ask(&b, 'g', 0), 12 * MIB);
	assert_int_equal(ask(&b, 'a', 14 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(ask(&b, 'a', 12 * MIB), CUDA_SUCCESS);
	assert_int_equal(used(), CAPACITY);
	assert_int_equal(ask(&a, 'a', 2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	stop(&b, 0);
	assert_int_equal(ask(&a, 'a', 12 * MIB), CUDA_SUCCESS);
	stop(&a, 0);
	assert_int_equal(used(), 0);
}

static void a_killed_process_gives_its_memory_back_clean(void **state)
{
	struct child a = start(), b = start();

	(void)state;
	assert_int_equal(ask(&a, 'a', CAPACITY), CUDA_SUCCESS);
	assert_int_equal(ask(&a, 'd', CAPACITY), 0);
	assert_int_equal(ask(&b, 'a', 2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	stop(&a, SIGKILL);
	assert_int_equal(ask(&b, 'a', CAPACITY), CUDA_SUCCESS);
	assert_int_equal(ask(&b, 'z', CAPACITY), 0);
	stop(&b, 0);
	assert_int_equal(used(), 0);
}

static void freed_memory_reaches_the_next_process_clean(void **state)
{
	struct child a = start(), b = start();

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(ask(&a, 'a', 24 * MIB), CUDA_SUCCESS);
		assert_int_equal(ask(&a, 'd', 24 * MIB), 0);
		assert_int_equal(ask(&a, 'f', 0), CUDA_SUCCESS);
		assert_int_equal(ask(&b, 'a', 24 * MIB), CUDA_SUCCESS);
		assert_int_equal(ask(&b, 'z', 24 * MIB), 0);
		assert_int_equal(ask(&b, 'd', 24 * MIB), 0);
		assert_int_equal(ask(&b, 'f', 0), CUDA_SUCCESS);
	}
	stop(&a, 0);
	stop(&b, 0);
	assert_int_equal(used(), 0);
}

static void kills_at_random_leave_nothing(void **state)
{
	unsigned n_kills = getenv("SLUICE_LONG") ? 1000 : 100;
	uint64_t random = slu_test_seed(4711);
	struct child last;

	(void)state;
	for (unsigned i = 0; i < n_kills; i++) {
		struct child c = start();
		unsigned n_told = (unsigned)(slu_test_random(&random) % 6);
		struct timespec moment = { .tv_nsec = (long)(slu_test_random(&random) %
							     LATEST_KILL_NS) };

		/* killed somewhere between two answers, also in the middle of a call or a kernel */
		tell(&c, 'a', 4096);
		if (slu_test_random(&random) % 2)
			tell(&c, 'k', slu_test_random(&random) % 1000);
		for (unsigned j = 0; j < n_told; j++)
			tell(&c, "aampx"[slu_test_random(&random) % 5],
			     slu_test_random(&random) % 2
				     ? (1 + slu_test_random(&random) % 12) * MIB
				     : 4 + slu_test_random(&random) % 4096);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
		stop(&c, SIGKILL);
	}
	assert_int_equal(used(), 0);
	/* and all of it can be had again, clean, and computed with */
	last = start();
	assert_int_equal(ask(&last, 'a', CAPACITY), CUDA_SUCCESS);
	assert_int_equal(ask(&last, 'z', CAPACITY), 0);
	assert_int_equal(ask(&last, 'k', 10), CUDA_SUCCESS);
	stop(&last, 0);
}

static void *pass_lock(void *data)
{
	dev_board_user_lock(board);
	dev_board_user_unlock(board);
	return NULL;
}

/*
 * Return: whether it stopped without the board's lock, which is held for moments only. A card has
 * no such moments; on the board whoever is stopped in one keeps everybody, until it goes on.
 */
static bool stops_without_lock(const struct child *c)
{
	struct timespec patience;
	pthread_t thread;
	int status;

	assert_int_equal(kill(c->pid, SIGSTOP), 0);
	assert_int_equal(waitpid(c->pid, &status, WUNTRACED), c->pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(pthread_create(&thread, NULL, pass_lock, NULL), 0);
	clock_gettime(CLOCK_REALTIME, &patience);
	patience.tv_sec += 2;
	if (pthread_timedjoin_np(thread, NULL, &patience) == 0)
		return true;
	assert_int_equal(kill(c->pid, SIGCONT), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return false;
}

static void a_stopped_process_does_not_keep_others_from_computing(void **state)
{
	struct child a = start(), b = start();

	(void)state;
	assert_int_equal(ask(&a, 'a', 4096), CUDA_SUCCESS);
	assert_int_equal(ask(&b, 'a', 4096), CUDA_SUCCESS);
	assert_int_equal(ask(&a, 'k', 10), CUDA_SUCCESS);
	/* stopped amid its kernels */
	tell(&a, 'k', 200000);
	assert_int_equal(ask(&b, 'k', 10), CUDA_SUCCESS);
	while (!stops_without_lock(&a))
		continue;
	assert_int_equal(ask(&b, 'k', 100), CUDA_SUCCESS);
	stop(&a, SIGKILL);
	assert_int_equal(ask(&b, 'k', 10), CUDA_SUCCESS);
	stop(&b, 0);
	assert_int_equal(used(), 0);
}

static void another_size_than_the_device_has_is_refused(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		setenv("SLUICE_SOFTGPU_MEMORY", "64M", 1);
		_exit(cuInit(0) == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int set_up(void **state)
{
	char path[128];
	struct child c;

	(void)state;
	test_device_make("32M");
	c = start(); /* makes the device */
	stop(&c, 0);
	snprintf(path, sizeof(path), "%s/softgpu0", test_folder);
	assert_int_equal(dev_board_open(path, NULL, &board), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dev_board_close(board);
	test_device_remove();
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(capacity_is_shared_between_processes),
		cmocka_unit_test(a_killed_process_gives_its_memory_back_clean),
		cmocka_unit_test(freed_memory_reaches_the_next_process_clean),
		cmocka_unit_test(kills_at_random_leave_nothing),
		cmocka_unit_test(a_stopped_process_does_not_keep_others_from_computing),
		cmocka_unit_test(another_size_than_the_device_has_is_refused),
	};

	return cmocka_run_group_tests_name("softgpu-share", tests, set_up, tear_down);
}
