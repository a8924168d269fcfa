/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A PTX text of any bytes, whose kernels are analysed and evaluated for launches that are made of
 * the same bytes. Nothing is asserted but what must hold for any text: an answer comes, in bounds,
 * with ranges that are not empty and not more than were promised.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "predict/range.h"
#include "predict/sheet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool count(void *userdata, uint64_t address, uint64_t bytes)
{
	unsigned *n = userdata;

	assert(bytes && address + bytes > address);
	return ++*n < 1000;
}

static void check(const struct slu_predict_set *set, const struct slu_predict_kernel *kernel)
{
	assert(set->n_ranges <= slu_predict_kernel_n_ranges(kernel));
	for (size_t i = 0; i < set->n_ranges; i++) {
		const struct slu_predict_range *r = &set->ranges[i];
		unsigned n = 0;

		assert(r->from < r->to && r->bytes && r->n_levels <= SLU_PREDICT_MAX_LEVELS);
		assert(r->is_read || r->is_written);
		for (unsigned k = 0; k < r->n_levels; k++)
			assert(r->levels[k].count >= 2);
		/* pieces outside of the interval are skipped one by one: only few are tried */
		if (!r->n_levels || (r->n_levels == 1 && r->levels[0].count < 1000))
			slu_predict_range_walk(r, count, &n);
	}
}

static void evaluate(const struct slu_predict_kernel *kernel, const uint8_t *data, size_t size)
{
	static uint64_t variables[64];
	uint8_t params[256] = { 0 };
	struct slu_predict_launch launch = {
		.params = params,
		.param_bytes = sizeof(params),
		.grid = { 1, 1, 1 },
		.block = { 32, 1, 1 },
		.variables = variables,
		.n_variables = 64,
	};
	struct slu_predict_sheet *sheet;

	if (slu_predict_sheet_new(kernel, &sheet))
		abort();
	for (unsigned i = 0; i < 64; i++)
		variables[i] = i % 7 ? (uint64_t)(i + 1) << 32 : 0;
	check(slu_predict_sheet_evaluate(sheet, &launch), kernel);
	memcpy(params, data + size - (size < 256 ? size : 256), size < 256 ? size : 256);
	memcpy(launch.grid, params, sizeof(launch.grid));
	memcpy(launch.block, params + 16, sizeof(launch.block));
	check(slu_predict_sheet_evaluate(sheet, &launch), kernel);
	slu_predict_sheet_free(sheet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slu_ptx_module *module;
	struct slu_ptx_error error;

	if (!size || slu_ptx_parse((const char *)data, size, &module, &error))
		return 0;
	for (unsigned i = 0; i < module->n_functions; i++) {
		struct slu_predict_kernel *kernel;

		if (!module->functions[i]->is_kernel || !module->functions[i]->is_defined)
			continue;
		if (slu_predict_kernel_new(module, module->functions[i], &kernel) < 0)
			abort();
		evaluate(kernel, data, size);
		slu_predict_kernel_free(kernel);
	}
	slu_ptx_module_free(module);
	return 0;
}
