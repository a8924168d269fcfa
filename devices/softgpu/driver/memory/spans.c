/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/memory/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"

void dev_spans_deinit(struct dev_spans *spans)
{
	free(spans->array);
	*spans = (struct dev_spans){ 0 };
}

/* The number of spans that end at or below @address. */
static size_t spans_below(const struct dev_spans *spans, uint64_t address)
{
	size_t low = 0, high = spans->n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct dev_span *s = &spans->array[middle];

		if (s->base + s->bytes <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct dev_span *dev_spans_from(const struct dev_spans *spans, uint64_t address)
{
	size_t i = spans_below(spans, address);

	return i < spans->n ? &spans->array[i] : NULL;
}

struct dev_span *dev_spans_find(const struct dev_spans *spans, uint64_t address)
{
	struct dev_span *s = dev_spans_from(spans, address);

	return s && s->base <= address ? s : NULL;
}

int dev_spans_add(struct dev_spans *spans, uint64_t base, uint64_t bytes, void *data)
{
	size_t i = spans_below(spans, base);

	if (i < spans->n && spans->array[i].base < base + bytes)
		return slu_error(-EEXIST);
	if (spans->n == spans->capacity) {
		size_t n = SLU_MAX(spans->capacity * 2, (size_t)16);
		struct dev_span *array = realloc(spans->array, n * sizeof(*array));

		if (!array)
			return slu_error(-ENOMEM);
		spans->array = array;
		spans->capacity = n;
	}
	memmove(&spans->array[i + 1], &spans->array[i], (spans->n - i) * sizeof(spans->array[0]));
	spans->array[i] = (struct dev_span){ .base = base, .bytes = bytes, .data = data };
	spans->n++;
	return 0;
}

void *dev_spans_remove(struct dev_spans *spans, uint64_t base)
{
	struct dev_span *s = dev_spans_find(spans, base);
	void *data;

	if (!s || s->base != base)
		return NULL;
	data = s->data;
	memmove(s, s + 1, (size_t)(dev_spans_end(spans) - s - 1) * sizeof(*s));
	spans->n--;
	return data;
}

uint64_t dev_spans_find_free(const struct dev_spans *spans, uint64_t from, uint64_t to,
			     uint64_t bytes, uint64_t align)
{
	uint64_t at = slu_round_up(from, align);

	for (size_t i = spans_below(spans, from); i < spans->n; i++) {
		const struct dev_span *s = &spans->array[i];

		if (s->base >= at && s->base - at >= bytes)
			break;
		if (s->base + s->bytes > at)
			at = slu_round_up(s->base + s->bytes, align);
	}
	return at < to && to - at >= bytes ? at : 0;
}
