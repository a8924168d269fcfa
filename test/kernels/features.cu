/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel for each corner of the language that nvcc has its own PTX for. */
#include <cassert>
#include <cstdio>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

namespace cg = cooperative_groups;
using namespace nvcuda;

__global__ void halves(__half2 *a, __half *b, float *f)
{
	int i = threadIdx.x;
	__half2 x = __hfma2(a[i], a[i], a[i]);

	x = h2exp(x);
	a[i] = __h2div(x, h2sqrt(x));
	b[i] = hsin(b[i]) + __float2half_rz(f[i]) + __int2half_rn(i);
	f[i] = __half2float(b[i]);
	if (__heq(b[i], b[i + 1]))
		atomicAdd(&a[0], x);
	atomicAdd(b, b[i]);
}

__global__ void brains(__nv_bfloat162 *a, __nv_bfloat16 *b, float *f)
{
	int i = threadIdx.x;

	b[i] = b[i] * b[i + 1] + __float2bfloat16_rz(f[i]);
	f[i] = __bfloat162float(b[i]);
#if __CUDA_ARCH__ >= 800
	a[i] = __hmax2(__hfma2(a[i], a[i], a[i]), h2exp(a[i]));
	if (b[i] < b[i + 1])
		atomicAdd(&a[0], a[i]);
	atomicAdd(b, b[i]);
#endif
}

template <int M, int N, int K, class T, class A>
__device__ void multiply(const T *a, const T *b, A *c)
{
	wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> x;
	wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::col_major> y;
	wmma::fragment<wmma::accumulator, M, N, K, A> z;

	wmma::load_matrix_sync(x, a, K);
	wmma::load_matrix_sync(y, b, K);
	wmma::load_matrix_sync(z, c, N, wmma::mem_row_major);
	wmma::mma_sync(z, x, y, z);
	wmma::store_matrix_sync(c, z, N, wmma::mem_row_major);
}

__global__ void matrices(half *h, float *f, half *g, signed char *s, unsigned char *u, int *n)
{
	multiply<16, 16, 16>(h, h, f);
	multiply<8, 32, 16>(h, h, g);
	multiply<32, 8, 16>(s, s, n);
	multiply<16, 16, 16>(u, u, n);
}

__global__ void words(int n, float f, const char *s)
{
	printf("%d %f %s %p\n", n, f, s, s);
	assert(n > 3);
}

__global__ void heap(int **p)
{
	int *q = (int *)malloc(threadIdx.x * 4), *z = new int[4];

	p[threadIdx.x] = q;
	delete[] z;
	free(q);
}

struct Base {
	__device__ virtual int of(int x)
	{
		return x;
	}
};

struct Twice : Base {
	__device__ int of(int x) override
	{
		return x * 2;
	}
};

__global__ void methods(int *out, int which)
{
	Base *b = which ? new Twice : new Base;

	out[0] = b->of(which);
	delete b;
}

__device__ __noinline__ int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__global__ void recursion(int *out)
{
	out[threadIdx.x] = fibonacci(threadIdx.x & 7);
}

__global__ void groups(int *out)
{
	cg::grid_group grid = cg::this_grid();
	auto tile = cg::tiled_partition<8>(cg::this_thread_block());
	auto some = cg::coalesced_threads();

	out[grid.thread_rank()] = 1;
	grid.sync();
	out[0] = cg::reduce(tile, out[1], cg::plus<int>());
	out[2] = cg::inclusive_scan(tile, out[3]);
	out[4] = some.shfl_down(out[5], 1) + cg::labeled_partition(some, out[6]).size();
}

__global__ void functions(float *f, double *d, int *n)
{
	int t = threadIdx.x;

	f[t] = sinf(f[t]) + expf(f[t + 1]) * powf(f[t], 2.5f) + atan2f(f[t], f[1]) + erff(f[t]) +
	       cbrtf(f[t]) + __fdividef(f[t], f[2]) + rsqrtf(f[t]) + tanhf(f[3]) +
	       fmodf(f[4], f[5]) + __frcp_rd(f[2]) + __fsqrt_ru(f[3]);
	d[t] = sin(d[t]) + exp(d[t]) * pow(d[t], 3.3) + erf(d[t]) + lgamma(d[t]) +
	       __dsqrt_rd(d[1]) + rsqrt(d[2]);
	n[t] = __popc(n[t]) + __clzll(n[t]) + __brev(n[t]) + __ffs(n[1]) + __sad(n[0], n[1], 3) +
	       __mulhi(n[1], n[2]) + __funnelshift_lc(n[0], n[1], n[2]) +
	       __byte_perm(n[0], n[1], n[2]) + __dp4a(n[0], n[1], n[2]) +
	       __dp2a_lo(n[0], n[1], n[2]) + __vabsdiffu4(n[0], n[1]) + __vadd2(n[0], n[3]) +
	       __vcmpgtu2(n[0], n[1]) + __fns(n[0], n[1], n[2]);
}

__global__ void lanes(unsigned *o, unsigned long long *l)
{
	unsigned t = threadIdx.x;
	int is_all;

	o[t] = __match_any_sync(~0u, o[t]) + __ballot_sync(~0u, t & 1) + __activemask() +
	       __shfl_xor_sync(~0u, t, 3) + __syncthreads_count(t) + __syncthreads_and(t);
	o[1] += __match_all_sync(~0u, l[t], &is_all) + is_all;
	__nanosleep(100);
	l[t] = clock64() + __isShared(o) + __isGlobal(o) + __isConstant(o) + __isLocal(o) +
	       (unsigned long long)__cvta_generic_to_shared(o);
	atomicCAS((unsigned short *)o, (unsigned short)1, (unsigned short)2);
	atomicMax(l, 3ull);
	atomicInc_system(o, 3);
	atomicAnd_block(o, 4);
	atomicAdd((double *)l, 1.0);
	__threadfence_system();
	o[2] = __ldg(o + 3) + __ldcs(o + 4) + __ldcv(o + 5);
	__stwt(o + 6, 3);
#if __CUDA_ARCH__ >= 800
	o[3] = __reduce_add_sync(~0u, t) + __reduce_xor_sync(~0u, t);
#endif
}

__global__ void choices(int *o)
{
	switch (o[threadIdx.x]) {
	case 0:
		o[1] = 5;
		break;
	case 1:
		o[2] = 8;
		break;
	case 2:
		o[3] = o[4] * 3;
		break;
	case 3:
		o[5] = 2;
		break;
	case 4:
		o[7] -= 4;
		break;
	case 5:
		o[8]++;
		break;
	default:
		o[0] = 3;
	}
}

__global__ void stack(int n, int *o)
{
	int *p = (int *)alloca(n * 4);

	for (int i = 0; i < n; i++)
		p[i] = o[i];
	for (int i = 0; i < n; i++)
		o[i] = p[n - 1 - i];
}
