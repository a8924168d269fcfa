/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The functions behind include/sluice/sluice.h, which has their meaning. */

#include <stddef.h>

#include "client/client.h"

SLU_CLIENT_API void sluice_hint_iteration(void);
SLU_CLIENT_API void sluice_hint_dead(const void *address, size_t bytes);
