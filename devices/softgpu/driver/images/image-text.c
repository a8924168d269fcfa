/* SPDX-License-Identifier: Apache-2.0 */

/* The text in an image, and whether the device may run it. */

#include <stdbool.h>

#include "ptx/ptx.h"
#include "softgpu/driver/images/image.h"

/* May a text for this target run on a device of this capability? */
static bool is_for(const struct slu_ptx_module *ptx, unsigned capability)
{
	switch (ptx->target_suffix) {
	case 'a':
		return ptx->target == capability;
	case 'f':
		return ptx->target <= capability && ptx->target / 10 == capability / 10;
	default:
		return ptx->target <= capability;
	}
}

CUresult dev_image_parse(const struct dev_image *image, unsigned capability,
			 const struct dev_image_log *log, struct slu_ptx_module **ret_ptx)
{
	struct slu_ptx_error error = { 0 };
	struct slu_ptx_module *ptx;
	int r;

	r = slu_ptx_parse(image->text, image->bytes, &ptx, &error);
	if (r == SLU_PTX_E_REFUSED) {
		dev_image_tell(log, "ptx: line %u, column %u: %s\n", error.line, error.column,
			       error.text);
		return CUDA_ERROR_INVALID_PTX;
	}
	if (r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!is_for(ptx, capability)) {
		dev_image_tell(log,
			       "ptx: the text's .target is sm_%u%.1s, the software GPU's compute "
			       "capability is %u.%u; compile for compute_%u, or set "
			       "SLUICE_SOFTGPU_CAPABILITY=%u.%u\n",
			       ptx->target, &ptx->target_suffix, capability / 10, capability % 10,
			       capability, ptx->target / 10, ptx->target % 10);
		slu_ptx_module_free(ptx);
		return CUDA_ERROR_INVALID_PTX;
	}
	*ret_ptx = ptx;
	return CUDA_SUCCESS;
}
