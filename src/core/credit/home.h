/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Home credit: room in host memory, reserved for every byte when it is allocated, whether or not it
 * is there now (rule 4). So eviction never lacks memory, and two full programs can always be
 * exchanged.
 *
 * Who asks gets it at once if the budget has it; else what others do not use is taken from them
 * first, and only when there is none to be had the allocation is denied.
 */

#include "core/state.h"

void slu_core_home(struct slu_core *core);
