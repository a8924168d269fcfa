/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "board/board.h"
#include "clients/cl-util.h"
#include "integration/limiter-scenes.h"

#include <CL/cl_ext.h>

#define MIB ((size_t)1 << 20)

/* What the test sets; the arithmetic of the scenes rests on it. */
#define RATE_IN	 ((double)(256 * MIB))
#define RATE_OUT ((double)(128 * MIB))

#define EXPECT(condition)                                                               \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			return __LINE__;                                                \
		}                                                                       \
	} while (0)

static const char source[] = "kernel void touch(global uint *p) { p[get_global_id(0)] += 1; }\n";

static struct dev_board *open_board(void)
{
	struct dev_board *board;
	char path[512];

	if (dev_board_folder(path, sizeof(path) - 16))
		return NULL;
	strcat(path, "/opencl0");
	return dev_board_open(path, NULL, &board) ? NULL : board;
}

static uint64_t visible_bytes(struct dev_board *board)
{
	static struct dev_board_view view;

	return dev_board_look(board, &view) ? UINT64_MAX : view.used_bytes;
}

/*
 * Waits until nothing is left on the board. A driver's own threads may hold the last reference to a
 * context for a moment after the program has let go of it. What never leaves is seen as a timeout.
 */
static void wait_until_empty(struct dev_board *board)
{
	while (dev_board_true_used(board))
		usleep(1000);
}

static struct dev_board_engine_view engine(struct dev_board *board, enum dev_board_engine e)
{
	struct dev_board_engine_view view;

	dev_board_look_engine(board, e, &view);
	return view;
}

static uint64_t time_of(double bytes, double rate)
{
	return (uint64_t)(bytes / rate * 1e9);
}

static cl_mem make(struct cl_bench *b, cl_mem_flags flags, size_t bytes, void *host, cl_int *ret_r)
{
	return clCreateBuffer(b->context, flags, bytes, host, ret_r);
}

static int says_what_it_is(void)
{
	struct dev_board *board = open_board();
	char extensions[8192];
	cl_ulong bytes = 0;
	uint8_t uuid[16] = { 0 };
	struct cl_bench b;
	cl_device_type type;
	cl_bool unified = CL_TRUE;
	cl_platform_id platform;
	cl_device_id id;
	size_t size;

	cl_open(&b, source, 0);
	if (!board)
		board = open_board();
	EXPECT(board);
	EXPECT(!clGetPlatformIDs(1, &platform, NULL));
	EXPECT(!clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &id, NULL) && id == b.device);
	EXPECT(!clGetDeviceIDs(platform, CL_DEVICE_TYPE_DEFAULT, 1, &id, NULL) && id == b.device);
	EXPECT(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &id, NULL) == CL_DEVICE_NOT_FOUND);
	EXPECT(clGetDeviceIDs(platform, 0, 1, &id, NULL) == CL_INVALID_DEVICE_TYPE);
	EXPECT(!clGetDeviceInfo(b.device, CL_DEVICE_TYPE, sizeof(type), &type, NULL));
	EXPECT(type & CL_DEVICE_TYPE_GPU && !(type & CL_DEVICE_TYPE_CPU));
	EXPECT(!clGetDeviceInfo(b.device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified,
				NULL));
	EXPECT(unified == CL_FALSE);
	EXPECT(!clGetDeviceInfo(b.device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(bytes), &bytes, NULL));
	EXPECT(bytes == 64 * MIB);
	EXPECT(!clGetDeviceInfo(b.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(bytes), &bytes,
				NULL));
	EXPECT(bytes == 64 * MIB);
	EXPECT(clGetDeviceInfo(b.device, CL_DEVICE_GLOBAL_MEM_SIZE, 1, &bytes, NULL) ==
	       CL_INVALID_VALUE);
	EXPECT(!clGetDeviceInfo(b.device, CL_DEVICE_UUID_KHR, sizeof(uuid), uuid, &size));
	EXPECT(size == 16 && !memcmp(uuid, dev_board_identity(board)->uuid, 16));
	EXPECT(!clGetDeviceInfo(b.device, CL_DEVICE_EXTENSIONS, sizeof(extensions), extensions,
				&size));
	EXPECT(size == strlen(extensions) + 1);
	EXPECT(strstr(extensions, "cl_khr_device_uuid"));
	EXPECT(!strstr(extensions, "cl_khr_command_buffer"));
	EXPECT(!clGetExtensionFunctionAddressForPlatform(platform, "clCreateCommandBufferKHR"));
	cl_close(&b);
	return 0;
}

static int counts_what_is_on_the_device(void)
{
	const cl_image_format format = { CL_RGBA, CL_UNORM_INT8 };
	const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
				     .image_width = 1024,
				     .image_height = 1024 };
	cl_buffer_region region = { 0, MIB };
	cl_mem a, part, host, used, image;
	struct dev_board *board;
	struct cl_bench b;
	void *memory, *svm;
	cl_int r;

	cl_open(&b, source, 0);
	board = open_board();
	EXPECT(board);
	/* the context: 3 MiB that nobody can see */
	EXPECT(visible_bytes(board) == 0 && dev_board_true_used(board) == 3 * MIB);
	EXPECT(!make(&b, 0, 64 * MIB + 1, NULL, &r) && r == CL_INVALID_BUFFER_SIZE);
	EXPECT(!make(&b, 0, 62 * MIB, NULL, &r) && r == CL_MEM_OBJECT_ALLOCATION_FAILURE);
	EXPECT(!make(&b, CL_MEM_USE_HOST_PTR, MIB, NULL, &r) && r == CL_INVALID_HOST_PTR);
	EXPECT(dev_board_true_used(board) == 3 * MIB);
	/* rounded up to 64 KiB in secret */
	a = make(&b, 0, 2 * MIB + 1, NULL, &r);
	EXPECT(a && visible_bytes(board) == 2 * MIB + 1);
	EXPECT(dev_board_true_used(board) == 5 * MIB + 65536);
	part = clCreateSubBuffer(a, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &r);
	EXPECT(part && visible_bytes(board) == 2 * MIB + 1);
	/* a part keeps the whole */
	EXPECT(!clReleaseMemObject(a) && visible_bytes(board) == 2 * MIB + 1);
	EXPECT(!clRetainMemObject(part) && !clReleaseMemObject(part));
	EXPECT(visible_bytes(board) == 2 * MIB + 1);
	EXPECT(!clReleaseMemObject(part) && visible_bytes(board) == 0);
	host = make(&b, CL_MEM_ALLOC_HOST_PTR, 2 * MIB, NULL, &r);
	EXPECT(host && visible_bytes(board) == 0);
	memory = aligned_alloc(4096, MIB);
	used = make(&b, CL_MEM_USE_HOST_PTR, MIB, memory, &r);
	EXPECT(used && visible_bytes(board) == MIB);
	image = clCreateImage(b.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &r);
	EXPECT(image && visible_bytes(board) == 5 * MIB);
	svm = clSVMAlloc(b.context, CL_MEM_READ_WRITE, MIB, 0);
	EXPECT(svm && visible_bytes(board) == 6 * MIB);
	EXPECT(!clSVMAlloc(b.context, CL_MEM_READ_WRITE, 60 * MIB, 0));
	clSVMFree(b.context, svm);
	svm = clSVMAlloc(b.context, CL_MEM_READ_WRITE, MIB, 0);
	EXPECT(!clEnqueueSVMFree(b.queue, 1, &svm, NULL, NULL, 0, NULL, NULL));
	EXPECT(!clFinish(b.queue));
	EXPECT(!clReleaseMemObject(host) && !clReleaseMemObject(used));
	EXPECT(!clReleaseMemObject(image));
	cl_close(&b);
	free(memory);
	wait_until_empty(board);
	return 0;
}

static int frees_late(void)
{
	struct dev_board *board;
	struct cl_bench b;
	cl_mem a;
	cl_int r;

	cl_open(&b, source, 0);
	board = open_board();
	a = make(&b, 0, 40 * MIB, NULL, &r);
	EXPECT(a && !clReleaseMemObject(a));
	/* in an hour, says the setting */
	EXPECT(visible_bytes(board) == 0 && dev_board_true_used(board) == 40 * MIB);
	EXPECT(!make(&b, 0, 40 * MIB, NULL, &r) && r == CL_MEM_OBJECT_ALLOCATION_FAILURE);
	a = make(&b, 0, 24 * MIB, NULL, &r);
	EXPECT(a);
	return 0;
}

static int fails_lazily(void)
{
	static const cl_uint zero;
	struct dev_board *board;
	struct cl_bench b;
	size_t n = 1024;
	cl_kernel kernel, clone;
	cl_mem first, second;
	cl_int r;

	cl_open(&b, source, 0);
	board = open_board();
	first = make(&b, 0, 40 * MIB, NULL, &r);
	second = make(&b, 0, 40 * MIB, NULL, &r);
	EXPECT(first && second && visible_bytes(board) == 0);
	kernel = clCreateKernel(b.program, "touch", &r);
	EXPECT(kernel && !clSetKernelArg(kernel, 0, sizeof(first), &first));
	clone = clCloneKernel(kernel, &r);
	EXPECT(!clEnqueueNDRangeKernel(b.queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL));
	EXPECT(visible_bytes(board) == 40 * MIB);
	EXPECT(!clSetKernelArg(kernel, 0, sizeof(second), &second));
	EXPECT(clEnqueueNDRangeKernel(b.queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL) ==
	       CL_MEM_OBJECT_ALLOCATION_FAILURE);
	EXPECT(clEnqueueFillBuffer(b.queue, second, &zero, 4, 0, MIB, 0, NULL, NULL) ==
	       CL_MEM_OBJECT_ALLOCATION_FAILURE);
	EXPECT(clEnqueueReadBuffer(b.queue, second, CL_TRUE, 0, 4, &n, 0, NULL, NULL) ==
	       CL_MEM_OBJECT_ALLOCATION_FAILURE);
	/* what was refused can be used when there is memory */
	EXPECT(!clFinish(b.queue) && !clReleaseKernel(clone) && !clReleaseMemObject(first));
	EXPECT(visible_bytes(board) == 0);
	EXPECT(!clEnqueueNDRangeKernel(b.queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL));
	EXPECT(!clFinish(b.queue) && visible_bytes(board) == 40 * MIB);
	EXPECT(!clReleaseKernel(kernel) && !clReleaseMemObject(second));
	cl_close(&b);
	return 0;
}

/* Copies behind copies in one queue follow each other without a gap on the engine's timeline. */
static int copies_queue_without_a_gap(void)
{
	struct dev_board_engine_view in, out;
	uint64_t enqueued_ns, busy_in_ns = 0;
	char *host = calloc(1, 4 * MIB);
	struct dev_board *board;
	cl_command_queue other;
	struct cl_bench b;
	cl_mem mem, second;
	cl_int r;

	cl_open(&b, source, 0);
	board = open_board();
	other = clCreateCommandQueueWithProperties(b.context, b.device, NULL, &r);
	mem = cl_buffer(&b, 16 * MIB);
	second = cl_buffer(&b, 4 * MIB);
	for (unsigned i = 0; i < 4; i++) {
		EXPECT(!clEnqueueWriteBuffer(b.queue, mem, CL_FALSE, i * 4 * MIB, 4 * MIB, host, 0,
					     NULL, NULL));
		busy_in_ns += time_of(4 * MIB, RATE_IN);
	}
	EXPECT(!clEnqueueReadBuffer(other, second, CL_FALSE, 0, 4 * MIB, host, 0, NULL, NULL));
	enqueued_ns = slu_clock_now_ns();
	EXPECT(!clFlush(b.queue) && !clFinish(other) && !clFinish(b.queue));
	/* nothing is done before its time on the bus is over */
	in = engine(board, DEV_BOARD_ENGINE_IN);
	out = engine(board, DEV_BOARD_ENGINE_OUT);
	EXPECT(slu_clock_now_ns() >= in.free_at_ns && slu_clock_now_ns() >= out.free_at_ns);
	EXPECT(in.n_jobs == 4 && in.bytes == 16 * MIB && in.busy_ns == busy_in_ns);
	EXPECT(out.n_jobs == 1 && out.bytes == 4 * MIB);
	EXPECT(out.busy_ns == time_of(4 * MIB, RATE_OUT));
	/* no gap; and the other direction did not wait */
	EXPECT(in.free_at_ns <= enqueued_ns + in.busy_ns);
	EXPECT(out.free_at_ns <= enqueued_ns + out.busy_ns);
	EXPECT(!clReleaseMemObject(mem) && !clReleaseMemObject(second));
	EXPECT(!clReleaseCommandQueue(other));
	cl_close(&b);
	free(host);
	return 0;
}

/* A copy is booked when what it waits for has happened, not when it is enqueued. */
static int copies_wait_for_what_they_wait_for(cl_command_queue_properties properties)
{
	struct dev_board *board;
	struct cl_bench b;
	cl_event gate, kernel_done, write_done, read_done;
	uint64_t set_ns;
	cl_uint words[1024];
	size_t n = 1024;
	cl_kernel kernel;
	cl_mem mem;
	cl_int r, status = 77;

	for (unsigned i = 0; i < 1024; i++)
		words[i] = i;
	cl_open(&b, source, properties);
	board = open_board();
	mem = cl_buffer(&b, 4096);
	kernel = clCreateKernel(b.program, "touch", &r);
	EXPECT(!clSetKernelArg(kernel, 0, sizeof(mem), &mem));
	gate = clCreateUserEvent(b.context, &r);
	EXPECT(!clEnqueueWriteBuffer(b.queue, mem, CL_FALSE, 0, 4096, words, 1, &gate,
				     &write_done));
	EXPECT(!clEnqueueNDRangeKernel(b.queue, kernel, 1, NULL, &n, NULL, 1, &write_done,
				       &kernel_done));
	EXPECT(!clEnqueueReadBuffer(b.queue, mem, CL_FALSE, 0, 4096, words, 1, &kernel_done,
				    &read_done));
	EXPECT(!clFlush(b.queue));
	EXPECT(engine(board, DEV_BOARD_ENGINE_IN).n_jobs == 0);
	EXPECT(!clGetEventInfo(write_done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
			       &status, NULL));
	EXPECT(status > CL_COMPLETE);
	set_ns = slu_clock_now_ns();
	EXPECT(!clSetUserEventStatus(gate, CL_COMPLETE));
	EXPECT(!clWaitForEvents(1, &read_done));
	EXPECT(engine(board, DEV_BOARD_ENGINE_IN).n_jobs == 1);
	EXPECT(engine(board, DEV_BOARD_ENGINE_IN).free_at_ns >= set_ns + time_of(4096, RATE_IN));
	EXPECT(engine(board, DEV_BOARD_ENGINE_OUT).free_at_ns >=
	       engine(board, DEV_BOARD_ENGINE_IN).free_at_ns + time_of(4096, RATE_OUT));
	for (unsigned i = 0; i < 1024; i++)
		EXPECT(words[i] == i + 1);
	EXPECT(!clReleaseEvent(gate) && !clReleaseEvent(write_done));
	EXPECT(!clReleaseEvent(kernel_done) && !clReleaseEvent(read_done));
	EXPECT(!clReleaseKernel(kernel) && !clReleaseMemObject(mem));
	cl_close(&b);
	return 0;
}

static int waits_in_order(void)
{
	return copies_wait_for_what_they_wait_for(0);
}

static int waits_out_of_order(void)
{
	return copies_wait_for_what_they_wait_for(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

static cl_ulong profile(cl_event event, cl_profiling_info what)
{
	cl_ulong ns = 0;

	return clGetEventProfilingInfo(event, what, sizeof(ns), &ns, NULL) ? 0 : ns;
}

static int profiles_show_the_bus(void)
{
	char *host = calloc(1, 4 * MIB);
	struct cl_bench b;
	cl_event events[2];
	cl_mem mem;

	cl_open(&b, source, CL_QUEUE_PROFILING_ENABLE);
	mem = cl_buffer(&b, 4 * MIB);
	EXPECT(!clEnqueueWriteBuffer(b.queue, mem, CL_FALSE, 0, 4 * MIB, host, 0, NULL,
				     &events[0]));
	EXPECT(!clEnqueueReadBuffer(b.queue, mem, CL_TRUE, 0, 4 * MIB, host, 0, NULL, &events[1]));
	for (unsigned i = 0; i < 2; i++) {
		cl_ulong queued = profile(events[i], CL_PROFILING_COMMAND_QUEUED);
		cl_ulong submit = profile(events[i], CL_PROFILING_COMMAND_SUBMIT);
		cl_ulong start = profile(events[i], CL_PROFILING_COMMAND_START);
		cl_ulong end = profile(events[i], CL_PROFILING_COMMAND_END);

		EXPECT(queued && queued <= submit && submit <= start && start < end);
		EXPECT(end - start >= time_of(4 * MIB, i ? RATE_OUT : RATE_IN));
		EXPECT(!clRetainEvent(events[i]) && !clReleaseEvent(events[i]));
		EXPECT(!clReleaseEvent(events[i]));
	}
	EXPECT(!clReleaseMemObject(mem));
	cl_close(&b);
	free(host);
	return 0;
}

static int maps_take_the_bus(void)
{
	const size_t origin[3] = { 0, 0, 0 }, region[3] = { 4096, 16, 2 };
	struct dev_board_engine_view in, out;
	struct dev_board *board;
	struct cl_bench b;
	cl_mem mem, host, fresh;
	char *p, rect[4096 * 32];
	cl_int r;

	cl_open(&b, source, 0);
	board = open_board();
	mem = cl_buffer(&b, MIB);
	host = make(&b, CL_MEM_ALLOC_HOST_PTR, MIB, NULL, &r);
	p = clEnqueueMapBuffer(b.queue, mem, CL_TRUE, CL_MAP_READ, 0, 1000, 0, NULL, NULL, &r);
	EXPECT(p && !clEnqueueUnmapMemObject(b.queue, mem, p, 0, NULL, NULL));
	EXPECT(!clFinish(b.queue));
	in = engine(board, DEV_BOARD_ENGINE_IN);
	out = engine(board, DEV_BOARD_ENGINE_OUT);
	EXPECT(in.bytes == 0 && out.bytes == 1000);
	p = clEnqueueMapBuffer(b.queue, mem, CL_FALSE, CL_MAP_WRITE_INVALIDATE_REGION, 0, 3000, 0,
			       NULL, NULL, &r);
	EXPECT(p && !clFinish(b.queue));
	EXPECT(!clEnqueueUnmapMemObject(b.queue, mem, p, 0, NULL, NULL) && !clFinish(b.queue));
	in = engine(board, DEV_BOARD_ENGINE_IN);
	out = engine(board, DEV_BOARD_ENGINE_OUT);
	EXPECT(in.bytes == 3000 && out.bytes == 1000);
	/* host memory needs no bus, until it is copied to the device */
	p = clEnqueueMapBuffer(b.queue, host, CL_TRUE, CL_MAP_WRITE, 0, MIB, 0, NULL, NULL, &r);
	EXPECT(p && !clEnqueueUnmapMemObject(b.queue, host, p, 0, NULL, NULL));
	EXPECT(!clFinish(b.queue) && engine(board, DEV_BOARD_ENGINE_IN).bytes == 3000);
	EXPECT(!clEnqueueCopyBuffer(b.queue, host, mem, 0, 0, 5000, 0, NULL, NULL));
	EXPECT(!clEnqueueCopyBuffer(b.queue, mem, host, 0, 0, 7000, 0, NULL, NULL));
	EXPECT(!clFinish(b.queue));
	EXPECT(engine(board, DEV_BOARD_ENGINE_IN).bytes == 8000);
	EXPECT(engine(board, DEV_BOARD_ENGINE_OUT).bytes == 8000);
	memset(rect, 1, sizeof(rect));
	EXPECT(!clEnqueueWriteBufferRect(b.queue, mem, CL_TRUE, origin, origin, region, 0, 0, 0, 0,
					 rect, 0, NULL, NULL));
	EXPECT(engine(board, DEV_BOARD_ENGINE_IN).bytes == 8000 + sizeof(rect));
	fresh = make(&b, CL_MEM_COPY_HOST_PTR, sizeof(rect), rect, &r);
	EXPECT(fresh && engine(board, DEV_BOARD_ENGINE_IN).bytes == 8000 + 2 * sizeof(rect));
	/* what is refused costs nothing */
	EXPECT(clEnqueueReadBuffer(b.queue, mem, CL_TRUE, MIB, 1, rect, 0, NULL, NULL));
	EXPECT(engine(board, DEV_BOARD_ENGINE_OUT).bytes == 8000);
	EXPECT(!clReleaseMemObject(mem) && !clReleaseMemObject(host) && !clReleaseMemObject(fresh));
	cl_close(&b);
	return 0;
}

/* A copy whose wait list fails, fails, and holds nobody up. */
static int failed_waits_fail_the_copy(void)
{
	struct cl_bench b;
	cl_event gate, done;
	cl_int r, status = 77;
	char host[4096];
	cl_mem mem;

	cl_open(&b, source, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	mem = cl_buffer(&b, 4096);
	gate = clCreateUserEvent(b.context, &r);
	EXPECT(!clEnqueueReadBuffer(b.queue, mem, CL_FALSE, 0, 4096, host, 1, &gate, &done));
	EXPECT(!clSetUserEventStatus(gate, -1));
	EXPECT(clWaitForEvents(1, &done) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
	EXPECT(!clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
			       NULL));
	EXPECT(status < 0);
	EXPECT(!clReleaseEvent(gate) && !clReleaseEvent(done));
	EXPECT(!clEnqueueReadBuffer(b.queue, mem, CL_TRUE, 0, 4096, host, 0, NULL, NULL));
	EXPECT(!clReleaseMemObject(mem));
	cl_close(&b);
	return 0;
}

/* The program returns from main() with copies on the bus and in the queue. */
static int leaves_in_a_hurry(void)
{
	char *host = calloc(1, MIB);
	struct cl_bench b;
	cl_mem mem;

	cl_open(&b, source, 0);
	mem = cl_buffer(&b, 8 * MIB);
	for (unsigned i = 0; i < 8; i++)
		EXPECT(!clEnqueueWriteBuffer(b.queue, mem, CL_FALSE, i * MIB, MIB, host, 0, NULL,
					     NULL));
	EXPECT(!clFlush(b.queue));
	return 0;
}

/* A child that has nothing of the parent's OpenCL takes and frees nothing of the parent's bytes. */
static int forks(void)
{
	struct dev_board *board;
	struct cl_bench b;
	cl_mem mem;
	int status;
	pid_t pid;

	cl_open(&b, source, 0);
	board = open_board();
	mem = cl_buffer(&b, 8 * MIB);
	pid = fork();
	EXPECT(pid >= 0);
	if (!pid) {
		clReleaseMemObject(mem);
		_exit(0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	EXPECT(visible_bytes(board) == 8 * MIB);
	EXPECT(!clReleaseMemObject(mem) && visible_bytes(board) == 0);
	cl_close(&b);
	return 0;
}

/* Each device has a board of its own. */
static int has_a_board_for_each_device(void)
{
	struct dev_board *boards[2];
	cl_platform_id platform;
	cl_device_id ids[2];
	char path[512];
	cl_uint n = 0;

	EXPECT(!clGetPlatformIDs(1, &platform, NULL));
	EXPECT(!clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 2, ids, &n));
	if (n < 2)
		return SCENE_IS_NOT_HERE;
	for (unsigned i = 0; i < 2; i++) {
		EXPECT(!dev_board_folder(path, sizeof(path) - 16));
		sprintf(path + strlen(path), "/opencl%u", i);
		EXPECT(!dev_board_open(path, NULL, &boards[i]));
	}
	for (unsigned i = 0; i < 2; i++) {
		cl_context context;
		uint8_t uuid[16];
		cl_mem mem;
		cl_int r;

		EXPECT(!clGetDeviceInfo(ids[i], CL_DEVICE_UUID_KHR, sizeof(uuid), uuid, NULL));
		EXPECT(!memcmp(uuid, dev_board_identity(boards[i])->uuid, 16));
		context = clCreateContext(NULL, 1, &ids[i], NULL, NULL, &r);
		EXPECT(context);
		mem = clCreateBuffer(context, 0, 60 * MIB, NULL, &r);
		EXPECT(mem && visible_bytes(boards[i]) == 60 * MIB);
		EXPECT(visible_bytes(boards[!i]) == 0);
		EXPECT(!clReleaseMemObject(mem) && !clReleaseContext(context));
	}
	return 0;
}

/* Two devices in one context, and what two boards say. */
struct pair {
	struct dev_board *boards[2];
	cl_context context;
	cl_command_queue queues[2];
	cl_kernel touch;
};

static int open_pair(struct pair *p)
{
	const char *text = source;
	cl_platform_id platform;
	cl_program program;
	cl_device_id ids[2];
	char path[512];
	cl_uint n = 0;
	cl_int r;

	EXPECT(!clGetPlatformIDs(1, &platform, NULL));
	EXPECT(!clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 2, ids, &n));
	if (n < 2)
		return SCENE_IS_NOT_HERE;
	p->context = clCreateContext(NULL, 2, ids, NULL, NULL, &r);
	EXPECT(p->context);
	for (unsigned i = 0; i < 2; i++) {
		EXPECT(!dev_board_folder(path, sizeof(path) - 16));
		sprintf(path + strlen(path), "/opencl%u", i);
		EXPECT(!dev_board_open(path, NULL, &p->boards[i]));
		p->queues[i] = clCreateCommandQueueWithProperties(p->context, ids[i], NULL, &r);
		EXPECT(p->queues[i]);
	}
	program = clCreateProgramWithSource(p->context, 1, &text, NULL, &r);
	EXPECT(program && !clBuildProgram(program, 2, ids, "", NULL, NULL));
	p->touch = clCreateKernel(program, "touch", &r);
	EXPECT(p->touch && !clReleaseProgram(program));
	return 0;
}

static int close_pair(struct pair *p)
{
	EXPECT(!clReleaseKernel(p->touch));
	for (unsigned i = 0; i < 2; i++)
		EXPECT(!clFinish(p->queues[i]) && !clReleaseCommandQueue(p->queues[i]));
	EXPECT(!clReleaseContext(p->context));
	for (unsigned i = 0; i < 2; i++)
		wait_until_empty(p->boards[i]);
	return 0;
}

static cl_int launch_on(struct pair *p, unsigned device, cl_mem mem)
{
	const size_t n = 16;
	cl_int r = clSetKernelArg(p->touch, 0, sizeof(mem), &mem);

	return r ? r
		 : clEnqueueNDRangeKernel(p->queues[device], p->touch, 1, NULL, &n, NULL, 0, NULL,
					  NULL);
}

/* An object of both takes memory where it is used: by kernels, copies, maps and migration. */
static int counts_where_it_is_used(void)
{
	const uint32_t zeros[16] = { 0 };
	cl_mem large, small, child;
	struct pair p;
	cl_int r = open_pair(&p);

	if (r)
		return r;
	large = clCreateBuffer(p.context, 0, 40 * MIB, NULL, &r);
	EXPECT(large);
	small = clCreateBuffer(p.context, 0, 10 * MIB, NULL, &r);
	EXPECT(small);
	EXPECT(visible_bytes(p.boards[0]) == 0 && visible_bytes(p.boards[1]) == 0);

	child = clCreateSubBuffer(large, 0, CL_BUFFER_CREATE_TYPE_REGION,
				  &(cl_buffer_region){ 0, MIB }, &r);
	EXPECT(child && !launch_on(&p, 1, child));
	EXPECT(visible_bytes(p.boards[0]) == 0 && visible_bytes(p.boards[1]) == 40 * MIB);
	EXPECT(!clEnqueueWriteBuffer(p.queues[0], small, CL_TRUE, 0, sizeof(zeros), zeros, 0, NULL,
				     NULL));
	EXPECT(visible_bytes(p.boards[0]) == 10 * MIB && visible_bytes(p.boards[1]) == 40 * MIB);
	EXPECT(!clEnqueueMigrateMemObjects(p.queues[0], 1, &large, 0, 0, NULL, NULL));
	EXPECT(visible_bytes(p.boards[0]) == 50 * MIB && visible_bytes(p.boards[1]) == 40 * MIB);

	EXPECT(!clReleaseMemObject(child) && !clFinish(p.queues[1]) && !clFinish(p.queues[0]));
	/* the kernel may keep what is bound to it */
	EXPECT(!launch_on(&p, 0, small) && !clFinish(p.queues[0]));
	EXPECT(!clReleaseMemObject(large) && !clReleaseMemObject(small));
	return close_pair(&p);
}

/* Each device refuses for itself, at the command that would be the first there. */
static int refuses_on_each_device(void)
{
	cl_mem first, second;
	struct pair p;
	cl_int r = open_pair(&p);

	if (r)
		return r;
	first = clCreateBuffer(p.context, 0, 40 * MIB, NULL, &r);
	EXPECT(first);
	second = clCreateBuffer(p.context, 0, 40 * MIB, NULL, &r);
	EXPECT(second); /* nobody knows yet where it will be */
	EXPECT(!launch_on(&p, 0, first) && !launch_on(&p, 1, second));
	EXPECT(launch_on(&p, 0, second) == CL_MEM_OBJECT_ALLOCATION_FAILURE);
	EXPECT(launch_on(&p, 1, first) == CL_MEM_OBJECT_ALLOCATION_FAILURE);
	EXPECT(!launch_on(&p, 0, first) && !launch_on(&p, 1, second));
	EXPECT(!clFinish(p.queues[0]) && !clFinish(p.queues[1]));
	EXPECT(!clReleaseMemObject(first));
	EXPECT(!launch_on(&p, 0, second));
	EXPECT(visible_bytes(p.boards[0]) == 40 * MIB && visible_bytes(p.boards[1]) == 40 * MIB);
	EXPECT(!clFinish(p.queues[0]) && !clReleaseMemObject(second));
	return close_pair(&p);
}

struct worker {
	pthread_t thread;
	struct cl_bench *bench;
	uint64_t random;
	int result;
};

static uint64_t next_random(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

/* Writes and reads a buffer over two queues of either kind, ordered by events alone. */
static int copy_about(struct worker *w)
{
	enum { N_WORDS = 4096 };
	cl_uint out[N_WORDS], in[N_WORDS];
	cl_command_queue queues[2];
	cl_event last = NULL;
	cl_mem mem;
	cl_int r;

	for (unsigned i = 0; i < 2; i++) {
		const cl_queue_properties list[] = { CL_QUEUE_PROPERTIES,
						     i ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0,
						     0 };

		queues[i] = clCreateCommandQueueWithProperties(w->bench->context, w->bench->device,
							       list, &r);
		EXPECT(queues[i]);
	}
	mem = clCreateBuffer(w->bench->context, 0, sizeof(out), NULL, &r);
	EXPECT(mem);
	for (unsigned n = 0; n < 100; n++) {
		cl_event wrote, read;
		bool blocking = next_random(w) % 2;

		for (unsigned i = 0; i < N_WORDS; i++)
			out[i] = (cl_uint)next_random(w);
		EXPECT(!clEnqueueWriteBuffer(queues[next_random(w) % 2], mem, CL_FALSE, 0,
					     sizeof(out), out, last ? 1 : 0, last ? &last : NULL,
					     &wrote));
		if (next_random(w) % 2)
			EXPECT(!clFlush(queues[0]) && !clFlush(queues[1]));
		EXPECT(!clEnqueueReadBuffer(queues[next_random(w) % 2], mem, blocking, 0,
					    sizeof(in), in, 1, &wrote, &read));
		EXPECT(!clFlush(queues[0]) && !clFlush(queues[1]));
		if (!blocking)
			EXPECT(!clWaitForEvents(1, &read));
		EXPECT(!memcmp(in, out, sizeof(in)));
		EXPECT(!clReleaseEvent(wrote) && (!last || !clReleaseEvent(last)));
		last = read;
	}
	EXPECT(!clReleaseEvent(last) && !clReleaseMemObject(mem));
	EXPECT(!clReleaseCommandQueue(queues[0]) && !clReleaseCommandQueue(queues[1]));
	return 0;
}

static void *work(void *data)
{
	struct worker *w = data;

	w->result = copy_about(w);
	return NULL;
}

static int many_threads_copy(void)
{
	struct worker workers[4];
	struct dev_board *board;
	struct cl_bench b;

	cl_open(&b, source, 0);
	board = open_board();
	for (unsigned i = 0; i < 4; i++) {
		workers[i] = (struct worker){ .bench = &b, .random = i + 1 };
		EXPECT(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (unsigned i = 0; i < 4; i++) {
		EXPECT(!pthread_join(workers[i].thread, NULL));
		EXPECT(workers[i].result == 0);
	}
	EXPECT(engine(board, DEV_BOARD_ENGINE_IN).n_jobs == 400);
	EXPECT(engine(board, DEV_BOARD_ENGINE_OUT).bytes == (uint64_t)400 * 4 * 4096);
	cl_close(&b);
	wait_until_empty(board);
	return 0;
}

/* Prints what a child process would inherit. */
static int tells_its_layers(void)
{
	struct cl_bench b;

	cl_open(&b, source, 0);
	puts(getenv("OPENCL_LAYERS"));
	cl_close(&b);
	return 0;
}

const struct scene limiter_scenes[] = {
	{ "says-what-it-is", says_what_it_is },
	{ "counts-what-is-on-the-device", counts_what_is_on_the_device },
	{ "frees-late", frees_late },
	{ "fails-lazily", fails_lazily },
	{ "copies-queue-without-a-gap", copies_queue_without_a_gap },
	{ "waits-in-order", waits_in_order },
	{ "waits-out-of-order", waits_out_of_order },
	{ "profiles-show-the-bus", profiles_show_the_bus },
	{ "maps-take-the-bus", maps_take_the_bus },
	{ "failed-waits-fail-the-copy", failed_waits_fail_the_copy },
	{ "leaves-in-a-hurry", leaves_in_a_hurry },
	{ "forks", forks },
	{ "has-a-board-for-each-device", has_a_board_for_each_device },
	{ "counts-where-it-is-used", counts_where_it_is_used },
	{ "refuses-on-each-device", refuses_on_each_device },
	{ "many-threads-copy", many_threads_copy },
	{ "tells-its-layers", tells_its_layers },
	{ NULL, NULL },
};
