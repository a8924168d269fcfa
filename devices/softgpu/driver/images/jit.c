/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/images/jit.h"

#include <stdint.h>
#include <string.h>

CUresult dev_jit_read(unsigned n, const CUjit_option *options, void **values,
		      struct dev_jit *ret_jit)
{
	struct dev_jit jit = { 0 };

	if (n && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		switch (options[i]) {
		case CU_JIT_ERROR_LOG_BUFFER:
			jit.error.text = values[i];
			break;
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			jit.error.size = (unsigned)(uintptr_t)values[i];
			jit.error_used = &values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER:
			jit.info.text = values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			jit.info.size = (unsigned)(uintptr_t)values[i];
			jit.info_used = &values[i];
			break;
		default:
			break;
		}
	}
	dev_image_tell(&jit.error, "%s", "");
	dev_image_tell(&jit.info, "%s", "");
	*ret_jit = jit;
	return CUDA_SUCCESS;
}

static void jit_finish(const struct dev_image_log *log, void **used)
{
	if (used)
		*used = (void *)(uintptr_t)(log->text && log->size ? strnlen(log->text, log->size)
								   : 0);
}

void dev_jit_finish(const struct dev_jit *jit)
{
	jit_finish(&jit->error, jit->error_used);
	jit_finish(&jit->info, jit->info_used);
}
