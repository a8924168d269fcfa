/* SPDX-License-Identifier: Apache-2.0 */
/* Processes whose CLOCK_MONOTONIC differs share one board. */
#include "lib/test.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "board/board.h"
#include "board/clock.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

#define SHIFT_S	 100000
#define NEARBY	 (3600 * (int64_t)SLU_NS_PER_S)
#define CAPACITY (64 * SLU_MIB)

enum { DONE, NO_NAMESPACE, WRONG };

static const struct dev_board_identity identity = { .name = "test", .capacity_bytes = CAPACITY };

static bool is_near(uint64_t a, uint64_t b)
{
	int64_t apart = (int64_t)(a - b);

	return apart < NEARBY && apart > -NEARBY;
}

/* Whoever is called lives in a time namespace whose clock is @seconds ahead. Return: its word. */
static int call_elsewhere(int seconds, int (*call)(const char *path), const char *path)
{
	int status;
	pid_t outer = fork();

	assert_true(outer >= 0);
	if (!outer) {
		int fd;
		pid_t inner;

		if (unshare(CLONE_NEWTIME) && unshare(CLONE_NEWUSER | CLONE_NEWTIME))
			_exit(NO_NAMESPACE);
		fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
		if (fd < 0 || dprintf(fd, "monotonic %d 0\n", seconds) < 0)
			_exit(NO_NAMESPACE);
		inner = fork();
		if (!inner)
			_exit(call(path));
		if (inner < 0 || waitpid(inner, &status, 0) != inner || !WIFEXITED(status))
			_exit(WRONG);
		_exit(WEXITSTATUS(status));
	}
	assert_int_equal(waitpid(outer, &status, 0), outer);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Books, and finds its own times in what comes back. */
static int book_there(const char *path)
{
	uint64_t now_ns = slu_clock_now_ns(), end_ns;
	struct dev_board_engine_view view;
	struct dev_board_job job;
	struct dev_board *board;

	if (dev_board_open(path, &identity, &board) || dev_board_attach(board, "elsewhere"))
		return WRONG;
	end_ns = dev_board_book(board, DEV_BOARD_ENGINE_IN, now_ns, SLU_NS_PER_MS, 1);
	dev_board_look_engine(board, DEV_BOARD_ENGINE_IN, &view);
	if (dev_board_look_jobs(board, &job, 1) != 1 || !is_near(end_ns, now_ns) ||
	    view.free_at_ns != end_ns || job.end_ns != end_ns)
		return WRONG;
	dev_board_close(board);
	return DONE;
}

/* Sees that what the parent gives back late is not free yet. */
static int look_at_late_frees(const char *path)
{
	struct dev_board *board;

	if (dev_board_open(path, NULL, &board) || dev_board_true_used(board) != SLU_MIB)
		return WRONG;
	dev_board_close(board);
	return DONE;
}

static void test_a_clock_that_is_ahead_or_behind_spoils_no_booking(void **state)
{
	static const int shifts[] = { SHIFT_S, -20 };
	char folder[] = "/tmp/test-board-clock.XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/b", folder);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(shifts); i++) {
		struct dev_board_engine_view view;
		struct dev_board *board;
		uint64_t now_ns = slu_clock_now_ns(), end_ns;
		int r = call_elsewhere(shifts[i], book_there, path);

		if (r == NO_NAMESPACE) {
			unlink(path);
			rmdir(folder);
			skip();
		}
		assert_int_equal(r, DONE);
		assert_int_equal(dev_board_open(path, NULL, &board), 0);
		dev_board_look_engine(board, DEV_BOARD_ENGINE_IN, &view);
		assert_true(view.free_at_ns >= now_ns);
		assert_true(is_near(view.free_at_ns, now_ns));
		end_ns = dev_board_book(board, DEV_BOARD_ENGINE_IN, now_ns, SLU_NS_PER_MS, 1);
		assert_true(is_near(end_ns, now_ns));
		dev_board_close(board);
	}
	unlink(path);
	rmdir(folder);
}

static void test_late_frees_are_late_by_every_clock(void **state)
{
	char folder[] = "/tmp/test-board-clock.XXXXXX", path[64];
	struct dev_board *board;
	int r;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/b", folder);
	assert_int_equal(dev_board_open(path, &identity, &board), 0);
	assert_int_equal(dev_board_attach(board, "test"), 0);
	assert_int_equal(dev_board_take(board, SLU_MIB, 0), 0);
	dev_board_give(board, SLU_MIB, 0, slu_clock_now_ns() + (uint64_t)NEARBY);
	r = call_elsewhere(SHIFT_S, look_at_late_frees, path);
	dev_board_close(board);
	unlink(path);
	rmdir(folder);
	if (r == NO_NAMESPACE)
		skip();
	assert_int_equal(r, DONE);
}

static void test_times_keep_their_order_and_their_zero(void **state)
{
	(void)state;
	assert_int_equal(dev_board_clock_to_machine(5, 0), 0);
	assert_int_equal(dev_board_clock_to_machine(5, 7), 2);
	assert_int_equal(dev_board_clock_to_machine(-5, 7), 12);
	assert_int_equal(dev_board_clock_to_machine(5, 3), 0);
	assert_int_equal(dev_board_clock_to_own(5, 2), 7);
	assert_int_equal(dev_board_clock_to_own(5, 0), 0);
	assert_int_equal(dev_board_clock_to_own(5, UINT64_MAX), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_clock_that_is_ahead_or_behind_spoils_no_booking),
		cmocka_unit_test(test_late_frees_are_late_by_every_clock),
		cmocka_unit_test(test_times_keep_their_order_and_their_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
