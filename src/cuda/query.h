/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The program's questions about its memory, answered from the ledger: the answers must not depend
 * on where a unit is now. Calls that only ask are never gated.
 */

#include <stdbool.h>

#include "cuabi/cuda-min.h"

/* Whether @address lies in an allocation of ours. */
bool slu_cuda_query_is_ours(CUdeviceptr address);

/*
 * Whether the program can read @address without a call: it is in pinned or managed memory. Calls
 * that write there return only after the write.
 */
bool slu_cuda_query_host_sees(CUdeviceptr address);
