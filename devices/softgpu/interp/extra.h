/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What few instructions need beside the fields of dev_interp_insn. Belongs to the code. */

#include "ptx/matrix.h"
#include "softgpu/interp/code.h"

#define DEV_INTERP_MAX_FRAGMENT 8u

struct dev_interp_extra {
	struct dev_interp_extra *next;
	/* of matrices: the shapes, and the rows of the registers of each part */
	struct slu_ptx_matrix matrix;
	/* … and of textures and surfaces, in the first of these, the coordinates */
	uint32_t rows[_SLU_PTX_PART_MAX][DEV_INTERP_MAX_FRAGMENT];
	/* of a copy: the second address, beside the row, and whether @e says how many bytes */
	int64_t offset;
	bool is_wide_address;
	bool has_size;
	/* of a branch through a table */
	uint32_t n_targets;
	const struct dev_interp_insn **targets;
};

/* Return: one that dev_interp_extra_free_all() frees, or NULL. */
struct dev_interp_extra *dev_interp_extra_new(struct dev_interp_code *code);
void dev_interp_extra_free_all(struct dev_interp_code *code);
