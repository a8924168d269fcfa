/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The driver's functions as our runtime calls them, from driver.def. They are looked up as
 * NVIDIA's runtime does it: one dlsym() for cuGetProcAddress_v2, everything else through that, so
 * that a front end that stands between is asked, too. What the driver does not have answers
 * CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER.
 */

#include "cuabi/cuda-calls.h"

struct dev_rt_driver {
#define DEV_RTDRIVER(symbol)		__typeof__(symbol) *symbol;
#define DEV_RTDRIVER_AS(symbol, params) CUresult(*symbol) params;
#include "cudart/driver.def"
#undef DEV_RTDRIVER
#undef DEV_RTDRIVER_AS
};

/* Constant after dev_rt_driver_load(). */
extern struct dev_rt_driver dev_rt_driver;

/* Opens libcuda.so.1. Return: 0, or -ENOENT if there is none or it is no driver. */
int dev_rt_driver_load(void);
