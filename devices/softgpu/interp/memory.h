/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From the addresses of a warp to places in host memory, every one checked. Most accesses of a
 * warp are one piece (lane after lane) or one place (all lanes the same): these are found out
 * first. When all 32 lanes take part, bounds and alignment of all are checked together, and only
 * what fails that, or a part of the lanes, is looked at lane by lane.
 */

#include "softgpu/interp/lanes.h"
#include "softgpu/interp/line.h"

enum dev_interp_shape {
	DEV_INTERP_SHAPE_FAULT, /* the warp's event says so */
	DEV_INTERP_SHAPE_PIECE, /* lane i at base + i * size */
	DEV_INTERP_SHAPE_SAME,	/* every lane at base */
	DEV_INTERP_SHAPE_APART, /* lane i at base + offsets[i], for the lanes in the mask */
};

struct dev_interp_places {
	uint8_t *base;
	uint64_t offsets[DEV_INTERP_LANES];
};

static inline void *dev_interp_place(const struct dev_interp_places *at, unsigned lane)
{
	return (void *)((uintptr_t)at->base + (uintptr_t)at->offsets[lane]);
}

/* The same for any shape of @size bytes a lane that is no fault. */
static inline void *dev_interp_place_of(const struct dev_interp_places *at,
					enum dev_interp_shape shape, unsigned size, unsigned lane)
{
	return shape == DEV_INTERP_SHAPE_PIECE	? at->base + lane * size
	       : shape == DEV_INTERP_SHAPE_SAME ? at->base
						: dev_interp_place(at, lane);
}

/*
 * What a kernel reads or writes (DEV_INTERP_READ, DEV_INTERP_WRITE) by a generic address.
 * Return: where these bytes are; NULL where it may not.
 */
void *DEV_ISA(memory_find)(const struct dev_interp_block *block, uint64_t address, uint64_t bytes,
			   uint8_t want);

/*
 * What a kernel reads by a generic address.
 * Return: where these bytes are; NULL where it may not.
 */
const void *DEV_ISA(memory_readable)(const struct dev_interp_block *block, uint64_t address,
				     uint64_t bytes);

/* @size bytes a lane, which is also their alignment. */
enum dev_interp_shape DEV_ISA(memory_reach)(struct dev_interp_warp *warp,
					    const struct dev_interp_insn *insn, unsigned size,
					    bool is_write, struct dev_interp_places *ret_places);

/*
 * The same for 32 lanes whose addresses are a line: two halves of a row, each one piece or one
 * place. Everything else, and every fault, is left to reach().
 */
enum dev_interp_halves {
	DEV_INTERP_HALVES_OTHER,
	DEV_INTERP_HALVES_PIECE,  /* lane i at first + i * size */
	DEV_INTERP_HALVES_SAME,	  /* every lane at first */
	DEV_INTERP_HALVES_PIECES, /* lane i at first + i * size, lane 16 + i at second + i * size */
	DEV_INTERP_HALVES_SAMES,  /* lane i at first, lane 16 + i at second */
};

static inline bool dev_interp_page_allows(const struct dev_interp_memory *m, uint64_t page,
					  uint8_t want)
{
	if (!(__atomic_load_n(&m->access[page], __ATOMIC_RELAXED) & want) &&
	    !(m->admit && m->admit(m->userdata, page, want)))
		return false;
	if (m->touched && !(__atomic_load_n(&m->touched[page], __ATOMIC_RELAXED) & want))
		__atomic_fetch_or(&m->touched[page], want, __ATOMIC_RELAXED);
	return true;
}

static inline bool dev_interp_window_allows(const struct dev_interp_memory *m, uint64_t offset,
					    uint64_t bytes, uint8_t want)
{
	uint64_t last = (offset + bytes - 1) >> m->shift;

	for (uint64_t page = offset >> m->shift; page <= last; page++)
		if (!dev_interp_page_allows(m, page, want))
			return false;
	return true;
}

/* Are @bytes (not more than a window has) at @offset inside a window of @window bytes? */
static inline bool dev_interp_is_within(uint64_t offset, uint64_t bytes, uint64_t window)
{
	return offset <= window && window - offset >= bytes;
}

/* @line is one warp's; @size and @is_shared are constants of the caller. */
__attribute__((always_inline)) static inline enum dev_interp_halves
dev_interp_halves(const struct dev_interp_block *b, const struct dev_interp_line *line,
		  const struct dev_interp_insn *in, unsigned size, bool is_write, bool is_shared,
		  uint8_t **ret_first, uint8_t **ret_second)
{
	const struct dev_interp_memory *m = b->memory;
	uint8_t *window = is_shared ? b->shared : m->view;
	uint64_t window_bytes = is_shared ? b->shared_bytes : m->bytes;
	uint64_t jump = (uint64_t)line->jump, offset, bytes;
	uint8_t want = is_write ? DEV_INTERP_WRITE : DEV_INTERP_READ;
	struct dev_interp_line at = *line;
	bool are_two = false;
	int64_t min, max;

	if (!(line->kind & DEV_INTERP_LINE))
		return DEV_INTERP_HALVES_OTHER;
	/* the sum of a register and its offset has the register's width */
	at.base += (uint64_t)in->imm;
	if (!at.is_wide)
		at.base = (uint32_t)at.base;
	offset = at.base - (is_shared ? 0 : m->base);
	if (line->step == (int64_t)size) {
		bytes = (uint64_t)size * DEV_INTERP_LANES;
		if (jump != bytes / 2) {
			are_two = true;
			bytes /= 2;
		}
	} else if (!line->step) {
		bytes = size;
		are_two = jump;
	} else {
		return DEV_INTERP_HALVES_OTHER;
	}
	/* the window begins at a page, so that its offsets are aligned as the addresses are */
	if ((offset | jump) & (size - 1) || !dev_interp_is_within(offset, bytes, window_bytes))
		return DEV_INTERP_HALVES_OTHER;
	if (!at.is_wide && !dev_interp_line_span_32(&at, 1, false, &min, &max))
		return DEV_INTERP_HALVES_OTHER;
	if (!is_shared && !dev_interp_window_allows(m, offset, bytes, want))
		return DEV_INTERP_HALVES_OTHER;
	*ret_first = window + offset;
	if (!are_two)
		return line->step ? DEV_INTERP_HALVES_PIECE : DEV_INTERP_HALVES_SAME;
	offset += jump;
	if (!dev_interp_is_within(offset, bytes, window_bytes) ||
	    (!is_shared && !dev_interp_window_allows(m, offset, bytes, want)))
		return DEV_INTERP_HALVES_OTHER;
	*ret_second = window + offset;
	return line->step ? DEV_INTERP_HALVES_PIECES : DEV_INTERP_HALVES_SAMES;
}
