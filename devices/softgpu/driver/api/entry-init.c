/* SPDX-License-Identifier: Apache-2.0 */

/* Start, errors, and how symbols are found. */

#include "cuabi/names.h"
#include "softgpu/driver/api/addresses.h"
#include "softgpu/driver/api/entry.h"

CUresult cuInit(unsigned int flags)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : dev_driver_init();
}

CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = CUDA_VERSION;
	return CUDA_SUCCESS;
}

static const struct {
	CUresult number;
	const char *name, *text;
} errors[] = {
#define SLU_CUERROR(name, number, text) { name, #name, text },
#include "cuabi/errors.def"
#undef SLU_CUERROR
};

CUresult cuGetErrorName(CUresult error, const char **ret_name)
{
	if (!ret_name)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].number == error) {
			*ret_name = errors[i].name;
			return CUDA_SUCCESS;
		}
	*ret_name = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **ret_text)
{
	if (!ret_text)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].number == error) {
			*ret_text = errors[i].text;
			return CUDA_SUCCESS;
		}
	*ret_text = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

/* A name that is not there is a success with NULL and a status: the interface is defined so. */
CUresult cuGetProcAddress_v2(const char *name, void **ret_function, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *ret_status)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	void *function = NULL;
	int n;

	if (!name || !ret_function || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ||
	    version > CUDA_VERSION)
		return CUDA_ERROR_INVALID_VALUE;
	n = slu_cuname_resolve(name, version,
			       flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
	if (n >= 0)
		function = dev_addresses[n];
	else if (n == SLU_CUNAME_E_OLDER)
		status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
	else
		status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	*ret_function = function;
	if (ret_status)
		*ret_status = status;
	return CUDA_SUCCESS;
}

/* The older form has no status and says it by an error. */
CUresult cuGetProcAddress(const char *name, void **ret_function, int version, cuuint64_t flags)
{
	DEV_TRY(cuGetProcAddress_v2(name, ret_function, version, flags, NULL));
	return *ret_function || !*name ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/*
 * Private tables are the vendor's own affair. None is answered here, whatever it is called: a
 * caller that needs one learns that this is not the vendor's driver.
 */
CUresult cuGetExportTable(const void **ret_table, const CUuuid *id)
{
	if (!ret_table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_table = NULL;
	return CUDA_ERROR_NOT_FOUND;
}
