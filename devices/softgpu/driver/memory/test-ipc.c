/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "board/board.h"

/*
 * Memory and events between processes. This process never starts the driver: its children do, and
 * speak over sockets. What they hold is read off the board.
 */

#define MIB (1u << 20)

static struct dev_board *board;

/* Each child runs one side with its end of a socket pair; 0 is success. */
struct side {
	pid_t pid;
	int socket;
};

static struct side start(int (*run)(int socket))
{
	struct side side;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	fflush(NULL);
	side.pid = fork();
	assert_true(side.pid >= 0);
	if (!side.pid) {
		CUcontext context;

		close(fds[0]);
		if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0))
			_exit(100);
		_exit(run(fds[1]));
	}
	close(fds[1]);
	side.socket = fds[0];
	return side;
}

static void finish(struct side *side, int wanted)
{
	int status;

	close(side->socket);
	assert_int_equal(waitpid(side->pid, &status, 0), side->pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted)
		fail_msg("a child ended with %#x", status);
}

static uint64_t used_bytes(void)
{
	struct dev_board_view view;

	assert_int_equal(dev_board_look(board, &view), 0);
	return view.used_bytes;
}

/* Bytes and, perhaps, a descriptor, from one side to the other through us. */
struct packet {
	char bytes[CU_IPC_HANDLE_SIZE];
	int fd;
};

static void send_packet(int socket, const struct packet *p)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (void *)(uintptr_t)p->bytes, sizeof(p->bytes) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (p->fd >= 0) {
		memcpy(CMSG_DATA(&control.head), &p->fd, sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control.bytes);
	}
	if (sendmsg(socket, &message, 0) < 0)
		_exit(101);
}

static bool receive_packet(int socket, struct packet *p)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { p->bytes, sizeof(p->bytes) };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control.bytes) };

	p->fd = -1;
	if (recvmsg(socket, &message, 0) <= 0)
		return false;
	if (CMSG_FIRSTHDR(&message))
		memcpy(&p->fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	return true;
}

static void forward(int from, int to)
{
	struct packet p;

	assert_true(receive_packet(from, &p));
	send_packet(to, &p);
	if (p.fd >= 0)
		close(p.fd);
}

static void say_done(int socket)
{
	send_packet(socket, &(struct packet){ .fd = -1 });
}

static void wait_done(int socket)
{
	struct packet p;

	if (!receive_packet(socket, &p))
		_exit(102);
}

/* -- legacy handles of memory --------------------------------------------------------------- */

static int give_memory(int socket)
{
	struct packet p = { .fd = -1 };
	CUipcMemHandle handle;
	CUdeviceptr a, small;
	uint32_t word = 0;

	if (cuMemAlloc_v2(&a, 4 * MIB) || cuMemAlloc_v2(&small, 100) || cuMemsetD32_v2(a, 7, MIB) ||
	    cuMemsetD32_v2(small, 9, 25) || cuCtxSynchronize())
		return 1;
	if (cuIpcGetMemHandle(&handle, a) ||
	    cuIpcOpenMemHandle_v2(&a, handle, 1) != CUDA_ERROR_INVALID_CONTEXT)
		return 2;
	memcpy(p.bytes, &handle, sizeof(handle));
	send_packet(socket, &p);
	if (cuIpcGetMemHandle(&handle, small))
		return 3;
	memcpy(p.bytes, &handle, sizeof(handle));
	send_packet(socket, &p);
	wait_done(socket);
	if (cuMemcpyDtoH_v2(&word, a + 8, 4) || word != 8)
		return 4;
	return cuMemFree_v2(a) || cuMemFree_v2(small) ? 5 : 0;
}

static int take_memory(int socket)
{
	CUipcMemHandle handle;
	struct packet p;
	CUdeviceptr a, b;
	uint32_t word = 0;

	if (!receive_packet(socket, &p))
		return 1;
	memcpy(&handle, p.bytes, sizeof(handle));
	if (cuIpcOpenMemHandle_v2(&a, handle, 1) || cuMemcpyDtoH_v2(&word, a + 4 * MIB - 4, 4) ||
	    word != 7)
		return 2;
	if (cuIpcOpenMemHandle_v2(&b, handle, 1) || a != b)
		return 3;
	if (cuMemsetD32_v2(a + 8, 8, 1) || cuCtxSynchronize() || cuIpcCloseMemHandle(a))
		return 4;
	if (!receive_packet(socket, &p))
		return 5;
	memcpy(&handle, p.bytes, sizeof(handle));
	if (cuIpcOpenMemHandle_v2(&b, handle, 0) || cuMemcpyDtoH_v2(&word, b + 96, 4) || word != 9)
		return 6;
	if (cuIpcCloseMemHandle(b) || cuIpcCloseMemHandle(a) ||
	    cuIpcCloseMemHandle(a) != CUDA_ERROR_INVALID_VALUE)
		return 7;
	say_done(socket);
	return 0;
}

static void a_handle_opens_the_same_memory(void **state)
{
	struct side giver = start(give_memory), taker = start(take_memory);

	(void)state;
	forward(giver.socket, taker.socket);
	forward(giver.socket, taker.socket);
	forward(taker.socket, giver.socket);
	finish(&taker, 0);
	finish(&giver, 0);
	assert_int_equal(used_bytes(), 0);
}

/* -- descriptors of handles ----------------------------------------------------------------- */

static CUmemAllocationProp prop_of(CUmemLocationType type)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = { type, 0 },
	};
}

static CUresult map_whole(CUmemGenericAllocationHandle handle, size_t bytes, CUdeviceptr *ret)
{
	CUmemAccessDesc access = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUresult r = cuMemAddressReserve(ret, bytes, 0, 0, 0);

	if (!r)
		r = cuMemMap(*ret, bytes, 0, handle, 0);
	return r ? r : cuMemSetAccess(*ret, bytes, &access, 1);
}

static int export_both(int socket)
{
	for (unsigned i = 0; i < 2; i++) {
		CUmemAllocationProp prop =
			prop_of(i ? CU_MEM_LOCATION_TYPE_HOST_NUMA : CU_MEM_LOCATION_TYPE_DEVICE);
		CUmemGenericAllocationHandle handle;
		struct packet p = { .fd = -1 };
		CUdeviceptr a;

		if (cuMemCreate(&handle, 4 * MIB, &prop, 0) || map_whole(handle, 4 * MIB, &a) ||
		    cuMemsetD32_v2(a, 40 + i, MIB) || cuCtxSynchronize())
			return 1;
		if (cuMemExportToShareableHandle(&p.fd, handle,
						 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
			return 2;
		send_packet(socket, &p);
		close(p.fd);
	}
	/* the other side has them; this one dies without a word */
	wait_done(socket);
	_exit(0);
}

static int import_both(int socket)
{
	size_t available, total;
	CUdeviceptr all[2];
	uint32_t word;

	for (unsigned i = 0; i < 2; i++) {
		CUmemGenericAllocationHandle handle;
		struct packet p;

		if (!receive_packet(socket, &p) ||
		    cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)p.fd,
						   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
			return 1;
		close(p.fd);
		if (map_whole(handle, 4 * MIB, &all[i]) || cuMemRelease(handle))
			return 2;
	}
	say_done(socket);
	wait_done(socket);
	/* the other one is gone, and what was in its account is in ours */
	if (cuMemGetInfo_v2(&available, &total) || total - available != 4 * MIB)
		return 4;
	say_done(socket);
	wait_done(socket);
	for (unsigned i = 0; i < 2; i++)
		if (cuMemcpyDtoH_v2(&word, all[i] + 4 * MIB - 4, 4) || word != 40 + i)
			return 3;
	return 0;
}

static void memory_lives_as_long_as_anybody_holds_it(void **state)
{
	struct side giver = start(export_both), taker = start(import_both);

	(void)state;
	forward(giver.socket, taker.socket);
	forward(giver.socket, taker.socket);
	forward(taker.socket, giver.socket);
	finish(&giver, 0);
	say_done(taker.socket);
	wait_done(taker.socket);
	assert_int_equal(used_bytes(), 4 * MIB);
	say_done(taker.socket);
	finish(&taker, 0);
	assert_int_equal(used_bytes(), 0);
}

/* -- pools ---------------------------------------------------------------------------------- */

static CUmemPoolProps shared_pool(void)
{
	return (CUmemPoolProps){
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
	};
}

static int give_pool(int socket)
{
	static const size_t sizes[] = { 4 * MIB, 1000 };
	CUmemPoolProps props = shared_pool(), own = props;
	struct packet p = { .fd = -1 };
	CUmemPoolPtrExportData data;
	CUmemoryPool pool, other;
	CUdeviceptr a[2], b;
	uint32_t word = 0;

	own.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
	if (cuMemPoolCreate(&pool, &props) || cuMemPoolCreate(&other, &own))
		return 1;
	/* one that was not made for it is not shared, nor is what lies in it */
	if (cuMemPoolExportToShareableHandle(&p.fd, other, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
					     0) != CUDA_ERROR_INVALID_VALUE ||
	    cuMemAllocFromPoolAsync(&b, 512, other, NULL) ||
	    cuMemPoolExportPointer(&data, b) != CUDA_ERROR_INVALID_VALUE)
		return 2;
	if (cuMemPoolExportToShareableHandle(&p.fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
					     0))
		return 3;
	send_packet(socket, &p);
	close(p.fd);
	p.fd = -1;
	for (unsigned i = 0; i < 2; i++) {
		if (cuMemAllocFromPoolAsync(&a[i], sizes[i], pool, NULL) ||
		    cuMemsetD32Async(a[i], 60 + i, sizes[i] / 4, NULL) || cuCtxSynchronize() ||
		    cuMemPoolExportPointer(&data, a[i]))
			return 4;
		memcpy(p.bytes, &data, sizeof(data));
		send_packet(socket, &p);
	}
	wait_done(socket);
	if (cuMemcpyDtoH_v2(&word, a[1] + 8, 4) || word != 99)
		return 5;
	return cuMemFreeAsync(a[0], NULL) || cuMemFree_v2(a[1]) || cuMemFree_v2(b) ||
			       cuMemPoolDestroy(pool) || cuMemPoolDestroy(other) ||
			       cuCtxSynchronize()
		       ? 6
		       : 0;
}

static int take_pool(int socket)
{
	static const size_t sizes[] = { 4 * MIB, 1000 };
	CUmemPoolPtrExportData data;
	CUmemoryPool pool, other;
	CUdeviceptr a[2], b;
	struct packet p;
	uint32_t word;

	if (!receive_packet(socket, &p) ||
	    cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)p.fd,
					       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
		return 1;
	close(p.fd);
	if (cuMemAllocFromPoolAsync(&b, 512, pool, NULL) != CUDA_ERROR_INVALID_VALUE ||
	    cuDeviceSetMemPool(0, pool) != CUDA_ERROR_INVALID_VALUE ||
	    cuDeviceGetDefaultMemPool(&other, 0))
		return 2;
	for (unsigned i = 0; i < 2; i++) {
		if (!receive_packet(socket, &p))
			return 3;
		memcpy(&data, p.bytes, sizeof(data));
		/* it is of that pool and of no other */
		if (cuMemPoolImportPointer(&a[i], other, &data) != CUDA_ERROR_INVALID_VALUE ||
		    cuMemPoolImportPointer(&a[i], pool, &data) ||
		    cuMemcpyDtoH_v2(&word, a[i] + sizes[i] - 4, 4) || word != 60 + i)
			return 4;
	}
	if (cuMemsetD32_v2(a[1] + 8, 99, 1) || cuCtxSynchronize())
		return 5;
	if (cuMemFreeAsync(a[0], NULL) || cuMemFree_v2(a[1]) || cuCtxSynchronize() ||
	    cuMemFree_v2(a[1]) != CUDA_ERROR_INVALID_VALUE || cuMemPoolDestroy(pool))
		return 6;
	data.reserved[8] ^= 1;
	if (cuMemPoolImportPointer(&a[0], other, &data) != CUDA_ERROR_INVALID_VALUE)
		return 7;
	say_done(socket);
	return 0;
}

static void blocks_of_a_pool_are_seen_by_another_process(void **state)
{
	struct side giver = start(give_pool), taker = start(take_pool);

	(void)state;
	forward(giver.socket, taker.socket);
	forward(giver.socket, taker.socket);
	forward(giver.socket, taker.socket);
	forward(taker.socket, giver.socket);
	finish(&taker, 0);
	finish(&giver, 0);
	assert_int_equal(used_bytes(), 0);
}

/* -- events --------------------------------------------------------------------------------- */

static void wait_for_socket(void *user)
{
	wait_done(*(int *)user);
}

static int record_event(int socket)
{
	struct packet p = { .fd = -1 };
	CUipcEventHandle handle;
	CUevent event;

	if (cuEventCreate(&event, CU_EVENT_INTERPROCESS) != CUDA_ERROR_INVALID_VALUE ||
	    cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING))
		return 1;
	/* held up until the other side says so */
	if (cuLaunchHostFunc(NULL, wait_for_socket, &socket) || cuEventRecord(event, NULL) ||
	    cuEventQuery(event) != CUDA_ERROR_NOT_READY)
		return 2;
	if (cuIpcGetEventHandle(&handle, event))
		return 3;
	memcpy(p.bytes, &handle, sizeof(handle));
	send_packet(socket, &p);
	if (cuEventSynchronize(event))
		return 4;
	wait_done(socket);
	return cuEventDestroy_v2(event) ? 5 : 0;
}

static int await_event(int socket)
{
	CUipcEventHandle handle;
	struct packet p;
	CUevent event;

	if (!receive_packet(socket, &p))
		return 1;
	memcpy(&handle, p.bytes, sizeof(handle));
	if (cuIpcOpenEventHandle(&event, handle))
		return 2;
	if (cuEventQuery(event) != CUDA_ERROR_NOT_READY || cuStreamWaitEvent(NULL, event, 0) ||
	    cuStreamQuery(NULL) != CUDA_ERROR_NOT_READY)
		return 3;
	say_done(socket);
	if (cuEventSynchronize(event) || cuStreamSynchronize(NULL) || cuEventDestroy_v2(event))
		return 4;
	say_done(socket);
	return 0;
}

static void an_event_is_waited_for_by_another_process(void **state)
{
	struct side recorder = start(record_event), waiter = start(await_event);

	(void)state;
	forward(recorder.socket, waiter.socket);
	forward(waiter.socket, recorder.socket);
	forward(waiter.socket, recorder.socket);
	finish(&waiter, 0);
	finish(&recorder, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handle_opens_the_same_memory),
		cmocka_unit_test(memory_lives_as_long_as_anybody_holds_it),
		cmocka_unit_test(blocks_of_a_pool_are_seen_by_another_process),
		cmocka_unit_test(an_event_is_waited_for_by_another_process),
	};
	char path[128];
	int r;

	test_device_make("32M");
	/* a child makes the board, so that this process has no driver */
	if (!fork())
		_exit((int)cuInit(0));
	wait(&r);
	snprintf(path, sizeof(path), "%s/softgpu0", test_folder);
	if (r || dev_board_open(path, NULL, &board))
		return 1;
	r = cmocka_run_group_tests_name("softgpu-ipc", tests, NULL, NULL);
	dev_board_close(board);
	test_device_remove();
	return r;
}
