/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The speed of a device at one kind of work on bytes. Pieces may be under way together, so only the
 * time counts in which at least one was. Old pieces count less. Pure; the caller has a lock.
 */

#include <stdint.h>

struct slu_speed {
	unsigned n_under_way;
	uint64_t since_ns; /* while any is under way: the time is counted up to this */
	uint64_t bytes;	   /* that are done … */
	uint64_t busy_ns;  /* … in so much time */
};

void slu_speed_begin(struct slu_speed *speed, uint64_t now_ns);
void slu_speed_end(struct slu_speed *speed, uint64_t now_ns, uint64_t bytes);

/*
 * A piece that took @took_ns, with nothing else under way. Disturbances only make it slower: so a
 * quicker one replaces what was known, and a slower one counts for twice that at most.
 */
void slu_speed_note(struct slu_speed *speed, uint64_t took_ns, uint64_t bytes);

/* How long @bytes will take; 0: nothing is known yet. */
uint64_t slu_speed_guess_ns(const struct slu_speed *speed, uint64_t bytes);
