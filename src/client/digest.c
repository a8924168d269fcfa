/* SPDX-License-Identifier: Apache-2.0 */

#include "client/digest.h"

#include <endian.h>
#include <string.h>

#include "base/util.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
#define MIX_A  UINT64_C(0xff51afd7ed558ccd)
#define MIX_B  UINT64_C(0xc4ceb9fe1a85ec53)
#define FOLD   UINT64_C(0xd6e8feb86659fd93)

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
