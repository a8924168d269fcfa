/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Modules and libraries with variables in device memory. That memory does not move; it is charged
 * and shown, counted from the image (image.h). A module has it in its context from the load on. A
 * library belongs to no context; its variables are charged on each device that is in use.
 *
 * Programs load code before they allocate, so an image may be there before its device has a service
 * context (device.h). It is charged when the device gets one.
 *
 * The PTX of an image goes to kernels.h.
 *
 * The bytes are charged after the load, whatever visible_memory says: an image is read only after
 * the driver has accepted it.
 */

#include "cuda/device.h"

/* The device has a service context: charges what is loaded already. */
void slu_cuda_modules_charge_all(struct slu_cuda_device *device);

/* The service context ends, and all charges have ended. */
void slu_cuda_modules_reset(struct slu_cuda_device *device);

/* @context ends, and its modules with it. */
void slu_cuda_modules_forget(CUcontext context);
