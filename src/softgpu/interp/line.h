/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The short form of a row. Addresses, counters and indices mostly follow from the number of the
 * lane in a simple way, and then three numbers say what 32 lanes hold:
 *
 *   lane i = base + (i % 16) * step + (i / 16) * jump        modulo the width of the register
 *
 * which is one value for all (step and jump 0), one after another (jump = 16 * step), or what a
 * block of 16 threads a row gives. While all lanes of a warp go the same way, instructions that
 * know lines work on these three numbers; the row itself is written when somebody needs it.
 *
 *   kind 0            the row holds          -> LINE          [find: the row is found to be a line]
 *   LINE              both hold              -> LINE | STALE  [an instruction that knows lines]
 *   LINE | STALE      the line holds         -> LINE          [need: the row is written]
 *   any               -> 0                   [other instructions; lanes part company: flatten]
 *
 * Which registers may be lines at all is decided when a function is decoded (classify.c): every
 * instruction that writes them knows lines. The others stay at kind 0 and cost nothing.
 */

#include "softgpu/interp/code.h"

#define SLU_INTERP_HALF (SLU_INTERP_LANES / 2)

enum {
	SLU_INTERP_LINE = 1 << 0,
	SLU_INTERP_STALE = 1 << 1,
};

/* how much smaller a line is than the least row */
#define SLU_INTERP_LINES_PER_ROW (SLU_INTERP_ROW_32 / sizeof(struct slu_interp_line))

/* Lines lie in front of the rows, one for 128 bytes of them, the first one last. */
struct slu_interp_line {
	uint64_t base; /* of a 32-bit register: without anything above */
	int64_t step;  /* of a 32-bit register: as if it were signed */
	int64_t jump;
	uint8_t kind;
	bool is_wide;  /* constant after the frame was made */
	uint32_t last; /* where an access by it last was, the low bits */
};

static inline struct slu_interp_line *slu_interp_line(uint8_t *rows, uint32_t row)
{
	return (struct slu_interp_line *)(void *)(rows - row / SLU_INTERP_LINES_PER_ROW) - 1;
}

static inline bool slu_interp_line_is_one(const struct slu_interp_line *line)
{
	return !(line->step | line->jump);
}

/* Writes the row that the line stands for. */
static inline void slu_interp_line_spread(const struct slu_interp_line *line, void *row)
{
	if (line->is_wide) {
		uint64_t *lanes = row;

		for (unsigned i = 0; i < SLU_INTERP_HALF; i++) {
			uint64_t value = line->base + i * (uint64_t)line->step;

			lanes[i] = value;
			lanes[i + SLU_INTERP_HALF] = value + (uint64_t)line->jump;
		}
	} else {
		uint32_t *lanes = row;
		uint32_t base = (uint32_t)line->base, step = (uint32_t)line->step;
		uint32_t jump = (uint32_t)line->jump;

		for (unsigned i = 0; i < SLU_INTERP_HALF; i++) {
			lanes[i] = base + i * step;
			lanes[i + SLU_INTERP_HALF] = base + i * step + jump;
		}
	}
}

/* Makes sure that the row holds. */
static inline void slu_interp_line_need(uint8_t *rows, uint32_t row)
{
	struct slu_interp_line *line = slu_interp_line(rows, row);

	if (line->kind & SLU_INTERP_STALE) {
		slu_interp_line_spread(line, rows + row);
		line->kind = SLU_INTERP_LINE;
	}
}

/* Looks whether a row that holds is a line. */
static inline bool slu_interp_line_find(struct slu_interp_line *line, const void *row)
{
	if (line->is_wide) {
		const uint64_t *lanes = row;
		uint64_t base = lanes[0], step = lanes[1] - base;
		uint64_t jump = lanes[SLU_INTERP_HALF] - base, off = 0;

		if (lanes[2] != base + 2 * step)
			return false;
		for (unsigned i = 0; i < SLU_INTERP_HALF; i++) {
			off |= lanes[i] ^ (base + i * step);
			off |= lanes[i + SLU_INTERP_HALF] ^ (base + i * step + jump);
		}
		if (off)
			return false;
		line->base = base;
		line->step = (int64_t)step;
		line->jump = (int64_t)jump;
	} else {
		const uint32_t *lanes = row;
		uint32_t base = lanes[0], step = lanes[1] - base;
		uint32_t jump = lanes[SLU_INTERP_HALF] - base, off = 0;

		if (lanes[2] != base + 2 * step)
			return false;
		for (unsigned i = 0; i < SLU_INTERP_HALF; i++) {
			off |= lanes[i] ^ (base + i * step);
			off |= lanes[i + SLU_INTERP_HALF] ^ (base + i * step + jump);
		}
		if (off)
			return false;
		line->base = base;
		line->step = (int32_t)step;
		line->jump = (int32_t)jump;
	}
	line->kind = SLU_INTERP_LINE;
	return true;
}

/*
 * The least and the greatest lane, as numbers that do not wrap, of a line that begins at @base.
 * Return: false if they do not fit.
 */
static inline bool slu_interp_line_span(const struct slu_interp_line *line, int64_t base,
					int64_t *ret_min, int64_t *ret_max)
{
	int64_t low = 0, high = 0, across;

	if (__builtin_mul_overflow(line->step, (int64_t)SLU_INTERP_HALF - 1, &across))
		return false;
	if (across < 0)
		low = across;
	else
		high = across;
	if (__builtin_add_overflow(line->jump < 0 ? low : high, line->jump, &across))
		return false;
	if (line->jump < 0)
		low = across;
	else
		high = across;
	return !__builtin_add_overflow(base, low, ret_min) &&
	       !__builtin_add_overflow(base, high, ret_max);
}

/* The same for what a register of 32 bits holds, signed or not; false as well if a lane wraps. */
static inline bool slu_interp_line_span_32(const struct slu_interp_line *line, bool is_signed,
					   int64_t *ret_min, int64_t *ret_max)
{
	int64_t base = is_signed ? (int32_t)line->base : (int64_t)line->base;

	return slu_interp_line_span(line, base, ret_min, ret_max) &&
	       *ret_min >= (is_signed ? INT32_MIN : 0) &&
	       *ret_max <= (is_signed ? INT32_MAX : (int64_t)UINT32_MAX);
}
