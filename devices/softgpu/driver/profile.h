/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How large and how fast a card is. A profile tells the figures of the card itself; a scale divides
 * size, granule and bandwidth alike, so that every duration stays the card's own. (1/256 makes a
 * 16 GiB card 64 MiB large, and a kernel that reads all of it takes the interpreter about as long
 * as the card.)
 *
 * A bandwidth of 0 means: as fast as this machine copies. settings.def has the profiles.
 */

#include <stdint.h>

struct dev_profile {
	const char *name;
	const char *card;
	uint64_t memory_bytes;
	uint64_t context_bytes; /* what an empty context takes and nobody can move */
	/* bytes a second, one direction alone and beside the other one */
	uint64_t in_alone, in_both;
	uint64_t out_alone, out_both;
	uint64_t pageable; /* bytes a second of a copy from or to pageable memory, either way */
	uint64_t fault_ns; /* of a kernel's page fault, beside its bytes */
	unsigned default_scale;
};

/* Return: the profile called @name, or NULL. */
const struct dev_profile *dev_profile_find(const char *name);
