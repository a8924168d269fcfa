/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Frames and blocks of Zstandard (RFC 8878, 3.1). A frame is kept in its output: a match may go
 * back to the first byte, whatever the window.
 */

#include <stdlib.h>
#include <string.h>

#include "unpack/entropy.h"
#include "unpack/unpack.h"

#define MAGIC		0xfd2fb528u
#define BLOCK_BYTES_MAX (128u << 10)

enum { RAW, RLE, COMPRESSED, REPEATED };

/* The parts of a sequence. */
enum { LITERALS, OFFSETS, MATCHES, PARTS };

static const struct part {
	unsigned symbol_max, log_max, default_log;
	const int16_t *defaults;
} parts[PARTS] = {
	[LITERALS] = { 35, 9, 6, (const int16_t[]){ 4, 3, 2, 2, 2, 2, 2, 2, 2,	2,  2,	2,
						    2, 1, 1, 1, 2, 2, 2, 2, 2,	2,  2,	2,
						    2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1 } },
	[OFFSETS] = { 31, 8, 5,
		      (const int16_t[]){ 1, 1, 1, 1, 1, 1, 2, 2, 2,  1,	 1,  1,	 1,  1, 1, 1,
					 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, 0, 0, 0 } },
	[MATCHES] = { 52, 9, 6, (const int16_t[]){ 1, 4, 3, 2, 2,  2,  2,  2,  2,  1,  1, 1, 1, 1,
						   1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1, 1, 1,
						   1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1, 1, 1,
						   1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1 } },
};

/* Lengths by code: a number, and how many bits are added. */
struct length {
	uint32_t base;
	uint8_t n_bits;
};

static const struct length literal_lengths[] = {
	{ 0, 0 },     { 1, 0 },	    { 2, 0 },	  { 3, 0 },	 { 4, 0 },	{ 5, 0 },
	{ 6, 0 },     { 7, 0 },	    { 8, 0 },	  { 9, 0 },	 { 10, 0 },	{ 11, 0 },
	{ 12, 0 },    { 13, 0 },    { 14, 0 },	  { 15, 0 },	 { 16, 1 },	{ 18, 1 },
	{ 20, 1 },    { 22, 1 },    { 24, 2 },	  { 28, 2 },	 { 32, 3 },	{ 40, 3 },
	{ 48, 4 },    { 64, 6 },    { 128, 7 },	  { 256, 8 },	 { 512, 9 },	{ 1024, 10 },
	{ 2048, 11 }, { 4096, 12 }, { 8192, 13 }, { 16384, 14 }, { 32768, 15 }, { 65536, 16 },
};

static const struct length match_lengths[] = {
	{ 3, 0 },     { 4, 0 },	    { 5, 0 },	   { 6, 0 },	  { 7, 0 },	 { 8, 0 },
	{ 9, 0 },     { 10, 0 },    { 11, 0 },	   { 12, 0 },	  { 13, 0 },	 { 14, 0 },
	{ 15, 0 },    { 16, 0 },    { 17, 0 },	   { 18, 0 },	  { 19, 0 },	 { 20, 0 },
	{ 21, 0 },    { 22, 0 },    { 23, 0 },	   { 24, 0 },	  { 25, 0 },	 { 26, 0 },
	{ 27, 0 },    { 28, 0 },    { 29, 0 },	   { 30, 0 },	  { 31, 0 },	 { 32, 0 },
	{ 33, 0 },    { 34, 0 },    { 35, 1 },	   { 37, 1 },	  { 39, 1 },	 { 41, 1 },
	{ 43, 2 },    { 47, 2 },    { 51, 3 },	   { 59, 3 },	  { 67, 4 },	 { 83, 4 },
	{ 99, 5 },    { 131, 7 },   { 259, 8 },	   { 515, 9 },	  { 1027, 10 },	 { 2051, 11 },
	{ 4099, 12 }, { 8195, 13 }, { 16387, 14 }, { 32771, 15 }, { 65539, 16 },
};

/* What a block leaves for the next ones of its frame, and the space of one block. */
struct frame {
	uint8_t *bytes; /* the output */
	size_t n, done;
	struct slu_huffman huffman;
	struct slu_fse fse[PARTS];
	bool has_fse[PARTS];
	uint32_t offsets[3]; /* the last three */
	uint8_t literals[BLOCK_BYTES_MAX];
	size_t n_literals;
};

static uint64_t number_read(const uint8_t *bytes, unsigned n)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < n; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

/* -- literals --------------------------------------------------------------------------------- */

static bool literals_decode(struct frame *f, const uint8_t *p, size_t n, unsigned n_streams)
{
	size_t sizes[4] = { n }, each = (f->n_literals + 3) / 4, at = 0, done = 0;

	if (n_streams == 1)
		return slu_huffman_decode(&f->huffman, p, n, f->literals, f->n_literals);
	if (n < 6 || f->n_literals < 3 * each)
		return false;
	for (unsigned i = 0; i < 3; i++)
		sizes[i] = number_read(p + 2 * i, 2);
	at = 6;
	if (sizes[0] + sizes[1] + sizes[2] > n - at)
		return false;
	sizes[3] = n - at - sizes[0] - sizes[1] - sizes[2];
	for (unsigned i = 0; i < 4; i++) {
		size_t n_out = i < 3 ? each : f->n_literals - done;

		if (!slu_huffman_decode(&f->huffman, p + at, sizes[i], f->literals + done, n_out))
			return false;
		at += sizes[i];
		done += n_out;
	}
	return true;
}

/* Return: the bytes that the literals take of the block; 0: they are none. */
static size_t literals_read_packed(struct frame *f, const uint8_t *p, size_t n)
{
	unsigned type = p[0] & 3, format = (p[0] >> 2) & 3;
	unsigned head = format < 2 ? 3 : format + 2, width = format < 2 ? 10 : 4 * format + 6;
	uint64_t sizes;
	size_t packed, used = 0;

	if (n < head)
		return 0;
	sizes = number_read(p, head) >> 4;
	f->n_literals = sizes & ((1u << width) - 1);
	packed = (sizes >> width) & ((1u << width) - 1);
	if (f->n_literals > BLOCK_BYTES_MAX || packed > n - head)
		return 0;
	if (type == COMPRESSED) {
		used = slu_huffman_read(&f->huffman, p + head, packed);
		if (!used)
			return 0;
	}
	if (!f->huffman.log || !literals_decode(f, p + head + used, packed - used, format ? 4 : 1))
		return 0;
	return head + packed;
}

static size_t literals_read(struct frame *f, const uint8_t *p, size_t n)
{
	unsigned type = n ? p[0] & 3 : 0, format = n ? (p[0] >> 2) & 3 : 0;
	unsigned head = format & 1 ? format / 2 + 2 : 1;
	size_t stored;

	if (!n)
		return 0;
	if (type == COMPRESSED || type == REPEATED)
		return literals_read_packed(f, p, n);
	if (n < head)
		return 0;
	f->n_literals = number_read(p, head) >> (format & 1 ? 4 : 3);
	stored = type == RLE ? 1 : f->n_literals;
	if (f->n_literals > BLOCK_BYTES_MAX || stored > n - head)
		return 0;
	if (type == RLE)
		memset(f->literals, p[head], f->n_literals);
	else
		memcpy(f->literals, p + head, stored);
	return head + stored;
}

/* -- sequences -------------------------------------------------------------------------------- */

/* Return: the bytes of the description plus one; 0: it is none. */
static size_t table_read(struct frame *f, unsigned part, unsigned mode, const uint8_t *p, size_t n)
{
	const struct part *is = &parts[part];
	size_t used = 0;

	switch (mode) {
	case RAW: /* the default */
		if (!slu_fse_make(&f->fse[part], is->defaults, is->symbol_max + 1, is->default_log))
			return 0;
		break;
	case RLE:
		if (!n || p[0] > is->symbol_max)
			return 0;
		slu_fse_make_single(&f->fse[part], p[0]);
		used = 1;
		break;
	case COMPRESSED:
		used = slu_fse_read(&f->fse[part], p, n, is->symbol_max, is->log_max);
		if (!used)
			return 0;
		break;
	default:
		return f->has_fse[part];
	}
	f->has_fse[part] = true;
	return used + 1;
}

/* The offset that @value means, and what the last three are then; 0: none. */
static uint32_t offset_take(struct frame *f, uint32_t value, bool has_literals)
{
	unsigned which = value + (has_literals ? 0 : 1) - 1;
	uint32_t offset;

	if (value > 3)
		offset = value - 3;
	else
		offset = which == 3 ? f->offsets[0] - 1 : f->offsets[which];
	if (value > 3 || which > 1)
		f->offsets[2] = f->offsets[1];
	if (value > 3 || which > 0)
		f->offsets[1] = f->offsets[0];
	f->offsets[0] = offset;
	return offset;
}

static bool sequence_run(struct frame *f, size_t *used, uint32_t n_literals, uint32_t offset,
			 uint32_t length)
{
	if (n_literals > f->n_literals - *used || n_literals > f->n - f->done)
		return false;
	memcpy(f->bytes + f->done, f->literals + *used, n_literals);
	*used += n_literals;
	f->done += n_literals;
	if (!offset || offset > f->done || length > f->n - f->done)
		return false;
	for (; length; length--, f->done++)
		f->bytes[f->done] = f->bytes[f->done - offset];
	return true;
}

static bool sequences_run(struct frame *f, const uint8_t *p, size_t n, size_t n_sequences,
			  size_t *used)
{
	struct slu_bits bits;
	uint32_t states[PARTS];

	if (!slu_bits_init(&bits, p, n))
		return false;
	for (unsigned i = 0; i < PARTS; i++)
		states[i] = slu_bits_read(&bits, f->fse[i].log);
	for (; n_sequences; n_sequences--) {
		unsigned offset_bits = f->fse[OFFSETS].states[states[OFFSETS]].symbol;
		const struct length *match =
			&match_lengths[f->fse[MATCHES].states[states[MATCHES]].symbol];
		const struct length *literal =
			&literal_lengths[f->fse[LITERALS].states[states[LITERALS]].symbol];
		uint32_t offset = (1u << offset_bits) + slu_bits_read(&bits, offset_bits);
		uint32_t length = match->base + slu_bits_read(&bits, match->n_bits);
		uint32_t n_literals = literal->base + slu_bits_read(&bits, literal->n_bits);

		if (n_sequences > 1) {
			slu_fse_step(&f->fse[LITERALS], &states[LITERALS], &bits);
			slu_fse_step(&f->fse[MATCHES], &states[MATCHES], &bits);
			slu_fse_step(&f->fse[OFFSETS], &states[OFFSETS], &bits);
		}
		if (bits.left < 0 ||
		    !sequence_run(f, used, n_literals, offset_take(f, offset, n_literals), length))
			return false;
	}
	return bits.left == 0;
}

static bool sequences_read(struct frame *f, const uint8_t *p, size_t n)
{
	size_t at = 1, n_sequences, used = 0;
	uint8_t modes;

	if (!n)
		return false;
	n_sequences = p[0];
	if (n_sequences >= 128) {
		at = n_sequences == 255 ? 3 : 2;
		if (n < at)
			return false;
		n_sequences = n_sequences == 255 ? number_read(p + 1, 2) + 0x7f00
						 : ((n_sequences - 128) << 8) + p[1];
	}
	if (n_sequences) {
		if (n - at < 1)
			return false;
		modes = p[at++];
		if (modes & 3)
			return false;
		for (unsigned i = 0; i < PARTS; i++) {
			size_t table = table_read(f, i, (modes >> (6 - 2 * i)) & 3, p + at, n - at);

			if (!table)
				return false;
			at += table - 1;
		}
		if (!sequences_run(f, p + at, n - at, n_sequences, &used))
			return false;
	} else if (at != n) {
		return false;
	}
	/* what is left of the literals follows the last sequence */
	if (f->n_literals - used > f->n - f->done)
		return false;
	memcpy(f->bytes + f->done, f->literals + used, f->n_literals - used);
	f->done += f->n_literals - used;
	return true;
}

/* -- frames ----------------------------------------------------------------------------------- */

static bool block_read(struct frame *f, unsigned type, const uint8_t *p, size_t n)
{
	size_t literals;

	if (type == RAW || type == RLE) {
		if (n > f->n - f->done)
			return false;
		if (type == RLE)
			memset(f->bytes + f->done, p[0], n);
		else
			memcpy(f->bytes + f->done, p, n);
		f->done += n;
		return true;
	}
	literals = type == COMPRESSED ? literals_read(f, p, n) : 0;
	return literals && sequences_read(f, p + literals, n - literals);
}

/* Return: the bytes of the header; 0: there is none, or one for which we lack a dictionary. */
static size_t header_read(const uint8_t *p, size_t n, bool *ret_has_sum)
{
	static const uint8_t size_bytes[] = { 0, 2, 4, 8 };
	size_t bytes = 5;
	bool is_single;

	if (n < bytes || number_read(p, 4) != MAGIC || p[4] & 0x0b)
		return 0; /* another kind, a reserved bit, or a dictionary */
	is_single = p[4] & 0x20;
	*ret_has_sum = p[4] & 4;
	bytes += !is_single + (p[4] >> 6 ? size_bytes[p[4] >> 6] : is_single);
	return bytes <= n ? bytes : 0;
}

static bool frame_read(struct frame *f, const uint8_t *p, size_t n)
{
	bool is_last = false, has_sum = false;
	size_t at = header_read(p, n, &has_sum);

	if (!at)
		return false;
	while (!is_last) {
		uint32_t head;
		size_t bytes, stored;
		unsigned type;

		if (n - at < 3)
			return false;
		head = (uint32_t)number_read(p + at, 3);
		at += 3;
		is_last = head & 1;
		type = (head >> 1) & 3;
		bytes = head >> 3;
		stored = type == RLE ? 1 : bytes;
		if (stored > n - at || bytes > BLOCK_BYTES_MAX ||
		    !block_read(f, type, p + at, bytes))
			return false;
		at += stored;
	}
	return f->done == f->n && n - at == (has_sum ? 4 : 0);
}

bool slu_unpack_zstd(const uint8_t *packed, size_t packed_bytes, uint8_t *bytes, size_t n)
{
	struct frame *f = calloc(1, sizeof(*f));
	bool is_right;

	if (!f)
		return false;
	f->bytes = bytes;
	f->n = n;
	f->offsets[0] = 1;
	f->offsets[1] = 4;
	f->offsets[2] = 8;
	is_right = frame_read(f, packed, packed_bytes);
	free(f);
	return is_right;
}
