/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory of a program's own global variables on the device. No handle names them and kernels
 * keep their addresses, so they do not move: the client charges them as a module's while a kernel
 * of the program lives. Most programs have none, and then there is no note.
 */

#include "opencl/layer.h"
#include "opencl/table.h"

struct slu_program {
	struct slu_table_node node; /* guarded by the layer's lock, as is the rest */
	unsigned n_kernels;
	struct slu_proxy *charged;
};

/* Adds one kernel to its program. Return: the note, or NULL if there is nothing to charge. */
struct slu_program *slu_program_get(cl_kernel kernel);

/* Removes one kernel; @program may be NULL. */
void slu_program_put(struct slu_program *program);
