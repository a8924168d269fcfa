/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The address of each public symbol, in the order of cuabi/names.def. */

#include "cuabi/names.h"

extern void *const dev_addresses[_SLU_CUNAME_MAX];
