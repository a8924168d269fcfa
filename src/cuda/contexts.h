/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The contexts that the program made and has not destroyed: the list in struct slu_cuda (device.h).
 * Every context of a device is waited for when a turn ends. context.c has the program's calls.
 */

#include "cuda/device.h"

/* The context current on this thread, or NULL. */
CUcontext slu_cuda_contexts_current(void);

/* The program made a context. Return: whether it is noted: the list may be full. */
bool slu_cuda_contexts_add(CUcontext context, CUdevice ordinal);

/*
 * @context is about to be destroyed: what is ours in it is given back.
 *
 * Our streams live in the service context of a device, and memory of its other contexts moves by
 * them. If @context is the service context and others have memory, *ret_stays is set: @context has
 * lost its own memory, and the caller must not destroy it. @ret_stays is NULL where the context
 * cannot stay.
 *
 * Return: CUDA_SUCCESS; CUDA_ERROR_INVALID_CONTEXT if it was destroyed before and stayed;
 * CUDA_ERROR_NOT_SUPPORTED if it must stay and cannot.
 */
CUresult slu_cuda_contexts_end(CUcontext context, bool *ret_stays);
