/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels behind CUB's algorithms, for a few types. */
#include <cub/cub.cuh>

template <class T> void all(void *scratch, size_t &size, T *in, T *out, int *n)
{
	cub::DeviceRadixSort::SortKeys(scratch, size, in, out, 1000);
	cub::DeviceRadixSort::SortPairs(scratch, size, in, out, n, n, 1000);
	cub::DeviceScan::ExclusiveSum(scratch, size, in, out, 1000);
	cub::DeviceReduce::Sum(scratch, size, in, out, 1000);
	cub::DeviceReduce::Max(scratch, size, in, out, 1000);
	cub::DeviceSelect::Flagged(scratch, size, in, n, out, n, 1000);
	cub::DeviceSelect::Unique(scratch, size, in, out, n, 1000);
	cub::DeviceRunLengthEncode::Encode(scratch, size, in, out, n, n, 1000);
	cub::DeviceHistogram::HistogramEven(scratch, size, in, n, 17, T(0), T(16), 1000);
}

template void all<int>(void *, size_t &, int *, int *, int *);
template void all<float>(void *, size_t &, float *, float *, int *);
template void all<double>(void *, size_t &, double *, double *, int *);
template void all<unsigned long long>(void *, size_t &, unsigned long long *, unsigned long long *, int *);
