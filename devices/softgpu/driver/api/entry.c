/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/api/entry.h"

#include <stdio.h>
#include <stdlib.h>

#include "softgpu/driver/memory/managed.h"

CUresult dev_entry_stream(CUstream handle, struct dev_context **ret_context,
			  struct dev_stream **ret_stream)
{
	struct dev_context *context;

	DEV_TRY(dev_context_enter(&context));
	DEV_TRY(dev_stream_get(context, handle, ret_stream));
	/* a stream works in its own context, whatever is current */
	context = (*ret_stream)->context;
	DEV_TRY(dev_context_error(context));
	/* whoever loads a kernel or frees memory keeps everybody else out meanwhile */
	dev_context_lock(context);
	dev_context_unlock(context);
	*ret_context = context;
	return CUDA_SUCCESS;
}

bool dev_entry_host_sees(uint64_t address)
{
	struct dev_managed_view view;

	return !dev_window_has(&dev_driver.window, address) || dev_managed_look(address, &view);
}

CUresult dev_entry_submit(CUstream handle, struct dev_command *command, bool wait)
{
	struct dev_context *context;
	struct dev_stream *stream;
	bool is_pageable = false;
	CUresult result;

	if (!command)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = dev_entry_stream(handle, &context, &stream);
	if (!result)
		result = dev_command_check(context, command, stream->capture, &is_pageable);
	if (!result && wait)
		result = dev_capture_unsafe();
	if (result) {
		dev_command_free(command);
		return result;
	}
	DEV_TRY(dev_stream_submit(stream, command));
	return wait || (is_pageable && !stream->capture) ? dev_stream_synchronize(stream)
							 : CUDA_SUCCESS;
}

CUresult dev_entry_read_file(const char *path, char **ret_bytes, size_t *ret_n)
{
	CUresult result = CUDA_ERROR_FILE_NOT_FOUND;
	FILE *file = fopen(path, "re");
	char *bytes;
	long n;

	if (!file)
		return CUDA_ERROR_FILE_NOT_FOUND;
	if (!fseek(file, 0, SEEK_END) && (n = ftell(file)) >= 0) {
		rewind(file);
		bytes = calloc(1, (size_t)n + 32);
		if (!bytes) {
			result = CUDA_ERROR_OUT_OF_MEMORY;
		} else if (fread(bytes, 1, (size_t)n, file) == (size_t)n) {
			*ret_bytes = bytes;
			*ret_n = (size_t)n;
			result = CUDA_SUCCESS;
		} else {
			free(bytes);
		}
	}
	fclose(file);
	return result;
}
