/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a multiprocessor holds and what a block may have of it, as the capability says: the
 * attributes of devices, what launches are refused for and how many blocks fit come from this one
 * table. Registers are no limit here: the interpreter has as many as a kernel names.
 */

#include <stdint.h>

#define DEV_LIMITS_WARP_THREADS	  32
#define DEV_LIMITS_BLOCK_THREADS  1024
#define DEV_LIMITS_SHARED_BYTES	  49152 /* of a block that asks for no more */
#define DEV_LIMITS_CONSTANT_BYTES 65536
#define DEV_LIMITS_N_REGISTERS	  65536 /* that programs are told, of a block and in all */
/* arrays and textures, in texels; pitches and alignment in bytes */
#define DEV_LIMITS_TEXTURE_WIDTH  131072
#define DEV_LIMITS_TEXTURE_HEIGHT 65536
#define DEV_LIMITS_TEXTURE_3D	  16384
#define DEV_LIMITS_LAYERED_WIDTH  32768
#define DEV_LIMITS_LAYERS	  2048
#define DEV_LIMITS_CUBE_FACES	  2046
#define DEV_LIMITS_LINEAR_TEXELS  (1 << 28)
#define DEV_LIMITS_LINEAR_PITCH	  2097120
#define DEV_LIMITS_TEXTURE_ALIGN  512
#define DEV_LIMITS_PITCH_ALIGN	  32
#define DEV_LIMITS_BLOCK_SIZES \
	{                      \
		1024, 1024, 64 \
	}
#define DEV_LIMITS_GRID_SIZES            \
	{                                \
		0x7fffffff, 65535, 65535 \
	}

struct dev_limits {
	unsigned capability;		/* 75 for 7.5: the first that this row is for */
	unsigned n_threads, n_blocks;	/* of a multiprocessor */
	unsigned shared_bytes;		/* of a multiprocessor */
	unsigned shared_bytes_optin;	/* of a block that asks for it */
	unsigned shared_bytes_reserved; /* that each block takes beside what it asks for */
	unsigned shared_unit_bytes;	/* what a block takes is a multiple of this */
};

/* Return: the row of @capability, or of the highest one below it. */
const struct dev_limits *dev_limits_of(unsigned capability);

/* Return: how many blocks of @n_threads (not 0) with @shared_bytes each a multiprocessor holds. */
unsigned dev_limits_fit(const struct dev_limits *limits, unsigned n_threads, uint64_t shared_bytes);
