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

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/execution/event.h"
#include "softgpu/driver/memory/memory.h"

struct handle {
	struct dev_card_ticket ticket;
	uint32_t who; /* made it: the genuine driver opens no handle where it was made */
	uint32_t reserved;
	uint64_t offset;
};

_Static_assert(sizeof(struct handle) <= CU_IPC_HANDLE_SIZE, "a handle has 64 bytes");

/* What was opened here. */
struct opened {
	LIST_ENTRY(opened) link;
	uint64_t base, bytes;
	struct dev_card_ticket ticket;
	unsigned n_opened;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, opened) all = LIST_HEAD_INITIALIZER(all);

CUresult cuIpcGetMemHandle(CUipcMemHandle *ret_handle, CUdeviceptr address)
{
	struct handle handle = { 0 };
	const struct dev_mapping *m;
	struct dev_alloc *a;
	int r = -EINVAL;

	DEV_TRY(dev_driver_enter());
	if (!ret_handle)
		return CUDA_ERROR_INVALID_VALUE;
	dev_driver_lock();
	a = dev_memory_find_locked(address);
	m = dev_window_mapping(&dev_driver.window, address);
	/* of what cuMemAlloc() gave, and of nothing else */
	if (a && a->context && m) {
		r = dev_phys_export(m->phys);
		handle.ticket = m->phys->ticket;
		handle.who = dev_board_who(m->phys->card->board);
		handle.offset = a->base - m->base;
	}
	dev_driver_unlock();
	DEV_TRY(dev_driver_result(r));
	memset(ret_handle, 0, sizeof(*ret_handle));
	memcpy(ret_handle->reserved, &handle, sizeof(handle));
	return CUDA_SUCCESS;
}

static CUresult ipc_map(struct dev_card *card, struct dev_card *whose,
			const struct dev_card_ticket *ticket, struct opened **ret_opened)
{
	struct opened *opened = calloc(1, sizeof(*opened));
	struct dev_window *window = &dev_driver.window;
	struct dev_phys *phys;
	int r;

	if (!opened)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = dev_phys_import(whose, ticket, &phys);
	if (r) {
		free(opened);
		return r == -ENOENT ? CUDA_ERROR_INVALID_VALUE : dev_driver_result(r);
	}
	opened->ticket = *ticket;
	opened->bytes = phys->bytes;
	dev_driver_lock();
	r = dev_window_reserve(window, phys->bytes, 0, 0, &opened->base);
	if (!r)
		r = dev_window_map(window, opened->base, phys);
	dev_phys_keep_mapped(phys);
	if (!r)
		dev_window_set_access(window, opened->base, opened->bytes, (int)card->index,
				      DEV_WINDOW_READ | DEV_WINDOW_WRITE);
	/* copies look at the rights of the card whose memory it is */
	if (!r && card != whose)
		dev_window_set_access(window, opened->base, opened->bytes, (int)whose->index,
				      DEV_WINDOW_READ | DEV_WINDOW_WRITE);
	dev_driver_unlock();
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
	struct dev_context *context;
	struct opened *opened;
	struct dev_card *whose;
	struct handle handle;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_address || flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&handle, ipc.reserved, sizeof(handle));
	if (dev_driver_card_numbered(handle.ticket.card, &whose))
		return CUDA_ERROR_INVALID_VALUE;
	if (handle.who == dev_board_who(whose->board))
		return CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_lock(&mutex);
	LIST_FOREACH (opened, &all, link)
		if (!memcmp(&opened->ticket, &handle.ticket, sizeof(handle.ticket)))
			break;
	if (!opened) {
		result = ipc_map(context->card, whose, &handle.ticket, &opened);
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
	struct dev_context *context;
	struct opened *opened;

	DEV_TRY(dev_context_enter(&context));
	dev_stream_drain(context);
	pthread_mutex_lock(&mutex);
	LIST_FOREACH (opened, &all, link)
		if (address - opened->base < opened->bytes)
			break;
	if (opened && !--opened->n_opened) {
		LIST_REMOVE(opened, link);
		dev_memory_unmap(opened->base, opened->bytes);
		free(opened);
	}
	pthread_mutex_unlock(&mutex);
	return opened ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *ret_handle, CUevent event_handle)
{
	struct dev_event *event;
	struct handle handle = { 0 };

	DEV_TRY(dev_driver_enter());
	event = dev_event_get(event_handle);
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
	struct dev_context *context;
	struct dev_event *event;
	struct handle handle;

	DEV_TRY(dev_context_enter(&context));
	if (!ret_event)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&handle, ipc.reserved, sizeof(handle));
	DEV_TRY(dev_event_open(context, &handle.ticket, &event));
	*ret_event = (CUevent)(void *)event;
	return CUDA_SUCCESS;
}
