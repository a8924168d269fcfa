/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest/selftest.h"

#include <stddef.h>

#include "base/util.h"

/* A copy long enough to measure, and a small part of the device, which others may be using. */
#define BUFFER_PART	 32
#define BUFFER_MIN_BYTES SLU_MIB
#define BUFFER_MAX_BYTES (256 * SLU_MIB)

#define FALLBACK "Sluice cannot share this device: programs run as without Sluice."

const struct slu_selftest_part slu_selftest_parts[] = {
	{ "finding the driver's functions", "lookup", slu_selftest_lookup },
	{ "copies over the bus", "link", slu_selftest_link },
	{ "memory that moves behind its address", "mapping", slu_selftest_mapping },
	{ "two processes that map at once", "together", slu_selftest_together },
	{ "host memory that kernels reach", "reach", slu_selftest_reach },
	{ "moves while the device works", "overlap", slu_selftest_overlap },
	{ "moves while a thread captures", "capture", slu_selftest_capture },
	{ "memory of a context", "overhead", slu_selftest_overhead },
	{ "suspending a program", "suspend", slu_selftest_suspend },
	{ 0 },
};

const char *slu_selftest_verdict_name(enum slu_selftest_verdict verdict)
{
	static const char *const names[] = {
		[SLU_SELFTEST_FIGURE] = "figure",
		[SLU_SELFTEST_HOLDS] = "holds",
		[SLU_SELFTEST_DIFFERS] = "differs",
		[SLU_SELFTEST_UNPROVEN] = "unproven",
	};

	return names[verdict];
}

const char *slu_selftest_unit_name(enum slu_selftest_unit unit)
{
	static const char *const names[] = {
		[SLU_SELFTEST_NONE] = "",
		[SLU_SELFTEST_BYTES] = "bytes",
		[SLU_SELFTEST_BYTES_PER_S] = "bytes_per_s",
		[SLU_SELFTEST_NS] = "ns",
		[SLU_SELFTEST_COUNT] = "count",
	};

	return names[unit];
}

static void discard(void *data, const struct slu_selftest_finding *finding)
{
	(void)data;
	(void)finding;
}

void slu_selftest_hush(struct slu_selftest *t)
{
	t->report = discard;
}

static void report(struct slu_selftest *t, const struct slu_selftest_finding *finding)
{
	t->report(t->data, finding);
}

void slu_selftest_figure(struct slu_selftest *t, const char *key, double value,
			 enum slu_selftest_unit unit, const char *what)
{
	report(t, &(struct slu_selftest_finding){
			  .key = key,
			  .verdict = SLU_SELFTEST_FIGURE,
			  .value = value,
			  .unit = unit,
			  .what = what,
		  });
}

void slu_selftest_judge(struct slu_selftest *t, const char *key, bool holds, const char *what,
			const char *then)
{
	report(t, &(struct slu_selftest_finding){
			  .key = key,
			  .verdict = holds ? SLU_SELFTEST_HOLDS : SLU_SELFTEST_DIFFERS,
			  .what = what,
			  .then = holds ? NULL : then,
		  });
}

void slu_selftest_fail(struct slu_selftest *t, const char *key, CUresult error, const char *what,
		       const char *then)
{
	report(t, &(struct slu_selftest_finding){
			  .key = key,
			  .verdict = SLU_SELFTEST_UNPROVEN,
			  .what = what,
			  .then = then,
			  .error = error,
		  });
}

static CUresult device_open(struct slu_selftest *t)
{
	const struct slu_selftest_driver *d = &t->driver;
	size_t total = 0, granule = 0;
	uint64_t bytes;
	CUresult r;

	r = d->cuInit(0);
	if (r == CUDA_SUCCESS)
		r = d->cuDeviceGet(&t->device, t->ordinal);
	if (r == CUDA_SUCCESS)
		r = d->cuDeviceTotalMem_v2(&total, t->device);
	if (r == CUDA_SUCCESS)
		r = d->cuCtxCreate_v2(&t->context, CU_CTX_SCHED_BLOCKING_SYNC, t->device);
	if (r != CUDA_SUCCESS)
		return r;
	t->prop = (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = t->device },
	};
	r = d->cuMemGetAllocationGranularity(&granule, &t->prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	if (r == CUDA_SUCCESS && !granule)
		r = CUDA_ERROR_UNKNOWN;
	if (r != CUDA_SUCCESS)
		return r;
	bytes = SLU_MAX((uint64_t)total / BUFFER_PART, (uint64_t)BUFFER_MIN_BYTES);
	bytes = SLU_MIN(bytes, (uint64_t)BUFFER_MAX_BYTES);
	t->granule_bytes = granule;
	t->buffer_bytes = slu_round_up(bytes, granule);
	return CUDA_SUCCESS;
}

bool slu_selftest_open(struct slu_selftest *t, const char *key)
{
	const char *reason = slu_selftest_driver_open(t->path, &t->driver);
	CUresult r;

	if (reason) {
		slu_selftest_fail(t, key, CUDA_SUCCESS, reason, FALLBACK);
		return false;
	}
	r = device_open(t);
	if (r != CUDA_SUCCESS)
		slu_selftest_fail(t, key, r, "a context with virtual memory management", FALLBACK);
	return r == CUDA_SUCCESS;
}
