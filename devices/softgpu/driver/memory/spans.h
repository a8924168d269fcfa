/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ranges of addresses that do not overlap, in rising order, each with something that belongs to it:
 * reservations, mappings, allocations, pinned host memory. Kept as a sorted array: looked up far
 * more often than changed.
 */

#include <stddef.h>
#include <stdint.h>

struct dev_span {
	uint64_t base;
	uint64_t bytes;
	void *data;
};

struct dev_spans {
	struct dev_span *array;
	size_t n;
	size_t capacity;
};

void dev_spans_deinit(struct dev_spans *spans);

/* Return: the span that holds @address, or NULL. Valid until the next change. */
struct dev_span *dev_spans_find(const struct dev_spans *spans, uint64_t address);

/* Return: the first span that ends above @address, or NULL. The next ones follow it. */
struct dev_span *dev_spans_from(const struct dev_spans *spans, uint64_t address);

/* Return: 0, -EEXIST where it overlaps another, -ENOMEM. */
int dev_spans_add(struct dev_spans *spans, uint64_t base, uint64_t bytes, void *data);

/* Takes out the span that begins at @base. Return: its data, NULL if there is none. */
void *dev_spans_remove(struct dev_spans *spans, uint64_t base);

/*
 * Finds @bytes that are free at a multiple of @align in [@from, @to), the lowest there is.
 * Return: its address, or 0.
 */
uint64_t dev_spans_find_free(const struct dev_spans *spans, uint64_t from, uint64_t to,
			     uint64_t bytes, uint64_t align);

static inline struct dev_span *dev_spans_end(const struct dev_spans *spans)
{
	return spans->array + spans->n;
}
