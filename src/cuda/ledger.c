/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/ledger.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"

/*
 * Two arrays sorted by address. Programs make thousands of allocations, not millions, and look
 * them up far more often than they make them.
 */
struct slu_ledger {
	struct slu_range **ranges;
	size_t n_ranges, max_ranges;
	struct slu_allocation *allocations;
	size_t n_allocations, max_allocations;
	uint64_t last_id;
};

int slu_ledger_new(struct slu_ledger **ret_ledger)
{
	struct slu_ledger *ledger = calloc(1, sizeof(*ledger));

	if (!ledger)
		return slu_error(-ENOMEM);
	*ret_ledger = ledger;
	return 0;
}

void slu_ledger_free(struct slu_ledger *ledger)
{
	if (!ledger)
		return;
	assert(!ledger->n_ranges);
	free(ledger->ranges);
	free(ledger->allocations);
	free(ledger);
}

/* Makes capacity for one more element. */
static int array_reserve(void **array, size_t n, size_t *max, size_t size)
{
	size_t more = *max ? 2 * *max : 64;
	void *grown;

	if (n < *max)
		return 0;
	grown = realloc(*array, more * size);
	if (!grown)
		return slu_error(-ENOMEM);
	*array = grown;
	*max = more;
	return 0;
}

/* The place of the first range, or allocation, that begins above @address. */
static size_t range_above(const struct slu_ledger *l, uint64_t address)
{
	size_t low = 0, high = l->n_ranges;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (l->ranges[middle]->address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t allocation_above(const struct slu_ledger *l, uint64_t address)
{
	size_t low = 0, high = l->n_allocations;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (l->allocations[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The array must have capacity for it. */
static void allocation_insert(struct slu_ledger *l, struct slu_range *range, uint64_t address,
			      uint64_t bytes)
{
	size_t at = allocation_above(l, address);

	memmove(&l->allocations[at + 1], &l->allocations[at],
		(l->n_allocations - at) * sizeof(l->allocations[0]));
	l->allocations[at] = (struct slu_allocation){
		.address = address,
		.bytes = bytes,
		.range = range,
		.id = ++l->last_id,
	};
	l->n_allocations++;
	range->n_allocations++;
}

static void range_cut_into_extents(struct slu_range *range, uint64_t most)
{
	for (size_t i = 0; i < range->n_extents; i++) {
		uint64_t offset = i * most;

		range->extents[i] = (struct slu_extent){
			.address = range->address + offset,
			.bytes = SLU_MIN(most, range->bytes - offset),
			.range = range,
		};
	}
}

int slu_ledger_add(struct slu_ledger *ledger, uint64_t address, uint64_t bytes,
		   uint64_t granule_bytes, enum slu_range_kind kind, void *device, void *context,
		   struct slu_range **ret_range)
{
	uint64_t whole = slu_round_up(bytes, granule_bytes);
	uint64_t most =
		kind == SLU_RANGE_WHOLE ? whole : granule_bytes * SLU_LEDGER_EXTENT_GRANULES_MAX;
	size_t n_extents = (size_t)((whole + most - 1) / most);
	struct slu_range *range;
	size_t at;

	if (array_reserve((void **)&ledger->ranges, ledger->n_ranges, &ledger->max_ranges,
			  sizeof(ledger->ranges[0])) ||
	    array_reserve((void **)&ledger->allocations, ledger->n_allocations,
			  &ledger->max_allocations, sizeof(ledger->allocations[0])))
		return slu_error(-ENOMEM);
	range = calloc(1, sizeof(*range) + n_extents * sizeof(range->extents[0]));
	if (!range)
		return slu_error(-ENOMEM);
	range->address = address;
	range->bytes = whole;
	range->device = device;
	range->context = context;
	range->is_slab = kind == SLU_RANGE_SLAB;
	range->n_extents = n_extents;
	range_cut_into_extents(range, most);

	at = range_above(ledger, address);
	memmove(&ledger->ranges[at + 1], &ledger->ranges[at],
		(ledger->n_ranges - at) * sizeof(ledger->ranges[0]));
	ledger->ranges[at] = range;
	ledger->n_ranges++;
	if (kind != SLU_RANGE_SLAB)
		allocation_insert(ledger, range, address, bytes);
	*ret_range = range;
	return 0;
}

void slu_ledger_remove(struct slu_ledger *ledger, struct slu_range *range)
{
	size_t at = range_above(ledger, range->address) - 1;
	size_t first = allocation_above(ledger, range->address);
	size_t end = allocation_above(ledger, range->address + range->bytes - 1);

	assert(at < ledger->n_ranges && ledger->ranges[at] == range);
	if (first && ledger->allocations[first - 1].address == range->address)
		first--;
	memmove(&ledger->allocations[first], &ledger->allocations[end],
		(ledger->n_allocations - end) * sizeof(ledger->allocations[0]));
	ledger->n_allocations -= end - first;
	memmove(&ledger->ranges[at], &ledger->ranges[at + 1],
		(ledger->n_ranges - at - 1) * sizeof(ledger->ranges[0]));
	ledger->n_ranges--;
	free(range);
}

/* First fit in one slab. Return: the address, or 0. */
static uint64_t slab_find_gap(const struct slu_ledger *l, const struct slu_range *slab,
			      uint64_t bytes)
{
	uint64_t free_from = slab->address, end = slab->address + slab->bytes;
	size_t i = allocation_above(l, slab->address);

	if (i && l->allocations[i - 1].address == slab->address)
		i--;
	for (; i < l->n_allocations && l->allocations[i].address < end; i++) {
		const struct slu_allocation *a = &l->allocations[i];

		if (a->address - free_from >= bytes)
			return free_from;
		free_from = slu_round_up(a->address + a->bytes, SLU_LEDGER_ALIGN);
	}
	return end - free_from >= bytes ? free_from : 0;
}

int slu_ledger_cut(struct slu_ledger *ledger, uint64_t bytes, void *device, void *context,
		   uint64_t *ret_address)
{
	if (array_reserve((void **)&ledger->allocations, ledger->n_allocations,
			  &ledger->max_allocations, sizeof(ledger->allocations[0])))
		return slu_error(-ENOMEM);
	for (size_t i = 0; i < ledger->n_ranges; i++) {
		struct slu_range *slab = ledger->ranges[i];
		uint64_t address;

		if (!slab->is_slab || !slab->is_open || slab->device != device ||
		    slab->context != context)
			continue;
		address = slab_find_gap(ledger, slab, bytes);
		if (address) {
			allocation_insert(ledger, slab, address, bytes);
			*ret_address = address;
			return 0;
		}
	}
	return SLU_LEDGER_E_NO_SLAB;
}

int slu_ledger_end(struct slu_ledger *ledger, uint64_t address, struct slu_range **ret_empty)
{
	size_t at = allocation_above(ledger, address);
	struct slu_range *range;

	if (!at || ledger->allocations[at - 1].address != address)
		return SLU_LEDGER_E_UNKNOWN;
	at--;
	range = ledger->allocations[at].range;
	memmove(&ledger->allocations[at], &ledger->allocations[at + 1],
		(ledger->n_allocations - at - 1) * sizeof(ledger->allocations[0]));
	ledger->n_allocations--;
	range->n_allocations--;
	*ret_empty = range->n_allocations ? NULL : range;
	return 0;
}

bool slu_ledger_begin_end(struct slu_ledger *ledger, uint64_t address)
{
	size_t at = allocation_above(ledger, address);
	struct slu_allocation *a = at ? &ledger->allocations[at - 1] : NULL;

	if (!a || a->address != address || a->is_ending)
		return false;
	a->is_ending = true;
	return true;
}

struct slu_range *slu_ledger_find_range(const struct slu_ledger *ledger, uint64_t address)
{
	size_t at = range_above(ledger, address);
	struct slu_range *range = at ? ledger->ranges[at - 1] : NULL;

	return range && address - range->address < range->bytes ? range : NULL;
}

struct slu_range *slu_ledger_find_range_from(const struct slu_ledger *ledger, uint64_t address)
{
	size_t at = range_above(ledger, address);
	struct slu_range *range = slu_ledger_find_range(ledger, address);

	if (range)
		return range;
	return at < ledger->n_ranges ? ledger->ranges[at] : NULL;
}

uint64_t slu_ledger_next_id(struct slu_ledger *ledger)
{
	return ++ledger->last_id;
}

const struct slu_allocation *slu_ledger_find(const struct slu_ledger *ledger, uint64_t address)
{
	size_t at = allocation_above(ledger, address);
	const struct slu_allocation *a;

	if (!at)
		return NULL;
	a = &ledger->allocations[at - 1];
	return address - a->address < a->bytes ? a : NULL;
}

struct slu_range *slu_ledger_next(const struct slu_ledger *ledger, size_t *cursor)
{
	return *cursor < ledger->n_ranges ? ledger->ranges[(*cursor)++] : NULL;
}
