/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/contexts.h"

#include "base/util.h"
#include "cuda/capture.h"
#include "cuda/memory.h"
#include "cuda/modules.h"
#include "cuda/pool.h"
#include "cuda/real.h"
#include "cuda/syncer.h"

CUcontext slu_cuda_contexts_current(void)
{
	CUcontext context = NULL;

	return SLU_REAL(cuCtxGetCurrent)(&context) == CUDA_SUCCESS ? context : NULL;
}

bool slu_cuda_contexts_add(CUcontext context, CUdevice ordinal)
{
	bool is_noted;
	unsigned i = 0;

	slu_lock_take(&slu_cuda.lock);
	while (i < slu_cuda.n_contexts && slu_cuda.contexts[i].context != context)
		i++;
	is_noted = i < SLU_CUDA_CONTEXTS_MAX;
	if (is_noted) {
		if (i == slu_cuda.n_contexts)
			slu_cuda.contexts[i].n_attached = 0;
		slu_cuda.contexts[i].context = context;
		slu_cuda.contexts[i].ordinal = ordinal;
		slu_cuda.n_contexts = SLU_MAX(slu_cuda.n_contexts, i + 1);
	}
	slu_lock_give(&slu_cuda.lock);
	return is_noted;
}

static bool device_has_others_locked(const struct slu_cuda_device *d, CUcontext context)
{
	for (unsigned i = 0; i < slu_cuda.n_contexts; i++)
		if (slu_cuda.contexts[i].context != context &&
		    slu_cuda.contexts[i].ordinal == d->ordinal)
			return true;
	return false;
}

/* Memory of a pool is of all contexts of its device. */
static bool device_others_own_locked(const struct slu_cuda_device *d, CUcontext context)
{
	const struct slu_range *range;
	size_t cursor = 0;

	if (slu_cuda_pool_is_used_locked(d) && device_has_others_locked(d, context))
		return true;
	while ((range = slu_ledger_next(slu_cuda.ledger, &cursor)))
		if (range->device == d && range->context && range->context != context &&
		    range->n_allocations)
			return true;
	return false;
}

/* What the end of a context means for its device. */
enum end {
	END_OTHER, /* another context is the service context, or none is */
	END_SERVICE,
	END_KEEP,   /* it is the service context, and others need it */
	END_REFUSE, /* the same, and it cannot stay */
	END_LAST,   /* it is the last one: the service context that was kept for it goes too */
};

static enum end context_end_of_locked(struct slu_cuda_device *d, CUcontext context, bool may_stay)
{
	if (d && d->service == context) {
		if (!device_others_own_locked(d, context))
			return END_SERVICE;
		return may_stay ? END_KEEP : END_REFUSE;
	}
	if (!d || !d->is_service_kept)
		return END_OTHER;
	return device_has_others_locked(d, context) ? END_OTHER : END_LAST;
}

/* Takes @context out of the list. Return: its device, or NULL if we do not know it. */
static struct slu_cuda_device *context_take_out(CUcontext context, bool may_stay, enum end *ret_end)
{
	struct slu_cuda_device *d = NULL;

	*ret_end = END_OTHER;
	slu_lock_take(&slu_cuda.lock);
	for (unsigned i = 0; i < slu_cuda.n_contexts; i++) {
		if (slu_cuda.contexts[i].context != context)
			continue;
		d = slu_cuda_device_find_started(slu_cuda.contexts[i].ordinal);
		*ret_end = context_end_of_locked(d, context, may_stay);
		if (*ret_end == END_KEEP)
			d->is_service_kept = true;
		if (*ret_end != END_REFUSE)
			slu_cuda.contexts[i] = slu_cuda.contexts[--slu_cuda.n_contexts];
		break;
	}
	slu_lock_give(&slu_cuda.lock);
	return d;
}

static bool context_is_kept(CUcontext context)
{
	bool is = false;

	slu_lock_take(&slu_cuda.lock);
	for (unsigned k = 0; k < slu_cuda.n_devices && !is; k++)
		is = slu_cuda.devices[k].is_service_kept && slu_cuda.devices[k].service == context;
	slu_lock_give(&slu_cuda.lock);
	return is;
}

/* A context that stays is not stopped by its end: what runs there may use memory that goes now. */
static void context_wait(CUcontext context)
{
	CUstreamCaptureMode before;
	CUcontext popped;

	if (SLU_REAL(cuCtxPushCurrent_v2)(context) != CUDA_SUCCESS)
		return;
	before = slu_cuda_capture_relax();
	SLU_REAL(cuCtxSynchronize)();
	slu_cuda_capture_restore(before);
	SLU_REAL(cuCtxPopCurrent_v2)(&popped);
}

CUresult slu_cuda_contexts_end(CUcontext context, bool *ret_stays)
{
	enum end end;
	struct slu_cuda_device *d = context_take_out(context, ret_stays, &end);
	CUcontext kept;
	bool takes_all = end == END_SERVICE || end == END_LAST;

	if (end == END_REFUSE)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!d && context_is_kept(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (end != END_KEEP)
		slu_cuda_modules_forget(context);
	if (!d || !d->service)
		return CUDA_SUCCESS;
	if (end == END_KEEP)
		context_wait(context);
	slu_cuda_syncer_leave(d->syncer, context);
	slu_cuda_flight_forget(&d->flight, context);
	slu_cuda_streams_forget(&d->stream_uses, context);
	slu_cuda_waits_forget(d, takes_all ? NULL : context);
	slu_cuda_pool_context_ending(d, context, takes_all);
	slu_cuda_memory_forget(d, takes_all ? NULL : context);
	if (end == END_KEEP)
		*ret_stays = true;
	kept = d->service;
	if (takes_all)
		slu_cuda_device_end_service(d);
	if (end == END_LAST) {
		slu_cuda_modules_forget(kept);
		SLU_REAL(cuCtxDestroy_v2)(kept);
	}
	return CUDA_SUCCESS;
}
