/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A small device for tests: one window of memory with an access byte a page, a module from text,
 * and a launch with its parameters given one after another.
 */

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/util.h"
#include "softgpu/interp/interp.h"

#define SLU_TESTBED_SHIFT 12
#define SLU_TESTBED_BYTES ((uint64_t)64 << 20)

struct slu_testbed {
	struct slu_ptx_module *ptx;
	struct slu_interp_module *module;
	struct slu_interp_memory memory;
	uint8_t *window;
	uint8_t *access;
	uint64_t used;
	uint64_t *variables;
	struct slu_ptx_error error;
	struct slu_interp_fault fault;
	unsigned n_workers;
	bool is_cooperative;
	uint64_t dynamic_shared_bytes;
	const bool *cancel;
	void (*print)(void *userdata, const char *text, size_t size);
	void (*complain)(void *userdata, const char *text, size_t size);
	void *userdata;
	struct slu_interp_heap *heap;
	uint8_t params[4096];
	size_t param_bytes;
};

static inline void slu_testbed_init(struct slu_testbed *t)
{
	*t = (struct slu_testbed){ .n_workers = 1 };
	t->window = mmap(NULL, SLU_TESTBED_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert(t->window != MAP_FAILED);
	t->access = calloc(SLU_TESTBED_BYTES >> SLU_TESTBED_SHIFT, 1);
	assert(t->access);
	t->memory = (struct slu_interp_memory){
		.base = (uint64_t)(uintptr_t)t->window,
		.bytes = SLU_TESTBED_BYTES,
		.view = t->window,
		.shift = SLU_TESTBED_SHIFT,
		.access = t->access,
	};
	/* the first page is nobody's */
	t->used = UINT64_C(1) << SLU_TESTBED_SHIFT;
}

static inline void slu_testbed_unload(struct slu_testbed *t)
{
	slu_interp_module_free(t->module);
	slu_ptx_module_free(t->ptx);
	free(t->variables);
	t->module = NULL;
	t->ptx = NULL;
	t->variables = NULL;
}

static inline void slu_testbed_deinit(struct slu_testbed *t)
{
	slu_testbed_unload(t);
	free(t->access);
	munmap(t->window, SLU_TESTBED_BYTES);
}

/* Whole pages, so that what lies behind an allocation is out of bounds. */
static inline void *slu_testbed_alloc(struct slu_testbed *t, uint64_t bytes)
{
	uint64_t page = UINT64_C(1) << SLU_TESTBED_SHIFT;
	uint8_t *p = t->window + t->used;
	uint64_t n = slu_round_up(bytes ? bytes : 1, page);

	assert(t->used + n + page <= SLU_TESTBED_BYTES);
	memset(t->access + (t->used >> SLU_TESTBED_SHIFT), SLU_INTERP_READ | SLU_INTERP_WRITE,
	       n >> SLU_TESTBED_SHIFT);
	t->used += n + page;
	return p;
}

/* Return: as slu_ptx_parse(). Variables get memory and their initial bytes. */
static inline int slu_testbed_load(struct slu_testbed *t, const char *text)
{
	int r = slu_ptx_parse(text, strlen(text), &t->ptx, &t->error);

	if (r)
		return r;
	r = slu_interp_module_new(t->ptx, &t->module);
	assert(!r);
	t->variables = calloc(t->ptx->n_variables + 1, sizeof(*t->variables));
	assert(t->variables);
	for (unsigned i = 0; i < t->ptx->n_variables; i++) {
		const struct slu_ptx_variable *v = t->ptx->variables[i];
		uint8_t *p;

		if (v->space == SLU_PTX_SPACE_SHARED)
			continue;
		p = slu_testbed_alloc(t, v->size);
		if (v->init_size)
			memcpy(p, v->init, v->init_size);
		t->variables[i] = (uint64_t)(uintptr_t)p;
	}
	for (unsigned i = 0; i < t->ptx->n_variables; i++)
		for (const struct slu_ptx_reloc *k = t->ptx->variables[i]->relocs; k; k = k->next) {
			uint64_t value = (uint64_t)k->addend +
					 (k->variable ? t->variables[k->variable->index]
						      : slu_interp_function_address(k->function));

			memcpy((uint8_t *)(uintptr_t)t->variables[i] + k->offset, &value, k->size);
		}
	return 0;
}

static inline void slu_testbed_param(struct slu_testbed *t, const void *value, size_t size)
{
	t->param_bytes = slu_round_up(t->param_bytes, size);
	memcpy(t->params + t->param_bytes, value, size);
	t->param_bytes += size;
}

static inline void slu_testbed_param_ptr(struct slu_testbed *t, const void *p)
{
	uint64_t value = (uint64_t)(uintptr_t)p;

	slu_testbed_param(t, &value, 8);
}

static inline void slu_testbed_param_u32(struct slu_testbed *t, uint32_t value)
{
	slu_testbed_param(t, &value, 4);
}

/* Prepares and launches with the parameters collected, which are then forgotten. */
static inline int slu_testbed_run(struct slu_testbed *t, const char *kernel, unsigned grid,
				  unsigned block)
{
	struct slu_interp_launch launch = {
		.module = t->module,
		.kernel = slu_ptx_module_kernel(t->ptx, kernel),
		.grid = { grid, 1, 1 },
		.block = { block, 1, 1 },
		.dynamic_shared_bytes = t->dynamic_shared_bytes,
		.params = t->params,
		.memory = &t->memory,
		.variables = t->variables,
		.n_workers = t->n_workers,
		.is_cooperative = t->is_cooperative,
		.cancel = t->cancel,
		.print = t->print,
		.complain = t->complain,
		.userdata = t->userdata,
		.heap = t->heap,
	};
	int r;

	assert(launch.kernel);
	t->param_bytes = 0;
	r = slu_interp_prepare(t->module, launch.kernel, &t->error);
	if (r)
		return r;
	return slu_interp_launch(&launch, &t->fault);
}
