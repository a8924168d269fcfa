/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The kernel that computes the sums of a digest (client/digest.h), as PTX for every device that can
 * map memory.
 *
 *   slu_digest(const void *data, uint64_t n_blocks, uint64_t (*sums)[2])
 *
 * Thread t of n takes the blocks t, t + n, and so on, so that neighbours read neighbouring memory.
 * Each group of SLU_CUDA_DIGEST_THREADS threads adds up its sums and writes them to its own place.
 * @data is aligned to a block, and has whole blocks only.
 *
 * The module has memory of its own, slu_digest_space, for the sums of SLU_CUDA_DIGEST_GROUPS groups
 * and, behind them, SLU_CUDA_DIGEST_PROOF_BYTES of any contents.
 */

#define SLU_CUDA_DIGEST_THREADS	    256 /* a power of two */
#define SLU_CUDA_DIGEST_GROUPS	    512
#define SLU_CUDA_DIGEST_PROOF_BYTES 4112 /* one block more than there are threads */

extern const char slu_cuda_digest_ptx[];
