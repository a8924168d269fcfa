/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The limiter on whatever OpenCL device there is (PoCL where there is no other). Every test has a
 * folder of boards of its own and runs OpenCL in child processes only, each with its settings:
 * small programs of test/clients, and the scenes of limiter-scenes.c, which this program plays when
 * it is started with a scene's name.
 */

#include "lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "board/board.h"
#include "clients/cl-util.h"
#include "integration/limiter-scenes.h"
#include "limiter/fault.h"

#define MIB ((uint64_t)1 << 20)

struct world {
	char folder[64];
	char board[96];
	char layer[512];
	char fill[512];
};

static int set_up(void **state)
{
	const char *build = getenv("SLUICE_BUILD");
	struct world *w = calloc(1, sizeof(*w));

	if (!build)
		return -1;
	strcpy(w->folder, "/tmp/test-limiter.XXXXXX");
	if (!mkdtemp(w->folder))
		return -1;
	snprintf(w->board, sizeof(w->board), "%s/opencl0", w->folder);
	snprintf(w->layer, sizeof(w->layer), "%s/devices/limiter/libsluice-limiter.so", build);
	snprintf(w->fill, sizeof(w->fill), "%s/test/clients/cl-fill", build);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	unlink(w->board);
	if (rmdir(w->folder) < 0)
		return -1;
	free(w);
	return 0;
}

/*
 * Starts a program under the limiter with 64 MiB and the settings of @env ("IN=1G;OUT=2G …"). With
 * @ret_in and @ret_out its standard input and output are pipes.
 */
static pid_t start(const struct world *w, const char *env, char *const argv[], int *ret_in,
		   int *ret_out)
{
	int in[2], out[2];
	pid_t pid;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		char text[2048], *rest = NULL;

		snprintf(text, sizeof(text), "%s", env);
		setenv("SLUICE_LIMITER_MEMORY", "64M", 1);
		setenv("SLUICE_BOARDS", w->folder, 1);
		setenv("OPENCL_LAYERS", w->layer, 1);
		for (char *s = strtok_r(text, ";", &rest); s; s = strtok_r(NULL, ";", &rest)) {
			char name[64], *value = strchr(s, '=');

			*value++ = '\0';
			snprintf(name, sizeof(name), "%s%s",
				 strchr(s, '_') && strcmp(s, "LATE_FREE") ? "" : "SLUICE_LIMITER_",
				 s);
			setenv(name, value, 1);
		}
		if (ret_in)
			dup2(in[0], STDIN_FILENO);
		/* what it prints must not be taken for TAP */
		dup2(ret_out ? out[1] : STDERR_FILENO, STDOUT_FILENO);
		execv(argv[0], argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	if (ret_in)
		*ret_in = in[1];
	else
		close(in[1]);
	if (ret_out)
		*ret_out = out[0];
	else
		close(out[0]);
	return pid;
}

static int finish(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int run_fill(const struct world *w, const char *env, const char *mib)
{
	char *argv[] = { (char *)w->fill, (char *)"-m", (char *)mib, (char *)"-x", NULL };

	return finish(start(w, env, argv, NULL, NULL));
}

static void play(void **state, const char *env, const char *scene)
{
	char *argv[] = { (char *)"/proc/self/exe", (char *)scene, NULL };

	switch (finish(start(*state, env, argv, NULL, NULL))) {
	case 0:
		break;
	case 77:
		skip();
	default:
		fail_msg("scene %s", scene);
	}
}

static struct dev_board *board_of(const struct world *w)
{
	struct dev_board *board;

	assert_int_equal(dev_board_open(w->board, NULL, &board), 0);
	return board;
}

/* A cl-fill of 40 MiB that has its buffers and waits for the end of its input. */
static pid_t start_holder(const struct world *w, int *ret_in, int *ret_out)
{
	char *argv[] = { (char *)w->fill, (char *)"-m40", (char *)"-w", NULL };
	char line[6];
	pid_t pid = start(w, "", argv, ret_in, ret_out);

	assert_int_equal(read(*ret_out, line, sizeof(line)), 6);
	assert_memory_equal(line, "ready\n", 6);
	return pid;
}

static void test_a_plain_program_is_right_through_it(void **state)
{
	struct dev_board *board;

	assert_int_equal(run_fill(*state, "", "40"), CL_EXIT_RIGHT);
	assert_int_equal(run_fill(*state, "IN=2G;OUT=2G", "20"), CL_EXIT_RIGHT);
	assert_int_equal(run_fill(*state, "FAIL=lazy;ROUND=1M;OVERHEAD=1M", "20"), CL_EXIT_RIGHT);
	board = board_of(*state);
	assert_int_equal(dev_board_true_used(board), 0);
	dev_board_close(board);
}

static void test_capacity_holds_across_processes(void **state)
{
	struct dev_board_view view;
	struct dev_board *board;
	pid_t pid;
	int in, out;

	pid = start_holder(*state, &in, &out);
	board = board_of(*state);
	assert_int_equal(dev_board_look(board, &view), 0);
	assert_int_equal(view.n_slots, 1);
	assert_int_equal(view.slots[0].pid, pid);
	assert_string_equal(view.slots[0].program, "cl-fill");
	assert_int_equal(view.used_bytes, 40 * MIB);
	assert_int_equal(run_fill(*state, "", "40"), CL_EXIT_NO_MEMORY);
	assert_int_equal(run_fill(*state, "", "16"), CL_EXIT_RIGHT);
	close(in);
	assert_int_equal(finish(pid), CL_EXIT_RIGHT);
	close(out);
	assert_int_equal(dev_board_true_used(board), 0);
	assert_int_equal(run_fill(*state, "", "40"), CL_EXIT_RIGHT);
	dev_board_close(board);
}

static void test_a_killed_holder_leaves_nothing(void **state)
{
	struct dev_board *board;
	pid_t pid;
	int in, out;

	pid = start_holder(*state, &in, &out);
	board = board_of(*state);
	assert_int_equal(dev_board_true_used(board), 40 * MIB);
	kill(pid, SIGKILL);
	assert_int_equal(finish(pid), -SIGKILL);
	close(in);
	close(out);
	assert_int_equal(dev_board_true_used(board), 0);
	assert_int_equal(run_fill(*state, "", "40"), CL_EXIT_RIGHT);
	dev_board_close(board);
}

static void test_it_says_what_it_is(void **state)
{
	play(state, "", "says-what-it-is");
}

static void test_it_counts_what_is_on_the_device(void **state)
{
	play(state, "OVERHEAD=3M;ROUND=64K", "counts-what-is-on-the-device");
}

static void test_frees_become_memory_late(void **state)
{
	play(state, "LATE_FREE=1h", "frees-late");
}

static void test_lazy_failures_come_with_the_first_use(void **state)
{
	play(state, "FAIL=lazy", "fails-lazily");
}

static void test_copies_queue_without_a_gap(void **state)
{
	play(state, "IN=256M;OUT=128M", "copies-queue-without-a-gap");
}

static void test_copies_wait_in_an_in_order_queue(void **state)
{
	play(state, "IN=256M;OUT=128M", "waits-in-order");
}

static void test_copies_wait_in_an_out_of_order_queue(void **state)
{
	play(state, "IN=256M;OUT=128M", "waits-out-of-order");
}

static void test_profiles_show_the_bus(void **state)
{
	play(state, "IN=256M;OUT=128M", "profiles-show-the-bus");
}

static void test_maps_take_the_bus(void **state)
{
	play(state, "IN=256M;OUT=128M", "maps-take-the-bus");
	tear_down(state);
	set_up(state);
	play(state, "", "maps-take-the-bus");
}

static void test_failed_waits_fail_the_copy(void **state)
{
	play(state, "IN=256M;OUT=128M", "failed-waits-fail-the-copy");
}

static void test_programs_may_leave_with_copies_in_flight(void **state)
{
	struct dev_board *board;

	for (unsigned i = 0; i < 10; i++)
		play(state, "IN=256M;OUT=128M", "leaves-in-a-hurry");
	board = board_of(*state);
	assert_int_equal(dev_board_true_used(board), 0);
	dev_board_close(board);
}

static void test_a_forked_child_gives_back_nothing_of_its_parents(void **state)
{
	play(state, "", "forks");
}

static void test_many_threads_copy(void **state)
{
	play(state, "IN=1G;OUT=1G", "many-threads-copy");
}

static void play_with_two(void **state, const char *scene)
{
	struct world *w = *state;
	char second[128];

	snprintf(second, sizeof(second), "%s/opencl1", w->folder);
	play(state, "POCL_DEVICES=pthread pthread", scene);
	assert_int_equal(unlink(second), 0);
}

static void test_each_device_has_a_board(void **state)
{
	play_with_two(state, "has-a-board-for-each-device");
}

static void test_an_object_of_two_devices_counts_where_it_is_used(void **state)
{
	play_with_two(state, "counts-where-it-is-used");
}

static void test_each_device_refuses_for_itself(void **state)
{
	play_with_two(state, "refuses-on-each-device");
}

/*
 * The first and the last call of each kind fail on order, and one that never comes does not; the
 * program ends with an error and leaves nothing.
 */
static void test_faults_come_on_order(void **state)
{
	static const struct {
		const char *kind;
		enum dev_limiter_fault fault;
		int status;
	} rows[] = {
		{ "create", DEV_LIMITER_FAULT_CREATE, CL_EXIT_NO_MEMORY },
		{ "write", DEV_LIMITER_FAULT_WRITE, CL_EXIT_OPENCL },
		{ "read", DEV_LIMITER_FAULT_READ, CL_EXIT_OPENCL },
		{ "enqueue", DEV_LIMITER_FAULT_ENQUEUE, CL_EXIT_OPENCL },
	};
	struct dev_limiter_counts before;
	struct dev_board *board;

	assert_int_equal(run_fill(*state, "", "1"), CL_EXIT_RIGHT);
	board = board_of(*state);
	before = *(struct dev_limiter_counts *)dev_board_user(board);
	assert_int_equal(before.n_calls[DEV_LIMITER_FAULT_CREATE],
			 5); /* sub-buffers take no memory */
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		uint64_t last = before.n_calls[rows[i].fault];
		const uint64_t at[] = { 1, last, last + 1 };
		char env[64];

		assert_true(last > 1);
		assert_int_equal(before.n_faults[rows[i].fault], 0);
		for (size_t j = 0; j < SLU_ARRAY_SIZE(at); j++) {
			snprintf(env, sizeof(env), "FAULT=%s:%llu", rows[i].kind,
				 (unsigned long long)at[j]);
			assert_int_equal(run_fill(*state, env, "1"),
					 at[j] > last ? CL_EXIT_RIGHT : rows[i].status);
			assert_int_equal(dev_board_true_used(board), 0);
		}
		assert_int_equal(((struct dev_limiter_counts *)dev_board_user(board))
					 ->n_faults[rows[i].fault],
				 2);
	}
	dev_board_close(board);
}

static void test_wrong_settings_leave_no_device(void **state)
{
	static const char *const rows[] = { "MEMORY=64X",  "IN=fast",	   "OUT=-1",
					    "FAIL=maybe",  "FAULT=read",   "FAULT=read:0",
					    "FAULT=w:1",   "BOARD=../etc", "LATE_FREE=soon",
					    "ROUND=1T",	   "OVERHEAD=x",   "FAULT=read:1,",
					    "BOARD=a/b/c", "MEMORY=0x10" };

	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++)
		if (run_fill(*state, rows[i], "1") != CL_EXIT_NO_DEVICE)
			fail_msg("%s", rows[i]);
	assert_int_equal(run_fill(*state, "", "1"), CL_EXIT_RIGHT);
	/* another size than the board has */
	assert_int_equal(run_fill(*state, "MEMORY=65M", "1"), CL_EXIT_NO_DEVICE);
}

static void test_children_inherit_all_layers(void **state)
{
	char *argv[] = { (char *)"/proc/self/exe", (char *)"tells-its-layers", NULL };
	struct world *w = *state;
	char layers[1100], env[1200], line[1200] = { 0 };
	pid_t pid;
	int out;

	snprintf(layers, sizeof(layers), "%s:/nowhere/second.so:/nowhere/third.so", w->layer);
	snprintf(env, sizeof(env), "OPENCL_LAYERS=%s", layers);
	pid = start(w, env, argv, NULL, &out);
	assert_true(read(out, line, sizeof(line) - 1) > 0);
	close(out);
	assert_int_equal(finish(pid), 0);
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, layers);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static int exit_status(int result)
{
	return result == SCENE_IS_NOT_HERE ? 77 : result ? 1 : 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_plain_program_is_right_through_it),
		TEST(test_capacity_holds_across_processes),
		TEST(test_a_killed_holder_leaves_nothing),
		TEST(test_it_says_what_it_is),
		TEST(test_it_counts_what_is_on_the_device),
		TEST(test_frees_become_memory_late),
		TEST(test_lazy_failures_come_with_the_first_use),
		TEST(test_copies_queue_without_a_gap),
		TEST(test_copies_wait_in_an_in_order_queue),
		TEST(test_copies_wait_in_an_out_of_order_queue),
		TEST(test_profiles_show_the_bus),
		TEST(test_maps_take_the_bus),
		TEST(test_failed_waits_fail_the_copy),
		TEST(test_programs_may_leave_with_copies_in_flight),
		TEST(test_a_forked_child_gives_back_nothing_of_its_parents),
		TEST(test_many_threads_copy),
		TEST(test_each_device_has_a_board),
		TEST(test_an_object_of_two_devices_counts_where_it_is_used),
		TEST(test_each_device_refuses_for_itself),
		TEST(test_faults_come_on_order),
		TEST(test_wrong_settings_leave_no_device),
		TEST(test_children_inherit_all_layers),
	};

	for (const struct scene *s = limiter_scenes; argc > 1 && s->name; s++)
		if (!strcmp(s->name, argv[1]))
			return exit_status(s->play());
	if (argc > 1)
		return 127;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
