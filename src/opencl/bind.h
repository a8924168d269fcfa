/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is bound to the arguments of a kernel that the caller has taken (kernel.h): numbers, which
 * go to the driver at once, and objects, which the driver gets while they are on the device.
 */

#include "opencl/kernel.h"

/* Gives the driver the real handle of every argument that it does not hold. The caller names all
 * roots. */
cl_int slu_bind_refresh(struct slu_kernel *kernel);

/*
 * Gives the driver a dummy for every movable object, so that a copy of the kernel holds no object
 * that has left the device since. The copy gets the real objects at its launch.
 */
void slu_bind_dummies(struct slu_kernel *kernel);
