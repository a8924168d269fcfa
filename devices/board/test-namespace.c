/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of several pid namespaces, which all call themselves 1, share one board. */
#include "board/test-place.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define N_COUNTS 20000

enum { DONE, NO_NAMESPACE, WRONG };

/* A process that is the first one of its pid namespace, and who waits for it. */
struct elsewhere {
	pid_t outer;
	pid_t inner; /* as we know it; 0 where there are no namespaces */
};

static struct elsewhere start(int (*call)(const char *path), const char *path)
{
	struct elsewhere e = { 0 };
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	e.outer = fork();
	assert_true(e.outer >= 0);
	if (!e.outer) {
		int status;
		pid_t inner;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
			_exit(NO_NAMESPACE);
		inner = fork();
		if (!inner) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(getpid() == 1 ? call(path) : WRONG);
		}
		if (inner < 0 || write(fds[1], &inner, sizeof(inner)) != sizeof(inner) ||
		    waitpid(inner, &status, 0) != inner || !WIFEXITED(status))
			_exit(WRONG);
		_exit(WEXITSTATUS(status));
	}
	close(fds[1]);
	if (read(fds[0], &e.inner, sizeof(e.inner)) != sizeof(e.inner))
		e.inner = 0;
	close(fds[0]);
	return e;
}

static int finish(struct elsewhere e)
{
	int status;

	assert_int_equal(waitpid(e.outer, &status, 0), e.outer);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Counts in two steps, which somebody else with the lock in hand would spoil. */
static int count(const char *path)
{
	volatile uint64_t *counter;
	struct dev_board *board;

	if (dev_board_open(path, NULL, &board) || dev_board_attach(board, "counter"))
		return WRONG;
	counter = dev_board_user(board);
	for (unsigned i = 0; i < N_COUNTS; i++) {
		uint64_t was;

		dev_board_user_lock(board);
		was = *counter;
		if (i % 64 == 0)
			sched_yield();
		*counter = was + 1;
		dev_board_user_unlock(board);
	}
	dev_board_close(board);
	return DONE;
}

static void test_the_lock_is_held_by_one_of_two_with_the_same_number(void **state)
{
	struct place *p = *state;
	struct dev_board *board;
	struct elsewhere a, b;

	assert_int_equal(dev_board_open(p->path, &identity, &board), 0);
	a = start(count, p->path);
	b = start(count, p->path);
	if (!a.inner || !b.inner) {
		finish(a);
		finish(b);
		dev_board_close(board);
		skip();
	}
	assert_int_equal(finish(a), DONE);
	assert_int_equal(finish(b), DONE);
	assert_int_equal(*(uint64_t *)dev_board_user(board), 2 * N_COUNTS);
	dev_board_close(board);
}

static int hold(const char *path)
{
	struct dev_board *board;

	if (dev_board_open(path, NULL, &board) || dev_board_attach(board, "holder") ||
	    dev_board_take(board, SLU_MIB, 0))
		return WRONG;
	pause();
	return DONE;
}

static bool shows(const struct dev_board_view *view, pid_t pid)
{
	for (unsigned i = 0; i < view->n_slots; i++)
		if (view->slots[i].pid == pid && view->slots[i].bytes == SLU_MIB)
			return true;
	return false;
}

static void test_each_is_shown_by_the_number_that_the_looker_knows(void **state)
{
	static struct dev_board_view view;
	struct place *p = *state;
	struct dev_board *board;
	struct elsewhere a, b;
	pid_t pids[2];

	assert_int_equal(dev_board_open(p->path, &identity, &board), 0);
	a = start(hold, p->path);
	b = start(hold, p->path);
	if (!a.inner || !b.inner) {
		finish(a);
		finish(b);
		dev_board_close(board);
		skip();
	}
	do
		assert_int_equal(dev_board_look(board, &view), 0);
	while (view.used_bytes < 2 * SLU_MIB);
	assert_int_equal(view.n_slots, 2);
	assert_true(shows(&view, a.inner));
	assert_true(shows(&view, b.inner));
	assert_true(view.slots[0].who != view.slots[1].who);
	for (unsigned i = 0; i < 2; i++)
		pids[i] = dev_board_slot_pid(board, i);
	assert_true(pids[0] == view.slots[0].pid && pids[1] == view.slots[1].pid);

	kill(a.inner, SIGKILL);
	assert_int_equal(finish(a), WRONG);
	assert_int_equal(dev_board_look(board, &view), 0);
	assert_int_equal(view.n_slots, 1);
	assert_true(shows(&view, b.inner));
	kill(b.inner, SIGKILL);
	assert_int_equal(finish(b), WRONG);
	assert_int_equal(dev_board_true_used(board), 0);
	dev_board_close(board);
}

/* Comes, finds two slots and goes. */
static int look(const char *path)
{
	static struct dev_board_view view;
	struct dev_board *board;

	if (dev_board_open(path, NULL, &board) || dev_board_attach(board, "looker") ||
	    dev_board_look(board, &view) || view.n_slots != 2)
		return WRONG;
	dev_board_close(board);
	return view.slots[0].who != view.slots[1].who ? DONE : WRONG;
}

static void test_whoever_is_outside_holds_its_slot_beside_them(void **state)
{
	static struct dev_board_view view;
	struct place *p = *state;
	struct dev_board *board;
	struct elsewhere e;
	int r;

	assert_int_equal(dev_board_open(p->path, &identity, &board), 0);
	assert_int_equal(dev_board_attach(board, "outside"), 0);
	e = start(look, p->path);
	r = finish(e);
	assert_int_equal(dev_board_look(board, &view), 0);
	assert_int_equal(view.n_slots, 1);
	assert_int_equal(view.slots[0].pid, getpid());
	dev_board_close(board);
	if (r == NO_NAMESPACE)
		skip();
	assert_int_equal(r, DONE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_the_lock_is_held_by_one_of_two_with_the_same_number),
		TEST(test_each_is_shown_by_the_number_that_the_looker_knows),
		TEST(test_whoever_is_outside_holds_its_slot_beside_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
