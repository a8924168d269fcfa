/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The shim's own calls that map memory at addresses and unmap it: at those of our ranges, and at
 * the aliases of a program's handles.
 *
 * Some drivers were reported to hang when two processes make these calls at the same time. So each
 * call is serialised between processes if the client asks for it (wire/serial.h), and a failure
 * that neither a lack of memory nor a dead context explains is reported to the client, which may
 * ask for it from then on.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuabi/cuda-min.h"

struct slu_cuda_device;

/*
 * Around a mapping call that is the program's own: nothing about its failure is suspect.
 * Return: the argument for slu_cuda_mapping_end().
 */
int slu_cuda_mapping_begin(const struct slu_cuda_device *device);
void slu_cuda_mapping_end(int lock);

/*
 * Maps @handle at @address, and gives the locations of @access their access to it; @n_access may be
 * 0. On failure nothing is mapped there, unless the driver refuses to unmap it: *ret_is_mapped says
 * so, and the caller tries to remove it later.
 */
CUresult slu_cuda_mapping_make(const struct slu_cuda_device *device, uint64_t address,
			       uint64_t bytes, CUmemGenericAllocationHandle handle,
			       const CUmemAccessDesc *access, size_t n_access, bool *ret_is_mapped);

/* A mapping that stays where it should not be blocks its address, so a failure is tried again. */
CUresult slu_cuda_mapping_remove(const struct slu_cuda_device *device, uint64_t address,
				 uint64_t bytes);

/*
 * Gives the locations of @access their access to all that is mapped at these addresses, without a
 * gap. A failure is not suspect: it may be the program that asked for what the driver refuses.
 */
CUresult slu_cuda_mapping_set_access(const struct slu_cuda_device *device, uint64_t address,
				     uint64_t bytes, const CUmemAccessDesc *access,
				     size_t n_access);
