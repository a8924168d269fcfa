/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What our runtime does not have: every such symbol is there and says so. The caller's arguments
 * are not looked at, so one form serves all prototypes; none is declared here.
 */

#include "cudart/absent.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define DEV_RTDONE(symbol)
#define DEV_RTABSENT(symbol)            \
	int symbol(void)                \
	{                               \
		return dev_rt_absent(); \
	}
#include "cudart/names.def"
