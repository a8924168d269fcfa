/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "opencl/device.h"
#include "opencl/proxy.h"

/*
 * Whether the object behind @root, which rests, has the bytes of its home copy at @host; @always:
 * whatever that costs. Return: 0, or SLU_BACKEND_E_DIFFERENT if not, or if it is not known.
 */
int slu_compare(struct slu_device *device, struct slu_proxy *root, const void *host, bool always);
