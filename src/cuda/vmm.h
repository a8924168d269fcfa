/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The driver's virtual memory calls, and what the rest of the shim needs of them:
 *
 *   vmm.c          the calls about handles
 *   vmm-map.c      the calls that map memory
 *   vmm-service.c  gains and losses of a service context
 *
 * Such memory belongs to no context and outlives them all. While its device has no service context
 * (device.h) it cannot move: it comes to the device, loses its units and stays there.
 */

#include "cuda/device.h"

/* The service context is about to end; the device has one again. */
void slu_cuda_vmm_hand_over(struct slu_cuda_device *device);
void slu_cuda_vmm_take_back(struct slu_cuda_device *device);
