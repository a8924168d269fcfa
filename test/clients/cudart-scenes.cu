// SPDX-License-Identifier: Apache-2.0
//
// A program of the runtime API as anybody would write it, one scene a way of using it: cudart-scenes SCENE... It knows
// nothing of Sluice. Each scene compares with the CPU. A scene that needs what the driver does not have ends with 77 and
// says what.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

#define TRY(call)                                                                                  \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ == cudaErrorNotSupported) {                                                 \
			printf("%s: not supported\n", #call);                                      \
			exit(77);                                                                  \
		}                                                                                  \
		if (e_ != cudaSuccess) {                                                           \
			printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_)); \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define MUST(condition)                                                             \
	do {                                                                        \
		if (!(condition)) {                                                 \
			printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                    \
		}                                                                   \
	} while (0)

// what a launch itself had to say
#define LAUNCHED() TRY(cudaGetLastError())

static const int N = 20000;

__constant__ float factor = 2;
__device__ int last = -1;
__managed__ int shared_number = 3;

__global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = factor * (a[i] + b[i]);
	if (i == n - 1)
		last = i;
}

template <typename T> __global__ void scale(T *p, T by, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		p[i] *= by;
}

static int blocks(int n)
{
	return (n + 255) / 256;
}

static void vector_add()
{
	std::vector<float> a(N), b(N), c(N);
	float *da, *db, *dc, three = 3;
	int at = 0;

	for (int i = 0; i < N; i++)
		a[i] = i, b[i] = 0.5f * i;
	TRY(cudaMalloc(&da, N * sizeof(float)));
	TRY(cudaMalloc(&db, N * sizeof(float)));
	TRY(cudaMalloc(&dc, N * sizeof(float)));
	TRY(cudaMemcpy(da, a.data(), N * sizeof(float), cudaMemcpyHostToDevice));
	TRY(cudaMemcpy(db, b.data(), N * sizeof(float), cudaMemcpyHostToDevice));
	TRY(cudaMemcpyToSymbol(factor, &three, sizeof(three)));
	add<<<blocks(N), 256>>>(da, db, dc, N);
	LAUNCHED();
	TRY(cudaMemcpy(c.data(), dc, N * sizeof(float), cudaMemcpyDeviceToHost));
	TRY(cudaMemcpyFromSymbol(&at, last, sizeof(at)));
	MUST(at == N - 1);
	for (int i = 0; i < N; i++)
		MUST(c[i] == 3 * (a[i] + b[i]));
	TRY(cudaFree(da));
	TRY(cudaFree(db));
	TRY(cudaFree(dc));
}

static void streams()
{
	const int n_streams = 4;
	cudaStream_t stream[n_streams];
	cudaEvent_t from, to;
	double *host, *device;
	float ms;

	TRY(cudaMallocHost(&host, n_streams * N * sizeof(double)));
	TRY(cudaMalloc(&device, n_streams * N * sizeof(double)));
	TRY(cudaEventCreate(&from));
	TRY(cudaEventCreate(&to));
	for (int i = 0; i < n_streams * N; i++)
		host[i] = i;
	for (int s = 0; s < n_streams; s++)
		TRY(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
	TRY(cudaEventRecord(from, stream[0]));
	for (int s = 0; s < n_streams; s++) {
		TRY(cudaMemcpyAsync(device + s * N, host + s * N, N * sizeof(double), cudaMemcpyHostToDevice, stream[s]));
		scale<double><<<8, 128, 0, stream[s]>>>(device + s * N, 1.5, N);
		LAUNCHED();
		TRY(cudaMemcpyAsync(host + s * N, device + s * N, N * sizeof(double), cudaMemcpyDeviceToHost, stream[s]));
		TRY(cudaEventRecord(to, stream[s]));
		TRY(cudaStreamWaitEvent(stream[0], to, 0));
	}
	TRY(cudaEventRecord(to, stream[0]));
	TRY(cudaEventSynchronize(to));
	TRY(cudaEventElapsedTime(&ms, from, to));
	MUST(ms >= 0);
	for (int i = 0; i < n_streams * N; i++)
		MUST(host[i] == 1.5 * i);
	for (int s = 0; s < n_streams; s++)
		TRY(cudaStreamDestroy(stream[s]));
	TRY(cudaFreeHost(host));
	TRY(cudaFree(device));
}

static void threads()
{
	std::vector<std::thread> all;

	for (int t = 0; t < 4; t++)
		all.emplace_back([t] {
			std::vector<int> host(N, t + 1);
			int *device;

			TRY(cudaMalloc(&device, N * sizeof(int)));
			for (int round = 0; round < 3; round++) {
				TRY(cudaMemcpyAsync(device, host.data(), N * sizeof(int), cudaMemcpyHostToDevice));
				scale<int><<<4, 256>>>(device, 2, N);
				LAUNCHED();
				TRY(cudaMemcpyAsync(host.data(), device, N * sizeof(int), cudaMemcpyDeviceToHost));
				TRY(cudaStreamSynchronize(0));
			}
			for (int i = 0; i < N; i++)
				MUST(host[i] == 8 * (t + 1));
			TRY(cudaFree(device));
		});
	for (auto &thread : all)
		thread.join();
}

static void graphs()
{
	std::vector<int> host(N, 1);
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaStream_t stream;
	int *device;

	TRY(cudaMalloc(&device, N * sizeof(int)));
	TRY(cudaMemcpy(device, host.data(), N * sizeof(int), cudaMemcpyHostToDevice));
	TRY(cudaStreamCreate(&stream));
	TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	scale<int><<<8, 128, 0, stream>>>(device, 2, N);
	LAUNCHED();
	scale<int><<<8, 128, 0, stream>>>(device, 3, N);
	LAUNCHED();
	TRY(cudaStreamEndCapture(stream, &graph));
	TRY(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		TRY(cudaGraphLaunch(exec, stream));
	TRY(cudaStreamSynchronize(stream));
	TRY(cudaMemcpy(host.data(), device, N * sizeof(int), cudaMemcpyDeviceToHost));
	for (int i = 0; i < N; i++)
		MUST(host[i] == 216);
	TRY(cudaGraphExecDestroy(exec));
	TRY(cudaGraphDestroy(graph));

	cudaGraphNode_t set, kernel, copy;
	cudaMemsetParams zero = {};
	cudaKernelNodeParams launch = {};
	int by = 5, n = N;
	void *args[] = { &device, &by, &n };

	TRY(cudaGraphCreate(&graph, 0));
	zero.dst = device;
	zero.value = 0x01010101;
	zero.elementSize = 4;
	zero.width = N;
	zero.height = 1;
	TRY(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &zero));
	launch.func = (void *)scale<int>;
	launch.gridDim = dim3(4);
	launch.blockDim = dim3(64);
	launch.kernelParams = args;
	TRY(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &launch));
	TRY(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host.data(), device, N * sizeof(int), cudaMemcpyDeviceToHost));
	TRY(cudaGraphInstantiate(&exec, graph, 0));
	TRY(cudaGraphLaunch(exec, stream));
	TRY(cudaStreamSynchronize(stream));
	for (int i = 0; i < N; i++)
		MUST(host[i] == 0x05050505);
	TRY(cudaGraphExecDestroy(exec));
	TRY(cudaGraphDestroy(graph));
	TRY(cudaStreamDestroy(stream));
	TRY(cudaFree(device));
}

__global__ void count_down(cudaGraphConditionalHandle handle, unsigned *p)
{
	unsigned left = *p;

	cudaGraphSetConditional(handle, left > 1);
	*p = left - 1;
}

static void conditions()
{
	cudaGraphConditionalHandle handle;
	cudaGraphNodeParams loop = {};
	cudaGraphExec_t exec;
	cudaGraphNode_t node;
	cudaGraph_t graph;
	cudaStream_t stream;
	unsigned *left, host = 7;

	TRY(cudaMalloc(&left, sizeof(*left)));
	TRY(cudaMemcpy(left, &host, sizeof(host), cudaMemcpyHostToDevice));
	TRY(cudaStreamCreate(&stream));
	TRY(cudaGraphCreate(&graph, 0));
	TRY(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
	loop.type = cudaGraphNodeTypeConditional;
	loop.conditional.handle = handle;
	loop.conditional.type = cudaGraphCondTypeWhile;
	loop.conditional.size = 1;
	TRY(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &loop));
	TRY(cudaStreamBeginCaptureToGraph(stream, loop.conditional.phGraph_out[0], nullptr, nullptr, 0,
					  cudaStreamCaptureModeRelaxed));
	count_down<<<1, 1, 0, stream>>>(handle, left);
	LAUNCHED();
	TRY(cudaStreamEndCapture(stream, nullptr));
	TRY(cudaGraphInstantiate(&exec, graph, 0));
	TRY(cudaGraphLaunch(exec, stream));
	TRY(cudaStreamSynchronize(stream));
	TRY(cudaMemcpy(&host, left, sizeof(host), cudaMemcpyDeviceToHost));
	MUST(host == 0);
	TRY(cudaGraphExecDestroy(exec));
	TRY(cudaGraphDestroy(graph));
	TRY(cudaStreamDestroy(stream));
	TRY(cudaFree(left));
}

__global__ void rounds(int *p, int n_rounds)
{
	cg::grid_group grid = cg::this_grid();
	cg::thread_block_tile<32> tile = cg::tiled_partition<32>(cg::this_thread_block());
	unsigned long long n = grid.size(), me = grid.thread_rank();

	p[me] = tile.shfl_xor(p[me], 1);
	for (int r = 0; r < n_rounds; r++) {
		grid.sync();
		int neighbour = p[(me + 1) % n];
		grid.sync();
		p[me] = neighbour + 1;
	}
}

static void cooperative()
{
	const int n = 4 * 64;
	int can = 0, n_rounds = 10, *device, host[n];
	void *args[] = { &device, &n_rounds };

	TRY(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
	if (!can) {
		printf("the device has no cooperative launches\n");
		exit(77);
	}
	for (int i = 0; i < n; i++)
		host[i] = 100 * i;
	TRY(cudaMalloc(&device, sizeof(host)));
	TRY(cudaMemcpy(device, host, sizeof(host), cudaMemcpyHostToDevice));
	TRY(cudaLaunchCooperativeKernel((void *)rounds, dim3(4), dim3(64), args, 0, 0));
	TRY(cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		MUST(host[i] == 100 * (((i + n_rounds) % n) ^ 1) + n_rounds);
	TRY(cudaFree(device));
}

static void pools()
{
	cudaMemPool_t pool, own;
	cudaMemPoolProps props = {};
	unsigned long long keep = ~0ull, used = 0;
	std::vector<int> host(N, 7);
	cudaStream_t stream;
	int *a, *b;

	TRY(cudaStreamCreate(&stream));
	TRY(cudaDeviceGetDefaultMemPool(&pool, 0));
	TRY(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	for (int round = 0; round < 5; round++) {
		TRY(cudaMallocAsync(&a, N * sizeof(int), stream));
		TRY(cudaMemcpyAsync(a, host.data(), N * sizeof(int), cudaMemcpyHostToDevice, stream));
		scale<int><<<4, 256, 0, stream>>>(a, 2, N);
		LAUNCHED();
		TRY(cudaMemcpyAsync(host.data(), a, N * sizeof(int), cudaMemcpyDeviceToHost, stream));
		TRY(cudaFreeAsync(a, stream));
	}
	TRY(cudaStreamSynchronize(stream));
	for (int i = 0; i < N; i++)
		MUST(host[i] == 7 * 32);
	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	TRY(cudaMemPoolCreate(&own, &props));
	TRY(cudaMallocFromPoolAsync(&b, 4096, own, stream));
	TRY(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
	MUST(used >= 4096);
	TRY(cudaFreeAsync(b, stream));
	TRY(cudaStreamSynchronize(stream));
	TRY(cudaMemPoolDestroy(own));
	TRY(cudaStreamDestroy(stream));
}

__global__ void triple_number()
{
	shared_number *= 3;
}

static void managed()
{
	cudaMemLocation device = { cudaMemLocationTypeDevice, 0 }, host = { cudaMemLocationTypeHost, 0 };
	int *p;

	TRY(cudaMallocManaged(&p, N * sizeof(int)));
	for (int i = 0; i < N; i++)
		p[i] = i;
	TRY(cudaMemAdvise(p, N * sizeof(int), cudaMemAdviseSetPreferredLocation, device));
	TRY(cudaMemPrefetchAsync(p, N * sizeof(int), device, 0));
	scale<int><<<4, 256>>>(p, 3, N);
	LAUNCHED();
	TRY(cudaMemPrefetchAsync(p, N * sizeof(int), host, 0));
	TRY(cudaDeviceSynchronize());
	for (int i = 0; i < N; i++)
		MUST(p[i] == 3 * i);
	TRY(cudaFree(p));

	shared_number = 5;
	triple_number<<<1, 1>>>();
	LAUNCHED();
	TRY(cudaDeviceSynchronize());
	MUST(shared_number == 15);
}

static void vmm()
{
	CUmemAllocationProp prop = {};
	CUmemAccessDesc access = {};
	CUmemGenericAllocationHandle handle;
	size_t granule, size;
	CUdeviceptr address;
	std::vector<int> host(N, 9);

#define DRIVER(name)                                                               \
	decltype(&name) p_##name;                                                  \
	TRY(cudaGetDriverEntryPointByVersion(#name, (void **)&p_##name, 12000, cudaEnableDefault, nullptr))
	TRY(cudaFree(0));
	DRIVER(cuMemGetAllocationGranularity);
	DRIVER(cuMemAddressReserve);
	DRIVER(cuMemCreate);
	DRIVER(cuMemMap);
	DRIVER(cuMemSetAccess);
	DRIVER(cuMemUnmap);
	DRIVER(cuMemRelease);
	DRIVER(cuMemAddressFree);
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	MUST(!p_cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	size = (N * sizeof(int) + granule - 1) / granule * granule;
	MUST(!p_cuMemAddressReserve(&address, size, 0, 0, 0));
	MUST(!p_cuMemCreate(&handle, size, &prop, 0));
	MUST(!p_cuMemMap(address, size, 0, handle, 0));
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	MUST(!p_cuMemSetAccess(address, size, &access, 1));
	TRY(cudaMemcpy((void *)address, host.data(), N * sizeof(int), cudaMemcpyHostToDevice));
	scale<int><<<4, 256>>>((int *)address, 4, N);
	LAUNCHED();
	TRY(cudaMemcpy(host.data(), (void *)address, N * sizeof(int), cudaMemcpyDeviceToHost));
	for (int i = 0; i < N; i++)
		MUST(host[i] == 36);
	MUST(!p_cuMemUnmap(address, size));
	MUST(!p_cuMemRelease(handle));
	MUST(!p_cuMemAddressFree(address, size));
}

__global__ void greet(int n)
{
	if (threadIdx.x < n)
		printf("thread %d of block %d says %s %.2f\n", threadIdx.x, blockIdx.x, "hello", 0.25 * threadIdx.x);
}

static void print()
{
	greet<<<1, 32>>>(3);
	LAUNCHED();
	TRY(cudaDeviceSynchronize());
}

struct shape {
	__device__ virtual ~shape() {}
	__device__ virtual int area(int x) const = 0;
};
struct square : shape {
	__device__ int area(int x) const override { return x * x; }
};
struct line : shape {
	__device__ int area(int x) const override { return x; }
};

__device__ int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__global__ void measure(int *out)
{
	square s;
	line l;
	const shape *which = threadIdx.x % 2 ? (const shape *)&s : (const shape *)&l;

	out[threadIdx.x] = which->area(threadIdx.x) + fibonacci(threadIdx.x % 8);
}

static void calls()
{
	int host[64], *device, fib[8] = { 0, 1, 1, 2, 3, 5, 8, 13 };

	TRY(cudaMalloc(&device, sizeof(host)));
	measure<<<1, 64>>>(device);
	LAUNCHED();
	TRY(cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < 64; i++)
		MUST(host[i] == (i % 2 ? i * i : i) + fib[i % 8]);
	TRY(cudaFree(device));
}

__global__ void stray(int *p)
{
	*p = 1;
}

static void errors()
{
	void *p;

	MUST(cudaMalloc(&p, (size_t)1 << 50) == cudaErrorMemoryAllocation);
	MUST(cudaGetLastError() == cudaErrorMemoryAllocation);
	stray<<<1, 2000>>>(nullptr);
	MUST(cudaGetLastError() == cudaErrorInvalidConfiguration);
	MUST(cudaGetLastError() == cudaSuccess);
	stray<<<1, 1>>>((int *)0x10);
	LAUNCHED();
	MUST(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
	MUST(cudaMalloc(&p, 16) == cudaErrorIllegalAddress);
	TRY(cudaDeviceReset());
	vector_add();
}

static const struct {
	const char *name;
	void (*run)();
} scenes[] = {
	{ "vector-add", vector_add }, { "streams", streams }, { "threads", threads }, { "graphs", graphs },
	{ "conditions", conditions },
	{ "cooperative", cooperative }, { "pools", pools }, { "managed", managed }, { "vmm", vmm },
	{ "print", print }, { "calls", calls }, { "errors", errors },
};

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		bool found = false;

		for (auto &scene : scenes)
			if (!strcmp(scene.name, argv[i])) {
				found = true;
				scene.run();
			}
		if (!found) {
			printf("there is no scene '%s'\n", argv[i]);
			return 2;
		}
	}
	return 0;
}
