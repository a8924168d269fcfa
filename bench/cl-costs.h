/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An OpenCL driver that does nothing, as fast as possible, for one device: what is left of a
 * call's time is the layer's. Enough of it to let the layer start; its events are complete at
 * once.
 */

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif

#include <CL/cl_icd.h>

/* Its context, queue and kernel are what it makes first; the handles are its own. */
const cl_icd_dispatch *cl_costs_driver(void);
