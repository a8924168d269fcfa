/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "softgpu/driver/branch.h"
#include "softgpu/driver/condition.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/copy.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/event.h"
#include "softgpu/driver/graph-memory.h"
#include "softgpu/driver/graph.h"
#include "softgpu/driver/kernel.h"
#include "softgpu/driver/managed.h"
#include "softgpu/driver/memory.h"

#define POLL_NS (20 * SLU_NS_PER_US)

struct slu_command *slu_command_new(enum slu_command_kind kind)
{
	struct slu_command *command = calloc(1, sizeof(*command));

	if (command)
		command->kind = kind;
	return command;
}

struct slu_command *slu_command_clone(const struct slu_command *command)
{
	struct slu_command *clone = slu_command_new(command->kind);

	if (!clone)
		return NULL;
	*clone = *command;
	clone->deps = NULL;
	clone->n_deps = 0;
	if (command->kind == SLU_COMMAND_KERNEL) {
		clone->kernel.pointers = NULL;
		clone->kernel.params = malloc(command->kernel.param_bytes + 1);
		if (!clone->kernel.params) {
			free(clone);
			return NULL;
		}
		memcpy(clone->kernel.params, command->kernel.params, command->kernel.param_bytes);
	} else if (command->kind == SLU_COMMAND_ALLOC || command->kind == SLU_COMMAND_FREE) {
		slu_graph_memory_ref(clone->memory);
	} else if (command->kind == SLU_COMMAND_GRAPH) {
		clone->graph = slu_graph_clone(command->graph);
		if (!clone->graph) {
			free(clone);
			return NULL;
		}
		clone->graph->is_child = true;
	} else if (command->kind == SLU_COMMAND_BATCH) {
		clone->batch.ops = reallocarray(NULL, command->batch.n, sizeof(*clone->batch.ops));
		if (!clone->batch.ops) {
			free(clone);
			return NULL;
		}
		memcpy(clone->batch.ops, command->batch.ops,
		       command->batch.n * sizeof(*clone->batch.ops));
	} else if (command->kind == SLU_COMMAND_ARM) {
		slu_condition_ref(clone->condition);
	} else if (command->kind == SLU_COMMAND_BRANCH) {
		if (slu_branch_clone(&command->branch, &clone->branch)) {
			free(clone);
			return NULL;
		}
	}
	return clone;
}

void slu_command_free(struct slu_command *command)
{
	if (!command)
		return;
	for (unsigned i = 0; i < command->n_deps; i++)
		slu_point_drop(&command->deps[i]);
	free(command->deps);
	if (command->kind == SLU_COMMAND_KERNEL) {
		free(command->kernel.params);
		free(command->kernel.pointers);
	}
	if (command->kind == SLU_COMMAND_MARK)
		slu_mark_unref(command->mark);
	if (command->kind == SLU_COMMAND_ALLOC || command->kind == SLU_COMMAND_FREE)
		slu_graph_memory_unref(command->memory);
	if (command->kind == SLU_COMMAND_GRAPH)
		slu_graph_free(command->graph);
	if (command->kind == SLU_COMMAND_BATCH)
		free(command->batch.ops);
	if (command->kind == SLU_COMMAND_ARM)
		slu_condition_unref(command->condition);
	if (command->kind == SLU_COMMAND_BRANCH)
		slu_branch_deinit(&command->branch);
	free(command);
}

int slu_command_depend(struct slu_command *command, struct slu_point point)
{
	struct slu_point *deps =
		realloc(command->deps, (command->n_deps + 1) * sizeof(*command->deps));

	if (!deps)
		return slu_error(-ENOMEM);
	command->deps = deps;
	command->deps[command->n_deps++] = point;
	return 0;
}

/* The error of an operation that was told to fail. */
static const struct {
	enum slu_fault_kind kind;
	CUresult error;
} faults[] = {
	[SLU_COMMAND_COPY] = { SLU_FAULT_COPY, CUDA_ERROR_UNKNOWN },
	[SLU_COMMAND_SET] = { SLU_FAULT_SET, CUDA_ERROR_UNKNOWN },
	[SLU_COMMAND_KERNEL] = { SLU_FAULT_LAUNCH, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES },
};

static CUresult check_fault(struct slu_command *command)
{
	if (command->kind != SLU_COMMAND_COPY && command->kind != SLU_COMMAND_SET &&
	    command->kind != SLU_COMMAND_KERNEL)
		return CUDA_SUCCESS;
	command->fault = slu_fault_next(faults[command->kind].kind, &command->extra_ns);
	return command->fault == SLU_FAULT_FAIL ? faults[command->kind].error : CUDA_SUCCESS;
}

/* A word that the card reaches; pageable memory it does not. */
static bool value_is_usable(struct slu_context *context, const struct slu_command *command)
{
	uint8_t access = command->kind == SLU_COMMAND_WRITE ? SLU_WINDOW_WRITE : SLU_WINDOW_READ;
	bool is_pageable;

	return slu_memory_is_usable(context->card, command->value.address, command->value.size,
				    access, &is_pageable) &&
	       !is_pageable;
}

CUresult slu_command_check(struct slu_context *context, struct slu_command *command,
			   bool *ret_is_pageable)
{
	CUresult result = check_fault(command);

	*ret_is_pageable = false;
	if (result)
		return result;
	switch (command->kind) {
	case SLU_COMMAND_COPY:
		return slu_copy_check(context->card, &command->copy, ret_is_pageable);
	case SLU_COMMAND_SET:
		return slu_copy_check_set(context->card, &command->set);
	case SLU_COMMAND_WRITE:
	case SLU_COMMAND_WAIT:
		return value_is_usable(context, command) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_SUCCESS;
	}
}

static void call_host(struct slu_stream *stream, struct slu_command *command)
{
	CUresult error = slu_context_error(stream->context);

	slu_driver_set_in_host_function(true);
	if (command->kind == SLU_COMMAND_CALLBACK)
		command->host.callback(command->host.stream, error, command->host.user);
	else if (!error)
		command->host.function(command->host.user);
	slu_driver_set_in_host_function(false);
}

static void pause_ns(uint64_t ns)
{
	struct timespec t = slu_clock_timespec(ns);

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static bool is_cancelled(const struct slu_context *context)
{
	return __atomic_load_n(&context->cancel, __ATOMIC_ACQUIRE);
}

static bool value_is_met(const struct slu_command_value *v)
{
	const void *at = slu_window_place(&slu_driver.window, v->address);
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
static bool wait_for_value(struct slu_stream *stream, const struct slu_command *command)
{
	while (value_is_usable(stream->context, command)) {
		if (value_is_met(&command->value) || is_cancelled(stream->context))
			return true;
		pause_ns(POLL_NS);
	}
	return false;
}

static bool write_value(struct slu_stream *stream, const struct slu_command *command)
{
	const struct slu_command_value *v = &command->value;
	void *at = slu_window_place(&slu_driver.window, v->address);

	if (!value_is_usable(stream->context, command))
		return false;
	if (v->size == 8)
		__atomic_store_n((uint64_t *)at, v->value, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n((uint32_t *)at, (uint32_t)v->value, __ATOMIC_SEQ_CST);
	return true;
}

static void run_value(struct slu_stream *stream, const struct slu_command *command)
{
	bool is_usable;

	/* from before the look on: what is unmapped meanwhile leaves memory in its place */
	slu_window_enter(&slu_driver.window);
	is_usable = command->kind == SLU_COMMAND_WAIT ? wait_for_value(stream, command)
						      : write_value(stream, command);
	slu_window_leave(&slu_driver.window);
	if (!is_usable)
		slu_context_break(stream->context, CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void suffer_fault(struct slu_stream *stream, const struct slu_command *command)
{
	uint64_t end_ns = slu_clock_now_ns() + command->extra_ns;

	while (!is_cancelled(stream->context) &&
	       (command->fault == SLU_FAULT_HANG || slu_clock_now_ns() < end_ns))
		pause_ns(SLU_NS_PER_MS);
}

uint64_t slu_command_execute(struct slu_stream *stream, struct slu_command *command,
			     uint64_t start_ns)
{
	bool is_broken = slu_context_error(stream->context) != CUDA_SUCCESS;

	if (!is_broken && command->fault)
		suffer_fault(stream, command);
	switch (command->kind) {
	case SLU_COMMAND_EMPTY:
	case SLU_COMMAND_ALLOC:
	case SLU_COMMAND_FREE:
	case SLU_COMMAND_RECORD:
	case SLU_COMMAND_AWAIT:
	case SLU_COMMAND_GRAPH:
	case SLU_COMMAND_BATCH:
		return start_ns;
	case SLU_COMMAND_MARK:
		slu_stream_lock();
		command->mark->time_ns = start_ns;
		slu_stream_unlock();
		return start_ns;
	case SLU_COMMAND_HOST:
	case SLU_COMMAND_CALLBACK:
		call_host(stream, command);
		break;
	case SLU_COMMAND_COPY:
		if (!is_broken)
			return slu_copy_run(stream->context, &command->copy, start_ns);
		break;
	case SLU_COMMAND_SET:
		if (!is_broken)
			slu_copy_run_set(stream->context, &command->set);
		break;
	case SLU_COMMAND_KERNEL:
		if (!is_broken)
			slu_kernel_run(stream->context, &command->kernel);
		break;
	case SLU_COMMAND_SIGNAL:
		slu_card_event_reach(stream->context->card, &command->signal.ticket,
				     command->signal.number);
		break;
	case SLU_COMMAND_LISTEN:
		while (!slu_card_event_is_reached(stream->context->card, &command->signal.ticket,
						  command->signal.number) &&
		       !is_cancelled(stream->context))
			pause_ns(POLL_NS);
		break;
	case SLU_COMMAND_PREFETCH:
		if (!is_broken)
			return slu_managed_prefetch(command->prefetch.address,
						    command->prefetch.bytes,
						    command->prefetch.where, start_ns);
		break;
	case SLU_COMMAND_WRITE:
	case SLU_COMMAND_WAIT:
		if (!is_broken)
			run_value(stream, command);
		break;
	case SLU_COMMAND_ARM:
		slu_condition_set(command->condition, command->condition->initial);
		return start_ns;
	case SLU_COMMAND_BRANCH:
		return slu_branch_run(stream, &command->branch, start_ns);
	}
	return SLU_MAX(start_ns, slu_clock_now_ns());
}
