/* SPDX-License-Identifier: Apache-2.0 */
#include "unpack/entropy.h"

#include <string.h>

/* -- bits ------------------------------------------------------------------------------------- */

bool slu_bits_init(struct slu_bits *bits, const uint8_t *bytes, size_t n)
{
	if (!n || !bytes[n - 1])
		return false;
	bits->bytes = bytes;
	bits->left = (int64_t)(n - 1) * 8 + slu_bits_highest(bytes[n - 1]);
	return true;
}

uint32_t slu_bits_peek(const struct slu_bits *bits, unsigned n)
{
	int64_t first = bits->left - (int64_t)n, at = first < 0 ? 0 : first;
	unsigned n_there = bits->left > at ? (unsigned)(bits->left - at) : 0;
	uint64_t value = 0;

	for (unsigned i = 0; i < (n_there + (at & 7) + 7) / 8; i++)
		value |= (uint64_t)bits->bytes[at / 8 + i] << (8 * i);
	value = (value >> (at & 7)) & ((UINT64_C(1) << n_there) - 1);
	return (uint32_t)(value << (n - n_there));
}

/* -- FSE -------------------------------------------------------------------------------------- */

bool slu_fse_make(struct slu_fse *fse, const int16_t *probabilities, size_t n_symbols, unsigned log)
{
	unsigned size = 1u << log, high = size, step = (size >> 1) + (size >> 3) + 3, at = 0;
	uint16_t next[SLU_FSE_SYMBOLS_MAX];

	fse->log = log;
	for (size_t s = 0; s < n_symbols; s++) {
		next[s] = (uint16_t)(probabilities[s] < 0 ? 1 : probabilities[s]);
		if (probabilities[s] < 0)
			fse->states[--high].symbol = (uint8_t)s;
	}
	for (size_t s = 0; s < n_symbols; s++)
		for (int i = 0; i < probabilities[s]; i++) {
			fse->states[at].symbol = (uint8_t)s;
			do
				at = (at + step) & (size - 1);
			while (at >= high);
		}
	if (at)
		return false; /* they do not add up */
	for (unsigned i = 0; i < size; i++) {
		uint16_t number = next[fse->states[i].symbol]++;
		unsigned n_bits = log - slu_bits_highest(number);

		fse->states[i].n_bits = (uint8_t)n_bits;
		fse->states[i].base = (uint16_t)((number << n_bits) - size);
	}
	return true;
}

void slu_fse_make_single(struct slu_fse *fse, uint8_t symbol)
{
	fse->log = 0;
	fse->states[0].symbol = symbol;
	fse->states[0].n_bits = 0;
	fse->states[0].base = 0;
}

/* The @n bits from bit @at on, the first is the lowest; zeros behind the end. */
static uint32_t forward_peek(const uint8_t *bytes, size_t n_bytes, size_t at, unsigned n)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < 4 && at / 8 + i < n_bytes; i++)
		value |= (uint32_t)bytes[at / 8 + i] << (8 * i);
	return (value >> (at & 7)) & ((1u << n) - 1);
}

size_t slu_fse_read(struct slu_fse *fse, const uint8_t *bytes, size_t n, unsigned symbol_max,
		    unsigned log_max)
{
	int16_t probabilities[SLU_FSE_SYMBOLS_MAX];
	unsigned log = forward_peek(bytes, n, 0, 4) + 5;
	int remaining = 1 << log;
	size_t at = 4, n_symbols = 0;

	if (!n || log > log_max)
		return 0;
	while (remaining > 0) {
		/* values up to remaining + 1; the low ones take a bit less */
		unsigned n_bits = slu_bits_highest((uint32_t)remaining + 1) + 1;
		uint32_t value = forward_peek(bytes, n, at, n_bits);
		uint32_t half = 1u << (n_bits - 1);
		uint32_t n_short = 2 * half - 1 - ((uint32_t)remaining + 1);

		if ((value & (half - 1)) < n_short) {
			value &= half - 1;
			at += n_bits - 1;
		} else {
			value -= value >= half ? n_short : 0;
			at += n_bits;
		}
		if (n_symbols > symbol_max)
			return 0;
		probabilities[n_symbols++] = (int16_t)((int)value - 1);
		remaining -= value ? (int)value - 1 : 1;
		for (uint32_t zeros = value == 1 ? 3 : 0; zeros == 3; at += 2) {
			zeros = forward_peek(bytes, n, at, 2);
			for (uint32_t i = 0; i < zeros; i++) {
				if (n_symbols > symbol_max)
					return 0;
				probabilities[n_symbols++] = 0;
			}
		}
		if (at > 8 * n)
			return 0;
	}
	if (remaining || !slu_fse_make(fse, probabilities, n_symbols, log))
		return 0;
	return (at + 7) / 8;
}

/* -- Huffman ---------------------------------------------------------------------------------- */

/* Weights that are packed by FSE, with two states in turn. Return: how many; 0: none. */
static size_t weights_unpack(const uint8_t *bytes, size_t n, uint8_t *weights, size_t max)
{
	struct slu_fse fse;
	size_t used = slu_fse_read(&fse, bytes, n, SLU_HUFFMAN_LOG_MAX + 1, 6), n_weights = 0;
	struct slu_bits bits;
	uint32_t states[2];

	if (!used || !slu_bits_init(&bits, bytes + used, n - used))
		return 0;
	states[0] = slu_bits_read(&bits, fse.log);
	states[1] = slu_bits_read(&bits, fse.log);
	if (bits.left < 0)
		return 0;
	for (unsigned turn = 0;; turn ^= 1) {
		if (n_weights + 2 > max)
			return 0;
		weights[n_weights++] = fse.states[states[turn]].symbol;
		slu_fse_step(&fse, &states[turn], &bits);
		if (bits.left < 0) {
			weights[n_weights++] = fse.states[states[turn ^ 1]].symbol;
			return n_weights;
		}
	}
}

static bool codes_make(struct slu_huffman *h, uint8_t *weights, size_t n_weights)
{
	uint32_t sum = 0, rest, at = 0;
	unsigned log;

	for (size_t i = 0; i < n_weights; i++) {
		if (weights[i] > SLU_HUFFMAN_LOG_MAX)
			return false;
		sum += weights[i] ? 1u << (weights[i] - 1) : 0;
	}
	if (!sum)
		return false;
	/* the last symbol has the weight that makes it a power of two */
	log = slu_bits_highest(sum) + 1;
	rest = (1u << log) - sum;
	if (log > SLU_HUFFMAN_LOG_MAX || rest & (rest - 1))
		return false;
	weights[n_weights++] = (uint8_t)(slu_bits_highest(rest) + 1);
	for (unsigned weight = 1; weight <= log; weight++)
		for (size_t s = 0; s < n_weights; s++)
			for (uint32_t i = 0; weights[s] == weight && i < 1u << (weight - 1); i++) {
				h->codes[at].symbol = (uint8_t)s;
				h->codes[at++].n_bits = (uint8_t)(log + 1 - weight);
			}
	h->log = log;
	return at == 1u << log;
}

size_t slu_huffman_read(struct slu_huffman *h, const uint8_t *bytes, size_t n)
{
	uint8_t weights[SLU_FSE_SYMBOLS_MAX];
	size_t head = n ? bytes[0] : 0, n_weights, used;

	h->log = 0;
	if (head >= 128) {
		n_weights = head - 127;
		used = (n_weights + 1) / 2;
		if (used > n - 1)
			return 0;
		for (size_t i = 0; i < n_weights; i++)
			weights[i] = i & 1 ? bytes[1 + i / 2] & 15 : bytes[1 + i / 2] >> 4;
	} else {
		used = head;
		if (!head || used > n - 1)
			return 0;
		n_weights = weights_unpack(bytes + 1, used, weights, sizeof(weights) - 1);
	}
	if (!n_weights || !codes_make(h, weights, n_weights)) {
		h->log = 0;
		return 0;
	}
	return used + 1;
}

bool slu_huffman_decode(const struct slu_huffman *h, const uint8_t *bytes, size_t n, uint8_t *out,
			size_t n_out)
{
	struct slu_bits bits;

	if (!slu_bits_init(&bits, bytes, n))
		return false;
	for (size_t i = 0; i < n_out; i++) {
		uint32_t code = slu_bits_peek(&bits, h->log);

		if (bits.left <= 0)
			return false;
		out[i] = h->codes[code].symbol;
		bits.left -= h->codes[code].n_bits;
	}
	return bits.left == 0;
}
