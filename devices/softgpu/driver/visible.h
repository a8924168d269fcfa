/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * CUDA_VISIBLE_DEVICES: which devices of the machine a program sees, and in which order. A list,
 * separated by commas, of numbers and of beginnings of UUIDs ("GPU-1a2b"). As the genuine driver
 * reads it, the list ends at the first entry that names no device or, as a beginning, more than
 * one; a list that names a device twice makes none visible.
 */

#include <stdint.h>

/*
 * @list is the variable's value, NULL for all of @n devices. Writes the numbers of the visible ones
 * in the order of the list. Return: how many these are.
 */
unsigned dev_visible_choose(const char *list, unsigned n, const uint8_t (*uuids)[16],
			    unsigned *ret_numbers);
