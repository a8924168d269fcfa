/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Predictions beside the truth: a small device whose pages have one byte, so that the software
 * GPU's interpreter notes every byte that a launch reads and writes.
 */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/util.h"
#include "predict/range.h"
#include "predict/sheet.h"
#include "softgpu/interp/interp.h"

struct truth {
	uint64_t bytes; /* of the window */
	uint8_t *window;
	uint8_t *access;
	uint8_t *touched;
	uint8_t *predicted;
	uint64_t used;
	struct slu_ptx_module *ptx;
	struct dev_interp_module *module;
	uint64_t *variables;
	struct slu_ptx_error error;
	struct dev_interp_fault fault;
	uint8_t params[4096];
	size_t param_bytes;
	uint64_t dynamic_shared_bytes;
	/* of the last comparison */
	struct slu_predict_set set; /* without its ranges */
	uint64_t n_touched, n_missed, n_extra;
	uint64_t first_missed; /* offset in the window */
};

static inline void truth_init(struct truth *t, uint64_t bytes)
{
	*t = (struct truth){ .bytes = bytes, .used = 4096 };
	t->window =
		mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert(t->window != MAP_FAILED);
	t->access = calloc(t->bytes, 1);
	t->touched = calloc(t->bytes, 1);
	t->predicted = calloc(t->bytes, 1);
	assert(t->access && t->touched && t->predicted);
}

/* Return: the text of a file, to be freed, or NULL. */
static inline char *truth_read_text(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

static inline void truth_unload(struct truth *t)
{
	dev_interp_module_free(t->module);
	slu_ptx_module_free(t->ptx);
	free(t->variables);
	t->module = NULL;
	t->ptx = NULL;
	t->variables = NULL;
	memset(t->access, 0, t->bytes);
	t->used = 4096;
	t->param_bytes = 0;
}

static inline void truth_deinit(struct truth *t)
{
	truth_unload(t);
	munmap(t->window, t->bytes);
	free(t->access);
	free(t->touched);
	free(t->predicted);
}

/* Return: the address; there is nothing right behind it. */
static inline uint64_t truth_alloc(struct truth *t, uint64_t bytes)
{
	uint64_t at = t->used;

	assert(at + bytes + 512 <= t->bytes);
	memset(t->access + at, DEV_INTERP_READ | DEV_INTERP_WRITE, bytes);
	t->used = slu_round_up(at + bytes + 256, 256);
	return (uint64_t)(uintptr_t)t->window + at;
}

/* Return: as slu_ptx_parse(). */
static inline int truth_load(struct truth *t, const char *text)
{
	int r = slu_ptx_parse(text, strlen(text), &t->ptx, &t->error);

	if (r)
		return r;
	r = dev_interp_module_new(t->ptx, &t->module);
	assert(!r);
	t->variables = calloc(t->ptx->n_variables + 1, sizeof(*t->variables));
	assert(t->variables);
	for (unsigned i = 0; i < t->ptx->n_variables; i++) {
		const struct slu_ptx_variable *v = t->ptx->variables[i];

		if (v->space == SLU_PTX_SPACE_SHARED)
			continue;
		t->variables[i] = truth_alloc(t, v->size);
		if (v->init_size)
			memcpy((void *)(uintptr_t)t->variables[i], v->init, v->init_size);
	}
	return 0;
}

static inline void truth_param(struct truth *t, const void *value, size_t size)
{
	t->param_bytes = slu_round_up(t->param_bytes, size);
	assert(t->param_bytes + size <= sizeof(t->params));
	memcpy(t->params + t->param_bytes, value, size);
	t->param_bytes += size;
}

static inline void truth_param_u64(struct truth *t, uint64_t value)
{
	truth_param(t, &value, 8);
}

static inline void truth_param_u32(struct truth *t, uint32_t value)
{
	truth_param(t, &value, 4);
}

static inline bool truth_mark(struct truth *t, uint64_t address, uint64_t bytes, uint8_t how)
{
	uint64_t base = (uint64_t)(uintptr_t)t->window;
	uint64_t from = SLU_MAX(address, base), to = SLU_MIN(address + bytes, base + t->bytes);

	for (uint64_t a = from; a < to; a++)
		t->predicted[a - base] |= how;
	return true;
}

static inline bool truth_mark_read(void *t, uint64_t address, uint64_t bytes)
{
	return truth_mark(t, address, bytes, DEV_INTERP_READ);
}

static inline bool truth_mark_written(void *t, uint64_t address, uint64_t bytes)
{
	return truth_mark(t, address, bytes, DEV_INTERP_WRITE);
}

static inline bool truth_is_same(const struct slu_predict_set *a, const struct slu_predict_set *b)
{
	if (a->n_ranges != b->n_ranges || a->why_reads.reason != b->why_reads.reason ||
	    a->why_writes.reason != b->why_writes.reason)
		return false;
	for (size_t i = 0; i < a->n_ranges; i++) {
		const struct slu_predict_range *x = &a->ranges[i], *y = &b->ranges[i];

		if (x->from != y->from || x->to != y->to || x->address != y->address ||
		    x->bytes != y->bytes || x->n_levels != y->n_levels ||
		    memcmp(x->levels, y->levels, x->n_levels * sizeof(x->levels[0])) != 0)
			return false;
	}
	return true;
}

/* A sheet that has seen other launches must answer as one that has not. */
static inline void truth_compare_sheets(const struct slu_predict_kernel *predicted,
					const struct slu_predict_launch *launch,
					const struct slu_predict_set *fresh)
{
	struct slu_predict_launch other = *launch;
	struct slu_predict_sheet *sheet;
	uint8_t params[4096];

	assert(launch->param_bytes <= sizeof(params));
	if (slu_predict_sheet_new(predicted, &sheet))
		abort();
	other.params = params;
	/* the last of them differs from the launch in nothing but one argument or size */
	for (size_t i = 0; i < launch->param_bytes / 4 + 6; i++) {
		memcpy(params, launch->params, launch->param_bytes);
		memcpy(other.grid, launch->grid, sizeof(other.grid));
		memcpy(other.block, launch->block, sizeof(other.block));
		if (i < 3)
			other.grid[i]++;
		else if (i < 6)
			other.block[i - 3]++;
		else
			params[(i - 6) * 4] ^= 0x15;
		slu_predict_sheet_evaluate(sheet, &other);
		if (!truth_is_same(slu_predict_sheet_evaluate(sheet, launch), fresh)) {
			fprintf(stderr, "missed a change of an argument or a size\n");
			abort();
		}
	}
	slu_predict_sheet_free(sheet);
}

/* Evaluates @predicted for a launch; bytes outside of allocations do not count as extra. */
static inline void truth_compare(struct truth *t, const struct slu_predict_kernel *predicted,
				 const struct slu_predict_launch *launch)
{
	struct slu_predict_sheet *sheet;
	uint8_t known;

	if (slu_predict_sheet_new(predicted, &sheet))
		abort();
	t->set = *slu_predict_sheet_evaluate(sheet, launch);
	truth_compare_sheets(predicted, launch, &t->set);
	memset(t->predicted, 0, t->bytes);
	for (size_t i = 0; i < t->set.n_ranges; i++) {
		if (t->set.ranges[i].is_read)
			slu_predict_range_walk(&t->set.ranges[i], truth_mark_read, t);
		if (t->set.ranges[i].is_written)
			slu_predict_range_walk(&t->set.ranges[i], truth_mark_written, t);
	}
	slu_predict_sheet_free(sheet);
	t->set.ranges = NULL;
	known = (uint8_t)((t->set.why_reads.reason ? 0 : DEV_INTERP_READ) |
			  (t->set.why_writes.reason ? 0 : DEV_INTERP_WRITE));
	t->n_touched = t->n_missed = t->n_extra = t->first_missed = 0;
	for (uint64_t i = 0; i < t->bytes; i++) {
		uint8_t missed = (uint8_t)(t->touched[i] & ~t->predicted[i] & known);

		if (missed && !t->n_missed)
			t->first_missed = i;
		t->n_touched += !!t->touched[i];
		t->n_missed += !!missed;
		t->n_extra += t->access[i] && (t->predicted[i] & ~t->touched[i] & known);
	}
}

/*
 * Runs a launch with the parameters collected, and compares. Return: 0, DEV_INTERP_E_REFUSED or
 * DEV_INTERP_E_FAULT: what was touched before a fault must be in the set as well.
 */
static inline int truth_run(struct truth *t, const char *name, const unsigned grid[3],
			    const unsigned block[3])
{
	struct dev_interp_memory memory = {
		.base = (uint64_t)(uintptr_t)t->window,
		.bytes = t->bytes,
		.view = t->window,
		.shift = 0,
		.access = t->access,
		.touched = t->touched,
	};
	struct dev_interp_launch launch = {
		.module = t->module,
		.kernel = slu_ptx_module_kernel(t->ptx, name),
		.grid = { grid[0], grid[1], grid[2] },
		.block = { block[0], block[1], block[2] },
		.dynamic_shared_bytes = t->dynamic_shared_bytes,
		.params = t->params,
		.memory = &memory,
		.variables = t->variables,
		.n_workers = 1,
	};
	struct slu_predict_launch asked = {
		.params = t->params,
		.grid = { grid[0], grid[1], grid[2] },
		.block = { block[0], block[1], block[2] },
		.variables = t->variables,
		.n_variables = t->ptx->n_variables,
	};
	struct slu_predict_kernel *predicted;
	int r;

	assert(launch.kernel);
	asked.param_bytes = launch.kernel->param_bytes;
	r = dev_interp_module_prepare(t->module, launch.kernel, &t->error);
	if (r)
		return r;
	memset(t->touched, 0, t->bytes);
	r = dev_interp_launch(&launch, &t->fault);
	assert(r >= 0);
	t->param_bytes = 0;
	if (slu_predict_kernel_new(t->ptx, launch.kernel, &predicted) < 0)
		abort();
	truth_compare(t, predicted, &asked);
	slu_predict_kernel_free(predicted);
	return r;
}
