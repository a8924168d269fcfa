/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The iterations of a program, found from outside. Pure.
 *
 * Programs repeat themselves: a step of training, a token, a frame. The client sees *points*: the
 * program waited for the device, copied something to the host, or freed memory. Each point has a
 * key, made of what the program submitted since the point before. Where the last keys repeat with a
 * period, an iteration has so many points:
 *
 *   keys:   a b b c   a b b c   a b b c   a b …      four points an iteration
 *   live:   5 9 9 2   5 9 9 2   5 9 9 2   5 9 …      bytes in use behind the point
 *
 * The *boundary* is the point of an iteration behind which the fewest bytes live, above the one
 * with key c: a turn that ends there moves least. What lives there is persistent, the rest
 * ephemeral.
 *
 * Points a program tells itself (slu_iteration_tell) are boundaries, and from the first one on
 * nothing else is.
 *
 * Nothing is certain here. One key that does not fit ends what was known, until enough of the past
 * repeats again. So a guess may cost time and bytes, and never decides what is copied.
 */

#include <stdbool.h>
#include <stdint.h>

#define SLU_ITERATION_UNKNOWN UINT64_MAX

enum {
	SLU_ITERATION_POINTS = 512,	/* that are remembered */
	SLU_ITERATION_PERIOD_MAX = 128, /* points of the longest iteration that is found */
	SLU_ITERATION_TIMES = 3,	/* so often the keys of an iteration are there … */
	SLU_ITERATION_REPEATED_MIN = 6, /* … and so many points at least repeat others */
};

struct slu_iteration_point {
	uint64_t key;
	uint64_t at_ns;
	uint64_t live_bytes;
};

struct slu_iteration {
	struct slu_iteration_point points[SLU_ITERATION_POINTS]; /* a ring of the last ones */
	uint64_t n_points;					 /* so far */
	unsigned period;     /* points in an iteration; 0: not known */
	uint64_t n_repeated; /* points in a row that are as the ones a period before */
	bool is_told;	     /* the program tells its boundaries */
};

/* A point with this key, behind which @live_bytes are in use. */
void slu_iteration_meet(struct slu_iteration *iteration, uint64_t now_ns, uint64_t key,
			uint64_t live_bytes);

/* The program says that an iteration ends here. */
void slu_iteration_tell(struct slu_iteration *iteration, uint64_t now_ns, uint64_t live_bytes);

/* Whether the last point was a boundary. */
bool slu_iteration_is_at_boundary(const struct slu_iteration *iteration);

/* When the next boundary is expected, by the last iteration; or UNKNOWN. May be past. */
uint64_t slu_iteration_next_ns(const struct slu_iteration *iteration);

/* The bytes that lived at the last boundary, or UNKNOWN. */
uint64_t slu_iteration_persistent_bytes(const struct slu_iteration *iteration);

/* How long the last iteration took; 0: not known. */
uint64_t slu_iteration_period_ns(const struct slu_iteration *iteration);

/* How sure all of this is, in percent: more with each iteration that was as the one before. */
unsigned slu_iteration_confidence(const struct slu_iteration *iteration);
