/* SPDX-License-Identifier: Apache-2.0 */
#include "board/test-place.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "board/layout.h"

static struct dev_board *open_attached(const char *path)
{
	struct dev_board *board;

	assert_int_equal(dev_board_open(path, &identity, &board), 0);
	assert_int_equal(dev_board_attach(board, "test"), 0);
	return board;
}

/* Runs @child in a process of its own; it says "ready" through the pipe that it is given. */
static pid_t start(void (*child)(const char *path, int ready_fd), const char *path, int *ret_fd)
{
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		child(path, fds[1]);
		_exit(0);
	}
	close(fds[1]);
	*ret_fd = fds[0];
	return pid;
}

static void await(int fd)
{
	char c;

	assert_int_equal(read(fd, &c, 1), 1);
	close(fd);
}

static void end(pid_t pid, int signal_number)
{
	int status;

	assert_int_equal(kill(pid, signal_number), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void hold_half(const char *path, int ready_fd)
{
	struct dev_board *board;

	if (dev_board_open(path, NULL, &board) || dev_board_attach(board, "holder") ||
	    dev_board_take(board, CAPACITY / 2, 1000))
		_exit(1);
	if (write(ready_fd, "r", 1) != 1)
		_exit(1);
	pause();
}

static void test_a_new_board_has_the_given_identity_and_an_old_one_keeps_its_own(void **state)
{
	struct dev_board_identity other = identity;
	struct place *p = *state;
	struct dev_board *a, *b;
	struct stat st;

	assert_int_equal(dev_board_open(p->path, NULL, &a), DEV_BOARD_E_ABSENT);
	assert_int_equal(dev_board_open(p->path, &identity, &a), 0);
	other.capacity_bytes *= 2;
	assert_int_equal(dev_board_open(p->path, &other, &b), 0);
	assert_memory_equal(dev_board_identity(b), &identity, sizeof(identity));
	assert_int_equal(stat(p->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	((char *)dev_board_user(a))[DEV_BOARD_USER_BYTES - 1] = 7;
	assert_int_equal(((char *)dev_board_user(b))[DEV_BOARD_USER_BYTES - 1], 7);
	dev_board_close(a);
	dev_board_close(b);
	dev_board_close(NULL);
}

static void test_capacity_is_shared_between_processes(void **state)
{
	struct place *p = *state;
	struct dev_board *board = open_attached(p->path);
	struct dev_board_view view;
	pid_t pid;
	int fd;

	pid = start(hold_half, p->path, &fd);
	await(fd);
	assert_int_equal(dev_board_take(board, CAPACITY / 2, 0), DEV_BOARD_E_FULL);
	assert_int_equal(dev_board_take(board, CAPACITY / 2 - 1000, 0), 0);
	assert_int_equal(dev_board_take(board, 1, 0), DEV_BOARD_E_FULL);

	assert_int_equal(dev_board_look(board, &view), 0);
	assert_int_equal(view.n_slots, 2);
	assert_int_equal(view.used_bytes, CAPACITY - 1000);
	assert_int_equal(view.overhead_bytes, 1000);
	assert_int_equal(view.slots[1].pid, pid);
	assert_string_equal(view.slots[1].program, "holder");
	assert_int_equal(view.slots[1].bytes, CAPACITY / 2);
	assert_int_equal(dev_board_true_used(board), CAPACITY);

	end(pid, SIGKILL);
	assert_int_equal(dev_board_take(board, CAPACITY / 2, 0), 0);
	dev_board_close(board);
}

static void test_no_sum_of_bytes_can_overflow_the_capacity(void **state)
{
	struct dev_board *board = open_attached(((struct place *)*state)->path);

	assert_int_equal(dev_board_take(board, UINT64_MAX, 1), DEV_BOARD_E_FULL);
	assert_int_equal(dev_board_take(board, 1, UINT64_MAX), DEV_BOARD_E_FULL);
	assert_int_equal(dev_board_take(board, CAPACITY + 1, 0), DEV_BOARD_E_FULL);
	assert_int_equal(dev_board_take(board, CAPACITY, 0), 0);
	dev_board_close(board);
}

static void churn(const char *path, int ready_fd)
{
	struct dev_board *board;
	uint64_t random = (uint64_t)getpid();

	if (dev_board_open(path, NULL, &board) || dev_board_attach(board, "churn") ||
	    write(ready_fd, "r", 1) != 1)
		_exit(1);
	for (;;) {
		uint64_t bytes = slu_test_random(&random) % SLU_MIB;

		if (dev_board_take(board, bytes, bytes / 16))
			continue;
		dev_board_book(board, DEV_BOARD_ENGINE_IN, slu_clock_now_ns(), 10, 0);
		dev_board_give(board, bytes, bytes / 16,
			       bytes % 3 ? 0 : slu_clock_now_ns() + SLU_NS_PER_S);
	}
}

static void test_holders_killed_at_random_leave_nothing(void **state)
{
	uint64_t seed = slu_test_seed(1);
	struct place *p = *state;
	struct dev_board *board = open_attached(p->path);
	pid_t pids[4] = { 0 };

	for (unsigned n = 0; n < 200; n++) {
		unsigned i = (unsigned)(slu_test_random(&seed) % SLU_ARRAY_SIZE(pids));
		int fd;

		/* the pause makes the place of the death random; nothing depends on its length */
		usleep((useconds_t)(slu_test_random(&seed) % 2000));
		if (pids[i])
			end(pids[i], SIGKILL);
		pids[i] = start(churn, p->path, &fd);
		await(fd);
		assert_true(dev_board_true_used(board) <= CAPACITY);
	}
	for (unsigned i = 0; i < SLU_ARRAY_SIZE(pids); i++)
		if (pids[i])
			end(pids[i], SIGKILL);
	assert_int_equal(dev_board_true_used(board), 0);
	assert_int_equal(dev_board_take(board, CAPACITY, 0), 0);
	dev_board_close(board);
}

static void die_with_the_lock(const char *path, int ready_fd)
{
	struct dev_board *board;

	if (dev_board_open(path, NULL, &board) || dev_board_attach(board, "holder") ||
	    dev_board_take(board, CAPACITY, 0))
		_exit(1);
	dev_board_user_lock(board);
	if (write(ready_fd, "r", 1) != 1)
		_exit(1);
	pause();
}

static void test_a_holder_of_the_lock_may_die(void **state)
{
	struct place *p = *state;
	struct dev_board *board = open_attached(p->path), *late;
	pid_t pid;
	int fd;

	pid = start(die_with_the_lock, p->path, &fd);
	await(fd);
	end(pid, SIGKILL);
	assert_int_equal(dev_board_take(board, CAPACITY, 0), 0);
	dev_board_close(board);

	pid = start(die_with_the_lock, p->path, &fd);
	await(fd);
	end(pid, SIGKILL);
	assert_int_equal(dev_board_open(p->path, NULL, &late), 0);
	assert_int_equal(dev_board_true_used(late), 0);
	dev_board_close(late);
}

static void test_slots_run_out_and_come_back(void **state)
{
	struct dev_board *boards[DEV_BOARD_SLOTS_MAX], *one_more;
	struct place *p = *state;

	for (unsigned i = 0; i < DEV_BOARD_SLOTS_MAX; i++) {
		boards[i] = open_attached(p->path);
		assert_int_equal(dev_board_slot(boards[i]), i);
	}
	assert_int_equal(dev_board_attach(boards[0], "again"), -EALREADY);
	assert_int_equal(dev_board_open(p->path, NULL, &one_more), 0);
	assert_int_equal(dev_board_attach(one_more, "late"), DEV_BOARD_E_NO_SLOT);
	assert_int_equal(dev_board_slot(one_more), -1);
	assert_int_equal(dev_board_take(one_more, 1, 0), -ENOTCONN);
	dev_board_detach(boards[77]);
	assert_false(dev_board_slot_is_alive(one_more, 77));
	assert_int_equal(dev_board_attach(one_more, "late"), 0);
	assert_int_equal(dev_board_slot(one_more), 77);
	assert_true(dev_board_slot_is_alive(boards[0], 77));
	for (unsigned i = 0; i < DEV_BOARD_SLOTS_MAX; i++)
		dev_board_close(boards[i]);
	dev_board_close(one_more);
}

static void open_and_take_one(const char *path, int ready_fd)
{
	struct dev_board *board;
	char c;

	/* the parent's write end is the starting pistol: all block here until it is closed */
	if (read(ready_fd, &c, 1) != 0)
		_exit(1);
	if (dev_board_open(path, &identity, &board) || dev_board_attach(board, "racer") ||
	    dev_board_take(board, 1, 0))
		_exit(1);
	dev_board_user_lock(board);
	++*(uint32_t *)dev_board_user(board);
	dev_board_user_unlock(board);
	_exit(0);
}

static void test_openers_that_race_get_one_board(void **state)
{
	struct place *p = *state;

	for (unsigned round = 0; round < 20; round++) {
		struct dev_board *board;
		pid_t pids[6];
		int fds[2], status;

		unlink(p->path);
		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
		for (unsigned i = 0; i < SLU_ARRAY_SIZE(pids); i++) {
			pids[i] = fork();
			assert_true(pids[i] >= 0);
			if (!pids[i]) {
				close(fds[1]);
				open_and_take_one(p->path, fds[0]);
			}
		}
		close(fds[1]);
		close(fds[0]);
		for (unsigned i = 0; i < SLU_ARRAY_SIZE(pids); i++) {
			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_int_equal(status, 0);
		}
		assert_int_equal(dev_board_open(p->path, NULL, &board), 0);
		assert_int_equal(*(uint32_t *)dev_board_user(board), SLU_ARRAY_SIZE(pids));
		dev_board_close(board);
	}
}

static void test_a_forked_child_keeps_no_slot_alive_and_may_attach(void **state)
{
	struct place *p = *state;
	struct dev_board *board, *watcher;
	int to_child[2], from_child[2], status;
	unsigned slot;
	pid_t pid;
	char c = 0;

	board = open_attached(p->path);
	assert_int_equal(dev_board_take(board, CAPACITY, 0), 0);
	slot = (unsigned)dev_board_slot(board);
	assert_int_equal(dev_board_open(p->path, NULL, &watcher), 0);
	assert_int_equal(pipe2(to_child, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from_child, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (dev_board_slot(board) != -1 || dev_board_fd(board) != -1)
			_exit(1);
		dev_board_give(board, 1, 0, 0); /* not its own: nothing happens */
		if (write(from_child[1], "h", 1) != 1 || read(to_child[0], &c, 1) != 1)
			_exit(2);
		/* the parent has let go by now */
		if (dev_board_attach(board, "child") || dev_board_take(board, CAPACITY, 0))
			_exit(3);
		if (write(from_child[1], "a", 1) != 1 || read(to_child[0], &c, 1) != 1)
			_exit(4);
		_exit(0);
	}
	assert_int_equal(read(from_child[0], &c, 1), 1);
	assert_int_equal(dev_board_true_used(watcher), CAPACITY);
	assert_true(dev_board_slot_is_alive(watcher, slot));
	/* as if this process died: its descriptor goes, nothing is given back in order */
	close(board->fd);
	board->fd = -1;
	board->slot = -1;
	assert_false(dev_board_slot_is_alive(watcher, slot));
	assert_int_equal(dev_board_true_used(watcher), 0);
	assert_int_equal(write(to_child[1], "g", 1), 1);
	assert_int_equal(read(from_child[0], &c, 1), 1);
	assert_int_equal(dev_board_true_used(watcher), CAPACITY);
	assert_int_equal(write(to_child[1], "e", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(dev_board_true_used(watcher), 0);
	for (unsigned i = 0; i < 2; i++) {
		close(to_child[i]);
		close(from_child[i]);
	}
	dev_board_close(board);
	dev_board_close(watcher);
}

static void test_late_frees_count_until_their_time(void **state)
{
	struct dev_board *board = open_attached(((struct place *)*state)->path);
	uint64_t never = UINT64_MAX;
	struct dev_board_view view;

	assert_int_equal(dev_board_take(board, CAPACITY - 100, 100), 0);
	dev_board_give(board, CAPACITY / 2, 0, never);
	assert_int_equal(dev_board_look(board, &view), 0);
	assert_int_equal(view.used_bytes, CAPACITY / 2 - 100);
	assert_int_equal(dev_board_true_used(board), CAPACITY);
	assert_int_equal(dev_board_take(board, 1, 0), DEV_BOARD_E_FULL);
	/* a time that has passed is at once */
	dev_board_give(board, 4096, 0, 1);
	assert_int_equal(dev_board_take(board, 4096, 0), 0);
	/* more late frees than there are lines for: none is lost, none comes early */
	for (unsigned i = 0; i < 3 * SLOT_LATE_MAX; i++)
		dev_board_give(board, 1, 0, never - i);
	assert_int_equal(dev_board_true_used(board), CAPACITY);
	dev_board_detach(board);
	assert_int_equal(dev_board_true_used(board), 0);
	dev_board_close(board);
}

static void note_death(struct dev_board *board, unsigned slot, void *data)
{
	((unsigned *)data)[slot]++;
	/* the board may be used from here */
	dev_board_book(board, DEV_BOARD_ENGINE_IN, 0, 0, 1);
}

static void test_dead_slots_wait_for_somebody_with_a_hook(void **state)
{
	static unsigned deaths[DEV_BOARD_SLOTS_MAX];
	struct place *p = *state;
	struct dev_board *board = open_attached(p->path), *watcher;
	struct dev_board_view view;
	pid_t pid;
	int fd;

	dev_board_on_death(board, note_death, deaths);
	assert_int_equal(dev_board_open(p->path, NULL, &watcher), 0);
	pid = start(hold_half, p->path, &fd);
	await(fd);
	end(pid, SIGKILL);
	/* the watcher counts it no more, but does not take it from the one who must clean up */
	assert_int_equal(dev_board_look(watcher, &view), 0);
	assert_int_equal(view.used_bytes, 0);
	assert_int_equal(dev_board_true_used(watcher), 0);
	assert_int_equal(deaths[1], 0);
	assert_int_equal(dev_board_attach(watcher, "watcher"), 0);
	assert_int_equal(dev_board_slot(watcher), 2);
	assert_int_equal(dev_board_take(board, CAPACITY, 0), 0);
	assert_int_equal(deaths[1], 1);
	dev_board_close(watcher);
	dev_board_close(board);
	assert_int_equal(deaths[0], 1);
}

static void
test_what_a_dead_holder_of_the_lock_left_is_reclaimed_before_the_next_one_has_it(void **state)
{
	static unsigned deaths[DEV_BOARD_SLOTS_MAX];
	struct place *p = *state;
	struct dev_board *board = open_attached(p->path), *watcher;
	int status, fd;
	pid_t pid;

	dev_board_on_death(board, note_death, deaths);
	for (unsigned i = 1; i <= 20; i++) {
		pid = start(die_with_the_lock, p->path, &fd);
		await(fd);
		kill(pid, SIGKILL);
		/* at once: its files may still be open when the lock comes */
		dev_board_user_lock(board);
		assert_int_equal(deaths[1], i);
		dev_board_user_unlock(board);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	/* somebody without a hook had the lock first */
	assert_int_equal(dev_board_open(p->path, NULL, &watcher), 0);
	pid = start(die_with_the_lock, p->path, &fd);
	await(fd);
	end(pid, SIGKILL);
	dev_board_user_lock(watcher);
	dev_board_user_unlock(watcher);
	assert_int_equal(deaths[1], 20);
	dev_board_user_lock(board);
	assert_int_equal(deaths[1], 21);
	dev_board_user_unlock(board);
	dev_board_close(watcher);
	dev_board_close(board);
}

static void test_who_only_looks_is_not_stopped_by_a_holder_that_is(void **state)
{
	static struct dev_board_view view;
	struct place *p = *state;
	struct dev_board *board;
	int status;
	pid_t child;

	assert_int_equal(dev_board_open(p->path, &identity, &board), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		dev_board_user_lock(board);
		raise(SIGSTOP);
		dev_board_user_unlock(board);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(dev_board_look(board, &view), DEV_BOARD_E_BUSY);
	kill(child, SIGCONT);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(dev_board_look(board, &view), 0);
	dev_board_close(board);
}

static void test_bookings_on_one_engine_queue_and_two_engines_overlap(void **state)
{
	struct dev_board *a, *b;
	struct dev_board_engine_view view;
	struct dev_board_job jobs[8];
	struct place *p = *state;

	assert_int_equal(dev_board_open(p->path, &identity, &a), 0);
	assert_int_equal(dev_board_open(p->path, &identity, &b), 0);
	assert_int_equal(dev_board_book(a, DEV_BOARD_ENGINE_IN, 1000, 50, 0), 1050);
	assert_int_equal(dev_board_book(b, DEV_BOARD_ENGINE_IN, 1010, 50, 4096), 1100);
	assert_int_equal(dev_board_book(b, DEV_BOARD_ENGINE_OUT, 1010, 50, 0), 1060);
	assert_int_equal(dev_board_book(a, DEV_BOARD_ENGINE_IN, 2000, 1, 0), 2001);
	/* a gap that was left behind stays a gap */
	assert_int_equal(dev_board_book(a, DEV_BOARD_ENGINE_IN, 1200, 1, 0), 2002);
	dev_board_look_engine(a, DEV_BOARD_ENGINE_IN, &view);
	assert_int_equal(view.busy_ns, 102);
	assert_int_equal(view.free_at_ns, 2002);
	assert_int_equal(view.n_jobs, 4);
	assert_int_equal(view.bytes, 4096);
	dev_board_look_engine(a, DEV_BOARD_ENGINE_COMPUTE, &view);
	assert_int_equal(view.n_jobs, 0);

	/* the jobs are told in the order of booking, the last ones if not all are asked for */
	assert_int_equal(dev_board_look_jobs(b, jobs, SLU_ARRAY_SIZE(jobs)), 5);
	assert_int_equal(jobs[1].begin_ns, 1050);
	assert_int_equal(jobs[1].end_ns, 1100);
	assert_int_equal(jobs[1].bytes, 4096);
	assert_int_equal(jobs[2].engine, DEV_BOARD_ENGINE_OUT);
	assert_int_equal(jobs[2].pid, getpid());
	assert_int_equal(dev_board_look_jobs(b, jobs, 1), 1);
	assert_int_equal(jobs[0].end_ns, 2002);
	dev_board_close(a);
	dev_board_close(b);
}

static void write_at(const char *path, off_t offset, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, size, offset), size);
	close(fd);
}

static void test_damaged_boards_are_refused(void **state)
{
	static const uint8_t garbage[64] = { 0xde, 0xad };
	static const uint64_t too_many = CAPACITY + 1;
	static const struct {
		const char *what;
		size_t offset;
		const void *data;
		size_t size;
		off_t truncate; /* 0: not */
		int r;
	} rows[] = {
		{ "magic", 0, garbage, 8, 0, -EBADMSG },
		{ "capacity", offsetof(struct board_head, identity.capacity_bytes), garbage, 8, 0,
		  -EBADMSG },
		{ "uuid", offsetof(struct board_head, identity.uuid), garbage, 16, 0, -EBADMSG },
		{ "account", offsetof(struct board_file, accounts[3].bytes), &too_many, 8, 0,
		  -EBADMSG },
		{ "hidden", offsetof(struct board_file, accounts[3].hidden_bytes), &too_many, 8, 0,
		  -EBADMSG },
		{ "late", offsetof(struct board_file, slots[9].late[2].bytes), &too_many, 8, 0,
		  -EBADMSG },
		{ "slot", offsetof(struct board_file, slots[9].is_used), garbage, 1, 0, -EBADMSG },
		{ "one byte short", 0, NULL, 0, sizeof(struct board_file) - 1, -EBADMSG },
		{ "one byte long", 0, NULL, 0, sizeof(struct board_file) + 1, -EBADMSG },
		{ "half a head", 0, NULL, 0, sizeof(struct board_head) / 2, -EBADMSG },
	};
	struct place *p = *state;
	struct dev_board *board;

	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct stat before, after;

		unlink(p->path);
		assert_int_equal(dev_board_open(p->path, &identity, &board), 0);
		dev_board_close(board);
		if (rows[i].truncate)
			assert_int_equal(truncate(p->path, rows[i].truncate), 0);
		else
			write_at(p->path, (off_t)rows[i].offset, rows[i].data, rows[i].size);
		assert_int_equal(stat(p->path, &before), 0);
		if (dev_board_open(p->path, &identity, &board) != rows[i].r)
			fail_msg("%s", rows[i].what);
		assert_int_equal(stat(p->path, &after), 0);
		assert_int_equal(before.st_ino, after.st_ino);
		assert_int_equal(before.st_size, after.st_size);
	}
	unlink(p->path);
	write_at(p->path, 0, "", 0);
	assert_int_equal(dev_board_open(p->path, &identity, &board), -EBADMSG);
	assert_int_equal(dev_board_open(p->folder, &identity, &board), -EISDIR);
}

static void test_a_process_that_may_not_have_such_files_is_told(void **state)
{
	static const struct rlimit small = { 4096, 4096 };
	struct place *p = *state;
	struct dev_board *board;
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		if (setrlimit(RLIMIT_FSIZE, &small))
			_exit(1);
		_exit(dev_board_open(p->path, &identity, &board) == -EFBIG ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_a_board_of_another_version_is_replaced_when_nobody_has_it(void **state)
{
	static const uint32_t version = BOARD_VERSION + 1;
	const off_t at = offsetof(struct board_head, version);
	struct place *p = *state;
	struct dev_board *board, *other;
	uint32_t now;
	int fd;

	unlink(p->path);
	assert_int_equal(dev_board_open(p->path, &identity, &board), 0);
	assert_int_equal(dev_board_attach(board, "test"), 0);
	write_at(p->path, at, &version, sizeof(version));
	assert_int_equal(dev_board_open(p->path, &identity, &other), -EPROTONOSUPPORT);
	dev_board_close(board);

	fd = open(p->path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(dev_board_open(p->path, &identity, &other), -EPROTONOSUPPORT);
	close(fd);

	assert_int_equal(dev_board_open(p->path, NULL, &other), -EPROTONOSUPPORT);
	assert_int_equal(dev_board_open(p->path, &identity, &other), 0);
	dev_board_close(other);
	fd = open(p->path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, &now, sizeof(now), at), sizeof(now));
	assert_int_equal(now, BOARD_VERSION);
	close(fd);
}

static void test_the_folder_is_made_for_the_user_alone(void **state)
{
	struct place *p = *state;
	char given[128], path[128];
	struct stat st;

	snprintf(given, sizeof(given), "%s/boards", p->folder);
	setenv("SLUICE_BOARDS", given, 1);
	assert_int_equal(dev_board_folder(path, sizeof(path)), 0);
	assert_string_equal(path, given);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(dev_board_folder(path, strlen(given)), -ENAMETOOLONG);
	unsetenv("SLUICE_BOARDS");
	rmdir(given);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_new_board_has_the_given_identity_and_an_old_one_keeps_its_own),
		TEST(test_capacity_is_shared_between_processes),
		TEST(test_no_sum_of_bytes_can_overflow_the_capacity),
		TEST(test_holders_killed_at_random_leave_nothing),
		TEST(test_a_holder_of_the_lock_may_die),
		TEST(test_slots_run_out_and_come_back),
		TEST(test_openers_that_race_get_one_board),
		TEST(test_a_forked_child_keeps_no_slot_alive_and_may_attach),
		TEST(test_late_frees_count_until_their_time),
		TEST(test_dead_slots_wait_for_somebody_with_a_hook),
		TEST(test_what_a_dead_holder_of_the_lock_left_is_reclaimed_before_the_next_one_has_it),
		TEST(test_who_only_looks_is_not_stopped_by_a_holder_that_is),
		TEST(test_bookings_on_one_engine_queue_and_two_engines_overlap),
		TEST(test_damaged_boards_are_refused),
		TEST(test_a_process_that_may_not_have_such_files_is_told),
		TEST(test_a_board_of_another_version_is_replaced_when_nobody_has_it),
		TEST(test_the_folder_is_made_for_the_user_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
