/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of test-kernels.c: each with a plain C twin there. */
#include "device.h"

kernel void vadd(global const float *a, global const float *b, global float *c, int n)
{
	int i = GLOBAL_ID;

	if (i < n)
		c[i] = a[i] + b[i];
}

kernel void stream_fma(global const float *a, global const float *b, global float *c, int n)
{
	for (int i = GLOBAL_ID; i < n; i += BLOCK_SIZE * GRID_SIZE)
		c[i] = a[i] * b[i] + c[i];
}

/* One block of 16 x 16 threads a tile; n is a multiple of 16. */
kernel void sgemm(global const float *a, global const float *b, global float *c, int n)
{
	local float ta[16][16], tb[16][16];
	int tiles = n / 16;
	int row = BLOCK / tiles * 16 + TID / 16, column = BLOCK % tiles * 16 + TID % 16;
	float sum = 0;

	for (int t = 0; t < tiles; t++) {
		ta[TID / 16][TID % 16] = a[row * n + t * 16 + TID % 16];
		tb[TID / 16][TID % 16] = b[(t * 16 + TID / 16) * n + column];
		BARRIER();
		for (int k = 0; k < 16; k++)
			sum = __builtin_fmaf(ta[TID / 16][k], tb[k][TID % 16], sum);
		BARRIER();
	}
	c[row * n + column] = sum;
}

/* A tree in shared memory of 256 threads, one result a block. */
kernel void reduce(global const int *in, global int *out, int n)
{
	local int tree[256];
	int sum = 0;

	for (int i = GLOBAL_ID; i < n; i += BLOCK_SIZE * GRID_SIZE)
		sum += in[i];
	tree[TID] = sum;
	BARRIER();
	for (int left = 128; left; left /= 2) {
		if (TID < left)
			tree[TID] += tree[TID + left];
		BARRIER();
	}
	if (!TID)
		out[BLOCK] = tree[0];
}

kernel void histogram(global const unsigned char *in, global int *bins, int n)
{
	local int mine[256];

	for (int i = TID; i < 256; i += BLOCK_SIZE)
		mine[i] = 0;
	BARRIER();
	for (int i = GLOBAL_ID; i < n; i += BLOCK_SIZE * GRID_SIZE)
		ATOMIC_ADD(&mine[in[i]], 1);
	BARRIER();
	for (int i = TID; i < 256; i += BLOCK_SIZE)
		if (mine[i])
			ATOMIC_ADD(&bins[i], mine[i]);
}

struct link {
	global struct link *next;
	int value;
};

/* Follows pointers that lie in device memory. */
kernel void chase(global struct link *const global *heads, global int *out, int n)
{
	int i = GLOBAL_ID, sum = 0;

	if (i >= n)
		return;
	for (global struct link *l = heads[i]; l; l = l->next)
		sum += l->value;
	out[i] = sum;
}

/* Every lane goes its own number of rounds. */
kernel void collatz(global const unsigned *in, global int *out, int n)
{
	int i = GLOBAL_ID, steps = 0;

	if (i >= n)
		return;
	for (unsigned long x = in[i]; x > 1; steps++)
		x = x & 1 ? 3 * x + 1 : x / 2;
	out[i] = steps;
}

/* A lock that lanes of one warp, warps and blocks fight for. */
kernel void spin_lock(global int *lock, global int *counter, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		int is_done = 0;

		while (!is_done) {
			if (!ATOMIC_CAS(lock, 0, 1)) {
				*(volatile global int *)counter = *(volatile global int *)counter + 1;
				FENCE();
				ATOMIC_XCHG(lock, 0);
				is_done = 1;
			}
		}
	}
}

__attribute__((noinline)) static int ackermann(int m, int n)
{
	if (!m)
		return n + 1;
	if (!n)
		return ackermann(m - 1, 1);
	return ackermann(m - 1, ackermann(m, n - 1));
}

/* Recursion, deeper in some lanes than in others. */
kernel void recurse(global int *out, int n)
{
	int i = GLOBAL_ID;

	if (i < n)
		out[i] = ackermann(i % 3, i % 5);
}

struct box {
	int which;
	float value[5];
	long large;
};

/* A struct by value, and an array that lives in local memory. */
kernel void by_value(struct box box, global double *out, int n)
{
	int i = GLOBAL_ID;
	float copy[8];

	if (i >= n)
		return;
	for (int k = 0; k < 8; k++)
		copy[k] = box.value[(k + i) % 5] * (float)k;
	out[i] = (double)copy[(i + box.which) % 8] + (double)box.large;
}

/* A mixture of types, as a compiler makes it of ordinary C. */
kernel void mixture(global const long *in, global long *out, int n)
{
	int i = GLOBAL_ID;
	long x;

	if (i >= n)
		return;
	x = in[i];
	switch (x & 7) {
	case 0:
		x = x / 7 + (x % 13);
		break;
	case 1:
		x = (long)(int)x * 3 - (short)x;
		break;
	case 2:
		x = (unsigned char)x + ((unsigned)x >> 3);
		break;
	case 3:
		x = __builtin_popcountl(x) + __builtin_clzl(x | 1);
		break;
	case 4:
		x = (long)((double)x * 0.5) + (long)(float)(int)x;
		break;
	case 5:
		x = (x << (x & 31)) ^ (x >> 5);
		break;
	case 6:
		x = (int)x / ((int)(x >> 40) | 1);
		break;
	default:
		x = x > 0 ? -x : x + (x < -1000);
	}
	out[i] = x;
}

constant int table[16] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 };

/* Initialised constant memory, and dynamic shared memory given as an argument. */
kernel void lookup(global int *out, local int *scratch, int n)
{
	int i = GLOBAL_ID;

	scratch[TID] = table[i % 16] * 10;
	BARRIER();
	if (i < n)
		out[i] = scratch[BLOCK_SIZE - 1 - TID];
}

kernel void fma_registers(global float *out, int rounds)
{
	float a = (float)TID, b = 0.5f, c = 0.25f, d = 0.125f, x = 0.999f, y = 0.001f;

	for (int i = 0; i < rounds; i++) {
		a = __builtin_fmaf(a, x, y);
		b = __builtin_fmaf(b, x, y);
		c = __builtin_fmaf(c, x, y);
		d = __builtin_fmaf(d, x, y);
		a = __builtin_fmaf(a, x, y);
		b = __builtin_fmaf(b, x, y);
		c = __builtin_fmaf(c, x, y);
		d = __builtin_fmaf(d, x, y);
	}
	out[GLOBAL_ID] = a + b + c + d;
}
