/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "opencl/device.h"
#include "opencl/proxy.h"

/*
 * Whether the object of @unit, which rests, has the bytes of its backing at @host; @always:
 * whatever that costs. An object that goes waits for this, but has given up its unit already.
 * Return: 0, or SLU_BACKEND_E_DIFFERENT if not, or if it is not known.
 */
int slu_compare(struct slu_device *device, struct slu_unit *unit, const void *host, bool always);

/* Contents of @unit move: what compares should be there when it leaves next. */
void slu_compare_prepare(struct slu_device *device, const struct slu_unit *unit);
