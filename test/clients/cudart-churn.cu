// SPDX-License-Identifier: Apache-2.0
//
// Scans, selections, sorts and gathers of CUB and Thrust in a loop, against the CPU: several threads, a stream each, and all
// memory, temporary memory too, allocated and freed in every round. cudart-churn [THREADS [ROUNDS [N [SEED]]]]

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include <unistd.h>

#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/gather.h>
#include <thrust/reduce.h>

// of the calling thread
static thread_local int thread_number, round_number;

#define MUST(condition)                                                                      \
	do {                                                                                 \
		if (!(condition)) {                                                          \
			printf("thread %d, round %d: not so: %s (%s)\n", thread_number,      \
			       round_number, #condition,                                     \
			       cudaGetErrorString(cudaGetLastError()));                      \
			fflush(stdout);                                                      \
			_exit(1);                                                            \
		}                                                                            \
	} while (0)
#define TRY(call) MUST((call) == cudaSuccess)

template <typename T> struct is_odd {
	__host__ __device__ bool operator()(const T &x) const
	{
		return x & 1;
	}
};

// device memory in the order of a stream, or of the whole device
struct allocator {
	cudaStream_t stream;
	bool is_ordered;

	template <typename T> T *take(size_t n) const
	{
		void *p;

		TRY(is_ordered ? cudaMallocAsync(&p, n * sizeof(T) + 1, stream) : cudaMalloc(&p, n * sizeof(T) + 1));
		return (T *)p;
	}
	void give(void *p) const
	{
		TRY(is_ordered ? cudaFreeAsync(p, stream) : cudaFree(p));
	}
};

// an algorithm of CUB is called twice: how much temporary memory does it need, and do it
template <typename F> static void with_temporary_memory(const allocator &from, F algorithm)
{
	size_t bytes = 0;
	char *temporary;

	TRY(algorithm((void *)nullptr, bytes));
	temporary = from.take<char>(bytes);
	TRY(algorithm((void *)temporary, bytes));
	from.give(temporary);
}

template <typename T> static void fetch(cudaStream_t stream, T *to, const T *from, size_t n)
{
	TRY(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyDeviceToHost, stream));
	TRY(cudaStreamSynchronize(stream));
}

template <typename T> static void work(const allocator &from, size_t n, uint64_t seed)
{
	std::mt19937_64 generator(seed);
	std::vector<T> keys(n), sums(n), found(n), odd;
	std::vector<uint32_t> map(n);
	cudaStream_t stream = from.stream;
	T *in = from.take<T>(n), *out = from.take<T>(n), *gathered = from.take<T>(n);
	uint32_t *where = from.take<uint32_t>(n), *moved = from.take<uint32_t>(n);
	int *count = from.take<int>(1), n_odd = -1;

	for (auto &key : keys)
		key = (T)(generator() % 1000);
	std::iota(map.begin(), map.end(), 0);
	std::shuffle(map.begin(), map.end(), generator);
	TRY(cudaMemcpyAsync(in, keys.data(), n * sizeof(T), cudaMemcpyHostToDevice, stream));
	TRY(cudaMemcpyAsync(where, map.data(), n * sizeof(uint32_t), cudaMemcpyHostToDevice, stream));

	with_temporary_memory(from, [&](void *temporary, size_t &bytes) {
		return cub::DeviceScan::InclusiveSum(temporary, bytes, in, out, (int)n, stream);
	});
	thrust::gather(thrust::cuda::par_nosync.on(stream), where, where + n, out, gathered);
	fetch(stream, found.data(), gathered, n);
	std::partial_sum(keys.begin(), keys.end(), sums.begin());
	for (size_t i = 0; i < n; i++)
		MUST(found[i] == sums[map[i]]);

	with_temporary_memory(from, [&](void *temporary, size_t &bytes) {
		return cub::DeviceSelect::If(temporary, bytes, in, out, count, (int)n, is_odd<T>(), stream);
	});
	fetch(stream, &n_odd, count, 1);
	fetch(stream, found.data(), out, n);
	std::copy_if(keys.begin(), keys.end(), std::back_inserter(odd), is_odd<T>());
	MUST(n_odd == (int)odd.size());
	MUST(std::equal(odd.begin(), odd.end(), found.begin()));

	with_temporary_memory(from, [&](void *temporary, size_t &bytes) {
		return cub::DeviceRadixSort::SortPairs(temporary, bytes, in, out, where, moved, (int)n, 0, 8 * (int)sizeof(T), stream);
	});
	fetch(stream, found.data(), out, n);
	std::sort(keys.begin(), keys.end());
	MUST(found == keys);
	{
		thrust::device_vector<T> sorted(out, out + n), ones(n, 1), distinct(n), counts(n);
		auto end = thrust::reduce_by_key(sorted.begin(), sorted.end(), ones.begin(), distinct.begin(), counts.begin());

		MUST(end.first - distinct.begin() == std::unique(keys.begin(), keys.end()) - keys.begin());
	}
	for (void *p : { (void *)in, (void *)out, (void *)gathered, (void *)where, (void *)moved, (void *)count })
		from.give(p);
}

int main(int argc, char **argv)
{
	int n_threads = argc > 1 ? atoi(argv[1]) : 2, n_rounds = argc > 2 ? atoi(argv[2]) : 6;
	size_t n = argc > 3 ? strtoul(argv[3], nullptr, 0) : 20000;
	uint64_t seed = argc > 4 ? strtoull(argv[4], nullptr, 0) : 1;
	std::vector<std::thread> threads;

	for (int i = 0; i < n_threads; i++)
		threads.emplace_back([=] {
			allocator from;

			thread_number = i;
			TRY(cudaStreamCreateWithFlags(&from.stream, i & 1 ? cudaStreamNonBlocking : cudaStreamDefault));
			for (round_number = 0; round_number < n_rounds; round_number++) {
				uint64_t own = seed + 1000 * (uint64_t)i + (uint64_t)round_number;

				from.is_ordered = round_number & 2;
				if ((round_number + i) & 1)
					work<uint64_t>(from, n, own);
				else
					work<uint32_t>(from, n, own);
			}
			TRY(cudaStreamDestroy(from.stream));
		});
	for (auto &thread : threads)
		thread.join();
	puts("as on the CPU");
	return 0;
}
