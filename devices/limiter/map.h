/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is mapped: which bytes will cross the bus again when a map is undone. A map brings the
 * region out, unless the program says that it will overwrite all of it; the unmap of what may have
 * been written brings it in.
 */

#include <stdint.h>

#include "limiter/limiter.h"

/* The bytes that a map with @flags brings out. */
uint64_t dev_limiter_map_bytes_out(cl_map_flags flags, uint64_t bytes);

/* Remembers a map. @mem is NULL for SVM. Without memory to do so, the unmap will cost no bus. */
void dev_limiter_map_note(cl_mem mem, const void *pointer, cl_map_flags flags, uint64_t bytes);

/* Forgets it. Return: the bytes that its unmap brings in. */
uint64_t dev_limiter_map_forget(cl_mem mem, const void *pointer);
