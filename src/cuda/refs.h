/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A table of references, sorted by where they are: a handle's value, or the addresses of a mapping.
 * Several may be at the same place: each time the driver gives out the same handle is a reference
 * of its own. Programs make thousands of them, not millions.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slu_ref {
	uint64_t at, n; /* the places it covers: @n of them from @at on, at least one */
	void *target;
};

struct slu_refs {
	struct slu_ref *items; /* by @at, then in the order of coming */
	size_t n_items, max_items;
};

/* Return: 0, or -ENOMEM. */
int slu_refs_add(struct slu_refs *refs, struct slu_ref ref);

/* The first reference that covers @at, or NULL. Valid until the table changes. */
const struct slu_ref *slu_refs_find(const struct slu_refs *refs, uint64_t at);

/* Whether any reference has a place among the @n from @at on. */
bool slu_refs_overlaps(const struct slu_refs *refs, uint64_t at, uint64_t n);

/* Changes the target of the first reference that begins at @at, if there is one. */
void slu_refs_retarget(struct slu_refs *refs, uint64_t at, void *target);

/* Takes out the first reference that lies in the @n places from @at on. Return: whether there was
 * one. */
bool slu_refs_take(struct slu_refs *refs, uint64_t at, uint64_t n, struct slu_ref *ret_ref);

/* Gives back the table's own memory. */
void slu_refs_deinit(struct slu_refs *refs);
