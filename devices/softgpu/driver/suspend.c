/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/suspend.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/execution/stream.h"
#include "softgpu/driver/memory/managed-block.h"
#include "softgpu/driver/memory/snapshot.h"

#define TICK_NS (5 * SLU_NS_PER_MS) /* between two looks at whoever asked for a lock */

static CUprocessState state = CU_PROCESS_STATE_RUNNING; /* written by the restore thread; atomic */

static pthread_mutex_t gate_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_opened = PTHREAD_COND_INITIALIZER;
static bool is_shut; /* written with the mutex held; atomic */

void dev_suspend_pass(void)
{
	if (!__atomic_load_n(&is_shut, __ATOMIC_ACQUIRE))
		return;
	/* a command of a stream ends before a lock is had: it must not wait for its end */
	if (dev_stream_is_in_command())
		return;
	pthread_mutex_lock(&gate_mutex);
	while (is_shut)
		pthread_cond_wait(&gate_opened, &gate_mutex);
	pthread_mutex_unlock(&gate_mutex);
}

static void gate_set(bool shut)
{
	pthread_mutex_lock(&gate_mutex);
	__atomic_store_n(&is_shut, shut, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&gate_opened);
	pthread_mutex_unlock(&gate_mutex);
}

CUprocessState dev_suspend_state(void)
{
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE);
}

static void become(CUprocessState next)
{
	__atomic_store_n(&state, next, __ATOMIC_RELEASE);
}

static void locks_take(void)
{
	dev_managed_lock();
	dev_driver_lock();
	dev_timeline_lock();
}

static void locks_give(void)
{
	dev_timeline_unlock();
	dev_driver_unlock();
	dev_managed_unlock();
}

/* Return: whether nothing is queued and no call changes what cards hold; then with all locks. */
static bool locks_try(void)
{
	locks_take();
	if (!dev_driver.n_changing && dev_stream_all_idle_locked())
		return true;
	locks_give();
	return false;
}

CUresult dev_suspend_lock(bool (*go_on)(void *data), void *data)
{
	if (dev_suspend_state() != CU_PROCESS_STATE_RUNNING)
		return CUDA_ERROR_ILLEGAL_STATE;
	gate_set(true);
	while (go_on(data)) {
		if (locks_try()) {
			become(CU_PROCESS_STATE_LOCKED);
			return CUDA_SUCCESS;
		}
		dev_stream_wait_all_idle(slu_clock_now_ns() + TICK_NS);
	}
	gate_set(false);
	return CUDA_ERROR_NOT_READY;
}

static CUresult snapshot_result(int r)
{
	switch (r) {
	case DEV_SNAPSHOT_E_SHARED:
		return CUDA_ERROR_NOT_SUPPORTED;
	case DEV_SNAPSHOT_E_FULL:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case DEV_SNAPSHOT_E_LOST:
		become(CU_PROCESS_STATE_FAILED);
		return CUDA_ERROR_OPERATING_SYSTEM;
	default:
		return dev_driver_result(r);
	}
}

CUresult dev_suspend_checkpoint(void)
{
	int r;

	if (dev_suspend_state() != CU_PROCESS_STATE_LOCKED)
		return CUDA_ERROR_ILLEGAL_STATE;
	r = dev_snapshot_take();
	if (!r)
		become(CU_PROCESS_STATE_CHECKPOINTED);
	return snapshot_result(r);
}

/* Whether each card of ours is in the pairs, and becomes itself. */
static CUresult check_pairs(const CUcheckpointGpuPair *pairs, unsigned n_pairs)
{
	for (unsigned i = 0; n_pairs && i < dev_driver.n_cards; i++) {
		const uint8_t *uuid = dev_board_identity(dev_driver.cards[i].board)->uuid;
		unsigned j = 0;

		if (dev_board_slot(dev_driver.cards[i].board) < 0)
			continue;
		while (j < n_pairs && memcmp(pairs[j].oldUuid.bytes, uuid, 16))
			j++;
		if (j == n_pairs)
			return CUDA_ERROR_INVALID_VALUE;
		if (memcmp(pairs[j].newUuid.bytes, uuid, 16))
			return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}

CUresult dev_suspend_restore(const CUcheckpointGpuPair *pairs, unsigned n_pairs)
{
	CUresult result;
	int r;

	if (dev_suspend_state() != CU_PROCESS_STATE_CHECKPOINTED)
		return CUDA_ERROR_ILLEGAL_STATE;
	result = check_pairs(pairs, n_pairs);
	if (result)
		return result;
	r = dev_snapshot_restore();
	if (!r)
		become(CU_PROCESS_STATE_LOCKED);
	return snapshot_result(r);
}

CUresult dev_suspend_unlock(void)
{
	if (dev_suspend_state() != CU_PROCESS_STATE_LOCKED)
		return CUDA_ERROR_ILLEGAL_STATE;
	become(CU_PROCESS_STATE_RUNNING);
	locks_give();
	gate_set(false);
	return CUDA_SUCCESS;
}
