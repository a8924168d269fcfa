/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests: with SLUICE_PREDICT_TRACE=FILE each launch is predicted, also while nothing is short,
 * after its kernel has been analysed, and what is predicted is written there in one piece:
 *
 *   launch PID KERNEL READS WRITES N    READS and WRITES: "known" or "unknown"
 *   r|w|x FROM TO ADDRESS BYTES [STRIDE COUNT]…    N of them, or of the next; x: read and written
 *   ? r|w LINE TEXT                     why reads or writes are unknown
 *
 * `softgpu-trace --compare` compares it with what the launches touched.
 */

#include <stdbool.h>

#include "cuda/kernels.h"

/* Constant after the start of the shim. */
extern bool slu_cuda_predict_trace_is_on;

/* Opens the trace, if there shall be one. */
void slu_cuda_predict_trace_start(void);

/* @name: of the kernel, or NULL; @set: NULL if nothing is known. With slu_cuda.lock. */
void slu_cuda_predict_trace_write(const char *name, const struct slu_predict_set *set);
