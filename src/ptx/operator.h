/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What an operator between two constants does; the kinds of these have been looked at. */

#include "ptx/constant.h"

/* How tightly an operator binds. */
enum slu_ptx_level {
	SLU_PTX_LEVEL_CHOICE = 1,
	SLU_PTX_LEVEL_EITHER,
	SLU_PTX_LEVEL_BOTH,
	SLU_PTX_LEVEL_OR,
	SLU_PTX_LEVEL_XOR,
	SLU_PTX_LEVEL_AND,
	SLU_PTX_LEVEL_EQUAL,
	SLU_PTX_LEVEL_ORDER,
	SLU_PTX_LEVEL_SHIFT,
	SLU_PTX_LEVEL_SUM,
	SLU_PTX_LEVEL_PRODUCT,
};

struct slu_ptx_operator {
	const char *text;
	enum slu_ptx_level level;
	bool is_for_floats;
};

/* The integer @bits, in the place of what was there. */
void slu_ptx_constant_set(struct slu_ptx_constant *c, uint64_t bits, bool is_unsigned);
/* a = a o b; both are F64, or both are INT, and no integer is divided by zero */
void slu_ptx_apply_float(const struct slu_ptx_operator *o, struct slu_ptx_constant *a,
			 const struct slu_ptx_constant *b);
void slu_ptx_apply_int(const struct slu_ptx_operator *o, struct slu_ptx_constant *a,
		       const struct slu_ptx_constant *b);
