/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/limits.h"

#include "base/util.h"

#define KIB 1024

/* The vendor's table of specifications by capability, in ascending order. */
static const struct dev_limits table[] = {
	/*      threads, blocks, shared memory: all, of a block, reserved, unit */
	{ 50, 2048, 32, 64 * KIB, 48 * KIB, 0, 256 },
	{ 52, 2048, 32, 96 * KIB, 48 * KIB, 0, 256 },
	{ 53, 2048, 32, 64 * KIB, 48 * KIB, 0, 256 },
	{ 61, 2048, 32, 96 * KIB, 48 * KIB, 0, 256 },
	{ 62, 2048, 32, 64 * KIB, 48 * KIB, 0, 256 },
	{ 70, 2048, 32, 96 * KIB, 96 * KIB, 0, 256 },
	{ 75, 1024, 16, 64 * KIB, 64 * KIB, 0, 256 },
	{ 80, 2048, 32, 164 * KIB, 163 * KIB, KIB, 128 },
	{ 86, 1536, 16, 100 * KIB, 99 * KIB, KIB, 128 },
	{ 87, 1536, 16, 164 * KIB, 163 * KIB, KIB, 128 },
	{ 89, 1536, 24, 100 * KIB, 99 * KIB, KIB, 128 },
	{ 90, 2048, 32, 228 * KIB, 227 * KIB, KIB, 128 },
	{ 110, 1536, 24, 228 * KIB, 227 * KIB, KIB, 128 },
	{ 120, 1536, 24, 100 * KIB, 99 * KIB, KIB, 128 },
};

const struct dev_limits *dev_limits_of(unsigned capability)
{
	const struct dev_limits *found = &table[0];

	for (unsigned i = 0; i < SLU_ARRAY_SIZE(table) && table[i].capability <= capability; i++)
		found = &table[i];
	return found;
}

unsigned dev_limits_fit(const struct dev_limits *limits, unsigned n_threads, uint64_t shared_bytes)
{
	unsigned n_warps = (n_threads + DEV_LIMITS_WARP_THREADS - 1) / DEV_LIMITS_WARP_THREADS;
	unsigned n_resident = limits->n_threads / DEV_LIMITS_WARP_THREADS / n_warps;
	unsigned n = SLU_MIN(n_resident, limits->n_blocks);
	uint64_t each = slu_round_up(shared_bytes + limits->shared_bytes_reserved,
				     limits->shared_unit_bytes);

	if (each)
		n = (unsigned)SLU_MIN((uint64_t)n, limits->shared_bytes / each);
	return n;
}
