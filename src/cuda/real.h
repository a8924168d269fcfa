/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The genuine driver under us: found, opened by its absolute path with RTLD_LOCAL, and its symbols
 * looked up one by one when they are first wanted.
 *
 * Found where the loader would find it, less ourselves: SLUICE_CUDA_DRIVER; the folders of
 * LD_LIBRARY_PATH; the loader's cache; the usual folders. A candidate that is our own file (by
 * device and inode) or that has our own name in it is passed over. Nothing is opened before the
 * program's first call, and if there is no driver every call says so (CUDA_ERROR_NO_DEVICE).
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/lock.h"
#include "cuabi/cuda-calls.h"
#include "cuabi/names.h"

/* Pointers to the genuine functions, NULL until wanted. jump.S reads it. */
extern void *slu_real_table[_SLU_CUNAME_MAX];

/*
 * The genuine function @id, opening the driver if need be. Never NULL: what the driver does not
 * have answers CUDA_ERROR_NOT_FOUND, and without a driver everything answers CUDA_ERROR_NO_DEVICE.
 */
void *slu_real_resolve(unsigned id);

/* Whether the driver under us has @id itself. */
bool slu_real_has(unsigned id);

/* Threads that look at the same time may look up the same: relaxed, there is nothing behind it. */
static inline void *slu_real_get(unsigned id)
{
	void *found = __atomic_load_n(&slu_real_table[id], __ATOMIC_RELAXED);

	return __builtin_expect(found != NULL, 1) ? found : slu_real_resolve(id);
}

/*
 * The genuine function, to be called. Drivers call back into programs and take locks of their own,
 * so no lock of ours is held: debug builds check it here.
 */
#define SLU_REAL(name) (slu_lock_assert_none(), (__typeof__(&name))slu_real_get(SLU_CUNAME_##name))
