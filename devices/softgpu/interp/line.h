/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The short form of a row. Addresses, counters and indices mostly follow from the number of the
 * lane in a simple way, and then three numbers say what 32 lanes hold:
 *
 *   lane i = base + (i % 16) * step + (i / 16) * jump        modulo the width of the register
 *
 * which is one value for all (step and jump 0), one after another (jump = 16 * step), or what a
 * block of 16 threads a row gives; a team's lanes are counted on. While all lanes of a warp go the
 * same way, instructions that know lines work on these three numbers; the row itself is written
 * when somebody needs it.
 *
 *   kind 0            the row holds          -> LINE          [find: the row is found to be a line]
 *   LINE              both hold              -> LINE | STALE  [an instruction that knows lines]
 *   LINE | STALE      the line holds         -> LINE          [need: the row is written]
 *   any               -> 0                   [other instructions; lanes part company: flatten]
 *
 * Which registers may be lines at all is decided when a function is decoded (classify.c): every
 * instruction that writes them knows lines. The others stay at kind 0 and cost nothing.
 */

#include "base/util.h"
#include "softgpu/interp/code.h"

#define DEV_INTERP_HALF (DEV_INTERP_LANES / 2)

enum {
	DEV_INTERP_LINE = 1 << 0,
	DEV_INTERP_STALE = 1 << 1,
};

/* how much smaller a line is than the least row; lines lie as the rows do */
#define DEV_INTERP_LINES_PER_ROW (DEV_INTERP_ROW_32 / sizeof(struct dev_interp_line))
#define DEV_INTERP_LINE_STRIP	 (DEV_INTERP_STRIP / DEV_INTERP_LINES_PER_ROW)

struct dev_interp_line {
	uint64_t base; /* of a 32-bit register: without anything above */
	int64_t step;  /* of a 32-bit register: as if it were signed */
	int64_t jump;
	uint8_t kind;
	bool is_wide;  /* constant after the frame was made */
	uint32_t last; /* where an access by it last was, the low bits */
};

static inline struct dev_interp_line *dev_interp_line(uint8_t *lines, uint32_t row)
{
	return (struct dev_interp_line *)(void *)(lines + row / DEV_INTERP_LINES_PER_ROW);
}

static inline bool dev_interp_line_is_one(const struct dev_interp_line *line)
{
	return !(line->step | line->jump);
}

/* Where the line is in a team's k-th warp. */
static inline uint64_t dev_interp_line_base(const struct dev_interp_line *line, unsigned k)
{
	uint64_t base = line->base + 2 * k * (uint64_t)line->jump;

	return line->is_wide ? base : (uint32_t)base;
}

/* Writes the row of a team's k-th warp. */
static inline void dev_interp_line_spread(const struct dev_interp_line *line, unsigned k, void *row)
{
	uint64_t first = dev_interp_line_base(line, k);

	if (line->is_wide) {
		uint64_t *lanes = row;

		for (unsigned i = 0; i < DEV_INTERP_HALF; i++) {
			uint64_t value = first + i * (uint64_t)line->step;

			lanes[i] = value;
			lanes[i + DEV_INTERP_HALF] = value + (uint64_t)line->jump;
		}
	} else {
		uint32_t *lanes = row;
		uint32_t base = (uint32_t)first, step = (uint32_t)line->step;
		uint32_t jump = (uint32_t)line->jump;

		for (unsigned i = 0; i < DEV_INTERP_HALF; i++) {
			lanes[i] = base + i * step;
			lanes[i + DEV_INTERP_HALF] = base + i * step + jump;
		}
	}
}

/* Makes sure that the rows of all @team warps hold. */
static inline void dev_interp_line_materialize(uint8_t *lines, uint8_t *rows, uint32_t row,
					       unsigned team)
{
	struct dev_interp_line *line = dev_interp_line(lines, row);

	if (line->kind & DEV_INTERP_STALE) {
		for (unsigned k = 0; k < team; k++)
			dev_interp_line_spread(line, k, rows + row + k * DEV_INTERP_STRIP);
		line->kind = DEV_INTERP_LINE;
	}
}

static inline void dev_interp_line_need(struct dev_interp_warp *w, uint32_t row)
{
	dev_interp_line_materialize(w->lines, w->rows, row, w->team);
}

/* Does the row of a team's k-th warp hold what the line says? */
static inline bool dev_interp_line_fits(const struct dev_interp_line *line, unsigned k,
					const void *row)
{
	uint64_t first = dev_interp_line_base(line, k), off = 0;

	if (line->is_wide) {
		const uint64_t *lanes = row;
		uint64_t step = (uint64_t)line->step, jump = (uint64_t)line->jump;

		if (lanes[2] != first + 2 * step)
			return false;
		for (unsigned i = 0; i < DEV_INTERP_HALF; i++) {
			off |= lanes[i] ^ (first + i * step);
			off |= lanes[i + DEV_INTERP_HALF] ^ (first + i * step + jump);
		}
	} else {
		const uint32_t *lanes = row;
		uint32_t base = (uint32_t)first, step = (uint32_t)line->step;
		uint32_t jump = (uint32_t)line->jump, off_32 = 0;

		if (lanes[2] != base + 2 * step)
			return false;
		for (unsigned i = 0; i < DEV_INTERP_HALF; i++) {
			off_32 |= lanes[i] ^ (base + i * step);
			off_32 |= lanes[i + DEV_INTERP_HALF] ^ (base + i * step + jump);
		}
		off = off_32;
	}
	return !off;
}

/* Looks whether rows that hold are a line; if not, the line is left with kind 0. */
static inline bool dev_interp_line_find(struct dev_interp_line *line, const uint8_t *row,
					unsigned team)
{
	if (line->is_wide) {
		const uint64_t *lanes = (const void *)row;

		line->base = lanes[0];
		line->step = (int64_t)(lanes[1] - lanes[0]);
		line->jump = (int64_t)(lanes[DEV_INTERP_HALF] - lanes[0]);
	} else {
		const uint32_t *lanes = (const void *)row;

		line->base = lanes[0];
		line->step = (int32_t)(lanes[1] - lanes[0]);
		line->jump = (int32_t)(lanes[DEV_INTERP_HALF] - lanes[0]);
	}
	line->kind = 0;
	for (unsigned k = 0; k < team; k++)
		if (!dev_interp_line_fits(line, k, row + k * DEV_INTERP_STRIP))
			return false;
	line->kind = DEV_INTERP_LINE;
	return true;
}

/*
 * The least and the greatest lane of a team, as numbers that do not wrap, of a line that begins at
 * @base. Return: false if they do not fit.
 */
static inline bool dev_interp_line_span(const struct dev_interp_line *line, unsigned team,
					int64_t base, int64_t *ret_min, int64_t *ret_max)
{
	int64_t across, along, low, high;

	if (__builtin_mul_overflow(line->step, (int64_t)DEV_INTERP_HALF - 1, &across) ||
	    __builtin_mul_overflow(line->jump, 2 * (int64_t)team - 1, &along) ||
	    __builtin_add_overflow(SLU_MIN(across, 0), SLU_MIN(along, 0), &low) ||
	    __builtin_add_overflow(SLU_MAX(across, 0), SLU_MAX(along, 0), &high))
		return false;
	return !__builtin_add_overflow(base, low, ret_min) &&
	       !__builtin_add_overflow(base, high, ret_max);
}

/* The same for what a register of 32 bits holds, signed or not; false as well if a lane wraps. */
static inline bool dev_interp_line_span_32(const struct dev_interp_line *line, unsigned team,
					   bool is_signed, int64_t *ret_min, int64_t *ret_max)
{
	int64_t base = is_signed ? (int32_t)line->base : (int64_t)line->base;
	/* none of these comes near to 64 bits */
	int64_t across = line->step * ((int64_t)DEV_INTERP_HALF - 1);
	int64_t along = line->jump * (2 * (int64_t)team - 1);

	*ret_min = base + SLU_MIN(across, 0) + SLU_MIN(along, 0);
	*ret_max = base + SLU_MAX(across, 0) + SLU_MAX(along, 0);
	return *ret_min >= (is_signed ? INT32_MIN : 0) &&
	       *ret_max <= (is_signed ? INT32_MAX : (int64_t)UINT32_MAX);
}
