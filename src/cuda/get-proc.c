/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How programs reach the driver's functions without naming them at link time.
 *
 * cuGetExportTable() is not here and never will be: it is a plain jump to the genuine driver.
 * NVIDIA's runtime authenticates the driver through the private tables, and we neither answer,
 * alter nor bypass that.
 */
#include "cuda/real.h"
#include "cuda/route.h"

CUresult cuGetProcAddress(const char *name, void **ret_pointer, int version, cuuint64_t flags)
{
	CUresult r = SLU_REAL(cuGetProcAddress)(name, ret_pointer, version, flags);

	if (r == CUDA_SUCCESS && ret_pointer && *ret_pointer)
		*ret_pointer = slu_route_find(*ret_pointer);
	return r;
}

CUresult cuGetProcAddress_v2(const char *name, void **ret_pointer, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *ret_status)
{
	CUresult r = SLU_REAL(cuGetProcAddress_v2)(name, ret_pointer, version, flags, ret_status);

	if (r == CUDA_SUCCESS && ret_pointer && *ret_pointer)
		*ret_pointer = slu_route_find(*ret_pointer);
	return r;
}
