/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which units move, in what order. Pure; the client and the simulator use it.
 *
 * Out: only the shortfall. The smallest set of units whose bytes reach it (rule 11), with
 * preference for what is not in the working set, costs least (clean before dirty) and is needed
 * last: where that can be foreseen (foresight.h), as Belady's optimum would have it, else least
 * recently named. So a program that goes round and round through more than its window keeps most
 * of it in place and exchanges the rest, where the least recently named would always be what is
 * needed next. In: what a waiting command names first, then the working set, then what is needed
 * soonest, then most recently used first: a program's last iteration is the best guess of its next.
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
 * The same from DEVICE for @coming, a unit that nobody asks for yet: only what is needed later than
 * it, and not what may still run. NULL also if all of that is not enough.
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
 * The unit that is away and will be needed soonest, as far as that can be foreseen, and is not
 * larger than @certain_bytes if a command is known that names it, else @guessed_bytes; or NULL.
 */
struct slu_unit *slu_place_next_ahead(const struct slu_unit_list *units, uint64_t certain_bytes,
				      uint64_t guessed_bytes, const struct slu_foresight *f);

/*
 * The next unit to reach over the bus instead (MAPPED) that is not larger than @free_bytes, or
 * NULL. The least recently used: the others shall be on the device. One that is device_only comes
 * last.
 */
struct slu_unit *slu_place_next_map(const struct slu_unit_list *units, uint64_t free_bytes);

/*
 * The next unit of at most @free_bytes whose backing goes from pageable memory to disk, or NULL:
 * what is needed last. @is_filling: those that are away are about to come in, and stay as they are.
 */
struct slu_unit *slu_place_next_down(const struct slu_unit_list *units, uint64_t free_bytes,
				     bool is_filling);

/* The next unit of at most @free_bytes whose backing comes back from disk, or NULL: what is needed
 * first.
 */
struct slu_unit *slu_place_next_up(const struct slu_unit_list *units, uint64_t free_bytes,
				   bool is_filling);
