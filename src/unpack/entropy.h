/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The two codes of Zstandard (RFC 8878, 4.1 and 4.2): finite state entropy (FSE) for the parts of
 * sequences, and Huffman for literals.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -- bits that are read from the end ---------------------------------------------------------- */

/*
 * The highest bit of the last byte that is set ends the stream; the bits below it are read
 * downwards. Behind the first bit come zeros, and @left is negative.
 */
struct slu_bits {
	const uint8_t *bytes;
	int64_t left;
};

bool slu_bits_init(struct slu_bits *bits, const uint8_t *bytes, size_t n);
/* The next @n bits, at most 32, of which the first is the highest. */
uint32_t slu_bits_peek(const struct slu_bits *bits, unsigned n);

static inline uint32_t slu_bits_read(struct slu_bits *bits, unsigned n)
{
	uint32_t value = slu_bits_peek(bits, n);

	bits->left -= n;
	return value;
}

static inline unsigned slu_bits_highest(uint32_t value)
{
	return 31u - (unsigned)__builtin_clz(value);
}

/* -- FSE -------------------------------------------------------------------------------------- */

#define SLU_FSE_LOG_MAX	    9
#define SLU_FSE_SYMBOLS_MAX 256

struct slu_fse {
	unsigned log; /* the table has 2^log states */
	struct {
		uint8_t symbol;
		uint8_t n_bits; /* the next state is @base plus so many bits */
		uint16_t base;
	} states[1 << SLU_FSE_LOG_MAX];
};

/* From probabilities in 2^-log; -1: less than one. They add up. */
bool slu_fse_make(struct slu_fse *fse, const int16_t *probabilities, size_t n_symbols,
		  unsigned log);
/* Every state means @symbol. */
void slu_fse_make_single(struct slu_fse *fse, uint8_t symbol);
/*
 * From a description at the start of @bytes, of symbols up to @symbol_max. Return: how many bytes
 * it has; 0: it is none.
 */
size_t slu_fse_read(struct slu_fse *fse, const uint8_t *bytes, size_t n, unsigned symbol_max,
		    unsigned log_max);

static inline void slu_fse_step(const struct slu_fse *fse, uint32_t *state, struct slu_bits *bits)
{
	*state = fse->states[*state].base + slu_bits_read(bits, fse->states[*state].n_bits);
}

/* -- Huffman ---------------------------------------------------------------------------------- */

#define SLU_HUFFMAN_LOG_MAX 11

struct slu_huffman {
	unsigned log; /* 0: there is none */
	struct {
		uint8_t symbol;
		uint8_t n_bits;
	} codes[1 << SLU_HUFFMAN_LOG_MAX];
};

/* From a description at the start of @bytes. Return: how many bytes it has; 0: it is none. */
size_t slu_huffman_read(struct slu_huffman *huffman, const uint8_t *bytes, size_t n);

/* Return: whether the stream has exactly @n_out symbols. */
bool slu_huffman_decode(const struct slu_huffman *huffman, const uint8_t *bytes, size_t n,
			uint8_t *out, size_t n_out);
