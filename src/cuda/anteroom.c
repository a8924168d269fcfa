/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/anteroom.h"

#include <errno.h>

#include "base/util.h"
#include "cuda/real.h"
#include "cuda/headroom.h"

/* The part of the device that others are asked for at a time: of the order of a context. */
#define ROOM_PARTS 64

struct anteroom {
	const struct slu_cuda_creation *creation;
	CUresult r; /* what the driver said last */
};

/* -- the back end: nothing but the call ------------------------------------------------------- */

/* On a thread of the program or of the mover; it is the program's that shall have it current. */
static int create(void *data, struct slu_unit *unit)
{
	struct anteroom *a = data;
	CUcontext made;

	(void)unit;
	if (a->r == CUDA_ERROR_OUT_OF_MEMORY) {
		a->r = a->creation->call(a->creation);
		if (a->r == CUDA_SUCCESS && a->creation->is_pushed)
			SLU_REAL(cuCtxPopCurrent_v2)(&made);
	}
	return a->r == CUDA_ERROR_OUT_OF_MEMORY ? SLU_BACKEND_E_REFUSED : 0;
}

static void destroy(void *data, struct slu_unit *unit)
{
	(void)data;
	(void)unit;
}

/* The unit has no contents. */
static int copy(void *data, struct slu_unit *unit, enum slu_direction direction, uint64_t offset,
		void *host, uint64_t bytes, struct slu_ticket *ret_ticket)
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

static int poll(void *data, struct slu_ticket *ticket, bool wait)
{
	(void)data;
	(void)ticket;
	(void)wait;
	return 0;
}

/* Nothing of the program can run before it has a context. */
static int drain(void *data)
{
	(void)data;
	return 0;
}

static int map(void *data, struct slu_unit *unit, void **ret_host)
{
	(void)data;
	(void)unit;
	(void)ret_host;
	return SLU_BACKEND_E_REFUSED;
}

static const struct slu_backend backend = {
	.name = "cuda, before the first context",
	.create = create,
	.destroy = destroy,
	.copy = copy,
	.poll = poll,
	.drain = drain,
	.progress = drain,
	.map = map,
	.unmap = destroy,
};

/* -- coming and going ------------------------------------------------------------------------- */

static void try_as_unit(struct anteroom *a, struct slu_client_device *client, uint64_t bytes)
{
	struct slu_unit *unit;

	if (slu_client_unit_new_spare(client, bytes, a, &unit))
		return;
	/* born off turn: it is made when the turn comes */
	if (a->r == CUDA_ERROR_OUT_OF_MEMORY &&
	    !slu_client_enter(client, slu_client_device_index(client)))
		slu_client_leave();
	slu_client_unit_free(unit);
}

static CUresult wait_in_anteroom(const struct slu_cuda_device *d,
				 const struct slu_cuda_creation *creation)
{
	struct anteroom a = { .creation = creation, .r = CUDA_ERROR_OUT_OF_MEMORY };
	struct slu_client_device *client;
	struct slu_hello_device id;

	slu_cuda_device_identify(d->ordinal, &id);
	if (slu_client_device_add(&id, slu_cuda_device_mode(d), &backend, &a, &client))
		return a.r;
	try_as_unit(&a, client, slu_round_up(id.total_bytes / ROOM_PARTS, d->granule_bytes));
	slu_client_device_remove(client);
	if (a.r == CUDA_SUCCESS && creation->is_pushed)
		SLU_REAL(cuCtxPushCurrent_v2)(*creation->ret_context);
	return a.r;
}

CUresult slu_cuda_context_make(const struct slu_cuda_creation *creation)
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
		r = wait_in_anteroom(d, creation);
		slu_cuda_device_end_start(d);
	} else {
		SLU_CUDA_HEADROOM_RETRY (d, 0, r)
			r = creation->call(creation);
	}
	errno = saved;
	return r;
}
