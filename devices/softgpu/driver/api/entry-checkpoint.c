/* SPDX-License-Identifier: Apache-2.0 */

/* Suspending processes, this one or another. These calls pass where others wait. */

#include <string.h>

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/suspend.h"

static bool is_zero(const void *p, size_t bytes)
{
	const char *c = p;

	for (size_t i = 0; i < bytes; i++)
		if (c[i])
			return false;
	return true;
}

static CUresult ask(int pid, const struct dev_suspend_request *request)
{
	struct dev_suspend_reply reply;

	DEV_TRY(dev_driver_check());
	return dev_suspend_ask(pid, request, &reply);
}

CUresult cuCheckpointProcessGetState(int pid, CUprocessState *ret_state)
{
	const struct dev_suspend_request request = { .verb = DEV_SUSPEND_STATE };
	struct dev_suspend_reply reply;

	DEV_TRY(dev_driver_check());
	if (!ret_state)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_suspend_ask(pid, &request, &reply));
	*ret_state = (CUprocessState)reply.state;
	return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessGetRestoreThreadId(int pid, int *ret_thread)
{
	const struct dev_suspend_request request = { .verb = DEV_SUSPEND_THREAD };
	struct dev_suspend_reply reply;

	DEV_TRY(dev_driver_check());
	if (!ret_thread)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_suspend_ask(pid, &request, &reply));
	*ret_thread = reply.thread;
	return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessLock(int pid, CUcheckpointLockArgs *args)
{
	struct dev_suspend_request request = { .verb = DEV_SUSPEND_LOCK };

	if (args && (args->reserved0 || !is_zero(args->reserved1, sizeof(args->reserved1))))
		return CUDA_ERROR_INVALID_VALUE;
	if (args)
		request.timeout_ms = args->timeoutMs;
	return ask(pid, &request);
}

CUresult cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs *args)
{
	if (args && !is_zero(args, sizeof(*args)))
		return CUDA_ERROR_INVALID_VALUE;
	return ask(pid, &(struct dev_suspend_request){ .verb = DEV_SUSPEND_CHECKPOINT });
}

CUresult cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs *args)
{
	struct dev_suspend_request request = { .verb = DEV_SUSPEND_RESTORE };

	if (args) {
		if (!is_zero(args->reserved, sizeof(args->reserved)) || args->reserved1 ||
		    !args->gpuPairs != !args->gpuPairsCount ||
		    args->gpuPairsCount > DEV_SUSPEND_PAIRS_MAX)
			return CUDA_ERROR_INVALID_VALUE;
		request.n_pairs = args->gpuPairsCount;
		if (request.n_pairs)
			memcpy(request.pairs, args->gpuPairs,
			       request.n_pairs * sizeof(request.pairs[0]));
	}
	return ask(pid, &request);
}

CUresult cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs *args)
{
	if (args && !is_zero(args, sizeof(*args)))
		return CUDA_ERROR_INVALID_VALUE;
	return ask(pid, &(struct dev_suspend_request){ .verb = DEV_SUSPEND_UNLOCK });
}
