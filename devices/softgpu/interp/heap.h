/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What malloc and free of kernels hand out: pieces of one range of device memory, which belongs to
 * whoever made the heap and lasts from launch to launch. What is where is kept outside of the
 * range, so that no kernel can spoil it. Thread-safe.
 */

#include <stdbool.h>
#include <stdint.h>

struct dev_interp_heap;

int dev_interp_heap_new(uint64_t base, uint64_t bytes, struct dev_interp_heap **ret_heap);
void dev_interp_heap_free(struct dev_interp_heap *heap);

/* Return: an address, a multiple of 16; 0 if the heap is full, or nothing was asked for. */
uint64_t dev_interp_heap_take(struct dev_interp_heap *heap, uint64_t bytes);
/* Return: false if nothing was taken there. */
bool dev_interp_heap_give(struct dev_interp_heap *heap, uint64_t address);
