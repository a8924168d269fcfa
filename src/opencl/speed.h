/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How fast a device does one kind of thing to bytes. Pieces may be under way together, so the time
 * counts in which there was any. What was long ago counts less. Pure; the caller has a lock.
 */

#include <stdint.h>

struct slu_speed {
	unsigned n_under_way;
	uint64_t since_ns; /* while there is any: up to when the time was counted */
	uint64_t bytes;	   /* that came to their end … */
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
