/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "board/board.h"

/*
 * The compute engine between contexts and processes: one of them has it at a time, for a slice.
 * Kernels here run until they are told to stop and count how far they came, in memory that all
 * processes see. This process does not start the driver; its children do.
 */

#define N_KERNELS 2

struct common {
	uint32_t stop;
	uint32_t count[N_KERNELS];
};

static volatile struct common *common;
static struct dev_board *board;

/* spin(stop, count): counts until *stop is set; a block that is not the first only waits */
static const char ptx_spin[] =
	TEST_PTX_HEAD ".visible .entry spin(.param .u64 stop, .param .u64 count)\n"
		      "{\n"
		      "	.reg .pred %q<3>;\n"
		      "	.reg .b32 %r<6>;\n"
		      "	.reg .b64 %d<3>;\n"
		      "	ld.param.u64 %d1, [stop];\n"
		      "	ld.param.u64 %d2, [count];\n"
		      "	mov.u32 %r1, %ctaid.x;\n"
		      "	mov.u32 %r2, %tid.x;\n"
		      "	or.b32 %r3, %r1, %r2;\n"
		      "	setp.eq.u32 %q1, %r3, 0;\n"
		      "AGAIN:\n"
		      "	@%q1 atom.add.u32 %r4, [%d2], 1;\n"
		      "	ld.volatile.u32 %r5, [%d1];\n"
		      "	setp.eq.u32 %q2, %r5, 0;\n"
		      "	@%q2 bra AGAIN;\n"
		      "	ret;\n"
		      "}\n";

/* -- in a child ----------------------------------------------------------------------------- */

/* Starts a kernel that counts at @which; several blocks, so that several threads work on it. */
static CUresult spin(unsigned which)
{
	CUdeviceptr stop = (uintptr_t)&common->stop, count = (uintptr_t)&common->count[which];
	void *params[] = { &stop, &count };
	CUfunction f;
	CUmodule m;

	if (cuModuleLoadData(&m, ptx_spin) || cuModuleGetFunction(&f, m, "spin"))
		_exit(2);
	return cuLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, params, NULL);
}

static void start_driver(CUcontext *ret_context)
{
	if (cuInit(0) || cuCtxCreate_v2(ret_context, 0, 0) ||
	    cuMemHostRegister_v2((void *)common, 4096, CU_MEMHOSTREGISTER_PORTABLE))
		_exit(3);
}

/* A process that spins to the end. */
static _Noreturn void spin_in_process(unsigned which)
{
	CUcontext context;

	start_driver(&context);
	_exit(spin(which) || cuCtxSynchronize());
}

/* -- in the parent -------------------------------------------------------------------------- */

static pid_t start(unsigned which)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		spin_in_process(which);
	return pid;
}

/* Waits until that kernel has come on; @pid, which runs it, must not end before. */
static void wait_for_progress(pid_t pid, unsigned which)
{
	uint32_t before = common->count[which];

	while (common->count[which] == before) {
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		sched_yield();
	}
}

static void end(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void clear(void)
{
	common->stop = 0;
	for (unsigned i = 0; i < N_KERNELS; i++)
		common->count[i] = 0;
}

static struct dev_board_engine_view booked(void)
{
	struct dev_board_engine_view view;

	dev_board_look_engine(board, DEV_BOARD_ENGINE_COMPUTE, &view);
	return view;
}

/* Two at a time would have booked more than there was; and each of two had several slices. */
static void assert_turns_since(const struct dev_board_engine_view *before, uint64_t begin_ns)
{
	uint64_t wall_ns = slu_clock_now_ns() - begin_ns;
	struct dev_board_engine_view after = booked();

	assert_true(after.busy_ns - before->busy_ns > 0);
	assert_true(after.busy_ns - before->busy_ns <= wall_ns);
	assert_true(after.n_jobs - before->n_jobs >= 2 + 4);
}

static void endless_kernels_of_two_processes_take_turns(void **state)
{
	struct dev_board_engine_view before = booked();
	uint64_t begin_ns = slu_clock_now_ns();
	pid_t a, b;

	(void)state;
	clear();
	a = start(0);
	wait_for_progress(a, 0);
	b = start(1);
	for (unsigned i = 0; i < 5; i++) {
		wait_for_progress(b, 1);
		wait_for_progress(a, 0);
	}
	common->stop = 1;
	end(a);
	end(b);
	assert_turns_since(&before, begin_ns);
}

/*
 * In one process: the second context's kernel counts beside the first one's, and the first one can
 * still be ended.
 */
static _Noreturn void spin_in_two_contexts(void)
{
	CUcontext a, b;

	start_driver(&a);
	if (spin(0) || cuCtxCreate_v2(&b, 0, 0) || spin(1))
		_exit(4);
	while (!common->stop)
		sched_yield();
	if (cuCtxSynchronize() || cuCtxSetCurrent(a) || cuCtxSynchronize())
		_exit(5);
	_exit(0);
}

static void endless_kernels_of_two_contexts_take_turns(void **state)
{
	struct dev_board_engine_view before = booked();
	uint64_t begin_ns = slu_clock_now_ns();
	pid_t pid;

	(void)state;
	clear();
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		spin_in_two_contexts();
	for (unsigned i = 0; i < 5; i++) {
		wait_for_progress(pid, 1);
		wait_for_progress(pid, 0);
	}
	common->stop = 1;
	end(pid);
	assert_turns_since(&before, begin_ns);
}

static _Noreturn void end_a_context_that_rests(void)
{
	CUcontext a, b;

	start_driver(&a);
	if (spin(0) || cuCtxCreate_v2(&b, 0, 0) || spin(1))
		_exit(4);
	while (!common->count[0] || !common->count[1])
		sched_yield();
	if (cuCtxDestroy_v2(a))
		_exit(5);
	common->stop = 1;
	_exit(cuCtxSynchronize());
}

static void a_context_can_be_ended_while_another_one_computes(void **state)
{
	pid_t pid;

	(void)state;
	clear();
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		end_a_context_that_rests();
	end(pid);
}

static void who_is_killed_amid_its_slice_leaves_the_engine(void **state)
{
	pid_t a, b;

	(void)state;
	clear();
	a = start(0);
	b = start(1);
	wait_for_progress(a, 0);
	wait_for_progress(b, 1);
	wait_for_progress(a, 0);
	assert_int_equal(kill(a, SIGKILL), 0);
	assert_int_equal(waitpid(a, NULL, 0), a);
	wait_for_progress(b, 1);
	wait_for_progress(b, 1);
	common->stop = 1;
	end(b);
}

static int set_up(void **state)
{
	char path[128];
	pid_t pid;

	(void)state;
	common = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(common, MAP_FAILED);
	test_device_make("16M");
	pid = fork(); /* makes the device */
	assert_true(pid >= 0);
	if (!pid)
		_exit(cuInit(0));
	end(pid);
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
		cmocka_unit_test(endless_kernels_of_two_processes_take_turns),
		cmocka_unit_test(endless_kernels_of_two_contexts_take_turns),
		cmocka_unit_test(a_context_can_be_ended_while_another_one_computes),
		cmocka_unit_test(who_is_killed_amid_its_slice_leaves_the_engine),
	};

	return cmocka_run_group_tests_name("softgpu-compute", tests, set_up, tear_down);
}
