/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/execution/kernel.h"

#include <sched.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/util.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/execution/compute.h"
#include "softgpu/driver/execution/condition.h"
#include "softgpu/driver/execution/truth.h"
#include "softgpu/driver/images/module.h"
#include "softgpu/driver/memory/managed.h"
#include "softgpu/driver/memory/memory.h"
#include "softgpu/driver/memory/texture.h"
#include "softgpu/driver/report.h"
#include "softgpu/interp/interp.h"

static CUresult error_of(enum dev_interp_fault_kind kind)
{
	switch (kind) {
	case DEV_INTERP_FAULT_ADDRESS:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case DEV_INTERP_FAULT_MISALIGNED:
		return CUDA_ERROR_MISALIGNED_ADDRESS;
	case DEV_INTERP_FAULT_SPACE:
	case DEV_INTERP_FAULT_OBJECT:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case DEV_INTERP_FAULT_ASSERT:
		return CUDA_ERROR_ASSERT;
	case DEV_INTERP_FAULT_PC:
		return CUDA_ERROR_INVALID_PC;
	case DEV_INTERP_FAULT_STACK:
		return CUDA_ERROR_HARDWARE_STACK_ERROR;
	case DEV_INTERP_FAULT_NO_MEMORY:
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	default:
		return CUDA_ERROR_LAUNCH_FAILED;
	}
}

/* How many threads a launch may use: not more than it has blocks. */
static unsigned count_workers(const unsigned grid[3])
{
	uint64_t n_blocks = (uint64_t)grid[0] * grid[1] * grid[2];
	cpu_set_t set;

	if (n_blocks < 2 || sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (unsigned)SLU_MIN(n_blocks, (uint64_t)CPU_COUNT(&set));
}

static void kernel_print(void *userdata, const char *text, size_t size)
{
	(void)userdata;
	fwrite(text, 1, size, stdout);
	fflush(stdout);
}

/* as the genuine driver does it, whoever is at the other end */
static void kernel_complain(void *userdata, const char *text, size_t size)
{
	(void)userdata;
	fwrite(text, 1, size, stderr);
}

/* A kernel that runs, as its threads know it. */
struct run {
	struct dev_context *context;
	uint64_t start_ns; /* of its present slice */
};

static bool set_condition(void *userdata, uint64_t handle, uint32_t value)
{
	struct dev_condition *condition = dev_condition_get(handle);
	struct run *run = userdata;

	if (!condition || condition->context != run->context)
		return false;
	dev_condition_set(condition, value);
	return true;
}

static const struct dev_interp_image *find_image(void *userdata, uint64_t object, bool is_surface)
{
	const struct run *run = userdata;

	return dev_texture_image(run->context, object, is_surface);
}

static bool must_rest(void *userdata)
{
	struct run *run = userdata;

	return dev_compute_is_asked_for(run->context->card, run->context->id);
}

/* None of its threads runs: the engine is the others' for a while. */
static void kernel_rest(void *userdata)
{
	struct run *run = userdata;

	dev_compute_end(run->context->card, run->context->id, run->start_ns);
	dev_compute_begin(run->context->card, run->context->id);
	run->start_ns = slu_clock_now_ns();
}

void dev_kernel_run(struct dev_context *context, const struct dev_command_kernel *kernel)
{
	struct dev_window *window = &dev_driver.window;
	struct dev_memory_ranges *ranges = dev_memory_ranges_ref();
	struct run run = { .context = context };
	struct dev_interp_memory memory = {
		.base = window->base,
		.bytes = window->bytes,
		.view = window->view,
		.shift = window->shift,
		.access = window->access[context->card->index],
		.ranges = ranges ? ranges->ranges : NULL,
		.n_ranges = ranges ? ranges->n : 0,
		.admit = dev_managed_admit,
		.userdata = context->card,
	};
	struct dev_interp_launch launch = {
		.module = kernel->function->module->program->interp,
		.kernel = kernel->function->kernel,
		.grid = { kernel->grid[0], kernel->grid[1], kernel->grid[2] },
		.block = { kernel->block[0], kernel->block[1], kernel->block[2] },
		.dynamic_shared_bytes = kernel->shared_bytes,
		.params = kernel->params,
		.memory = &memory,
		.variables = kernel->function->module->variables,
		.n_workers = count_workers(kernel->grid),
		.is_cooperative = kernel->is_cooperative,
		.cancel = &context->cancel,
		.print = kernel_print,
		.complain = kernel_complain,
		.set_condition = set_condition,
		.find_image = find_image,
		.must_rest = must_rest,
		.rest = kernel_rest,
		.userdata = &run,
	};
	struct dev_interp_fault fault = { .kind = DEV_INTERP_FAULT_NONE };
	struct dev_truth truth;
	uint64_t start_ns;
	int r;

	if (dev_interp_builtin_uses_heap(launch.module))
		launch.heap = kernel->function->module->context->heap;
	dev_managed_notice();
	/* before the engine: who has it and waits for a trace would wait for somebody who rests */
	dev_truth_begin(&truth, context->card, &memory);
	dev_compute_begin(context->card, context->id);
	dev_managed_begin(context->card);
	start_ns = run.start_ns = slu_clock_now_ns();
	dev_window_enter(window);
	r = dev_interp_launch(&launch, &fault);
	dev_window_leave(window);
	dev_card_sleep_until(dev_truth_end(&truth, kernel, start_ns));
	dev_card_sleep_until(dev_managed_end(context->card));
	dev_compute_end(context->card, context->id, run.start_ns);
	dev_memory_ranges_unref(ranges);
	if (r == DEV_INTERP_E_FAULT) {
		if (fault.kind != DEV_INTERP_FAULT_CANCELLED)
			dev_report_fault(kernel->function->module->program->ptx, &fault);
		dev_context_break(context, error_of(fault.kind));
	} else if (r) {
		dev_context_break(context, CUDA_ERROR_LAUNCH_FAILED);
	}
}
