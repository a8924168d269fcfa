/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The matrices of wmma, mma and ldmatrix: D = A * B + C, where A is m by k, B is k by n, C and D
 * are m by n. A matrix is spread over the lanes of a warp; what one lane has of it is a fragment,
 * a vector of registers with one or more elements each. How many follows from the form alone.
 */

#include "ptx/form.h"

enum slu_ptx_element {
	SLU_PTX_ELEMENT_NONE,
	SLU_PTX_ELEMENT_F16,
	SLU_PTX_ELEMENT_BF16,
	SLU_PTX_ELEMENT_TF32,
	SLU_PTX_ELEMENT_F32,
	SLU_PTX_ELEMENT_F64,
	SLU_PTX_ELEMENT_B1,
	SLU_PTX_ELEMENT_S4,
	SLU_PTX_ELEMENT_U4,
	SLU_PTX_ELEMENT_S8,
	SLU_PTX_ELEMENT_U8,
	SLU_PTX_ELEMENT_S32,
};

enum slu_ptx_part {
	SLU_PTX_PART_A,
	SLU_PTX_PART_B,
	SLU_PTX_PART_C,
	SLU_PTX_PART_D,
	_SLU_PTX_PART_MAX,
};

/* One of the four matrices. */
struct slu_ptx_fragment {
	enum slu_ptx_element element; /* NONE: the form does not have it */
	unsigned rows, columns;
	bool is_column; /* in memory, and in the lanes of mma.m8n8k4: column after column */
	unsigned bits;	/* of an element */
	unsigned n_elements;
	unsigned n_regs;
	unsigned reg_size; /* bytes */
};

struct slu_ptx_matrix {
	unsigned m, n, k;
	/* how elements lie in the lanes is the device's own affair (wmma), or documented (mma) */
	bool is_opaque;
	/* four products at once, one for every eight lanes (mma.m8n8k4 of f16) */
	bool is_four;
	struct slu_ptx_fragment parts[_SLU_PTX_PART_MAX];
};

/* Return: false if the form is none of these, or is movmatrix, which has no fragments. */
bool slu_ptx_matrix_of(const struct slu_ptx_form *form, const char *text,
		       struct slu_ptx_matrix *ret_matrix);
