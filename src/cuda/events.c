/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/events.h"

#include <stdbool.h>

#include "cuda/real.h"

static CUresult event_make(CUevent *ret_event)
{
	return SLU_REAL(cuEventCreate)(ret_event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC);
}

void slu_cuda_events_init(struct slu_cuda_events *events)
{
	*events = (struct slu_cuda_events){ .n_spare = 0 };
	slu_lock_init(&events->lock, SLU_LOCK_LEAF);
	while (events->n_spare < SLU_EVENTS_MAX &&
	       event_make(&events->spare[events->n_spare]) == CUDA_SUCCESS)
		events->n_spare++;
}

void slu_cuda_events_deinit(struct slu_cuda_events *events)
{
	while (events->n_spare)
		SLU_REAL(cuEventDestroy_v2)(events->spare[--events->n_spare]);
	slu_lock_deinit(&events->lock);
}

CUresult slu_cuda_events_take(struct slu_cuda_events *events, CUevent *ret_event)
{
	CUevent event = NULL;

	slu_lock_take(&events->lock);
	if (events->n_spare)
		event = events->spare[--events->n_spare];
	slu_lock_give(&events->lock);
	if (!event)
		return event_make(ret_event);
	*ret_event = event;
	return CUDA_SUCCESS;
}

void slu_cuda_events_put(struct slu_cuda_events *events, CUevent event)
{
	bool is_spare;

	slu_lock_take(&events->lock);
	is_spare = events->n_spare < SLU_EVENTS_MAX;
	if (is_spare)
		events->spare[events->n_spare++] = event;
	slu_lock_give(&events->lock);
	if (!is_spare)
		SLU_REAL(cuEventDestroy_v2)(event);
}
