/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Allocators as frameworks have them in front of the driver. None of them frees to the driver what
 * the program frees: memory stays in a cache for the next allocation.
 *
 *   CACHING     segments by cuMemAlloc, cut into blocks; free neighbours are joined. Without memory
 *               it gives segments that are free as a whole back, and tries once more. (PyTorch)
 *   EXPANDABLE  one large reservation of addresses into which handles are mapped behind each other;
 *               blocks as above. Without memory it unmaps what is free at the end. (PyTorch with
 *               expandable segments)
 *   STACK       one large reservation that grows by mapping and never shrinks; what was allocated
 *               last is freed first. (llama.cpp)
 *   ASYNC       the driver's own pool, in the order of a stream, with a threshold that keeps all
 *               of it. (JAX, RAPIDS)
 */

#include <stddef.h>

#include "cuda-util.h"

enum cache_kind { CACHE_CACHING, CACHE_EXPANDABLE, CACHE_STACK, CACHE_ASYNC, _CACHE_MAX };

/* Return: the kind of this name, or _CACHE_MAX. */
enum cache_kind cache_kind_find(const char *name);

/* Segments and steps of growth have @segment_bytes, a multiple of the driver's granule. */
void cache_open(enum cache_kind kind, size_t segment_bytes, CUstream stream);

/* Everything is freed. */
void cache_close(void);

/* Ends the program with CUDA_EXIT_NO_MEMORY where there is none, as CHECK() does. */
CUdeviceptr cache_alloc(size_t bytes);

/* Tells Sluice what the allocator has and the program does not use (sluice/sluice.h). */
void cache_hint(void);

/* What runs in the stream may still use it: the next owner uses the same stream. */
void cache_free(CUdeviceptr address);
