/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/writes.h"

#include "base/util.h"
#include "cuda/device.h"
#include "cuda/predict-trace.h"

/* All extents but the last have the size of the first. */
static void range_tell_locked(struct slu_range *range, uint64_t first, uint64_t last)
{
	size_t i = first > range->address
			   ? (size_t)((first - range->address) / range->extents[0].bytes)
			   : 0;

	for (; i < range->n_extents && range->extents[i].address <= last; i++)
		if (range->extents[i].unit)
			slu_client_unit_write(range->extents[i].unit);
}

/* The units at the bytes from @first to @last. */
static void units_tell_locked(uint64_t first, uint64_t last)
{
	struct slu_range *range;

	while ((range = slu_ledger_find_range_from(slu_cuda.ledger, first)) &&
	       range->address <= last) {
		range_tell_locked(range, first, last);
		first = range->address + range->bytes;
		if (first > last)
			break;
	}
}

void slu_cuda_writes_bytes(uint64_t address, uint64_t bytes)
{
	uint64_t last;

	if (bytes) {
		if (__builtin_add_overflow(address, bytes - 1, &last))
			last = UINT64_MAX;
		slu_lock_take(&slu_cuda.lock);
		units_tell_locked(address, last);
		slu_lock_give(&slu_cuda.lock);
	}
	slu_gate_vouch();
}

uint64_t slu_cuda_writes_product(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

void slu_cuda_writes_rows(uint64_t address, uint64_t pitch, uint64_t row_bytes, uint64_t n_rows)
{
	uint64_t bytes;

	if (!n_rows)
		bytes = 0;
	else if (__builtin_add_overflow(slu_cuda_writes_product(pitch, n_rows - 1), row_bytes,
					&bytes))
		bytes = UINT64_MAX;
	slu_cuda_writes_bytes(address, bytes);
}

void slu_cuda_writes_launch(const struct slu_cuda_launch *launch)
{
	const struct slu_predict_set *set;
	bool is_known;

	slu_lock_take(&slu_cuda.lock);
	if (slu_cuda_predict_trace_is_on)
		slu_cuda_kernels_await_locked(launch->function);
	set = slu_cuda_kernels_evaluate_locked(launch);
	if (slu_cuda_predict_trace_is_on)
		slu_cuda_predict_trace_write(launch, set);
	is_known = set && set->why_writes.reason == SLU_PREDICT_REASON_NONE;
	for (size_t i = 0; is_known && i < set->n_ranges; i++) {
		const struct slu_predict_range *r = &set->ranges[i];

		if (r->is_written && r->to > r->from)
			units_tell_locked(r->from, r->to - 1);
	}
	slu_lock_give(&slu_cuda.lock);
	if (is_known)
		slu_gate_vouch();
}

/* Whether a launch with this attribute is the same work. */
static bool attribute_is_plain(const CUlaunchAttribute *attribute)
{
	switch (attribute->id) {
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
		return true;
	default:
		return false;
	}
}

void slu_cuda_writes_configured(const CUlaunchConfig *config, CUfunction function, void **params,
				void **extra)
{
	for (unsigned i = 0; i < config->numAttrs; i++)
		if (!attribute_is_plain(&config->attrs[i]))
			return;
	slu_cuda_writes_launch(&(struct slu_cuda_launch){
		.function = function,
		.grid = { config->gridDimX, config->gridDimY, config->gridDimZ },
		.block = { config->blockDimX, config->blockDimY, config->blockDimZ },
		.params = params,
		.extra = extra,
	});
}
