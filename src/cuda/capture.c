/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/capture.h"

#include "cuda/real.h"

CUstreamCaptureMode slu_cuda_capture_relax(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	SLU_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	return mode;
}

void slu_cuda_capture_restore(CUstreamCaptureMode before)
{
	SLU_REAL(cuThreadExchangeStreamCaptureMode)(&before);
}
