/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Conformance of the interpreter: every row of opcodes.def, in every form that it takes, against a
 * reference that is written a second time. A row is run by a case:
 *
 *   conform-compute.c  lane by lane: integers, floats, halves, comparisons, conversions
 *   conform-carry.c    the same with a carry going in and out
 *   conform-memory.c   loads and stores, through every space
 *   conform-move.c     mov in all its shapes, and addresses that change their space
 *   conform-atomic.c   atom and red
 *   conform-copy.c     from global to shared memory
 *   conform-phase.c    barriers that lie in memory
 *   conform-stack.c    local memory taken while running
 *   conform-video.c    bytes and halves of words, in all ways to name them
 *   conform-texture.c  what is read through a texture object
 *   conform-surface.c  what is read and written through a surface object
 *   conform-warp.c     what lanes of a warp tell each other
 *   conform-matrix.c   what a warp multiplies together
 *   conform-flow.c     branches, calls, ends, barriers, fences, and what has no effect
 *
 * A form that no case knows ends the build: `test-conform --forms` runs whenever it is linked.
 */

#include "lib/test.h"

#include "softgpu/interp/code.h"
#include "softgpu/interp/testbed.h"

struct dev_conform_case {
	const char *name;
	/* is this form run by this case? */
	bool (*knows)(const struct slu_ptx_form *form);
	/* runs it and fails the test if anything is not as the ISA says */
	void (*run)(const char *text, const struct slu_ptx_form *form);
};

extern const struct dev_conform_case dev_conform_compute, dev_conform_carry, dev_conform_memory,
	dev_conform_move, dev_conform_atomic, dev_conform_warp, dev_conform_flow, dev_conform_stack,
	dev_conform_copy, dev_conform_matrix, dev_conform_phase, dev_conform_video,
	dev_conform_texture, dev_conform_surface;

/* One device for all cases, and two buffers in it. */
#define DEV_CONFORM_BYTES 65536u
extern struct dev_testbed dev_conform_bed;
extern uint8_t *dev_conform_in, *dev_conform_out; /* DEV_CONFORM_BYTES each */
extern uint64_t dev_conform_seed;
extern unsigned dev_conform_n_kernels;

/*
 * Calls @each for the forms of a row. Modifiers that change nothing here (cache hints, scopes,
 * orders) are not multiplied with the others but take turns, unless @is_full.
 */
void dev_conform_expand(const struct slu_ptx_row *row, bool is_full,
			void (*each)(const char *text, void *userdata), void *userdata);

uint64_t dev_conform_random(void);
/* A value for a type: an edge, a number of everyday size, or any bits. */
uint64_t dev_conform_value(enum slu_ptx_type type);
/* Fills @n bytes with any bits. */
void dev_conform_scramble(void *to, size_t n);

/*
 * Loads @kernel and runs its kernel "k" with the pointers to both buffers as parameters, and the
 * first 2048 bytes of the input as a third one. Fails the test, with the text, if it cannot be run.
 */
void dev_conform_launch(const char *form, const char *kernel, unsigned grid, unsigned block);
/* The same for a kernel that must end with that fault. */
void dev_conform_launch_fault(const char *form, const char *kernel, unsigned grid, unsigned block,
			      enum dev_interp_fault_kind fault);

/* Text that grows, and fails the test if it grows too long. */
struct dev_conform_text {
	char text[12288];
	size_t size;
};
void dev_conform_put(struct dev_conform_text *t, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));
/* The first lines of a module that may contain the form. */
const char *dev_conform_head(const struct slu_ptx_form *form);
