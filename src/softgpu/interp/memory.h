/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From the addresses of a warp to places in host memory, every one checked. Most accesses of a
 * warp are one piece (lane after lane) or one place (all lanes the same): these are found out
 * first. When all 32 lanes take part, bounds and alignment of all are checked together, and only
 * what fails that, or a part of the lanes, is looked at lane by lane.
 */

#include "softgpu/interp/lanes.h"

enum slu_interp_shape {
	SLU_INTERP_SHAPE_FAULT, /* the warp's event says so */
	SLU_INTERP_SHAPE_PIECE, /* lane i at base + i * size */
	SLU_INTERP_SHAPE_SAME,	/* every lane at base */
	SLU_INTERP_SHAPE_APART, /* lane i at base + offsets[i], for the lanes in the mask */
};

struct slu_interp_places {
	uint8_t *base;
	uint64_t offsets[SLU_INTERP_LANES];
};

static inline void *slu_interp_place(const struct slu_interp_places *at, unsigned lane)
{
	return (void *)((uintptr_t)at->base + (uintptr_t)at->offsets[lane]);
}

/* @size bytes a lane, which is also their alignment. */
enum slu_interp_shape SLU_ISA(reach)(struct slu_interp_warp *warp,
				     const struct slu_interp_insn *insn, unsigned size,
				     bool is_write, struct slu_interp_places *ret_places);
