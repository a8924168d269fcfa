/* SPDX-License-Identifier: Apache-2.0 */

/* Launches. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/images/module.h"
#include "softgpu/driver/report.h"

/* Reports the launch to people who asked: the program has a number that fits many reasons. */
static CUresult launch_refuse(const struct dev_function *function, CUresult result,
			      const char *format, ...) __attribute__((format(printf, 3, 4)));

static CUresult launch_refuse(const struct dev_function *function, CUresult result,
			      const char *format, ...)
{
	char why[160];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	dev_report_refusal(function->kernel->name, why);
	return result;
}

CUresult dev_entry_check_cooperative(const struct dev_command_kernel *k)
{
	unsigned n_threads = k->block[0] * k->block[1] * k->block[2];
	uint64_t n =
		(uint64_t)dev_module_function_n_resident(k->function, n_threads, k->shared_bytes) *
		dev_driver.settings.n_multiprocessors;

	/* three factors may be more than 64 bits hold */
	if ((uint64_t)k->grid[0] * k->grid[1] > n ||
	    (uint64_t)k->grid[0] * k->grid[1] * k->grid[2] > n)
		return launch_refuse(k->function, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
				     "its grid of %u,%u,%u blocks is cooperative, and %" PRIu64
				     " blocks of it fit on the card at once",
				     k->grid[0], k->grid[1], k->grid[2], n);
	return CUDA_SUCCESS;
}

static CUresult shape_check(const struct dev_function *function, const unsigned grid[3],
			    const unsigned block[3], unsigned shared_bytes)
{
	static const unsigned grid_sizes[] = DEV_LIMITS_GRID_SIZES,
			      block_sizes[] = DEV_LIMITS_BLOCK_SIZES;
	unsigned allowed = DEV_LIMITS_SHARED_BYTES;

	for (unsigned i = 0; i < 3; i++)
		if (!grid[i] || grid[i] > grid_sizes[i] || !block[i] || block[i] > block_sizes[i])
			return launch_refuse(function, CUDA_ERROR_INVALID_VALUE,
					     "a grid of %u,%u,%u blocks of %u,%u,%u threads has a "
					     "size of 0 or one that is too large",
					     grid[0], grid[1], grid[2], block[0], block[1],
					     block[2]);
	/* more threads than .maxntid allows, or others than .reqntid asks for, are invalid too */
	if (!dev_traits_take_block(function->kernel, block))
		return launch_refuse(function, CUDA_ERROR_INVALID_VALUE,
				     "its blocks may not have %u,%u,%u threads", block[0], block[1],
				     block[2]);
	if (function->wishes.dynamic_shared_bytes)
		allowed = (unsigned)function->wishes.dynamic_shared_bytes +
			  (unsigned)function->kernel->shared_bytes;
	if (function->kernel->shared_bytes + shared_bytes > allowed)
		return launch_refuse(
			function, CUDA_ERROR_INVALID_VALUE,
			"a block would have %" PRIu64 " bytes of shared memory, and may have %u",
			(uint64_t)function->kernel->shared_bytes + shared_bytes, allowed);
	return CUDA_SUCCESS;
}

/* The launch's parameters, one by one or as a block that the caller has packed. */
static CUresult launch_gather(const struct slu_ptx_function *kernel, void **params, void **extra,
			      void **ret_buffer)
{
	unsigned char *buffer = calloc(1, kernel->param_bytes + 1);

	if (!buffer)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (extra && !params) {
		const void *packed = NULL;
		size_t bytes = 0;

		for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
			if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
				packed = extra[1];
			else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
				bytes = *(const size_t *)extra[1];
			else
				break;
		}
		if (*extra != CU_LAUNCH_PARAM_END || (!packed && bytes) ||
		    bytes < kernel->param_bytes) {
			free(buffer);
			return CUDA_ERROR_INVALID_VALUE;
		}
		if (kernel->param_bytes)
			memcpy(buffer, packed, kernel->param_bytes);
	} else if ((extra && params) || (kernel->n_params && !params)) {
		free(buffer);
		return CUDA_ERROR_INVALID_VALUE;
	} else {
		for (unsigned i = 0; i < kernel->n_params; i++)
			memcpy(buffer + kernel->params[i]->offset, params[i],
			       kernel->params[i]->size);
	}
	*ret_buffer = buffer;
	return CUDA_SUCCESS;
}

CUresult dev_entry_kernel(CUfunction handle, const unsigned grid[3], const unsigned block[3],
			  unsigned shared_bytes, bool is_cooperative, void **params, void **extra,
			  struct dev_command **ret_command)
{
	struct dev_function *function = dev_module_function_get(handle);
	struct dev_command *command;
	void *buffer;

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	DEV_TRY(shape_check(function, grid, block, shared_bytes));
	DEV_TRY(launch_gather(function->kernel, params, extra, &buffer));
	command = dev_command_new(DEV_COMMAND_KERNEL);
	if (!command) {
		free(buffer);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	command->kernel = (struct dev_command_kernel){
		.function = function,
		.grid = { grid[0], grid[1], grid[2] },
		.block = { block[0], block[1], block[2] },
		.shared_bytes = shared_bytes,
		.is_cooperative = is_cooperative,
		.params = buffer,
		.param_bytes = function->kernel->param_bytes,
	};
	if (is_cooperative) {
		CUresult result = dev_entry_check_cooperative(&command->kernel);

		if (result) {
			dev_command_free(command);
			return result;
		}
	}
	*ret_command = command;
	return CUDA_SUCCESS;
}

static CUresult launch_run(CUfunction handle, const unsigned grid[3], const unsigned block[3],
			   unsigned shared_bytes, bool is_cooperative, CUstream stream_handle,
			   void **params, void **extra)
{
	struct dev_context *context;
	struct dev_command *command;
	struct dev_stream *stream;
	CUresult result;

	DEV_TRY(dev_entry_stream(stream_handle, &context, &stream));
	DEV_TRY(dev_entry_kernel(handle, grid, block, shared_bytes, is_cooperative, params, extra,
				 &command));
	if (command->kernel.function->module->context != context)
		result = CUDA_ERROR_INVALID_HANDLE;
	else
		result = dev_module_function_load(command->kernel.function);
	if (result) {
		dev_command_free(command);
		return result;
	}
	return dev_entry_submit(stream_handle, command, false);
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
			unsigned int grid_z, unsigned int block_x, unsigned int block_y,
			unsigned int block_z, unsigned int shared_bytes, CUstream stream,
			void **params, void **extra)
{
	return launch_run(function, (unsigned[]){ grid_x, grid_y, grid_z },
			  (unsigned[]){ block_x, block_y, block_z }, shared_bytes, false, stream,
			  params, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
				   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
				   unsigned int block_z, unsigned int shared_bytes, CUstream stream,
				   void **params)
{
	return launch_run(function, (unsigned[]){ grid_x, grid_y, grid_z },
			  (unsigned[]){ block_x, block_y, block_z }, shared_bytes, true, stream,
			  params, NULL);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction function, void **params, void **extra)
{
	bool is_cooperative = false;

	DEV_TRY(dev_driver_enter());
	if (!c || (c->numAttrs && !c->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < c->numAttrs; i++) {
		const CUlaunchAttribute *a = &c->attrs[i];

		switch (a->id) {
		case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
			is_cooperative = a->value.cooperative;
			break;
		case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
			if (a->value.clusterDim.x > 1 || a->value.clusterDim.y > 1 ||
			    a->value.clusterDim.z > 1)
				return CUDA_ERROR_NOT_SUPPORTED;
			break;
		/* hints about speed that change no result */
		case CU_LAUNCH_ATTRIBUTE_IGNORE:
		case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
		case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
			break;
		default:
			return CUDA_ERROR_NOT_SUPPORTED;
		}
	}
	return launch_run(function, (unsigned[]){ c->gridDimX, c->gridDimY, c->gridDimZ },
			  (unsigned[]){ c->blockDimX, c->blockDimY, c->blockDimZ },
			  c->sharedMemBytes, is_cooperative, c->hStream, params, extra);
}
