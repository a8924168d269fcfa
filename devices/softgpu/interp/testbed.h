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

#define DEV_TESTBED_SHIFT 12
#define DEV_TESTBED_BYTES ((uint64_t)64 << 20)

struct dev_testbed {
	struct slu_ptx_module *ptx;
	struct dev_interp_module *module;
	struct dev_interp_memory memory;
	uint8_t *window;
	uint8_t *access;
	uint64_t used;
	uint64_t *variables;
	struct slu_ptx_error error;
	struct dev_interp_fault fault;
	unsigned n_workers;
	bool is_cooperative;
	uint64_t dynamic_shared_bytes;
	const bool *cancel;
	void (*print)(void *userdata, const char *text, size_t size);
	void (*complain)(void *userdata, const char *text, size_t size);
	const struct dev_interp_image *(*find_image)(void *userdata, uint64_t object,
						     bool is_surface);
	void *userdata;
	struct dev_interp_heap *heap;
	uint8_t params[4096];
	size_t param_bytes;
};

static inline void dev_testbed_init(struct dev_testbed *t)
{
	*t = (struct dev_testbed){ .n_workers = 1 };
	t->window = mmap(NULL, DEV_TESTBED_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert(t->window != MAP_FAILED);
	t->access = calloc(DEV_TESTBED_BYTES >> DEV_TESTBED_SHIFT, 1);
	assert(t->access);
	t->memory = (struct dev_interp_memory){
		.base = (uint64_t)(uintptr_t)t->window,
		.bytes = DEV_TESTBED_BYTES,
		.view = t->window,
		.shift = DEV_TESTBED_SHIFT,
		.access = t->access,
	};
	/* the first page is nobody's */
	t->used = UINT64_C(1) << DEV_TESTBED_SHIFT;
}

static inline void dev_testbed_unload(struct dev_testbed *t)
{
	dev_interp_module_free(t->module);
	slu_ptx_module_free(t->ptx);
	free(t->variables);
	t->module = NULL;
	t->ptx = NULL;
	t->variables = NULL;
}

static inline void dev_testbed_deinit(struct dev_testbed *t)
{
	dev_testbed_unload(t);
	free(t->access);
	munmap(t->window, DEV_TESTBED_BYTES);
}

/* Whole pages, so that what lies behind an allocation is out of bounds. */
static inline void *dev_testbed_alloc(struct dev_testbed *t, uint64_t bytes)
{
	uint64_t page = UINT64_C(1) << DEV_TESTBED_SHIFT;
	uint8_t *p = t->window + t->used;
	uint64_t n = slu_round_up(bytes ? bytes : 1, page);

	assert(t->used + n + page <= DEV_TESTBED_BYTES);
	memset(t->access + (t->used >> DEV_TESTBED_SHIFT), DEV_INTERP_READ | DEV_INTERP_WRITE,
	       n >> DEV_TESTBED_SHIFT);
	t->used += n + page;
	return p;
}

/* Return: as slu_ptx_parse(). Variables get memory and their initial bytes. */
static inline int dev_testbed_load(struct dev_testbed *t, const char *text)
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
		uint8_t *p;

		if (v->space == SLU_PTX_SPACE_SHARED)
			continue;
		p = dev_testbed_alloc(t, v->size);
		if (v->init_size)
			memcpy(p, v->init, v->init_size);
		t->variables[i] = (uint64_t)(uintptr_t)p;
	}
	for (unsigned i = 0; i < t->ptx->n_variables; i++)
		for (const struct slu_ptx_reloc *k = t->ptx->variables[i]->relocs; k; k = k->next) {
			uint64_t value =
				(uint64_t)k->addend +
				(k->variable ? t->variables[k->variable->index]
					     : dev_interp_module_function_address(k->function));

			memcpy((uint8_t *)(uintptr_t)t->variables[i] + k->offset, &value, k->size);
		}
	return 0;
}

static inline void dev_testbed_param(struct dev_testbed *t, const void *value, size_t size)
{
	t->param_bytes = slu_round_up(t->param_bytes, size);
	memcpy(t->params + t->param_bytes, value, size);
	t->param_bytes += size;
}

static inline void dev_testbed_param_ptr(struct dev_testbed *t, const void *p)
{
	uint64_t value = (uint64_t)(uintptr_t)p;

	dev_testbed_param(t, &value, 8);
}

static inline void dev_testbed_param_u32(struct dev_testbed *t, uint32_t value)
{
	dev_testbed_param(t, &value, 4);
}

/* Prepares and launches with the parameters collected, which are then forgotten. */
static inline int dev_testbed_run(struct dev_testbed *t, const char *kernel, unsigned grid,
				  unsigned block)
{
	struct dev_interp_launch launch = {
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
		.find_image = t->find_image,
		.userdata = t->userdata,
		.heap = t->heap,
	};
	int r;

	assert(launch.kernel);
	t->param_bytes = 0;
	r = dev_interp_module_prepare(t->module, launch.kernel, &t->error);
	if (r)
		return r;
	return dev_interp_launch(&launch, &t->fault);
}
