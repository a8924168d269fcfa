/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The driver of this process: what cuInit() makes and everybody uses. Made once, never taken down:
 * a program may call us until its last instruction.
 *
 * Locks, in the order in which they are taken:
 *
 *   a context's lock   held over calls that the genuine driver serialises: the first launch of a
 *                      kernel keeps it while the context drains, and everybody else waits; so
 *                      no command of a stream may need it
 *   the driver's lock  addresses, handles, allocations, lists of contexts
 *   the queues' lock   streams, their commands, what is done (stream.h)
 *   the board's lock   inside board/
 *
 * A forked child has the memory of a driver but none of its threads: every call says
 * NOT_INITIALIZED there, as the genuine driver's do.
 */

#include "base/lock.h"
#include "cuabi/cuda-calls.h"
#include "softgpu/driver/card.h"
#include "softgpu/driver/memory/window.h"
#include "softgpu/driver/settings.h"

#define DEV_DRIVER_CONTEXT_RANK SLU_LOCK_FRONT
#define DEV_DRIVER_RANK		SLU_LOCK_CLIENT
#define DEV_DRIVER_QUEUE_RANK	SLU_LOCK_BACKEND

struct dev_driver {
	struct slu_lock lock;
	unsigned n_changing; /* calls that change what cards hold without the lock; guarded by it */
	struct dev_settings settings; /* constant after init, as the cards */
	unsigned n_cards;
	struct dev_card cards[DEV_SETTINGS_DEVICES_MAX];
	struct dev_window window;
};

extern struct dev_driver dev_driver;

CUresult dev_driver_init(void);

/* NOT_INITIALIZED before cuInit() and in a forked child, NOT_PERMITTED inside a host function. */
CUresult dev_driver_check(void);

/* In front of each call: the same; a call waits here while the process is suspended. */
CUresult dev_driver_enter(void);

/* As above; also finds the card. */
CUresult dev_driver_card(CUdevice device, struct dev_card **ret_card);

/* As above, by the number that all processes know it by; INVALID_DEVICE where it is not visible. */
CUresult dev_driver_card_numbered(unsigned number, struct dev_card **ret_card);

/* Set on threads that run a program's host function. */
void dev_driver_set_in_host_function(bool on);

/* What our own error codes are in the driver's words. */
CUresult dev_driver_result(int r);

static inline void dev_driver_lock(void)
{
	slu_lock_take(&dev_driver.lock);
}

static inline void dev_driver_unlock(void)
{
	slu_lock_give(&dev_driver.lock);
}

/* Around a change of what this process has on a card, unless the lock is held over all of it. */
static inline void dev_driver_change_begin(void)
{
	dev_driver_lock();
	dev_driver.n_changing++;
	dev_driver_unlock();
}

static inline void dev_driver_change_end(void)
{
	dev_driver_lock();
	dev_driver.n_changing--;
	dev_driver_unlock();
}
