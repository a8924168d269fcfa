/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest/suspender.h"

#include <dlfcn.h>
#include <stddef.h>

#include "cuabi/cuda-calls.h"

/* Drivers before CUDA 12.8 lack these calls, so they are not in calls.def. */
struct calls {
	__typeof__(&cuInit) init;
	__typeof__(&cuCheckpointProcessGetState) get_state;
	__typeof__(&cuCheckpointProcessLock) lock;
	__typeof__(&cuCheckpointProcessCheckpoint) checkpoint;
	__typeof__(&cuCheckpointProcessRestore) restore;
	__typeof__(&cuCheckpointProcessUnlock) unlock;
};

static const char *error_words(CUresult error)
{
	switch (error) {
	case CUDA_ERROR_INVALID_VALUE:
		return "the driver knows no CUDA program of that pid";
	case CUDA_ERROR_NOT_READY:
		return "its work did not end in time";
	case CUDA_ERROR_NOT_SUPPORTED:
		return "the driver cannot suspend what it uses, such as memory shared with other "
		       "processes";
	case CUDA_ERROR_OUT_OF_MEMORY:
		return "there is too little free memory";
	case CUDA_ERROR_ILLEGAL_STATE:
		return "somebody else suspends or resumes it";
	case CUDA_ERROR_OPERATING_SYSTEM:
		return "the system does not allow it";
	default:
		return "the driver failed";
	}
}

/* Notes a step that failed. Return: whether it did not. */
static bool step_take(struct slu_suspender_outcome *outcome, const char *step, CUresult error)
{
	if (!error)
		return true;
	outcome->step = step;
	outcome->error = (int)error;
	outcome->why = error_words(error);
	return false;
}

static bool calls_find(const char *driver, struct calls *ret_calls,
		       struct slu_suspender_outcome *outcome)
{
	void *handle = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
	struct calls calls;

	outcome->error = CUDA_ERROR_NOT_SUPPORTED;
	if (!handle) {
		outcome->why = "the driver could not be loaded";
		return false;
	}
	calls.init = (__typeof__(calls.init))dlsym(handle, "cuInit");
	calls.get_state = (__typeof__(calls.get_state))dlsym(handle, "cuCheckpointProcessGetState");
	calls.lock = (__typeof__(calls.lock))dlsym(handle, "cuCheckpointProcessLock");
	calls.checkpoint =
		(__typeof__(calls.checkpoint))dlsym(handle, "cuCheckpointProcessCheckpoint");
	calls.restore = (__typeof__(calls.restore))dlsym(handle, "cuCheckpointProcessRestore");
	calls.unlock = (__typeof__(calls.unlock))dlsym(handle, "cuCheckpointProcessUnlock");
	if (!calls.init || !calls.get_state || !calls.lock || !calls.checkpoint || !calls.restore ||
	    !calls.unlock) {
		outcome->why = "the driver is older than CUDA 12.8 and cannot suspend programs";
		return false;
	}
	outcome->error = 0;
	*ret_calls = calls;
	return true;
}

static bool state_find(const char *driver, int pid, struct calls *ret_calls,
		       CUprocessState *ret_state, struct slu_suspender_outcome *outcome)
{
	*outcome = (struct slu_suspender_outcome){ 0 };
	return calls_find(driver, ret_calls, outcome) &&
	       step_take(outcome, "cuInit", ret_calls->init(0)) &&
	       step_take(outcome, "cuCheckpointProcessGetState",
			 ret_calls->get_state(pid, ret_state));
}

void slu_suspender_suspend(const char *driver, int pid, unsigned timeout_ms,
			   struct slu_suspender_outcome *ret_outcome)
{
	CUcheckpointLockArgs args = { .timeoutMs = timeout_ms };
	CUprocessState state;
	struct calls calls;

	if (!state_find(driver, pid, &calls, &state, ret_outcome))
		return;
	ret_outcome->is_away = state == CU_PROCESS_STATE_CHECKPOINTED;
	if (ret_outcome->is_away)
		return;
	if (state != CU_PROCESS_STATE_LOCKED &&
	    !step_take(ret_outcome, "cuCheckpointProcessLock", calls.lock(pid, &args)))
		return;
	ret_outcome->is_away = step_take(ret_outcome, "cuCheckpointProcessCheckpoint",
					 calls.checkpoint(pid, NULL));
	if (!ret_outcome->is_away)
		calls.unlock(pid, NULL);
}

void slu_suspender_resume(const char *driver, int pid, struct slu_suspender_outcome *ret_outcome)
{
	CUprocessState state;
	struct calls calls;

	if (!state_find(driver, pid, &calls, &state, ret_outcome))
		return;
	ret_outcome->is_away = state == CU_PROCESS_STATE_CHECKPOINTED;
	if (ret_outcome->is_away) {
		if (!step_take(ret_outcome, "cuCheckpointProcessRestore", calls.restore(pid, NULL)))
			return;
		ret_outcome->is_away = false;
		state = CU_PROCESS_STATE_LOCKED;
	}
	if (state != CU_PROCESS_STATE_RUNNING)
		step_take(ret_outcome, SLU_SUSPENDER_UNLOCK, calls.unlock(pid, NULL));
}
