/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Copies by the processor between host copies and pinned memory. Nobody on the processor reads
 * these bytes soon, so they go past its caches (non-temporal stores): memory is not read before it
 * is overwritten, and what the program has in the caches stays there.
 */

#include <stddef.h>

/* As memcpy(). Stores are complete for other threads and for devices when it returns. */
void slu_bulk_copy(void *to, const void *from, size_t bytes);
