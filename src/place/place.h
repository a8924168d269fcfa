/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which units move, and in which order. Pure; the client and the simulator use it.
 *
 * Out: only the shortfall. The smallest set of units whose bytes reach it (rule 11). Units outside
 * the working set go first, then those that cost least (clean before dirty), then those that are
 * needed last: as foresight expects (foresight.h, after Belady's optimum), else the least recently
 * named. So a program that loops over more than its window keeps most of it and exchanges the rest;
 * eviction of the least recently named would always evict what is needed next.
 *
 * In: the units that a waiting command names, then the working set, then the ones that are needed
 * soonest, then the most recently used: the last iteration is the best guess of the next one.
 */

#include "place/foresight.h"

/* A unit that may leave now: on the device or mapped, not moving, frozen, named or blocked. */
bool slu_place_may_leave(const struct slu_unit *u);

/*
 * The next unit to move out of @from (DEVICE or MAPPED) to bring @shortfall_bytes, or NULL if
 * none may leave. One that a waiting command names goes last. Called again for each unit, with
 * what is still missing: the choices together exceed the first shortfall by less than their last
 * unit (I11); near the end no unit among them is superfluous.
 */
struct slu_unit *slu_place_next_out(const struct slu_unit_list *units, enum slu_place from,
				    uint64_t shortfall_bytes, const struct slu_foresight *f);

/*
 * The same from DEVICE for @coming, a unit that no command asks for yet: only units that are needed
 * later than @coming and that no command may still use. NULL also if they do not reach the
 * shortfall.
 */
struct slu_unit *slu_place_next_out_for(const struct slu_unit_list *units,
					const struct slu_unit *coming, uint64_t shortfall_bytes,
					const struct slu_foresight *f);

/* Which units may come in; each includes the ones before it. */
enum slu_place_in {
	SLU_PLACE_IN_WANTED,  /* mode LAUNCH: that a waiting command names */
	SLU_PLACE_IN_WORKING, /* mode LAUNCH: of the working set */
	SLU_PLACE_IN_ANY,
};

/* The next unit to bring in that is not larger than @free_bytes, or NULL. */
struct slu_unit *slu_place_next_in(const struct slu_unit_list *units, uint64_t free_bytes,
				   enum slu_place_in which, const struct slu_foresight *f);

/*
 * The unit that is away and is needed soonest, as far as foresight knows, or NULL. Its size is at
 * most @certain_bytes if a known command names it, else @guessed_bytes.
 */
struct slu_unit *slu_place_next_ahead(const struct slu_unit_list *units, uint64_t certain_bytes,
				      uint64_t guessed_bytes, const struct slu_foresight *f);

/*
 * The next unit to map, so that the device reaches it over the bus, of at most @free_bytes, or
 * NULL: the least recently used, for the others should be on the device. None that is device_only.
 */
struct slu_unit *slu_place_next_map(const struct slu_unit_list *units, uint64_t free_bytes);

/*
 * The next unit of at most @free_bytes whose backing goes from pageable memory to disk, or NULL:
 * the one that is needed last. @is_filling: units that are away are about to come in, and stay.
 */
struct slu_unit *slu_place_next_down(const struct slu_unit_list *units, uint64_t free_bytes,
				     bool is_filling);

/*
 * The next unit of at most @free_bytes whose backing comes back from disk, or NULL: the one that is
 * needed first.
 */
struct slu_unit *slu_place_next_up(const struct slu_unit_list *units, uint64_t free_bytes,
				   bool is_filling);

/* The next unit of at most @free_bytes whose host copy becomes pinned, or NULL: the largest. */
struct slu_unit *slu_place_next_pin(const struct slu_unit_list *units, uint64_t free_bytes);

/* The next unit whose host copy becomes pageable, or NULL: one that is away, for it may be mapped
 * or go to disk then. */
struct slu_unit *slu_place_next_unpin(const struct slu_unit_list *units);
