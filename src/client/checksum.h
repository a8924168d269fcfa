/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A 64-bit sum of moved bytes, taken on the way out and compared on the way back in. It finds
 * mistakes (a chunk lost, doubled, swapped or torn), not attacks; it depends on the position of
 * each word. Four independent lanes, so that it runs about as fast as memory.
 */

#include <stddef.h>
#include <stdint.h>

/* Pieces may be of any size, but all except the last must be a multiple of this. */
#define SLU_CHECKSUM_BLOCK 32

struct slu_checksum {
	uint64_t lanes[4];
	uint64_t n_bytes;
};

void slu_checksum_init(struct slu_checksum *sum);
void slu_checksum_add(struct slu_checksum *sum, const void *data, size_t bytes);
uint64_t slu_checksum_end(const struct slu_checksum *sum);
