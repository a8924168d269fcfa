/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the program's calls write (client.h), so that memory which none of them wrote is clean when
 * it leaves. Each function finds the units at the bytes that the call may write, tells them to the
 * client, and vouches for the call. Called inside the gate, before the driver's call, and only
 * while slu_gate_wants_writes().
 *
 * Memory of the driver, of the host and managed memory may be among the bytes: it has no units.
 * The units of memory that the program maps itself (handle.h) are not watched, because it is
 * written at other addresses than ours.
 */

#include <stdint.h>

#include "cuda/kernels.h"

void slu_cuda_writes_bytes(uint64_t address, uint64_t bytes);
/* @n_rows times @row_bytes, @pitch apart. Widths that exceed 64 bits are written everywhere. */
void slu_cuda_writes_rows(uint64_t address, uint64_t pitch, uint64_t row_bytes, uint64_t n_rows);
/* UINT64_MAX if the product exceeds 64 bits. */
uint64_t slu_cuda_writes_product(uint64_t a, uint64_t b);

/* A launch of which the kernel's PTX says what it writes; else it vouches for nothing. */
void slu_cuda_writes_launch(const struct slu_cuda_launch *launch);
void slu_cuda_writes_configured(const CUlaunchConfig *config, CUfunction function, void **params,
				void **extra);
