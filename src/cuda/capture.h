/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The capture mode of a thread of the program. The shim makes its own calls in relaxed mode there,
 * so that they disturb no capture, and restores the program's mode afterwards.
 */

#include "cuabi/cuda-min.h"

/* Return: the mode before, for slu_cuda_capture_restore(). */
CUstreamCaptureMode slu_cuda_capture_relax(void);
void slu_cuda_capture_restore(CUstreamCaptureMode before);
