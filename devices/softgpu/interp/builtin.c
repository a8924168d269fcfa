/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that every device has: programs declare them and give no text. Each lane is served for
 * itself, in the order of their numbers.
 *
 * The vendor's assembler goes by the name and takes any declaration: vprintf without a result, a
 * size of 32 bits, one parameter more. So do these, as long as what they read is there.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "softgpu/interp/code.h"
#include "softgpu/interp/heap.h"
#include "softgpu/interp/print.h"

/* one text at a time, whatever launches there are */
static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;

/* Where a parameter or result of the call lies for a lane. */
static uint8_t *builtin_slot(const struct dev_interp_warp *w, const struct slu_ptx_variable *v,
			     unsigned lane)
{
	uint64_t stride;
	uint8_t *buffer = dev_interp_call_buffer(w->frame, v, &stride);

	return buffer + lane * stride + v->offset;
}

/* A parameter that was not declared is 0. */
static uint64_t builtin_param(const struct dev_interp_warp *w, const struct dev_interp_insn *in,
			      unsigned i, unsigned lane)
{
	const struct slu_ptx_call *call = in->source->call;
	uint64_t value = 0;

	if (i < call->n_params)
		memcpy(&value, builtin_slot(w, call->params[i], lane),
		       SLU_MIN(call->params[i]->size, sizeof(value)));
	return value;
}

static void give_back(const struct dev_interp_warp *w, const struct dev_interp_insn *in,
		      unsigned lane, uint64_t value)
{
	const struct slu_ptx_call *call = in->source->call;

	if (call->n_results)
		memcpy(builtin_slot(w, call->results[0], lane), &value,
		       SLU_MIN(call->results[0]->size, sizeof(value)));
}

static bool read_memory(void *userdata, uint64_t address, void *to, size_t size)
{
	const void *from = dev_interp_isa()->readable(userdata, address, size);

	if (!from)
		return false;
	memcpy(to, from, size);
	return true;
}

static const struct dev_interp_insn *print_run(struct dev_interp_warp *w,
					       const struct dev_interp_insn *in)
{
	const struct dev_interp_launch *l = w->block->launch;
	struct dev_print_source source = { read_memory, w->block };

	for (uint32_t m = w->mask; m; m &= m - 1) {
		unsigned lane = (unsigned)__builtin_ctz(m);
		char text[DEV_PRINT_MAX_TEXT];
		uint64_t address;
		size_t size;
		int n = -1;

		if (builtin_param(w, in, 0, lane)) {
			if (dev_print_format(&source, builtin_param(w, in, 0, lane),
					     builtin_param(w, in, 1, lane), text, &size, &n,
					     &address))
				return dev_interp_fault(w, in, DEV_INTERP_FAULT_ADDRESS, lane,
							address, 1, false);
			pthread_mutex_lock(&print_lock);
			if (l->print && size)
				l->print(l->userdata, text, size);
			pthread_mutex_unlock(&print_lock);
		}
		give_back(w, in, lane, (uint32_t)n);
	}
	return in + 1;
}

/* __assertfail(message, file, line, function, size of a character) */
static const struct dev_interp_insn *assert_run(struct dev_interp_warp *w,
						const struct dev_interp_insn *in)
{
	const struct dev_interp_block *b = w->block;
	const struct dev_interp_launch *l = b->launch;
	struct dev_print_source source = { read_memory, w->block };

	for (uint32_t m = w->mask; m && l->complain; m &= m - 1) {
		unsigned lane = (unsigned)__builtin_ctz(m);
		char message[256] = "", file[256] = "", function[256] = "", text[1024];
		uint64_t address;
		int n;

		dev_print_string(&source, builtin_param(w, in, 0, lane), message, sizeof(message),
				 &address);
		dev_print_string(&source, builtin_param(w, in, 1, lane), file, sizeof(file),
				 &address);
		dev_print_string(&source, builtin_param(w, in, 3, lane), function, sizeof(function),
				 &address);
		n = snprintf(text, sizeof(text),
			     "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` "
			     "failed.\n",
			     file, (unsigned)builtin_param(w, in, 2, lane), function, b->id[0],
			     b->id[1], b->id[2], w->tid[0][lane], w->tid[1][lane], w->tid[2][lane],
			     message);
		pthread_mutex_lock(&print_lock);
		l->complain(l->userdata, text, SLU_MIN((size_t)n, sizeof(text) - 1));
		pthread_mutex_unlock(&print_lock);
	}
	return dev_interp_fault(w, in, DEV_INTERP_FAULT_ASSERT, (unsigned)__builtin_ctz(w->mask), 0,
				0, false);
}

static const struct dev_interp_insn *malloc_run(struct dev_interp_warp *w,
						const struct dev_interp_insn *in)
{
	struct dev_interp_heap *heap = w->block->launch->heap;

	for (uint32_t m = w->mask; m; m &= m - 1) {
		unsigned lane = (unsigned)__builtin_ctz(m);

		give_back(w, in, lane,
			  heap ? dev_interp_heap_take(heap, builtin_param(w, in, 0, lane)) : 0);
	}
	return in + 1;
}

static const struct dev_interp_insn *free_run(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	struct dev_interp_heap *heap = w->block->launch->heap;

	for (uint32_t m = w->mask; m; m &= m - 1) {
		unsigned lane = (unsigned)__builtin_ctz(m);
		uint64_t address = builtin_param(w, in, 0, lane);

		if (address && !(heap && dev_interp_heap_give(heap, address)))
			return dev_interp_fault(w, in, DEV_INTERP_FAULT_ADDRESS, lane, address, 1,
						true);
		give_back(w, in, lane, 0);
	}
	return in + 1;
}

/* cudaGraphSetConditional(handle, value): device code of a graph tells the graph how to go on */
static const struct dev_interp_insn *condition_run(struct dev_interp_warp *w,
						   const struct dev_interp_insn *in)
{
	const struct dev_interp_launch *l = w->block->launch;

	for (uint32_t m = w->mask; m; m &= m - 1) {
		unsigned lane = (unsigned)__builtin_ctz(m);
		uint64_t handle = builtin_param(w, in, 0, lane);

		if (!l->set_condition ||
		    !l->set_condition(l->userdata, handle, (uint32_t)builtin_param(w, in, 1, lane)))
			return dev_interp_fault(w, in, DEV_INTERP_FAULT_ADDRESS, lane, handle, 4,
						true);
	}
	return in + 1;
}

static const struct {
	const char *name;
	unsigned n_params;  /* at least */
	unsigned params[5]; /* bytes of each, at least */
	struct dev_interp_handler handler;
} builtins[] = {
	{ "vprintf", 1, { 8 }, { print_run, print_run } },
	{ "__assertfail", 4, { 8, 8, 4, 8 }, { assert_run, assert_run } },
	{ "malloc", 1, { 4 }, { malloc_run, malloc_run } },
	{ "free", 1, { 8 }, { free_run, free_run } },
	{ "cudaGraphSetConditional", 2, { 8, 4 }, { condition_run, condition_run } },
};

const struct dev_interp_handler *dev_interp_builtin(const struct slu_ptx_function *f,
						    bool *ret_is_known)
{
	*ret_is_known = false;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(builtins); i++) {
		if (strcmp(f->name, builtins[i].name))
			continue;
		*ret_is_known = true;
		if (f->n_params < builtins[i].n_params)
			return NULL;
		for (unsigned k = 0; k < builtins[i].n_params; k++)
			if (f->params[k]->size < builtins[i].params[k])
				return NULL;
		return &builtins[i].handler;
	}
	return NULL;
}

bool dev_interp_builtin_uses_heap(const struct dev_interp_module *module)
{
	for (unsigned i = 0; i < module->ptx->n_functions; i++)
		if (!module->ptx->functions[i]->is_defined &&
		    !strcmp(module->ptx->functions[i]->name, "malloc"))
			return true;
	return false;
}
