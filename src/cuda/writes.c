/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/writes.h"

#include "cuda/device.h"
#include "cuda/predict-trace.h"
#include "cuda/real.h"
#include "cuda/recipe.h"

static bool unit_tell(void *data, const struct slu_cuda_device *device, struct slu_unit *unit)
{
	(void)data;
	(void)device;
	slu_client_unit_write(unit);
	return true;
}

/* For the trace: a launch that becomes a node is none yet. */
static bool launch_is_traced(const struct slu_cuda_launch *launch)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (!slu_cuda_predict_trace_is_on)
		return false;
	return SLU_REAL(cuStreamIsCapturing)(launch->stream, &status) != CUDA_SUCCESS ||
	       status == CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Return: whether all that the launch writes is known. */
static bool launch_tell_locked(const struct slu_cuda_launch *launch, bool is_traced)
{
	const struct slu_predict_set *set;
	bool is_known;

	if (is_traced)
		slu_cuda_kernels_await_locked(launch->function);
	set = slu_cuda_kernels_evaluate_locked(launch);
	if (is_traced)
		slu_cuda_predict_trace_write(slu_cuda_kernels_name_locked(launch->function), set);
	is_known = set && set->why_writes.reason == SLU_PREDICT_REASON_NONE;
	for (size_t i = 0; is_known && i < set->n_ranges; i++) {
		const struct slu_predict_range *r = &set->ranges[i];

		if (r->is_written && r->to > r->from)
			slu_cuda_touch_units_locked(
				(struct slu_cuda_span){ r->from, r->to - r->from }, unit_tell,
				NULL);
	}
	return is_known;
}

static bool graph_tell_locked(CUgraphExec exec)
{
	const struct slu_cuda_span *spans;
	size_t n = 0;

	spans = slu_cuda_recipe_spans_locked(exec, &n);
	for (size_t i = 0; i < n; i++)
		slu_cuda_touch_units_locked(spans[i], unit_tell, NULL);
	return spans;
}

void slu_cuda_writes_tell(const struct slu_cuda_touch *touch)
{
	bool is_traced = touch->kind == SLU_CUDA_TOUCH_LAUNCH && launch_is_traced(&touch->launch);
	bool is_known = true;

	slu_lock_take(&slu_cuda.lock);
	switch (touch->kind) {
	case SLU_CUDA_TOUCH_ANYTHING:
		is_known = false;
		break;
	case SLU_CUDA_TOUCH_UNWRITTEN:
		break;
	case SLU_CUDA_TOUCH_BYTES:
		slu_cuda_touch_units_locked(touch->written, unit_tell, NULL);
		break;
	case SLU_CUDA_TOUCH_LAUNCH:
		is_known = launch_tell_locked(&touch->launch, is_traced);
		break;
	case SLU_CUDA_TOUCH_GRAPH:
		is_known = graph_tell_locked(touch->exec);
		break;
	}
	slu_lock_give(&slu_cuda.lock);
	if (is_known)
		slu_gate_vouch();
}
