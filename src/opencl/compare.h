/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "opencl/device.h"
#include "opencl/proxy.h"

/*
 * Compares the object of @unit, which rests, with its backing at @host; @always: whatever the cost.
 * An object that is being released waits for this, although its unit is freed already.
 * Return: 0, or SLU_BACKEND_E_DIFFERENT if the bytes differ or may differ.
 */
int slu_compare(struct slu_device *device, struct slu_unit *unit, const void *host, bool always);

/* Contents of @unit move: prepares a hasher for its next eviction. */
void slu_compare_prepare(struct slu_device *device, const struct slu_unit *unit);
