/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/util.h"
#include "board/board.h"

/*
 * One process suspends another. The other one is this program again, started with a word that says
 * what it shall have on the card; it writes a pattern to all of it, and checks it when it is asked
 * to. What is on the card is read off the board.
 */

#define MIB   (1u << 20)
#define WORDS (MIB / 4)
#define LINE  3 /* the target's end of the socket pair */

static struct dev_board *board;

/* Seen by both processes. */
struct shared {
	unsigned n_begun, n_ended; /* calls of the target; atomic */
};

static struct shared *shared;

/* -- the target ------------------------------------------------------------------------------- */

static const char target_ptx[] =
	TEST_PTX_HEAD ".visible .global .align 4 .b8 table[4194304];\n" TEST_PTX_FILL;

static CUfunction fill;

static void must(bool is_so, int code)
{
	if (!is_so)
		_exit(code);
}

/* One thing on the card: @base has @bytes, which begin with the word @seed and count up. */
struct thing {
	CUdeviceptr base;
	uint64_t bytes;
	unsigned seed;
};

static struct thing things[16];
static unsigned n_things;

static void thing_add(CUdeviceptr base, uint64_t bytes)
{
	struct thing *thing = &things[n_things];

	*thing = (struct thing){ base, bytes, 1000003u * ++n_things };
	must(!test_fill(fill, base, (unsigned)(bytes / 4), thing->seed, NULL), 20);
	must(!cuCtxSynchronize(), 21);
}

static bool words_are_right(const unsigned *words, const struct thing *thing)
{
	for (uint64_t i = 0; i < thing->bytes / 4; i++)
		if (words[i] != thing->seed + (unsigned)i)
			return false;
	return true;
}

static bool thing_is_right(const struct thing *thing)
{
	unsigned *words = malloc(thing->bytes);
	bool is_right = words && !cuMemcpyDtoH_v2(words, thing->base, thing->bytes) &&
			words_are_right(words, thing);

	free(words);
	return is_right;
}

static const CUmemAllocationProp prop = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
};

static const CUmemAccessDesc access_all = {
	.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
	.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};

static CUdeviceptr map_handle(CUmemGenericAllocationHandle handle, size_t bytes)
{
	CUdeviceptr at;

	must(!cuMemAddressReserve(&at, bytes, 0, 0, 0), 22);
	must(!cuMemMap(at, bytes, 0, handle, 0) && !cuMemSetAccess(at, bytes, &access_all, 1), 23);
	return at;
}

static CUmemGenericAllocationHandle unmapped; /* with things[0] in it */
static CUarray array;

static void make_array(unsigned char first, bool check)
{
	unsigned char texels[64 * 64];
	CUDA_MEMCPY2D copy = { .WidthInBytes = 64, .Height = 64 };

	memset(texels, first, sizeof(texels));
	copy.srcMemoryType = check ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
	copy.dstMemoryType = check ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
	copy.srcArray = copy.dstArray = array;
	copy.srcHost = copy.dstHost = texels;
	copy.srcPitch = copy.dstPitch = 64;
	if (check)
		memset(texels, 0, sizeof(texels));
	must(!cuMemcpy2D_v2(&copy), 24);
	for (unsigned i = 0; i < sizeof(texels) && check; i++)
		must(texels[i] == first, 25);
}

static void make_everything(void)
{
	CUDA_ARRAY_DESCRIPTOR texels = { 64, 64, CU_AD_FORMAT_UNSIGNED_INT8, 1 };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr p;
	CUmodule module;
	size_t bytes;

	must(!cuModuleLoadData(&module, target_ptx) && !cuModuleGetFunction(&fill, module, "fill"),
	     11);
	/* a handle that is nowhere mapped while the process is away */
	must(!cuMemCreate(&unmapped, 2 * MIB, &prop, 0), 12);
	p = map_handle(unmapped, 2 * MIB);
	thing_add(p, 2 * MIB);
	must(!cuMemUnmap(p, 2 * MIB) && !cuMemAddressFree(p, 2 * MIB), 13);
	/* one that is mapped twice */
	must(!cuMemCreate(&handle, 2 * MIB, &prop, 0), 14);
	thing_add(map_handle(handle, 2 * MIB), 2 * MIB);
	things[n_things] =
		(struct thing){ map_handle(handle, 2 * MIB), 2 * MIB, things[n_things - 1].seed };
	n_things++;
	must(!cuMemAlloc_v2(&p, 5 * MIB + 4096), 15);
	thing_add(p, 5 * MIB + 4096);
	must(!cuMemAlloc_v2(&p, 4096), 16);
	thing_add(p, 4096);
	must(!cuMemAllocAsync(&p, 3 * MIB, NULL), 17);
	thing_add(p, 3 * MIB);
	must(!cuModuleGetGlobal_v2(&p, &bytes, module, "table") && bytes == 4 * MIB, 18);
	thing_add(p, 4 * MIB);
	must(!cuMemAllocManaged(&p, 2 * MIB, CU_MEM_ATTACH_GLOBAL), 19);
	thing_add(p, 2 * MIB);
	must(!cuArrayCreate_v2(&array, &texels), 26);
	make_array(7, false);
}

static void check_everything(void)
{
	things[0].base = map_handle(unmapped, 2 * MIB);
	for (unsigned i = 0; i < n_things; i++)
		must(thing_is_right(&things[i]), 30 + (int)i);
	make_array(7, true);
	must(!cuMemUnmap(things[0].base, 2 * MIB), 28);
	/* and the kernels still run */
	thing_add(things[4].base, 4096);
	must(thing_is_right(&things[--n_things]), 29);
	things[4].seed = things[n_things].seed;
}

static void make_one(void)
{
	CUmodule module;
	CUdeviceptr p;

	must(!cuModuleLoadData(&module, target_ptx) && !cuModuleGetFunction(&fill, module, "fill"),
	     11);
	must(!cuMemAlloc_v2(&p, MIB), 12);
	thing_add(p, MIB);
}

static void make_shared(void)
{
	CUipcMemHandle handle;

	make_one();
	must(!cuIpcGetMemHandle(&handle, things[0].base), 13);
}

static void wait_for_line(void *data)
{
	char c;

	(void)data;
	must(recv(LINE, &c, 1, 0) == 1, 40);
}

static int target_main(const char *what)
{
	CUcontext context;
	CUdevice device;
	char c = 'r';

	must(!cuInit(0) && !cuCtxCreate_v2(&context, 0, 0), 10);
	if (!strcmp(what, "everything"))
		make_everything();
	else if (!strcmp(what, "shared"))
		make_shared();
	else
		make_one();
	if (!strcmp(what, "busy"))
		must(!cuLaunchHostFunc(NULL, wait_for_line, NULL), 41);
	must(send(LINE, &c, 1, 0) == 1, 42);
	if (!strcmp(what, "busy")) {
		must(!cuCtxSynchronize(), 43);
		must(send(LINE, &c, 1, 0) == 1, 44);
	}
	while (recv(LINE, &c, 1, 0) == 1) {
		__atomic_add_fetch(&shared->n_begun, 1, __ATOMIC_SEQ_CST);
		must(!cuCtxGetDevice(&device), 45);
		__atomic_add_fetch(&shared->n_ended, 1, __ATOMIC_SEQ_CST);
		if (!strcmp(what, "everything"))
			check_everything();
		else
			must(thing_is_right(&things[0]), 46);
		must(send(LINE, &c, 1, 0) == 1, 47);
	}
	return 0;
}

/* -- the one who asks ------------------------------------------------------------------------- */

struct target {
	pid_t pid;
	int line;
};

static void target_hear(const struct target *target)
{
	char c;

	assert_int_equal(recv(target->line, &c, 1, 0), 1);
}

static void target_tell(const struct target *target)
{
	assert_int_equal(send(target->line, "c", 1, MSG_NOSIGNAL), 1);
}

static struct target target_start(const char *what, const char *fault)
{
	struct target target;
	int fds[2];

	*shared = (struct shared){ 0 };
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	target.pid = fork();
	assert_true(target.pid >= 0);
	if (!target.pid) {
		if (fault)
			setenv("SLUICE_SOFTGPU_FAULT", fault, 1);
		dup2(fds[1], LINE);
		execl("/proc/self/exe", "target", what, NULL);
		_exit(99);
	}
	close(fds[1]);
	target.line = fds[0];
	target_hear(&target);
	return target;
}

static void target_finish(struct target *target)
{
	int status;

	close(target->line);
	assert_int_equal(waitpid(target->pid, &status, 0), target->pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("the target ended with %#x", status);
	assert_int_equal(dev_board_true_used(board), 0);
}

/* All that it has is as it was. */
static void target_check(const struct target *target)
{
	target_tell(target);
	target_hear(target);
}

static CUprocessState state_of(const struct target *target)
{
	CUprocessState state;

	assert_cu(cuCheckpointProcessGetState(target->pid, &state));
	return state;
}

static void a_suspended_process_has_nothing_on_the_card(void **state)
{
	struct target target = target_start("everything", NULL);
	uint64_t before = dev_board_true_used(board);

	(void)state;
	assert_true(before > 20 * MIB);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(state_of(&target), CU_PROCESS_STATE_RUNNING);
		assert_cu(cuCheckpointProcessLock(target.pid, NULL));
		assert_int_equal(state_of(&target), CU_PROCESS_STATE_LOCKED);
		assert_cu(cuCheckpointProcessCheckpoint(target.pid, NULL));
		assert_int_equal(state_of(&target), CU_PROCESS_STATE_CHECKPOINTED);
		assert_int_equal(dev_board_true_used(board), 0);
		assert_cu(cuCheckpointProcessRestore(target.pid, NULL));
		assert_int_equal(state_of(&target), CU_PROCESS_STATE_LOCKED);
		assert_cu(cuCheckpointProcessUnlock(target.pid, NULL));
		target_check(&target);
	}
	/* managed memory comes back with its next use */
	assert_int_equal(dev_board_true_used(board), before - 2 * MIB);
	target_finish(&target);
}

/* What others have on the card while a process is away is not what it finds there again. */
static void granules_of_a_suspended_process_are_others(void **state)
{
	struct target target = target_start("everything", NULL);
	CUcontext context;
	CUdeviceptr p;

	(void)state;
	assert_cu(cuCheckpointProcessLock(target.pid, NULL));
	assert_cu(cuCheckpointProcessCheckpoint(target.pid, NULL));
	assert_cu(cuCtxCreate_v2(&context, 0, 0));
	assert_cu(cuMemAlloc_v2(&p, 30 * MIB));
	assert_cu(cuMemsetD32_v2(p, 0xdeadbeef, 30 * MIB / 4));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(cuCheckpointProcessRestore(target.pid, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(state_of(&target), CU_PROCESS_STATE_CHECKPOINTED);
	assert_cu(cuCtxDestroy_v2(context));
	assert_cu(cuCheckpointProcessRestore(target.pid, NULL));
	assert_cu(cuCheckpointProcessUnlock(target.pid, NULL));
	target_check(&target);
	target_finish(&target);
}

static void every_call_wants_its_state(void **state)
{
	struct target target = target_start("one", NULL);

	(void)state;
	assert_int_equal(cuCheckpointProcessUnlock(target.pid, NULL), CUDA_ERROR_ILLEGAL_STATE);
	assert_int_equal(cuCheckpointProcessCheckpoint(target.pid, NULL), CUDA_ERROR_ILLEGAL_STATE);
	assert_int_equal(cuCheckpointProcessRestore(target.pid, NULL), CUDA_ERROR_ILLEGAL_STATE);
	assert_cu(cuCheckpointProcessLock(target.pid, NULL));
	assert_int_equal(cuCheckpointProcessLock(target.pid, NULL), CUDA_ERROR_ILLEGAL_STATE);
	assert_int_equal(cuCheckpointProcessRestore(target.pid, NULL), CUDA_ERROR_ILLEGAL_STATE);
	assert_cu(cuCheckpointProcessCheckpoint(target.pid, NULL));
	assert_int_equal(cuCheckpointProcessLock(target.pid, NULL), CUDA_ERROR_ILLEGAL_STATE);
	assert_int_equal(cuCheckpointProcessUnlock(target.pid, NULL), CUDA_ERROR_ILLEGAL_STATE);
	assert_int_equal(cuCheckpointProcessCheckpoint(target.pid, NULL), CUDA_ERROR_ILLEGAL_STATE);
	assert_cu(cuCheckpointProcessRestore(target.pid, NULL));
	assert_cu(cuCheckpointProcessUnlock(target.pid, NULL));
	target_check(&target);
	target_finish(&target);
}

static void arguments_are_checked(void **state)
{
	struct target target = target_start("one", NULL);
	CUcheckpointLockArgs lock = { .reserved0 = 1 };
	CUcheckpointCheckpointArgs checkpoint = { { [7] = 1 } };
	CUcheckpointUnlockArgs unlock = { { [7] = 1 } };
	CUcheckpointRestoreArgs restore = { .reserved1 = 1 };
	CUcheckpointGpuPair pair;
	CUprocessState which;
	int thread;

	(void)state;
	assert_int_equal(cuCheckpointProcessLock(target.pid, &lock), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuCheckpointProcessGetState(target.pid, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuCheckpointProcessGetRestoreThreadId(target.pid, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	/* no process, and one without a driver */
	assert_int_equal(cuCheckpointProcessGetState(-1, &which), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuCheckpointProcessGetState(getppid(), &which), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuCheckpointProcessGetRestoreThreadId(target.pid, &thread));
	assert_true(thread > target.pid);

	assert_cu(cuCheckpointProcessLock(target.pid, NULL));
	assert_int_equal(cuCheckpointProcessCheckpoint(target.pid, &checkpoint),
			 CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuCheckpointProcessCheckpoint(target.pid, NULL));
	assert_int_equal(cuCheckpointProcessRestore(target.pid, &restore),
			 CUDA_ERROR_INVALID_VALUE);
	/* the cards, by their names */
	assert_cu(cuDeviceGetUuid_v2(&pair.oldUuid, 0));
	pair.newUuid = pair.oldUuid;
	pair.newUuid.bytes[0] ^= 1;
	restore = (CUcheckpointRestoreArgs){ .gpuPairs = &pair, .gpuPairsCount = 1 };
	assert_int_equal(cuCheckpointProcessRestore(target.pid, &restore),
			 CUDA_ERROR_NOT_SUPPORTED);
	pair.oldUuid = pair.newUuid;
	assert_int_equal(cuCheckpointProcessRestore(target.pid, &restore),
			 CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuDeviceGetUuid_v2(&pair.oldUuid, 0));
	pair.newUuid = pair.oldUuid;
	assert_cu(cuCheckpointProcessRestore(target.pid, &restore));
	assert_int_equal(cuCheckpointProcessUnlock(target.pid, &unlock), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuCheckpointProcessUnlock(target.pid, NULL));
	target_check(&target);
	target_finish(&target);
}

static void a_lock_waits_for_submitted_work(void **state)
{
	struct target target = target_start("busy", NULL);
	CUcheckpointLockArgs args = { .timeoutMs = 20 };

	(void)state;
	assert_int_equal(cuCheckpointProcessLock(target.pid, &args), CUDA_ERROR_NOT_READY);
	assert_int_equal(state_of(&target), CU_PROCESS_STATE_RUNNING);
	target_tell(&target);
	assert_cu(cuCheckpointProcessLock(target.pid, NULL));
	assert_cu(cuCheckpointProcessUnlock(target.pid, NULL));
	target_hear(&target);
	target_check(&target);
	target_finish(&target);
}

/* Until the first thread of the process sleeps. */
static void wait_until_asleep(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	test_wait_until_asleep_at(path);
}

static void calls_wait_while_a_process_is_suspended(void **state)
{
	struct target target = target_start("one", NULL);

	(void)state;
	assert_cu(cuCheckpointProcessLock(target.pid, NULL));
	target_tell(&target);
	while (!__atomic_load_n(&shared->n_begun, __ATOMIC_SEQ_CST))
		sched_yield();
	wait_until_asleep(target.pid);
	assert_int_equal(__atomic_load_n(&shared->n_ended, __ATOMIC_SEQ_CST), 0);
	assert_cu(cuCheckpointProcessCheckpoint(target.pid, NULL));
	assert_cu(cuCheckpointProcessRestore(target.pid, NULL));
	assert_int_equal(__atomic_load_n(&shared->n_ended, __ATOMIC_SEQ_CST), 0);
	assert_cu(cuCheckpointProcessUnlock(target.pid, NULL));
	target_hear(&target);
	assert_int_equal(__atomic_load_n(&shared->n_ended, __ATOMIC_SEQ_CST), 1);
	target_finish(&target);
}

static void whoever_asks_for_a_lock_and_goes_leaves_the_process_running(void **state)
{
	struct target target = target_start("busy", NULL);
	CUprocessState which;
	int status;
	pid_t asker;

	(void)state;
	asker = fork();
	if (!asker) {
		char pid[16];

		snprintf(pid, sizeof(pid), "%d", (int)target.pid);
		execl("/proc/self/exe", "asker", "lock", pid, NULL);
		_exit(99);
	}
	/* it waits, and the state can be asked for meanwhile */
	wait_until_asleep(asker);
	assert_cu(cuCheckpointProcessGetState(target.pid, &which));
	assert_int_equal(kill(asker, SIGKILL), 0);
	assert_int_equal(waitpid(asker, &status, 0), asker);
	target_tell(&target);
	target_hear(&target);
	target_check(&target);
	target_finish(&target);
}

static void shared_memory_is_not_suspended(void **state)
{
	struct target target = target_start("shared", NULL);

	(void)state;
	assert_cu(cuCheckpointProcessLock(target.pid, NULL));
	assert_int_equal(cuCheckpointProcessCheckpoint(target.pid, NULL), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(state_of(&target), CU_PROCESS_STATE_LOCKED);
	assert_cu(cuCheckpointProcessUnlock(target.pid, NULL));
	target_check(&target);
	target_finish(&target);
}

static void a_suspended_process_that_is_killed_leaves_nothing(void **state)
{
	struct target target = target_start("everything", NULL);
	CUprocessState which;
	int status;

	(void)state;
	assert_cu(cuCheckpointProcessLock(target.pid, NULL));
	assert_cu(cuCheckpointProcessCheckpoint(target.pid, NULL));
	assert_int_equal(kill(target.pid, SIGKILL), 0);
	close(target.line);
	assert_int_equal(waitpid(target.pid, &status, 0), target.pid);
	assert_int_equal(dev_board_true_used(board), 0);
	assert_int_equal(cuCheckpointProcessGetState(target.pid, &which), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuCheckpointProcessRestore(target.pid, NULL), CUDA_ERROR_INVALID_VALUE);
}

/* Each step fails once; the state stays what it was, and the next try succeeds. */
static void a_step_that_fails_changes_nothing(void **state)
{
	unsigned n_failed = 0;

	(void)state;
	for (unsigned n = 1;; n++) {
		struct target target;
		char fault[32];
		bool failed = false;

		snprintf(fault, sizeof(fault), "suspend:%u", n);
		target = target_start("everything", fault);
		assert_cu(cuCheckpointProcessLock(target.pid, NULL));
		if (cuCheckpointProcessCheckpoint(target.pid, NULL)) {
			failed = true;
			assert_int_equal(state_of(&target), CU_PROCESS_STATE_LOCKED);
			assert_cu(cuCheckpointProcessUnlock(target.pid, NULL));
			target_check(&target);
			assert_cu(cuCheckpointProcessLock(target.pid, NULL));
			assert_cu(cuCheckpointProcessCheckpoint(target.pid, NULL));
		}
		assert_int_equal(dev_board_true_used(board), 0);
		if (cuCheckpointProcessRestore(target.pid, NULL)) {
			assert_false(failed);
			failed = true;
			assert_int_equal(state_of(&target), CU_PROCESS_STATE_CHECKPOINTED);
			assert_int_equal(dev_board_true_used(board), 0);
			assert_cu(cuCheckpointProcessRestore(target.pid, NULL));
		}
		assert_cu(cuCheckpointProcessUnlock(target.pid, NULL));
		target_check(&target);
		target_finish(&target);
		n_failed += failed;
		if (!failed)
			break;
	}
	assert_true(n_failed > 15);
}

static void nobody_suspends_processes_that_they_may_not_signal(void **state)
{
	struct target target = target_start("one", NULL);
	char pid[16];
	pid_t asker;
	int status;

	(void)state;
	if (geteuid()) {
		target_finish(&target);
		skip();
	}
	snprintf(pid, sizeof(pid), "%d", (int)target.pid);
	asker = fork();
	if (!asker) {
		execl("/proc/self/exe", "asker", "nobody", pid, NULL);
		_exit(99);
	}
	assert_int_equal(waitpid(asker, &status, 0), asker);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), CUDA_ERROR_OPERATING_SYSTEM & 0xff);
	assert_int_equal(state_of(&target), CU_PROCESS_STATE_RUNNING);
	target_check(&target);
	target_finish(&target);
}

static int asker_main(const char *who, int pid)
{
	must(!cuInit(0), 10);
	if (!strcmp(who, "nobody"))
		must(!setuid(65534), 11);
	return (int)cuCheckpointProcessLock(pid, NULL) & 0xff;
}

static void a_process_may_suspend_itself(void **state)
{
	CUcontext context;

	(void)state;
	assert_cu(cuCtxCreate_v2(&context, 0, 0));
	assert_cu(cuCheckpointProcessLock(getpid(), NULL));
	assert_cu(cuCheckpointProcessCheckpoint(getpid(), NULL));
	assert_int_equal(dev_board_true_used(board), 0);
	assert_cu(cuCheckpointProcessRestore(getpid(), NULL));
	assert_cu(cuCheckpointProcessUnlock(getpid(), NULL));
	assert_cu(cuCtxDestroy_v2(context));
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_suspended_process_has_nothing_on_the_card),
		cmocka_unit_test(granules_of_a_suspended_process_are_others),
		cmocka_unit_test(every_call_wants_its_state),
		cmocka_unit_test(arguments_are_checked),
		cmocka_unit_test(a_lock_waits_for_submitted_work),
		cmocka_unit_test(calls_wait_while_a_process_is_suspended),
		cmocka_unit_test(whoever_asks_for_a_lock_and_goes_leaves_the_process_running),
		cmocka_unit_test(shared_memory_is_not_suspended),
		cmocka_unit_test(a_suspended_process_that_is_killed_leaves_nothing),
		cmocka_unit_test(a_step_that_fails_changes_nothing),
		cmocka_unit_test(nobody_suspends_processes_that_they_may_not_signal),
		cmocka_unit_test(a_process_may_suspend_itself),
	};
	char path[128], number[16];
	int r, fd;

	if (argc > 1 && !strcmp(argv[0], "asker"))
		return asker_main(argv[1], atoi(argv[2]));
	if (argc > 1 && !strcmp(argv[0], "target")) {
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED,
			      atoi(getenv("TEST_SHARED")), 0);
		return shared == MAP_FAILED ? 98 : target_main(argv[1]);
	}
	fd = memfd_create("shared", 0);
	if (fd == LINE)
		fd = dup(fd);
	if (fd < 0 || ftruncate(fd, sizeof(*shared)) < 0)
		return 1;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	snprintf(number, sizeof(number), "%d", fd);
	setenv("TEST_SHARED", number, 1);
	test_device_make("48M");
	assert_int_equal(cuInit(0), CUDA_SUCCESS);
	snprintf(path, sizeof(path), "%s/softgpu0", test_folder);
	if (dev_board_open(path, NULL, &board))
		return 1;
	r = cmocka_run_group_tests_name("softgpu-suspend", tests, NULL, NULL);
	dev_board_close(board);
	test_device_remove();
	return r;
}
