// SPDX-License-Identifier: Apache-2.0
//
// Algorithms of CUB and Thrust against the CPU: sort, scan, reduce, select, histogram, over several types and lengths, among
// them those that leave a warp, a block or a tile unfilled. cudart-algorithms [SEED]

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

static std::mt19937_64 generator;
static const char *doing;

#define TRY(call)                                                                               \
	do {                                                                                    \
		cudaError_t e_ = (call);                                                        \
		if (e_ != cudaSuccess) {                                                        \
			printf("%s: %s: %s\n", doing, #call, cudaGetErrorString(e_));           \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

#define MUST(condition, n)                                                            \
	do {                                                                          \
		if (!(condition)) {                                                   \
			printf("%s of %zu: not so: %s\n", doing, (size_t)(n), #condition); \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

// whole numbers, so that sums of floating point are exact in any order
template <typename T> static std::vector<T> random_numbers(size_t n, int range = 1000)
{
	std::vector<T> v(n);

	for (auto &x : v)
		x = (T)(int64_t)(generator() % (uint64_t)range);
	return v;
}

// a CUB algorithm is called twice: how much memory does it need, and do it
template <typename F> static void with_scratch(F algorithm)
{
	thrust::device_vector<unsigned char> scratch;
	size_t bytes = 0;

	TRY(algorithm((void *)nullptr, bytes));
	scratch.resize(bytes + 1);
	TRY(algorithm((void *)thrust::raw_pointer_cast(scratch.data()), bytes));
	TRY(cudaDeviceSynchronize());
}

template <typename T> static T *raw(thrust::device_vector<T> &v)
{
	return thrust::raw_pointer_cast(v.data());
}

template <typename T> static std::vector<T> fetch(const thrust::device_vector<T> &v)
{
	std::vector<T> host(v.size());

	thrust::copy(v.begin(), v.end(), host.begin());
	return host;
}

template <typename T> static void sorts(size_t n)
{
	std::vector<T> keys = random_numbers<T>(n, 120), expected = keys;
	std::vector<uint32_t> places(n);
	thrust::device_vector<T> in = keys, out(n);
	thrust::device_vector<uint32_t> values(n), moved(n);

	doing = "radix sort of pairs";
	std::iota(places.begin(), places.end(), 0);
	values = places;
	std::stable_sort(places.begin(), places.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
	std::sort(expected.begin(), expected.end());
	with_scratch([&](void *scratch, size_t &bytes) {
		return cub::DeviceRadixSort::SortPairs(scratch, bytes, raw(in), raw(out), raw(values), raw(moved), (int)n);
	});
	MUST(fetch(out) == expected, n);
	MUST(fetch(moved) == places, n);

	doing = "thrust::sort, downwards";
	thrust::sort(in.begin(), in.end(), thrust::greater<T>());
	std::reverse(expected.begin(), expected.end());
	MUST(fetch(in) == expected, n);
}

template <typename T> static void scans(size_t n)
{
	std::vector<T> host = random_numbers<T>(n, 7), expected(n);
	thrust::device_vector<T> in = host, out(n);

	doing = "inclusive sum";
	std::partial_sum(host.begin(), host.end(), expected.begin());
	with_scratch([&](void *scratch, size_t &bytes) { return cub::DeviceScan::InclusiveSum(scratch, bytes, raw(in), raw(out), (int)n); });
	MUST(fetch(out) == expected, n);

	doing = "thrust::exclusive_scan";
	thrust::exclusive_scan(in.begin(), in.end(), out.begin());
	for (size_t i = n; i-- > 1;)
		expected[i] = expected[i - 1];
	expected[0] = 0;
	MUST(fetch(out) == expected, n);
}

template <typename T> static void reductions(size_t n)
{
	std::vector<T> host = random_numbers<T>(n, 50);
	thrust::device_vector<T> in = host, out(1);

	doing = "sum";
	with_scratch([&](void *scratch, size_t &bytes) { return cub::DeviceReduce::Sum(scratch, bytes, raw(in), raw(out), (int)n); });
	MUST(fetch(out)[0] == std::accumulate(host.begin(), host.end(), (T)0), n);
	doing = "maximum";
	with_scratch([&](void *scratch, size_t &bytes) { return cub::DeviceReduce::Max(scratch, bytes, raw(in), raw(out), (int)n); });
	MUST(fetch(out)[0] == *std::max_element(host.begin(), host.end()), n);
	doing = "thrust::reduce";
	MUST(thrust::reduce(in.begin(), in.end(), (T)3) == std::accumulate(host.begin(), host.end(), (T)3), n);
}

template <typename T> struct is_small {
	__host__ __device__ bool operator()(const T &x) const
	{
		return x < (T)20;
	}
};

template <typename T> static void selections(size_t n)
{
	std::vector<T> host = random_numbers<T>(n, 60), expected, found;
	thrust::device_vector<T> in = host, out(n);
	thrust::device_vector<int> count(1);

	doing = "selection";
	std::copy_if(host.begin(), host.end(), std::back_inserter(expected), is_small<T>());
	with_scratch([&](void *scratch, size_t &bytes) {
		return cub::DeviceSelect::If(scratch, bytes, raw(in), raw(out), raw(count), (int)n, is_small<T>());
	});
	MUST(fetch(count)[0] == (int)expected.size(), n);
	found = fetch(out);
	found.resize(expected.size());
	MUST(found == expected, n);

	doing = "thrust::unique of a sorted list";
	std::sort(host.begin(), host.end());
	in = host;
	in.erase(thrust::unique(in.begin(), in.end()), in.end());
	host.erase(std::unique(host.begin(), host.end()), host.end());
	MUST(fetch(in) == host, n);
}

template <typename T> static void histograms(size_t n)
{
	const int n_bins = 16;
	std::vector<T> host = random_numbers<T>(n, 80);
	std::vector<int> expected(n_bins);
	thrust::device_vector<T> in = host;
	thrust::device_vector<int> bins(n_bins);

	doing = "histogram";
	for (T x : host)
		if (x < (T)64)
			expected[(size_t)x / 4]++;
	with_scratch([&](void *scratch, size_t &bytes) {
		return cub::DeviceHistogram::HistogramEven(scratch, bytes, raw(in), raw(bins), n_bins + 1, (T)0, (T)64, (int)n);
	});
	MUST(fetch(bins) == expected, n);
}

template <typename T> static void all(const char *type)
{
	for (size_t n : { (size_t)1, (size_t)31, (size_t)257, (size_t)5000, (size_t)20011 }) {
		sorts<T>(n);
		scans<T>(n);
		reductions<T>(n);
		selections<T>(n);
		histograms<T>(n);
	}
	printf("%s: as on the CPU\n", type);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	generator.seed(argc > 1 ? strtoull(argv[1], nullptr, 0) : 1);
	all<int32_t>("int32");
	all<float>("float");
#ifdef ALL_TYPES
	all<uint8_t>("uint8");
	all<uint16_t>("uint16");
	all<int64_t>("int64");
	all<double>("double");
#endif
	return 0;
}
