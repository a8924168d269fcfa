/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Inputs to begin with that a fuzz target makes itself: messages have the size that they have
 * today, where a file in the corpus keeps the size of the day on which it was written. The replay
 * takes them beside the corpus; a fuzzer writes them to the folder SLUICE_FUZZ_SEEDS first.
 */

#include <stddef.h>
#include <stdint.h>

/* Return: the size of the seed of that number, 0 beyond the last. */
size_t slu_fuzz_seed(unsigned number, uint8_t *ret_data, size_t size);
