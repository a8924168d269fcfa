/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A 128-bit digest of contents, the same from a kernel on the device and from the processor.
 *
 * The bytes are cut into blocks of 16, the last one filled up with zeros. Each block is mixed with
 * its number by a permutation of 128 bits, and the results are added up, in two sums of 64 bits.
 * So the blocks may be taken in any order and shared out in any way, which is what a device needs,
 * and yet each place counts.
 *
 *   block i = (x, y)    p = (i + 1) * G          distinct for all i: G is odd
 *     x1 = mix(x ^ p)   y1 = mix((y ^ rotate(p, 32)) + x1)   x2 = fold(x1 + y1)
 *     sums += (x2, y1)
 *
 * Why this one. The step is a bijection of (x, y), so a change inside one block is always seen.
 * Changes in several blocks cancel out only if the differences of their mixed values, 128 bits
 * that look random, add up to zero: one chance in 2^128, and blocks that are exchanged, moved or
 * doubled are no special case. mix() is the finisher of MurmurHash3, in which each bit of the input
 * changes each bit of the result with a chance of nearly a half. It takes six multiplications in
 * 16 bytes; whether that is quicker than a copy is measured (speed.h). It is no defence against
 * somebody who searches for a collision, and need not be: all that a program can lose by one is its
 * own data.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLU_DIGEST_BLOCK 16

struct slu_digest {
	uint64_t words[2];
};

/* The sums over all blocks become the digest of @bytes. */
struct slu_digest slu_digest_end(const uint64_t sums[static 2], uint64_t bytes);

struct slu_digest slu_digest_of(const void *data, uint64_t bytes);

bool slu_digest_is_equal(struct slu_digest a, struct slu_digest b);
