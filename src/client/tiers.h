/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The pageable tier: host copies of units. It is private anonymous memory, so no other process can
 * read bytes that left the device. Core dumps and forked children do not get it: a child cannot use
 * it, and it would double the machine's charge.
 *
 * The machine decides about huge pages. They never reach beyond the region, so what is held is what
 * was asked for.
 *
 * Regions go back to a small pool by size class, because faulting fresh pages in is slower than
 * the copy itself. The pool is bounded (SLU_SIZES_POOL_BYTES); the rest goes back to the kernel.
 */

#include <stddef.h>
#include <stdint.h>

/* The size class of a copy of @bytes. Classes are an eighth of a power of two apart. */
uint64_t slu_tiers_class(uint64_t bytes);

/* Contents undefined. Return: NULL when the kernel has none. */
void *slu_tiers_get(uint64_t bytes);

/* @bytes: as in slu_tiers_get(). NULL is allowed. */
void slu_tiers_put(void *host, uint64_t bytes);

/* Gives the pool back to the kernel. */
void slu_tiers_trim(void);

/* In the child of a fork: the memory of the pool does not exist there. */
void slu_tiers_forked(void);
