/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory that a program maps itself, as frameworks do it: each allocation has addresses of its own,
 * and is mapped there in one of three ways.
 *
 *   WHOLE     one handle, which is released as soon as it is mapped
 *   STEPS     many small handles, mapped one after the other into a large reservation
 *   TWICE     one handle, mapped at two addresses; the first is given up at once
 */

#include <stddef.h>

#include "cuda-util.h"

enum own_way { OWN_WHOLE, OWN_STEPS, OWN_TWICE, _OWN_MAX };

CUdeviceptr own_alloc(size_t bytes, enum own_way way);

/* Waits for the device first, as whoever unmaps memory must. */
void own_free(CUdeviceptr address);
