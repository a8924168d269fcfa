/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/entry-reserve.h"

#include <errno.h>

#include "base/util.h"
#include "cuda/real.h"
#include "cuda/headroom.h"

/* The size of the reservation, as a part of the device: of the order of a context. */
#define ENTRY_PARTS 64

struct entry {
	const struct slu_cuda_entry_creation *creation;
	CUresult r; /* the driver's last answer */
};

/* -- the back end: nothing but the call ------------------------------------------------------- */

/* On a thread of the program or of the mover; the context becomes current on the program's later.
 */
static int entry_create(void *data, struct slu_unit *unit)
{
	struct entry *a = data;
	CUcontext made;

	(void)unit;
	if (a->r == CUDA_ERROR_OUT_OF_MEMORY) {
		a->r = a->creation->call(a->creation);
		if (a->r == CUDA_SUCCESS && a->creation->is_pushed)
			SLU_REAL(cuCtxPopCurrent_v2)(&made);
	}
	return a->r == CUDA_ERROR_OUT_OF_MEMORY ? SLU_BACKEND_E_REFUSED : 0;
}

static void entry_destroy(void *data, struct slu_unit *unit)
{
	(void)data;
	(void)unit;
}

/* The unit has no contents. */
static int entry_copy(void *data, struct slu_unit *unit, enum slu_direction direction,
		      uint64_t offset, void *host, uint64_t bytes, struct slu_ticket *ret_ticket)
{
	(void)data;
	(void)unit;
	(void)direction;
	(void)offset;
	(void)host;
	(void)bytes;
	*ret_ticket = (struct slu_ticket){ 0 };
	return 0;
}

static int entry_poll(void *data, struct slu_ticket *ticket, bool wait)
{
	(void)data;
	(void)ticket;
	(void)wait;
	return 0;
}

/* Nothing of the program can run before it has a context. */
static int entry_drain(void *data)
{
	(void)data;
	return 0;
}

static int entry_map(void *data, struct slu_unit *unit, void **ret_host)
{
	(void)data;
	(void)unit;
	(void)ret_host;
	return SLU_BACKEND_E_REFUSED;
}

static const struct slu_backend entry_backend = {
	.name = "cuda, before the first context",
	.create = entry_create,
	.destroy = entry_destroy,
	.copy = entry_copy,
	.poll = entry_poll,
	.drain = entry_drain,
	.progress = entry_drain,
	.map = entry_map,
	.unmap = entry_destroy,
};

/* -- joining and leaving ---------------------------------------------------------------------- */

static void entry_try(struct entry *a, struct slu_client_device *client, uint64_t bytes)
{
	struct slu_unit *unit;

	if (slu_client_unit_new_spare(client, bytes, a, &unit))
		return;
	/* off turn the client makes the unit when the turn comes */
	if (a->r == CUDA_ERROR_OUT_OF_MEMORY &&
	    !slu_client_enter(client, slu_client_device_index(client)))
		slu_client_leave();
	slu_client_unit_free(unit);
}

static CUresult entry_wait(const struct slu_cuda_device *d,
			   const struct slu_cuda_entry_creation *creation)
{
	struct entry a = { .creation = creation, .r = CUDA_ERROR_OUT_OF_MEMORY };
	struct slu_client_device *client;
	struct slu_hello_device id;

	slu_cuda_device_identify(d->ordinal, &id);
	if (slu_client_device_add(&id, slu_cuda_device_mode(d), &entry_backend, &a, &client))
		return a.r;
	entry_try(&a, client, slu_round_up(id.total_bytes / ENTRY_PARTS, d->granule_bytes));
	slu_client_device_remove(client);
	if (a.r == CUDA_SUCCESS && creation->is_pushed)
		SLU_REAL(cuCtxPushCurrent_v2)(*creation->ret_context);
	return a.r;
}

CUresult slu_cuda_entry_reserve_make(const struct slu_cuda_entry_creation *creation)
{
	CUresult r = creation->call(creation);
	struct slu_cuda_device *d;
	int saved = errno;

	if (r != CUDA_ERROR_OUT_OF_MEMORY)
		return r;
	d = slu_cuda_device_find(creation->ordinal);
	if (!d)
		return r;
	if (slu_cuda_device_begin_start(d)) {
		r = entry_wait(d, creation);
		slu_cuda_device_end_start(d);
	} else {
		SLU_CUDA_HEADROOM_RETRY (d, 0, r)
			r = creation->call(creation);
	}
	errno = saved;
	return r;
}
