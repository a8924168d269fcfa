/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/execution/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/execution/branch.h"
#include "softgpu/driver/execution/condition.h"
#include "softgpu/driver/execution/copy.h"
#include "softgpu/driver/execution/event.h"
#include "softgpu/driver/execution/graph.h"
#include "softgpu/driver/execution/graph-memory.h"
#include "softgpu/driver/execution/kernel.h"
#include "softgpu/driver/memory/managed.h"
#include "softgpu/driver/memory/memory.h"

#define POLL_NS (20 * SLU_NS_PER_US)

struct dev_command *dev_command_new(enum dev_command_kind kind)
{
	struct dev_command *command = calloc(1, sizeof(*command));

	if (command)
		command->kind = kind;
	return command;
}

struct dev_command *dev_command_clone(const struct dev_command *command)
{
	struct dev_command *clone = dev_command_new(command->kind);

	if (!clone)
		return NULL;
	*clone = *command;
	clone->ends_use = false;
	clone->deps = NULL;
	clone->n_deps = 0;
	if (command->kind == DEV_COMMAND_KERNEL) {
		clone->kernel.pointers = NULL;
		clone->kernel.params = malloc(command->kernel.param_bytes + 1);
		if (!clone->kernel.params) {
			free(clone);
			return NULL;
		}
		memcpy(clone->kernel.params, command->kernel.params, command->kernel.param_bytes);
	} else if (command->kind == DEV_COMMAND_ALLOC || command->kind == DEV_COMMAND_FREE) {
		dev_graph_memory_ref(clone->memory);
	} else if (command->kind == DEV_COMMAND_GRAPH) {
		clone->graph = dev_graph_clone(command->graph);
		if (!clone->graph) {
			free(clone);
			return NULL;
		}
		clone->graph->is_child = true;
	} else if (command->kind == DEV_COMMAND_BATCH) {
		clone->batch.ops = reallocarray(NULL, command->batch.n, sizeof(*clone->batch.ops));
		if (!clone->batch.ops) {
			free(clone);
			return NULL;
		}
		memcpy(clone->batch.ops, command->batch.ops,
		       command->batch.n * sizeof(*clone->batch.ops));
	} else if (command->kind == DEV_COMMAND_ARM) {
		dev_condition_ref(clone->condition);
	} else if (command->kind == DEV_COMMAND_BRANCH) {
		if (dev_branch_clone(&command->branch, &clone->branch)) {
			free(clone);
			return NULL;
		}
	}
	return clone;
}

void dev_command_free(struct dev_command *command)
{
	if (!command)
		return;
	for (unsigned i = 0; i < command->n_deps; i++)
		dev_timeline_point_drop(&command->deps[i]);
	free(command->deps);
	if (command->kind == DEV_COMMAND_KERNEL) {
		free(command->kernel.params);
		free(command->kernel.pointers);
	}
	if (command->kind == DEV_COMMAND_MARK)
		dev_event_mark_unref(command->mark);
	if (command->kind == DEV_COMMAND_ALLOC || command->kind == DEV_COMMAND_FREE)
		dev_graph_memory_done(command);
	if (command->kind == DEV_COMMAND_GRAPH)
		dev_graph_free(command->graph);
	if (command->kind == DEV_COMMAND_BATCH)
		free(command->batch.ops);
	if (command->kind == DEV_COMMAND_ARM)
		dev_condition_unref(command->condition);
	if (command->kind == DEV_COMMAND_BRANCH)
		dev_branch_deinit(&command->branch);
	free(command);
}

int dev_command_depend(struct dev_command *command, struct dev_point point)
{
	struct dev_point *deps =
		realloc(command->deps, (command->n_deps + 1) * sizeof(*command->deps));

	if (!deps)
		return slu_error(-ENOMEM);
	command->deps = deps;
	command->deps[command->n_deps++] = point;
	return 0;
}

/* The error of an operation that was told to fail. */
static const struct {
	enum dev_fault_kind kind;
	CUresult error;
} faults[] = {
	[DEV_COMMAND_COPY] = { DEV_FAULT_COPY, CUDA_ERROR_UNKNOWN },
	[DEV_COMMAND_SET] = { DEV_FAULT_SET, CUDA_ERROR_UNKNOWN },
	[DEV_COMMAND_KERNEL] = { DEV_FAULT_LAUNCH, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES },
};

static CUresult check_fault(struct dev_command *command)
{
	if (command->kind != DEV_COMMAND_COPY && command->kind != DEV_COMMAND_SET &&
	    command->kind != DEV_COMMAND_KERNEL)
		return CUDA_SUCCESS;
	command->fault = dev_fault_next(faults[command->kind].kind, &command->extra_ns);
	return command->fault == DEV_FAULT_FAIL ? faults[command->kind].error : CUDA_SUCCESS;
}

/* A word that the card reaches; pageable memory it does not. */
static bool value_is_usable(struct dev_context *context, const struct dev_command *command,
			    bool later)
{
	uint8_t access = command->kind == DEV_COMMAND_WRITE ? DEV_WINDOW_WRITE : DEV_WINDOW_READ;
	bool is_pageable;

	return (later ? dev_memory_will_be_usable(context->card, command->value.address,
						  command->value.size, access, &is_pageable)
		      : dev_memory_is_usable(context->card, command->value.address,
					     command->value.size, access, &is_pageable)) &&
	       !is_pageable;
}

CUresult dev_command_check(struct dev_context *context, struct dev_command *command, bool later,
			   bool *ret_is_pageable)
{
	CUresult result = check_fault(command);

	*ret_is_pageable = false;
	if (result)
		return result;
	switch (command->kind) {
	case DEV_COMMAND_COPY:
		return dev_copy_check(context->card, &command->copy, later, ret_is_pageable);
	case DEV_COMMAND_SET:
		return dev_copy_check_set(context->card, &command->set, later);
	case DEV_COMMAND_WRITE:
	case DEV_COMMAND_WAIT:
		return value_is_usable(context, command, later) ? CUDA_SUCCESS
								: CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_SUCCESS;
	}
}

static void call_host(struct dev_stream *stream, struct dev_command *command)
{
	CUresult error = dev_context_error(stream->context);

	dev_driver_set_in_host_function(true);
	if (command->kind == DEV_COMMAND_CALLBACK)
		command->host.callback(command->host.stream, error, command->host.user);
	else if (!error)
		command->host.function(command->host.user);
	dev_driver_set_in_host_function(false);
}

static void pause_ns(uint64_t ns)
{
	struct timespec t = slu_clock_timespec(ns);

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static bool is_cancelled(const struct dev_context *context)
{
	return __atomic_load_n(&context->cancel, __ATOMIC_ACQUIRE);
}

static bool value_is_met(const struct dev_command_value *v)
{
	const void *at = dev_window_place(&dev_driver.window, v->address);
	uint64_t now, want = v->value;
	int64_t ahead;

	if (v->size == 8) {
		now = __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
		ahead = (int64_t)(now - want);
	} else {
		now = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
		ahead = (int32_t)((uint32_t)now - (uint32_t)want);
	}
	switch (v->flags & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ:
		return ahead >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return ahead == 0;
	case CU_STREAM_WAIT_VALUE_AND:
		return (now & want) != 0;
	default:
		return v->size == 8 ? ~(now | want) != 0 : (uint32_t) ~(now | want) != 0;
	}
}

/* Return: false where the word is not usable, or not any more. */
static bool wait_for_value(struct dev_stream *stream, const struct dev_command *command)
{
	while (value_is_usable(stream->context, command, false)) {
		if (value_is_met(&command->value) || is_cancelled(stream->context))
			return true;
		pause_ns(POLL_NS);
	}
	return false;
}

static bool write_value(struct dev_stream *stream, const struct dev_command *command)
{
	const struct dev_command_value *v = &command->value;
	void *at = dev_window_place(&dev_driver.window, v->address);

	if (!value_is_usable(stream->context, command, false))
		return false;
	if (v->size == 8)
		__atomic_store_n((uint64_t *)at, v->value, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n((uint32_t *)at, (uint32_t)v->value, __ATOMIC_SEQ_CST);
	return true;
}

static void run_value(struct dev_stream *stream, const struct dev_command *command)
{
	bool is_usable;

	/* from before the look on: what is unmapped meanwhile leaves memory in its place */
	dev_window_enter(&dev_driver.window);
	is_usable = command->kind == DEV_COMMAND_WAIT ? wait_for_value(stream, command)
						      : write_value(stream, command);
	dev_window_leave(&dev_driver.window);
	if (!is_usable)
		dev_context_break(stream->context, CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void suffer_fault(struct dev_stream *stream, const struct dev_command *command)
{
	uint64_t end_ns = slu_clock_now_ns() + command->extra_ns;

	while (!is_cancelled(stream->context) &&
	       (command->fault == DEV_FAULT_HANG || slu_clock_now_ns() < end_ns))
		pause_ns(SLU_NS_PER_MS);
}

uint64_t dev_command_execute(struct dev_stream *stream, struct dev_command *command,
			     uint64_t start_ns)
{
	bool is_broken = dev_context_error(stream->context) != CUDA_SUCCESS;

	if (!is_broken && command->fault)
		suffer_fault(stream, command);
	switch (command->kind) {
	case DEV_COMMAND_ALLOC:
	case DEV_COMMAND_FREE:
		/* here, and not when it is discarded: whoever waits for the stream finds it done */
		dev_graph_memory_done(command);
		return start_ns;
	case DEV_COMMAND_EMPTY:
	case DEV_COMMAND_RECORD:
	case DEV_COMMAND_AWAIT:
	case DEV_COMMAND_GRAPH:
	case DEV_COMMAND_BATCH:
		return start_ns;
	case DEV_COMMAND_MARK:
		dev_timeline_lock();
		command->mark->time_ns = start_ns;
		dev_timeline_unlock();
		return start_ns;
	case DEV_COMMAND_HOST:
	case DEV_COMMAND_CALLBACK:
		call_host(stream, command);
		break;
	case DEV_COMMAND_COPY:
		if (!is_broken)
			return dev_copy_run(stream->context, &command->copy, start_ns);
		break;
	case DEV_COMMAND_SET:
		if (!is_broken)
			dev_copy_run_set(stream->context, &command->set);
		break;
	case DEV_COMMAND_KERNEL:
		if (!is_broken)
			dev_kernel_run(stream->context, &command->kernel);
		break;
	case DEV_COMMAND_SIGNAL:
		dev_card_event_reach(stream->context->card, &command->signal.ticket,
				     command->signal.number);
		break;
	case DEV_COMMAND_LISTEN:
		while (!dev_card_event_is_reached(stream->context->card, &command->signal.ticket,
						  command->signal.number) &&
		       !is_cancelled(stream->context))
			pause_ns(POLL_NS);
		break;
	case DEV_COMMAND_PREFETCH:
		if (!is_broken)
			return dev_managed_prefetch(command->prefetch.address,
						    command->prefetch.bytes,
						    command->prefetch.where, start_ns);
		break;
	case DEV_COMMAND_WRITE:
	case DEV_COMMAND_WAIT:
		if (!is_broken)
			run_value(stream, command);
		break;
	case DEV_COMMAND_ARM:
		dev_condition_set(command->condition, command->condition->initial);
		return start_ns;
	case DEV_COMMAND_BRANCH:
		return dev_branch_run(stream, &command->branch, start_ns);
	}
	return SLU_MAX(start_ns, slu_clock_now_ns());
}
