/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/event.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"

static bool comes_first(const struct slu_event *a, const struct slu_event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

int slu_events_add(struct slu_events *events, uint64_t at_ns, enum slu_event_kind kind,
		   size_t program, void *message)
{
	struct slu_event event = { at_ns, ++events->n_added, kind, program, message };
	size_t i = events->n;

	if (events->n == events->n_max) {
		size_t n = SLU_MAX(events->n_max * 2, (size_t)64);
		struct slu_event *heap = reallocarray(events->heap, n, sizeof(*heap));

		if (!heap) {
			free(message);
			return slu_error(-ENOMEM);
		}
		events->heap = heap;
		events->n_max = n;
	}
	events->n++;
	while (i > 0 && comes_first(&event, &events->heap[(i - 1) / 2])) {
		events->heap[i] = events->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	events->heap[i] = event;
	return 0;
}

int slu_events_take(struct slu_events *events, struct slu_event *ret_event)
{
	struct slu_event last;
	size_t i = 0, child;

	if (!events->n)
		return 0;
	*ret_event = events->heap[0];
	last = events->heap[--events->n];
	while ((child = 2 * i + 1) < events->n) {
		if (child + 1 < events->n &&
		    comes_first(&events->heap[child + 1], &events->heap[child]))
			child++;
		if (comes_first(&last, &events->heap[child]))
			break;
		events->heap[i] = events->heap[child];
		i = child;
	}
	events->heap[i] = last;
	return 1;
}

void slu_events_deinit(struct slu_events *events)
{
	for (size_t i = 0; i < events->n; i++)
		free(events->heap[i].message);
	free(events->heap);
	*events = (struct slu_events){};
}
