/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/images/traits.h"

#include "base/util.h"
#include "softgpu/driver/driver.h"

unsigned dev_traits_max_threads(const struct slu_ptx_function *kernel)
{
	const unsigned *t =
		kernel->required_threads[0] ? kernel->required_threads : kernel->max_threads;
	unsigned long n = 1;

	if (!t[0])
		return DEV_LIMITS_BLOCK_THREADS;
	for (unsigned i = 0; i < 3; i++)
		n *= t[i] ? t[i] : 1;
	return (unsigned)SLU_MIN(n, (unsigned long)DEV_LIMITS_BLOCK_THREADS);
}

bool dev_traits_take_block(const struct slu_ptx_function *kernel, const unsigned block[3])
{
	const unsigned *wanted = kernel->required_threads;

	for (unsigned i = 0; wanted[0] && i < 3; i++)
		if (block[i] != SLU_MAX(wanted[i], 1u))
			return false;
	return block[0] * block[1] * block[2] <= dev_traits_max_threads(kernel);
}

static int constant_bytes(const struct slu_ptx_module *ptx)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < ptx->n_variables; i++)
		if (ptx->variables[i]->space == SLU_PTX_SPACE_CONST)
			bytes += ptx->variables[i]->size;
	return (int)SLU_MIN(bytes, (uint64_t)DEV_LIMITS_CONSTANT_BYTES);
}

CUresult dev_traits_get(const struct slu_ptx_module *ptx, const struct slu_ptx_function *kernel,
			const struct dev_wishes *wishes, CUfunction_attribute which, int *ret_value)
{
	switch (which) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*ret_value = (int)dev_traits_max_threads(kernel);
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*ret_value = (int)kernel->shared_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		*ret_value = constant_bytes(ptx);
		break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*ret_value = (int)kernel->local_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*ret_value = (int)SLU_MIN(kernel->n_registers_used, 255u);
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*ret_value = (int)ptx->target;
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*ret_value = wishes->dynamic_shared_bytes
				     ? wishes->dynamic_shared_bytes
				     : DEV_LIMITS_SHARED_BYTES -
					       (int)SLU_MIN(kernel->shared_bytes,
							    (uint64_t)DEV_LIMITS_SHARED_BYTES);
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*ret_value = wishes->carveout;
		break;
	default:
		if ((unsigned)which >= CU_FUNC_ATTRIBUTE_MAX)
			return CUDA_ERROR_INVALID_VALUE;
		*ret_value = 0;
		break;
	}
	return CUDA_SUCCESS;
}

CUresult dev_traits_set(const struct slu_ptx_function *kernel, struct dev_wishes *wishes,
			CUfunction_attribute which, int value)
{
	switch (which) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 || (uint64_t)value + kernel->shared_bytes >
					 dev_driver.settings.limits->shared_bytes_optin)
			return CUDA_ERROR_INVALID_VALUE;
		wishes->dynamic_shared_bytes = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if (value < -1 || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		wishes->carveout = value;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}
