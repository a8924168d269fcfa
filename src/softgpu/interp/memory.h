/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From the addresses of a warp to places in host memory, every one checked. Most accesses of a
 * warp are one piece (lane after lane) or one place (all lanes the same): these are found out
 * first and checked once.
 */

#include "softgpu/interp/code.h"

enum slu_interp_shape {
	SLU_INTERP_SHAPE_FAULT, /* the warp's event says so */
	SLU_INTERP_SHAPE_PIECE, /* lane i at base + i * size */
	SLU_INTERP_SHAPE_SAME,	/* every lane at base */
	SLU_INTERP_SHAPE_APART, /* lane i at lanes[i] */
};

struct slu_interp_places {
	uint8_t *base;
	uint8_t *lanes[SLU_INTERP_LANES]; /* of the lanes in the mask; only when APART */
};

/* @size bytes a lane, which is also their alignment. */
enum slu_interp_shape slu_interp_reach(struct slu_interp_warp *warp,
				       const struct slu_interp_insn *insn, unsigned size,
				       bool is_write, struct slu_interp_places *ret_places);
