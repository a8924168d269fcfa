/* SPDX-License-Identifier: Apache-2.0 */

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/util.h"
#include "opencl/ending.h"

/* A copy of a chunk ends sooner; a driver that hangs must not keep the program from ending. */
#define PATIENCE_NS (500 * SLU_NS_PER_MS)

static _Atomic bool has_begun;
static _Atomic unsigned n_inside; /* of our threads */
static __thread bool is_ours;

void slu_ending_begin(void)
{
	uint64_t until_ns = slu_clock_now_ns() + PATIENCE_NS;

	atomic_store(&has_begun, true);
	while (atomic_load(&n_inside) && slu_clock_now_ns() < until_ns)
		sched_yield();
}

void slu_ending_watch(void)
{
	static _Atomic bool is_watched;

	/* a loader may have been closed and opened again */
	atomic_store(&has_begun, false);
	if (!atomic_exchange(&is_watched, true))
		atexit(slu_ending_begin);
}

void slu_ending_mark_thread(void)
{
	is_ours = true;
}

bool slu_ending_enter(void)
{
	if (!is_ours)
		return true;
	atomic_fetch_add(&n_inside, 1);
	if (!atomic_load(&has_begun))
		return true;
	atomic_fetch_sub(&n_inside, 1);
	return false;
}

void slu_ending_leave(void)
{
	if (is_ours)
		atomic_fetch_sub(&n_inside, 1);
}
