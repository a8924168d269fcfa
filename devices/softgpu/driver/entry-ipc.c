/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Memory and events between processes, in the older way: by handles of 64 bytes that are copied. A
 * handle is a ticket of the card, and the place inside what it names.
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "softgpu/driver/entry.h"
#include "softgpu/driver/event.h"
#include "softgpu/driver/memory.h"

struct handle {
	struct slu_card_ticket ticket;
	uint32_t who; /* made it: the genuine driver opens no handle where it was made */
	uint32_t reserved;
	uint64_t offset;
};

_Static_assert(sizeof(struct handle) <= CU_IPC_HANDLE_SIZE, "a handle has 64 bytes");

/* What was opened here. */
struct opened {
	LIST_ENTRY(opened) link;
	uint64_t base, bytes;
	struct slu_card_ticket ticket;
	unsigned n_opened;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, opened) all = LIST_HEAD_INITIALIZER(all);

CUresult cuIpcGetMemHandle(CUipcMemHandle *ret_handle, CUdeviceptr address)
{
	struct handle handle = { 0 };
	const struct slu_mapping *m;
	struct slu_alloc *a;
	int r = -EINVAL;

	SLU_TRY(slu_driver_enter());
	if (!ret_handle)
		return CUDA_ERROR_INVALID_VALUE;
	slu_driver_lock();
	a = slu_memory_find_locked(address);
	m = slu_window_mapping(&slu_driver.window, address);
	/* of what cuMemAlloc() gave, and of nothing else */
	if (a && a->context && m) {
		r = slu_phys_export(m->phys);
		handle.ticket = m->phys->ticket;
		handle.who = slu_board_who(m->phys->card->board);
		handle.offset = a->base - m->base;
	}
	slu_driver_unlock();
	SLU_TRY(slu_driver_result(r));
	memset(ret_handle, 0, sizeof(*ret_handle));
	memcpy(ret_handle->reserved, &handle, sizeof(handle));
	return CUDA_SUCCESS;
}

static CUresult map(struct slu_card *card, struct slu_card *whose,
		    const struct slu_card_ticket *ticket, struct opened **ret_opened)
{
	struct opened *opened = calloc(1, sizeof(*opened));
	struct slu_window *window = &slu_driver.window;
	struct slu_phys *phys;
	int r;

	if (!opened)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = slu_phys_import(whose, ticket, &phys);
	if (r) {
		free(opened);
		return r == -ENOENT ? CUDA_ERROR_INVALID_VALUE : slu_driver_result(r);
	}
	opened->ticket = *ticket;
	opened->bytes = phys->bytes;
	slu_driver_lock();
	r = slu_window_reserve(window, phys->bytes, 0, 0, &opened->base);
	if (!r)
		r = slu_window_map(window, opened->base, phys);
	slu_phys_keep_mapped(phys);
	if (!r)
		slu_window_set_access(window, opened->base, opened->bytes, (int)card->index,
				      SLU_WINDOW_READ | SLU_WINDOW_WRITE);
	/* copies look at the rights of the card whose memory it is */
	if (!r && card != whose)
		slu_window_set_access(window, opened->base, opened->bytes, (int)whose->index,
				      SLU_WINDOW_READ | SLU_WINDOW_WRITE);
	slu_driver_unlock();
	if (r) {
		free(opened);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_opened = opened;
	return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ret_address, CUipcMemHandle ipc, unsigned int flags)
{
	CUresult result = CUDA_SUCCESS;
	struct slu_context *context;
	struct opened *opened;
	struct slu_card *whose;
	struct handle handle;

	SLU_TRY(slu_context_enter(&context));
	if (!ret_address || flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&handle, ipc.reserved, sizeof(handle));
	if (slu_driver_card(handle.ticket.card, &whose))
		return CUDA_ERROR_INVALID_VALUE;
	if (handle.who == slu_board_who(whose->board))
		return CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_lock(&mutex);
	LIST_FOREACH (opened, &all, link)
		if (!memcmp(&opened->ticket, &handle.ticket, sizeof(handle.ticket)))
			break;
	if (!opened) {
		result = map(context->card, whose, &handle.ticket, &opened);
		if (!result)
			LIST_INSERT_HEAD(&all, opened, link);
	}
	if (!result && handle.offset >= opened->bytes)
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result) {
		opened->n_opened++;
		*ret_address = opened->base + handle.offset;
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *ret_address, CUipcMemHandle handle, unsigned int flags)
{
	return cuIpcOpenMemHandle_v2(ret_address, handle, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
	struct slu_context *context;
	struct opened *opened;

	SLU_TRY(slu_context_enter(&context));
	slu_stream_drain(context);
	pthread_mutex_lock(&mutex);
	LIST_FOREACH (opened, &all, link)
		if (address - opened->base < opened->bytes)
			break;
	if (opened && !--opened->n_opened) {
		LIST_REMOVE(opened, link);
		slu_memory_unmap(opened->base, opened->bytes);
		free(opened);
	}
	pthread_mutex_unlock(&mutex);
	return opened ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *ret_handle, CUevent event_handle)
{
	struct slu_event *event;
	struct handle handle = { 0 };

	SLU_TRY(slu_driver_enter());
	event = slu_event_get(event_handle);
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_handle || !event->is_shared)
		return CUDA_ERROR_INVALID_VALUE;
	handle.ticket = event->ticket;
	memset(ret_handle, 0, sizeof(*ret_handle));
	memcpy(ret_handle->reserved, &handle, sizeof(handle));
	return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent *ret_event, CUipcEventHandle ipc)
{
	struct slu_context *context;
	struct slu_event *event;
	struct handle handle;

	SLU_TRY(slu_context_enter(&context));
	if (!ret_event)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&handle, ipc.reserved, sizeof(handle));
	SLU_TRY(slu_event_open(context, &handle.ticket, &event));
	*ret_event = (CUevent)(void *)event;
	return CUDA_SUCCESS;
}
