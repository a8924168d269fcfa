/* SPDX-License-Identifier: Apache-2.0 */

/* The calls of absent.def. No prototypes: arguments are not looked at, so one form serves all. */

#include "nvml/nvml-min.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define DEV_NVML_ABSENT(symbol)                  \
	nvmlReturn_t symbol(void)                \
	{                                        \
		return NVML_ERROR_NOT_SUPPORTED; \
	}
#include "nvml/absent.def"
