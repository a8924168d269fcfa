/* SPDX-License-Identifier: Apache-2.0 */

#include "cudart/driver.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/util.h"
#include "cuabi/names.h"

struct dev_rt_driver dev_rt_driver;

/* Stands where the driver has no such function; its caller's arguments are nobody's. */
static CUresult driver_absent(void)
{
	return CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER;
}

int dev_rt_driver_load(void)
{
	static const struct {
		const char *symbol;
		void **place;
	} calls[] = {
#define DEV_RTDRIVER(symbol)		{ #symbol, (void **)&dev_rt_driver.symbol },
#define DEV_RTDRIVER_AS(symbol, params) DEV_RTDRIVER(symbol)
#include "cudart/driver.def"
#undef DEV_RTDRIVER
#undef DEV_RTDRIVER_AS
	};
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	__typeof__(cuGetProcAddress_v2) *get;

	if (!library)
		return -ENOENT;
	get = (__typeof__(get))dlsym(library, "cuGetProcAddress_v2");
	if (!get)
		return -ENOENT;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(calls); i++) {
		int number = slu_cuname_find(calls[i].symbol);
		CUdriverProcAddressQueryResult why;
		void *function = NULL;

		if (number >= 0 &&
		    get(slu_cunames[number].base, &function, slu_cunames[number].version,
			slu_cunames[number].per_thread
				? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
				: CU_GET_PROC_ADDRESS_DEFAULT,
			&why))
			function = NULL;
		*calls[i].place = function ? function : (void *)driver_absent;
	}
	return 0;
}
