/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The pageable tier: host copies of units. Private anonymous memory, so nobody else can read bytes
 * that left the device; left out of core dumps and of forked children, which could not use it and
 * would double the machine's charge.
 *
 * Whether huge pages back it is left to the machine: they never reach beyond the region, so what is
 * held is what was asked for.
 *
 * Regions go back to a small pool by size class, because faulting fresh pages in is slower than
 * the copy itself. The pool is bounded; what does not fit goes back to the kernel.
 */

#include <stddef.h>
#include <stdint.h>

/* What a copy of @bytes takes: its size class. Classes are an eighth of a power of two apart. */
uint64_t slu_tiers_class(uint64_t bytes);

/* Contents undefined. Return: NULL when the kernel has none. */
void *slu_tiers_get(uint64_t bytes);

/* @bytes as they were asked for. NULL is allowed. */
void slu_tiers_put(void *host, uint64_t bytes);

/* Gives the pool back to the kernel. */
void slu_tiers_trim(void);

/* In the child of a fork: the pool's memory is not there any more. */
void slu_tiers_forked(void);
