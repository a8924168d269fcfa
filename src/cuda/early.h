/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The slow path of the gate for calls whose bytes are known: in a turn whose memory still comes in,
 * such a call waits for the units at its own bytes and for no others (client.h, early start). All
 * copies that it needs have ended then, so no stream waits for anything that a later call of ours
 * must do.
 *
 * The bytes are found anew at each try: meanwhile other threads may free memory that the launch may
 * touch by its PTX and does not touch. The front lock keeps units while they are looked at.
 */

#include "cuda/gate.h"
#include "cuda/touch.h"

/* Return: CUDA_SUCCESS inside the gate, else the result of the caller's call. */
CUresult slu_cuda_early_enter(struct slu_cuda_device *device, const struct slu_cuda_touch *touch);
