/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <pthread.h>

#include "cudart/cudart-calls.h"

/*
 * The runtime as the compiler's code uses it, on the software GPU: this program registers a fat
 * binary by hand, as nvcc's constructors do, and names kernels and variables by host addresses.
 */

#define assert_rt(call) assert_int_equal((call), cudaSuccess)

static const char text[] = TEST_PTX_HEAD ".visible .global .align 4 .u32 counter = 7;\n"
					 ".visible .const .align 4 .b8 factors[16];\n" TEST_PTX_FILL
					 ".visible .entry count()\n"
					 "{\n"
					 "	.reg .b32 %r<4>;\n"
					 "	ld.global.u32 %r1, [counter];\n"
					 "	ld.const.u32 %r2, [factors+4];\n"
					 "	mul.lo.u32 %r3, %r1, %r2;\n"
					 "	st.global.u32 [counter], %r3;\n"
					 "	ret;\n"
					 "}\n"
					 ".visible .entry stray()\n"
					 "{\n"
					 "	.reg .b64 %d<2>;\n"
					 "	mov.u64 %d1, 16;\n"
					 "	st.global.u64 [%d1], %d1;\n"
					 "	ret;\n"
					 "}\n";

/* What nvcc leaves in the sections .nv_fatbin and .nvFatBinSegment. */
static struct {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes;
	uint16_t kind, flags16;
	uint32_t entry_header_bytes;
	uint64_t payload_bytes;
	uint32_t compressed_bytes, options;
	uint16_t minor, major;
	uint32_t arch, name_offset, name_bytes;
	uint64_t flags, zero, unpacked_bytes;
	char payload[sizeof(text)];
} __attribute__((__packed__)) fatbin = {
	.magic = 0xba55ed50,
	.version = 1,
	.header_bytes = 16,
	.bytes = 64 + sizeof(text),
	.kind = 1,
	.flags16 = 0x0101,
	.entry_header_bytes = 64,
	.payload_bytes = sizeof(text),
	.minor = 3,
	.major = 6,
	.arch = 75,
	.flags = 0x11,
};

static struct {
	uint32_t magic, version;
	const void *fatbin, *extra;
} wrapper = { 0x466243b1, 1, &fatbin, NULL };

/* Addresses that stand for what is on the device; their contents are nobody's. */
static char fill, count, stray, counter, factors, unknown, absent_in_image;

static void **image;

static void register_image(void)
{
	memcpy(fatbin.payload, text, sizeof(text));
	image = __cudaRegisterFatBinary(&wrapper);
	assert_non_null(image);
	__cudaRegisterFunction(image, &fill, "fill", "fill", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(image, &count, "count", "count", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(image, &stray, "stray", "stray", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(image, &absent_in_image, "no", "no", -1, NULL, NULL, NULL, NULL,
			       NULL);
	__cudaRegisterVar(image, &counter, "counter", "counter", 0, 4, 0, 0);
	__cudaRegisterVar(image, &factors, "factors", "factors", 0, 16, 1, 0);
	__cudaRegisterFatBinaryEnd(image);
}

static dim3 d1(unsigned x)
{
	return (dim3){ x, 1, 1 };
}

static cudaError_t launch_fill(void *p, unsigned n, unsigned v, cudaStream_t stream)
{
	void *args[] = { &p, &n, &v };

	return cudaLaunchKernel(&fill, d1((n + 255) / 256), d1(256), args, 0, stream);
}

static void assert_filled(const void *device, unsigned n, unsigned v)
{
	unsigned *host = malloc(n * sizeof(*host));

	assert_non_null(host);
	assert_rt(cudaMemcpy(host, device, n * sizeof(*host), cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(host[i], v + i);
	free(host);
}

static void kernels_are_launched_by_their_host_address(void **state)
{
	enum { N = 1000 };
	void *p;

	(void)state;
	assert_rt(cudaMalloc(&p, N * 4));
	assert_rt(launch_fill(p, N, 5, NULL));
	assert_filled(p, N, 5);
	assert_int_equal(cudaLaunchKernel(&unknown, d1(1), d1(1), NULL, 0, NULL),
			 cudaErrorInvalidDeviceFunction);
	assert_int_equal(cudaLaunchKernel(&counter, d1(1), d1(1), NULL, 0, NULL),
			 cudaErrorInvalidDeviceFunction);
	assert_int_equal(cudaLaunchKernel(&absent_in_image, d1(1), d1(1), NULL, 0, NULL),
			 cudaErrorInvalidDeviceFunction);
	assert_int_equal(cudaLaunchKernel(&fill, d1(0), d1(1), NULL, 0, NULL),
			 cudaErrorInvalidConfiguration);
	assert_int_equal(cudaLaunchKernel(&fill, d1(1), d1(1025), NULL, 0, NULL),
			 cudaErrorInvalidConfiguration);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidConfiguration);
	assert_rt(cudaFree(p));
}

static void the_compilers_launch_takes_the_configuration_that_was_pushed(void **state)
{
	unsigned n = 300, v = 9;
	size_t shared_bytes;
	cudaKernel_t kernel;
	cudaStream_t stream;
	dim3 grid, block;
	void *p;

	(void)state;
	assert_rt(cudaMalloc(&p, n * 4));
	assert_int_equal(__cudaPushCallConfiguration(d1(2), d1(256), 0, NULL), 0);
	assert_int_equal(__cudaPushCallConfiguration(d1(7), d1(8), 16, cudaStreamPerThread), 0);
	assert_rt(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
	assert_true(grid.x == 7 && block.x == 8 && shared_bytes == 16 &&
		    stream == cudaStreamPerThread);
	assert_rt(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
	assert_rt(__cudaGetKernel(&kernel, &fill));
	assert_rt(__cudaLaunchKernel(kernel, grid, block, (void *[]){ &p, &n, &v }, shared_bytes,
				     stream));
	assert_filled(p, n, v);
	/* a kernel that was not found leaves no handle */
	assert_int_equal(__cudaLaunchKernel(NULL, grid, block, NULL, 0, NULL),
			 cudaErrorInvalidDeviceFunction);
	assert_int_equal(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream),
			 cudaErrorMissingConfiguration);
	/* a handle serves where an address does */
	v = 11;
	assert_rt(cudaLaunchKernel(kernel, d1(2), d1(256), (void *[]){ &p, &n, &v }, 0, NULL));
	assert_filled(p, n, v);
	cudaGetLastError();
	assert_rt(cudaFree(p));
}

static void variables_are_reached_by_their_host_address(void **state)
{
	unsigned value = 0, set[2] = { 6, 0 };
	void *address;
	size_t bytes;

	(void)state;
	assert_rt(cudaMemcpyFromSymbol(&value, &counter, 4, 0, cudaMemcpyDeviceToHost));
	assert_int_equal(value, 7);
	assert_rt(cudaMemcpyToSymbol(&factors, set, 8, 4, cudaMemcpyHostToDevice));
	assert_rt(cudaLaunchKernel(&count, d1(1), d1(1), NULL, 0, NULL));
	assert_rt(cudaMemcpyFromSymbolAsync(&value, &counter, 4, 0, cudaMemcpyDeviceToHost,
					    cudaStreamPerThread));
	assert_rt(cudaStreamSynchronize(cudaStreamPerThread));
	assert_int_equal(value, 42);
	assert_rt(cudaGetSymbolSize(&bytes, &factors));
	assert_int_equal(bytes, 16);
	assert_rt(cudaGetSymbolAddress(&address, &counter));
	assert_rt(cudaMemcpy(&value, address, 4, cudaMemcpyDefault));
	assert_int_equal(value, 42);

	assert_int_equal(cudaMemcpyToSymbol(&factors, set, 8, 12, cudaMemcpyHostToDevice),
			 cudaErrorInvalidValue);
	assert_int_equal(cudaMemcpyToSymbol(&factors, set, 8, 0, cudaMemcpyDeviceToHost),
			 cudaErrorInvalidMemcpyDirection);
	assert_int_equal(cudaGetSymbolAddress(&address, &unknown), cudaErrorInvalidSymbol);
	assert_int_equal(cudaGetSymbolAddress(&address, &fill), cudaErrorInvalidSymbol);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidSymbol);
}

static void the_last_error_is_the_threads_own(void **state)
{
	(void)state;
	assert_int_equal(cudaGetLastError(), cudaSuccess);
	assert_int_equal(cudaSetDevice(99), cudaErrorInvalidDevice);
	assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidDevice);
	assert_rt(cudaSetDevice(0));
	assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidDevice);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
	assert_int_equal(cudaGetLastError(), cudaSuccess);
	assert_string_equal(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice");
	assert_string_equal(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
	assert_string_equal(cudaGetErrorName((cudaError_t)12345), "unrecognized error code");
}

static void what_is_not_done_says_so(void **state)
{
	int cudaArrayGetPlane(void);

	(void)state;
	assert_int_equal(cudaArrayGetPlane(), cudaErrorNotSupported);
	assert_int_equal(cudaGetLastError(), cudaErrorNotSupported);
}

static void memory_comes_in_all_shapes(void **state)
{
	enum { W = 40, H = 6, D = 3 };
	unsigned char host[D][H][W], back[D][H][W];
	struct cudaExtent extent = { W, H, D };
	struct cudaPointerAttributes a;
	struct cudaPitchedPtr box;
	size_t pitch, free_bytes, total;
	void *p;

	(void)state;
	assert_rt(cudaMalloc(&p, 0));
	assert_null(p);
	assert_rt(cudaFree(NULL));
	assert_int_equal(cudaMalloc(&p, (size_t)1 << 40), cudaErrorMemoryAllocation);
	assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
	assert_rt(cudaMemGetInfo(&free_bytes, &total));
	assert_true(free_bytes <= total && total > 0);

	for (unsigned i = 0; i < sizeof(host); i++)
		((unsigned char *)host)[i] = (unsigned char)(i * 7);
	assert_rt(cudaMallocPitch(&p, &pitch, W, H));
	assert_true(pitch >= W);
	assert_rt(cudaMemcpy2D(p, pitch, host, W, W, H, cudaMemcpyHostToDevice));
	assert_rt(cudaMemset2D((char *)p + 8, pitch, 0xee, 4, H));
	assert_rt(cudaMemcpy2D(back, W, p, pitch, W, H, cudaMemcpyDefault));
	for (unsigned y = 0; y < H; y++)
		for (unsigned x = 0; x < W; x++)
			assert_int_equal(back[0][y][x], x >= 8 && x < 12 ? 0xee : host[0][y][x]);
	assert_int_equal(cudaMemcpy2D(p, pitch, host, W - 1, W, H, cudaMemcpyHostToDevice),
			 cudaErrorInvalidPitchValue);
	assert_rt(cudaPointerGetAttributes(&a, (char *)p + 1));
	assert_true(a.type == cudaMemoryTypeDevice && a.device == 0);
	assert_rt(cudaFree(p));

	assert_rt(cudaMalloc3D(&box, extent));
	assert_rt(cudaMemset3D(box, 0x11, extent));
	assert_rt(cudaMemcpy3D(&(struct cudaMemcpy3DParms){
		.srcPtr = { host, W, W, H },
		.dstPtr = box,
		.dstPos = { 0, 0, 1 },
		.extent = { W, H, D - 1 },
		.kind = cudaMemcpyHostToDevice,
	}));
	assert_rt(cudaMemcpy3D(&(struct cudaMemcpy3DParms){
		.srcPtr = box,
		.dstPtr = { back, W, W, H },
		.extent = extent,
		.kind = cudaMemcpyDeviceToHost,
	}));
	for (unsigned i = 0; i < sizeof(back); i++)
		assert_int_equal(((unsigned char *)back)[i],
				 i < W * H ? 0x11 : ((unsigned char *)host)[i - W * H]);
	assert_rt(cudaFree(box.ptr));

	memset(back, 0, sizeof(back));
	assert_rt(cudaMemcpy(back, host, sizeof(host), cudaMemcpyHostToHost));
	assert_memory_equal(back, host, sizeof(host));
	memset(back, 0, sizeof(back));
	assert_rt(cudaMemcpyAsync(back, host, sizeof(host), cudaMemcpyDefault, NULL));
	assert_rt(cudaStreamSynchronize(NULL));
	assert_memory_equal(back, host, sizeof(host));
	assert_int_equal(cudaMemcpy(back, host, 1, (enum cudaMemcpyKind)9),
			 cudaErrorInvalidMemcpyDirection);
	assert_int_equal(cudaMemcpy(NULL, host, 1, cudaMemcpyHostToHost), cudaErrorInvalidValue);
	assert_rt(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));

	assert_rt(cudaMallocHost(&p, 4096));
	assert_rt(cudaPointerGetAttributes(&a, p));
	assert_int_equal(a.type, cudaMemoryTypeHost);
	assert_rt(cudaFreeHost(p));
	assert_rt(cudaPointerGetAttributes(&a, host));
	assert_int_equal(a.type, cudaMemoryTypeUnregistered);
	cudaGetLastError();
}

static void the_device_describes_itself(void **state)
{
	struct cudaFuncAttributes f;
	struct cudaDeviceProp p;
	int n, value;

	(void)state;
	assert_rt(cudaGetDeviceCount(&n));
	assert_int_equal(n, 2);
	assert_rt(cudaGetDeviceProperties(&p, 0));
	assert_rt(cudaDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	assert_int_equal(p.multiProcessorCount, value);
	assert_int_equal(p.warpSize, 32);
	assert_int_equal(p.major, 7);
	assert_int_equal(p.totalGlobalMem, 64 << 20);
	assert_rt(cudaChooseDevice(&value, &p));
	assert_int_equal(value, 0);
	assert_rt(cudaDriverGetVersion(&value));
	assert_true(value >= 13000);
	assert_rt(cudaRuntimeGetVersion(&value));
	assert_int_equal(value, 13000);
	assert_rt(cudaFuncGetAttributes(&f, &fill));
	assert_true(f.maxThreadsPerBlock >= 256 && f.sharedSizeBytes == 0);
	assert_rt(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, &fill, 256, 0));
	assert_true(value >= 1);
	assert_int_equal(cudaGetDeviceProperties(&p, 2), cudaErrorInvalidDevice);
	cudaGetLastError();
}

static void *use_second_device(void *arg)
{
	void **ret = arg;
	int device;

	assert_rt(cudaGetDevice(&device));
	assert_int_equal(device, 0);
	assert_rt(cudaSetDevice(1));
	assert_rt(cudaGetDevice(&device));
	assert_int_equal(device, 1);
	assert_rt(cudaMalloc(ret, 4000));
	assert_rt(launch_fill(*ret, 1000, 77, NULL));
	assert_rt(cudaDeviceSynchronize());
	return NULL;
}

static void each_thread_has_its_device(void **state)
{
	struct cudaPointerAttributes a;
	void *there, *here;
	pthread_t thread;
	int device;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, use_second_device, &there), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_rt(cudaGetDevice(&device));
	assert_int_equal(device, 0);
	assert_rt(cudaPointerGetAttributes(&a, there));
	assert_int_equal(a.device, 1);
	assert_rt(cudaSetDevice(1));
	assert_filled(there, 1000, 77);
	assert_rt(cudaFree(there));
	assert_rt(cudaSetDevice(0));
	/* a context that the program made itself is used, not replaced */
	{
		CUcontext own, current;

		assert_cu(cuCtxCreate_v2(&own, 0, 1));
		assert_rt(cudaGetDevice(&device));
		assert_int_equal(device, 1);
		assert_rt(cudaMalloc(&here, 4096));
		assert_cu(cuCtxGetCurrent(&current));
		assert_ptr_equal(current, own);
		assert_cu(cuCtxDestroy_v2(own));
	}
	assert_rt(cudaSetDevice(0));
}

static void streams_and_events_keep_order(void **state)
{
	enum { N = 5000 };
	cudaEvent_t from, to;
	cudaStream_t a, b;
	float ms = -1;
	void *p;

	(void)state;
	assert_rt(cudaMalloc(&p, N * 4));
	assert_rt(cudaStreamCreate(&a));
	assert_rt(cudaStreamCreateWithFlags(&b, CU_STREAM_NON_BLOCKING));
	assert_rt(cudaEventCreate(&from));
	assert_rt(cudaEventCreate(&to));
	assert_rt(cudaEventRecord(from, a));
	assert_rt(launch_fill(p, N, 1, a));
	assert_rt(cudaEventRecord(to, a));
	assert_rt(cudaStreamWaitEvent(b, to, 0));
	assert_rt(launch_fill(p, N, 2, b));
	assert_rt(cudaStreamSynchronize(b));
	assert_rt(cudaStreamQuery(a));
	assert_rt(cudaEventElapsedTime(&ms, from, to));
	assert_true(ms >= 0);
	assert_filled(p, N, 2);
	assert_rt(cudaMemsetAsync_ptsz(p, 0, N * 4, NULL));
	assert_rt(cudaStreamSynchronize_ptsz(NULL));
	assert_rt(cudaEventDestroy(from));
	assert_rt(cudaEventDestroy(to));
	assert_rt(cudaStreamDestroy(a));
	assert_rt(cudaStreamDestroy(b));
	assert_rt(cudaFree(p));
}

static void graphs_know_kernels_by_host_address(void **state)
{
	enum { N = 600 };
	unsigned n = N, v = 3;
	struct cudaKernelNodeParams params, got;
	cudaGraphNode_t set, kernel, copy;
	struct cudaMemsetParams zero;
	unsigned host[N] = { 0 };
	cudaGraph_t graph, captured;
	cudaGraphExec_t exec;
	cudaStream_t stream;
	size_t n_nodes = 0;
	void *p;

	(void)state;
	assert_rt(cudaMalloc(&p, N * 4));
	params = (struct cudaKernelNodeParams){
		.func = &fill,
		.gridDim = d1(3),
		.blockDim = d1(256),
		.kernelParams = (void *[]){ &p, &n, &v },
	};
	zero = (struct cudaMemsetParams){
		.dst = (CUdeviceptr)(uintptr_t)p, .elementSize = 4, .width = N, .height = 1
	};
	assert_rt(cudaGraphCreate(&graph, 0));
	assert_rt(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &zero));
	assert_rt(cudaGraphAddNode(&kernel, graph, &set, NULL, 1,
				   &(struct cudaGraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_KERNEL,
								  .kernel = params }));
	assert_rt(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host, p, sizeof(host),
					   cudaMemcpyDeviceToHost));
	assert_rt(cudaGraphKernelNodeGetParams(kernel, &got));
	assert_ptr_equal(got.func, &fill);
	assert_int_equal(got.blockDim.x, 256);
	assert_rt(cudaGraphInstantiate(&exec, graph, 0));
	assert_rt(cudaGraphLaunch(exec, NULL));
	assert_rt(cudaDeviceSynchronize());
	assert_int_equal(host[N - 1], N - 1 + 3);
	v = 4;
	assert_rt(cudaGraphExecKernelNodeSetParams(exec, kernel, &params));
	assert_rt(cudaGraphLaunch(exec, cudaStreamPerThread));
	assert_rt(cudaStreamSynchronize(cudaStreamPerThread));
	assert_int_equal(host[0], 4);
	assert_rt(cudaGraphExecDestroy(exec));
	assert_rt(cudaGraphDestroy(graph));

	assert_rt(cudaStreamCreate(&stream));
	assert_rt(cudaStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	assert_rt(launch_fill(p, N, 50, stream));
	assert_rt(cudaMemcpyAsync(host, p, sizeof(host), cudaMemcpyDeviceToHost, stream));
	assert_rt(cudaStreamEndCapture(stream, &captured));
	assert_rt(cudaGraphGetNodes(captured, NULL, &n_nodes));
	assert_int_equal(n_nodes, 2);
	assert_rt(cudaGraphInstantiate(&exec, captured, 0));
	assert_int_not_equal(host[0], 50);
	assert_rt(cudaGraphLaunch(exec, stream));
	assert_rt(cudaStreamSynchronize(stream));
	assert_int_equal(host[0], 50);
	assert_rt(cudaGraphExecDestroy(exec));
	assert_rt(cudaGraphDestroy(captured));
	assert_rt(cudaStreamDestroy(stream));
	assert_rt(cudaFree(p));
}

static void memory_comes_in_the_order_of_a_stream(void **state)
{
	enum { N = 4000 };
	struct cudaMemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
	};
	cudaMemPool_t pool, own;
	cudaStream_t stream;
	uint64_t used = 0;
	void *a, *b;

	(void)state;
	assert_rt(cudaStreamCreate(&stream));
	assert_rt(cudaMallocAsync(&a, N * 4, stream));
	assert_rt(launch_fill(a, N, 8, stream));
	assert_rt(cudaStreamSynchronize(stream));
	assert_filled(a, N, 8);
	assert_rt(cudaFreeAsync(a, stream));
	assert_rt(cudaDeviceGetDefaultMemPool(&pool, 0));
	assert_rt(cudaMemPoolTrimTo(pool, 0));

	assert_rt(cudaMemPoolCreate(&own, &props));
	assert_rt(cudaMallocFromPoolAsync(&b, N * 4, own, stream));
	assert_rt(cudaMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	assert_true(used >= N * 4);
	assert_rt(cudaFreeAsync_ptsz(b, NULL));
	assert_rt(cudaStreamSynchronize_ptsz(NULL));
	assert_rt(cudaMemPoolDestroy(own));
	assert_rt(cudaStreamDestroy(stream));
}

static void managed_memory_is_one_address_for_both(void **state)
{
	enum { N = 3000 };
	struct cudaPointerAttributes a;
	struct cudaMemLocation device = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
	unsigned *p;

	(void)state;
	assert_rt(cudaMallocManaged((void **)&p, N * 4, CU_MEM_ATTACH_GLOBAL));
	assert_rt(cudaPointerGetAttributes(&a, p));
	assert_int_equal(a.type, cudaMemoryTypeManaged);
	p[0] = 1;
	assert_rt(cudaMemAdvise(p, N * 4, cudaMemAdviseSetReadMostly, device));
	assert_rt(cudaMemPrefetchAsync(p, N * 4, device, 0, NULL));
	assert_rt(launch_fill(p, N, 6, NULL));
	assert_rt(cudaDeviceSynchronize());
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(p[i], 6 + i);
	assert_rt(cudaFree(p));
}

/* What clang makes of C, in the wrapper that nvcc would put around it. */
static void kernels_that_clang_made_run(void **state)
{
	enum { N = 1000, HEAD_BYTES = sizeof(fatbin) - sizeof(fatbin.payload) };
	const char *path = getenv("SLUICE_KERNELS");
	struct {
		uint32_t magic, version;
		const void *fatbin, *extra;
	} own = { wrapper.magic, wrapper.version, NULL, NULL };
	float host[N];
	void *a, *b, *c, **handle;
	int n = N;
	char vadd, *image_bytes;
	long bytes;
	FILE *file;

	(void)state;
	file = path ? fopen(path, "r") : NULL;
	if (!file) {
		printf("# no clang made kernels for this test\n");
		return;
	}
	fseek(file, 0, SEEK_END);
	bytes = ftell(file);
	rewind(file);
	image_bytes = calloc(1, HEAD_BYTES + (size_t)bytes + 1);
	assert_non_null(image_bytes);
	memcpy(image_bytes, &fatbin, HEAD_BYTES);
	assert_int_equal(fread(image_bytes + HEAD_BYTES, 1, (size_t)bytes, file), bytes);
	fclose(file);
	((__typeof__(fatbin) *)image_bytes)->payload_bytes = (uint64_t)bytes + 1;
	((__typeof__(fatbin) *)image_bytes)->bytes = 64 + (uint64_t)bytes + 1;
	own.fatbin = image_bytes;
	handle = __cudaRegisterFatBinary(&own);
	__cudaRegisterFunction(handle, &vadd, "vadd", "vadd", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(handle);

	for (int i = 0; i < N; i++)
		host[i] = (float)i;
	assert_rt(cudaMalloc(&a, sizeof(host)));
	assert_rt(cudaMalloc(&b, sizeof(host)));
	assert_rt(cudaMalloc(&c, sizeof(host)));
	assert_rt(cudaMemcpy(a, host, sizeof(host), cudaMemcpyHostToDevice));
	assert_rt(cudaMemcpy(b, host, sizeof(host), cudaMemcpyHostToDevice));
	assert_rt(cudaLaunchKernel(&vadd, d1(4), d1(256), (void *[]){ &a, &b, &c, &n }, 0, NULL));
	assert_rt(cudaMemcpy(host, c, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < N; i++)
		assert_true(host[i] == (float)(2 * i));
	assert_rt(cudaFree(a));
	assert_rt(cudaFree(b));
	assert_rt(cudaFree(c));
	__cudaUnregisterFatBinary(handle);
	free(image_bytes);
}

static void a_lost_context_stays_lost_until_the_device_is_reset(void **state)
{
	void *p;

	(void)state;
	assert_rt(cudaLaunchKernel(&stray, d1(1), d1(1), NULL, 0, NULL));
	assert_int_equal(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	assert_int_equal(cudaGetLastError(), cudaErrorIllegalAddress);
	assert_int_equal(cudaGetLastError(), cudaErrorIllegalAddress);
	assert_int_equal(cudaMalloc(&p, 4096), cudaErrorIllegalAddress);
	assert_rt(cudaDeviceReset());
	assert_int_equal(cudaGetLastError(), cudaSuccess);
	assert_rt(cudaMalloc(&p, 4000));
	assert_rt(launch_fill(p, 1000, 1, NULL));
	assert_filled(p, 1000, 1);
	assert_rt(cudaFree(p));
}

static void an_image_that_is_unregistered_is_gone(void **state)
{
	(void)state;
	__cudaUnregisterFatBinary(image);
	assert_int_equal(cudaLaunchKernel(&fill, d1(1), d1(1), NULL, 0, NULL),
			 cudaErrorInvalidDeviceFunction);
}

static int make(void **state)
{
	(void)state;
	test_device_make("64M");
	setenv("SLUICE_SOFTGPU_DEVICES", "2", 1);
	register_image();
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_are_launched_by_their_host_address),
		cmocka_unit_test(the_compilers_launch_takes_the_configuration_that_was_pushed),
		cmocka_unit_test(variables_are_reached_by_their_host_address),
		cmocka_unit_test(the_last_error_is_the_threads_own),
		cmocka_unit_test(what_is_not_done_says_so),
		cmocka_unit_test(memory_comes_in_all_shapes),
		cmocka_unit_test(the_device_describes_itself),
		cmocka_unit_test(each_thread_has_its_device),
		cmocka_unit_test(streams_and_events_keep_order),
		cmocka_unit_test(graphs_know_kernels_by_host_address),
		cmocka_unit_test(memory_comes_in_the_order_of_a_stream),
		cmocka_unit_test(managed_memory_is_one_address_for_both),
		cmocka_unit_test(kernels_that_clang_made_run),
		cmocka_unit_test(a_lost_context_stays_lost_until_the_device_is_reset),
		cmocka_unit_test(an_image_that_is_unregistered_is_gone),
	};

	return cmocka_run_group_tests_name("cudart", tests, make, test_device_tear_down);
}
