/* SPDX-License-Identifier: Apache-2.0 */

#include "opencl/digest.h"

#include <endian.h>
#include <string.h>

#include "base/util.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
#define MIX_A  UINT64_C(0xff51afd7ed558ccd)
#define MIX_B  UINT64_C(0xc4ceb9fe1a85ec53)
#define FOLD   UINT64_C(0xd6e8feb86659fd93)

const char slu_digest_source[] =
	"ulong mix_word(ulong x)\n"
	"{\n"
	"  x ^= x >> 33;\n"
	"  x *= 0xff51afd7ed558ccdUL;\n"
	"  x ^= x >> 33;\n"
	"  x *= 0xc4ceb9fe1a85ec53UL;\n"
	"  return x ^ (x >> 33);\n"
	"}\n"
	"ulong2 mix_block(ulong2 block, ulong i)\n"
	"{\n"
	"  ulong p = (i + 1) * 0x9e3779b97f4a7c15UL, x, y;\n"
	"  x = mix_word(block.x ^ p);\n"
	"  y = mix_word((block.y ^ rotate(p, (ulong)32)) + x);\n"
	"  x += y;\n"
	"  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93UL;\n"
	"  return (ulong2)(x, y);\n"
	"}\n"
	"kernel void slu_digest(global const uchar *data, ulong bytes, ulong from, ulong step,\n"
	"                       ulong count, global ulong *sums, local ulong *scratch)\n"
	"{\n"
	"  global const ulong2 *blocks = (global const ulong2 *)data;\n"
	"  ulong n_blocks = bytes / 16, i = get_global_id(0) * from;\n"
	"  uint me = get_local_id(0);\n"
	"  ulong2 sum = 0;\n"
	"  for (ulong k = 0; k < count && i < n_blocks; k++, i += step)\n"
	"    sum += mix_block(blocks[i], i);\n"
	"  if (get_global_id(0) == 0 && bytes % 16) {\n"
	"    ulong2 rest = 0;\n"
	"    for (uint b = 0; b < bytes % 16; b++) {\n"
	"      ulong word = (ulong)data[n_blocks * 16 + b] << (b % 8 * 8);\n"
	"      if (b < 8)\n"
	"        rest.x |= word;\n"
	"      else\n"
	"        rest.y |= word;\n"
	"    }\n"
	"    sum += mix_block(rest, n_blocks);\n"
	"  }\n"
	"  scratch[2 * me] = sum.x;\n"
	"  scratch[2 * me + 1] = sum.y;\n"
	"  for (uint half_size = get_local_size(0) / 2; half_size; half_size /= 2) {\n"
	"    barrier(CLK_LOCAL_MEM_FENCE);\n"
	"    if (me < half_size) {\n"
	"      scratch[2 * me] += scratch[2 * (me + half_size)];\n"
	"      scratch[2 * me + 1] += scratch[2 * (me + half_size) + 1];\n"
	"    }\n"
	"  }\n"
	"  if (me == 0) {\n"
	"    sums[2 * get_group_id(0)] = scratch[0];\n"
	"    sums[2 * get_group_id(0) + 1] = scratch[1];\n"
	"  }\n"
	"}\n";

static uint64_t mix_word(uint64_t x)
{
	x ^= x >> 33;
	x *= MIX_A;
	x ^= x >> 33;
	x *= MIX_B;
	return x ^ (x >> 33);
}

static void add_block(uint64_t sums[static 2], const void *block, uint64_t i)
{
	uint64_t words[2], p = (i + 1) * GOLDEN, x, y;

	memcpy(words, block, sizeof(words));
	x = mix_word(le64toh(words[0]) ^ p);
	y = mix_word((le64toh(words[1]) ^ (p << 32 | p >> 32)) + x);
	x += y;
	sums[0] += (x ^ (x >> 32)) * FOLD;
	sums[1] += y;
}

struct slu_digest slu_digest_end(const uint64_t sums[static 2], uint64_t bytes)
{
	return (struct slu_digest){ { mix_word(sums[0] ^ bytes),
				      mix_word(sums[1] + bytes * GOLDEN) } };
}

struct slu_digest slu_digest_of(const void *data, uint64_t bytes)
{
	uint64_t sums[2] = { 0 }, n_blocks = bytes / SLU_DIGEST_BLOCK;
	size_t n_rest = bytes % SLU_DIGEST_BLOCK;

	for (uint64_t i = 0; i < n_blocks; i++)
		add_block(sums, (const char *)data + i * SLU_DIGEST_BLOCK, i);
	if (n_rest) {
		char rest[SLU_DIGEST_BLOCK] = { 0 };

		memcpy(rest, (const char *)data + n_blocks * SLU_DIGEST_BLOCK, n_rest);
		add_block(sums, rest, n_blocks);
	}
	return slu_digest_end(sums, bytes);
}

bool slu_digest_is_equal(struct slu_digest a, struct slu_digest b)
{
	return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}
