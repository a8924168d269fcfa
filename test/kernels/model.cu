// SPDX-License-Identifier: Apache-2.0
// Kernels as model code has them, for predictions of what nvcc makes (src/predict/test-nvcc.c).

#define TILE 16

extern "C" __global__ void axpy(const float *x, float *y, float a, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		y[i] = a * x[i] + y[i];
}

extern "C" __global__ void axpy_wide(const float4 *x, float4 *y, float a, size_t n)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		float4 v = x[i], w = y[i];

		y[i] = make_float4(a * v.x + w.x, a * v.y + w.y, a * v.z + w.z, a * v.w + w.w);
	}
}

extern "C" __global__ void sgemm(const float *a, const float *b, float *c, int m, int n, int k)
{
	__shared__ float ta[TILE][TILE], tb[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int t = 0; t < k; t += TILE) {
		ta[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : 0;
		tb[threadIdx.y][threadIdx.x] = t + threadIdx.y < k && column < n ? b[(t + threadIdx.y) * n + column] : 0;
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
		__syncthreads();
	}
	if (row < m && column < n)
		c[row * n + column] = sum;
}

__device__ float block_sum(float v)
{
	__shared__ float parts[32];

	for (int d = 16; d; d /= 2)
		v += __shfl_down_sync(~0u, v, d);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		parts[threadIdx.x / 32] = v;
	__syncthreads();
	v = 0;
	for (int i = 0; i < blockDim.x / 32; i++)
		v += parts[i];
	return v;
}

extern "C" __global__ void reduce(const float *x, float *out, int n)
{
	float v = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v += x[i];
	v = block_sum(v);
	if (threadIdx.x == 0)
		out[blockIdx.x] = v;
}

extern "C" __global__ void reduce_atomic(const float *x, float *out, int n)
{
	float v = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v += x[i];
	v = block_sum(v);
	if (threadIdx.x == 0)
		atomicAdd(out, v);
}

extern "C" __global__ void softmax(const float *x, float *y, int columns)
{
	const float *from = x + (size_t)blockIdx.x * columns;
	float *to = y + (size_t)blockIdx.x * columns;
	float sum = 0;

	for (int i = threadIdx.x; i < columns; i += blockDim.x)
		sum += __expf(from[i]);
	sum = block_sum(sum);
	for (int i = threadIdx.x; i < columns; i += blockDim.x)
		to[i] = __expf(from[i]) / sum;
}

extern "C" __global__ void layernorm(const float *x, const float *weight, const float *bias, float *y, int columns)
{
	const float *from = x + blockIdx.x * columns;
	float sum = 0, squares = 0, mean, scale;

	for (int i = threadIdx.x; i < columns; i += blockDim.x) {
		sum += from[i];
		squares += from[i] * from[i];
	}
	mean = block_sum(sum) / columns;
	scale = rsqrtf(block_sum(squares) / columns - mean * mean + 1e-5f);
	for (int i = threadIdx.x; i < columns; i += blockDim.x)
		y[blockIdx.x * columns + i] = (from[i] - mean) * scale * weight[i] + bias[i];
}

extern "C" __global__ void transpose(const float *x, float *y, int rows, int columns)
{
	__shared__ float tile[TILE][TILE + 1];
	int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;

	if (row < rows && column < columns)
		tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
	__syncthreads();
	column = blockIdx.y * TILE + threadIdx.x;
	row = blockIdx.x * TILE + threadIdx.y;
	if (row < columns && column < rows)
		y[row * rows + column] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void gather(const float *table, const int *indices, float *out, int n, int width)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n * width)
		out[i] = table[indices[i / width] * width + i % width];
}

struct view {
	float *data;
	int rows, columns, stride;
};

extern "C" __global__ void fill(struct view v, float value)
{
	int column = blockIdx.x * blockDim.x + threadIdx.x;

	for (int row = blockIdx.y; row < v.rows; row += gridDim.y)
		if (column < v.columns)
			v.data[row * v.stride + column] = value;
}

__noinline__ __device__ float square(float x)
{
	return x * x;
}

extern "C" __global__ void squares(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = square(x[i]);
}

__noinline__ __device__ void copy(const float *from, float *to)
{
	*to = *from;
}

extern "C" __global__ void copies(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		copy(x + i, y + i);
}

__noinline__ __device__ int reverse(int i, int n)
{
	return n - 1 - i;
}

extern "C" __global__ void permute(float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[reverse(i, n)] = i;
}
