/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the program's calls write (client.h), so that memory which none of them wrote is clean when
 * it leaves. Finds the units at the bytes that the call may write, tells them to the client, and
 * vouches for the call, if all of them are known.
 *
 * The units of memory that the program maps itself (handle.h) are not watched, because it is
 * written at other addresses than ours.
 */

#include "cuda/touch.h"

/* Inside the gate, before the driver's call, and only while slu_gate_wants_writes(). */
void slu_cuda_writes_tell(const struct slu_cuda_touch *touch);
