/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a program's own global variables take on the device. No handle stands for them and kernels
 * keep their addresses, so they do not move: they are charged as a module's as long as a kernel of
 * the program lives. Most programs have none, and then there is no note.
 */

#include "opencl/layer.h"
#include "opencl/table.h"

struct slu_program {
	struct slu_table_node node; /* guarded by the layer's lock, as is the rest */
	unsigned n_kernels;
	struct slu_proxy *charged;
};

/* One kernel more of its program. Return: the note, or NULL where there is nothing to charge. */
struct slu_program *slu_program_get(cl_kernel kernel);

/* One kernel less; @program may be NULL. */
void slu_program_put(struct slu_program *program);
