/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What few instructions need beside the fields of slu_interp_insn. Belongs to the code. */

#include "ptx/matrix.h"
#include "softgpu/interp/code.h"

#define SLU_INTERP_MAX_FRAGMENT 8u

struct slu_interp_extra {
	struct slu_interp_extra *next;
	/* of matrices: the shapes, and the rows of the registers of each part */
	struct slu_ptx_matrix matrix;
	uint32_t rows[_SLU_PTX_PART_MAX][SLU_INTERP_MAX_FRAGMENT];
	/* of a copy: the second address, beside the row, and whether @e says how many bytes */
	int64_t offset;
	bool is_wide_address;
	bool has_size;
	/* of a branch through a table */
	uint32_t n_targets;
	const struct slu_interp_insn **targets;
};

/* Return: one that slu_interp_extra_free_all() frees, or NULL. */
struct slu_interp_extra *slu_interp_extra_new(struct slu_interp_code *code);
void slu_interp_extra_free_all(struct slu_interp_code *code);
