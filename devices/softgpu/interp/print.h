/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * printf of kernels: a format, and a buffer in which the arguments lie one after another, each
 * aligned to its own size: int in 4 bytes, everything longer and all floats in 8.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How to get at the kernel's memory. Return: false if it may not be read. */
struct dev_print_source {
	bool (*read)(void *userdata, uint64_t address, void *to, size_t size);
	void *userdata;
};

#define DEV_PRINT_MAX_TEXT 4096u /* of one call; the rest is cut off */

enum {
	_DEV_PRINT_E_SUCCESS,
	DEV_PRINT_E_ADDRESS, /* an argument or string may not be read: *ret_address says where */
};

/*
 * Writes the text, *ret_size bytes, into @to, which holds DEV_PRINT_MAX_TEXT, and counts the
 * arguments used. Return: 0, DEV_PRINT_E_ADDRESS.
 */
int dev_print_format(const struct dev_print_source *source, uint64_t format, uint64_t arguments,
		     char *to, size_t *ret_size, int *ret_n_arguments, uint64_t *ret_address);

/* A string of the kernel's, cut off where @to ends. Return: 0, DEV_PRINT_E_ADDRESS. */
int dev_print_string(const struct dev_print_source *source, uint64_t address, char *to, size_t size,
		     uint64_t *ret_address);
