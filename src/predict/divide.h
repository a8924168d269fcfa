/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Quotients and remainders of sets; the numbers have been normalised to their type. */

#include "predict/value.h"

/* Rounded down; @x is the value of the op's first operand, so that a remainder can be found. */
struct slu_predict_value slu_predict_divide_floor(struct slu_predict_scope *s,
						  const struct slu_predict_value *x, int64_t d);
/* x - d * floor(x / d), which is never negative; d > 0 */
struct slu_predict_value slu_predict_divide_modulo(struct slu_predict_scope *s,
						   const struct slu_predict_value *x, int64_t d);
/* As div and rem of PTX do it. */
struct slu_predict_value slu_predict_divide_quotient(struct slu_predict_scope *s,
						     const struct slu_predict_value *x,
						     const struct slu_predict_value *y);
struct slu_predict_value slu_predict_divide_remainder(struct slu_predict_scope *s,
						      const struct slu_predict_value *x,
						      const struct slu_predict_value *y);
/* floor(x * factor / 2^shift), with which compilers divide by constants; 0 <= shift < 96 */
struct slu_predict_value slu_predict_divide_scale(struct slu_predict_scope *s,
						  const struct slu_predict_value *x, int64_t factor,
						  unsigned shift);
