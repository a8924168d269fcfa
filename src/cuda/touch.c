/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/touch.h"

#include "cuda/device.h"

uint64_t slu_cuda_touch_product(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

struct slu_cuda_touch slu_cuda_touch_rows(uint64_t address, uint64_t pitch, uint64_t row_bytes,
					  uint64_t n_rows)
{
	uint64_t bytes;

	if (!n_rows)
		bytes = 0;
	else if (__builtin_add_overflow(slu_cuda_touch_product(pitch, n_rows - 1), row_bytes,
					&bytes))
		bytes = UINT64_MAX;
	return (struct slu_cuda_touch){ .kind = SLU_CUDA_TOUCH_BYTES,
					.written = { address, bytes } };
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

struct slu_cuda_touch slu_cuda_touch_configured(const CUlaunchConfig *config, CUfunction function,
						void **params, void **extra)
{
	for (unsigned i = 0; i < config->numAttrs; i++)
		if (!attribute_is_plain(&config->attrs[i]))
			return (struct slu_cuda_touch){ .kind = SLU_CUDA_TOUCH_ANYTHING };
	return (struct slu_cuda_touch){
		.kind = SLU_CUDA_TOUCH_LAUNCH,
		.launch = {
			.function = function,
			.grid = { config->gridDimX, config->gridDimY, config->gridDimZ },
			.block = { config->blockDimX, config->blockDimY, config->blockDimZ },
			.params = params,
			.extra = extra,
			.stream = config->hStream,
		},
	};
}

/* All extents but the last have the size of the first. */
static bool range_tell_locked(struct slu_range *range, uint64_t first, uint64_t last,
			      slu_cuda_touch_tell *tell, void *data)
{
	size_t i = first > range->address
			   ? (size_t)((first - range->address) / range->extents[0].bytes)
			   : 0;

	for (; i < range->n_extents && range->extents[i].address <= last; i++)
		if (range->extents[i].unit && !tell(data, range->device, range->extents[i].unit))
			return false;
	return true;
}

bool slu_cuda_touch_units_locked(struct slu_cuda_span span, slu_cuda_touch_tell *tell, void *data)
{
	uint64_t first = span.address, last;
	struct slu_range *range;

	if (!span.bytes)
		return true;
	if (__builtin_add_overflow(first, span.bytes - 1, &last))
		last = UINT64_MAX;
	while ((range = slu_ledger_find_range_from(slu_cuda.ledger, first)) &&
	       range->address <= last) {
		if (!range_tell_locked(range, first, last, tell, data))
			return false;
		first = range->address + range->bytes;
		if (first > last)
			break;
	}
	return true;
}
