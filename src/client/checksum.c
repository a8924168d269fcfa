/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/checksum.h"

/* Odd and with bits all over: halves of the golden ratio's and of pi's expansion. */
#define MIX_A UINT64_C(0x9e3779b97f4a7c15)
#define MIX_B UINT64_C(0x243f6a8885a308d3)

static uint64_t bits_rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static uint64_t block_mix(uint64_t lane, uint64_t word)
{
	return bits_rotate(lane ^ word * MIX_A, 29) * MIX_B + 1;
}

void slu_checksum_init(struct slu_checksum *sum)
{
	*sum = (struct slu_checksum){ .lanes = { 1, 2, 3, 4 } };
}

void slu_checksum_add(struct slu_checksum *sum, const void *data, size_t bytes)
{
	const unsigned char *p = data;
	uint64_t words[4];
	uint64_t a = sum->lanes[0];
	uint64_t b = sum->lanes[1];
	uint64_t c = sum->lanes[2];
	uint64_t d = sum->lanes[3];

	sum->n_bytes += bytes;
	for (; bytes >= sizeof(words); bytes -= sizeof(words), p += sizeof(words)) {
		memcpy(words, p, sizeof(words));
		a = block_mix(a, words[0]);
		b = block_mix(b, words[1]);
		c = block_mix(c, words[2]);
		d = block_mix(d, words[3]);
	}
	if (bytes) {
		memset(words, 0, sizeof(words));
		memcpy(words, p, bytes);
		a = block_mix(a, words[0]);
		b = block_mix(b, words[1]);
		c = block_mix(c, words[2]);
		d = block_mix(d, words[3]);
	}
	sum->lanes[0] = a;
	sum->lanes[1] = b;
	sum->lanes[2] = c;
	sum->lanes[3] = d;
}

uint64_t slu_checksum_end(const struct slu_checksum *sum)
{
	uint64_t x = sum->n_bytes * MIX_A;

	for (unsigned i = 0; i < 4; i++)
		x = block_mix(x, sum->lanes[i]);
	return x ^ x >> 32;
}
