/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The OpenCL layer: what all of its files share. docs/glossary.md explains the words.
 *
 * The loader calls the layer instead of the driver, because OPENCL_LAYERS names it. Whatever is
 * below the layer (another layer, the driver) is `slu_layer_next`. Every cl_mem that the program
 * sees is a proxy (proxy.h), so the object behind it may leave the device and come back. Contexts,
 * queues, kernels and events are the driver's own; the layer keeps notes about them in tables.
 *
 * The files that define only calls of OpenCL (calls.def) have no header: buffer.c, build.c,
 * callback.c, extension.c, foreign.c, image.c, info.c, launch.c, list.c, map.c and transfer.c.
 *
 * One command of the program goes this way (bracket.h):
 *
 *   name its objects -> slu_client_command_begin(): the turn, every unit on the device
 *                    -> the driver's call with the real handles
 *                    -> remember its event at each unit (command.h)
 *                    -> slu_client_command_end()
 *
 * One lock guards all notes. No thread holds it while it calls the driver or the client, or while
 * it waits, because both may call this layer again.
 */

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <CL/cl_layer.h>

#include "base/lock.h"

/* The functions below the layer; constant after clInitLayer(). To call them: slu_layer_next. */
extern cl_icd_dispatch slu_layer_table;

/*
 * The only way to the driver. Drivers call back into programs and take locks of their own, so the
 * caller holds no lock of the layer: debug builds check it here.
 */
static inline cl_icd_dispatch *slu_layer_below(void)
{
	slu_lock_assert_none();
	return &slu_layer_table;
}

#define slu_layer_next (*slu_layer_below())

/* Guards every table and every note of this layer. */
extern struct slu_lock slu_layer_lock;

/* Signalled when a note changes for which a thread may wait (a device added, a kernel free). */
extern pthread_cond_t slu_layer_changed;

static inline void slu_layer_take(void)
{
	slu_lock_take(&slu_layer_lock);
}

static inline void slu_layer_give(void)
{
	slu_lock_give(&slu_layer_lock);
}

/* Translates an answer of the client to an OpenCL error. Only this function knows both. */
cl_int slu_layer_error(int r);

/* The answer of a clGet…Info call whose value is @size bytes at @value. */
cl_int slu_layer_answer(const void *value, size_t size, size_t param_size, void *param,
			size_t *ret_size);

/* The calls that the layer takes; the others go from the loader straight to the driver. */
#define SLU_CALL(name, meaning) __typeof__(*(cl_api_##name)NULL) slu_call_##name;
#include "opencl/calls.def"
#undef SLU_CALL
